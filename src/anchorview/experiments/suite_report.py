"""The report page of suites of experiments, and the text on their protocol."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

import pandas as pd

from anchorview.experiments.evaluation import STATUS_TEXTS
from anchorview.experiments.figures import (
    MakeChart,
    accuracy_chart,
    charts_of,
    convergence_chart,
    missing_chart,
    parameter_chart,
    time_chart,
)
from anchorview.experiments.plan import LABEL_MODES
from anchorview.experiments.table_formats import ResultTable
from anchorview.experiments.tables import RETURNED_TABLE
from anchorview.plotting.charts import BarChart, LineChart
from anchorview.plotting.matplotlib_charts import Panel
from anchorview.report.page import Chart, Code, Facts, Part, Section, Table, Text, write_page

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

CHART_SECTIONS: Mapping[str, tuple[str, Sequence[tuple[str, MakeChart]]]] = {
    "Accuracy": (
        "One chart per data set; error bars are one standard deviation of the runs. Hatched bars "
        "are oracle results: their settings were chosen with the labels.",
        [("compare", accuracy_chart)],
    ),
    "Time and accuracy": (
        "Each fit was timed without other jobs at the same time; the accuracy is that of the "
        "labels it returned. Nothing is tuned with labels here. Up and left is better.",
        [("runtime", time_chart)],
    ),
    "Parameters": (
        "Sensitivity of the scores of DALMC to two parameters; bands are one standard deviation "
        "of the runs. Click on a name to hide its line.",
        [("beta", parameter_chart), ("anchors", parameter_chart)],
    ),
    "Missing views": (
        "Scores after a fraction of the (sample, view) entries was removed at random, once per "
        "fraction; bands are one standard deviation, of K-means alone.",
        [("incomplete", partial(missing_chart, metric=metric)) for metric in ("ACC", "NMI")],
    ),
    "Convergence": (
        "Objective of DALMC after every iteration.",
        [("convergence", convergence_chart)],
    ),
}
"""Text of each section with charts, and its charts with their suites."""


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
    overview, elsewhere = ("data", "environment"), ("ranks", "published", "convergence")
    rest = [table for table in tables if not table.name.startswith((*overview, *elsewhere))]
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
    for title, (text, makers) in CHART_SECTIONS.items():
        charts = [
            _chart_part(chart)
            for suite, make_chart in makers
            for chart in charts_of(frame, suite, make_chart)
        ]
        # Only the suite convergence has a table with its charts.
        yield Section(title, [*_table_parts(tables, title.lower()), *charts], text)
    yield Section("Tables", _table_parts(rest, ""))
    yield Section("Comparison with the paper", _table_parts(tables, "published"))
    yield Section("Not done", [_not_done(frame)])
    yield Section("Protocol", [Text(paragraph) for paragraph in protocol(frame)])
    yield Section("How to reproduce", [Code(command)] if command else [])


def _facts(frame: pd.DataFrame, jobs: Mapping[str, int]) -> Facts:
    methods = frame["column"].str.replace(r" \((as published, )?oracle\)$", "", regex=True)
    lost = {f"jobs {text}": jobs.get(status, 0) for status, text in STATUS_TEXTS.items()}
    return Facts(
        {
            "data sets": str(frame["data"].nunique()),
            "methods": str(methods.nunique()),
            "jobs done": f"{jobs.get('done', 0)} of {sum(jobs.values())}",
            **{name: str(count) for name, count in lost.items() if count},
        }
    )


def _chart_part(chart: Panel) -> Chart:
    """A chart with its numbers in a table, and the range of each column as its description."""
    if isinstance(chart, LineChart):
        lines = {
            line.name or chart.y_label: dict(zip(line.x, line.y, strict=True))
            for line in chart.lines
        }
        table = pd.DataFrame(lines).rename_axis(chart.x_label)
        about = f"{chart.y_label} against {chart.x_label}"
    elif isinstance(chart, BarChart):
        table = pd.DataFrame(
            {chart.x_label: chart.values}, pd.Index(map(str, chart.names), name="method")
        )
        about = f"{chart.x_label} of {len(table)} columns"
    else:
        numbers = {chart.x_label: chart.x, chart.y_label: chart.y}
        table = pd.DataFrame(numbers, pd.Index(chart.names, name="method"))
        about = f"{chart.y_label} against {chart.x_label}"
    ranges = [
        f"{name} from {values.min():.4g} ({values.idxmin()}) to {values.max():.4g} "
        f"({values.idxmax()})"
        for name, values in table.dropna(axis="columns", how="all").items()
    ]
    if isinstance(chart, BarChart):
        table = table.assign(deviation=chart.deviations, settings=chart.settings)
    return Chart(chart, f"{chart.title}: {about}. {'; '.join(ranges)}.", table.reset_index())


def _table_parts(tables: Sequence[ResultTable], *prefixes: str) -> list[Part]:
    """Tables whose names have one of the prefixes; consecutive equal captions are shown once."""
    wanted = [table for table in tables if table.name.startswith(prefixes)]
    parts: list[Part] = []
    for caption, group in groupby(wanted, key=lambda table: table.caption):
        parts.append(Text(caption))
        for table in group:
            parts.append(Table(table.texts(), table.title, table.marks()))
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
