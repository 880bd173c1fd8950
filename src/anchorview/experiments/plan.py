"""Plans of experiments, their files, and the jobs of their suites."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from itertools import product
from numbers import Integral
from pathlib import Path
from typing import Any

from anchorview._utils import sklearn_compat as constraints
from anchorview._utils.memory import memory_budget
from anchorview._utils.text import one_line
from anchorview.estimators.methods import (
    BETAS,
    PUBLISHED_SETTINGS,
    REGISTRY,
    SettingValue,
    method_class,
)
from anchorview.experiments.inputs import (
    SET_BY_JOBS,
    DataSet,
    code_digest,
    default_settings,
    find_method,
    is_external,
)
from anchorview.experiments.jobs import Job

SUITES = ("compare", "ablation", "runtime", "beta", "anchors", "convergence")
METHOD_SUITES = ("compare", "runtime")
"""Suites of experiments, and those that have the methods of a plan; the others have DALMC."""

MODES = ("default", "auto", "oracle", "published")
"""How settings are chosen: the defaults; without the true classes; by the true classes; or, for
DALMC, as in the paper, which is by the true classes too."""

LABEL_MODES = ("oracle", "published")
"""Modes in which settings are chosen by the true classes."""

ABLATIONS = {"DALMC": "dalmc", "ablation-1": "sampled-anchors", "ablation-2": "box-graph"}
"""Columns of the paper's Tables VI-IX, and the variant of DALMC in each."""

TABLE_METHODS = tuple(
    method.name for method in REGISTRY if not method.requires or find_spec(method.requires)
)
"""Methods of the tables, in the order of their columns; those that are installed."""


@dataclass(frozen=True)
class ExperimentPlan:
    """Plan of experiments.

    Examples
    --------
    >>> ExperimentPlan(suites=("beta",), betas=(0.01, 0.1)).runs
    20
    """

    title: str = ""
    """Heading of the outputs."""
    suites: tuple[str, ...] = ("compare",)
    """Some of :data:`SUITES`, or ``"all"``."""
    data: tuple[str, ...] | None = None
    """Names of data sets; None means all that are available."""
    methods: tuple[str, ...] = TABLE_METHODS
    """Methods of the suites compare and runtime; those that are not of this package as
    ``"module:Class"`` or ``"module:function"``."""
    modes: tuple[str, ...] = MODES
    runs: int = 20
    """Number of runs that are scored per job."""
    seed: int = 0
    betas: tuple[float, ...] = BETAS
    """Values for the suite beta and for the oracle in the suite ablation."""
    anchors: tuple[int, ...] = (1, 2, 3, 4, 5)
    """Numbers of anchors in the suite anchors, as multiples of the number of classes."""
    grids: Mapping[str, Mapping[str, Sequence[SettingValue]]] = field(default_factory=dict)
    """Grids, by method, that replace those of the registry for the oracle of the suite compare."""
    time_limit: float | None = None
    memory_limit: float | str | None = None
    """Limits of a job, in seconds, and in bytes or such as ``"4GB"``."""

    def __post_init__(self) -> None:
        for name, allowed in _CONSTRAINTS.items():
            given = getattr(self, name)
            is_list = name in _LISTS and given is not None
            for value in _items(name, given) if is_list else [given]:
                constraint = {name: allowed}
                constraints.validate_parameter_constraints(constraint, {name: value}, "the plan")
        names: dict[str, str] = {}
        for method in self.methods:
            shown = find_method(method).display_name
            if names.setdefault(shown, method) != method:
                raise ValueError(
                    f"methods: {names[shown]!r} and {method!r} would both be {shown} in tables. "
                    "Import one of them under another name."
                )
        if self.memory_limit is not None:
            memory_budget(self.memory_limit)
        for method, grid in self.grids.items():
            _require_valid_grid(method, grid)


def read_plan(path: Path) -> ExperimentPlan:
    """Read a plan from a TOML file; its keys are attributes of :class:`ExperimentPlan`."""
    known = [each.name for each in fields(ExperimentPlan)]
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        if unknown := [key for key in content if key not in known]:
            raise ValueError(f"unknown key {unknown[0]!r}; valid keys are {', '.join(known)}.")
        values: dict[str, Any] = {"title": path.stem, **content}
        lists = {key: tuple(each) for key, each in values.items() if isinstance(each, list)}
        return ExperimentPlan(**values | lists)
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: cannot be used as a plan: {one_line(error)}") from error


_LISTS = ("suites", "data", "methods", "modes", "betas", "anchors")
"""Attributes of a plan that are lists; their constraints are those of the items."""

