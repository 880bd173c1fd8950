"""Clusters of AnnData and MuData objects, with the habits of scanpy.

``tl`` computes and writes results into the object, ``pl`` draws what was written. Imports
estimators, inspection and plotting; anndata, mudata and scanpy are not imported, since a caller who
has such an object has the packages.
"""

from anchorview.scverse import pl, tl

__all__ = ["pl", "tl"]
