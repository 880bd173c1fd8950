"""What is to be run, as a plan, and plans in files of one's own."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any

from anchorview._utils.memory import memory_budget
from anchorview._utils.optional_imports import optional_import
from anchorview.estimators.methods import method_class
from anchorview.experiments.plan.grids import BETAS
from anchorview.experiments.plan.jobs import OWN_SETTINGS

SUITES = ("compare", "ablation", "runtime", "beta", "anchors", "convergence", "incomplete")
"""Suites of experiments; "all" stands for all of them."""

MODES = ("default", "auto", "oracle")
"""How settings are chosen: not at all, without labels, or with the true labels."""

COLUMNS = {
    "amgl": "AMGL",
    "bmvc": "BMVC",
    "smvsc": "SMVSC",
    "opmc": "OPMC",
    "uomvsc": "UOMVSC",
    "fpmvs-cag": "FPMVS-CAG",
    "omsc": "OMSC",
    "awmvc": "AWMVC",
    "dalmc": "DALMC",
}
"""Methods of the paper's tables in their order, and what the tables call them."""


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes
    ----------
    title : str
        Heading of the outputs.
    suites : tuple of str
        Out of :data:`SUITES`, or ``"all"``.
    data : tuple of str or None
        Names of data sets; None: all there are.
    methods : tuple of str
        Methods of the suites compare and runtime. With ``"dalmc"`` goes the mode auto.
    modes : tuple of str
        Out of :data:`MODES`.
    runs : int
        Runs that are scored, of each job.
    seed : int
    betas : tuple of float
        Of the suite beta, and of the oracle in the suite ablation; above 0.
    anchors : tuple of int
        Numbers of anchors in the suite anchors, as multiples of the number of classes.
    missing : tuple of float
        Shares of missing entries in the suite incomplete.
    grids : mapping of str to mapping of str to sequence
        For a method, values of its settings that the oracle of the suite compare tries instead of
        :func:`~anchorview.experiments.plan.grids.oracle_grid`, in all combinations.
    time_limit : float or None
        Most seconds of a job.
    memory_limit : float, str or None
        Most memory of a job, in bytes or such as ``"4GB"``.

    Examples
    --------
    >>> Plan(suites=("beta",), betas=(0.01, 0.1)).runs
    20
    """

    title: str = ""
    suites: tuple[str, ...] = ("compare",)
    data: tuple[str, ...] | None = None
    methods: tuple[str, ...] = tuple(COLUMNS)
    modes: tuple[str, ...] = MODES
    runs: int = 20
    seed: int = 0
    betas: tuple[float, ...] = BETAS
    anchors: tuple[int, ...] = (1, 2, 3, 4, 5)
    missing: tuple[float, ...] = tuple(tenths / 10 for tenths in range(8))
    grids: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    time_limit: float | None = None
    memory_limit: float | str | None = None

    def __post_init__(self) -> None:
        for key, (holds, expected) in _EXPECTED.items():
            value = getattr(self, key)
            if not holds(value):
                shown = list(value) if isinstance(value, tuple) else value
                raise ValueError(f"{key} must be {expected}; got {shown!r}.")
        if self.memory_limit is not None:
            memory_budget(self.memory_limit)
        for method, grid in self.grids.items():
            _require_grid(method, grid)


def read_plan(path: Path) -> Plan:
    r"""Read a plan of one's own from a TOML or YAML file.

    Parameters
    ----------
    path : Path
        A ``.toml``, ``.yaml`` or ``.yml`` file with any of the attributes of :class:`Plan` as
        keys. YAML needs ``pip install "anchorview[yaml]"``.

    Returns
    -------
    Plan
        Its title is the name of the file, unless the file gives one.

    Raises
    ------
    ValueError
        If the file cannot be read, or a key or a value is wrong; the message says which, and what
        there is.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.toml"
    ...     _ = path.write_text('suites = ["beta"]\nbetas = [0.01, 0.1, 1.0]\nruns = 5\n')
    ...     plan = read_plan(path)
    >>> plan.title, plan.suites, plan.betas, plan.runs
    ('mine', ('beta',), (0.01, 0.1, 1.0), 5)
    """
    content = _content(path)
    known = [each.name for each in fields(Plan)]
    for key in content:
        if key not in known:
            raise ValueError(f"{path}: the key {key!r} is unknown; there are {', '.join(known)}.")
    given: dict[str, Any] = {"title": path.stem}
    given |= {key: tuple(v) if isinstance(v, list) else v for key, v in content.items()}
    try:
        return Plan(**given)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _content(path: Path) -> dict[Any, Any]:
    """Read what a file says, as a mapping."""
    parsers: dict[str, Callable[[str], Any]] = {
        ".toml": tomllib.loads,
        ".yaml": _yaml,
        ".yml": _yaml,
    }
    kind = path.suffix.lower()
    if kind not in parsers:
        raise ValueError(f"{path}: a suite is a .toml, .yaml or .yml file. Save it as one.")
    try:
        content = parsers[kind](path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}). Check the path.") from error
    except ImportError:
        # A ValueError as well, but not one of the file.
        raise
    except ValueError as error:
        what = " ".join(str(error).split())
        raise ValueError(f"{path}: is not valid {kind[1:].upper()} ({what}). Correct it.") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError(
            f"{path}: must hold keys with values, such as 'runs: 5'; got {type(content).__name__}."
        )
    return content


def _yaml(text: str) -> Any:
    yaml = optional_import("yaml", "Suites in YAML", "yaml")

    class Loader(yaml.SafeLoader):  # type: ignore[name-defined]
        """Takes 1e-4 for a number, as TOML does, and not only 1.0e-4."""

    exponent = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", exponent, list("-+0123456789"))
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _list_of(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Test for a list with at least one item, all of which pass a test."""
    return lambda value: isinstance(value, (list, tuple)) and bool(value) and all(map(holds, value))


