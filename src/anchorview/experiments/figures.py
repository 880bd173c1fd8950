"""Charts of the results of suites, and figures for print that show them for all data sets.

Equal results give identical SVG and PNG files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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


def accuracy_chart(results: SuiteResults, data: str, contest: str = "") -> BarChart:
    """ACC of all columns of a contest, or of all that are done; oracle columns are hatched."""
    contests = results.contests()
    rows = results.on(data).done().set_index("column")
    rows = rows.reindex(contests[contest]) if contest else rows
    columns = rows.index.tolist()
    return BarChart(
        columns,
        (100 * rows["ACC"]).tolist(),
        "ACC in percent",
        data,
        colors=[series_color(column) for column in columns],
        deviations=(100 * rows["ACC_deviation"]).tolist(),
        hatched=[column in contests["oracle"] for column in columns],
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
    x_ticks = sorted(part.frame["point"].unique())
    return LineChart(lines, parameter, "percent", data, x_ticks, log_x)


def missing_chart(results: SuiteResults, data: str, metric: str) -> LineChart:
    """A metric of all columns against the percentage of missing entries."""
    part = results.on(data)
    rows = part.done().assign(point=100 * part.frame["point"])
    lines = [
        _score_line(rows[rows["column"] == column], metric, column) for column in results.modes
    ]
    x_ticks = [100 * point for point in sorted(part.frame["point"].unique())]
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


MakeChart = Callable[[SuiteResults, str], Panel]
"""Makes the chart of a data set."""

FIGURES: Mapping[str, tuple[str, str, MakeChart]] = {
    "accuracy": (
        "compare",
        "ACC of the methods, nothing tuned with labels",
        partial(accuracy_chart, contest="honest"),
    ),
    "accuracy-oracle": (
        "compare",
        "ACC of the methods, oracle: settings chosen with the labels",
        partial(accuracy_chart, contest="oracle"),
    ),
    "time-accuracy": (
        "runtime",
        "ACC of the labels that a fit returns against its time, default and (auto)",
        time_chart,
    ),
    "beta": ("beta", "Figures 2-3 of the paper: scores of DALMC against beta", parameter_chart),
    "anchors": (
        "anchors",
        "Figures 4-5 of the paper: scores of DALMC against number of anchors",
        parameter_chart,
    ),
    "convergence": (
        "convergence",
        "Figure 6 of the paper: objective of DALMC per iteration",
        convergence_chart,
    ),
    **{
        f"incomplete-{metric.lower()}": (
            "incomplete",
            f"{metric} against the fraction of missing entries",
            partial(missing_chart, metric=metric),
        )
        for metric in ("ACC", "NMI")
    },
}
"""Suite, title and chart of each figure, by name."""


@dataclass(frozen=True)
class Figure:
    """A figure with one panel per data set."""

    name: str
    """File name without suffix."""
    title: str
    panels: Sequence[Panel]
    """At least one, all of the same type."""

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


def charts_of(frame: pd.DataFrame, suite: str, make_chart: MakeChart) -> list[Panel]:
    """Charts of a suite, one per data set with results."""
    results = SuiteResults(frame, suite)
    charts = [make_chart(results, data) for data in results.data]
    return [
        each
        for each in charts
        if (any(line.y for line in each.lines) if isinstance(each, LineChart) else each.names)
    ]


def figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Yield all figures of evaluated results."""
    for name, (suite, title, make_chart) in FIGURES.items():
        if panels := charts_of(frame, suite, make_chart):
            yield Figure(name, title, panels)


def _panel_height(panel: Panel) -> float:
    """Height in inches."""
    if isinstance(panel, BarChart):
        return 0.9 + 0.19 * len(panel.names)
    return 2.6 if isinstance(panel, LineChart) else 3.2
