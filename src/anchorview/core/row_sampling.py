"""A sample of rows that is the same wherever the rows are, and in whatever blocks they come.

Every row has a key, and rows with small keys are taken. In double precision keys come from the
rows' lengths, so neither the order of the rows nor a rotation changes the sample. In single
precision rounding would, so there keys come from the rows' positions.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from anchorview._utils.typing import Array
from anchorview.core.embedded_rows import EmbeddedRows

CELLS = 2**24
"""Lengths within a factor of two are told apart to this many steps: much finer than the rows are
apart, much coarser than rounding in double precision."""

MARGIN = 1.25
"""How many times the wanted number of rows are looked at, so that enough are found."""


class _Found(NamedTuple):
    keys: Array
    rows: Array

    def merged(self, other: "_Found") -> "_Found":
        keys = np.concatenate([self.keys, other.keys])
        return _Found(keys, np.concatenate([self.rows, other.rows]))


def sampled_rows(rows: EmbeddedRows, count: int, seed: int) -> Array:
    """About `count` rows, in an order of their own."""
    n = rows.shape[0]
    expected = min(MARGIN * count, n)
    for by_length in (True, False):
        found = rows.reduce(
            partial(_below, share=MARGIN * count / n, n=n, seed=seed, by_length=by_length),
            _Found.merged,
        )
        # Rows of one length are taken or left together: where many are equal, that would be too
        # many or too few rows, or few lengths would stand for all.
        even = abs(len(found.keys) - expected) <= 5 * np.sqrt(expected)
        if even and len(np.unique(found.keys)) >= count / 2:
            break
    order = np.argsort(found.keys, kind="stable")[:count]
    return found.rows[order]


def _below(
    block: Array, first_row: int, *, share: float, n: int, seed: int, by_length: bool
) -> _Found:
    if by_length and block.dtype == np.float64:
        squares = n * np.einsum("ij,ij->i", block, block)
        cells = np.floor(np.log2(np.maximum(squares, np.finfo(float).tiny)) * CELLS)
        keys = _mixed(cells.astype(np.int64).view(np.uint64), seed)
    else:
        keys = _mixed(np.arange(first_row, first_row + len(block), dtype=np.uint64), seed)
    small = np.flatnonzero(keys < np.uint64(min(share, 1 - 2**-53) * 2**64))
    # A row that is there very often would come with all its copies; these are not used.
    small = small[: int(MARGIN * share * n)]
    return _Found(keys[small], block[small])


def _mixed(numbers: Array, seed: int) -> Array:
    """Random-looking keys of numbers (the finalizer of splitmix64)."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    keys = (numbers + np.full(1, seed, np.uint64)) * golden
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
