"""Jobs, the units of work of experiments, and their results."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, Literal, Self, get_args

from anchorview.estimators.methods import SettingValue, find_method

METRICS = ("ACC", "NMI", "F1", "Purity", "ARI")
"""Scores of a run, as named by :func:`anchorview.metrics.clustering_scores`."""

Status = Literal["done", "memory", "time", "failed"]
"""How a job ended; tables show "-" for all but "done"."""

RowOrder = Literal["file", "sorted", "shuffled"]
"""Order of the rows of a data set: that of the file, by class, or random."""

RESERVED_SETTINGS = ("n_clusters", "random_state")
"""Parameters of an estimator that are set from the data set and from the job's seed."""


@dataclass(frozen=True)
class Job:
    """One method with one choice of settings on one data set; runs in one process.

    Examples
    --------
    >>> job = Job.of("digits", "dalmc", {"n_anchors": 20, "beta": 0.1}, runs=5)
    >>> job.settings
    (('beta', 0.1), ('n_anchors', 20))
    """

    data: str
    """Name of the data set."""
    method: str
    """One of :data:`anchorview.estimators.methods.METHODS`."""
    settings: tuple[tuple[str, SettingValue], ...] = ()
    """Parameters of the estimator, sorted by name, with tuples for lists."""
    missing: float = 0.0
    """Fraction of the (sample, view) entries to remove at random; every sample keeps a view."""
    impute: bool = False
    """Whether to replace missing entries by feature means."""
    runs: int = 20
    """Number of runs to score."""
    seed: int = 0
    """Seed of the fit and of the removal of entries; run r uses ``seed + r``."""
    alone: bool = False
    """Whether to run without other jobs at the same time, to measure its time."""
    order: RowOrder = "file"
    """Order in which the rows are passed to the fit; the seed determines a random one."""

    def __post_init__(self) -> None:
        find_method(self.method)
        if not 0 <= self.missing < 1:
            raise ValueError(f"missing must be a fraction in [0, 1); got {self.missing!r}.")
        for name, minimum in (("runs", 1), ("seed", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < minimum:
                raise ValueError(f"{name} must be an integer >= {minimum}; got {value!r}.")
        if self.order not in get_args(RowOrder):
            known = ", ".join(get_args(RowOrder))
            raise ValueError(f"order must be one of {known}; got {self.order!r}.")
        names = [name for name, _ in self.settings]
        if names != sorted(set(names)):
            raise ValueError(
                f"settings must be sorted by name without duplicates; got {names}. Use Job.of."
            )
        for name in RESERVED_SETTINGS:
            if name in names:
                raise ValueError(
                    f"{name} cannot be a setting of a job: it is set from the data set and from "
                    "the job's seed. Leave it out."
                )

    @classmethod
    def of(
        cls, data: str, method: str, settings: Mapping[str, Any] | None = None, **others: Any
    ) -> Self:
        """Make a job from a mapping of settings in any order, with lists or tuples."""
        pairs = sorted((settings or {}).items())
        for name, value in pairs:
            if not _is_json_value(value):
                raise ValueError(
                    f"Setting {name}={value!r} of {method} is of type {type(value).__name__}; give "
                    "a number, string, Boolean, None, or a list of these."
                )
        return cls(data, method, tuple((name, _hashable(value)) for name, value in pairs), **others)

    def key(self, digest: str) -> str:
        """Key of the job's result on a data set with a digest, the same on every machine."""
        return sha256(canonical_json({"job": self.to_json(), "data": digest}).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Mapping for JSON; the arguments of :meth:`of`."""
        # missing=0 and missing=0.0 must have the same key.
        content = asdict(self) | {"settings": dict(self.settings), "missing": float(self.missing)}
        if self.order == "file":
            del content["order"]  # Keys in stores of earlier versions are without it.
        return content


@dataclass(frozen=True)
class Result:
    """Result of a job."""

    status: Status
    reason: str = ""
    """Why the job is not done, in one line."""
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """For each of :data:`METRICS`, the value of every run."""
    own: Mapping[str, float] = field(default_factory=dict)
    """Scores of the estimator's `labels_`, fitted with its own number of restarts."""
    fit_seconds: float | None = None
    """Time of a complete fit; the median of three for a job that runs alone."""
    seconds: float = 0.0
    """Time of the job."""
    peak_bytes: int | None = None
    """Maximum resident memory of the process."""
    n_iter: int | None = None
    objective: tuple[float, ...] = ()
    """Objective at each iteration."""
    view_weights: tuple[float, ...] = ()

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Result from its fields, in which JSON has lists for tuples.

        Raises a ValueError for anything but the fields of a result.
        """
        if not isinstance(content, Mapping):
            raise ValueError("a result must be a mapping")
        for name, value in content.items():
            if name not in _IS_VALID or not _IS_VALID[name](value):
                raise ValueError(f"a result cannot have {name}={str(value)[:50]!r}")
        if "status" not in content:
            raise ValueError("a result must have a status")
        given = {"scores": {}, "objective": (), "view_weights": (), **content}
        scores = {name: tuple(values) for name, values in given["scores"].items()}
        tuples = {name: tuple(given[name]) for name in ("objective", "view_weights")}
        return cls(**{**content, "scores": scores, **tuples})


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_list_of_numbers(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_number, value))


def _is_mapping_of(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and all(map(is_valid, value.values()))


def _is_optional_number(value: Any) -> bool:
    return value is None or _is_number(value)


_IS_VALID: dict[str, Callable[[Any], bool]] = {
    "status": lambda value: value in get_args(Status),
    "reason": lambda value: isinstance(value, str),
    "scores": _is_mapping_of(_is_list_of_numbers),
    "own": _is_mapping_of(_is_number),
    "fit_seconds": _is_optional_number,
    "seconds": _is_number,
    "peak_bytes": _is_optional_number,
    "n_iter": _is_optional_number,
    "objective": _is_list_of_numbers,
    "view_weights": _is_list_of_numbers,
}
"""Validity check of each field of a stored result."""


def canonical_json(content: Any) -> str:
    """JSON text that is the same for equal contents."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _is_json_value(value: Any) -> bool:
    """Whether a value is a scalar of JSON or a list of such values, possibly nested."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_json_value, value))
    return value is None or type(value) in (bool, int, float, str)


def _hashable(value: Any) -> SettingValue:
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value
