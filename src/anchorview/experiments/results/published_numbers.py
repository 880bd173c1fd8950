"""The numbers that the paper published, by our names of metrics and methods."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from anchorview.experiments.plan.jobs import Status

_METRICS = {"F1": "F1-score"}
_METHODS = {"FPMVS-CAG": "FPMVSCAG", "DALMC": "Ours"}


@dataclass(frozen=True)
class Published:
    """A published number.

    Attributes
    ----------
    status : str
        "done", or "memory" where the paper's run of the method had not enough of it.
    value : float or None
        A mean score between 0 and 1, or seconds.
    deviation : float or None
        Of a score, where the paper gives it.
    """

    status: Status
    value: float | None = None
    deviation: float | None = None


def published_score(data: str, metric: str, column: str) -> Published | None:
    """Score in tables II-IX of the paper, or None if they do not have it.

    Parameters
    ----------
    data : str
        The paper's name of the data set.
    metric : str
        One of :data:`anchorview.experiments.plan.jobs.METRICS`.
    column : str
        A method as our tables call it, without a mode: "DALMC", "FPMVS-CAG", "ablation-1".

    Examples
    --------
    >>> published_score("Flower17", "ACC", "DALMC")
    Published(status='done', value=0.501, deviation=0.0002)
    >>> published_score("MNIST", "ACC", "AMGL")
    Published(status='memory', value=None, deviation=None)
    """
    for tables in ("clustering", "ablation"):
        row = _numbers()[tables].get(_METRICS.get(metric, metric), {}).get(data, {})
        if _METHODS.get(column, column) in row:
            return _score(row[_METHODS.get(column, column)])
    return None


def published_seconds(data: str, column: str) -> Published | None:
    """Running time in table X of the paper, or None if it does not have it.

    Examples
    --------
    >>> published_seconds("AWA", "BMVC")
    Published(status='done', value=67.8, deviation=None)
    """
    row = _numbers()["runtime_s"].get(data, {})
    name = _METHODS.get(column, column)
    if name not in row:
        return None
    seconds = row[name]
    return Published("memory") if seconds is None else Published("done", seconds)


@cache
def _numbers() -> dict[str, Any]:
    """Tables I-X as they are in the file."""
    text = (
        files("anchorview.experiments.results")
        .joinpath("published.json")
        .read_text(encoding="utf-8")
    )
    return json.loads(text)


def _score(percent: Any) -> Published:
    """Score from its entry: nothing, a mean, or a mean and a deviation, in percent."""
    if percent is None:
        return Published("memory")
    if isinstance(percent, list):
        mean, deviation = percent
        return Published("done", mean / 100, deviation / 100)
    return Published("done", percent / 100)
