"""Tables over all data sets: what they are, ranks with tests, comparison with the paper."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from anchorview.experiments.output.escaping import file_names
from anchorview.experiments.output.table_formats import Cell, Column, ResultTable
from anchorview.experiments.plan.jobs import METRICS
from anchorview.experiments.plan.plan_file import MODES
from anchorview.experiments.results.published_numbers import (
    Published,
    published_score,
    published_seconds,
)
from anchorview.experiments.results.significance import ENOUGH_DATA_SETS, LEVEL, Overall, overall
from anchorview.experiments.results.suite_results import (
    Contender,
    SuiteResults,
    marked,
    number_cell,
    score_cell,
)
from anchorview.experiments.run.data_sets import DataSet

REFERENCE = "DALMC"
"""The method that is tested against the others."""

_FEATURES_NOTE = (
    "The paper's settings were chosen with the labels: compare its numbers with the oracle's. "
    "Numbers of samples, clusters and views agree with the paper's data set; the features may "
    "still be others."
)


def data_table(sets: Sequence[DataSet]) -> ResultTable:
    """Table I: what the data sets are."""
    rows = (
        (
            Cell(text=one.name),
            Cell(one.n_samples),
            Cell(one.n_clusters),
            Cell(len(one.n_features_per_view)),
            Cell(text=", ".join(map(str, one.n_features_per_view))),
            Cell(text="all" if one.complete else "some are missing"),
            Cell(text=one.published_as or ""),
        )
        for one in sets
    )
    columns = (
        Column("data", kind="text"),
        *(Column(name, kind="point") for name in ("samples", "clusters", "views")),
        *(Column(name, kind="text") for name in ("features", "entries", "in the paper")),
    )
    caption = "Views and their features; clusters are the classes of the labels."
    return ResultTable("data", "Data sets (table I of the paper)", caption, columns, tuple(rows))


def environment_table(environments: Sequence[Mapping[str, Any]]) -> ResultTable:
    """What the jobs were run on and by: a column for each machine or set of versions."""
    names = dict.fromkeys(name for one in environments for name in one)
    rows = (
        (Cell(text=name), *(Cell(text=_words(name, one.get(name, ""))) for one in environments))
        for name in names
    )
    numbers = range(1, len(environments) + 1)
    headers = ["value"] if len(environments) == 1 else [f"environment {n}" for n in numbers]
    columns = (Column("what", kind="text"), *(Column(name, kind="text") for name in headers))
    caption = "Versions and machine, as recorded with each result."
    return ResultTable("environment", "Environment", caption, columns, tuple(rows))


def _words(name: str, value: Any) -> str:
    if name == "memory" and isinstance(value, int):
        return f"{value / 2**30:.1f} GB"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def rank_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Yield mean ranks over the data sets for each contest, and tests if there are enough."""
    for contest, title in (("honest", ""), ("oracle", " (oracle)")):
        contenders = [one for one in results.contenders if one.contest == contest]
        ranked = [data for data in results.data if _is_whole(results, data, contenders)]
        if len(contenders) < 2 or not ranked:
            continue
        found = {
            metric: overall(_scores(results, ranked, contenders, metric), _reference(contenders))
            for metric in METRICS
        }
        stem = "ranks" if contest == "honest" else "ranks-oracle"
        sets = f"{len(ranked)} data set{'s' if len(ranked) > 1 else ''}"
        notes = [_friedman_note(found)] if len(ranked) >= ENOUGH_DATA_SETS else []
        if left_out := [data for data in results.data if data not in ranked]:
            notes.append(f"Without {', '.join(left_out)}: not every column was run there.")
        yield _rank_table(stem, f"Mean ranks over {sets}{title}", contenders, found, notes)
        if any(result.wilcoxon for result in found.values()):
            yield _wilcoxon_table(f"{stem}-tests", title, contenders, found)


def _is_whole(results: SuiteResults, data: str, contenders: Sequence[Contender]) -> bool:
    """Whether all columns were run on a data set, with success or not."""
    records = [results.record(data, one) for one in contenders]
    return all(record is not None and record["status"] != "absent" for record in records)


def _scores(
    results: SuiteResults, ranked: Sequence[str], contenders: Sequence[Contender], metric: str
) -> pd.DataFrame:
    columns = {
        one.header: [score_cell(results.record(data, one), metric).value for data in ranked]
        for one in contenders
    }
    return pd.DataFrame(columns, index=list(ranked)).astype(float)


def _reference(contenders: Sequence[Contender]) -> str:
    """Header of DALMC in the first mode that it has; none if it is not there."""
    return next((one.header for one in contenders if one.method == REFERENCE), "")


