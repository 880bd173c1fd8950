"""Cells of tables: measured numbers as text, with the best ones marked."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd

from anchorview.experiments.evaluation import SuiteResults
from anchorview.experiments.significance import LEVEL, like_best, runs_needed

Cells = dict[str, pd.DataFrame]
"""The cells of a :class:`~anchorview.experiments.table_formats.ResultTable`."""


def measured(
    results: SuiteResults,
    quantity: str,
    index: str = "data",
    *,
    percent: bool = True,
    unit: float = 1.0,
    digits: int = 2,
    lowest: bool = False,
) -> Cells:
    """Cells of a measured quantity: one row per data set or point, all columns of the suite.

    Scores of runs have their standard deviation if there is more than one, and a dagger if they
    do not differ significantly from the best.
    """
    values, status = results.wide(quantity, index) / unit, results.wide("status", index)
    status = status.fillna("absent").mask((status == "done") & values.isna(), "absent")
    deviations = pd.DataFrame(np.nan, index=values.index, columns=values.columns)
    is_score = f"{quantity}_runs" in results.frame
    if is_score:
        n_runs = results.wide(f"{quantity}_runs", index).map(len, na_action="ignore")
        deviations = results.wide(f"{quantity}_deviation", index).where(n_runs > 1)
    # Numbers with the same text are ties.
    scale, template = 100 if percent else 1, f"{{:.{digits}f}}"
    marks = marked(number_texts(scale * values, template), results.contests().values(), lowest)
    texts = cell_texts(scale * values, scale * deviations, status, template)
    if not is_score:
        return {"text": texts, "mark": marks, "value": values, "status": status}
    daggers = pd.DataFrame("", index=values.index, columns=values.columns)
    for row, runs in _runs_of_contests(results, quantity, index):
        daggers.loc[row, list(like_best(runs))] = " †"
    texts += daggers.where(marks != "best", "")
    return {"text": texts, "mark": marks, "mean": values, "deviation": deviations, "status": status}


def cell_texts(
    values: pd.DataFrame, deviations: pd.DataFrame, status: pd.DataFrame, template: str = "{:.2f}"
) -> pd.DataFrame:
    """Texts of numbers with their deviations; "-" for failed jobs, "" for those not run."""
    texts = number_texts(values, template) + number_texts(deviations, f" ± {template}")
    return texts.where(values.notna(), status.map(lambda each: "" if each == "absent" else "-"))


def number_texts(values: pd.DataFrame, template: str = "{:.2f}") -> pd.DataFrame:
    """Texts of numbers; empty for NaN."""
    return values.map(lambda number: "" if np.isnan(number) else template.format(number))


def marked(
    texts: pd.DataFrame, contests: Iterable[Sequence[str]], lowest: bool = False
) -> pd.DataFrame:
    """Marks of the best and second best number of each row among the columns of each contest."""
    marks = pd.DataFrame("", index=texts.index, columns=texts.columns)
    for columns in contests:
        if len(columns) > 1:
            numbers = texts[columns].replace("", "nan").astype(float)
            ranks = numbers.rank(axis="columns", method="dense", ascending=lowest)
            marks[columns] = ranks.map(lambda rank: {1: "best", 2: "second"}.get(rank, ""))
    return marks


def joined(parts: Mapping[str, Cells], axis: int = 0) -> Cells:
    """Cells one below the other or side by side, with a further level of headers."""
    first = next(iter(parts.values()))
    return {
        kind: pd.concat({name: part[kind] for name, part in parts.items()}, axis=axis)  # type: ignore[call-overload]
        for kind in first
    }


def too_few_runs_note(
    results: SuiteResults, metrics: Iterable[str], index: str = "data"
) -> list[str]:
    """Note on the rows in which the test of the runs cannot reject."""
    contests = chain.from_iterable(_runs_of_contests(results, each, index) for each in metrics)
    lacking = [(n, runs) for _, runs in contests if (n := runs_needed(runs)) is not None]
    if not lacking:
        return []
    needed = max(n for n, _ in lacking)
    fewest = min(len(scores) for _, runs in lacking for scores in runs.values())
    return [
        f"† is left out where the test could not reject at {100 * LEVEL:g} % whatever the scores: "
        f"with this number of columns it needs {needed} runs of each, and some have {fewest}."
    ]


def _runs_of_contests(
    results: SuiteResults, metric: str, index: str
) -> Iterator[tuple[Hashable, dict[str, Sequence[float]]]]:
    """Yield the name of a row and the scores of the runs of the columns in a contest."""
    done = results.done()
    for columns in results.contests().values():
        for row, rows in done[done["column"].isin(columns)].groupby(index, sort=False):
            yield row, dict(zip(rows["column"], rows[f"{metric}_runs"], strict=True))
