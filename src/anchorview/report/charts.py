"""Charts in the style of the reports: calm, transparent, in the colors of the page.

Text, axes and grids get their colors from the page, which may be light or dark, when they are
drawn; only what carries meaning has a color of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anchorview._utils.optional_imports import optional_import
from anchorview._utils.typing import Array
from anchorview.report.colors import CLUSTERS, MAIN, scale

LONGEST_NAME = 28
"""Letters of a name on an axis."""

BAR_HEIGHT = 26
CELL_HEIGHT = 24


def plotting() -> Any:
    """Return bokeh's module of figures."""
    return optional_import("bokeh.plotting", "Reports", "report")


def models() -> Any:
    """Return bokeh's module of parts of figures."""
    return optional_import("bokeh.models", "Reports", "report")


def short(name: Any, longest: int = LONGEST_NAME) -> str:
    """Text of a name, with its middle left out if it is long."""
    text = " ".join(str(name).split())
    if len(text) > longest:
        half = (longest - 1) // 2
        text = f"{text[:half]}…{text[-half:]}"
    return text


def axis_names(names: Sequence[Any]) -> list[str]:
    """Names as an axis takes them: short, none empty, none twice."""
    found: list[str] = []
    for name in names:
        text = short(name) or "(no name)"
        while text in found:
            text += "\u200b"
        found.append(text)
    return found


def blank(height: int, *, tools: str = "", **options: Any) -> Any:
    """Return an empty figure as wide as the page."""
    figure = plotting().figure(
        height=height,
        sizing_mode="stretch_width",
        tools=tools,
        toolbar_location="above" if tools else None,
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_alpha=0,
        **options,
    )
    figure.toolbar.logo = None
    for axis in figure.axis:
        axis.minor_tick_line_alpha = 0
        axis.major_label_text_font_size = "13px"
        axis.axis_label_text_font_size = "13px"
        axis.axis_label_text_font_style = "normal"
        axis.major_label_text_font = axis.axis_label_text_font = "system-ui, sans-serif"
    figure.grid.grid_line_alpha = 0.7
    return figure


def add_hover(
    figure: Any, tooltips: Mapping[str, str], renderers: Sequence[Any], **how: Any
) -> Any:
    """Show values under the pointer: what each is called, and ``@column`` for the value."""
    hover = models().HoverTool(tooltips=list(tooltips.items()), renderers=list(renderers), **how)
    figure.add_tools(hover)
    return hover


def bars(
    names: Sequence[Any],
    values: Array,
    label: str,
    *,
    colors: Sequence[str] | None = None,
    top: float | None = None,
    form: str = "0.000",
) -> Any:
    """Return horizontal bars, the first on top.

    Parameters
    ----------
    names : sequence
        One a bar.
    values : array
        Their lengths; NaN leaves a bar out.
    label : str
        What is measured.
    colors : sequence of str, optional
        One a bar.
    top : float, optional
        End of the axis; by default what the longest bar needs.
    form : str
        How bokeh writes a value.
    """
    shown = axis_names(names)
    least = min(0.0, float(np.nanmin(values, initial=0.0)))
    longest = float(np.nanmax(values, initial=0.0))
    most = top if top is not None else 1.05 * longest or 1.0
    figure = blank(60 + BAR_HEIGHT * len(shown), y_range=shown[::-1], x_range=(1.05 * least, most))
    source = models().ColumnDataSource(
        {
            "name": shown,
            "value": np.asarray(values, dtype=float),
            "color": list(colors or [MAIN] * len(shown)),
        }
    )
    drawn = figure.hbar(
        y="name", right="value", height=0.7, fill_color="color", line_color=None, source=source
    )
    figure.xaxis.axis_label = label
    figure.ygrid.visible = False
    figure.yaxis.major_tick_line_alpha = 0
    figure.y_range.range_padding = 0.02
    add_hover(figure, {"": "@name", label: f"@value{{{form}}}"}, [drawn])
    return figure


