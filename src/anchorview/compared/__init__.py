"""Published multi-view clustering methods: baselines with the same API as DALMC.

The eight methods that the paper of DALMC compares with, four that these build on, three that
concatenate the views, and Leiden communities. Each is written from the equations of its authors'
published program; the docstrings say where program and paper differ. Modules with a leading
underscore hold what several methods share. The package may import `estimators.base`, `core`,
`views` and `_utils`.
"""

from anchorview.compared.anchor_graph_methods import EOMSCCA, FPMVSCAG, OMSC, SMVSC
from anchorview.compared.bipartite_methods import LMVSC, MVSC, SFMC
from anchorview.compared.bmvc import BMVC
from anchorview.compared.concatenation import ConcatHDBSCAN, ConcatKMeans, ConcatSpectral
from anchorview.compared.factorization_methods import AWMVC, OPMC
from anchorview.compared.neighbor_graph_methods import AMGL, UOMVSC, GraphLeiden

__all__ = [
    "AMGL",
    "AWMVC",
    "BMVC",
    "EOMSCCA",
    "FPMVSCAG",
    "LMVSC",
    "MVSC",
    "OMSC",
    "OPMC",
    "SFMC",
    "SMVSC",
    "UOMVSC",
    "ConcatHDBSCAN",
    "ConcatKMeans",
    "ConcatSpectral",
    "GraphLeiden",
]
