"""Results of a suite by data set, column and point."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anchorview.experiments.plan import LABEL_MODES, MODES

STATUS_TEXTS = {"memory": "out of memory", "time": "out of time", "failed": "failed"}
"""Descriptions of the status of jobs that are not done."""

Record = dict[str, Any]
"""A row of the table of :func:`anchorview.experiments.evaluation.evaluated`."""


@dataclass(frozen=True)
class Contender:
    """A column of the tables, and a curve of the figures, of a suite."""

    name: str
    """Name in tables and legends."""
    mode: str
    """One of :data:`anchorview.experiments.plan.MODES`."""

    @property
    def header(self) -> str:
        """Name, with "(oracle)" for all whose settings were selected by the true classes."""
        unnamed = self.mode in LABEL_MODES and "oracle" not in self.name
        return f"{self.name} (oracle)" if unnamed else self.name

    @property
    def method(self) -> str:
        """Name without the mode."""
        return re.sub(r" \((auto|oracle|as published, oracle)\)$", "", self.name)

    @property
    def contest(self) -> str:
        """Group within which columns are ranked: the oracle is not compared with others."""
        return "oracle" if self.mode in LABEL_MODES else "honest"


class SuiteResults:
    """Results of one suite, from the table of all.

    The attribute `data` lists the names of the data sets, `contenders` the columns by mode.
    """

    def __init__(self, frame: pd.DataFrame, suite: str) -> None:
        self._records: dict[tuple[str, Contender, float | None], Record] = {}
        for record in frame[frame["suite"] == suite].to_dict("records"):
            point = None if np.isnan(record["point"]) else float(record["point"])
            contender = Contender(record["column"], record["mode"])
            self._records[record["data"], contender, point] = {str(k): v for k, v in record.items()}
        self.data = list(dict.fromkeys(data for data, _, _ in self._records))
        found = dict.fromkeys(contender for _, contender, _ in self._records)
        self.contenders = sorted(found, key=lambda contender: MODES.index(contender.mode))

    def points(self, data: str) -> list[float]:
        """Points on the x axis for a data set, in ascending order."""
        return sorted({p for name, _, p in self._records if name == data and p is not None})

    def record(self, data: str, contender: Contender, point: float | None = None) -> Record | None:
        """Record at a position; None if the suite does not have it."""
        return self._records.get((data, contender, point))

    def done(self, data: str, contender: Contender, point: float | None = None) -> Record | None:
        """Record at a position; None if there is none or it is not done."""
        record = self.record(data, contender, point)
        return record if record and record["status"] == "done" else None

    def records(self) -> Iterator[tuple[Contender, Record]]:
        """Yield all records."""
        for (_, contender, _), record in self._records.items():
            yield contender, record

    def curve(self, data: str, contender: Contender) -> list[Record]:
        """Records that are done for a data set, in ascending order of their points."""
        found = (self.done(data, contender, point) for point in self.points(data))
        return [record for record in found if record]

    def notes(self, only: str | None = None) -> tuple[str, ...]:
        """Explain cells without a number, or selected from fewer settings than planned.

        By default of all data sets, otherwise of one only.
        """
        sets = self.data if only is None else [only]
        records = [(one, r) for one, r in self.records() if r["data"] in sets]
        lines = [_reason(one, r) for one, r in records if r["reason"] and r["status"] != "absent"]
        positions = {(data, one) for data, one, _ in self._records if data in sets}
        empty = len(positions) < len(sets) * len(self.contenders)
        if empty or any(r["status"] == "absent" for _, r in records):
            lines.append("Empty cells were not run.")
        return tuple(lines)


def _reason(contender: Contender, record: Record) -> str:
    point = "" if np.isnan(record["point"]) else f" at {record['point']:g}"
    status = STATUS_TEXTS.get(record["status"])
    reason = f"{status}: {record['reason']}" if status else record["reason"]
    return f"{contender.header} on {record['data']}{point}: {reason}"


def iterations(record: Record) -> list[int]:
    """Numbers of the iterations at which a record has the objective."""
    return list(range(1, len(record["objective"]) + 1))


def times_and_accuracies(runtime: SuiteResults, data: str) -> list[tuple[Contender, float, float]]:
    """Columns with the seconds of a fit and the ACC of its labels in percent, by ascending ACC."""
    found = []
    for one in runtime.contenders:
        record = runtime.done(data, one)
        if record and record["fit_seconds"] > 0:
            found.append((one, record["fit_seconds"], 100 * record["ACC_own"]))
    return sorted(found, key=lambda point: point[2])
