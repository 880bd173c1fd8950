"""Published multi-view clustering methods: baselines with the same API as DALMC.

The eight methods that the paper of DALMC compares with, four that these build on, three that
concatenate the views, and Leiden communities. Each is written from the equations of its authors'
published program; the docstrings say where program and paper differ. Modules with a leading
underscore hold what several methods share. The package may import `estimators.base`, `core`,
`views` and `_utils`.
"""

from anchorview.compared.amgl import AMGL
from anchorview.compared.awmvc import AWMVC
from anchorview.compared.bmvc import BMVC
from anchorview.compared.concatenation import ConcatHDBSCAN, ConcatKMeans, ConcatSpectral
from anchorview.compared.eomscca import EOMSCCA
from anchorview.compared.graph_leiden import GraphLeiden
from anchorview.compared.lmvsc import LMVSC
from anchorview.compared.mvsc import MVSC
from anchorview.compared.omsc import OMSC
from anchorview.compared.opmc import OPMC
from anchorview.compared.sfmc import SFMC
from anchorview.compared.smvsc import FPMVSCAG, SMVSC
from anchorview.compared.uomvsc import UOMVSC

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
