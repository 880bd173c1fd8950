"""Figures of suites, with a panel per data set; equal results give identical SVG and PNG files."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.atomic_files import atomic_write_binary
from anchorview._utils.errors import optional_import
from anchorview.experiments.evaluation import SuiteResults
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.plan import LABEL_MODES
from anchorview.plotting.axes import FILE_STYLE, series_color
from anchorview.plotting.curve_displays import Line, draw_lines, show_in_proportion

PANELS_PER_ROW = 3
PANEL_WIDTH, PANEL_HEIGHT = 3.4, 2.6
BARS_HEIGHT, BAR_HEIGHT = 0.9, 0.19
"""Sizes of panels in inches; the height of those with bars grows with the number of bars."""

DPI = 150
"""Resolution of PNG files."""

STYLE = {
    **FILE_STYLE,
    "font.size": 8.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "lines.markersize": 4.0,
}


def draw_accuracy(results: SuiteResults, data: str, axes: Any) -> None:
    """ACC of all columns."""
    rows = results.on(data).done().set_index("column").reindex(list(results.modes))
    places = np.arange(len(rows))
    axes.barh(
        places,
        100 * rows["ACC"],
        xerr=100 * rows["ACC_deviation"],
        error_kw={"elinewidth": 0.8, "capsize": 2},
        color=[series_color(column) for column in rows.index],
    )
    for place in places[rows["ACC"].isna()]:
        axes.text(0.5, place, "-", va="center")
    axes.set_yticks(places, rows.index)
    axes.set(xlabel="ACC in percent", xlim=(0, 100), ylim=(len(rows) - 0.4, -0.6))
    axes.grid(axis="y", visible=False)


def draw_scores(results: SuiteResults, data: str, axes: Any) -> None:
    """Metrics of DALMC against the points of a suite."""
    rows = results.on(data)
    done = rows.done().sort_values("point")
    lines = []
    for metric in METRICS:
        means, deviations = 100 * done[metric], 100 * done[f"{metric}_deviation"]
        line = (done["point"].tolist(), means.tolist(), metric, deviations.tolist())
        lines.append(Line(*line, series_color(metric)))
    ticks = sorted(rows.frame["point"].unique())
    draw_lines(axes, lines, ticks, log_x=results.suite == "beta")
    x_label = "number of anchors" if results.suite == "anchors" else results.suite
    axes.set(xlabel=x_label, ylabel="percent")


def draw_convergence(results: SuiteResults, data: str, axes: Any) -> None:
    """Objective per iteration."""
    rows = results.on(data).done()
    lines = [
        Line(range(1, len(objective) + 1), objective, color=series_color(column))
        for column, objective in zip(rows["column"], rows["objective"], strict=True)
    ]
    draw_lines(axes, lines)
    axes.set(xlabel="iteration", ylabel="objective")
    show_in_proportion(axes)


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of the outputs, drawn on an empty one of matplotlib; named as its files."""

    name: str
    title: str
    caption: str
    draw: Callable[[Any], None]

    def write(self, folder: Path) -> list[Path]:
        """Write as SVG and PNG, whatever the user's style; returns the paths."""
        # Without date and version, which would differ between runs.
        omitted = {"svg": ("Date", "Creator"), "png": ("Software",)}
        paths = [folder / f"{self.name}.{suffix}" for suffix in omitted]
        style = optional_import("matplotlib.style", "Figures", "report")
        figures = optional_import("matplotlib.figure", "Figures", "report")
        with style.context(["default", STYLE]), atomic_write_binary(*paths) as streams:
            figure = figures.Figure(layout="constrained")
            self.draw(figure)
            for stream, (suffix, fields) in zip(streams, omitted.items(), strict=True):
                figure.savefig(stream, format=suffix, dpi=DPI, metadata=dict.fromkeys(fields))
        return paths


SENSITIVITY = "Sensitivity of the scores of DALMC; bands are one standard deviation of the runs."

SUITE_FIGURES: Mapping[str, tuple[str, str, str, Callable[[SuiteResults, str, Any], None]]] = {
    "compare": (
        "accuracy",
        "Accuracy",
        "ACC of the methods, nothing tuned with labels; error bars are standard deviations.",
        draw_accuracy,
    ),
    "beta": ("beta", "Beta (figures 2-3 of the paper)", SENSITIVITY, draw_scores),
    "anchors": (
        "anchors",
        "Number of anchors (figures 4-5 of the paper)",
        SENSITIVITY,
        draw_scores,
    ),
    "convergence": (
        "convergence",
        "Convergence (figure 6 of the paper)",
        "Objective of DALMC after every iteration.",
        draw_convergence,
    ),
}
"""By suite: file name, title, caption, and what draws the results on a data set on axes."""


def suite_figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Figures of the suites in evaluated results, one panel per data set with results."""
    honest = frame[~frame["mode"].isin(LABEL_MODES)]
    for suite, (name, title, caption, draw) in SUITE_FIGURES.items():
        results = SuiteResults(honest, suite)
        if len(results.done()):
            yield Figure(name, title, caption, partial(_draw_panels, results, draw))


def _draw_panels(results: SuiteResults, draw: Callable[..., None], figure: Any) -> None:
    panels = [data for data in results.data if len(results.on(data).done())]
    n_columns = min(len(panels), PANELS_PER_ROW)
    n_rows = -(-len(panels) // n_columns)
    with_bars = results.suite == "compare"
    height = BARS_HEIGHT + BAR_HEIGHT * len(results.modes) if with_bars else PANEL_HEIGHT
    figure.set_size_inches(PANEL_WIDTH * n_columns, height * n_rows)
    for place, data in enumerate(panels, 1):
        draw(results, data, figure.add_subplot(n_rows, n_columns, place, title=data))
    handles, names = figure.axes[0].get_legend_handles_labels()
    if names:
        n_legend_columns = min(len(names), 2 * n_columns)
        figure.legend(handles, names, loc="outside lower center", ncols=n_legend_columns)