def _rank_table(
    name: str,
    title: str,
    contenders: Sequence[Contender],
    found: dict[str, Overall],
    notes: Sequence[str],
) -> ResultTable:
    columns = [Column(metric, kind="number") for metric in METRICS]
    ranks = []
    for column in columns:
        cells = [Cell(found[column.name].ranks[one.header]) for one in contenders]
        ranks.append(marked(cells, contenders, column, lowest=True))
    rows = ((Cell(text=one.header), *cells) for one, *cells in zip(contenders, *ranks, strict=True))
    caption = (
        "1 is best; methods that are equal share the mean of their ranks, and one that is not done "
        "ranks last. Bold: best; underlined: second."
    )
    header = Column("method", kind="text")
    return ResultTable(name, title, caption, (header, *columns), tuple(rows), tuple(notes))


def _friedman_note(found: dict[str, Overall]) -> str:
    p_values = [
        f"{metric} {result.friedman:.3g}"
        for metric, result in found.items()
        if result.friedman is not None
    ]
    return f"Friedman test that all are alike, p-values: {', '.join(p_values)}."


def _wilcoxon_table(
    name: str, title: str, contenders: Sequence[Contender], found: dict[str, Overall]
) -> ResultTable:
    reference = _reference(contenders)
    rows = [
        (
            Cell(text=one.header),
            *(_number(found[metric].wilcoxon.get(one.header)) for metric in METRICS),
        )
        for one in contenders
        if one.header != reference
    ]
    return ResultTable(
        name,
        f"{reference} against each other method: p-values{title}",
        "Wilcoxon signed-rank test over the data sets on which both are done, Holm's correction. "
        f"{_least_words(found)} Empty: fewer than {ENOUGH_DATA_SETS} such data sets.",
        (Column("method", kind="text"), *(Column(m, kind="number", digits=4) for m in METRICS)),
        tuple(rows),
    )


def _least_words(found: dict[str, Overall]) -> str:
    """What the tests can show at best."""
    least = min(result.least_wilcoxon for result in found.values() if result.wilcoxon)
    words = f"So many data sets and methods allow no p-value below {least:.3g}"
    if least < LEVEL:
        return f"{words}."
    return f"{words}, so nothing can be significant at {100 * LEVEL:g} %."


def _number(value: float | None) -> Cell:
    return Cell(status="absent") if value is None else Cell(value)


def published_tables(frame: pd.DataFrame, sets: Sequence[DataSet]) -> Iterator[ResultTable]:
    """Yield the comparison of each of the paper's data sets with the paper's numbers."""
    known = {one.name: one.published_as for one in sets if one.published_as}
    both = [SuiteResults(frame, "compare"), SuiteResults(frame, "ablation")]
    stems = file_names(known)
    columns = (
        Column("metric", kind="text"),
        Column("method", kind="text"),
        Column("published"),
        *(Column(mode) for mode in MODES),
    )
    for data, paper in known.items():
        rows = [
            (Cell(text=metric), Cell(text=method), _published_cell(numbers), *cells)
            for metric in METRICS
            for method, cells in _by_method(both, data, metric)
            if (numbers := published_score(paper, metric, method))
        ]
        if rows:
            title = f"Comparison with the published scores, {data}"
            if data != paper:
                title += f" (the paper's {paper})"
            caption = (
                "Mean ± standard deviation in percent; ours has the divisor n, the number of runs. "
                f"{_FEATURES_NOTE}"
            )
            yield ResultTable(f"published-{stems[data]}", title, caption, columns, tuple(rows))
    yield from _published_times(SuiteResults(frame, "runtime"), known)


def _by_method(
    both: Sequence[SuiteResults], data: str, metric: str
) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """Yield each method once with its scores in all modes."""
    found: dict[str, dict[str, Cell]] = {}
    for results in both:
        for one in results.contenders:
            if record := results.record(data, one):
                modes = found.setdefault(one.method, {})
                modes.setdefault(one.mode, score_cell(record, metric))
    for method, modes in found.items():
        yield method, tuple(modes.get(mode, Cell(status="absent")) for mode in MODES)


def _published_times(results: SuiteResults, known: dict[str, str]) -> Iterator[ResultTable]:
    rows = [
        (
            Cell(text=data),
            Cell(text=one.header),
            _published_cell(numbers),
            number_cell(results.record(data, one), "fit_seconds"),
        )
        for data, paper in known.items()
        for one in results.contenders
        if data in results.data and (numbers := published_seconds(paper, one.name))
    ]
    if rows:
        yield ResultTable(
            "published-runtime",
            "Comparison with the published running times, in seconds",
            "Another machine and another language: only the order of magnitude can be compared.",
            (
                *(Column(name, kind="text") for name in ("data", "method")),
                *(Column(name, kind="number") for name in ("published", "here")),
            ),
            tuple(rows),
        )


def _published_cell(numbers: Published) -> Cell:
    return Cell(numbers.value, numbers.deviation, status=numbers.status)
