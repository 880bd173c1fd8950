"""The numbers published in the paper, and comparisons with them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.evaluation import SuiteResults
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.plan import MODES
from anchorview.experiments.score_cells import Cells, cell_texts
from anchorview.experiments.table_formats import ResultTable, file_names

Measured = tuple[float, float, str]
"""Mean, deviation and status; NaN where there is none."""

Rows = dict[tuple[str, str], dict[str, Measured]]
"""Numbers by the two headers of a row and the column."""


def published_score(data: str, metric: str, method: str) -> Measured | None:
    """Score in Tables II-IX of the paper; None if they do not have it.

    The method is the display name of a method or ablation, without a mode.

    Examples
    --------
    >>> published_score("Flower17", "ACC", "DALMC")
    (0.501, 0.0002, 'done')
    >>> published_score("MNIST", "ACC", "AMGL")
    (nan, nan, 'memory')
    """
    for tables in ("clustering", "ablation"):
        row = _published()[tables].get(metric, {}).get(data, {})
        if method in row:
            mean, deviation, status = _parsed(row[method])
            return mean / 100, deviation / 100, status
    return None


def published_seconds(data: str, method: str) -> Measured | None:
    """Running time in Table X of the paper; None if it does not have it.

    Examples
    --------
    >>> published_seconds("AWA", "BMVC")
    (67.8, nan, 'done')
    """
    row = _published()["runtime_s"].get(data, {})
    return _parsed(row[method]) if method in row else None


def _parsed(entry: float | list[float] | None) -> Measured:
    """Number of the file: None if memory ran out, a mean, or a mean and a deviation."""
    if entry is None:
        return np.nan, np.nan, "memory"
    mean, deviation = entry if isinstance(entry, list) else (entry, np.nan)
    return mean, deviation, "done"


@cache
def _published() -> dict[str, Any]:
    path = files("anchorview.experiments") / "published.json"
    return json.loads(path.read_text(encoding="utf-8"))


def published_tables(
    suites: Mapping[str, SuiteResults], sets: Sequence[DataSet]
) -> Iterator[ResultTable]:
    """Yield comparisons with the numbers in the paper, for its data sets."""
    known = {one.name: one.published_as for one in sets if one.published_as}
    caption = (
        "Mean ± standard deviation in percent; ours has the divisor n, the number of runs. The "
        "paper's settings were chosen with the labels: compare its numbers with the oracle's. "
        "Numbers of samples, clusters and views are those of the paper's data set; the features "
        "may still differ."
    )
    scored = [suites[name] for name in ("compare", "ablation") if name in suites]
    for data, stem in file_names(known):
        paper = known[data]
        rows: Rows = {}
        for metric, results in product(METRICS, scored):
            for column, mode, score in _measured(results.on(data), metric):
                method = column.partition(" (")[0]
                if published := published_score(paper, metric, method):
                    rows.setdefault((metric, method), {"paper": published}).setdefault(mode, score)
        if rows:
            title = f"Comparison with the published scores, {data}"
            if data != paper:
                title += f" (the paper's {paper})"
            cells = _cells(rows, ["metric", "method"], ["paper", *MODES])
            yield ResultTable(f"published-{stem}", title, caption, cells)
    if "runtime" not in suites:
        return
    rows = {}
    for data, paper in known.items():
        for method, _, seconds in _measured(suites["runtime"].on(data), "fit_seconds"):
            if published := published_seconds(paper, method):
                rows[data, method] = {"paper": published, "here": seconds}
    if rows:
        yield ResultTable(
            "published-runtime",
            "Comparison with the published running times, in seconds",
            "Another machine and programming language: only orders of magnitude are comparable.",
            _cells(rows, ["data", "method"], ["paper", "here"], percent=False),
        )


def _measured(results: SuiteResults, quantity: str) -> Iterator[tuple[str, str, Measured]]:
    """Yield column, mode and number of each result."""
    for row in results.frame.to_dict("records"):
        repeated = len(row.get(f"{quantity}_runs", ())) > 1
        deviation = row[f"{quantity}_deviation"] if repeated else np.nan
        yield row["column"], row["mode"], (row[quantity], deviation, row["status"])


def _cells(rows: Rows, row_headers: list[str], columns: list[str], percent: bool = True) -> Cells:
    index = pd.MultiIndex.from_tuples(rows, names=row_headers)
    absent = (np.nan, np.nan, "absent")
    means, deviations, status = (
        pd.DataFrame(
            [[row.get(column, absent)[position] for column in columns] for row in rows.values()],
            index,
            columns,
        )
        for position in range(3)
    )
    scale = 100 if percent else 1
    texts = cell_texts(scale * means, scale * deviations, status)
    numbers = {"mean": means, "deviation": deviations} if percent else {"value": means}
    return {"text": texts, **numbers, "status": status}
