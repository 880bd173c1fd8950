"""Evaluation of results: one row for each position in the tables and figures."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from anchorview.experiments.jobs import METRICS, Job, Result
from anchorview.experiments.plan import LABEL_MODES, MODES
from anchorview.experiments.suites import Entry

POSITION = ["suite", "data", "column", "mode", "point"]
MEASURED = ["fit_seconds", "peak_bytes", "n_iter"]

NOT_RUN = Result("absent", "not run")

STATUS_TEXTS = {"memory": "out of memory", "time": "out of time", "failed": "failed"}
"""Descriptions of the status of jobs that are not done."""

Record = dict[Hashable, Any]
"""A row of the table of :func:`evaluated`."""


def evaluated(
    entries: Sequence[Entry], results: Mapping[str, Result], digests: Mapping[str, str]
) -> pd.DataFrame:
    """Evaluate the results at each position, one row per (suite, data, column, mode, point).

    Where several entries have the same position, as in oracle columns, the one with the highest
    mean ACC is taken.

    Results are identified by the key of their job, which depends on the digest of its data set.

    Returns
    -------
    pandas.DataFrame
        Columns ``suite``, ``data``, ``column``, ``mode``, ``point``; ``status`` and ``reason`` as
        in :class:`Result`; ``settings`` as text, and ``tried``, the number of settings they were
        selected from; for each metric its mean, e.g. ``ACC``, ``ACC_deviation`` over the n runs
        (divisor n), ``ACC_returned`` of the estimator's `labels_`, and ``ACC_runs``, a tuple; all
        between 0 and 1; ``fit_seconds``, ``peak_bytes``, ``n_iter`` and ``objective``, a tuple.
        Absent numbers are NaN.
    """
    tried: dict[tuple[Any, ...], list[tuple[Job, Result]]] = {}
    for entry in entries:
        position = (entry.suite, entry.data, entry.column, entry.mode, entry.point)
        result = results.get(entry.job.key(digests[entry.data]), NOT_RUN)
        tried.setdefault(position, []).append((entry.job, result))
    rows = [
        dict(zip(POSITION, position, strict=True)) | _row(outcomes)
        for position, outcomes in tried.items()
    ]
    numbers = [metric + suffix for metric in METRICS for suffix in ("", "_deviation", "_returned")]
    runs = [f"{metric}_runs" for metric in METRICS]
    texts = ["status", "reason", "settings", "tried"]
    frame = pd.DataFrame(rows, columns=[*POSITION, *texts, *numbers, *runs, *MEASURED, "objective"])
    return frame.astype(dict.fromkeys([*numbers, "point", *MEASURED], float))


def _row(outcomes: Sequence[tuple[Job, Result]]) -> Record:
    """Evaluate the best of the outcomes at one position."""
    done = [(job, result) for job, result in outcomes if result.status == "done"]
    if done:
        job, result = max(done, key=lambda outcome: np.mean(outcome[1].scores["ACC"]))
        others = Counter(result.status for _, result in outcomes if result.status != "done")
        lost = ", ".join(f"{count} {status}" for status, count in others.items())
        reason = f"best of {len(done)} of {len(outcomes)} settings ({lost})" if lost else ""
    else:
        # It is not known that all fail as long as one has not run.
        job, result = max(outcomes, key=lambda outcome: outcome[1] is NOT_RUN)
        reason = result.reason
    settings = ", ".join(f"{name}={value}" for name, value in job.settings) or "defaults"
    row: Record = {
        "status": result.status,
        "reason": reason,
        "settings": settings,
        "tried": len(outcomes),
        "objective": result.objective,
    }
    for metric in METRICS:
        runs = result.scores.get(metric, ())
        row[f"{metric}_runs"] = runs
        row[f"{metric}_returned"] = result.returned.get(metric)
        if runs:
            row |= {metric: np.mean(runs), f"{metric}_deviation": np.std(runs)}
    return row | {name: getattr(result, name) for name in MEASURED}


class SuiteResults:
    """Results of one suite, from the table of all.

    The attribute `data` has the names of the data sets, `modes` the mode of each column, in the
    order of the columns in tables.
    """

    def __init__(self, frame: pd.DataFrame, suite: str) -> None:
        self.suite = suite
        rows = frame[frame["suite"] == suite]
        self.records: list[Record] = rows.to_dict("records")
        self._by_position = {
            (record["data"], record["column"], _point(record)): record for record in self.records
        }
        self.data = rows["data"].drop_duplicates().tolist()
        modes = {record["column"]: record["mode"] for record in self.records}
        self.modes = dict(sorted(modes.items(), key=lambda item: MODES.index(item[1])))

    def contests(self) -> dict[str, list[str]]:
        """Columns that are compared with each other: oracle columns only among themselves."""
        return {
            contest: [name for name, mode in self.modes.items() if (mode in LABEL_MODES) == chosen]
            for contest, chosen in (("honest", False), ("oracle", True))
        }

    def points(self, data: str) -> list[float]:
        """Points on the x axis for a data set, in ascending order."""
        return sorted({p for name, _, p in self._by_position if name == data and p is not None})

    def record(self, data: str, column: str, point: float | None = None) -> Record | None:
        """Record at a position; None if the suite does not have it."""
        return self._by_position.get((data, column, point))

    def done(self, data: str, column: str, point: float | None = None) -> Record | None:
        """Record at a position; None if there is none or it is not done."""
        record = self.record(data, column, point)
        return record if record and record["status"] == "done" else None

    def curve(self, data: str, column: str) -> list[Record]:
        """Records that are done for a data set, in ascending order of their points."""
        records = (self.done(data, column, point) for point in self.points(data))
        return [record for record in records if record]

    def notes(self, only: str | None = None) -> tuple[str, ...]:
        """Explain cells without a number, or selected from fewer settings than planned.

        By default of all data sets, otherwise of one only.
        """
        sets = self.data if only is None else [only]
        records = [record for record in self.records if record["data"] in sets]
        notes = [_note(r) for r in records if r["reason"] and r["status"] != "absent"]
        positions = {(record["data"], record["column"]) for record in records}
        empty = len(positions) < len(sets) * len(self.modes)
        if empty or any(record["status"] == "absent" for record in records):
            notes.append("Empty cells were not run.")
        return tuple(notes)


def _point(record: Record) -> float | None:
    return None if np.isnan(record["point"]) else record["point"]


def _note(record: Record) -> str:
    point = "" if np.isnan(record["point"]) else f" at {record['point']:g}"
    status = STATUS_TEXTS.get(record["status"])
    reason = f"{status}: {record['reason']}" if status else record["reason"]
    return f"{record['column']} on {record['data']}{point}: {reason}"
