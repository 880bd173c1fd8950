"""Suites: the jobs that make up the tables and figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anchorview.estimators.methods import PUBLISHED_SETTINGS, SettingValue, find_method
from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.grids import canonical_settings, oracle_grid
from anchorview.experiments.jobs import Job, RowOrder
from anchorview.experiments.plan import SUITES, ExperimentPlan

AUTO = find_method("auto").display_name
IMPUTED = "DALMC on imputed means"
AS_PUBLISHED = "DALMC (as published, oracle)"

ABLATIONS = {"DALMC": "dalmc", "ablation-1": "sampled-anchors", "ablation-2": "box-graph"}
"""Columns of the paper's Tables VI-IX, and the variant of DALMC in each."""

CHOICES: tuple[tuple[str, SettingValue], ...] = (
    *(("scaling", name) for name in ("unit-center", "zscore", "unit", "none")),
    ("unit_norm", False),
    *(("init", name) for name in ("random", "identity")),
    *(("residual_floor", floor) for floor in (0.0, 0.001, 0.1)),
    ("normalize_embedding", False),
    *(("n_init", count) for count in (1, 20, 50)),
    *(("tol", tol) for tol in (1e-2, 1e-3, 1e-5, 1e-6)),
)
"""Parameters of DALMC and values other than their defaults, one of which differs at a time."""

ROW_ORDERS: tuple[RowOrder, RowOrder] = ("sorted", "shuffled")
"""Orders of rows that the suite order compares."""

MAX_AUTO_RUNS = 4
"""Maximum number of runs of AutoDALMC per fraction of missing entries: those of one fit."""


@dataclass(frozen=True)
class Entry:
    """A job, and its position in a table or figure.

    Several entries of an oracle column have the same position; the best of them is shown. Entries
    with equal jobs share one result.
    """

    suite: str
    """One of :data:`~anchorview.experiments.plan.SUITES`."""
    data: str
    """Name of the data set."""
    column: str
    """Name in tables and legends, such as ``"DALMC (oracle)"``."""
    mode: str
    """One of :data:`~anchorview.experiments.plan.MODES`."""
    point: float | None
    """Position on the x axis: beta, number of anchors, or fraction of missing entries."""
    job: Job


_Row = tuple[str, str, float | None, Job]
"""Column, mode, point and job of an entry."""


def entries(plan: ExperimentPlan, sets: Sequence[DataSet]) -> list[Entry]:
    """Entries of the suites of a plan, in the order of the tables.

    On a data set with missing views, the suites compare, runtime and order have only the methods
    that accept them, and the suite incomplete has none. The suite incomplete leaves out fractions
    with which a sample could not keep a view.

    Examples
    --------
    >>> from anchorview.experiments.data_sets import data_sets
    >>> plan = ExperimentPlan(suites=("compare",), modes=("default",))
    >>> for entry in entries(plan, data_sets(None, ["synthetic"]))[-2:]:
    ...     print(entry.column, entry.job)
    EOMSC-CA Job(data='synthetic', method='eomsc-ca', settings=(), ...)
    DALMC Job(data='synthetic', method='dalmc', settings=(), ...)
    """
    suites = SUITES if "all" in plan.suites else plan.suites
    found = (
        Entry(suite, data.name, *row)
        for suite in suites
        for data in sets
        for row in _ROWS[suite](plan, data)
    )
    return list(dict.fromkeys(entry for entry in found if entry.mode in plan.modes))


def _compare(plan: ExperimentPlan, data: DataSet) -> Iterator[_Row]:
    yield from _defaults(plan, data)
    for method in _methods(plan, data):
        column = f"{find_method(method).display_name} (oracle)"
        grid = plan.grids.get(method)
        for settings in oracle_grid(method, data.n_clusters, data.n_samples, grid):
            yield column, "oracle", None, _job(plan, data, method, settings)
    if "dalmc" in plan.methods:
        for settings in oracle_grid(
            "dalmc", data.n_clusters, data.n_samples, plan.grids.get("dalmc")
        ):
            job = _job(plan, data, "dalmc", {**PUBLISHED_SETTINGS, **settings})
            yield AS_PUBLISHED, "published", None, job


