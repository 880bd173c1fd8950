"""From samples to rows of the anchor graph, through the trace of the optimisation."""

import numpy as np

from anchorview._typing import Array, Matrix
from anchorview.blocks import for_blocks
from anchorview.scaling import ViewScaling, scaled_block
from anchorview.trace import Trace
from anchorview.views import MultiViewData, RowBlock

ROWS_FOR_A_MAP = 64
"""From this many samples on, a pattern of views gets a map of its own; fewer are carried through
the trace one by one."""


class Embedder:
    """Embeds samples with any pattern of available views.

    Parameters
    ----------
    trace : Trace
        Of an optimisation on views scaled by `scalings`.
    scalings : tuple of ViewScaling
    """

    def __init__(self, trace: Trace, scalings: tuple[ViewScaling, ...]) -> None:
        self.trace = trace
        self.scalings = scalings
        self._maps: dict[tuple[int, ...], Array] = {}

    def maps(self, views: tuple[int, ...]) -> Array:
        """Map from the scaled features of some views, side by side, to the embedding."""
        if views not in self._maps:
            self._maps[views] = self.trace.maps(views)
        return self._maps[views]

    def __call__(self, data: MultiViewData, block_rows: int | None = None) -> Array:
        """Rows of the anchor graph for all samples, in the data's precision."""
        n_views = len(data.views)
        large = {
            g
            for g, group in enumerate(data.groups)
            if group.size >= ROWS_FOR_A_MAP or len(group.views) == n_views
        }
        W = {g: self.maps(data.groups[g].views).astype(data.dtype) for g in large}
        width = self.trace.start.to_graph[0].shape[1]
        embedding = np.empty((len(data), width), dtype=data.dtype)

        def work(block: RowBlock) -> None:
            scaled = scaled_block(data, self.scalings, block)
            if block.group in large:
                embedding[block.rows] = scaled @ W[block.group]
            else:
                embedding[block.rows] = self._carried(scaled, block, data)

        for_blocks(work, data.blocks(block_rows), "embedding")
        return embedding

    def _carried(self, scaled: Array, block: RowBlock, data: MultiViewData) -> Array:
        widths = [data.n_features_per_view[p] for p in block.views]
        parts = np.split(scaled.astype(np.float64), np.cumsum(widths)[:-1], axis=1)
        views: list[Matrix | None] = [None] * len(data.views)
        for p, part in zip(block.views, parts, strict=True):
            views[p] = part
        available = np.zeros((block.size, len(views)), bool)
        available[:, list(block.views)] = True
        return self.trace.replay(views, available)
