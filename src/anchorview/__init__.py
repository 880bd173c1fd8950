"""Multi-view clustering that is fast, scales, and works without labels to tune on."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from anchorview.datasets import load_digits, make_multiview, open_views, read_views
    from anchorview.estimators.auto.auto_dalmc import AutoDALMC
    from anchorview.estimators.dalmc import DALMC
    from anchorview.estimators.persistence.saving import load_model as load
    from anchorview.views.container import MultiViewData

# Imported when first used: scikit-learn takes longer to import than the command line to answer.
_HOMES = {
    "AutoDALMC": "anchorview.estimators.auto.auto_dalmc",
    "DALMC": "anchorview.estimators.dalmc",
    "MultiViewData": "anchorview.views.container",
    "load": "anchorview.estimators.persistence.saving",
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
