"""The numbers published in the paper."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from anchorview.experiments.jobs import Status


@dataclass(frozen=True)
class Published:
    """A published number."""

    status: Status
    """"done", or "memory" if the method ran out of memory in the paper."""
    value: float | None = None
    """Mean score between 0 and 1, or seconds."""
    deviation: float | None = None
    """Standard deviation of a score, where the paper gives it."""


def published_score(data: str, metric: str, column: str) -> Published | None:
    """Score in Tables II-IX of the paper; None if they do not have it.

    The column is the display name of a method or ablation, without a mode.

    Examples
    --------
    >>> published_score("Flower17", "ACC", "DALMC")
    Published(status='done', value=0.501, deviation=0.0002)
    >>> published_score("MNIST", "ACC", "AMGL")
    Published(status='memory', value=None, deviation=None)
    """
    for tables in ("clustering", "ablation"):
        row = _published()[tables].get(metric, {}).get(data, {})
        if column in row:
            return _score(row[column])
    return None


def published_seconds(data: str, column: str) -> Published | None:
    """Running time in Table X of the paper; None if it does not have it.

    Examples
    --------
    >>> published_seconds("AWA", "BMVC")
    Published(status='done', value=67.8, deviation=None)
    """
    row = _published()["runtime_s"].get(data, {})
    if column not in row:
        return None
    return Published("memory" if row[column] is None else "done", row[column])


@cache
def _published() -> dict[str, Any]:
    path = files("anchorview.experiments") / "published.json"
    return json.loads(path.read_text(encoding="utf-8"))


def _score(percent: float | list[float] | None) -> Published:
    """Score from its entry in the file, in percent: None, a mean, or a mean and a deviation."""
    if percent is None:
        return Published("memory")
    numbers = percent if isinstance(percent, list) else [percent]
    return Published("done", *(number / 100 for number in numbers))
