"""The suites: which jobs a table or figure is made of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anchorview.experiments.plan.grids import crossed, oracle_grid, shared
from anchorview.experiments.plan.jobs import Job

# Here too, because these are the names of what this module makes.
from anchorview.experiments.plan.plan_file import COLUMNS, Plan
from anchorview.experiments.plan.plan_file import MODES as MODES
from anchorview.experiments.plan.plan_file import SUITES as SUITES
from anchorview.experiments.run.data_sets import DataSet

AUTO = "DALMC (auto)"
IMPUTED = "DALMC on imputed means"

ABLATIONS = {"DALMC": "dalmc", "ablation-1": "sampled-anchors", "ablation-2": "box-graph"}
"""Columns of the paper's Tables VI-IX, and the variants of DALMC that they show."""

AUTO_RUNS = 4
"""Most runs of AutoDALMC at each missing rate: one fit, itself a consensus of dozens."""


@dataclass(frozen=True)
class Entry:
    """Place of a job in a table or figure.

    Several entries of an oracle column may have the same place: the best of them counts. Several
    entries may have the same job, which is run once.

    Attributes
    ----------
    suite : str
        One of :data:`SUITES`.
    data : str
        Name of the data set.
    column : str
        What tables and legends call it, such as ``"DALMC (oracle)"``.
    mode : str
        One of :data:`MODES`.
    point : float or None
        Place on the x axis: beta, number of anchors, or share of missing entries.
    job : Job
    """

    suite: str
    data: str
    column: str
    mode: str
    point: float | None
    job: Job


def entries(
    suite: str | Plan,
    sets: Sequence[DataSet],
    *,
    modes: Sequence[str] | None = None,
    runs: int | None = None,
    seed: int | None = None,
) -> list[Entry]:
    """All jobs of a suite, with their places, in the order in which tables show them.

    On a data set whose samples do not have all views, the suites compare and runtime have DALMC and
    AutoDALMC only, since the other methods need every view, and the suite incomplete leaves it out.
    The suite incomplete also leaves out shares of missing entries at which a sample could not keep
    one view.

    Parameters
    ----------
    suite : str or Plan
        One of :data:`SUITES`, ``"all"``, or a plan of one's own.
    sets : sequence of DataSet
        What to run on.
    modes : sequence of str, optional
        Out of :data:`MODES`: which columns to make. By default those of the plan, which are all
        unless it says otherwise.
    runs : int, optional
        Runs that are scored; by default those of the plan, or 20.
    seed : int, optional
        Seed of all jobs; by default that of the plan, or 0.

    Returns
    -------
    list of Entry

    Examples
    --------
    >>> from anchorview.experiments.run.data_sets import data_sets
    >>> for entry in entries("compare", data_sets(None, ["synthetic"]), modes=["default"])[-2:]:
    ...     print(entry.column, entry.job)
    AWMVC Job(data='synthetic', method='awmvc', settings=(), ...)
    DALMC Job(data='synthetic', method='dalmc', settings=(), ...)
    """
    plan = suite if isinstance(suite, Plan) else Plan(suites=(suite,))
    plan = replace(
        plan,
        modes=plan.modes if modes is None else tuple(modes),
        runs=plan.runs if runs is None else runs,
        seed=plan.seed if seed is None else seed,
    )
    wanted = SUITES if "all" in plan.suites else plan.suites
    found = (entry for name in wanted for data in sets for entry in _MAKERS[name](plan, data))
    return list(dict.fromkeys(entry for entry in found if entry.mode in plan.modes))


def _compare(plan: Plan, data: DataSet) -> Iterator[Entry]:
    methods = _methods(plan, data)
    for method in methods:
        job = _job(plan, data, method)
        yield Entry("compare", data.name, COLUMNS[method], "default", None, job)
    if "dalmc" in methods:
        yield Entry("compare", data.name, AUTO, "auto", None, _job(plan, data, "auto"))
    for method in methods:
        for settings in _grid(plan, data, method):
            job = _job(plan, data, method, settings)
            yield Entry("compare", data.name, _oracle(COLUMNS[method]), "oracle", None, job)


