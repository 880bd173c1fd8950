"""What an experiment is made of: jobs, and what came out of each."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, Literal, Self

from anchorview.estimators.methods import METHODS

METRICS = ("ACC", "NMI", "F1", "Purity", "ARI")
"""Scores of a run, by the names of :func:`anchorview.metrics.clustering_scores`."""

Status = Literal["done", "memory", "time", "failed"]
"""How a job ended; all but "done" are shown as "-"."""

OWN_SETTINGS = ("n_clusters", "random_state")
"""Settings of an estimator that the data set and the job's seed give."""


@dataclass(frozen=True)
class Job:
    """One method in one setting on one data set: the work of one process.

    Attributes
    ----------
    data : str
        Name of the data set.
    method : str
        One of :data:`anchorview.estimators.methods.METHODS`.
    settings : tuple of (str, value)
        Settings of the estimator beyond `n_clusters` and `random_state`, sorted by name; values
        that JSON can hold, with tuples for lists. :meth:`of` makes them from a mapping.
    missing : float
        Share of the (sample, view) entries to remove at random first; every sample keeps one view.
    impute : bool
        Whether missing entries are then filled with the means of the features.
    runs : int
        Number of runs that are scored.
    seed : int
        Seed of the fit and of the removal; run r has the seed ``seed + r``.
    alone : bool
        Whether no other job may run beside it, so that its times count.

    Examples
    --------
    >>> job = Job.of("digits", "dalmc", {"n_anchors": 20, "beta": 0.1}, runs=5)
    >>> job.settings
    (('beta', 0.1), ('n_anchors', 20))
    >>> Job.from_json(job.to_json()) == job
    True
    """

    data: str
    method: str
    settings: tuple[tuple[str, Any], ...] = ()
    missing: float = 0.0
    impute: bool = False
    runs: int = 20
    seed: int = 0
    alone: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"Method {self.method!r} is unknown; there are {', '.join(METHODS)}.")
        if not 0 <= self.missing < 1:
            raise ValueError(f"missing must be a share in [0, 1); got {self.missing!r}.")
        for name, least in (("runs", 1), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be an integer from {least} on; got {value!r}.")
        names = [name for name, _ in self.settings]
        if names != sorted(set(names)):
            raise ValueError(
                f"settings must be sorted by name, each once; got {names}. Use Job.of."
            )
        for name in OWN_SETTINGS:
            if name in names:
                raise ValueError(
                    f"{name} is not a setting of a job: the data set has the number of clusters, "
                    "and the seed is the job's. Leave it out."
                )

    @classmethod
    def of(
        cls, data: str, method: str, settings: Mapping[str, Any] | None = None, **rest: Any
    ) -> Self:
        """Make a job from a mapping of settings, in any order.

        Parameters
        ----------
        data, method : str
        settings : mapping of str to JSON value, optional
        **rest
            The other attributes.
        """
        pairs = sorted((settings or {}).items())
        for name, value in pairs:
            if not _is_plain(value):
                raise ValueError(
                    f"Setting {name}={value!r} of {method} is of type {type(value).__name__}; give "
                    "a number, text, true or false, None, or a list of these."
                )
        return cls(data, method, tuple((name, _hashable(value)) for name, value in pairs), **rest)

    def key(self, digest: str) -> str:
        """Name of the job's result in a store, the same on every machine.

        Parameters
        ----------
        digest : str
            Digest of the contents of the data set: other contents make another key.
        """
        return sha256(canonical({"job": self.to_json(), "data": digest}).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Mapping that JSON can hold, and :meth:`from_json` reads."""
        # A share of 0 and of 0.0 is one job.
        return asdict(self) | {"settings": dict(self.settings), "missing": float(self.missing)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Job of what :meth:`to_json` gave, also after JSON has made tuples lists."""
        return cls.of(**content)


@dataclass(frozen=True)
class Result:
    """What came out of a job.

    Attributes
    ----------
    status : {"done", "memory", "time", "failed"}
    reason : str
        Why it is not done, in one line.
    scores : mapping of str to tuple of float
        For each of :data:`METRICS` one value a run.
    own : mapping of str to float
        Scores of the labels that the estimator itself returns, with its own number of restarts.
    fit_seconds : float or None
        Time of one whole fit as a user calls it; of a job that is alone the median of three.
    seconds : float
        Time of the whole job.
    peak_bytes : int or None
        Most resident memory of the process.
    n_iter : int or None
        Iterations of the fit.
    objective : tuple of float
        The objective at each of them.
    view_weights : tuple of float
        How much each view counts.
    """

    status: Status
    reason: str = ""
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    own: Mapping[str, float] = field(default_factory=dict)
    fit_seconds: float | None = None
    seconds: float = 0.0
    peak_bytes: int | None = None
    n_iter: int | None = None
    objective: tuple[float, ...] = ()
    view_weights: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Mapping that JSON can hold, and :meth:`from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Result of what :meth:`to_json` gave, also after JSON has made tuples lists."""
        scores = {name: tuple(values) for name, values in content["scores"].items()}
        tuples = {name: tuple(content[name]) for name in ("objective", "view_weights")}
        return cls(**{**content, "scores": scores, **tuples})


def canonical(content: Any) -> str:
    """JSON text that depends on nothing but the content."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _is_plain(value: Any) -> bool:
    """Whether JSON holds a value, and no mapping is in it."""
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) for item in value)
    return value is None or type(value) in (bool, int, float, str)


def _hashable(value: Any) -> Any:
    return tuple(_hashable(item) for item in value) if isinstance(value, (list, tuple)) else value
