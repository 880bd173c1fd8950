"""Settings that the oracle tries for each method, and one spelling for equal settings."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from anchorview.estimators.methods import method_class

Settings = dict[str, Any]

BETAS = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
"""Weights of the alignment in DALMC that the paper tries."""

VALUES_OF_NONE = {
    ("dalmc", "n_anchors"),
    ("omsc", "n_anchors"),
    ("opmc", "n_components"),
    ("smvsc", "n_anchors"),
}
"""Settings of methods whose default, None, means the number of clusters."""


def oracle_grid(method: str, n_clusters: int, n_samples: int) -> list[Settings]:
    """Settings from which the oracle takes the best by the true labels.

    They are what a method's paper says it searches, as far as that is known: all of it for DALMC
    (18 settings) and OMSC (12), thinned out to six at most for the others. FPMVS-CAG has nothing to
    set. The best of more is higher by chance alone: keep that in mind between columns.

    Parameters
    ----------
    method : str
        One of :data:`anchorview.estimators.methods.METHODS` but ``"auto"``, which chooses by itself.
    n_clusters : int
        Number of classes of the data set.
    n_samples : int
        Number of samples of the data set.

    Examples
    --------
    >>> oracle_grid("smvsc", 5, 1000)
    [{}, {'n_anchors': 10}, {'n_anchors': 15}]
    >>> len(oracle_grid("dalmc", 5, 1000))
    18
    """
    anchors = tuple(times * n_clusters for times in (1, 2, 3))
    grids: dict[str, dict[str, tuple[Any, ...]]] = {
        "dalmc": {"beta": BETAS, "n_anchors": anchors},
        "amgl": {"n_neighbors": (5, 10, 15)},
        "awmvc": {"n_dimensions": (1, 3, 5)},
        # Larger lambda_ are not far below n_views ** -r of six or seven views.
        "bmvc": {"code_length": (64, 128, 256), "lambda_": (1e-6, 1e-5)},
        "fpmvs-cag": {},
        "omsc": {"n_anchors": anchors, "lambda_": (1.0, 0.1, 0.01, 0.001)},
        "opmc": {"scaling": ("rows", "features", "none")},
        "smvsc": {"n_anchors": anchors},
        "uomvsc": {"lambda_": (0.0, 0.5, 1.0)},
    }
    if method not in grids:
        raise ValueError(f"The oracle has no grid for {method!r}; it has {', '.join(grids)}.")
    return crossed(method, n_clusters, n_samples, grids[method])


def crossed(
    method: str, n_clusters: int, n_samples: int, values: Mapping[str, Sequence[Any]]
) -> list[Settings]:
    """All combinations of some values of some settings, each once.

    Parameters
    ----------
    method, n_clusters, n_samples
        As for :func:`shared`.
    values : mapping of str to sequence
        Values of each setting.
    """
    found: list[Settings] = []
    for chosen in product(*values.values()):
        settings = shared(method, n_clusters, n_samples, dict(zip(values, chosen, strict=True)))
        if settings not in found:
            found.append(settings)
    return found


def shared(method: str, n_clusters: int, n_samples: int, settings: Mapping[str, Any]) -> Settings:
    """Settings without those that say what the method does anyway.

    Equal jobs are run once, so equal settings must look equal.

    Parameters
    ----------
    method : str
        One of :data:`anchorview.estimators.methods.METHODS`.
    n_clusters, n_samples : int
        Numbers of classes and samples of the data set.
    settings : mapping
        Values of settings by their names.

    Examples
    --------
    >>> shared("dalmc", 5, 1000, {"beta": 0.1, "n_anchors": 5, "tol": 1})
    {'tol': 1.0}
    >>> shared("bmvc", 5, 1500, {"code_length": 256})  # Codes of 100 anchors have 100 bits.
    {}
    """
    defaults = method_class(method)().get_params()
    if method == "bmvc" and "code_length" in settings:
        settings = {**settings, "code_length": _code_length(n_clusters, n_samples, settings)}
    kept: Settings = {}
    for name, value in settings.items():
        default = defaults[name]
        if (method, name) in VALUES_OF_NONE and value == n_clusters:
            continue
        if type(default) is float and type(value) is int:
            value = float(value)
        # True == 1 in Python, but not to an estimator.
        if value != default or isinstance(value, bool) != isinstance(default, bool):
            kept[name] = value
    return kept


def _code_length(n_clusters: int, n_samples: int, settings: Mapping[str, Any]) -> int:
    """Bits of BMVC's codes, of which there are no more than anchors; the default if it is equal."""
    model = method_class("bmvc")(n_clusters, **settings)
    most = model._anchor_count(range(n_samples))  # It asks for nothing but their number.
    usual = int(type(model)().code_length)
    bits = min(model.code_length, most)
    return usual if bits == min(usual, most) else bits
