"""Multi-view clustering that is fast, scales, and needs no labels for tuning."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from anchorview.datasets import load_digits, make_multiview, open_views, read_views
    from anchorview.estimators.auto.auto_dalmc import AutoDALMC
    from anchorview.estimators.dalmc import DALMC
    from anchorview.estimators.persistence import load_model as load
    from anchorview.views.container import MultiViewData

# Public names by module and name there. They are imported on first use, since importing
# scikit-learn takes longer than the command line needs to answer.
_PUBLIC = {
    "AutoDALMC": ("anchorview.estimators.auto.auto_dalmc", "AutoDALMC"),
    "DALMC": ("anchorview.estimators.dalmc", "DALMC"),
    "MultiViewData": ("anchorview.views.container", "MultiViewData"),
    "load": ("anchorview.estimators.persistence", "load_model"),
    "load_digits": ("anchorview.datasets", "load_digits"),
    "make_multiview": ("anchorview.datasets", "make_multiview"),
    "open_views": ("anchorview.datasets", "open_views"),
    "read_views": ("anchorview.datasets", "read_views"),
}

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
    if name in _PUBLIC:
        module, original = _PUBLIC[name]
        return getattr(import_module(module), original)
    raise AttributeError(f"module 'anchorview' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
