"""What the results say of each place in the tables and figures, as one long table."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from anchorview.experiments.plan.jobs import METRICS, Job, Result
from anchorview.experiments.plan.suites import Entry

_Place = tuple[str, str, str, str, float | None]
_Tried = tuple[Job, Result | None]


def evaluated(
    entries: Sequence[Entry],
    results: Mapping[str, Result],
    digests: Mapping[str, str],
) -> pd.DataFrame:
    """Results at their places, one row for each (suite, data, column, mode, point).

    Where several entries have the same place, as in oracle columns, the one with the highest mean
    ACC counts.

    Parameters
    ----------
    entries : sequence of Entry
        The places, in the order in which tables show them.
    results : mapping of str to Result
        Results by the key of their job.
    digests : mapping of str to str
        Digest of the contents of each data set.

    Returns
    -------
    pandas.DataFrame
        Columns ``suite``, ``data``, ``column``, ``mode``, ``point``; ``status`` ("done", "memory",
        "time", "failed", or "absent" if it was not run) and ``reason``; ``settings``, in words, and
        ``tried``, among how many they were chosen; for each metric its mean, e.g. ``ACC``,
        ``ACC_deviation`` over the n runs (divisor n), ``ACC_own`` of the labels that the estimator
        returns, and ``ACC_runs``, a tuple; all between 0 and 1;
        ``fit_seconds``, ``peak_bytes``, ``n_iter`` and ``objective``, a tuple. Numbers that there
        are not are NaN.
    """
    tried: dict[_Place, list[_Tried]] = {}
    for entry in entries:
        place = (entry.suite, entry.data, entry.column, entry.mode, entry.point)
        result = results.get(entry.job.key(digests[entry.data]))
        tried.setdefault(place, []).append((entry.job, result))
    rows = [
        _row(place, *_chosen(candidates)) | {"tried": len(candidates)}
        for place, candidates in tried.items()
    ]
    frame = pd.DataFrame(rows, columns=_columns())
    numbers = [*_score_columns(), "point", "fit_seconds", "peak_bytes", "n_iter"]
    return frame.astype(dict.fromkeys(numbers, float))


def _chosen(tried: Sequence[_Tried]) -> tuple[Job, Result | None, str]:
    """Job and result that count among those with the same place, and what to say of the rest."""
    done = [(job, result) for job, result in tried if result and result.status == "done"]
    if not done:
        # As long as one is not run, nobody knows whether all fail.
        job, result = min(tried, key=lambda pair: pair[1] is not None)
        return job, result, result.reason if result else "not run"
    job, result = max(done, key=lambda pair: _mean(pair[1].scores.get("ACC", ())))
    others = Counter(_status(result) for _, result in tried if _status(result) != "done")
    lost = ", ".join(f"{count} {status}" for status, count in others.items())
    return job, result, f"best of {len(done)} of {len(tried)} settings ({lost})" if lost else ""


def _status(result: Result | None) -> str:
    return result.status if result else "absent"


def _row(place: _Place, job: Job, result: Result | None, reason: str) -> dict[str, Any]:
    names = ("suite", "data", "column", "mode", "point")
    row: dict[str, Any] = dict(zip(names, place, strict=True))
    row |= {"status": _status(result), "reason": reason, "settings": settings_text(job)}
    found = result or Result("failed")  # Nothing is read from it but what it has not.
    for metric in METRICS:
        runs = tuple(found.scores.get(metric, ()))
        row |= {
            metric: _mean(runs),
            f"{metric}_deviation": float(np.std(runs)) if runs else np.nan,
            f"{metric}_own": found.own.get(metric, np.nan),
            f"{metric}_runs": runs,
        }
    row |= {name: getattr(found, name) for name in ("fit_seconds", "peak_bytes", "n_iter")}
    return row | {"objective": tuple(found.objective)}


def settings_text(job: Job) -> str:
    """Settings of a job in words.

    Examples
    --------
    >>> settings_text(Job.of("digits", "dalmc", {"beta": 0.1, "n_anchors": 20}))
    'beta=0.1, n_anchors=20'
    >>> settings_text(Job.of("digits", "dalmc"))
    'defaults'
    """
    return ", ".join(f"{name}={value}" for name, value in job.settings) or "defaults"


def _mean(runs: Sequence[float]) -> float:
    return float(np.mean(runs)) if len(runs) else np.nan


def _score_columns() -> list[str]:
    return [metric + what for metric in METRICS for what in ("", "_deviation", "_own")]


def _columns() -> list[str]:
    """Names of the columns, for a table without rows too."""
    scores = [m + what for m in METRICS for what in ("", "_deviation", "_own", "_runs")]
    return [
        *("suite", "data", "column", "mode", "point", "status", "reason", "settings", "tried"),
        *(*scores, "fit_seconds", "peak_bytes", "n_iter", "objective"),
    ]
