"""Table cells of results, with the best ones marked."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from anchorview.experiments.significance import LEVEL, like_best, runs_needed
from anchorview.experiments.suite_results import Contender, Record, SuiteResults
from anchorview.experiments.table_formats import Cell, Column, format_number


def score_cell(record: Record | None, metric: str) -> Cell:
    """Mean of a metric, and its deviation if there was more than one run."""
    cell = number_cell(record, metric)
    if record is None or cell.value is None or len(record[f"{metric}_runs"]) < 2:
        return cell
    return replace(cell, deviation=record[f"{metric}_deviation"])


def number_cell(record: Record | None, name: str, unit: float = 1.0) -> Cell:
    """A measured number, divided by a unit."""
    status = "absent" if record is None else record["status"]
    if record is None or status != "done":
        return Cell(status=status)
    return Cell(status="absent") if np.isnan(record[name]) else Cell(record[name] / unit)


def marked_scores(
    results: SuiteResults, data: str, metric: str, point: float | None = None
) -> tuple[Cell, ...]:
    """Scores of all columns of a suite, with the best of each contest marked."""
    records = [results.record(data, contender, point) for contender in results.contenders]
    cells = [score_cell(record, metric) for record in records]
    for runs in _runs_of_contests(results, data, metric, point):
        for i in like_best(runs):
            cells[i] = replace(cells[i], like_best=True)
    return marked(cells, results.contenders, Column(""))


def too_few_runs_note(
    results: SuiteResults, rows: Iterable[tuple[str, float | None]], metrics: Iterable[str]
) -> tuple[str, ...]:
    """Note on the rows (data set and point) in which the test of the runs cannot reject."""
    contests = [
        runs
        for metric, (data, point) in product(metrics, rows)
        for runs in _runs_of_contests(results, data, metric, point)
    ]
    lacking = [(n, runs) for runs in contests if (n := runs_needed(runs)) is not None]
    if not lacking:
        return ()
    needed = max(n for n, _ in lacking)
    fewest = min(len(scores) for _, runs in lacking for scores in runs.values())
    return (
        f"† is left out where the test could not reject at {100 * LEVEL:g} % whatever the scores: "
        f"with this number of columns it needs {needed} runs of each, and some have "
        f"{fewest}.",
    )


def _runs_of_contests(
    results: SuiteResults, data: str, metric: str, point: float | None
) -> list[dict[int, Sequence[float]]]:
    """Scores of the runs of the columns, by their positions, in each contest."""
    records = [results.done(data, contender, point) for contender in results.contenders]
    return [
        {i: record[f"{metric}_runs"] for i in members if (record := records[i])}
        for members in _contests(results.contenders)
    ]


def marked(
    cells: Sequence[Cell], contenders: Sequence[Contender], column: Column, lowest: bool = False
) -> tuple[Cell, ...]:
    """Mark the best and second best cell of each contest.

    Numbers with the same text in `column` are ties.
    """
    result = list(cells)
    for members in _contests(contenders):
        shown = {
            i: float(format_number(column, value))
            for i in members
            if (value := cells[i].value) is not None
        }
        ranking = sorted(set(shown.values()), reverse=not lowest)
        if len(members) < 2:
            continue
        for i, value in shown.items():
            if value == ranking[0]:
                result[i] = replace(cells[i], mark="best", like_best=False)
            elif value == ranking[1]:
                result[i] = replace(cells[i], mark="second")
    return tuple(result)


def _contests(contenders: Sequence[Contender]) -> list[list[int]]:
    """Indices of the columns that are compared with each other."""
    return [
        [i for i, one in enumerate(contenders) if one.contest == contest]
        for contest in ("honest", "oracle")
    ]
