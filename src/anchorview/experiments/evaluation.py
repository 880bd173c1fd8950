"""Evaluation of results: one row for each position in the tables and figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from anchorview.experiments.jobs import METRICS, Job, Result
from anchorview.experiments.suites import Entry

_POSITION = ("suite", "data", "column", "mode", "point")
_MEASURED = ("fit_seconds", "peak_bytes", "n_iter")

_Outcome = tuple[Job, Result | None]


def evaluated(
    entries: Sequence[Entry], results: Mapping[str, Result], digests: Mapping[str, str]
) -> pd.DataFrame:
    """Evaluate the results at each position, one row per (suite, data, column, mode, point).

    Where several entries have the same position, as in oracle columns, the one with the highest
    mean ACC is taken.

    Results are found by the key of their job, which depends on the digest of its data set.

    Returns
    -------
    pandas.DataFrame
        Columns ``suite``, ``data``, ``column``, ``mode``, ``point``; ``status`` ("done", "memory",
        "time", "failed", or "absent" if not run) and ``reason``; ``settings`` as text, and
        ``tried``, the number of settings they were selected from; for each metric its mean, e.g.
        ``ACC``, ``ACC_deviation`` over the n runs (divisor n), ``ACC_own`` of the estimator's
        `labels_`, and ``ACC_runs``, a tuple; all between 0 and 1; ``fit_seconds``, ``peak_bytes``,
        ``n_iter`` and ``objective``, a tuple. Absent numbers are NaN.
    """
    outcomes: dict[tuple[str | float | None, ...], list[_Outcome]] = {}
    for entry in entries:
        position = tuple(getattr(entry, name) for name in _POSITION)
        result = results.get(entry.job.key(digests[entry.data]))
        outcomes.setdefault(position, []).append((entry.job, result))
    rows = [
        dict(zip(_POSITION, position, strict=True)) | _row(*_select(tried)) | {"tried": len(tried)}
        for position, tried in outcomes.items()
    ]
    numbers = [m + suffix for m in METRICS for suffix in ("", "_deviation", "_own")]
    columns = [
        *(*_POSITION, "status", "reason", "settings", "tried"),
        *(m + suffix for m in METRICS for suffix in ("", "_deviation", "_own", "_runs")),
        *(*_MEASURED, "objective"),
    ]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype(dict.fromkeys([*numbers, "point", *_MEASURED], float))


def _select(tried: Sequence[_Outcome]) -> tuple[Job, Result | None, str]:
    """Job and result to show among those at one position, and a remark on the others."""
    done = [(job, result) for job, result in tried if result and result.status == "done"]
    if not done:
        # It is not known that all fail as long as one has not run.
        job, result = min(tried, key=lambda outcome: outcome[1] is not None)
        return job, result, result.reason if result else "not run"
    job, result = max(done, key=lambda outcome: _mean(outcome[1].scores.get("ACC", ())))
    others = Counter(_status(result) for _, result in tried if _status(result) != "done")
    lost = ", ".join(f"{count} {status}" for status, count in others.items())
    return job, result, f"best of {len(done)} of {len(tried)} settings ({lost})" if lost else ""


def _status(result: Result | None) -> str:
    return result.status if result else "absent"


def _row(job: Job, result: Result | None, reason: str) -> dict[str, Any]:
    settings = ", ".join(f"{name}={value}" for name, value in job.settings) or "defaults"
    row: dict[str, Any] = {"status": _status(result), "reason": reason, "settings": settings}
    found = result or Result("failed")  # All its fields are empty.
    for metric in METRICS:
        runs = tuple(found.scores.get(metric, ()))
        row |= {
            metric: _mean(runs),
            f"{metric}_deviation": float(np.std(runs)) if runs else np.nan,
            f"{metric}_own": found.own.get(metric, np.nan),
            f"{metric}_runs": runs,
        }
    row |= {name: getattr(found, name) for name in _MEASURED}
    return row | {"objective": tuple(found.objective)}


def _mean(runs: Sequence[float]) -> float:
    return float(np.mean(runs)) if len(runs) else np.nan
