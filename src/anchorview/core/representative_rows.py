"""A sample of the rows that represents all, selected by content and not by position."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import add

import numpy as np

from anchorview._utils.linalg import is_sparse
from anchorview._utils.threads import for_blocks
from anchorview._utils.typing import Array
from anchorview.core.scale import ViewScaling
from anchorview.core.scaled_view import SparseScaledView
from anchorview.views.container import MultiViewData, RowBlock, concatenate_samples, dense_rows
from anchorview.views.row_source import RowSource, selected_rows

MIN_ROWS_PER_VIEW = 200
"""Number of rows that are selected of each view, or all that have it."""

MIN_DISTINCT = 50
"""Minimum number of distinct rows, or rows count as often as they are given."""

DIGITS = 9
"""Digits of norms by which rows are ordered; the others may depend on the order of summation."""


def representative_sample(source: RowSource, count: int) -> MultiViewData:
    """About `count` rows in memory that represent all; all of them if there are not more.

    Which rows these are does not depend on their order. One pass over the source computes a few
    numbers per row, by which rows are selected, and another one fetches the rows. Rows of weight
    zero are left out; if not all others are selected, light rows are selected by their weights, and
    the selected ones then weigh the same.
    """
    weights, rows = source.sample_weight, np.arange(len(source))
    if weights is not None:
        rows = np.flatnonzero(weights)
    selects = len(rows) > count
    if selects:
        keys = np.concatenate(source.reduce(_part_keys, add, "sampling"))[rows]
        known = ~np.isnan(keys[:, 1:])
        available = None if known.all() else known
        order = _order_by_keys(keys)
        ordered_weights = None if weights is None else weights[rows[order]]
        rows = rows[np.sort(representative_rows(order, available, count, ordered_weights))]
    elif not source.in_parts:
        return source.counted().read()
    sample = concatenate_samples(
        *source.reduce(partial(selected_rows, rows), add, "reading the sample")
    )
    if selects and weights is not None:
        sample.sample_weight = np.maximum(weights[rows] * (count / weights.sum()), 1)
    return sample


def _part_keys(part: MultiViewData, scalings: Sequence[ViewScaling] | None = None) -> list[Array]:
    """A projection of each row, and its squared norm in each view: NaN where it lacks the view.

    They are computed in double precision: rounding in single precision depends on the order.
    """
    keys = np.full((len(part), 1 + len(part.views)), np.nan)
    keys[:, 0] = 0

    def work(block: RowBlock) -> None:
        for p in block.views:
            rows, scaling = part.views[p][block.rows], scalings[p] if scalings else ViewScaling()
            scaled: Array | SparseScaledView
            # Values that are too large are reported when the sample is scaled.
            with np.errstate(over="ignore", invalid="ignore"):
                if is_sparse(rows):
                    scaled = SparseScaledView(rows.astype(np.float64), scaling)
                    squares = scaled.squares
                else:
                    scaled = scaling.apply(dense_rows(rows, slice(None)), np.empty(rows.shape))
                    squares = np.einsum("ij,ij->i", scaled, scaled)
                direction = np.random.RandomState(p).standard_normal(rows.shape[1])
                keys[block.rows, 0] += scaled @ direction
            keys[block.rows, 1 + p] = squares

    for_blocks(work, part.stored_blocks(), "sampling")
    return [keys]


def _order_by_keys(keys: Array) -> Array:
    """Order of rows by their norms, in which all views count the same; then by the projection."""
    total = np.zeros(len(keys))
    for squares in keys[:, 1:].T:
        has = ~np.isnan(squares)
        # Summed in ascending order, which does not depend on that of the rows.
        mean = np.sort(squares[has]).mean()
        total[has] += squares[has] / (mean or 1.0)
    return _lexicographic(total, keys[:, 0])


def distinct_by_content(data: MultiViewData, standardized: tuple[ViewScaling, ...]) -> Array:
    """Distinct rows in an order that does not depend on the order in which they are given.

    Samples that are given several times count once, so that their copies are not their neighbors.
    Rows are ordered by the norms of their standardized values, then by a projection. Communities
    depend on it: with the norms of the values as they are, the mean accuracy on 18 data sets was
    .006 lower.
    """
    scalings = [replace(scaling, unit_last=False) for scaling in standardized]
    heights, *by_view = _part_keys(data, scalings)[0].T
    squared_norms = np.nansum(by_view, axis=0)
    order = _lexicographic(squared_norms, heights)
    keys = np.column_stack([squared_norms, heights])[order]
    keys = np.round(keys / np.maximum(np.abs(keys).max(axis=0), np.finfo(float).tiny), DIGITS)
    new = (np.diff(keys, axis=0) != 0).any(axis=1)
    if data.available is not None:
        new |= (data.available[order][1:] != data.available[order][:-1]).any(axis=1)
    distinct = order[np.concatenate([[True], new])]
    return distinct if len(distinct) >= MIN_DISTINCT else order


def _lexicographic(squared_norms: Array, heights: Array) -> Array:
    return np.lexsort((heights, np.round(squared_norms / squared_norms.max(), DIGITS)))


def representative_rows(
    ordered: Array, available: Array | None, count: int, weights: Array | None = None
) -> Array:
    """About `count` of the ordered rows at equal steps, and enough of each view.

    `available` says which views each row has; None if all have all. With `weights` of the ordered
    rows, the steps are of equal weight.
    """
    if weights is None:
        chosen = _at_equal_steps(np.arange(len(ordered)), count)
    else:
        steps = (np.arange(count) + 0.5) / count * weights.sum()
        chosen = np.unique(np.searchsorted(np.cumsum(weights), steps))
    if available is not None:
        having = (np.flatnonzero(column) for column in available[ordered].T)
        by_view = [_at_equal_steps(rows, MIN_ROWS_PER_VIEW) for rows in having]
        chosen = np.unique(np.concatenate([chosen, *by_view]))
    return ordered[chosen]


def _at_equal_steps(rows: Array, count: int) -> Array:
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)]
