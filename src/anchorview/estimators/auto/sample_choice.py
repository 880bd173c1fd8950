"""Samples that stand for all, chosen by what they hold and not by where they are."""

from dataclasses import replace

import numpy as np

from anchorview._utils.threads import for_blocks
from anchorview._utils.typing import Array
from anchorview.core.scale import ViewScaling
from anchorview.views.container import MultiViewData, RowBlock, dense_rows

RARE = 200
"""Samples that are taken of each view, however few have it."""


def order_by_content(data: MultiViewData, standardized: tuple[ViewScaling, ...]) -> Array:
    """Order of the samples by what they hold, whatever order they come in.

    By the lengths of their standardized rows, then by a fixed direction; in double precision, as
    single would not tell neighbors apart alike in another order.
    """
    plain = [replace(scaling, unit_last=False) for scaling in standardized]
    random = np.random.RandomState(0)
    directions = [random.standard_normal(d) for d in data.n_features_per_view]
    lengths, heights = np.zeros(len(data)), np.zeros(len(data))

    def work(block: RowBlock) -> None:
        for p in block.views:
            rows = dense_rows(data.views[p], block.rows)
            scaled = plain[p].apply(rows, np.empty(rows.shape))
            lengths[block.rows] += np.einsum("ij,ij->i", scaled, scaled)
            heights[block.rows] += scaled @ directions[p]

    for_blocks(work, data.blocks(), "ordering")
    return np.lexsort((heights, np.round(lengths / lengths.max(), 9)))


def spread(data: MultiViewData, rows: Array, count: int) -> Array:
    """Rows evenly from an order, with some of each view that few samples have."""
    chosen = _evenly(np.arange(len(rows)), count)
    if data.available is not None:
        rare = [
            _evenly(np.flatnonzero(data.available[rows, p]), RARE) for p in range(len(data.views))
        ]
        chosen = np.unique(np.concatenate([chosen, *rare]))
    return rows[chosen]


def _evenly(rows: Array, count: int) -> Array:
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)]
