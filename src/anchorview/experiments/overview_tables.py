"""Tables over all data sets: their properties, ranks with tests, comparison with the paper."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.escaping import file_names
from anchorview.experiments.jobs import METRICS, RowOrder
from anchorview.experiments.plan import MODES
from anchorview.experiments.published_numbers import (
    Published,
    published_score,
    published_seconds,
)
from anchorview.experiments.score_cells import marked, number_cell, score_cell
from anchorview.experiments.significance import ENOUGH_DATA_SETS, LEVEL, Overall, overall
from anchorview.experiments.suite_results import Contender, Record, SuiteResults
from anchorview.experiments.suites import ROW_ORDERS, order_column
from anchorview.experiments.table_formats import (
    Cell,
    Column,
    ResultTable,
    text_cells,
    text_columns,
)

REFERENCE = "DALMC"
"""The method that is tested against the others."""


def data_table(sets: Sequence[DataSet]) -> ResultTable:
    """Table I: properties of the data sets."""
    rows = (
        (
            *text_cells(one.name),
            *map(Cell, (one.n_samples, one.n_clusters, len(one.n_features_per_view))),
            *text_cells(
                ", ".join(map(str, one.n_features_per_view)),
                "all" if one.complete else "some are missing",
                one.published_as or "",
            ),
        )
        for one in sets
    )
    columns = (
        *text_columns("data"),
        *(Column(name, kind="point") for name in ("samples", "clusters", "views")),
        *text_columns("features", "entries", "in the paper"),
    )
    caption = "Numbers of features are per view; clusters are the known classes."
    return ResultTable("data", "Data sets (table I of the paper)", caption, columns, tuple(rows))


def environment_table(environments: Sequence[Mapping[str, Any]]) -> ResultTable:
    """Versions and machines of the jobs, one column per combination."""
    names = dict.fromkeys(name for one in environments for name in one)
    rows = (
        text_cells(name, *(_environment_text(name, one.get(name, "")) for one in environments))
        for name in names
    )
    numbers = range(1, len(environments) + 1)
    headers = ["value"] if len(environments) == 1 else [f"environment {n}" for n in numbers]
    caption = "Versions and machine, as recorded with each result."
    columns = text_columns("what", *headers)
    return ResultTable("environment", "Environment", caption, columns, tuple(rows))


def _environment_text(name: str, value: Any) -> str:
    if name == "memory" and isinstance(value, int):
        return f"{value / 2**30:.1f} GB"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def rank_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Yield mean ranks over the data sets per contest, and tests if there are enough data sets."""
    for contest, name, suffix in (("honest", "ranks", ""), ("oracle", "ranks-oracle", " (oracle)")):
        contenders = [one for one in results.contenders if one.contest == contest]
        ranked = [data for data in results.data if _is_complete(results, data, contenders)]
        if len(contenders) < 2 or not ranked:
            continue
        # The first mode of the reference, if it has any.
        reference = next((one.header for one in contenders if one.method == REFERENCE), "")
        found = {
            metric: overall(_score_frame(results, ranked, contenders, metric), reference)
            for metric in METRICS
        }
        notes = []
        if len(ranked) >= ENOUGH_DATA_SETS:
            p_values = {metric: r.friedman for metric, r in found.items() if r.friedman is not None}
            shown = ", ".join(f"{metric} {p:.3g}" for metric, p in p_values.items())
            notes.append(f"Friedman test of equal ranks, p-values: {shown}.")
        if left_out := [data for data in results.data if data not in ranked]:
            notes.append(f"Without {', '.join(left_out)}: not every column was run there.")
        n_sets = f"{len(ranked)} data set{'s' if len(ranked) > 1 else ''}"
        yield _rank_table(name, f"Mean ranks over {n_sets}{suffix}", contenders, found, notes)
        if any(result.wilcoxon for result in found.values()):
            title = f"{reference} against each other method: p-values{suffix}"
            headers = [one.header for one in contenders if one.header != reference]
            yield _wilcoxon_table(f"{name}-tests", title, headers, found)


def _is_complete(results: SuiteResults, data: str, contenders: Sequence[Contender]) -> bool:
    """Whether all columns were run on a data set, successfully or not."""
    records = [results.record(data, one) for one in contenders]
    return all(record is not None and record["status"] != "absent" for record in records)


