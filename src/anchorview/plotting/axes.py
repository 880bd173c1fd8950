"""Displays: their base class, colors, axes with names and numbers, and charts as SVG."""

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, dataclass_transform

import numpy as np

from anchorview._utils.docstring_fragments import docstring_filler
from anchorview._utils.errors import optional_import
from anchorview._utils.text import shorten
from anchorview._utils.typing import Array
from anchorview.estimators.methods import REGISTRY

AX = """\
ax : matplotlib Axes, default=None
    Axes to draw on; if None, new ones."""

RETURNS = """\

Returns
-------
display : Self"""

EXAMPLE = """\
Examples
--------
>>> from anchorview import {model}, make_multiview
>>> from anchorview.plotting import {class}
>>> views, _ = make_multiview(150, n_clusters=3, random_state=0)
>>> model = {model}(n_clusters=3, {budget}random_state=0).fit(views)
>>> display = {class}.from_estimator(model)"""

FRAGMENTS = {
    "ax": AX,
    "axes": """\
ax_ : matplotlib Axes
    Axes that were drawn on.
figure_ : matplotlib Figure
    Figure of the axes.""",
    "drawing": f"{AX}\n**plot_kw : dict\n    Other parameters of :meth:`plot`.\n{RETURNS}",
    "on_axes": f"Parameters\n----------\n{AX}",
    "returns": RETURNS,
    "example": EXAMPLE.replace("{model}", "DALMC").replace("{budget}", ""),
    "auto_example": EXAMPLE.replace("{model}", "AutoDALMC").replace("{budget}", 'budget="fast", '),
}


@dataclass_transform(eq_default=False)
class Display:
    """Base class: annotated attributes are parameters, and docstrings have what all share."""

    def __init_subclass__(cls) -> None:
        fill = docstring_filler(FRAGMENTS)
        dataclass(eq=False, repr=False)(cls)
        for member in (cls, *vars(cls).values()):
            documented = getattr(member, "__func__", member)
            if callable(documented):
                fill(documented)

    def _on(self, ax: Any, width: float, height: float) -> Any:
        """Axes to draw on, which become its attributes."""
        self.ax_ = axes_or_new(ax, width, height)
        self.figure_ = self.ax_.figure
        return self.ax_


MIN_FONT_SIZE = 6.0
"""Smallest size of names on axes, in points; if they need more space, some are left out."""

LINE_HEIGHT, CHARACTER_WIDTH = 1.3, 0.65
"""Space of a line of text and mean width of a character, in units of the font size."""

COLOR_BAR_HEIGHT = 4.0
"""Maximum height of color bars in inches."""

NAME_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

FILE_STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"],
    # Dollar signs in names do not start formulas.
    "text.parse_math": False,
    "axes.formatter.useoffset": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    # Text stays text, and equal figures are equal files.
    "svg.fonttype": "none",
    "svg.hashsalt": "anchorview",
}
"""Style of figures in files, in place of the user's style."""


def svg_of(draw: Callable[[Any], object]) -> str:
    """Chart that a function draws on an empty figure, such as the method `plot` of a display."""
    matplotlib = optional_import("matplotlib", "Charts", "report")
    figures = optional_import("matplotlib.figure", "Charts", "report")
    stream = io.StringIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(FILE_STYLE)
        # Readers may have the letters that the font of matplotlib lacks.
        warnings.filterwarnings("ignore", "Glyph")
        figure = figures.Figure(layout="constrained")
        draw(figure)
        without_date = dict.fromkeys(("Date", "Creator"))
        figure.savefig(stream, format="svg", transparent=True, metadata=without_date)
    return stream.getvalue()


def axes_or_new(ax: Any, width: float, height: float) -> Any:
    """Return the given axes, those of an empty figure, or new ones; with a size in inches."""
    if hasattr(ax, "set_size_inches"):
        ax.set_size_inches(width, height)
        return ax.add_subplot()
    pyplot = optional_import("matplotlib.pyplot", "Displays", "report")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    return ax


def font_size(factor: float = 1.0) -> float:
    """User's font size in points, times a factor."""
    return factor * float(optional_import("matplotlib", "Displays", "report").rcParams["font.size"])


def arrange(ax: Any) -> None:
    """Give axes the size that remains beside names, legends and color bars drawn so far."""
    ax.figure.canvas.figure.draw_without_rendering()


def size_in_points(ax: Any) -> tuple[float, float]:
    """Width and height of axes in points."""
    root, box = ax.figure.canvas.figure, ax.get_window_extent()
    return float(box.width) * 72 / root.dpi, float(box.height) * 72 / root.dpi


def name_rows(ax: Any, names: Sequence[object]) -> None:
    """Write the names of rows 0, 1, ... beside the y axis, as many as there is space for."""
    arrange(ax)
    size, step = _fitting_lines(size_in_points(ax)[1] / max(len(names), 1))
    _set_names(ax.yaxis, names, step, fontsize=size)


