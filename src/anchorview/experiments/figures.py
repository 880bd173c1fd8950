"""Figures for print with matplotlib: equal results give identical SVG and PNG files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from anchorview._utils.atomic_files import atomic_write_binary
from anchorview._utils.optional_imports import optional_import
from anchorview.experiments import suite_charts
from anchorview.experiments.suite_results import SuiteResults
from anchorview.plotting.charts import BarChart, LineChart
from anchorview.plotting.matplotlib_charts import Panel, draw_panel

if TYPE_CHECKING:
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