def _names(*known: str) -> tuple[Callable[[Any], bool], str]:
    return _list_of(lambda name: name in known), f"a list of names out of {', '.join(known)}"


_EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "title": (lambda value: isinstance(value, str), "text"),
    "suites": _names(*SUITES, "all"),
    "data": (
        lambda value: value is None or _list_of(lambda name: isinstance(name, str))(value),
        "a list of names of data sets",
    ),
    "methods": _names(*COLUMNS),
    "modes": _names(*MODES),
    "runs": (lambda value: _is_whole(value) and value >= 1, "a whole number from 1 on"),
    "seed": (lambda value: _is_whole(value) and value >= 0, "a whole number from 0 on"),
    # The axis of the figure is logarithmic.
    "betas": (_list_of(lambda beta: _is_number(beta) and beta > 0), "a list of numbers above 0"),
    "anchors": (
        _list_of(lambda times: _is_whole(times) and times >= 1),
        "a list of whole numbers from 1 on, multiples of the number of classes",
    ),
    "missing": (
        _list_of(lambda share: _is_number(share) and 0 <= share < 1),
        "a list of shares from 0 to below 1",
    ),
    "grids": (
        lambda value: isinstance(value, Mapping),
        "a mapping of methods to settings and their values",
    ),
    "time_limit": (
        lambda value: value is None or (_is_number(value) and value > 0),
        "a number of seconds above 0",
    ),
    "memory_limit": (
        lambda value: value is None or isinstance(value, str) or _is_number(value),
        "a number of bytes, or text such as '4GB'",
    ),
}
"""Test of each attribute of a plan, and what it must be in words."""


def _require_grid(method: Any, grid: Any) -> None:
    """Raise unless a method has these settings and takes each of these values."""
    if method not in COLUMNS:
        raise ValueError(f"grids: {method!r} must be a method out of {', '.join(COLUMNS)}.")
    where = f"grids.{method}"
    if not isinstance(grid, Mapping) or not grid:
        raise ValueError(f"{where} must be a mapping of settings to lists of values; got {grid!r}.")
    cls = method_class(method)
    known = sorted(set(cls().get_params()) - {*OWN_SETTINGS, "verbose"})
    for setting, values in grid.items():
        if setting not in known:
            raise ValueError(
                f"{where}: {setting!r} is not a setting of {method}; there are {', '.join(known)}."
            )
        if not _list_of(lambda value: type(value) in (bool, int, float, str))(values):
            raise ValueError(
                f"{where}.{setting} must be a list of numbers, texts or truth values; got "
                f"{values!r}."
            )
        for value in values:
            try:
                cls(**{setting: value})._validate_params()
            except ValueError as error:
                raise ValueError(f"{where}.{setting}: {error}") from None
