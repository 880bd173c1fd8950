"""The report page of a suite of experiments."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd

from anchorview.experiments.output.protocol_text import protocol
from anchorview.experiments.output.suite_charts import (
    accuracy_chart,
    convergence_chart,
    metric_chart,
    missing_chart,
    time_chart,
)
from anchorview.experiments.output.table_formats import ResultTable
from anchorview.experiments.results.suite_results import STATUS_WORDS, SuiteResults
from anchorview.report.page import Chart, Code, Facts, Part, Section, Table, Text, write_page

_APART = ("data", "environment", "ranks", "published", "convergence")
"""Beginnings of the names of tables that have a section of their own."""


def write_suite_report(
    path: Path,
    frame: pd.DataFrame,
    tables: Sequence[ResultTable],
    jobs: Mapping[str, int],
    command: str = "",
    title: str = "",
) -> None:
    """Write the page of a suite as one HTML file that needs no network.

    Parameters
    ----------
    path : Path
        The file.
    frame : pandas.DataFrame
        What :func:`anchorview.experiments.results.evaluation.evaluated` returns.
    tables : sequence of ResultTable
        All tables of the results.
    jobs : mapping of str to int
        How many jobs ended how, by their status; "absent" are those that were not run.
    command : str, optional
        What to type to get the same again.
    title : str, optional
        Heading of the page; "Experiments" if not given.

    Raises
    ------
    MissingPackageError
        If bokeh or jinja2 is not installed.
    """
    suites, sets = (", ".join(dict.fromkeys(frame[name])) for name in ("suite", "data"))
    subtitle = f"{suites} on {sets}"
    sections = [section for section in _sections(frame, tables, jobs, command) if section.parts]
    write_page(path, title or "Experiments", subtitle, sections)


def _sections(
    frame: pd.DataFrame, tables: Sequence[ResultTable], jobs: Mapping[str, int], command: str
) -> Iterator[Section]:
    compare, runtime, convergence, incomplete = (
        SuiteResults(frame, suite) for suite in ("compare", "runtime", "convergence", "incomplete")
    )
    beta, anchors = SuiteResults(frame, "beta"), SuiteResults(frame, "anchors")
    yield Section(
        "Overview",
        [_facts(frame, jobs), *_parts(tables, "data"), *_parts(tables, "environment")],
        "What was run, and on what.",
    )
    yield Section(
        "Ranks",
        _parts(tables, "ranks"),
        "Methods ranked on each data set, then averaged: lower is better.",
    )
    yield Section(
        "Accuracy",
        _charts(compare, lambda data: accuracy_chart(compare, data)),
        "One chart a data set; the thin lines are one deviation of the runs each way. Hatched bars "
        "are oracle results: their settings were chosen with the labels.",
    )
    yield Section(
        "Time and accuracy",
        _charts(runtime, lambda data: time_chart(runtime, data)),
        "Each fit was timed with no other job beside it; the accuracy is that of the labels it "
        "returned. Nothing is tuned with labels here.",
    )
    yield Section(
        "Parameters",
        [
            *_charts(beta, lambda data: metric_chart(beta, data, "beta", logarithmic=True)),
            *_charts(anchors, lambda data: metric_chart(anchors, data, "number of anchors")),
        ],
        "How much the scores of DALMC depend on its two settings. Click a name to hide its line.",
    )
    yield Section(
        "Missing views",
        [
            *_charts(incomplete, lambda data: missing_chart(incomplete, data, "ACC")),
            *_charts(incomplete, lambda data: missing_chart(incomplete, data, "NMI")),
        ],
        "Scores after a share of the (sample, view) entries was removed at random, once for each "
        "share: bands are one deviation of K-means alone each way.",
    )
    yield Section(
        "Convergence",
        [
            *_parts(tables, "convergence"),
            *_charts(convergence, lambda data: convergence_chart(convergence, data)),
        ],
        "What DALMC minimizes, after every iteration.",
    )
    yield Section("Tables", _parts([t for t in tables if not t.name.startswith(_APART)]))
    yield Section("Comparison with the paper", _parts(tables, "published"))
    yield Section("Not done", [_not_done(frame)])
    yield Section("Protocol", [Text(paragraph) for paragraph in protocol(frame)])
    yield Section("To repeat it", [Code(command)] if command else [])


def _facts(frame: pd.DataFrame, jobs: Mapping[str, int]) -> Facts:
    methods = frame["column"].str.replace(" (oracle)", "", regex=False)
    failed = {words: jobs.get(status, 0) for status, words in STATUS_WORDS.items()}
    return Facts(
        {
            "data sets": str(frame["data"].nunique()),
            "methods": str(methods.nunique()),
            "jobs done": f"{jobs.get('done', 0)} of {sum(jobs.values())}",
            **{f"jobs {words}": str(count) for words, count in failed.items() if count},
        }
    )


def _charts(results: SuiteResults, make: Callable[[str], Chart | None]) -> list[Part]:
    """Charts of the data sets that have something to show."""
    return [chart for data in results.data if (chart := make(data))]


def _parts(tables: Sequence[ResultTable], beginning: str = "") -> list[Part]:
    """Tables whose names begin so; how to read them is said once for those alike."""
    wanted = [table for table in tables if table.name.startswith(beginning)]
    parts: list[Part] = []
    for caption, alike in groupby(wanted, key=lambda table: table.caption):
        parts.append(Text(caption))
        for table in alike:
            parts.append(_shown(table))
            if table.name.startswith("ranks"):
                parts += [Text(note) for note in table.notes]
    return parts


def _shown(table: ResultTable) -> Table:
    frame = pd.DataFrame(table.texts(), columns=table.labels())
    marks = [[cell.mark for cell in row] for row in table.rows]
    return Table(frame, table.title, pd.DataFrame(marks, columns=table.labels()))


def _not_done(frame: pd.DataFrame) -> Part:
    """What has no result, or less than was asked for, and why."""
    columns = ["suite", "data", "column", "point", "status", "reason"]
    rows = frame.loc[(frame["status"] != "done") | (frame["reason"] != ""), columns]
    if rows.empty:
        return Text("Everything was done.")
    points = rows["point"].map(lambda point: "" if pd.isna(point) else f"{point:g}")
    status = rows["status"].map(lambda status: STATUS_WORDS.get(status, status))
    return Table(rows.assign(point=points, status=status), "What is not done, and why")
