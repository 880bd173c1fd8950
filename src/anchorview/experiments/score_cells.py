"""Numbers of results in tables, with the best ones marked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from anchorview.experiments.evaluation import Record, SuiteResults
from anchorview.experiments.significance import LEVEL, like_best, runs_needed
from anchorview.experiments.table_formats import Number


def score(record: Record | None, metric: str) -> Number:
    """Mean of a metric, and its deviation if there was more than one run."""
    mean = number(record, metric)
    if record is None or mean.value is None or len(record[f"{metric}_runs"]) < 2:
        return mean
    return replace(mean, deviation=record[f"{metric}_deviation"])


def number(record: Record | None, name: str, unit: float = 1.0, **shown: Any) -> Number:
    """A measured number, divided by a unit; `shown` are attributes of :class:`Number`."""
    if record is None or (record["status"] == "done" and np.isnan(record[name])):
        return Number(status="absent", **shown)
    if record["status"] != "done":
        return Number(status=record["status"], **shown)
    return Number(record[name] / unit, **shown)


def marked_numbers(
    results: SuiteResults, data: str, name: str, lowest: bool = False, **shown: Any
) -> list[Number]:
    """Measured numbers of all columns of a suite, with the best of each contest marked."""
    numbers = {c: number(results.record(data, c), name, **shown) for c in results.modes}
    return marked(numbers, results.contests().values(), lowest)


def marked_scores(
    results: SuiteResults, data: str, metric: str, point: float | None = None
) -> list[Number]:
    """Scores of all columns of a suite, with the best of each contest marked."""
    scores = {
        column: score(results.record(data, column, point), metric) for column in results.modes
    }
    for runs in _runs_of_contests(results, data, metric, point):
        for column in like_best(runs):
            scores[column] = replace(scores[column], like_best=True)
    return marked(scores, results.contests().values())


def too_few_runs_note(
    results: SuiteResults, rows: Iterable[tuple[str, float | None]], metrics: Iterable[str]
) -> list[str]:
    """Note on the rows (data set and point) in which the test of the runs cannot reject."""
    contests = [
        runs
        for metric, (data, point) in product(metrics, rows)
        for runs in _runs_of_contests(results, data, metric, point)
    ]
    lacking = [(n, runs) for runs in contests if (n := runs_needed(runs)) is not None]
    if not lacking:
        return []
    needed = max(n for n, _ in lacking)
    fewest = min(len(scores) for _, runs in lacking for scores in runs.values())
    return [
        f"† is left out where the test could not reject at {100 * LEVEL:g} % whatever the scores: "
        f"with this number of columns it needs {needed} runs of each, and some have {fewest}."
    ]


def _runs_of_contests(
    results: SuiteResults, data: str, metric: str, point: float | None
) -> list[dict[str, Sequence[float]]]:
    """Scores of the runs of the columns in each contest."""
    return [
        {c: record[f"{metric}_runs"] for c in columns if (record := results.done(data, c, point))}
        for columns in results.contests().values()
    ]


def marked(
    numbers: Mapping[str, Number], contests: Iterable[Sequence[str]], lowest: bool = False
) -> list[Number]:
    """Numbers of all columns, with the best and second best of each contest marked.

    Numbers with the same text are ties.
    """
    result = dict(numbers)
    for columns in contests:
        shown = {
            column: float(cell.rounded(cell.value))
            for column in columns
            if (cell := numbers[column]).value is not None
        }
        best = sorted(set(shown.values()), reverse=not lowest)[:2]
        for column, value in shown.items() if len(columns) > 1 else ():
            if value == best[0]:
                result[column] = replace(numbers[column], mark="best", like_best=False)
            elif value == best[1]:
                result[column] = replace(numbers[column], mark="second")
    return list(result.values())
