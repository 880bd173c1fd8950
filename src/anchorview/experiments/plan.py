"""Plans of experiments, and their files."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from anchorview._utils.errors import optional_import
from anchorview._utils.memory import memory_budget
from anchorview._utils.param_constraints import POSITIVE, POSITIVE_INT, ParameterConstraints
from anchorview._utils.sklearn_compat import Interval, StrOptions, validate_parameter_constraints
from anchorview._utils.text import one_line
from anchorview.estimators.methods import BETAS, REGISTRY, SettingValue, method_class
from anchorview.experiments.own_methods import (
    SET_BY_JOBS,
    default_settings,
    find_method,
    imported,
    is_own,
)

SUITES = (
    *("compare", "ablation", "runtime", "beta", "anchors", "convergence", "incomplete"),
    *("choices", "order"),
)
"""Suites of experiments; "all" means all of them."""

MODES = ("default", "auto", "oracle", "published")
"""How settings are chosen: the defaults; without the true classes; by the true classes; or, for
DALMC, as in the paper, which is by the true classes too."""

LABEL_MODES = ("oracle", "published")
"""Modes in which settings are chosen by the true classes."""

PLAN_SUFFIXES = (".toml", ".yaml", ".yml")

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
    """Methods of the suites compare, runtime and order; those that are not of this package as
    ``"module:Class"`` or ``"module:function"``."""
    modes: tuple[str, ...] = MODES
    """Some of :data:`MODES`."""
    runs: int = 20
    """Number of runs that are scored per job."""
    seed: int = 0
    betas: tuple[float, ...] = BETAS
    """Values for the suite beta and for the oracle in the suite ablation."""
    anchors: tuple[int, ...] = (1, 2, 3, 4, 5)
    """Numbers of anchors in the suite anchors, as multiples of the number of classes."""
    missing: tuple[float, ...] = tuple(tenths / 10 for tenths in range(8))
    """Fractions of missing entries in the suite incomplete."""
    grids: Mapping[str, Mapping[str, Sequence[SettingValue]]] = field(default_factory=dict)
    """Grids, by method, that replace those of the registry for the oracle of the suite compare."""
    time_limit: float | None = None
    """Maximum time of a job in seconds."""
    memory_limit: float | str | None = None
    """Maximum memory of a job, in bytes or such as ``"4GB"``."""

    def __post_init__(self) -> None:
        for name, constraints in _CONSTRAINTS.items():
            values = [getattr(self, name)]
            if name in _LISTS and values != [None]:
                (values,) = values
                if not isinstance(values, list | tuple) or not values or None in values:
                    raise ValueError(f"{name} must be a list of values; got {values!r}.")
            for value in values:
                validate_parameter_constraints({name: constraints}, {name: value}, "the plan")
        names: dict[str, str] = {}
        for method in self.methods:
            if is_own(method):
                imported(method)
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
    """Read a plan from a TOML or YAML file.

    Its keys are attributes of :class:`ExperimentPlan`; the title defaults to the name of the file.
    YAML requires ``pip install "anchorview[yaml]"``.
    """
    suffix = path.suffix.lower()
    if suffix not in PLAN_SUFFIXES:
        raise ValueError(f"{path}: a plan must be a .toml, .yaml or .yml file.")
    known = [each.name for each in fields(ExperimentPlan)]
    try:
        text = path.read_text(encoding="utf-8")
        content = (tomllib.loads(text) if suffix == ".toml" else _parse_yaml(text)) or {}
        if not isinstance(content, dict):
            raise ValueError(f"must be a mapping, such as 'runs: 5'; got {type(content).__name__}.")
        if unknown := [key for key in content if key not in known]:
            raise ValueError(f"unknown key {unknown[0]!r}; valid keys are {', '.join(known)}.")
        values: dict[str, Any] = {"title": path.stem, **content}
        lists = {key: tuple(each) for key, each in values.items() if isinstance(each, list)}
        return ExperimentPlan(**values | lists)
    except ImportError:
        # Raised for a missing optional package; also a ValueError, but not about the file.
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: cannot be used as a plan: {one_line(error)}") from error


def _parse_yaml(text: str) -> Any:
    yaml = optional_import("yaml", "Plans in YAML", "yaml")

    class Loader(yaml.SafeLoader):  # type: ignore[name-defined]
        """Reads 1e-4 as a number, as TOML does; YAML 1.1 requires 1.0e-4."""

    exponent = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", exponent, list("-+0123456789"))
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


_LISTS = ("suites", "data", "methods", "modes", "betas", "anchors", "missing")
"""Attributes of a plan that are lists; their constraints are those of the items."""

_CONSTRAINTS: ParameterConstraints = {
    "title": [str],
    "suites": [StrOptions({*SUITES, "all"})],
    "data": [str, None],
    "methods": [str],
    "modes": [StrOptions({*MODES})],
    "runs": [POSITIVE_INT],
    "seed": [Interval(Integral, 0, None, closed="left")],
    # The axis of the figure is logarithmic.
    "betas": [POSITIVE],
    "anchors": [POSITIVE_INT],
    "missing": [Interval(Real, 0, 1, closed="left")],
    "grids": [Mapping],
    "time_limit": [POSITIVE, None],
    "memory_limit": [POSITIVE, str, None],
}


def _require_valid_grid(method: Any, grid: Any) -> None:
    """Raise unless the method has these parameters and accepts each of these values."""
    if method == "auto" or not isinstance(method, str):
        raise ValueError(f"grids: {method!r} has no grid; it selects its settings itself.")
    settable = [name for name in default_settings(method) if name not in SET_BY_JOBS]
    if not isinstance(grid, Mapping) or not grid:
        raise ValueError(
            f"grids.{method} must be a mapping of settings to lists of values; got {grid!r}."
        )
    for name, values in grid.items():
        key = f"grids.{method}.{name}"
        if not isinstance(values, list | tuple) or not values or None in values:
            raise ValueError(f"{key} must be a list of values; got {values!r}.")
        if name not in settable:
            raise ValueError(f"{key} is not a parameter to choose: {', '.join(settable)}.")
        for value in values:
            try:
                if not is_own(method):
                    method_class(method)().set_params(**{name: value})._validate_params()
                elif not isinstance(value, bool | int | float | str):
                    raise ValueError(f"{value!r} is neither a number, a string nor a boolean.")
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from None
