"""Tables over all data sets: their properties, ranks with tests, effects of choices and orders."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.evaluation import Record, SuiteResults
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.score_cells import marked, number
from anchorview.experiments.significance import ENOUGH_DATA_SETS, LEVEL, Overall, overall
from anchorview.experiments.suites import ROW_ORDERS, order_column
from anchorview.experiments.table_formats import Cell, Number, ResultTable, headers

REFERENCE = "DALMC"
"""The method that is tested against the others."""


def data_table(sets: Sequence[DataSet]) -> ResultTable:
    """Table I: properties of the data sets."""
    rows = [
        (
            one.name,
            one.n_samples,
            one.n_clusters,
            len(one.n_features_per_view),
            ", ".join(map(str, one.n_features_per_view)),
            "all" if one.complete else "some are missing",
            one.published_as or "",
        )
        for one in sets
    ]
    columns = ("data", "samples", "clusters", "views", "features", "entries", "in the paper")
    caption = "Numbers of features are per view; clusters are the known classes."
    title = "Data sets (table I of the paper)"
    return ResultTable("data", title, caption, headers(*columns), rows)


def environment_table(environments: Sequence[Mapping[str, Any]]) -> ResultTable:
    """Versions and machines of the jobs, one column per combination."""
    names = dict.fromkeys(name for one in environments for name in one)
    rows = [
        (name, *(_environment_text(name, one.get(name, "")) for one in environments))
        for name in names
    ]
    columns = [f"environment {i}" for i, _ in enumerate(environments, 1)]
    columns = ["value"] if len(columns) == 1 else columns
    caption = "Versions and machine, as recorded with each result."
    return ResultTable("environment", "Environment", caption, headers("what", *columns), rows)


def _environment_text(name: str, value: Any) -> str:
    if name == "memory" and isinstance(value, int):
        return f"{value / 2**30:.1f} GB"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def rank_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Yield mean ranks over the data sets per contest, and tests if there are enough data sets."""
    for contest, columns in results.contests().items():
        name, suffix = ("ranks", "") if contest == "honest" else ("ranks-oracle", " (oracle)")
        records = {data: [results.record(data, c) for c in columns] for data in results.data}
        # Data sets on which all columns were run, successfully or not.
        ranked = [
            data
            for data, row in records.items()
            if all(record and record["status"] != "absent" for record in row)
        ]
        if len(columns) < 2 or not ranked:
            continue
        # The first mode of the reference, if it has any.
        reference = next((c for c in columns if c.partition(" (")[0] == REFERENCE), "")
        comparisons = {
            metric: overall(
                pd.DataFrame(
                    [[record[metric] for record in records[data] if record] for data in ranked],
                    columns=columns,
                ),
                reference,
            )
            for metric in METRICS
        }
        notes = []
        p_values = [
            f"{m} {each.friedman:.3g}"
            for m, each in comparisons.items()
            if each.friedman is not None
        ]
        if p_values:
            notes.append(f"Friedman test of equal ranks, p-values: {', '.join(p_values)}.")
        if left_out := [data for data in results.data if data not in ranked]:
            notes.append(f"Without {', '.join(left_out)}: not every column was run there.")
        ranks = [
            marked(
                {column: Number(rank, percent=False) for column, rank in each.ranks.items()},
                [columns],
                lowest=True,
            )
            for each in comparisons.values()
        ]
        yield ResultTable(
            name,
            f"Mean ranks over {len(ranked)} data set{'s' if len(ranked) > 1 else ''}{suffix}",
            "1 is best; ties share the mean of their ranks, and methods that are not done rank "
            "last. Bold: best; underlined: second.",
            headers("method", *METRICS),
            list(zip(columns, *ranks, strict=True)),
            notes,
        )
        if any(each.wilcoxon for each in comparisons.values()):
            title = f"{reference} against each other method: p-values{suffix}"
            others = [column for column in columns if column != reference]
            yield _wilcoxon_table(f"{name}-tests", title, others, comparisons)