def _score_frame(
    results: SuiteResults, ranked: Sequence[str], contenders: Sequence[Contender], metric: str
) -> pd.DataFrame:
    columns = {
        one.header: [score_cell(results.record(data, one), metric).value for data in ranked]
        for one in contenders
    }
    return pd.DataFrame(columns, index=list(ranked)).astype(float)


def _rank_table(
    name: str,
    title: str,
    contenders: Sequence[Contender],
    found: Mapping[str, Overall],
    notes: Sequence[str],
) -> ResultTable:
    columns = [Column(metric, kind="number") for metric in METRICS]
    ranks = []
    for column in columns:
        cells = [Cell(found[column.name].ranks[one.header]) for one in contenders]
        ranks.append(marked(cells, contenders, column, lowest=True))
    rows = zip((Cell(text=one.header) for one in contenders), *ranks, strict=True)
    caption = (
        "1 is best; ties share the mean of their ranks, and methods that are not done rank last. "
        "Bold: best; underlined: second."
    )
    headers = (*text_columns("method"), *columns)
    return ResultTable(name, title, caption, headers, tuple(rows), tuple(notes))


def _wilcoxon_table(
    name: str, title: str, headers: Sequence[str], found: Mapping[str, Overall]
) -> ResultTable:
    rows = [
        (*text_cells(header), *(_p_value(found[metric].wilcoxon.get(header)) for metric in METRICS))
        for header in headers
    ]
    least = min(result.smallest_wilcoxon for result in found.values() if result.wilcoxon)
    limit = f"With this number of data sets and methods, no p-value is below {least:.3g}"
    if least >= LEVEL:
        limit += f", so nothing can be significant at {100 * LEVEL:g} %"
    caption = (
        "Wilcoxon signed-rank test over the data sets on which both are done, Holm's correction. "
        f"{limit}. Empty: fewer than {ENOUGH_DATA_SETS} such data sets."
    )
    columns = (
        *text_columns("method"),
        *(Column(metric, kind="number", digits=4) for metric in METRICS),
    )
    return ResultTable(name, title, caption, columns, tuple(rows))


def choice_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Yield the effect of each choice: ACC of the labels that DALMC returns, by data set."""
    if not results.data:
        return
    default, *others = results.contenders
    rows = []
    for one in (default, *others):
        cells = [number_cell(results.record(data, one), "ACC_own") for data in results.data]
        pairs = [
            (own["ACC_own"], usual["ACC_own"])
            for data in results.data
            if (own := results.done(data, one)) and (usual := results.done(data, default))
        ]
        changes = [100 * (own - usual) for own, usual in pairs]
        mean = Cell(sum(own for own, _ in pairs) / len(pairs)) if pairs else Cell(status="absent")
        summary = text_cells(
            f"{sum(changes) / len(changes):+.1f}" if changes and one != default else "",
            *(str(sum(sign * change > 1 for change in changes)) for sign in (1, -1)),
        )
        rows.append((*text_cells(one.header), mean, *summary, *cells))
    caption = (
        "In percent: ACC of labels_ of one fit in which one choice differs from the default. "
        "The mean and the change are over the data sets where both are done; better and worse "
        "count changes by more than a point. Labels are used for scores only."
    )
    columns = (
        *text_columns("choice"),
        Column("mean"),
        *text_columns("change", "better", "worse"),
        *(Column(data) for data in results.data),
    )
    title = "Choices of DALMC, one changed at a time"
    yield ResultTable("choices", title, caption, columns, tuple(rows), results.notes())


def order_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Yield the effect of sorted rows: ACC of each method, and its change by data set."""
    if not results.data:
        return
    rows = []
    for by_class, random in zip(*(_ordered(results, order) for order in ROW_ORDERS), strict=True):
        pairs = [
            (results.done(data, by_class), results.done(data, random)) for data in results.data
        ]
        both = [(first["ACC"], second["ACC"]) for first, second in pairs if first and second]
        changes = [100 * (first - second) for first, second in both]
        means = [Cell(sum(column) / len(both)) for column in zip(*both, strict=True)]
        summary = text_cells(
            f"{sum(changes) / len(changes):+.2f}" if changes else "",
            f"{max(changes, key=abs):+.2f}" if changes else "",
        )
        name = by_class.header.removesuffix(order_column("", ROW_ORDERS[0]))
        cells = text_cells(*(_change(first, second) for first, second in pairs))
        rows.append((*text_cells(name), *(means or [Cell(status="absent")] * 2), *summary, *cells))
    caption = (
        "In percent: mean ACC over the runs on rows sorted by class and on shuffled rows. Then "
        "sorted minus shuffled in points: the mean over the data sets where both are done, the "
        "largest, and each with its standard error, which is the noise of random starts. A method "
        "that does not use the order of rows differs by noise only. The classes sort the rows and "
        "are otherwise used for scores only."
    )
    columns = (
        *text_columns("method"),
        *map(Column, ROW_ORDERS),
        *text_columns("change", "largest change", *results.data),
    )
    title = "ACC on sorted and on shuffled rows"
    yield ResultTable("order", title, caption, columns, tuple(rows), results.notes())


