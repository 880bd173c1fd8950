"""Figures for print with matplotlib: equal results give identical SVG and PNG files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, singledispatch
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anchorview._utils.atomic_files import atomic_write_binary
from anchorview._utils.optional_imports import optional_import
from anchorview.experiments.output import suite_charts
from anchorview.experiments.results.suite_results import SuiteResults
from anchorview.report.charts import BarChart, LineChart, PointChart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

PANELS_PER_ROW = 3
PANEL_WIDTH = 3.4
"""Width of a panel in inches."""

DPI = 150
"""Resolution of PNG files."""

_STYLE = {
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
_MARKERS = ("o", "s", "^", "D", "v")

Panel = BarChart | LineChart | PointChart

_FIGURES: tuple[tuple[str, str, str, Callable[[SuiteResults, str], Panel]], ...] = (
    (
        "accuracy",
        "compare",
        "ACC of the methods, nothing tuned with labels",
        partial(suite_charts.accuracy_chart, contest="honest"),
    ),
    (
        "accuracy-oracle",
        "compare",
        "ACC of the methods, oracle: settings chosen with the labels",
        partial(suite_charts.accuracy_chart, contest="oracle"),
    ),
    (
        "time-accuracy",
        "runtime",
        "ACC of the labels that a fit returns against its time, default and (auto)",
        suite_charts.time_chart,
    ),
    (
        "beta",
        "beta",
        "Figures 2-3 of the paper: scores of DALMC against beta",
        suite_charts.beta_chart,
    ),
    (
        "anchors",
        "anchors",
        "Figures 4-5 of the paper: scores of DALMC against number of anchors",
        suite_charts.anchor_chart,
    ),
    (
        "convergence",
        "convergence",
        "Figure 6 of the paper: objective of DALMC per iteration",
        suite_charts.convergence_chart,
    ),
    *(
        (
            f"incomplete-{metric.lower()}",
            "incomplete",
            f"{metric} against the fraction of missing entries",
            partial(suite_charts.missing_chart, metric=metric),
        )
        for metric in ("ACC", "NMI")
    ),
)
"""Name, suite, title and chart of each figure."""


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
        # Independent of the user's own style.
        with style.context(["default", _STYLE]), atomic_write_binary(*paths) as streams:
            drawn = _draw(self)
            for stream, (suffix, fields) in zip(streams, omitted.items(), strict=True):
                drawn.savefig(stream, format=suffix, dpi=DPI, metadata=dict.fromkeys(fields))
        return paths


def figures(frame: pd.DataFrame) -> list[Figure]:
    """All figures of evaluated results."""
    found = []
    for name, suite, title, make_chart in _FIGURES:
        results = SuiteResults(frame, suite)
        panels = [make_chart(results, data) for data in results.data]
        panels = [panel for panel in panels if isinstance(panel, LineChart) or panel.names]
        if panels:
            found.append(Figure(name, title, panels))
    return found


def _draw(figure: Figure) -> "MatplotlibFigure":
    """Draw all panels, and a common legend below them."""
    n_columns = min(len(figure.panels), PANELS_PER_ROW)
    n_rows = -(-len(figure.panels) // n_columns)
    size = (PANEL_WIDTH * n_columns, _panel_height(figure.panels[0]) * n_rows)
    canvas = optional_import("matplotlib.figure", "Figures", "report").Figure(
        size, layout="constrained"
    )
    all_axes = canvas.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes, panel in zip(all_axes, figure.panels, strict=False):
        axes.set_title(panel.title)
        draw_panel(panel, axes)
    for axes in all_axes[len(figure.panels) :]:
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


@singledispatch
def draw_panel(chart: Panel, axes: "Axes") -> None:
    """Draw a chart on axes of matplotlib."""
    raise TypeError(f"{type(chart).__name__} is not a chart for print.")


@draw_panel.register
def _bar_chart(chart: BarChart, axes: Any) -> None:
    assert chart.colors is not None
    assert chart.deviations is not None
    assert chart.hatched is not None
    bars = zip(chart.values, chart.deviations, chart.colors, chart.hatched, strict=True)
    for y, (value, deviation, color, hatched) in enumerate(bars):
        if np.isnan(value):
            axes.text(0.5, y, "-", va="center")
            continue
        axes.barh(
            y,
            value,
            xerr=deviation,
            error_kw={"elinewidth": 0.8, "capsize": 2},
            color=color,
            edgecolor="white",
            hatch="///" if hatched else None,
        )
    axes.set_yticks(range(len(chart.names)), chart.names)
    axes.set(xlabel=chart.x_label, xlim=(0, chart.x_max), ylim=(len(chart.names) - 0.4, -0.6))
    axes.grid(axis="y", visible=False)


@draw_panel.register
def _line_chart(chart: LineChart, axes: Any) -> None:
    for line, marker in zip(chart.lines, cycle(_MARKERS), strict=False):
        x, y = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float)
        axes.plot(x, y, marker=marker, color=line.color, label=line.name or None)
        if line.deviations is not None:
            deviations = np.asarray(line.deviations, dtype=float)
            axes.fill_between(x, y - deviations, y + deviations, color=line.color, alpha=0.15, lw=0)
    if chart.log_x:
        axes.set_xscale("log")
        axes.minorticks_off()
    if chart.x_ticks is not None:
        axes.set_xticks(chart.x_ticks, [f"{tick:g}" for tick in chart.x_ticks])
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)


@draw_panel.register
def _point_chart(chart: PointChart, axes: Any) -> None:
    for x, y, color in zip(chart.x, chart.y, chart.colors, strict=True):
        axes.scatter(x, y, color=color, s=22, zorder=3)
    axes.set_xscale("log")
    # Leaves space for the names, which are to the right of the points or higher.
    axes.set_xlim(min(chart.x) / 2, max(chart.x) * 8)
    bottom, top = min(chart.y) - 4, max(chart.y) + 6
    axes.set_ylim(bottom, top)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.minorticks_off()
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)
    # Points are sorted from bottom to top: names move up so that none overlap.
    line_height = (top - bottom) / 22
    lowest = bottom
    for name, x, y, color in zip(chart.names, chart.x, chart.y, chart.colors, strict=True):
        lowest = max(lowest + line_height, y)
        axes.annotate(
            name,
            (x, y),
            (x * 1.25, lowest),
            fontsize=6.5,
            va="center",
            color=color,
            arrowprops={"arrowstyle": "-", "lw": 0.4, "color": "#999999"},
        )