def _ablation(plan: ExperimentPlan, data: DataSet) -> Iterator[_Row]:
    for column, variant in ABLATIONS.items():
        yield column, "default", None, _job(plan, data, "dalmc", {"variant": variant})
    chosen_by_labels: tuple[tuple[str, str, Mapping[str, SettingValue]], ...] = (
        ("oracle", "oracle", {}),
        ("published", "as published, oracle", PUBLISHED_SETTINGS),
    )
    for mode, shown, common in chosen_by_labels:
        for column, variant in ABLATIONS.items():
            # The same grid for all three, as a larger one would be an advantage.
            for beta in plan.betas:
                job = _job(plan, data, "dalmc", {**common, "variant": variant, "beta": beta})
                yield f"{column} ({shown})", mode, None, job


def _runtime(plan: ExperimentPlan, data: DataSet) -> Iterator[_Row]:
    return _defaults(plan, data, runs=1, alone=True)


def _beta(plan: ExperimentPlan, data: DataSet) -> Iterator[_Row]:
    for beta in plan.betas:
        yield "DALMC", "default", float(beta), _job(plan, data, "dalmc", {"beta": beta})


def _anchors(plan: ExperimentPlan, data: DataSet) -> Iterator[_Row]:
    for multiple in plan.anchors:
        n_anchors = multiple * data.n_clusters
        job = _job(plan, data, "dalmc", {"n_anchors": n_anchors})
        yield "DALMC", "default", float(n_anchors), job


def _convergence(plan: ExperimentPlan, data: DataSet) -> Iterator[_Row]:
    # Many more iterations than by default, to show the objective beyond the default stop.
    job = _job(plan, data, "dalmc", {"tol": 1e-8, "max_iter": 100}, runs=1)
    yield "DALMC", "default", None, job


def _incomplete(plan: ExperimentPlan, data: DataSet) -> Iterator[_Row]:
    if not data.complete:
        return
    n_views = len(data.n_features_per_view)
    # Compared as products, since 1 - 1 / n_views is not exact.
    fractions = [float(each) for each in plan.missing if each * n_views <= n_views - 1]
    for missing in fractions:
        yield "DALMC", "default", missing, _job(plan, data, "dalmc", missing=missing)
    for missing in fractions:
        # Without missing entries it is the same job as above.
        job = _job(plan, data, "dalmc", missing=missing, impute=missing > 0)
        yield IMPUTED, "default", missing, job
    for missing in fractions:
        runs = min(plan.runs, MAX_AUTO_RUNS)
        yield AUTO, "auto", missing, _job(plan, data, "auto", missing=missing, runs=runs)


def _choices(plan: ExperimentPlan, data: DataSet) -> Iterator[_Row]:
    yield "DALMC", "default", None, _job(plan, data, "dalmc")
    for name, value in CHOICES:
        job = _job(plan, data, "dalmc", {name: value})
        yield f"{name}={value}", "default", None, job


def _order(plan: ExperimentPlan, data: DataSet) -> Iterator[_Row]:
    rows = [_defaults(plan, data, order=order) for order in ROW_ORDERS]
    for pair in zip(*rows, strict=True):
        for order, (column, mode, point, job) in zip(ROW_ORDERS, pair, strict=True):
            yield order_column(column, order), mode, point, job


def order_column(column: str, order: RowOrder) -> str:
    """Name of a column of the suite order.

    Examples
    --------
    >>> order_column("DALMC", "sorted")
    'DALMC, sorted rows'
    """
    return f"{column}, {order} rows"


_ROWS: Mapping[str, Callable[[ExperimentPlan, DataSet], Iterator[_Row]]] = {
    "compare": _compare,
    "ablation": _ablation,
    "runtime": _runtime,
    "beta": _beta,
    "anchors": _anchors,
    "convergence": _convergence,
    "incomplete": _incomplete,
    "choices": _choices,
    "order": _order,
}


def _defaults(plan: ExperimentPlan, data: DataSet, **others: Any) -> Iterator[_Row]:
    """Rows of the methods with default settings, and of AutoDALMC if DALMC is one of them."""
    methods = _methods(plan, data)
    for method in methods:
        column = find_method(method).display_name
        yield column, "default", None, _job(plan, data, method, **others)
    if "dalmc" in methods:
        yield AUTO, "auto", None, _job(plan, data, "auto", **others)


def _methods(plan: ExperimentPlan, data: DataSet) -> list[str]:
    """Methods of the plan that can be fitted to the data set."""
    return [m for m in plan.methods if data.complete or find_method(m).accepts_missing_views]


def _job(
    plan: ExperimentPlan,
    data: DataSet,
    method: str,
    settings: Mapping[str, SettingValue] | None = None,
    **others: Any,
) -> Job:
    settings = canonical_settings(method, data.n_clusters, data.n_samples, settings or {})
    return Job.of(data.name, method, settings, **{"runs": plan.runs, "seed": plan.seed, **others})
