"""Stage 4, embed: rows of the anchor graph for any sample, from the trace of the optimization."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorview._utils.threads import for_blocks
from anchorview._utils.typing import Array
from anchorview.core.alternating import Solution
from anchorview.core.compress import Problem
from anchorview.core.scale import ViewScaling, embedded_block, scaled_block, sparse_block
from anchorview.core.trace import Trace
from anchorview.views.container import MultiViewData, RowBlock, dense_rows
from anchorview.views.fitted_views import FittedViews
from anchorview.views.schema import CACHED_BLOCK, LARGEST_BLOCK

ROWS_FOR_A_MAP = 64
"""Minimum number of samples with a pattern of available views for which a linear map is computed;
fewer samples are replayed through the trace."""

REPLAYED_ROWS = 4096
"""About how many samples are replayed through the trace together."""


class Embedder:
    """Embeds samples with any pattern of available views, by the trace of an optimization."""

    def __init__(self, trace: Trace, scalings: tuple[ViewScaling, ...]) -> None:
        self.trace = trace
        self.scalings = scalings
        self._maps: dict[tuple[int, ...], Array] = {}

    def maps(self, views: tuple[int, ...]) -> Array:
        """Map from the scaled features of some views, side by side, to the embedding."""
        if views not in self._maps:
            self._maps[views] = self.trace.maps(views)
        return self._maps[views]

    def _maps_by_view(self, views: tuple[int, ...], dtype: "np.dtype[Any]") -> list[Array]:
        widths = [self.trace.start.to_graph[p].shape[0] for p in views]
        return np.split(self.maps(views).astype(dtype), np.cumsum(widths)[:-1])

    def __call__(self, data: MultiViewData) -> Array:
        """Rows of the anchor graph for all samples, in the data's precision."""
        embedding = np.empty((len(data), self.trace.n_anchors), dtype=data.dtype)
        maps = {
            g: self._maps_by_view(group.views, data.dtype)
            for g, group in enumerate(data.groups)
            if group.size >= ROWS_FOR_A_MAP or len(group.views) == len(data.views)
        }

        def work(block: RowBlock) -> None:
            embedding[block.rows] = embedded_block(data, self.scalings, block, maps[block.group])

        blocks = list(data.blocks())
        for_blocks(work, (block for block in blocks if block.group in maps), "embedding")
        self._replay([block for block in blocks if block.group not in maps], data, embedding)
        return embedding

    def _replay(self, blocks: list[RowBlock], data: MultiViewData, embedding: Array) -> None:
        """Replay samples with rare patterns of views through the trace, many patterns at a time."""
        while blocks:
            ends = np.cumsum([block.size for block in blocks])
            count = int(np.searchsorted(ends, REPLAYED_ROWS)) + 1
            batch, blocks, ends = blocks[:count], blocks[count:], ends[:count]
            views = [np.zeros((ends[-1], d)) for d in data.n_features_per_view]
            available = np.zeros((ends[-1], len(views)), bool)
            for block, end in zip(batch, ends, strict=True):
                rows = slice(end - block.size, end)
                for p in block.views:
                    self.scalings[p].apply(dense_rows(data.views[p], block.rows), views[p][rows])
                available[rows, list(block.views)] = True
            rows_of_graph = np.split(self.trace.replay(views, available), ends[:-1])
            for block, part in zip(batch, rows_of_graph, strict=True):
                embedding[block.rows] = part


def embedder_of(solution: Solution, problem: Problem) -> Embedder | None:
    """Embedder of a solution; None for the ablations, which cannot embed other samples."""
    if solution.trace is None:
        return None
    return Embedder(solution.trace.converted(problem.in_features), problem.scalings)


@dataclass(frozen=True, eq=False)
class SampleMap:
    """Embeddings of samples by a fitted model, or their labels if an assignment is given.

    It has what workers need to know about the model, and no more.
    """

    fitted: FittedViews
    embedder: Embedder
    assignment: Callable[[Array], Array] | None = None

    def __call__(self, part: MultiViewData) -> Array:
        """Embeddings or labels of some samples."""
        embedding = self.embedder(part.matched_to(self.fitted))
        return embedding if self.assignment is None else self.assignment(embedding)


def for_embeddings(
    function: Callable[[slice | Array, Sequence[Array]], None],
    embedders: Sequence[Embedder],
    data: MultiViewData,
) -> None:
    """Call ``function(rows, embeddings)`` for blocks of rows that together are all samples.

    The embedders share their scalings. No embedding is ever held as a whole.
    """
    width = sum(embedder.trace.n_anchors for embedder in embedders)
    if data.available is not None:
        step = max(REPLAYED_ROWS, LARGEST_BLOCK // (8 * (width + data.shape[1])))
        for start in range(0, len(data), step):
            rows = slice(start, start + step)
            some = data[rows]
            function(rows, [embedder(some) for embedder in embedders])
        return
    every = tuple(range(len(data.views)))
    maps = [embedder.maps(every).astype(data.dtype) for embedder in embedders]
    together = np.hstack(maps)
    ends = np.cumsum([W.shape[1] for W in maps])[:-1]

    def work(block: RowBlock) -> None:
        scalings = embedders[0].scalings
        few = sparse_block(data, scalings, block)
        found = (scaled_block(data, scalings, block) if few is None else few) @ together
        function(block.rows, np.split(found, ends, axis=1))

    block_rows = max(1, CACHED_BLOCK // (data.dtype.itemsize * max(width, data.shape[1])))
    for_blocks(work, data.blocks(block_rows), "embedding")