def _wilcoxon_table(
    name: str, title: str, columns: Sequence[str], comparisons: Mapping[str, Overall]
) -> ResultTable:
    rows: list[list[Cell]] = []
    for column in columns:
        p_values = [each.wilcoxon.get(column) for each in comparisons.values()]
        numbers = [
            Number(p, status="absent" if p is None else "done", percent=False, digits=4)
            for p in p_values
        ]
        rows.append([column, *numbers])
    least = min(each.smallest_wilcoxon for each in comparisons.values() if each.wilcoxon)
    limit = f"With this number of data sets and methods, no p-value is below {least:.3g}"
    if least >= LEVEL:
        limit += f", so nothing can be significant at {100 * LEVEL:g} %"
    caption = (
        "Wilcoxon signed-rank test over the data sets on which both are done, Holm's correction. "
        f"{limit}. Empty: fewer than {ENOUGH_DATA_SETS} such data sets."
    )
    return ResultTable(name, title, caption, headers("method", *METRICS), rows)


def choice_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Yield the effect of each choice: ACC of the labels that DALMC returns, by data set."""
    rows: list[list[Cell]] = []
    default = next(iter(results.modes))
    for column in results.modes:
        pairs = _pairs(results, column, default, "ACC_returned")
        changes = 100 * (pairs["first"] - pairs["second"])
        shown = len(pairs) and column != default
        rows.append(
            [
                column,
                _mean(pairs["first"]),
                f"{changes.mean():+.1f}" if shown else "",
                str((changes > 1).sum()),
                str((changes < -1).sum()),
                *(number(results.record(data, column), "ACC_returned") for data in results.data),
            ]
        )
    caption = (
        "In percent: ACC of labels_ of one fit in which one choice differs from the default. "
        "The mean and the change are over the data sets where both are done; better and worse "
        "count changes by more than a point. Labels are used for scores only."
    )
    columns = headers("choice", "mean", "change", "better", "worse", *results.data)
    title = "Choices of DALMC, one changed at a time"
    yield ResultTable("choices", title, caption, columns, rows, results.notes())


def order_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Yield the effect of sorted rows: ACC of each method, and its change by data set."""
    by_class, shuffled = ROW_ORDERS
    suffix = order_column("", by_class)
    rows: list[list[Cell]] = []
    for method in [c.removesuffix(suffix) for c in results.modes if c.endswith(suffix)]:
        first, second = (order_column(method, order) for order in ROW_ORDERS)
        pairs = _pairs(results, first, second, "ACC")
        changes = 100 * (pairs["first"] - pairs["second"])
        rows.append(
            [
                method,
                _mean(pairs["first"]),
                _mean(pairs["second"]),
                f"{changes.mean():+.2f}" if len(changes) else "",
                f"{max(changes, key=abs):+.2f}" if len(changes) else "",
                *(_change(results.done(d, first), results.done(d, second)) for d in results.data),
            ]
        )
    caption = (
        "In percent: mean ACC over the runs on rows sorted by class and on shuffled rows. Then "
        "sorted minus shuffled in points: the mean over the data sets where both are done, the "
        "largest, and each with its standard error, which is the noise of random starts. A method "
        "that does not use the order of rows differs by noise only. The classes sort the rows and "
        "are otherwise used for scores only."
    )
    columns = headers("method", by_class, shuffled, "change", "largest change", *results.data)
    title = "ACC on sorted and on shuffled rows"
    yield ResultTable("order", title, caption, columns, rows, results.notes())


def _pairs(results: SuiteResults, first: str, second: str, score: str) -> pd.DataFrame:
    """Scores of two columns on the data sets where both are done."""
    records = [(results.done(data, first), results.done(data, second)) for data in results.data]
    pairs = [(one[score], other[score]) for one, other in records if one and other]
    return pd.DataFrame(pairs, columns=["first", "second"], dtype=float)


def _mean(scores: "pd.Series[float]") -> Number:
    return Number(float(scores.mean())) if len(scores) else Number(status="absent")


def _change(first: Record | None, second: Record | None) -> str:
    """Difference of the mean ACC of two records in points, with its standard error."""
    if not (first and second):
        return "-"
    variance = sum(one["ACC_deviation"] ** 2 / len(one["ACC_runs"]) for one in (first, second))
    return f"{100 * (first['ACC'] - second['ACC']):+.2f} ± {100 * variance**0.5:.2f}"
