"""Interactive charts with bokeh, for pages.

Only colors that carry meaning are set here. Those of text, axes and grids follow the theme of the
page, light or dark, and are set by its script.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anchorview._utils.errors import optional_import
from anchorview._utils.text import MAX_NAME_LENGTH, shorten
from anchorview._utils.typing import Array
from anchorview.plotting import colors
from anchorview.plotting.colors import MAIN_COLOR, MARK_COLOR
from anchorview.plotting.curve_displays import LineChart

BokehModel = Any
"""A figure of bokeh or a part of one; bokeh is optional, and figures are as wide as the page."""

MAX_NUMBERED_COLUMNS = 14
"""Maximum number of columns of a heat map whose cells show their values."""

BAR_HEIGHT = 26
CELL_HEIGHT = 24
FONT = "system-ui, sans-serif"
DASH_PATTERNS = ("solid", "dashed", "dotted", "dotdash", "dashdot")


def axis_names(names: Sequence[object]) -> list[str]:
    """Shorten names and make them unique and not empty, as categorical axes require."""
    unique: list[str] = []
    for name in names:
        text = shorten(name) or "(no name)"
        while text in unique:
            text += "\u200b"
        unique.append(text)
    return unique


def bar_chart(
    names: Sequence[object],
    lengths: Sequence[float] | Array,
    x_label: str,
    x_max: float | None = None,
    number_format: str = "0.000",
) -> BokehModel:
    """Horizontal bars, the first at the top; the longest ends a little before the axis by default.

    The numbers in tooltips have a format in bokeh's syntax.
    """
    names, values = axis_names(names), np.asarray(lengths, dtype=float)
    x_min = 1.05 * min(0.0, float(np.nanmin(values, initial=0.0)))
    if x_max is None:
        x_max = 1.05 * float(np.nanmax(values, initial=0.0)) or 1.0
    height = 60 + BAR_HEIGHT * len(names)
    figure = _empty_figure(height, y_range=names[::-1], x_range=(x_min, x_max))
    source, style = _source(name=names, value=values), {"color": MAIN_COLOR, "line_color": None}
    bars = figure.hbar(y="name", right="value", height=0.7, source=source, **style)
    figure.xaxis.axis_label = x_label
    figure.ygrid.visible = False
    figure.yaxis.major_tick_line_alpha = 0
    figure.y_range.range_padding = 0.02
    tooltips = {"": "@name", x_label: f"@value{{{number_format}}}"}
    _add_hover(figure, tooltips, [bars])
    return figure


def line_chart(chart: LineChart) -> BokehModel:
    """Lines over a common x axis."""
    figure = _empty_figure(300, x_axis_type="log" if chart.log_x else "linear")
    figure.xaxis.axis_label, figure.yaxis.axis_label = chart.x_label, chart.y_label
    markers = []
    tooltips = {chart.x_label: "@x{0.[0000]}", chart.y_label: "@y{0.[000000]}"}
    for number, line in enumerate(chart.lines):
        name, y = shorten(line.name), np.asarray(line.y, dtype=float)
        source = _source(x=np.asarray(line.x, dtype=float), y=y, name=[name] * len(y))
        style = {"color": line.color, "source": source}
        if name:
            style["legend_label"] = name
            tooltips = {"": "@name", **tooltips}
        dash = DASH_PATTERNS[number % len(DASH_PATTERNS)]
        figure.line("x", "y", line_width=2, line_dash=dash, **style)
        markers.append(figure.scatter("x", "y", size=7, **style))
    _add_hover(figure, tooltips, markers)
    marked = [] if chart.marked_x is None else [(chart.marked_x, "dashed")]
    for x, dash in [*marked, *((x, "dotted") for x in chart.also_marked)]:
        style = {"line_color": MARK_COLOR, "line_dash": dash}
        figure.add_layout(_models().Span(location=x, dimension="height", **style))
    if chart.x_ticks is not None:
        figure.xaxis.ticker = _models().FixedTicker(ticks=list(chart.x_ticks))
        figure.xaxis.major_label_overrides = {tick: f"{tick:g}" for tick in chart.x_ticks}
    elif all(float(x).is_integer() for line in chart.lines for x in line.x):
        figure.xaxis.ticker.min_interval = 1
    if figure.legend:
        figure.height += 20
        figure.legend[0].update(
            orientation="horizontal",
            location="center",
            click_policy="hide",
            border_line_alpha=0,
            label_text_font=FONT,
            background_fill_alpha=0.8,
        )
        figure.add_layout(figure.legend[0], "below")
    return figure


def heat_map(
    matrix: Array,
    row_names: Sequence[object],
    column_names: Sequence[object],
    value_label: str,
    row_label: str,
    column_label: str,
) -> BokehModel:
    """Matrix of values between 0 and 1, the first row at the top.

    Axes are labeled only if the labels of rows and columns differ.
    """
    rows, columns = axis_names(row_names), axis_names(column_names)
    figure = _empty_figure(
        110 + CELL_HEIGHT * len(rows), x_range=columns, y_range=rows[::-1], x_axis_location="above"
    )
    i, j = (index.ravel() for index in np.indices(matrix.shape))
    values = np.asarray(matrix, dtype=float).ravel()
    source = _source(
        x=[columns[column] for column in j],
        y=[rows[row] for row in i],
        value=values,
        text=["" if np.isnan(value) else f"{value:.2f}" for value in values],
        # Colors of the text in each theme of the page.
        light=["#ffffff" if value > 0.5 else "#1c2430" for value in values],
        dark=["#12161c" if value > 0.5 else "#e8ecf1" for value in values],
    )
    light, dark = colors.heat_map_palette(), colors.heat_map_palette(dark=True)
    mapper = _models().LinearColorMapper(
        palette=light, low=0, high=1, nan_color="rgba(0, 0, 0, 0)", tags=[light, dark]
    )
    cells = figure.rect(
        "x",
        "y",
        width=0.96,
        height=0.94,
        fill_color={"field": "value", "transform": mapper},
        line_color=None,
        source=source,
    )
    if len(columns) <= MAX_NUMBERED_COLUMNS:
        numbers = figure.text(
            "x",
            "y",
            text="text",
            text_color="light",
            text_align="center",
            text_baseline="middle",
            text_font_size="12px",
            text_font={"value": FONT},
            source=source,
        )
        # The page's script sets this color by the theme, and hides the numbers of narrow cells.
        numbers.glyph.tags = ["by theme"]
        numbers.tags = ["numbers", len(columns)]
    figure.grid.visible = False
    figure.axis.axis_line_alpha = figure.axis.major_tick_line_alpha = 0
    tooltips = {row_label: "@y", column_label: "@x"}
    if row_label == column_label:
        tooltips = {row_label: "@y, @x"}
    else:
        figure.xaxis.axis_label, figure.yaxis.axis_label = column_label, row_label
    longest = max(map(len, columns))
    if longest * len(columns) > 60:
        figure.xaxis.major_label_orientation = 0.9
        figure.xaxis.tags = ["labels", len(columns)]  # hidden by the script if they overlap
        figure.height += int(5.5 * min(longest, MAX_NAME_LENGTH))
    _add_hover(figure, {**tooltips, value_label: "@value{0.000}"}, [cells])
    return figure


def _models() -> Any:
    return optional_import("bokeh.models", "Reports", "report")


def _source(**columns: Any) -> BokehModel:
    return _models().ColumnDataSource(columns)


def _empty_figure(height: int, **options: Any) -> BokehModel:
    figure = optional_import("bokeh.plotting", "Reports", "report").figure(
        height=height,
        sizing_mode="stretch_width",
        tools="",
        toolbar_location=None,
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_alpha=0,
        **options,
    )
    for axis in figure.axis:
        axis.minor_tick_line_alpha = 0
        axis.major_label_text_font_size = axis.axis_label_text_font_size = "13px"
        axis.axis_label_text_font_style = "normal"
        axis.major_label_text_font = axis.axis_label_text_font = FONT
    figure.grid.grid_line_alpha = 0.7
    return figure


def _add_hover(
    figure: BokehModel, tooltips: Mapping[str, str], renderers: Sequence[BokehModel]
) -> None:
    """Show tooltips, a mapping of names to values such as ``@column``."""
    hover = _models().HoverTool(tooltips=list(tooltips.items()), renderers=list(renderers))
    figure.add_tools(hover)
