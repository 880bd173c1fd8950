"""Figures for print: SVG and PNG files that are the same whenever the results are.

Needs matplotlib, which the extra ``report`` brings.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.atomic_files import atomic_write_binary
from anchorview._utils.optional_imports import optional_import
from anchorview.experiments.output.method_colors import color
from anchorview.experiments.plan.jobs import METRICS
from anchorview.experiments.results.suite_results import (
    Contender,
    Record,
    SuiteResults,
    iterations,
    times_and_accuracies,
)

PANELS_A_ROW = 3
PANEL = (3.4, 2.6)
"""Width and height of a panel in inches."""

DPI = 150
"""Points an inch of PNG files."""

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
    # Names of data sets may have dollars; they are not formulas.
    "text.parse_math": False,
    # Letters stay letters, and the same figure is the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "anchorview",
}
_MARKERS = ("o", "s", "^", "D", "v")
_Draw = Callable[[Any, str], None]


@dataclass(frozen=True)
class Figure:
    """A figure that can be drawn.

    Attributes
    ----------
    name : str
        Name of its files, without an ending.
    title : str
        What it shows, in a few words.
    panels : tuple of str
        Data sets, one panel each.
    draw : callable
        Draws the panel of a data set on axes of matplotlib.
    height : float
        Height of a panel in inches.
    """

    name: str
    title: str
    panels: tuple[str, ...]
    draw: _Draw
    height: float = PANEL[1]

    def write(self, folder: Path) -> list[Path]:
        """Write the figure to a folder as SVG and PNG; their paths."""
        paths = [folder / f"{self.name}.{form}" for form in ("svg", "png")]
        with _style(), atomic_write_binary(*paths) as streams:
            drawn = _drawn(self)
            for path, stream in zip(paths, streams, strict=True):
                form = path.suffix[1:]
                # A date or a version would make each run's file another one.
                nothing = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
                drawn.savefig(stream, format=form, dpi=DPI, metadata=nothing)
        return paths


def figures(frame: pd.DataFrame) -> list[Figure]:
    """All figures that the results fill.

    Parameters
    ----------
    frame : pandas.DataFrame
        What :func:`anchorview.experiments.results.evaluation.evaluated` returns.

    Returns
    -------
    list of Figure
    """
    compare = SuiteResults(frame, "compare")
    incomplete = SuiteResults(frame, "incomplete")
    return [
        *_accuracies(
            compare, "honest", "accuracy", "ACC of the methods, nothing tuned with labels"
        ),
        *_accuracies(
            compare,
            "oracle",
            "accuracy-oracle",
            "ACC of the methods, oracle: settings chosen with the labels",
        ),
        *_time_and_accuracy(SuiteResults(frame, "runtime")),
        *_metric_curves(SuiteResults(frame, "beta"), "Figures 2-3", "beta", logarithmic=True),
        *_metric_curves(SuiteResults(frame, "anchors"), "Figures 4-5", "number of anchors"),
        *_objectives(SuiteResults(frame, "convergence")),
        *_missing_curves(incomplete, "ACC"),
        *_missing_curves(incomplete, "NMI"),
    ]


def _accuracies(results: SuiteResults, contest: str, name: str, title: str) -> Iterator[Figure]:
    """Bars of ACC with deviations of the columns of one contest."""
    contenders = [one for one in results.contenders if one.contest == contest]

    def draw(axes: Any, data: str) -> None:
        for place, one in enumerate(contenders):
            record = results.done(data, one)
            if record is None:
                axes.text(0.5, place, "-", va="center")
                continue
            axes.barh(
                place,
                100 * record["ACC"],
                xerr=100 * record["ACC_deviation"],
                error_kw={"elinewidth": 0.8, "capsize": 2},
                color=color(one.name),
                edgecolor="white",
                hatch="///" if contest == "oracle" else None,
            )
        axes.set_yticks(range(len(contenders)), [one.header for one in contenders])
        axes.set(xlabel="ACC in percent", xlim=(0, 100), ylim=(len(contenders) - 0.4, -0.6))
        axes.grid(axis="y", visible=False)

    if contenders:
        yield Figure(name, title, tuple(results.data), draw, 0.9 + 0.19 * len(contenders))


def _time_and_accuracy(runtime: SuiteResults) -> Iterator[Figure]:
    """Time of a fit against ACC, methods by name."""
    found = {data: times_and_accuracies(runtime, data) for data in runtime.data}

    def draw(axes: Any, data: str) -> None:
        points = found[data]
        for one, seconds, accuracy in points:
            axes.scatter(seconds, accuracy, color=color(one.name), s=22, zorder=3)
        _, times, accuracies = zip(*points, strict=True)
        axes.set_xscale("log")
        # The names are to the right of the points, and may climb.
        axes.set_xlim(min(times) / 2, max(times) * 8)
        axes.set_ylim(min(accuracies) - 4, max(accuracies) + 6)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.minorticks_off()
        axes.set(xlabel="seconds of a fit", ylabel="ACC in percent")
        _label_points(axes, points)

    panels = tuple(data for data, points in found.items() if points)
    if panels:
        title = "ACC of the labels that a fit returns against its time, default and (auto)"
        yield Figure("time-accuracy", title, panels, draw, 3.2)


def _label_points(axes: Any, points: Sequence[tuple[Contender, float, float]]) -> None:
    """Write the names to the right of points that come from low to high, none over another."""
    low, high = axes.get_ylim()
    line = (high - low) / 22
    lowest = low
    for one, seconds, accuracy in points:
        lowest = max(lowest + line, accuracy)
        axes.annotate(
            one.header,
            (seconds, accuracy),
            (seconds * 1.25, lowest),
            fontsize=6.5,
            va="center",
            color=color(one.name),
            arrowprops={"arrowstyle": "-", "lw": 0.4, "color": "#999999"},
        )


def _metric_curves(
    results: SuiteResults, place: str, what: str, logarithmic: bool = False
) -> Iterator[Figure]:
    """All metrics of DALMC against a setting."""

    def draw(axes: Any, data: str) -> None:
        for one in results.contenders:
            curve = results.curve(data, one)
            for metric, marker in zip(METRICS, _MARKERS, strict=True):
                _line(axes, curve, metric, metric, marker)
        if logarithmic:
            axes.set_xscale("log")
            axes.minorticks_off()
        points = results.points(data)
        axes.set_xticks(points, [f"{point:g}" for point in points])
        axes.set(xlabel=what, ylabel="percent")

    if results.data:
        name = what.split()[-1]
        title = f"{place} of the paper: scores of DALMC against {what}"
        yield Figure(name, title, tuple(results.data), draw)


def _objectives(results: SuiteResults) -> Iterator[Figure]:
    """Objective against iterations."""

    def draw(axes: Any, data: str) -> None:
        for one in results.contenders:
            record = results.done(data, one)
            if record:
                steps, objective = iterations(record), record["objective"]
                axes.plot(steps, objective, marker="o", color=color(one.name))
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set(xlabel="iteration", ylabel="objective")

    if results.data:
        title = "Figure 6 of the paper: objective of DALMC against iterations"
        yield Figure("convergence", title, tuple(results.data), draw)


def _missing_curves(results: SuiteResults, metric: str) -> Iterator[Figure]:
    """A metric against the share of missing entries, with bands of deviation."""

    def draw(axes: Any, data: str) -> None:
        for one, marker in zip(results.contenders, cycle(_MARKERS), strict=False):
            _line(axes, results.curve(data, one), metric, one.header, marker, 100)
        axes.set(xlabel="missing entries in percent", ylabel=f"{metric} in percent")

    if results.data:
        title = f"{metric} against the share of missing entries"
        yield Figure(f"incomplete-{metric.lower()}", title, tuple(results.data), draw)


def _line(
    axes: Any, curve: Sequence[Record], metric: str, label: str, marker: str, unit: float = 1
) -> None:
    """Draw a metric in percent at the points of a curve, with a band of one deviation."""
    x = np.array([unit * record["point"] for record in curve])
    mean, deviation = (
        np.array([100 * record[name] for record in curve])
        for name in (metric, f"{metric}_deviation")
    )
    axes.plot(x, mean, marker=marker, color=color(label), label=label)
    axes.fill_between(x, mean - deviation, mean + deviation, color=color(label), alpha=0.15, lw=0)


def _drawn(figure: Figure) -> Any:
    """Draw all panels, and the legend that they share below them."""
    across = min(len(figure.panels), PANELS_A_ROW)
    down = -(-len(figure.panels) // across)
    size = (PANEL[0] * across, figure.height * down)
    canvas = optional_import("matplotlib.figure", "Figures", "report").Figure(
        size, layout="constrained"
    )
    panels = canvas.subplots(down, across, squeeze=False).ravel()
    for axes, data in zip(panels, figure.panels, strict=False):
        axes.set_title(data)
        figure.draw(axes, data)
    for axes in panels[len(figure.panels) :]:
        axes.set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    if labels:
        columns = min(len(labels), 2 * across)
        canvas.legend(handles, labels, loc="outside lower center", ncols=columns)
    return canvas


@contextmanager
def _style() -> Iterator[None]:
    """Draw in our style whatever the user's own is."""
    style = optional_import("matplotlib.style", "Figures", "report")
    with style.context(["default", _STYLE]):
        yield
