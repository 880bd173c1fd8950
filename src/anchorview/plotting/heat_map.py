"""Heat maps with named rows and columns, and numbers in their cells."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anchorview._utils.typing import Array
from anchorview.plotting.axes import (
    CHARACTER_WIDTH,
    LINE_HEIGHT,
    MIN_FONT_SIZE,
    font_size,
    name_columns,
    name_rows,
    size_in_points,
)


def draw_heat_map(
    ax: Any, values: Array, rows: Sequence[object], columns: Sequence[object], **image_kw: Any
) -> Any:
    """Draw a matrix, the first row at the top; return the image."""
    image = ax.imshow(values, aspect="auto", interpolation="nearest", **image_kw)
    name_rows(ax, rows)
    name_columns(ax, columns)
    ax.grid(visible=False)
    return image


def write_numbers(ax: Any, image: Any, texts: Array, **text_kw: Any) -> Array | None:
    """Write texts in the cells of a heat map, if they fit; empty ones are left out."""
    longest = max(map(len, texts.ravel()))
    width, height = np.array(size_in_points(ax)) / texts.shape[::-1]
    fitting = min(width / ((longest + 1) * CHARACTER_WIDTH), height / LINE_HEIGHT)
    if fitting < MIN_FONT_SIZE:
        return None
    style = {"ha": "center", "va": "center", "fontsize": min(fitting, font_size(0.9)), **text_kw}
    drawn = np.full(texts.shape, None, dtype=object)
    # Dark text on light cells and light text on dark ones, by their luminance.
    luminance = image.to_rgba(image.get_array())[..., :3] @ (0.299, 0.587, 0.114)
    for row, column in zip(*np.nonzero(texts), strict=True):
        color = "black" if luminance[row, column] > 0.55 else "white"
        drawn[row, column] = ax.text(column, row, texts[row, column], **{"color": color, **style})
    return drawn
