"""Charts with matplotlib, for print and for the displays."""

from functools import singledispatch
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorview.plotting.charts import BarChart, LineChart, PointChart
from anchorview.plotting.colors import MARK_COLOR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ("o", "s", "^", "D", "v")

Panel = BarChart | LineChart | PointChart


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
    draw_lines(chart, axes)


def draw_lines(chart: LineChart, axes: Any) -> list[Any]:
    """Draw lines; return them, then those at the marked positions, `marked_x` first."""
    drawn = []
    for line, marker in zip(chart.lines, cycle(MARKERS), strict=False):
        x, y = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float)
        drawn += axes.plot(x, y, marker=marker, color=line.color, label=line.name or None)
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
    if chart.marked_x is not None:
        drawn.append(axes.axvline(chart.marked_x, color=MARK_COLOR, linestyle="dashed", zorder=1))
    for position in chart.also_marked:
        drawn.append(axes.axvline(position, color=MARK_COLOR, linestyle="dotted", zorder=1))
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)
    return drawn


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
