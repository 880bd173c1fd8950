"""Rows of the embedding as the assignment sees them, and their blockwise processing."""

from collections.abc import Callable, Generator
from contextlib import closing
from functools import reduce
from typing import Any, Protocol

import numpy as np

from anchorview._utils.threads import parallel_map, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.views.parts import Result

BLOCK = 2**20
"""Bytes of a block as float64."""


class EmbeddedRows(Protocol):
    """The rows of an embedding, one per sample, wherever they are."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""

    def reduce(
        self, function: Callable[[Array, int], Result], merge: Callable[[Result, Result], Result]
    ) -> Result:
        """``function(block, position of its first row)`` of all blocks, merged in order."""

    def whole(self) -> Array:
        """All rows, in memory."""


class LocalRows:
    """Rows that this process can read by slices: an array, or a view on disk."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.shape: tuple[int, int] = rows.shape

    def reduce(
        self, function: Callable[[Array, int], Result], merge: Callable[[Result, Result], Result]
    ) -> Result:
        """``function(block, position of its first row)`` of all blocks, merged in order."""
        with closing(self.over_blocks(function)) as results:
            return reduce(merge, results)

    def over_blocks(self, function: Callable[[Array, int], Result]) -> Generator[Result]:
        """Yield the results of all blocks in order."""

        def work(rows: slice) -> Result:
            with without_nested_threads():
                return function(self.rows[rows], rows.start)

        n, width = self.shape
        # Blocks of equal sizes keep all threads busy.
        step = -(-n // max(1, -(-8 * width * n // BLOCK)))
        blocks = [slice(start, min(start + step, n)) for start in range(0, n, step)]
        for _, result in parallel_map(work, blocks):
            yield result

    def whole(self) -> Array:
        """All rows, in memory."""
        return np.asarray(self.rows)
