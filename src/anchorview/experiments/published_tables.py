"""The numbers published in the paper, and comparisons with them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.evaluation import SuiteResults
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.plan import MODES
from anchorview.experiments.score_cells import number, score
from anchorview.experiments.table_formats import (
    Cell,
    Number,
    ResultTable,
    file_names,
    headers,
)


def published_score(data: str, metric: str, method: str) -> Number | None:
    """Score in Tables II-IX of the paper; None if they do not have it.

    The method is the display name of a method or ablation, without a mode.

    Examples
    --------
    >>> print(published_score("Flower17", "ACC", "DALMC"))
    50.10 ± 0.02
    >>> published_score("MNIST", "ACC", "AMGL").status
    'memory'
    """
    for tables in ("clustering", "ablation"):
        row = _published()[tables].get(metric, {}).get(data, {})
        if method in row:
            # None, a mean in percent, or a mean and a deviation.
            percent = row[method]
            if percent is None:
                return Number(status="memory")
            numbers = percent if isinstance(percent, list) else [percent]
            return Number(*(each / 100 for each in numbers))
    return None


def published_seconds(data: str, method: str) -> Number | None:
    """Running time in Table X of the paper; None if it does not have it.

    Examples
    --------
    >>> print(published_seconds("AWA", "BMVC"))
    67.80
    """
    row = _published()["runtime_s"].get(data, {})
    if method not in row:
        return None
    return Number(row[method], status="memory" if row[method] is None else "done", percent=False)


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
        rows: list[Sequence[Cell]] = [
            (metric, method, published, *numbers)
            for metric in METRICS
            for method, numbers in _scores_by_method(scored, data, metric)
            if (published := published_score(paper, metric, method))
        ]
        if rows:
            title = f"Comparison with the published scores, {data}"
            if data != paper:
                title += f" (the paper's {paper})"
            columns = headers("metric", "method", "paper", *MODES)
            yield ResultTable(f"published-{stem}", title, caption, columns, rows)
    if "runtime" in suites:
        yield from _runtime_tables(suites["runtime"], known)


def _scores_by_method(
    suites: Sequence[SuiteResults], data: str, metric: str
) -> Iterator[tuple[str, list[Number]]]:
    """Yield each method once with its scores in all modes."""
    scores: dict[str, dict[str, Number]] = {}
    for results in suites:
        for column, mode in results.modes.items():
            if record := results.record(data, column):
                method = column.partition(" (")[0]
                scores.setdefault(method, {}).setdefault(mode, score(record, metric))
    for method, by_mode in scores.items():
        yield method, [by_mode.get(mode, Number(status="absent")) for mode in MODES]


def _runtime_tables(results: SuiteResults, known: Mapping[str, str]) -> Iterator[ResultTable]:
    rows = [
        (
            data,
            column,
            published,
            number(results.record(data, column), "fit_seconds", percent=False),
        )
        for data, paper in known.items()
        for column in results.modes
        if data in results.data and (published := published_seconds(paper, column))
    ]
    if rows:
        yield ResultTable(
            "published-runtime",
            "Comparison with the published running times, in seconds",
            "Another machine and programming language: only orders of magnitude are comparable.",
            headers("data", "method", "paper", "here"),
            rows,
        )
