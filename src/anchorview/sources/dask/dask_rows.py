"""The embedding and the labels as dask arrays."""

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from anchorview._utils.memory import memory_budget
from anchorview._utils.typing import Array
from anchorview.sources.dask.execution import has_workers, kept, reduced
from anchorview.sources.dask.part_reader import apply_to_rows, label_rows
from anchorview.sources.dask.task_graph import PartGraph, new_name
from anchorview.views.row_source import Result

SHARE_OF_BUDGET = 0.25
"""Share of the memory budget that the embedding may take in this process."""

MAX_BLOCKS = 1000
"""Maximum number of blocks of the embedding. Every K-means iteration has a task per block, and with
more blocks the scheduler would dominate the time."""


class DaskRows:
    """The embedding, with all columns in one chunk, and its labels as dask arrays.

    The workers keep both. Without workers, this process keeps them if they are small; otherwise the
    samples are embedded again whenever the embedding is needed.
    """

    def __init__(self, embedding: Any) -> None:
        if embedding.numblocks[0] > MAX_BLOCKS:
            embedding = embedding.rechunk({0: -(-embedding.shape[0] // MAX_BLOCKS)})
        self.shape: tuple[int, int] = embedding.shape
        self._keeps = _can_be_kept(embedding)
        self.embedding = kept_if_small(embedding, "embedding")
        self.labels: Any = None
        keys = [row[0] for row in self.embedding.__dask_keys__()]
        self._parts = PartGraph(dict(self.embedding.dask), [[key] for key in keys])
        self._first_rows = list(accumulate(embedding.chunks[0], initial=0))[:-1]

    def reduce(
        self, function: Callable[[Array, int], Result], merge: Callable[[Result, Result], Result]
    ) -> Result:
        """``function`` of all blocks of rows, merged in order."""
        first_rows = [(row,) for row in self._first_rows]
        work = partial(apply_to_rows, function)
        result: Result = reduced(self._parts, work, first_rows, merge, new_name("rows"))
        return result

    def whole(self) -> Array:
        """All rows, in memory."""
        return np.asarray(self.embedding.compute())

    def label(self, function: Callable[[Array], Array]) -> None:
        """Label all rows by a function of a block of rows."""
        labels = self.embedding.map_blocks(
            partial(label_rows, function),
            name=new_name("labels"),
            drop_axis=1,
            dtype=np.int32,
            meta=np.empty(0, np.int32),
        )
        self.labels = kept(labels, "labeling") if self._keeps else labels


def kept_if_small(array: Any, stage: str) -> Any:
    """Compute an array and keep it where the scheduler has it, unless it is too large for this."""
    return kept(array, stage) if _can_be_kept(array) else array


def _can_be_kept(array: Any) -> bool:
    return has_workers() or array.nbytes <= SHARE_OF_BUDGET * memory_budget(None)
