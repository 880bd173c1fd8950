"""Stage 1, scale: the scaling of each view, learned and applied block by block.

==================  =============================================================================
``"zscore-unit"``   standardize columns, then normalize rows to unit norm (the default)
``"unit-center"``   normalize rows to unit norm, then center columns
``"zscore"``        standardize columns
``"unit"``          normalize rows to unit norm
``"none"``          no scaling
==================  =============================================================================

Each view is then divided by its Frobenius norm, which makes ``beta`` independent of the number of
samples and of the units. The norm is known only after a pass over the scaled data, so it is set by
the function that makes that pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import LowRankSum, reciprocal, row_squares
from anchorview._utils.moments import Moments
from anchorview._utils.threads import ThreadBuffer, map_blocks
from anchorview._utils.typing import Array, ExtendedArray, Matrix
from anchorview.views.container import MultiViewData, RowBlock
from anchorview.views.row_source import RowSource

SCALINGS = ("zscore-unit", "unit-center", "zscore", "unit", "none")

CONSTANT_COLUMN = 1e-12
"""A column is constant up to rounding if its deviation is below this share of its mean."""

_contiguous = ThreadBuffer()


@dataclass(frozen=True)
class ViewScaling:
    """Scaling of one view: normalize rows, center, divide by deviations, normalize rows, divide by
    a norm. Steps that are not part of a scaling are False or None."""  # noqa: D209

    unit_first: bool = False
    center: Array | None = None
    deviation: ExtendedArray | None = None
    unit_last: bool = False
    norm: float = 1.0

    @property
    def keeps_zeros(self) -> bool:
        """Whether zeros stay zeros, as rows are only divided by a norm."""
        steps = (self.unit_first, self.center is not None, self.deviation is not None)
        return not any(steps) and not self.unit_last

    def apply(self, block: Array, out: Array) -> Array:
        """Write the scaled `block` into `out`, in the precision of `out`."""
        # Several steps are faster on contiguous rows than on some columns of a wider block.
        values = out
        if self.unit_last and not out.flags.c_contiguous:
            values = _contiguous.array(out.shape, out.dtype)
        factor = self.apply_but_factor(block, values)
        if values is not out or self.unit_last or self.norm != 1:
            np.multiply(values, factor, out=out)
        return out

    def apply_but_factor(self, block: Array, out: Array) -> Any:
        """Write the scaled `block` into `out`, except for a factor of all rows or of each row.

        Returns the factor, which can be applied to a product of the rows instead of the rows.
        """
        if self.unit_first:
            lengths = np.sqrt(row_squares(block))
            np.multiply(block, reciprocal(lengths, out)[:, None], out=out)
            if self.center is not None:
                out -= self.center.astype(out.dtype)
        elif self.center is not None:
            np.subtract(block, self.center.astype(out.dtype), out=out)
        else:
            out[...] = block
        if self.deviation is not None:
            out *= (1 / self.deviation).astype(out.dtype)
        factor = out.dtype.type(1 / self.norm)
        if not self.unit_last:
            return factor
        lengths = np.sqrt(np.einsum("ij,ij->i", out, out))
        return (reciprocal(lengths, out) * factor)[:, None]


def times_roots(rows: Array, weights: Array | None) -> Array:
    """Rows, multiplied in place by the roots of their weights if they have any."""
    if weights is not None:
        rows *= np.sqrt(weights).astype(rows.dtype)[:, None]
    return rows


ViewMoments = dict[int, Moments]
"""Moments by position of the view; views that no sample has are left out."""


def row_moments(rows: Matrix, unit_rows: bool = False, weights: Array | None = None) -> Moments:
    """Moments of some rows, which may have weights, or of these divided by their norms."""
    if isinstance(rows, LowRankSum):
        rows = rows.toarray()
    if unit_rows and sparse.issparse(rows):
        lengths = np.sqrt(np.asarray(rows.astype(np.float64).power(2).sum(axis=1)).ravel())
        rows = sparse.csr_array(sparse.diags_array(reciprocal(lengths, lengths)) @ rows)
    elif unit_rows:
        rows = ViewScaling(unit_first=True).apply(rows, np.empty(rows.shape))
    return Moments.of(rows, weights)


def view_moments(data: MultiViewData, method: str) -> ViewMoments:
    """Moments from which a scaling is computed, in one pass over the blocks."""
    unit_first = method == "unit-center"

    def work(block: RowBlock) -> ViewMoments:
        rows, weights = block.rows, block.weights
        return {p: row_moments(data.views[p][rows], unit_first, weights) for p in block.views}

    moments: ViewMoments = {}
    for _, parts in map_blocks(work, data.stored_blocks(), "scaling"):
        moments = merged_by_key(moments, parts)
    return moments


def merged_by_key(a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
    """Sums of both sets of samples, by view, batch or group; some may be in one set only."""
    return a | {key: a[key].merged(part) if key in a else part for key, part in b.items()}


def fit_scalings(
    parts: RowSource, method: str, known: ViewMoments | None = None
) -> tuple[ViewScaling, ...]:
    """Learn the scaling of every view, in one pass unless the moments of the rows are `known`."""
    if method not in ("unit", "none") and (known is None or method == "unit-center"):
        known = parts.reduce(partial(view_moments, method=method), merged_by_key, "scaling")
    return scalings_of(parts, method, known or {}, parts.dtype)


def scalings_of(
    data: RowSource, method: str, moments: ViewMoments, dtype: "np.dtype[Any]"
) -> tuple[ViewScaling, ...]:
    """Scaling of every view, by the moments of rows: of normalized ones for "unit-center"."""
    if method in ("unit", "none"):
        return tuple(ViewScaling(unit_first=method == "unit") for _ in data.names)
    totals = [moments[p] for p in range(len(data.names))]
    for p, total in enumerate(totals):
        if not np.isfinite(total.squares).all():
            raise ValueError(data.problem("overflow", p))
    if method == "unit-center":
        return tuple(ViewScaling(unit_first=True, center=total.mean) for total in totals)
    unit_last = method == "zscore-unit"
    return tuple(
        ViewScaling(center=total.mean, deviation=deviation(*total, dtype), unit_last=unit_last)
        for total in totals
    )


def deviation(size: float, mean: Array, squares: Array, dtype: "np.dtype[Any]") -> Array:
    """Standard deviation of columns; infinite for constant ones, which thus become zero.

    A column also counts as constant if `dtype` cannot represent the reciprocal of its deviation.
    """
    spread = np.sqrt(squares / size)
    smallest = 1 / float(np.finfo(dtype).max)
    spread[spread <= np.maximum(CONSTANT_COLUMN * np.abs(mean), smallest)] = np.inf
    return spread


def with_unit_norms(
    data: RowSource,
    scalings: tuple[ViewScaling, ...],
    squared_norms: Sequence[float],
    *,
    unit_norm: bool = True,
) -> tuple[ViewScaling, ...]:
    """The scalings, with norms of the views if `unit_norm`; raises if one is zero or overflows."""
    for p, (scaling, square) in enumerate(zip(scalings, squared_norms, strict=True)):
        if not np.isfinite(square):
            raise ValueError(data.problem("overflow", p))
        # Equal rows of unit norm leave nothing but rounding when they are centered.
        centered = scaling.unit_first and scaling.center is not None
        rounding = (8 * np.finfo(data.dtype).eps) ** 2 * data.total_weight if centered else 0
        if square <= rounding:
            raise ValueError(data.problem("zero", p))
    if not unit_norm:
        return scalings
    norms = np.sqrt(squared_norms).tolist()
    return tuple(replace(old, norm=norm) for old, norm in zip(scalings, norms, strict=True))
