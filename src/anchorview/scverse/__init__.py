"""Clustering of the cells of AnnData and MuData objects, in the manner of scanpy.

``tl`` computes and writes results into the object, ``pl`` draws what was written. `write_results`
does the same as ``tl`` for a model that is fitted already. Imports estimators, inspection and
plotting; anndata, mudata and scanpy are not imported, since a caller who has such an object has the
packages.
"""

from anchorview.scverse import pl, tl
from anchorview.scverse.results import write_results
from anchorview.views.anndata_matrices import is_mudata
from anchorview.views.input_grammar import views_from_mudata

__all__ = ["is_mudata", "pl", "tl", "views_from_mudata", "write_results"]
