"""The report page of suites of experiments, and the text on their protocol."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import pandas as pd

from anchorview.experiments.evaluation import STATUS_TEXTS, SuiteResults
from anchorview.experiments.figures import (
    accuracy_chart,
    convergence_chart,
    missing_chart,
    parameter_chart,
    time_chart,
)
from anchorview.experiments.plan import LABEL_MODES
from anchorview.experiments.table_formats import ResultTable
from anchorview.experiments.tables import RETURNED_TABLE
from anchorview.plotting.charts import BarChart, LineChart, PointChart
from anchorview.report.page import Chart, Code, Facts, Part, Section, Table, Text, write_page

AnyChart = TypeVar("AnyChart", BarChart, LineChart, PointChart)

JOBS_TEXT = (
    "Each data set, method and setting is one job in a separate process, with limits of time and "
    "memory. A job that exceeds a limit, or fails, is also a result, shown as -."
)
RUNS_TEXT = (
    "Scores are means over runs, with their standard deviation (divisor n, the number of runs). "
    "A method that ends with K-means on an embedding is fitted once, and a run is one K-means "
    "with one random initialization. Other random methods are fitted for each run, with one "
    "initialization. (auto) is fitted once for every four runs, since each fit is a consensus of "
    "dozens of partitions; in the suite incomplete it is one fit per fraction of missing entries. "
    "Deterministic methods have the same score in every run."
)
SETTINGS_TEXT = (
    "Default columns use the default settings of each method; auto columns select settings from "
    "the views alone. A run has a single initialization, except for (auto), while the estimators "
    "themselves keep the best of several, without labels: scores of what they return are in the "
    f'table "{RETURNED_TABLE}" of the suite compare.'
)
ORACLE_TEXT = (
    "Oracle columns use the setting with the highest mean ACC against the labels, as is common in "
    "papers. This is impossible in practice, so they are never compared with other columns."
)
METRICS_TEXT = (
    "ACC: fraction of samples that are correct under the best matching of clusters to classes. "
    "NMI: normalized mutual information (arithmetic mean). F1: of pairs of samples. Purity: "
    "fraction of samples in the largest class of their cluster. ARI: adjusted Rand index."
)


def protocol(frame: pd.DataFrame) -> list[str]:
    """Return the paragraphs of the protocol of evaluated results."""
    labels = "Labels are used for scores only."
    if frame["mode"].isin(LABEL_MODES).any():
        others = "In all other columns labels are used for scores only."
        labels = " ".join([ORACLE_TEXT, *_grid_sizes(frame), others])
    return [JOBS_TEXT, RUNS_TEXT, SETTINGS_TEXT, labels, METRICS_TEXT]


def _grid_sizes(frame: pd.DataFrame) -> Iterator[str]:
    """Yield the numbers of settings of the oracle per suite, the largest first."""
    chosen = frame[frame["mode"].isin(LABEL_MODES)]
    for suite in ("compare", "ablation"):
        rows = chosen[chosen["suite"] == suite]
        methods = rows["column"].str.removesuffix(" (oracle)")
        sizes = rows.groupby(methods, sort=False)["tried"].agg(["min", "max"])
        if sizes.empty:
            continue
        by_size = sizes.sort_values("max", ascending=False, kind="stable")
        shown = [
            f"{method} {low}" if low == high else f"{method} {low} to {high}"
            for method, low, high in by_size.itertuples()
        ]
        yield f"Numbers of settings in the suite {suite}: {', '.join(shown)}."
        favored = sizes.index[sizes["max"] == sizes["max"].max()]
        if len(favored) < len(sizes):
            yield (
                "The maximum over more settings is higher by chance alone, which favors "
                f"{' and '.join(favored)}."
            )


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
    suites, sets = (", ".join(frame[name].unique()) for name in ("suite", "data"))
    sections = [section for section in _sections(frame, tables, jobs, command) if section.parts]
    write_page(path, title or "Experiments", f"{suites} on {sets}", sections)


def _sections(
    frame: pd.DataFrame, tables: Sequence[ResultTable], jobs: Mapping[str, int], command: str
) -> Iterator[Section]:
    overview, others = ("data", "environment"), ("ranks", "published", "convergence")
    yield Section(
        "Overview",
        [_facts(frame, jobs), *_table_parts(tables, *overview)],
        "What was run, on which data and machines.",
    )
    yield Section(
        "Ranks",
        _table_parts(tables, "ranks"),
        "Ranks of the methods on each data set, averaged; lower is better.",
    )
    yield Section(
        "Accuracy",
        _charts(frame, "compare", accuracy_chart, _describe_accuracy),
        "One chart per data set; error bars are one standard deviation of the runs. Hatched bars "
        "are oracle results: their settings were chosen with the labels.",
    )
    yield Section(
        "Time and accuracy",
        _charts(frame, "runtime", time_chart, _describe_time),
        "Each fit was timed without other jobs at the same time; the accuracy is that of the "
        "labels it returned. Nothing is tuned with labels here.",
    )
    yield Section(
        "Parameters",
        [
            *_charts(frame, "beta", parameter_chart, _describe_parameter),
            *_charts(frame, "anchors", parameter_chart, _describe_parameter),
        ],
        "Sensitivity of the scores of DALMC to two parameters. Click on a name to hide its line.",
    )
    yield Section(
        "Missing views",
        [
            *_charts(frame, "incomplete", partial(missing_chart, metric="ACC"), _describe_missing),
            *_charts(frame, "incomplete", partial(missing_chart, metric="NMI"), _describe_missing),
        ],
        "Scores after a fraction of the (sample, view) entries was removed at random, once per "
        "fraction; bands are one standard deviation, of K-means alone.",
    )
    yield Section(
        "Convergence",
        [
            *_table_parts(tables, "convergence"),
            *_charts(frame, "convergence", convergence_chart, _describe_convergence),
        ],
        "Objective of DALMC after every iteration.",
    )
    rest = [table for table in tables if not table.name.startswith((*overview, *others))]
    yield Section("Tables", _table_parts(rest))
    yield Section("Comparison with the paper", _table_parts(tables, "published"))
    yield Section("Not done", [_not_done(frame)])
    yield Section("Protocol", [Text(paragraph) for paragraph in protocol(frame)])
    yield Section("How to reproduce", [Code(command)] if command else [])


def _facts(frame: pd.DataFrame, jobs: Mapping[str, int]) -> Facts:
    methods = frame["column"].str.replace(r" \((as published, )?oracle\)$", "", regex=True)
    return Facts(
        {
            "data sets": str(frame["data"].nunique()),
            "methods": str(methods.nunique()),
            "jobs done": f"{jobs.get('done', 0)} of {sum(jobs.values())}",
            **{
                f"jobs {t}": str(jobs[status])
                for status, t in STATUS_TEXTS.items()
                if jobs.get(status)
            },
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


def _table_parts(tables: Sequence[ResultTable], *prefixes: str) -> list[Part]:
    """Tables whose names have one of the prefixes; consecutive equal captions are shown once."""
    wanted = [table for table in tables if table.name.startswith(prefixes or "")]
    parts: list[Part] = []
    for caption, group in groupby(wanted, key=lambda table: table.caption):
        parts.append(Text(caption))
        for table in group:
            names = table.headers()
            texts, marks = (pd.DataFrame(c, columns=names) for c in (table.texts(), table.marks()))
            parts.append(Table(texts, table.title, marks))
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
    status = rows["status"].replace(STATUS_TEXTS)
    return Table(rows.assign(point=points, status=status), "What is not done, and why")
