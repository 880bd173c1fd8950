"""Suites: the jobs that make up the tables and figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anchorview.estimators.methods import SettingValue, find_method
from anchorview.experiments.plan.data_sets import DataSet
from anchorview.experiments.plan.experiment_plan import SUITES, ExperimentPlan
from anchorview.experiments.plan.grids import canonical_settings, oracle_grid, setting_combinations
from anchorview.experiments.plan.jobs import Job

AUTO = find_method("auto").display_name
IMPUTED = "DALMC on imputed means"

ABLATIONS = {"DALMC": "dalmc", "ablation-1": "sampled-anchors", "ablation-2": "box-graph"}
"""Columns of the paper's Tables VI-IX, and the variant of DALMC in each."""

MAX_AUTO_RUNS = 4
"""Maximum number of runs of AutoDALMC per fraction of missing entries, which makes one fit."""


@dataclass(frozen=True)
class Entry:
    """A job, and its position in a table or figure.

    Several entries of an oracle column have the same position; the best of them is shown. Entries
    with equal jobs share one result.

    Attributes
    ----------
    suite : str
        One of :data:`~anchorview.experiments.plan.experiment_plan.SUITES`.
    data : str
        Name of the data set.
    column : str
        Name in tables and legends, such as ``"DALMC (oracle)"``.
    mode : str
        One of :data:`~anchorview.experiments.plan.experiment_plan.MODES`.
    point : float or None
        Position on the x axis: beta, number of anchors, or fraction of missing entries.
    job : Job
    """

    suite: str
    data: str
    column: str
    mode: str
    point: float | None
    job: Job


def entries(plan: ExperimentPlan, sets: Sequence[DataSet]) -> list[Entry]:
    """Entries of the suites of a plan, in the order of the tables.

    On a data set with missing views, the suites compare and runtime have only the methods that
    accept them, and the suite incomplete has none. The suite incomplete leaves out fractions with
    which a sample could not keep a view.

    Examples
    --------
    >>> from anchorview.experiments.plan.data_sets import data_sets
    >>> plan = ExperimentPlan(suites=("compare",), modes=("default",))
    >>> for entry in entries(plan, data_sets(None, ["synthetic"]))[-2:]:
    ...     print(entry.column, entry.job)
    AWMVC Job(data='synthetic', method='awmvc', settings=(), ...)
    DALMC Job(data='synthetic', method='dalmc', settings=(), ...)
    """
    suites = SUITES if "all" in plan.suites else plan.suites
    found = (entry for suite in suites for data in sets for entry in _ENTRIES[suite](plan, data))
    return list(dict.fromkeys(entry for entry in found if entry.mode in plan.modes))


def _compare(plan: ExperimentPlan, data: DataSet) -> Iterator[Entry]:
    yield from _defaults("compare", plan, data)
    for method in _methods(plan, data):
        for settings in _grid(plan, data, method):
            job = _job(plan, data, method, settings)
            column = _oracle(find_method(method).display_name)
            yield Entry("compare", data.name, column, "oracle", None, job)


def _ablation(plan: ExperimentPlan, data: DataSet) -> Iterator[Entry]:
    for column, variant in ABLATIONS.items():
        job = _job(plan, data, "dalmc", {"variant": variant})
        yield Entry("ablation", data.name, column, "default", None, job)
    for column, variant in ABLATIONS.items():
        # The same grid for all three, as a larger one would be an advantage.
        for beta in plan.betas:
            job = _job(plan, data, "dalmc", {"variant": variant, "beta": beta})
            yield Entry("ablation", data.name, _oracle(column), "oracle", None, job)


def _runtime(plan: ExperimentPlan, data: DataSet) -> Iterator[Entry]:
    yield from _defaults("runtime", plan, data, runs=1, alone=True)


def _beta(plan: ExperimentPlan, data: DataSet) -> Iterator[Entry]:
    for beta in plan.betas:
        job = _job(plan, data, "dalmc", {"beta": beta})
        yield Entry("beta", data.name, "DALMC", "default", float(beta), job)


def _anchors(plan: ExperimentPlan, data: DataSet) -> Iterator[Entry]:
    for multiple in plan.anchors:
        n_anchors = multiple * data.n_clusters
        job = _job(plan, data, "dalmc", {"n_anchors": n_anchors})
        yield Entry("anchors", data.name, "DALMC", "default", float(n_anchors), job)


def _convergence(plan: ExperimentPlan, data: DataSet) -> Iterator[Entry]:
    # Many more iterations than by default, to show the objective beyond the default stop.
    job = _job(plan, data, "dalmc", {"tol": 1e-8, "max_iter": 100}, runs=1)
    yield Entry("convergence", data.name, "DALMC", "default", None, job)


def _incomplete(plan: ExperimentPlan, data: DataSet) -> Iterator[Entry]:
    if not data.complete:
        return
    n_views = len(data.n_features_per_view)
    # Compared as products, since 1 - 1 / n_views is not exact.
    fractions = [float(each) for each in plan.missing if each * n_views <= n_views - 1]
    auto_runs = min(plan.runs, MAX_AUTO_RUNS)
    for missing in fractions:
        job = _job(plan, data, "dalmc", missing=missing)
        yield Entry("incomplete", data.name, "DALMC", "default", missing, job)
    for missing in fractions:
        # Without missing entries it is the same job as above.
        job = _job(plan, data, "dalmc", missing=missing, impute=missing > 0)
        yield Entry("incomplete", data.name, IMPUTED, "default", missing, job)
    for missing in fractions:
        job = _job(plan, data, "auto", missing=missing, runs=auto_runs)
        yield Entry("incomplete", data.name, AUTO, "auto", missing, job)


_ENTRIES: Mapping[str, Callable[[ExperimentPlan, DataSet], Iterator[Entry]]] = {
    "compare": _compare,
    "ablation": _ablation,
    "runtime": _runtime,
    "beta": _beta,
    "anchors": _anchors,
    "convergence": _convergence,
    "incomplete": _incomplete,
}


def _defaults(suite: str, plan: ExperimentPlan, data: DataSet, **others: Any) -> Iterator[Entry]:
    """Entries of the methods with default settings, and of AutoDALMC if DALMC is one of them."""
    methods = _methods(plan, data)
    for method in methods:
        column = find_method(method).display_name
        yield Entry(suite, data.name, column, "default", None, _job(plan, data, method, **others))
    if "dalmc" in methods:
        yield Entry(suite, data.name, AUTO, "auto", None, _job(plan, data, "auto", **others))


def _methods(plan: ExperimentPlan, data: DataSet) -> list[str]:
    """Methods of the plan that can be fitted to the data set."""
    return [m for m in plan.methods if data.complete or find_method(m).accepts_missing_views]


def _grid(plan: ExperimentPlan, data: DataSet, method: str) -> list[dict[str, SettingValue]]:
    if method in plan.grids:
        return setting_combinations(method, data.n_clusters, data.n_samples, plan.grids[method])
    return oracle_grid(method, data.n_clusters, data.n_samples)


def _oracle(column: str) -> str:
    return f"{column} (oracle)"


def _job(
    plan: ExperimentPlan,
    data: DataSet,
    method: str,
    settings: Mapping[str, SettingValue] | None = None,
    **others: Any,
) -> Job:
    settings = canonical_settings(method, data.n_clusters, data.n_samples, settings or {})
    return Job.of(data.name, method, settings, **{"runs": plan.runs, "seed": plan.seed, **others})