def _ordered(results: SuiteResults, order: RowOrder) -> list[Contender]:
    return [one for one in results.contenders if one.name.endswith(order_column("", order))]


def _change(first: Record | None, second: Record | None) -> str:
    """Difference of the mean ACC of two records in points, with its standard error."""
    if not (first and second):
        return "-"
    variance = sum(one["ACC_deviation"] ** 2 / len(one["ACC_runs"]) for one in (first, second))
    return f"{100 * (first['ACC'] - second['ACC']):+.2f} ± {100 * variance**0.5:.2f}"


def _p_value(value: float | None) -> Cell:
    return Cell(status="absent") if value is None else Cell(value)


def published_tables(frame: pd.DataFrame, sets: Sequence[DataSet]) -> Iterator[ResultTable]:
    """Yield comparisons with the numbers in the paper, for its data sets."""
    known = {one.name: one.published_as for one in sets if one.published_as}
    suites = [SuiteResults(frame, "compare"), SuiteResults(frame, "ablation")]
    stems = file_names(known)
    columns = (*text_columns("metric", "method"), Column("paper"), *map(Column, MODES))
    caption = (
        "Mean ± standard deviation in percent; ours has the divisor n, the number of runs. The "
        "paper's settings were chosen with the labels: compare its numbers with the oracle's. "
        "Numbers of samples, clusters and views are those of the paper's data set; the features "
        "may still differ."
    )
    for data, paper in known.items():
        rows = [
            (*text_cells(metric, method), _published_cell(numbers), *cells)
            for metric in METRICS
            for method, cells in _scores_by_method(suites, data, metric)
            if (numbers := published_score(paper, metric, method))
        ]
        if rows:
            title = f"Comparison with the published scores, {data}"
            if data != paper:
                title += f" (the paper's {paper})"
            yield ResultTable(f"published-{stems[data]}", title, caption, columns, tuple(rows))
    yield from _published_times(SuiteResults(frame, "runtime"), known)


def _scores_by_method(
    suites: Sequence[SuiteResults], data: str, metric: str
) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """Yield each method once with its scores in all modes."""
    found: dict[str, dict[str, Cell]] = {}
    for results in suites:
        for one in results.contenders:
            if record := results.record(data, one):
                modes = found.setdefault(one.method, {})
                modes.setdefault(one.mode, score_cell(record, metric))
    for method, modes in found.items():
        yield method, tuple(modes.get(mode, Cell(status="absent")) for mode in MODES)


def _published_times(results: SuiteResults, known: Mapping[str, str]) -> Iterator[ResultTable]:
    rows = [
        (
            *text_cells(data, one.header),
            _published_cell(numbers),
            number_cell(results.record(data, one), "fit_seconds"),
        )
        for data, paper in known.items()
        for one in results.contenders
        if data in results.data and (numbers := published_seconds(paper, one.name))
    ]
    if rows:
        seconds = (Column(name, kind="number") for name in ("paper", "here"))
        yield ResultTable(
            "published-runtime",
            "Comparison with the published running times, in seconds",
            "Another machine and programming language: only orders of magnitude are comparable.",
            (*text_columns("data", "method"), *seconds),
            tuple(rows),
        )


def _published_cell(numbers: Published) -> Cell:
    return Cell(numbers.value, numbers.deviation, status=numbers.status)
