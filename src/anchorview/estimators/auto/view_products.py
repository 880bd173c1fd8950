"""Products of the rows of a view with several maps, for several scalings at once.

A scaling consists of steps on features, a factor of each row, and a center. Maps from rows that
share the first steps are side by side in one matrix; factors and centers come after the product.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from anchorview._utils.linalg import reciprocal, row_squares
from anchorview._utils.threads import ThreadBuffer
from anchorview._utils.typing import Array, Matrix
from anchorview.core.scale import ViewScaling
from anchorview.core.scaled_view import SparseScaledView
from anchorview.views.container import dense_rows
from anchorview.views.low_rank_sum import has_few_entries

_scaled_rows = ThreadBuffer()


@dataclass(frozen=True, eq=False)
class ViewProducts:
    """Products of the rows of a view with maps side by side."""

    first_steps: ViewScaling
    """Steps before rows are divided by their norms."""
    maps: Array
    n_plain: int
    """Number of leading columns for rows as they are; the others are for rows of unit norm."""
    offsets: Array
    """Products of the centers that are subtracted from rows of unit norm."""

    @classmethod
    def of(
        cls, maps: Sequence[tuple[ViewScaling, Array]], dtype: "np.dtype[Any]"
    ) -> "tuple[Self, list[slice]]":
        """Products with maps, each from rows with a scaling, and the columns of each map.

        The scalings share their first steps.
        """
        has_unit_rows = [own.unit_first or own.unit_last for own, _ in maps]
        order = np.argsort(has_unit_rows, kind="stable")
        widths = [W.shape[1] for _, W in maps]
        ends = np.cumsum([0, *(widths[i] for i in order)]).tolist()
        columns = [slice(0)] * len(maps)
        offsets = np.zeros(ends[-1])
        for position, i in enumerate(order):
            columns[i] = slice(ends[position], ends[position + 1])
            scaling, W = maps[i]
            if scaling.unit_first and scaling.center is not None:
                offsets[columns[i]] = scaling.center @ W
        products = cls(
            first_steps(maps[0][0]),
            np.hstack([maps[i][1] for i in order]).astype(dtype),
            ends[len(maps) - sum(has_unit_rows)],
            offsets.astype(dtype),
        )
        return products, columns

    def __call__(self, rows: Matrix) -> Array:
        """Products of some rows of the view, which stay sparse if they have few entries."""
        dtype = self.maps.dtype
        products: Array
        if has_few_entries(rows):
            scaled = SparseScaledView(rows, self.first_steps)
            products = np.asarray(scaled @ self.maps).astype(dtype, copy=False)
            squares = scaled.squares
        else:
            rows = dense_rows(rows, slice(None))
            values = rows.astype(dtype, copy=False)
            if not self.first_steps.keeps_zeros:
                buffer = _scaled_rows.array(rows.shape, dtype)
                values = self.first_steps.apply(rows, buffer)
            products = values @ self.maps
            squares = row_squares(values) if self._has_unit_rows else np.ones(len(values))
        if self._has_unit_rows:
            products[:, self.n_plain :] *= reciprocal(np.sqrt(squares), products)[:, None]
            products -= self.offsets
        return products

    @property
    def _has_unit_rows(self) -> bool:
        return self.n_plain < self.maps.shape[1]


def first_steps(scaling: ViewScaling) -> ViewScaling:
    """Steps of a scaling before rows are divided by their norms."""
    if scaling.unit_first:
        return ViewScaling()
    return replace(scaling, unit_last=False, norm=1.0)


def same_first_steps(a: Sequence[ViewScaling], b: Sequence[ViewScaling]) -> bool:
    """Whether the scalings of all views share their first steps."""
    pairs = zip(map(first_steps, a), map(first_steps, b), strict=True)
    return all(
        _same(one.center, other.center) and _same(one.deviation, other.deviation)
        for one, other in pairs
    )


def _same(a: Array | None, b: Array | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)
