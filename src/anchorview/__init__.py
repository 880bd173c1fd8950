"""Multi-view clustering that is fast, scales, and works without labels to tune on."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from anchorview.dalmc import DALMC
    from anchorview.datasets import load_digits, make_multiview, open_views, read_views
    from anchorview.persistence import load_model as load
    from anchorview.selection import AutoDALMC
    from anchorview.views import MultiViewData

# Imported when first used: scikit-learn takes longer to import than the command line to answer.
_HOMES = {
    "AutoDALMC": "anchorview.selection",
    "DALMC": "anchorview.dalmc",
    "MultiViewData": "anchorview.views",
    "load": "anchorview.persistence",
    "load_digits": "anchorview.datasets",
    "make_multiview": "anchorview.datasets",
    "open_views": "anchorview.datasets",
    "read_views": "anchorview.datasets",
}

_ORIGINAL_NAMES = {"load": "load_model"}

__all__ = [
    "DALMC",
    "AutoDALMC",
    "MultiViewData",
    "load",
    "load_digits",
    "make_multiview",
    "open_views",
    "read_views",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), _ORIGINAL_NAMES.get(name, name))
    raise AttributeError(f"module 'anchorview' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
