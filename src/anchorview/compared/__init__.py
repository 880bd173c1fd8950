"""The eight methods that DALMC was compared with, behind one face.

Each is written from the equations that its authors' published program follows; its docstring says
where that program and the paper differ.
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
