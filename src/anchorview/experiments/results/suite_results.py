"""The results of one suite by data set, column and point, and the cells that show them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from anchorview.experiments.output.table_formats import Cell, Column, shown_number
from anchorview.experiments.plan.plan_file import MODES
from anchorview.experiments.results.significance import like_best
from anchorview.report.charts import iteration_numbers

STATUS_WORDS = {"memory": "out of memory", "time": "out of time", "failed": "failed"}
"""What a job that is not done ended by."""

Record = dict[str, Any]
"""One row of :func:`anchorview.experiments.results.evaluation.evaluated`."""


@dataclass(frozen=True)
class Contender:
    """A column of the tables and curves of a suite.

    Attributes
    ----------
    name : str
        As tables and legends call it.
    mode : str
        One of :data:`anchorview.experiments.plan.plan_file.MODES`.
    """

    name: str
    mode: str

    @property
    def header(self) -> str:
        """Its name; one that is tuned with labels says so in any case."""
        tuned = self.mode == "oracle" and "oracle" not in self.name
        return f"{self.name} (oracle)" if tuned else self.name

    @property
    def method(self) -> str:
        """Its name without the mode."""
        return re.sub(r" \((auto|oracle)\)$", "", self.name)

    @property
    def contest(self) -> str:
        """Those of the same are compared: what was tuned with labels with nothing else."""
        return "oracle" if self.mode == "oracle" else "honest"


class SuiteResults:
    """Results of one suite.

    Parameters
    ----------
    frame : pandas.DataFrame
        What :func:`anchorview.experiments.results.evaluation.evaluated` returns.
    suite : str

    Attributes
    ----------
    data : list of str
        Names of the data sets.
    contenders : list of Contender
        Columns, in the order of their modes.
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
        """Places on the x axis that a data set has, from left to right."""
        return sorted({p for name, _, p in self._records if name == data and p is not None})

    def record(self, data: str, contender: Contender, point: float | None = None) -> Record | None:
        """Result at a place, or None if the suite does not have it."""
        return self._records.get((data, contender, point))

    def done(self, data: str, contender: Contender, point: float | None = None) -> Record | None:
        """Result at a place, or None if there is none or it is not done."""
        record = self.record(data, contender, point)
        return record if record and record["status"] == "done" else None

    def records(self) -> Iterator[tuple[Contender, Record]]:
        """Yield all results."""
        for (_, contender, _), record in self._records.items():
            yield contender, record

    def curve(self, data: str, contender: Contender) -> list[Record]:
        """Results that are done at the points of a data set, from left to right."""
        found = (self.done(data, contender, point) for point in self.points(data))
        return [record for record in found if record]

    def notes(self, only: str | None = None) -> tuple[str, ...]:
        """Why there are cells without a number, or with less than was asked for.

        Parameters
        ----------
        only : str, optional
            A data set; all of them if not given.
        """
        sets = self.data if only is None else [only]
        records = [(one, r) for one, r in self.records() if r["data"] in sets]
        lines = [_reason(one, r) for one, r in records if r["reason"] and r["status"] != "absent"]
        places = {(data, one) for data, one, _ in self._records if data in sets}
        empty = len(places) < len(sets) * len(self.contenders)
        if empty or any(r["status"] == "absent" for _, r in records):
            lines.append("Empty cells were not run.")
        return tuple(lines)


def _reason(contender: Contender, record: Record) -> str:
    point = "" if np.isnan(record["point"]) else f" at {record['point']:g}"
    words = STATUS_WORDS.get(record["status"])
    why = f"{words}: {record['reason']}" if words else record["reason"]
    return f"{contender.header} on {record['data']}{point}: {why}"


def iterations(record: Record) -> list[int]:
    """Numbers of the iterations whose objective a result has."""
    return iteration_numbers(len(record["objective"]), record["n_iter"])


def times_and_accuracies(runtime: SuiteResults, data: str) -> list[tuple[Contender, float, float]]:
    """Columns with the seconds of a fit and the ACC of what it returns in percent, lowest first."""
    found = []
    for one in runtime.contenders:
        record = runtime.done(data, one)
        if record and record["fit_seconds"] > 0:
            found.append((one, record["fit_seconds"], 100 * record["ACC_own"]))
    return sorted(found, key=lambda point: point[2])


def score_cell(record: Record | None, metric: str) -> Cell:
    """Mean of a metric, and its deviation if there was more than one run."""
    cell = number_cell(record, metric)
    if record is None or cell.value is None or len(record[f"{metric}_runs"]) < 2:
        return cell
    return replace(cell, deviation=record[f"{metric}_deviation"])


def number_cell(record: Record | None, name: str, unit: float = 1.0) -> Cell:
    """Number that was measured, in a unit."""
    status = "absent" if record is None else record["status"]
    if record is None or status != "done":
        return Cell(status=status)
    return Cell(status="absent") if np.isnan(record[name]) else Cell(record[name] / unit)


def marked_scores(
    results: SuiteResults, data: str, metric: str, point: float | None = None
) -> tuple[Cell, ...]:
    """Scores of all columns of a suite at a place, with the best of each contest marked."""
    records = [results.record(data, contender, point) for contender in results.contenders]
    cells = [score_cell(record, metric) for record in records]
    for contest in ("honest", "oracle"):
        runs = {
            index: record[f"{metric}_runs"]
            for index, (contender, record) in enumerate(
                zip(results.contenders, records, strict=True)
            )
            if record is not None and contender.contest == contest
        }
        for index in like_best(runs):
            cells[index] = replace(cells[index], like_best=True)
    return marked(cells, results.contenders, Column(""))


def marked(
    cells: Sequence[Cell], contenders: Sequence[Contender], column: Column, lowest: bool = False
) -> tuple[Cell, ...]:
    """Cells with the best and second of each contest marked; what looks equal is equal.

    Parameters
    ----------
    cells : sequence of Cell
    contenders : sequence of Contender
        Whose cells these are.
    column : Column
        How the numbers are shown.
    lowest : bool
        Whether the lowest number is the best.
    """
    result = list(cells)
    for contest in ("honest", "oracle"):
        members = [i for i, one in enumerate(contenders) if one.contest == contest]
        shown = {
            i: float(shown_number(column, value))
            for i in members
            if (value := cells[i].value) is not None
        }
        places = sorted(set(shown.values()), reverse=not lowest)
        if len(members) < 2 or len(places) < 1:
            continue
        for i, value in shown.items():
            if value == places[0]:
                result[i] = replace(cells[i], mark="best", like_best=False)
            elif value == places[1]:
                result[i] = replace(cells[i], mark="second")
    return tuple(result)
