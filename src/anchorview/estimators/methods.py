"""The registry of clustering methods: one entry per method, from which everything else follows.

The experiments, their tables, figures and grids take what they need to know about
a method from its entry. Importing this module imports no estimator.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

SettingValue = bool | int | float | str | None | tuple["SettingValue", ...]
"""Value of an estimator's parameter that JSON can hold."""

GridValues = tuple[SettingValue, ...] | Callable[[int], tuple[SettingValue, ...]]
"""Values of a parameter to try, or a function that returns them for a number of clusters."""

BETAS = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
"""Alignment weights of DALMC that the paper searches."""

NEIGHBORS: Mapping[str, GridValues] = {"n_neighbors": (5, 10, 15)}
"""Grid of methods on neighbor graphs."""

PUBLISHED_SETTINGS: Mapping[str, SettingValue] = {
    "scaling": "none",
    "unit_norm": False,
    "init": "identity",
    "residual_floor": 0.0,
    "normalize_embedding": False,
    "n_init": 20,
}
"""The choices of the paper where the defaults of DALMC differ from them."""


@dataclass(frozen=True)
class Method:
    """What the package knows about a clustering method."""

    name: str
    """Name in experiments, on the command line and in plans."""
    class_path: str
    """Module and name of the estimator class, relative to the package."""
    display_name: str
    """Name in tables and figures, as in the paper."""
    color: str
    """Color in figures."""
    grid: Mapping[str, GridValues] | None
    """Parameters that the oracle searches, in all combinations: those that the method's paper
    searches, as far as known; reduced to six combinations at most, except for DALMC and OMSC.
    None for a method that selects its parameters itself."""
    n_clusters_by_default: tuple[str, ...] = ()
    """Parameters with a default of None that means the number of clusters."""
    accepts_missing_views: bool = False
    requires: str = ""
    """Optional package without which it is not among the default methods of experiments."""
    runs_per_fit: int = 1
    """Number of runs of an experiment that a single fit counts for."""

    @property
    def module(self) -> str:
        """Module of the estimator class."""
        return f"anchorview.{self.class_path.rpartition('.')[0]}"

    @property
    def is_compared(self) -> bool:
        """Whether it is a baseline."""
        return self.class_path.startswith("compared.")


def _multiples(n_clusters: int) -> tuple[int, ...]:
    return n_clusters, 2 * n_clusters, 3 * n_clusters


def _baseline(
    name: str,
    color: str,
    grid: Mapping[str, GridValues],
    n_clusters_by_default: tuple[str, ...] = (),
) -> Method:
    """Entry of a baseline; its class is named as in tables."""
    path = f"compared.{name.replace('-', '')}"
    return Method(name.lower(), path, name, color, grid, n_clusters_by_default)


REGISTRY = (
    _baseline("AMGL", "#4C86B8", NEIGHBORS),
    # With six or seven views, larger lambda_ are close to n_views ** -r.
    _baseline("BMVC", "#8F7A00", {"code_length": (64, 128, 256), "lambda_": (1e-6, 1e-5)}),
    _baseline("SMVSC", "#009E73", {"n_anchors": _multiples}, ("n_anchors",)),
    _baseline("OPMC", "#AA4499", {"scaling": ("rows", "features", "none")}, ("n_components",)),
    _baseline("UOMVSC", "#A0526E", {"lambda_": (0.0, 0.5, 1.0)}),
    _baseline("FPMVS-CAG", "#2A9D9D", {}),
    _baseline(
        "OMSC",
        "#7A6FBE",
        {"n_anchors": _multiples, "lambda_": (1.0, 0.1, 0.01, 0.001)},
        ("n_anchors",),
    ),
    _baseline("AWMVC", "#8A6D4B", {"n_dimensions": (1, 3, 5)}),
    Method("concat-kmeans", "compared.ConcatKMeans", "K-means", "#777777", {}),
    Method("concat-spectral", "compared.ConcatSpectral", "Spectral", "#B08D57", NEIGHBORS),
    _baseline(
        "MVSC", "#5B8C5A", {"r": (10**0.5, 5.0, 10**1.7), "weighting": ("similarity", "laplacian")}
    ),
    _baseline("LMVSC", "#C27BA0", {"alpha": (0.01, 1.0, 100.0), "n_anchors": (None, 100)}),
    _baseline("SFMC", "#8A78A0", {}),
    _baseline("EOMSC-CA", "#3D6B8E", {"n_anchors": _multiples}, ("n_anchors",)),
    Method(
        "concat-hdbscan",
        "compared.ConcatHDBSCAN",
        "HDBSCAN",
        "#9A6324",
        {"min_cluster_size": (5, 10, 20)},
    ),
    Method(
        "graph-leiden", "compared.GraphLeiden", "Leiden", "#6A7FDB", NEIGHBORS, requires="leidenalg"
    ),
    Method(
        "dalmc",
        "estimators.dalmc.DALMC",
        "DALMC",
        "#D55E00",
        {"beta": BETAS, "n_anchors": _multiples},
        ("n_anchors",),
        accepts_missing_views=True,
    ),
    # A fit is a consensus of dozens of partitions.
    Method(
        "auto",
        "estimators.auto.auto_dalmc.AutoDALMC",
        "DALMC (auto)",
        "#0072B2",
        grid=None,
        accepts_missing_views=True,
        runs_per_fit=4,
    ),
)
"""All methods, in the order of the columns of tables: the paper's, with those that its tables do
not have before DALMC."""

METHODS = tuple(
    method.name for method in sorted(REGISTRY, key=lambda method: (method.is_compared, method.name))
)
"""Names of all methods: those of the package, then the compared ones."""


def find_method(name: str) -> Method:
    """Return the registry entry of a method."""
    for method in REGISTRY:
        if method.name == name:
            return method
    raise ValueError(f"Unknown method {name!r}; choose from {', '.join(METHODS)}.")


def method_class(name: str) -> Any:
    """Import and return the estimator class of a method."""
    method = find_method(name)
    return getattr(import_module(method.module), method.class_path.rpartition(".")[2])