def name_columns(ax: Any, names: Sequence[object]) -> None:
    """Write names of columns below the x axis, upright if they do not fit and are no counts."""
    arrange(ax)
    space, size = size_in_points(ax)[0] / max(len(names), 1), font_size(0.9)
    longest = max((len(shorten(name)) for name in names), default=1)
    width = (longest + 1) * CHARACTER_WIDTH * size
    if width <= space or list(names) == list(range(len(names))):
        _set_names(ax.xaxis, names, _step(width / space), fontsize=size)
    else:
        size, step = _fitting_lines(space)
        _set_names(ax.xaxis, names, step, fontsize=size, rotation=90)


def add_color_bar(ax: Any, mappable: Any, label: str, **options: Any) -> Any:
    """Add a color bar to the right of axes, at their top and not higher than is useful."""
    shrink = min(1.0, 72 * COLOR_BAR_HEIGHT / size_in_points(ax)[1])
    bar = ax.figure.colorbar(
        mappable, ax=ax, pad=0.02, shrink=shrink, aspect=20, anchor=(0, 1), **options
    )
    bar.set_label(shorten(label), parse_math=False)
    return bar


def write_numbers(image: Any, texts: Array, **text_kw: Any) -> Array | None:
    """Write texts in the cells of an image, if they fit; empty ones are left out."""
    longest = max(map(len, texts.ravel()))
    width, height = np.array(size_in_points(image.axes)) / texts.shape[::-1]
    fitting = min(width / ((longest + 0.5) * CHARACTER_WIDTH), height / LINE_HEIGHT)
    if not longest or fitting < MIN_FONT_SIZE:
        return None
    style = {"ha": "center", "va": "center", "fontsize": min(fitting, font_size(0.9)), **text_kw}
    drawn = np.full(texts.shape, None, dtype=object)
    luminance = image.to_rgba(image.get_array())[..., :3] @ (0.299, 0.587, 0.114)
    for row, column in zip(*np.nonzero(texts != ""), strict=True):
        color = "black" if luminance[row, column] > 0.55 else "white"
        drawn[row, column] = image.axes.text(
            column, row, texts[row, column], **{"color": color, **style}
        )
    return drawn


def _fitting_lines(space: float) -> tuple[float, int]:
    """Font size of lines with a space of some points each, and every how many are written."""
    size = float(np.clip(space / LINE_HEIGHT, MIN_FONT_SIZE, font_size(0.9)))
    return size, _step(size * LINE_HEIGHT / space)


def _step(needed: float) -> int:
    """Smallest step by which people count that is not below a number."""
    return next((step for step in NAME_STEPS if step >= needed - 1e-9), NAME_STEPS[-1])


def _set_names(axis: Any, names: Sequence[object], step: int, **text: Any) -> None:
    shown = range(0, len(names), step)
    # Dollar signs in names do not start formulas.
    axis.set_ticks(shown, [shorten(names[i]) for i in shown], parse_math=False, **text)


# fmt: off
CLUSTER_COLORS = (
    "#0078b4", "#f0a800", "#b43000", "#cca8fc", "#60a89c", "#c07824", "#7884fc",
    "#84486c", "#60cc84", "#b4606c", "#6c90c0", "#2454c0", "#186c30", "#84c0c0",
    "#90a860", "#b44890", "#903090", "#486cd8", "#f08424", "#909ce4",
)
# fmt: on
"""Greedy choice: each color is as far as possible from those before it, for normal vision,
protanopia and deuteranopia, among colors that contrast with both white and black."""

MAIN_COLOR, MARK_COLOR = CLUSTER_COLORS[0], CLUSTER_COLORS[2]
"""Colors of a single series and of a marked position."""

OTHER_COLOR, OWN_COLOR, MISSING_COLOR = "#7F7F7F", "#D6409F", "#C8C8C8"
"""Colors of agreement by chance, of methods without one in :data:`SERIES_COLORS`, and of samples
without a value."""

SERIES_COLORS = {
    **{method.display_name: method.color for method in REGISTRY},
    "ablation-1": "#CC79A7",
    "ablation-2": "#6E8B3D",
    "ACC": "#0072B2",
    "NMI": "#D55E00",
    "F1": "#009E73",
    "Purity": "#AA4499",
    "ARI": "#8F7A00",
}
"""Colors of methods and metrics. Names, markers or dash patterns also distinguish them."""

SHARE_COLORS = ("#e9eef4", "#004a7c")
"""Colors of the shares 0 and 1 in heat maps."""


def cluster_color(cluster: int) -> str:
    """Return the color of a cluster; colors repeat if there are more clusters than colors."""
    return CLUSTER_COLORS[cluster % len(CLUSTER_COLORS)]


def spread_colors(centers: Array) -> list[str]:
    """Return colors of clusters with centers on a map; those that share a color are far apart."""
    n_colors = len(CLUSTER_COLORS)
    choices = np.arange(len(centers)) % n_colors
    for cluster in range(n_colors, len(centers)):
        distances = np.linalg.norm(centers[:cluster] - centers[cluster], axis=1)
        nearest = np.full(n_colors, np.inf)
        np.fmin.at(nearest, choices[:cluster], distances)
        choices[cluster] = nearest.argmax()
    return [CLUSTER_COLORS[choice] for choice in choices]


def series_color(name: str) -> str:
    """Return the color of a method or metric; oracle results have the color of their method."""
    return SERIES_COLORS.get(
        name.removesuffix(" (oracle)").removesuffix(" (as published, oracle)"), OWN_COLOR
    )
