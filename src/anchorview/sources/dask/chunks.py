"""Bounds of the parts, and the blocks of the views that they consist of."""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from dask._task_spec import Task, TaskRef
from scipy import sparse

from anchorview.sources.dask.task_graph import Graph, new_name
from anchorview.sources.disk_source import PRODUCTS_PER_PART

SMALL_PART = 16 * 2**20
"""Parts of fewer bytes are combined, since each costs a task and its result."""

LARGEST_PART = 512 * 2**20
"""Maximum number of bytes of combined parts, however many features there are: a worker holds
several times as much in memory."""


class Chunks(NamedTuple):
    """Blocks of rows of a view, as tasks."""

    keys: list[Hashable]
    lengths: tuple[int, ...]


NOTHING = Chunks([], ())
"""Chunks of a view that is None."""


def useful_bytes(width: int, minimum: float) -> float:
    """Number of bytes of samples with `width` features that is worth a task."""
    return max(minimum, min(PRODUCTS_PER_PART * 8.0 * width**2, LARGEST_PART))


def array_chunks(array: Any, graph: Graph) -> Chunks:
    """Blocks of rows of a dask array; blocks of columns are combined by tasks."""
    rows = array.__dask_keys__()
    if array.numblocks[1] == 1:
        return Chunks([row[0] for row in rows], array.chunks[0])
    name = new_name("rows")
    keys: list[Hashable] = [(name, i) for i in range(len(rows))]
    for key, row in zip(keys, rows, strict=True):
        graph[key] = Task(key, _side_by_side, *map(TaskRef, row))
    return Chunks(keys, array.chunks[0])


def _side_by_side(*blocks: Any) -> Any:
    if any(sparse.issparse(block) for block in blocks):
        return sparse.hstack(blocks, format="csr")
    return np.hstack(blocks)


def part_bounds(lengths: Sequence[int], row_bytes: float, useful: float) -> list[int]:
    """First rows of the parts, and the end: those of the chunks, with small chunks combined.

    Examples
    --------
    >>> part_bounds([10, 10, 10, 50, 10], row_bytes=1, useful=20)
    [0, 20, 80, 90]
    """
    bounds = [0]
    ends = np.cumsum(lengths).tolist()
    for end in ends:
        if (end - bounds[-1]) * row_bytes >= useful:
            bounds.append(end)
    return bounds if bounds[-1] == ends[-1] else [*bounds, ends[-1]]


def pieces(chunks: Chunks, bounds: Sequence[int], graph: Graph) -> list[list[Hashable]]:
    """Keys of the pieces of each part: whole chunks, or rows cut from them by tasks."""
    starts = np.concatenate([[0], np.cumsum(chunks.lengths)]).tolist()
    name = new_name("piece")
    parts: list[list[Hashable]] = []
    i = 0
    for first, last in pairwise(bounds):
        own: list[Hashable] = []
        # A chunk that extends beyond the part is used again by the next part.
        while i < len(chunks.keys) and starts[i + 1] <= first:
            i += 1
        j = i
        while j < len(chunks.keys) and starts[j] < last:
            rows = slice(max(first, starts[j]) - starts[j], min(last, starts[j + 1]) - starts[j])
            if rows == slice(0, chunks.lengths[j]):
                own.append(chunks.keys[j])
            elif rows.stop > rows.start:
                key = (name, j, rows.start)
                graph[key] = Task(key, _cut, TaskRef(chunks.keys[j]), rows)
                own.append(key)
            j += 1
        parts.append(own)
    return parts


def _cut(block: Any, rows: slice) -> Any:
    # A copy, so that a piece that is sent or kept does not keep the whole block alive.
    if hasattr(block, "iloc"):
        return block.iloc[rows].copy()
    return block[rows].copy()
