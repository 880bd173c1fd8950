"""Descriptions of charts: what they show, independent of the library that draws them.

Pages draw them with bokeh (:mod:`anchorview.report.bokeh_charts`), displays and figures for print
draw lines with matplotlib (:func:`anchorview.plotting.curve_displays.draw_lines`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from anchorview._utils.typing import Array
from anchorview.plotting.colors import MAIN_COLOR

MIN_TICK_RATIO = 1.3
"""Minimum ratio of neighboring ticks of a logarithmic axis, so that their labels do not overlap."""


@dataclass(frozen=True, eq=False)
class BarChart:
    """Horizontal bars, the first at the top."""

    names: Sequence[object]
    values: Sequence[float] | Array
    """Lengths of the bars; NaN if there is none."""
    x_label: str
    x_max: float | None = None
    """End of the axis; by default a little more than the longest bar."""
    number_format: str = "0.000"
    """Format of values in tooltips, in bokeh's syntax."""


@dataclass(frozen=True, eq=False)
class Line:
    """A line with markers."""

    x: Sequence[float]
    y: Sequence[float]
    name: str = ""
    """Name in the legend; a line without a name is not in it."""
    deviations: Sequence[float] | None = None
    """Half heights of the band around the line."""
    color: str = MAIN_COLOR


@dataclass(frozen=True, eq=False)
class LineChart:
    """Lines over a common x axis."""

    lines: Sequence[Line]
    x_label: str
    y_label: str
    x_ticks: Sequence[float] | None = None
    log_x: bool = False
    marked_x: float | None = None
    """Position of a dashed vertical line."""
    also_marked: Sequence[float] = ()
    """Positions of dotted vertical lines."""


@dataclass(frozen=True, eq=False)
class HeatMap:
    """A matrix of values between 0 and 1, the first row at the top."""

    values: Array
    rows: Sequence[object]
    columns: Sequence[object]
    value_label: str
    row_label: str
    column_label: str
    """Axes are labeled only if this differs from `row_label`."""


def number_ticks(numbers: Sequence[int], marked: Sequence[int]) -> list[int]:
    """Ticks of a logarithmic axis of numbers of clusters: the marked ones, first, and doublings."""
    ticks: list[int] = []
    doublings = [2**power for power in range(1, 20) if min(numbers) <= 2**power <= max(numbers)]
    for number in (*marked, *doublings):
        if all(max(number, tick) >= MIN_TICK_RATIO * min(number, tick) for tick in ticks):
            ticks.append(number)
    return sorted(ticks)


ChartDescription = BarChart | LineChart | HeatMap
