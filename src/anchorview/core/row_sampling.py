"""A sample of rows that does not depend on where the rows are or how they are divided into blocks.

Every row has a pseudo-random key, and rows with small keys are sampled. In double precision keys
are computed from the norms of the rows, so the sample depends neither on the order of the rows nor
on rotations. In single precision, where rounding would change such keys, they are computed from
positions.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from anchorview._utils.typing import Array
from anchorview.core.blockwise_kmeans import EmbeddedRows

CELLS = 2**24
"""Number of intervals per factor of two into which norms are rounded: much finer than the
differences between rows, much coarser than rounding in double precision."""

MARGIN = 1.25
"""Expected number of candidate rows relative to the requested number, so that enough are found."""


class _Sample(NamedTuple):
    """Keys and rows of each block; concatenated once, as samples may be large."""

    keys: list[Array]
    rows: list[Array]

    def merged(self, other: "_Sample") -> "_Sample":
        return _Sample(self.keys + other.keys, self.rows + other.rows)


def sampled_rows(rows: EmbeddedRows, count: int, seed: int) -> Array:
    """About `count` rows, ordered by key."""
    n = rows.shape[0]
    expected = min(MARGIN * count, n)
    for by_length in (True, False):
        sample = rows.reduce(
            partial(_below, share=MARGIN * count / n, n=n, seed=seed, by_length=by_length),
            _Sample.merged,
        )
        # Rows with equal norms have equal keys. If there are many, too many or too few rows would
        # be sampled, or too few distinct ones.
        keys = np.concatenate(sample.keys)
        even = abs(len(keys) - expected) <= 5 * np.sqrt(expected)
        if even and len(np.unique(keys)) >= count / 2:
            break
    order = np.argsort(keys, kind="stable")[:count]
    return np.concatenate(sample.rows)[order]


def _below(
    block: Array, first_row: int, *, share: float, n: int, seed: int, by_length: bool
) -> _Sample:
    if by_length and block.dtype == np.float64:
        squares = n * np.einsum("ij,ij->i", block, block)
        cells = np.floor(np.log2(np.maximum(squares, np.finfo(float).tiny)) * CELLS)
        keys = _mixed(cells.astype(np.int64).view(np.uint64), seed)
    else:
        keys = _mixed(np.arange(first_row, first_row + len(block), dtype=np.uint64), seed)
    small = np.flatnonzero(keys < np.uint64(min(share, 1 - 2**-53) * 2**64))
    # Many copies of one row would all be sampled; the surplus is not needed.
    small = small[: int(MARGIN * share * n)]
    return _Sample([keys[small]], [block[small]])


def _mixed(numbers: Array, seed: int) -> Array:
    """Pseudo-random keys of numbers (the finalizer of splitmix64)."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    keys = (numbers + np.full(1, seed, np.uint64)) * golden
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