def heat_map(
    matrix: Array,
    rows: Sequence[Any],
    columns: Sequence[Any],
    *,
    value: str,
    row: str,
    column: str,
    low: float = 0.0,
    high: float = 1.0,
) -> Any:
    """Return a heat map, the first row on top; `value`, `row` and `column` say what they are.

    Where rows and columns are the same things, they are not named on the axes.
    """
    row_names, column_names = axis_names(rows), axis_names(columns)
    figure = blank(
        110 + CELL_HEIGHT * len(row_names),
        x_range=column_names,
        y_range=row_names[::-1],
        x_axis_location="above",
    )
    values = np.asarray(matrix, dtype=float)
    r, c = np.indices(values.shape)
    source = models().ColumnDataSource(
        {
            "row": [row_names[i] for i in r.ravel()],
            "column": [column_names[i] for i in c.ravel()],
            "value": values.ravel(),
            "text": ["" if np.isnan(v) else f"{v:.2f}" for v in values.ravel()],
            "ink": ["#ffffff" if v > (low + high) / 2 else "#1c2430" for v in values.ravel()],
        }
    )
    mapper = models().LinearColorMapper(
        palette=scale(), low=low, high=high, nan_color="rgba(0, 0, 0, 0)"
    )
    cells = figure.rect(
        x="column",
        y="row",
        width=0.96,
        height=0.94,
        fill_color={"field": "value", "transform": mapper},
        line_color=None,
        source=source,
    )
    if values.shape[1] <= 14:
        numbers = figure.text(
            x="column",
            y="row",
            text="text",
            text_color="ink",
            text_align="center",
            text_baseline="middle",
            text_font_size="12px",
            text_font={"value": "system-ui, sans-serif"},
            source=source,
        )
        # Their color fits the cell, not the page, which hides them where cells are narrow.
        numbers.glyph.tags = ["own color"]
        numbers.tags = ["numbers", values.shape[1]]
    figure.grid.visible = False
    figure.axis.axis_line_alpha = 0
    figure.axis.major_tick_line_alpha = 0
    tooltips = {row: "@row", column: "@column"}
    if row == column:
        tooltips = {row: "@row, @column"}
    else:
        figure.xaxis.axis_label, figure.yaxis.axis_label = column, row
    longest = max(len(name) for name in column_names)
    if longest * len(column_names) > 60:
        figure.xaxis.major_label_orientation = 0.9
        figure.height += int(5.5 * min(longest, LONGEST_NAME))
    add_hover(figure, {**tooltips, value: "@value{0.000}"}, [cells])
    return figure


def curves(
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    x_label: str,
    y_label: str,
    *,
    marked: float | None = None,
    height: int = 300,
) -> Any:
    """Return lines over the same numbers; a place on the x axis may be marked."""
    figure = blank(height)
    drawn = []
    for number, (name, values) in enumerate(lines.items()):
        color = CLUSTERS[number % len(CLUSTERS)]
        source = models().ColumnDataSource(
            {
                "x": np.asarray(x, dtype=float),
                "y": np.asarray(values, dtype=float),
                "line": [short(name)] * len(x),
            }
        )
        legend = {"legend_label": short(name)} if len(lines) > 1 else {}
        figure.line("x", "y", color=color, line_width=2, source=source, **legend)
        drawn.append(figure.scatter("x", "y", color=color, size=7, source=source, **legend))
    if marked is not None:
        figure.add_layout(
            models().Span(
                location=marked, dimension="height", line_color=CLUSTERS[2], line_dash="dashed"
            )
        )
    figure.xaxis.axis_label, figure.yaxis.axis_label = x_label, y_label
    if all(float(place).is_integer() for place in x):
        figure.xaxis.ticker.min_interval = 1
    named = {"": "@line"} if len(lines) > 1 else {}
    add_hover(figure, {**named, x_label: "@x{0.[0000]}", y_label: "@y{0.[0000]}"}, drawn)
    if len(lines) > 1:
        (legend,) = figure.legend
        legend.click_policy = "hide"
        legend.orientation, legend.ncols = "horizontal", 3
        legend.border_line_alpha = legend.background_fill_alpha = 0
        legend.label_text_font = "system-ui, sans-serif"
        figure.add_layout(legend, "above")
    return figure


def iteration_numbers(count: int, n_iter: float) -> list[int]:
    """Numbers of the iterations that so many values of an objective are of.

    Some methods record the start too, which has the number 0.
    """
    first = 0 if count == n_iter + 1 else 1
    return list(range(first, first + count))
