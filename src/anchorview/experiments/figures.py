"""Charts of the results of suites, and figures for print that show them for all data sets.

Equal results give identical SVG and PNG files.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from anchorview._utils.atomic_files import atomic_write_binary
from anchorview._utils.errors import optional_import
from anchorview.experiments.evaluation import SuiteResults
from anchorview.experiments.jobs import METRICS
from anchorview.plotting.charts import BarChart, Line, LineChart, PointChart
from anchorview.plotting.colors import series_color
from anchorview.plotting.matplotlib_charts import Panel, draw_panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

PANELS_PER_ROW = 3
PANEL_WIDTH = 3.4
"""Width of a panel in inches."""

DPI = 150
"""Resolution of PNG files."""

STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"],
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    # Dollar signs in names of data sets do not start formulas.
    "text.parse_math": False,
    # Text stays text, and equal figures are equal files.
    "svg.fonttype": "none",
    "svg.hashsalt": "anchorview",
}


def accuracy_chart(results: SuiteResults, data: str, contest: str) -> BarChart:
    """ACC of all columns of a contest; oracle columns are hatched."""
    columns = results.contests()[contest]
    rows = results.on(data).done().set_index("column").reindex(columns)
    return BarChart(
        columns,
        (100 * rows["ACC"]).tolist(),
        "ACC in percent",
        data,
        colors=[series_color(column) for column in columns],
        deviations=(100 * rows["ACC_deviation"]).tolist(),
        hatched=[contest == "oracle"] * len(columns),
        settings=rows["settings"].fillna("").tolist(),
        x_max=100,
        number_format="0.00",
    )


def time_chart(results: SuiteResults, data: str) -> PointChart:
    """ACC of the labels of all columns, in ascending order, against the time of a fit."""
    rows = results.on(data).done().query("fit_seconds > 0")
    rows = rows.sort_values("ACC_returned", kind="stable")
    return PointChart(
        rows["column"].tolist(),
        rows["fit_seconds"].tolist(),
        (100 * rows["ACC_returned"]).tolist(),
        rows["column"].map(series_color).tolist(),
        "seconds of a fit",
        "ACC in percent",
        data,
    )


def parameter_chart(results: SuiteResults, data: str) -> LineChart:
    """All metrics of DALMC against the parameter of the suite beta or anchors."""
    part = results.on(data)
    lines = [_score_line(part.done(), metric, metric) for metric in METRICS]
    log_x = results.suite == "beta"
    parameter = "beta" if log_x else "number of anchors"
    return LineChart(lines, parameter, "percent", data, sorted(part.frame["point"].unique()), log_x)


def missing_chart(results: SuiteResults, data: str, metric: str) -> LineChart:
    """A metric of all columns against the percentage of missing entries."""
    rows = results.on(data).frame.assign(point=lambda rows: 100 * rows["point"])
    done = rows[rows["status"] == "done"]
    lines = [_score_line(done[done["column"] == name], metric, name) for name in results.modes]
    x_ticks = sorted(rows["point"].unique())
    return LineChart(lines, "missing entries in percent", f"{metric} in percent", data, x_ticks)


def convergence_chart(results: SuiteResults, data: str) -> LineChart:
    """Objective per iteration."""
    rows = results.on(data).done()
    lines = [
        Line(range(1, len(objective) + 1), objective, color=series_color(column))
        for column, objective in zip(rows["column"], rows["objective"], strict=True)
    ]
    return LineChart(lines, "iteration", "objective", data)


def _score_line(rows: pd.DataFrame, metric: str, name: str) -> Line:
    rows = rows.sort_values("point")
    means, deviations = 100 * rows[metric], 100 * rows[f"{metric}_deviation"]
    color = series_color(name)
    return Line(rows["point"].tolist(), means.tolist(), name, deviations.tolist(), color)


@dataclass(frozen=True)
class Figure:
    """A figure with one panel per data set."""

    name: str
    """File name without suffix."""
    suite: str
    title: str
    caption: str
    """How to read the figure."""
    make_chart: Callable[[SuiteResults, str], Panel]
    """Makes the chart of a data set."""
    panels: Sequence[Panel] = ()
    """At least one in a figure to draw, all of the same type."""

    def write(self, folder: Path) -> list[Path]:
        """Write the figure as SVG and PNG; return the paths."""
        # Without date and version, which would differ between runs.
        omitted = {"svg": ("Date", "Creator"), "png": ("Software",)}
        paths = [folder / f"{self.name}.{suffix}" for suffix in omitted]
        style = optional_import("matplotlib.style", "Figures", "report")
        # Independent of the user's style.
        with style.context(["default", STYLE]), atomic_write_binary(*paths) as streams:
            drawn = self._draw()
            for stream, (suffix, fields) in zip(streams, omitted.items(), strict=True):
                drawn.savefig(stream, format=suffix, dpi=DPI, metadata=dict.fromkeys(fields))
        return paths

    def _draw(self) -> "MatplotlibFigure":
        """Draw all panels, and a common legend below them."""
        n_columns = min(len(self.panels), PANELS_PER_ROW)
        n_rows = -(-len(self.panels) // n_columns)
        size = (PANEL_WIDTH * n_columns, _panel_height(self.panels[0]) * n_rows)
        matplotlib_figure = optional_import("matplotlib.figure", "Figures", "report")
        canvas: MatplotlibFigure = matplotlib_figure.Figure(size, layout="constrained")
        all_axes = canvas.subplots(n_rows, n_columns, squeeze=False).ravel()
        for axes, panel in zip(all_axes, self.panels, strict=False):
            axes.set_title(panel.title)
            draw_panel(panel, axes)
        for axes in all_axes[len(self.panels) :]:
            axes.set_visible(False)
        handles, names = all_axes[0].get_legend_handles_labels()
        if names:
            n_legend_columns = min(len(names), 2 * n_columns)
            canvas.legend(handles, names, loc="outside lower center", ncols=n_legend_columns)
        return canvas


def _panel_height(panel: Panel) -> float:
    """Height in inches."""
    if isinstance(panel, BarChart):
        return 0.9 + 0.19 * len(panel.names)
    return 2.6 if isinstance(panel, LineChart) else 3.2


PARAMETER_CAPTION = (
    "Sensitivity of the scores of DALMC; bands are one standard deviation of the runs."
)

FIGURES = (
    Figure(
        "accuracy",
        "compare",
        "Accuracy",
        "ACC of the methods, nothing tuned with labels; error bars are one standard deviation of "
        "the runs.",
        partial(accuracy_chart, contest="honest"),
    ),
    Figure(
        "accuracy-oracle",
        "compare",
        "Accuracy, oracle",
        "ACC of the methods with settings chosen with the labels; error bars are one standard "
        "deviation of the runs.",
        partial(accuracy_chart, contest="oracle"),
    ),
    Figure(
        "time-accuracy",
        "runtime",
        "Time and accuracy",
        "ACC of the labels that a fit returns against its time, default and (auto), without other "
        "jobs at the same time. Nothing is tuned with labels. Up and left is better.",
        time_chart,
    ),
    Figure("beta", "beta", "Beta (figures 2-3 of the paper)", PARAMETER_CAPTION, parameter_chart),
    Figure(
        "anchors",
        "anchors",
        "Number of anchors (figures 4-5 of the paper)",
        PARAMETER_CAPTION,
        parameter_chart,
    ),
    Figure(
        "convergence",
        "convergence",
        "Convergence (figure 6 of the paper)",
        "Objective of DALMC after every iteration.",
        convergence_chart,
    ),
    *(
        Figure(
            f"incomplete-{metric.lower()}",
            "incomplete",
            f"Missing views, {metric}",
            f"{metric} after a fraction of the (sample, view) entries was removed at random, once "
            "per fraction; bands are one standard deviation, of K-means alone.",
            partial(missing_chart, metric=metric),
        )
        for metric in ("ACC", "NMI")
    ),
)


def figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Yield the figures of evaluated results that show anything."""
    for figure in FIGURES:
        results = SuiteResults(frame, figure.suite)
        charts = [figure.make_chart(results, data) for data in results.data]
        if panels := [chart for chart in charts if not chart_table(chart).dropna(how="all").empty]:
            yield replace(figure, panels=panels)


def chart_table(chart: Panel) -> pd.DataFrame:
    """The numbers of a chart."""
    if isinstance(chart, LineChart):
        lines = {
            line.name or chart.y_label: dict(zip(line.x, line.y, strict=True))
            for line in chart.lines
        }
        return pd.DataFrame(lines).rename_axis(chart.x_label)
    names = pd.Index(map(str, chart.names), name="method")
    if isinstance(chart, BarChart):
        return pd.DataFrame({chart.x_label: chart.values}, names)
    return pd.DataFrame({chart.x_label: chart.x, chart.y_label: chart.y}, names)
