"""Eight published multi-view clustering methods: baselines with the same API as DALMC.

One module per method, each written from the equations of its authors' published program; the
docstrings say where program and paper differ. Modules with a leading underscore hold what several
methods share. The package may import `estimators.base`, `core`, `views` and `_utils`.
"""

from anchorview.compared.amgl import AMGL
from anchorview.compared.awmvc import AWMVC
from anchorview.compared.bmvc import BMVC
from anchorview.compared.fpmvscag import FPMVSCAG
from anchorview.compared.omsc import OMSC
from anchorview.compared.opmc import OPMC
from anchorview.compared.smvsc import SMVSC
from anchorview.compared.uomvsc import UOMVSC

__all__ = ["AMGL", "AWMVC", "BMVC", "FPMVSCAG", "OMSC", "OPMC", "SMVSC", "UOMVSC"]
