"""The report page of suites of experiments."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import pandas as pd

from anchorview.experiments import suite_charts
from anchorview.experiments.protocol_text import protocol
from anchorview.experiments.suite_results import STATUS_TEXTS, SuiteResults
from anchorview.experiments.table_formats import ResultTable
from anchorview.plotting.charts import BarChart, LineChart, PointChart
from anchorview.report.page import Chart, Code, Facts, Part, Section, Table, Text, write_page

AnyChart = TypeVar("AnyChart", BarChart, LineChart, PointChart)

_OWN_SECTIONS = ("data", "environment", "ranks", "published", "convergence")
"""Prefixes of the names of tables that are not in the section with all other tables."""


def write_suite_report(
    path: Path,
    frame: pd.DataFrame,
    tables: Sequence[ResultTable],
    jobs: Mapping[str, int],
    command: str = "",
    title: str = "",
) -> None:
    """Write evaluated results as one self-contained HTML file.

    `jobs` has the number of jobs by status, "absent" for those that were not run; `command` is the
    shell command that reproduces the results.
    """
    suites, sets = (", ".join(dict.fromkeys(frame[name])) for name in ("suite", "data"))
    sections = [section for section in _sections(frame, tables, jobs, command) if section.parts]
    write_page(path, title or "Experiments", f"{suites} on {sets}", sections)


def _sections(
    frame: pd.DataFrame, tables: Sequence[ResultTable], jobs: Mapping[str, int], command: str
) -> Iterator[Section]:
    yield Section(
        "Overview",
        [_facts(frame, jobs), *_table_parts(tables, "data"), *_table_parts(tables, "environment")],
        "What was run, on which data and machines.",
    )
    yield Section(
        "Ranks",
        _table_parts(tables, "ranks"),
        "Ranks of the methods on each data set, averaged; lower is better.",
    )
    yield Section(
        "Accuracy",
        _charts(frame, "compare", suite_charts.accuracy_chart, _describe_accuracy),
        "One chart per data set; error bars are one standard deviation of the runs. Hatched bars "
        "are oracle results: their settings were chosen with the labels.",
    )
    yield Section(
        "Time and accuracy",
        _charts(frame, "runtime", suite_charts.time_chart, _describe_time),
        "Each fit was timed without other jobs at the same time; the accuracy is that of the "
        "labels it returned. Nothing is tuned with labels here.",
    )
    yield Section(
        "Parameters",
        [
            *_charts(frame, "beta", suite_charts.beta_chart, _describe_parameter),
            *_charts(frame, "anchors", suite_charts.anchor_chart, _describe_parameter),
        ],
        "Sensitivity of the scores of DALMC to two parameters. Click on a name to hide its line.",
    )
    yield Section(
        "Missing views",
        [
            chart
            for metric in ("ACC", "NMI")
            for chart in _charts(
                frame,
                "incomplete",
                partial(suite_charts.missing_chart, metric=metric),
                _describe_missing,
            )
        ],
        "Scores after a fraction of the (sample, view) entries was removed at random, once per "
        "fraction; bands are one standard deviation, of K-means alone.",
    )
    yield Section(
        "Convergence",
        [
            *_table_parts(tables, "convergence"),
            *_charts(frame, "convergence", suite_charts.convergence_chart, _describe_convergence),
        ],
        "Objective of DALMC after every iteration.",
    )
    others = [table for table in tables if not table.name.startswith(_OWN_SECTIONS)]
    yield Section("Tables", _table_parts(others))
    yield Section("Comparison with the paper", _table_parts(tables, "published"))
    yield Section("Not done", [_not_done(frame)])
    yield Section("Protocol", [Text(paragraph) for paragraph in protocol(frame)])
    yield Section("How to reproduce", [Code(command)] if command else [])


def _facts(frame: pd.DataFrame, jobs: Mapping[str, int]) -> Facts:
    methods = frame["column"].str.replace(r" \((as published, )?oracle\)$", "", regex=True)
    failed = {text: jobs.get(status, 0) for status, text in STATUS_TEXTS.items()}
    return Facts(
        {
            "data sets": str(frame["data"].nunique()),
            "methods": str(methods.nunique()),
            "jobs done": f"{jobs.get('done', 0)} of {sum(jobs.values())}",
            **{f"jobs {words}": str(count) for words, count in failed.items() if count},
        }
    )


def _charts(
    frame: pd.DataFrame,
    suite: str,
    make_chart: Callable[[SuiteResults, str], AnyChart],
    describe: Callable[[AnyChart], tuple[str, pd.DataFrame]],
) -> list[Part]:
    """Charts of all data sets with results, with descriptions and tables of the numbers."""
    results = SuiteResults(frame, suite)
    parts: list[Part] = []
    for data in results.data:
        chart = make_chart(results, data)
        if any(line.y for line in chart.lines) if isinstance(chart, LineChart) else chart.names:
            description, table = describe(chart)
            parts.append(Chart(chart, f"{data}: {description}", table))
    return parts


def _describe_accuracy(chart: BarChart) -> tuple[str, pd.DataFrame]:
    assert chart.hatched is not None
    bars = list(zip(chart.values, chart.names, chart.hatched, strict=True))
    honest = [(value, str(name)) for value, name, hatched in bars if not hatched]
    text = f"ACC of {len(bars)} columns with the standard deviation of their runs."
    if honest:
        best, name = max(honest)
        text += f" Best without use of labels: {name}, {best:.1f} %."
    if len(honest) < len(bars):
        text += " Hatched: oracle, settings chosen with the labels."
    columns = (chart.names, chart.values, chart.deviations, chart.settings)
    headers = ("Method", "ACC, %", "Deviation", "Settings")
    return text, pd.DataFrame(dict(zip(headers, columns, strict=True)))


def _describe_time(chart: PointChart) -> tuple[str, pd.DataFrame]:
    seconds, name = min(zip(chart.x, chart.names, strict=True))
    text = (
        f"ACC against the time of a fit; up and left is better. Fastest: {name}, {seconds:.3g} s; "
        f"most accurate: {chart.names[-1]}, {chart.y[-1]:.1f} %."
    )
    return text, pd.DataFrame({"Method": chart.names, "Seconds": chart.x, "ACC, %": chart.y})


def _describe_parameter(chart: LineChart) -> tuple[str, pd.DataFrame]:
    accuracy = chart.lines[0]
    text = (
        f"five scores of DALMC against {chart.x_label}; ACC is between {min(accuracy.y):.1f} and "
        f"{max(accuracy.y):.1f} %. Bands are one standard deviation of the runs."
    )
    scores = {f"{line.name}, %": line.y for line in chart.lines}
    return text, pd.DataFrame({chart.x_label: accuracy.x, **scores})


def _describe_missing(chart: LineChart) -> tuple[str, pd.DataFrame]:
    lines = [line for line in chart.lines if line.y]
    ends = "; ".join(f"{line.name} from {line.y[0]:.1f} to {line.y[-1]:.1f} %" for line in lines)
    table = pd.DataFrame({line.name: dict(zip(line.x, line.y, strict=True)) for line in lines})
    table = table.sort_index().rename_axis("Missing, %").reset_index()
    return f"{chart.y_label} as more entries are missing. {ends}.", table


def _describe_convergence(chart: LineChart) -> tuple[str, pd.DataFrame]:
    line = chart.lines[0]
    text = (
        f"the objective of DALMC, from {line.y[0]:.4g} to {line.y[-1]:.4g} in {line.x[-1]} "
        "iterations."
    )
    return text, pd.DataFrame({"Iteration": line.x, "Objective": line.y})


def _table_parts(tables: Sequence[ResultTable], prefix: str = "") -> list[Part]:
    """Tables whose names have a prefix; consecutive equal captions are shown once."""
    wanted = [table for table in tables if table.name.startswith(prefix)]
    parts: list[Part] = []
    for caption, group in groupby(wanted, key=lambda table: table.caption):
        parts.append(Text(caption))
        for table in group:
            names = table.headers()
            marks = [[cell.mark for cell in row] for row in table.rows]
            highlight = pd.DataFrame(marks, columns=names)
            parts.append(Table(pd.DataFrame(table.texts(), columns=names), table.title, highlight))
            if table.name.startswith("ranks"):
                parts += [Text(note) for note in table.notes]
    return parts


def _not_done(frame: pd.DataFrame) -> Part:
    """Table of results that are missing or partial, with reasons."""
    columns = ["suite", "data", "column", "point", "status", "reason"]
    rows = frame.loc[(frame["status"] != "done") | (frame["reason"] != ""), columns]
    if rows.empty:
        return Text("Everything was done.")
    points = rows["point"].map(lambda point: "" if pd.isna(point) else f"{point:g}")
    status = rows["status"].map(lambda status: STATUS_TEXTS.get(status, status))
    return Table(rows.assign(point=points, status=status), "What is not done, and why")