_CONSTRAINTS: constraints.ParameterConstraints = {
    "title": [str],
    "suites": [constraints.StrOptions({*SUITES, "all"})],
    "data": [str, None],
    "methods": [str],
    "modes": [constraints.StrOptions({*MODES})],
    "runs": [constraints.POSITIVE_INT],
    "seed": [constraints.Interval(Integral, 0, None, closed="left")],
    # The axis of the figure is logarithmic.
    "betas": [constraints.POSITIVE],
    "anchors": [constraints.POSITIVE_INT],
    "grids": [Mapping],
    "time_limit": [constraints.POSITIVE, None],
    "memory_limit": [constraints.POSITIVE, str, None],
}


def _items(key: str, values: Any) -> Sequence[Any]:
    if not isinstance(values, list | tuple) or not values or None in values:
        raise ValueError(f"{key} must be a list of values; got {values!r}.")
    return values


def _require_valid_grid(method: str, grid: Any) -> None:
    """Raise unless the method has these parameters and accepts each of these values."""
    if find_method(method).grid is None:
        raise ValueError(f"grids: {method!r} has no grid; it selects its settings itself.")
    settable = [name for name in default_settings(method) if name not in SET_BY_JOBS]
    if not isinstance(grid, Mapping) or not grid:
        raise ValueError(
            f"grids.{method} must be a mapping of settings to lists of values; got {grid!r}."
        )
    for name, values in grid.items():
        key = f"grids.{method}.{name}"
        if name not in settable:
            raise ValueError(f"{key} is not a parameter to choose: {', '.join(settable)}.")
        for value in _items(key, values):
            try:
                if not is_external(method):
                    method_class(method)().set_params(**{name: value})._validate_params()
                elif not isinstance(value, bool | int | float | str):
                    raise ValueError(f"{value!r} is neither a number, a string nor a boolean.")
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from None


Settings = Mapping[str, SettingValue]


@dataclass(frozen=True)
class Entry:
    """A job, and its position in tables and figures, where the best of several is shown."""

    suite: str
    data: str
    column: str
    mode: str
    point: float | None
    """Position on the x axis: beta, or number of anchors."""
    job: Job


_Row = tuple[str, str, float | None, Job]
"""Column, mode, point and job of an entry."""


def entries(plan: ExperimentPlan, sets: Sequence[DataSet]) -> list[Entry]:
    """Entries of the suites of a plan, in the order of the tables."""
    return [entry for entry in _of_all_modes(plan, sets) if entry.mode in plan.modes]


def left_out(plan: ExperimentPlan, sets: Sequence[DataSet]) -> Iterator[str]:
    """Yield the methods that a plan names but does not run, and why."""
    found = [entry for entry in _of_all_modes(plan, sets) if entry.suite in METHOD_SUITES]
    for method in plan.methods if plan.methods != TABLE_METHODS else ():
        own = [entry for entry in found if entry.job.method == method]
        modes, able = {entry.mode for entry in own}, {entry.data for entry in own}
        if not found:
            yield f"{method} (only the suites {' and '.join(METHOD_SUITES)} have methods to choose)"
        elif modes and not modes & set(plan.modes):
            yield f"{method} (it has no mode but {' and '.join(sorted(modes))})"
        elif lacking := [data.name for data in sets if data.name not in able]:
            yield f"{method} on {', '.join(lacking)} (which has missing views)"


def _of_all_modes(plan: ExperimentPlan, sets: Sequence[DataSet]) -> list[Entry]:
    planned = (
        Entry(suite, data.name, *row)
        for suite in (SUITES if "all" in plan.suites else plan.suites)
        for data in sets
        for row in getattr(_Rows(plan, data), suite)()
    )
    return list(dict.fromkeys(planned))


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
            for settings in self._grid(method):
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

    def _defaults(self, **others: Any) -> Iterator[_Row]:
        """Rows of the methods with default settings."""
        for method in self.methods:
            mode = "auto" if method == "auto" else "default"
            yield find_method(method).display_name, mode, None, self._job(method, **others)

    def _grid(self, method: str) -> Iterator[Settings]:
        """Yield the settings, all combinations in a grid, of which the oracle takes the best."""
        grid = self.plan.grids.get(method, find_method(method).grid)
        if grid is None:
            return
        values = [each(self.data.n_clusters) if callable(each) else each for each in grid.values()]
        for combination in product(*values):
            yield dict(zip(grid, combination, strict=True))

    def _job(self, method: str, settings: Settings | None = None, **others: Any) -> Job:
        settings = canonical_settings(method, self.data.n_clusters, settings or {})
        common = {"runs": self.plan.runs, "seed": self.plan.seed, "code": code_digest(method)}
        return Job.of(self.data.name, method, settings, **common | others)


def canonical_settings(method: str, n_clusters: int, settings: Settings) -> dict[str, SettingValue]:
    """Settings without the method's defaults: equal for the same effect, so that it runs once."""
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
