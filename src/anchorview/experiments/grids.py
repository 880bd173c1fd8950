"""Combinations of settings that the oracle searches, each in one canonical form."""

from collections.abc import Mapping, Sequence
from itertools import product

from anchorview.estimators.methods import GridValues, SettingValue, find_method, method_class


def oracle_grid(
    method: str,
    n_clusters: int,
    n_samples: int,
    grid: Mapping[str, GridValues | Sequence[SettingValue]] | None = None,
) -> list[dict[str, SettingValue]]:
    """Settings from which the oracle selects the best by the true classes.

    These are all combinations of the values in a grid, by default that of the registry
    :mod:`anchorview.estimators.methods`, in canonical form and without duplicates. The maximum over
    a larger grid is higher by chance alone: methods with grids of different sizes are not compared
    on equal terms.

    Examples
    --------
    >>> oracle_grid("smvsc", 5, 1000)
    [{}, {'n_anchors': 10}, {'n_anchors': 15}]
    >>> len(oracle_grid("dalmc", 5, 1000))
    18
    """
    grid = find_method(method).grid if grid is None else grid
    if grid is None:
        raise ValueError(
            f"{method!r} selects its settings itself; there is no grid for the oracle."
        )
    values = [each(n_clusters) if callable(each) else each for each in grid.values()]
    found: list[dict[str, SettingValue]] = []
    for combination in product(*values):
        chosen = dict(zip(grid, combination, strict=True))
        settings = canonical_settings(method, n_clusters, n_samples, chosen)
        if settings not in found:
            found.append(settings)
    return found


def canonical_settings(
    method: str, n_clusters: int, n_samples: int, settings: Mapping[str, SettingValue]
) -> dict[str, SettingValue]:
    """Settings without those that equal the method's default on the data set.

    Settings with the same effect must be equal, so that their job runs only once.

    Examples
    --------
    >>> canonical_settings("dalmc", 5, 1000, {"beta": 0.1, "n_anchors": 5, "tol": 1})
    {'tol': 1.0}
    >>> canonical_settings("bmvc", 5, 1500, {"code_length": 256})  # 100 anchors: 100 bits at most.
    {}
    """
    defaults = method_class(method)().get_params()
    if method == "bmvc" and "code_length" in settings:
        settings = {**settings, "code_length": _code_length(n_clusters, n_samples, settings)}
    kept: dict[str, SettingValue] = {}
    for name, value in settings.items():
        default = defaults[name]
        if name in find_method(method).n_clusters_by_default and value == n_clusters:
            continue
        if type(default) is float and type(value) is int:
            value = float(value)
        # In Python True == 1, but estimators distinguish them.
        if value != default or isinstance(value, bool) != isinstance(default, bool):
            kept[name] = value
    return kept


def _code_length(n_clusters: int, n_samples: int, settings: Mapping[str, SettingValue]) -> int:
    """Bits of BMVC's codes, at most one per anchor; the default if that has the same effect."""
    model = method_class("bmvc")(n_clusters, **settings)
    n_anchors = model._anchor_count(range(n_samples))  # It uses only the number of samples.
    default = int(type(model)().code_length)
    bits = min(model.code_length, n_anchors)
    return default if bits == min(default, n_anchors) else bits
