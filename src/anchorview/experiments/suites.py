"""Suites: the jobs that make up the tables and figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from anchorview.estimators.methods import PUBLISHED_SETTINGS, GridValues, SettingValue
from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.jobs import Job
from anchorview.experiments.own_methods import code_digest, default_settings, find_method
from anchorview.experiments.plan import SUITES, ExperimentPlan

AUTO = find_method("auto").display_name
IMPUTED = "DALMC on imputed means"

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

MAX_AUTO_RUNS = 4
"""Maximum number of runs of AutoDALMC per fraction of missing entries: those of one fit."""

Settings = Mapping[str, SettingValue]
Grid = Mapping[str, GridValues | Sequence[SettingValue]]


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
    """
    planned = (
        Entry(suite, data.name, *row)
        for suite in (SUITES if "all" in plan.suites else plan.suites)
        for data in sets
        for row in getattr(_Rows(plan, data), suite)()
    )
    return list(dict.fromkeys(entry for entry in planned if entry.mode in plan.modes))


class _Rows:
    """The rows of each suite for one data set; a method per suite."""

    def __init__(self, plan: ExperimentPlan, data: DataSet) -> None:
        self.plan, self.data = plan, data
        self.methods = [
            method
            for method in plan.methods
            if data.complete or find_method(method).accepts_missing_views
        ]

    def compare(self) -> Iterator[_Row]:
        yield from self._defaults()
        for method in self.methods:
            column = f"{find_method(method).display_name} (oracle)"
            for settings in self._grid(method) if method != "auto" else ():
                yield column, "oracle", None, self._job(method, settings)
        if "dalmc" in self.methods:
            for settings in self._grid("dalmc"):
                job = self._job("dalmc", {**PUBLISHED_SETTINGS, **settings})
                yield "DALMC (as published, oracle)", "published", None, job

    def ablation(self) -> Iterator[_Row]:
        for column, variant in ABLATIONS.items():
            yield column, "default", None, self._job("dalmc", {"variant": variant})
        chosen_by_labels: tuple[tuple[str, str, Settings], ...] = (
            ("oracle", "oracle", {}),
            ("published", "as published, oracle", PUBLISHED_SETTINGS),
        )
        for mode, shown, common in chosen_by_labels:
            # The same grid for all three, as a larger one would be an advantage.
            for (column, variant), beta in product(ABLATIONS.items(), self.plan.betas):
                job = self._job("dalmc", {**common, "variant": variant, "beta": beta})
                yield f"{column} ({shown})", mode, None, job

    def runtime(self) -> Iterator[_Row]:
        return self._defaults(runs=1, alone=True)

    def beta(self) -> Iterator[_Row]:
        for beta in self.plan.betas:
            yield "DALMC", "default", float(beta), self._job("dalmc", {"beta": beta})

    def anchors(self) -> Iterator[_Row]:
        for multiple in self.plan.anchors:
            n_anchors = multiple * self.data.n_clusters
            job = self._job("dalmc", {"n_anchors": n_anchors})
            yield "DALMC", "default", float(n_anchors), job

    def convergence(self) -> Iterator[_Row]:
        # Many more iterations than by default, to show the objective beyond the default stop.
        job = self._job("dalmc", {"tol": 1e-8, "max_iter": 100}, runs=1)
        yield "DALMC", "default", None, job

    def incomplete(self) -> Iterator[_Row]:
        if not self.data.complete:
            return
        n_views = len(self.data.n_features_per_view)
        # Compared as products, since 1 - 1 / n_views is not exact.
        fractions = [float(each) for each in self.plan.missing if each * n_views <= n_views - 1]
        for missing in fractions:
            yield "DALMC", "default", missing, self._job("dalmc", missing=missing)
        for missing in fractions:
            # Without missing entries it is the same job as above.
            job = self._job("dalmc", missing=missing, impute=missing > 0)
            yield IMPUTED, "default", missing, job
        for missing in fractions:
            runs = min(self.plan.runs, MAX_AUTO_RUNS)
            yield AUTO, "auto", missing, self._job("auto", missing=missing, runs=runs)

    def choices(self) -> Iterator[_Row]:
        yield "DALMC", "default", None, self._job("dalmc")
        for name, value in CHOICES:
            yield f"{name}={value}", "default", None, self._job("dalmc", {name: value})

    def order(self) -> Iterator[_Row]:
        for column, mode, point, job in self._defaults():
            yield f"{column}, sorted rows", mode, point, replace(job, order="sorted")
            yield f"{column}, shuffled rows", mode, point, replace(job, order="shuffled")

    def _defaults(self, **others: Any) -> Iterator[_Row]:
        """Rows of the methods with default settings."""
        for method in self.methods:
            mode = "auto" if method == "auto" else "default"
            yield find_method(method).display_name, mode, None, self._job(method, **others)

    def _grid(self, method: str) -> Iterator[Settings]:
        """Yield the settings from which the oracle selects the best by the true classes.

        These are all combinations of the values in a grid, by default that of the registry
        :mod:`anchorview.estimators.methods`. The maximum over a larger grid is higher by chance
        alone: methods with grids of different sizes are not compared on equal terms.
        """
        grid: Grid = self.plan.grids.get(method) or find_method(method).grid or {}
        values = [each(self.data.n_clusters) if callable(each) else each for each in grid.values()]
        for combination in product(*values):
            yield dict(zip(grid, combination, strict=True))

    def _job(self, method: str, settings: Settings | None = None, **others: Any) -> Job:
        settings = canonical_settings(method, self.data.n_clusters, settings or {})
        common = {"runs": self.plan.runs, "seed": self.plan.seed, "code": code_digest(method)}
        return Job.of(self.data.name, method, settings, **common | others)


def canonical_settings(method: str, n_clusters: int, settings: Settings) -> dict[str, SettingValue]:
    """Settings without those that equal the method's default on the data set.

    Settings with the same effect must be equal, so that their job runs only once.
    """
    defaults = default_settings(method)
    by_default = find_method(method).n_clusters_by_default
    canonical: dict[str, SettingValue] = {}
    for name, value in settings.items():
        default = defaults[name]
        if type(default) is float and type(value) is int:
            value = float(value)
        # In Python True == 1, but estimators distinguish them.
        is_default = value == default and isinstance(value, bool) == isinstance(default, bool)
        if not is_default and not (name in by_default and value == n_clusters):
            canonical[name] = value
    return canonical