def _ablation(plan: Plan, data: DataSet) -> Iterator[Entry]:
    for column, variant in ABLATIONS.items():
        job = _job(plan, data, "dalmc", {"variant": variant})
        yield Entry("ablation", data.name, column, "default", None, job)
    for column, variant in ABLATIONS.items():
        # The same search for all three: one over more settings would favor the one that has it.
        for beta in plan.betas:
            job = _job(plan, data, "dalmc", {"variant": variant, "beta": beta})
            yield Entry("ablation", data.name, _oracle(column), "oracle", None, job)


def _runtime(plan: Plan, data: DataSet) -> Iterator[Entry]:
    methods = _methods(plan, data)
    timed: dict[str, Any] = {"runs": 1, "alone": True}
    for method in methods:
        job = _job(plan, data, method, **timed)
        yield Entry("runtime", data.name, COLUMNS[method], "default", None, job)
    if "dalmc" in methods:
        job = _job(plan, data, "auto", **timed)
        yield Entry("runtime", data.name, AUTO, "auto", None, job)


def _beta(plan: Plan, data: DataSet) -> Iterator[Entry]:
    for beta in plan.betas:
        job = _job(plan, data, "dalmc", {"beta": beta})
        yield Entry("beta", data.name, "DALMC", "default", float(beta), job)


def _anchors(plan: Plan, data: DataSet) -> Iterator[Entry]:
    for times in plan.anchors:
        n_anchors = times * data.n_clusters
        job = _job(plan, data, "dalmc", {"n_anchors": n_anchors})
        yield Entry("anchors", data.name, "DALMC", "default", float(n_anchors), job)


def _convergence(plan: Plan, data: DataSet) -> Iterator[Entry]:
    # Far beyond where it stops by default, to see what becomes of the objective.
    job = _job(plan, data, "dalmc", {"tol": 1e-8, "max_iter": 100}, runs=1)
    yield Entry("convergence", data.name, "DALMC", "default", None, job)


def _incomplete(plan: Plan, data: DataSet) -> Iterator[Entry]:
    if not data.complete:
        return
    n_views = len(data.n_features_per_view)
    # Compared as products: 1 - 1 / n_views is not exact.
    shares = [float(share) for share in plan.missing if share * n_views <= n_views - 1]
    for share in shares:
        job = _job(plan, data, "dalmc", missing=share)
        yield Entry("incomplete", data.name, "DALMC", "default", share, job)
    for share in shares:
        # Nothing to fill where nothing is missing: the same job as without.
        job = _job(plan, data, "dalmc", missing=share, impute=share > 0)
        yield Entry("incomplete", data.name, IMPUTED, "default", share, job)
    for share in shares:
        job = _job(plan, data, "auto", missing=share, runs=min(plan.runs, AUTO_RUNS))
        yield Entry("incomplete", data.name, AUTO, "auto", share, job)


_MAKERS: Mapping[str, Callable[[Plan, DataSet], Iterator[Entry]]] = {
    "compare": _compare,
    "ablation": _ablation,
    "runtime": _runtime,
    "beta": _beta,
    "anchors": _anchors,
    "convergence": _convergence,
    "incomplete": _incomplete,
}


def _methods(plan: Plan, data: DataSet) -> list[str]:
    """Methods of the plan that take the data set."""
    return [method for method in plan.methods if data.complete or method == "dalmc"]


def _grid(plan: Plan, data: DataSet, method: str) -> list[dict[str, Any]]:
    if method in plan.grids:
        return crossed(method, data.n_clusters, data.n_samples, plan.grids[method])
    return oracle_grid(method, data.n_clusters, data.n_samples)


def _oracle(column: str) -> str:
    return f"{column} (oracle)"


def _job(
    plan: Plan, data: DataSet, method: str, settings: Mapping[str, Any] | None = None, **rest: Any
) -> Job:
    settings = shared(method, data.n_clusters, data.n_samples, settings or {})
    return Job.of(data.name, method, settings, **{"runs": plan.runs, "seed": plan.seed, **rest})
