"""All clustering methods of the package by the names that the command line and experiments use."""

from importlib import import_module
from typing import Any

_HOMES = {
    "auto": ("anchorview.estimators.auto.auto_dalmc", "AutoDALMC"),
    "dalmc": ("anchorview.estimators.dalmc", "DALMC"),
    "amgl": ("anchorview.compared.amgl", "AMGL"),
    "awmvc": ("anchorview.compared.awmvc", "AWMVC"),
    "bmvc": ("anchorview.compared.bmvc", "BMVC"),
    "fpmvs-cag": ("anchorview.compared.fpmvscag", "FPMVSCAG"),
    "omsc": ("anchorview.compared.omsc", "OMSC"),
    "opmc": ("anchorview.compared.opmc", "OPMC"),
    "smvsc": ("anchorview.compared.smvsc", "SMVSC"),
    "uomvsc": ("anchorview.compared.uomvsc", "UOMVSC"),
}

METHODS = tuple(_HOMES)
"""Names of the methods."""


def method_class(name: str) -> Any:
    """Estimator class of a method, imported when asked for.

    Examples
    --------
    >>> from anchorview.estimators.methods import METHODS, method_class
    >>> method_class("awmvc")(n_clusters=3)
    AWMVC(n_clusters=3)
    >>> len(METHODS)
    10
    """
    if name not in _HOMES:
        raise ValueError(f"Method {name!r} is unknown; there are {', '.join(METHODS)}.")
    module, cls = _HOMES[name]
    return getattr(import_module(module), cls)
