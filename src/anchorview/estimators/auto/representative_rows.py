"""A sample of the rows that represents all, selected by content and not by position."""

from dataclasses import replace

import numpy as np

from anchorview._utils.threads import for_blocks
from anchorview._utils.typing import Array
from anchorview.core.scale import ViewScaling
from anchorview.views.container import MultiViewData, RowBlock, dense_rows

MIN_ROWS_PER_VIEW = 200
"""Number of rows that are selected of each view, or all that have it."""


def order_by_content(data: MultiViewData, standardized: tuple[ViewScaling, ...]) -> Array:
    """Order of the rows that does not depend on the order in which they are given.

    Rows are ordered by the norms of their standardized values, then by a projection; in double
    precision, since rounding in single precision depends on the order.
    """
    scalings = [replace(scaling, unit_last=False) for scaling in standardized]
    random = np.random.RandomState(0)
    directions = [random.standard_normal(d) for d in data.n_features_per_view]
    squared_norms, heights = np.zeros(len(data)), np.zeros(len(data))

    def work(block: RowBlock) -> None:
        for p in block.views:
            rows = dense_rows(data.views[p], block.rows)
            scaled = scalings[p].apply(rows, np.empty(rows.shape))
            squared_norms[block.rows] += np.einsum("ij,ij->i", scaled, scaled)
            heights[block.rows] += scaled @ directions[p]

    for_blocks(work, data.blocks(), "ordering")
    return np.lexsort((heights, np.round(squared_norms / squared_norms.max(), 9)))


def representative_rows(data: MultiViewData, ordered: Array, count: int) -> Array:
    """About `count` of the ordered rows at equal steps, and enough of each view."""
    chosen = _at_equal_steps(np.arange(len(ordered)), count)
    if data.available is not None:
        having = (np.flatnonzero(column) for column in data.available[ordered].T)
        by_view = [_at_equal_steps(rows, MIN_ROWS_PER_VIEW) for rows in having]
        chosen = np.unique(np.concatenate([chosen, *by_view]))
    return ordered[chosen]


def _at_equal_steps(rows: Array, count: int) -> Array:
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)]
