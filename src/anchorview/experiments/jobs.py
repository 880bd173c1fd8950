"""Jobs, the units of work of experiments, and their results."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, Literal, Self, get_args

from anchorview.estimators.methods import SettingValue

METRICS = ("ACC", "NMI", "F1", "Purity", "ARI")
"""Scores of a run, as named by :func:`anchorview.metrics.clustering_scores`."""

Status = Literal["done", "memory", "time", "failed", "absent"]
"""How a job ended; "absent" if it was not run. Tables show "-" for those that are not done."""

RowOrder = Literal["file", "sorted", "shuffled"]
"""Order of the rows of a data set: that of the file, by class, or random."""


@dataclass(frozen=True)
class Job:
    """One method with one choice of settings on one data set; runs in one process."""

    data: str
    """Name of the data set."""
    method: str
    """One of :data:`anchorview.estimators.methods.METHODS`, or ``module:name``."""
    settings: tuple[tuple[str, SettingValue], ...] = ()
    """Parameters of the estimator, sorted by name."""
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
    code: str = ""
    """Digest of the code of a method that is not of this package."""

    @classmethod
    def of(
        cls, data: str, method: str, settings: Mapping[str, Any] | None = None, **others: Any
    ) -> Self:
        """Make a job from a mapping of settings in any order."""
        return cls(data, method, tuple(sorted((settings or {}).items())), **others)

    def key(self, digest: str) -> str:
        """Key of the job's result on a data set with a digest, the same on every machine."""
        return sha256(canonical_json({"job": self.to_json(), "data": digest}).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Mapping for JSON."""
        # missing=0 and missing=0.0 must have the same key.
        content = asdict(self) | {"settings": dict(self.settings), "missing": float(self.missing)}
        # Keys of results that were stored without these stay the same.
        absent = {"order": "file", "code": ""}
        return {name: value for name, value in content.items() if absent.get(name) != value}


@dataclass(frozen=True)
class Result:
    """Result of a job."""

    status: Status
    reason: str = ""
    """Why the job is not done, in one line."""
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """For each of :data:`METRICS`, the value of every run."""
    returned: Mapping[str, float] = field(default_factory=dict)
    """Scores of the `labels_` that the estimator returns, the best of its restarts."""
    fit_seconds: float | None = None
    """Time of a complete fit; the median of three for a job that runs alone."""
    cpu_seconds: float | None = None
    """CPU time of the fit, of all threads and child processes."""
    other_cores: float | None = None
    """Mean number of cores that other processes used meanwhile."""
    seconds: float = 0.0
    """Time of the job."""
    peak_bytes: int | None = None
    """Maximum resident memory of the process."""
    n_iter: int | None = None
    objective: tuple[float, ...] = ()
    """Objective at each iteration."""
    view_weights: tuple[float, ...] = ()

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Result from its fields, in which JSON has lists for tuples.

        Raises a ValueError or TypeError for anything but the fields of a result.
        """
        if not isinstance(content, dict) or content.get("status") not in get_args(Status):
            raise ValueError("a result must be a mapping with a status")
        scores = {name: tuple(map(float, runs)) for name, runs in content.get("scores", {}).items()}
        numbers = {name: tuple(content.get(name, ())) for name in ("objective", "view_weights")}
        return cls(**content | {"scores": scores} | numbers)


def canonical_json(content: Any) -> str:
    """JSON text that is the same for equal contents."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
