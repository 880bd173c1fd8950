"""Stage 4, embed: rows of the anchor graph for any sample, from the trace of the optimization."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from anchorview._utils.linalg import times
from anchorview._utils.threads import for_blocks, row_slices
from anchorview._utils.typing import Array, Matrix
from anchorview.core.alternating import Convert, Solution, Start, Trace
from anchorview.core.compress import Problem
from anchorview.core.scale import ViewScaling
from anchorview.core.scaled_view import ScaledBlock
from anchorview.views.container import MultiViewData, RowBlock, dense_rows

ROWS_FOR_A_MAP = 64
"""Minimum number of samples with a pattern of available views for which a linear map is computed;
fewer samples are replayed through the trace."""

REPLAYED_ROWS = 4096
"""Number of samples that are replayed through the trace together."""

MAX_CACHED_MAPS = 32
"""Number of maps, by pattern of available views, that are kept for the next samples."""

Pattern = tuple[int, ...]
"""Positions of the views that a sample has."""

Map = npt.NDArray[np.floating[Any]]


@dataclass(eq=False, repr=False)
class Embedder:
    """Embeds samples with any pattern of available views, by the trace of an optimization.

    Without a trace there is a map for every pattern, from the scaled features of its views, side by
    side, to the embedding. `complete` says that every sample of the optimization had every view.
    """

    trace: Trace | None
    scalings: tuple[ViewScaling, ...]
    complete: bool
    maps: dict[Pattern, Map] | None = None
    _cached_maps: dict[Pattern, Map] = field(default_factory=dict, init=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cached_maps": {}}

    @property
    def n_anchors(self) -> int:
        """Columns of the embedding."""
        if self.trace is None:
            assert self.maps is not None
            return next(iter(self.maps.values())).shape[1]
        return int(self.trace.start.to_graph[0].shape[1])

    def map_from(self, views: Pattern) -> Map:
        """Map from the scaled features of some views, side by side, to the embedding."""
        if self.trace is None:
            assert self.maps is not None
            return self.maps[views]
        # Concurrent threads may compute a map twice, which does no harm.
        W = self._cached_maps.get(views)
        if W is None:
            W = embedding_map(self.trace, views)
            if len(self._cached_maps) >= MAX_CACHED_MAPS:
                self._cached_maps = {}
            self._cached_maps[views] = W
        return W

    def smallest(self, dtype: "np.dtype[Any]") -> "Embedder":
        """Return this embedder with maps in place of the trace, if these are smaller.

        Samples with all views get the same embedding, bit by bit, if it has the type `dtype`. So
        the trace stays if samples of the optimization lacked views.
        """
        n_views = len(self.scalings)
        if self.trace is None or not self.complete:
            return self
        all_maps = 2 ** (n_views - 1) * sum(E.size for E in self.trace.start.to_graph)
        if all_maps * dtype.itemsize >= self.trace.nbytes:
            return self
        maps = {
            views: self.map_from(views).astype(dtype)
            for count in range(1, n_views + 1)
            for views in combinations(range(n_views), count)
        }
        return Embedder(None, self.scalings, True, maps)

    def __call__(self, data: MultiViewData) -> Array:
        """Rows of the anchor graph for all samples, in the data's precision."""
        embedding = np.empty((len(data), self.n_anchors), dtype=data.dtype)
        blocks = list(data.stored_blocks())
        maps = {
            g: self.map_from(group.views).astype(data.dtype)
            for g, group in enumerate(data.groups)
            if self.trace is None
            or group.size >= ROWS_FOR_A_MAP
            or len(group.views) == len(data.views)
        }

        def work(block: RowBlock) -> None:
            embedding[block.rows] = ScaledBlock(data, self.scalings, block) @ maps[block.group]

        for_blocks(work, (block for block in blocks if block.group in maps), "embedding")
        if rare := [np.asarray(block.rows) for block in blocks if block.group not in maps]:
            rows = np.concatenate(rare)
            for some in row_slices(len(rows), REPLAYED_ROWS):
                embedding[rows[some]] = self._replayed(data, rows[some])
        return embedding

    def _replayed(self, data: MultiViewData, rows: Array) -> Array:
        """Replay some samples through the trace, whatever views they have."""
        assert self.trace is not None and data.available is not None
        available = data.available[rows]
        views = []
        for view, scaling, has in zip(data.views, self.scalings, available.T, strict=True):
            scaled = np.zeros((len(rows), view.shape[1]))
            known = dense_rows(view, rows[has])
            scaled[has] = scaling.apply(known, np.empty(known.shape))
            views.append(scaled)
        return replayed(self.trace, views, available)


def embedder_of(solution: Solution, problem: Problem) -> Embedder | None:
    """Embedder of a solution; None for the ablations, which cannot embed other samples."""
    if solution.trace is None:
        return None
    trace = in_other_coordinates(solution.trace, problem.in_features)
    return Embedder(trace, problem.scalings, problem.available is None)


def replayed(trace: Trace, views: Sequence[Matrix | None], available: Array) -> Array:
    """Rows of ``S`` for samples given by their scaled views.

    A view that no sample has may be None; rows of samples that lack a view are zero.
    """
    n, n_views = available.shape
    lacking = [np.flatnonzero(~available[:, p]) for p in range(n_views)]

    def product(p: int, M: Array) -> Array:
        view = views[p]
        return np.zeros((n, M.shape[1])) if view is None else times(view, M)

    start = trace.start
    s = sum(product(p, start.to_graph[p]) for p in range(n_views))
    s = s / (available @ start.importance)[:, None]
    h = []
    for p in range(n_views):
        h.append(product(p, start.to_representation[p]))
        h[p][lacking[p]] = s[lacking[p]] @ (start.fill[p].T @ start.to_representation[p])
    for step in trace.steps:
        for p in range(n_views):
            Z, A = step.bases[p], step.anchors[p]
            projected = product(p, Z)
            projected[lacking[p]] = h[p][lacking[p]] @ (Z.T @ Z)
            pulled = step.weights[p] ** 2 * projected + trace.beta * (s @ A.T)
            h[p] = pulled @ step.to_representation[p]
        s = sum(h[p] @ step.anchors[p] for p in range(n_views)) @ step.to_graph
    return np.asarray(s)


def in_other_coordinates(trace: Trace, convert: Convert) -> Trace:
    """Trace in other coordinates of the views, to which `convert` turns coefficients."""
    first = trace.start
    bases = [step.bases for step in trace.steps]
    given = [first.to_graph, first.fill, first.to_representation, *bases]
    # Matrices of all steps side by side: one product per view.
    together = convert([np.hstack(matrices) for matrices in zip(*given, strict=True)])
    columns = [
        np.split(matrix, np.cumsum([part[p].shape[1] for part in given])[:-1], axis=1)
        for p, matrix in enumerate(together)
    ]
    to_graph, fill, to_representation, *converted = zip(*columns, strict=True)
    steps = [replace(step, bases=Z) for step, Z in zip(trace.steps, converted, strict=True)]
    return Trace(
        trace.beta, Start(to_graph, fill, to_representation, first.importance), tuple(steps)
    )


def embedding_map(trace: Trace, views: Sequence[int]) -> Array:
    """Map from the features of some views, side by side, to ``S`` for samples that have them.

    A sample's embedding is linear in its data, so replaying unit vectors gives the map. Only
    the start depends on the number of views that a sample has.
    """
    widths = [len(K) for K in trace.start.to_representation]
    total = sum(widths[p] for p in views)
    unit_rows = sparse.eye_array(total, format="csc")
    parts: list[Matrix | None] = [None] * len(widths)
    begin = 0
    for p in views:
        parts[p] = unit_rows[:, begin : begin + widths[p]]
        begin += widths[p]
    available = np.zeros((total, len(widths)), bool)
    available[:, list(views)] = True
    return replayed(trace, parts, available)


def embedded_samples(
    embedder: Embedder, functions: Sequence[Callable[[Array], Array]], part: MultiViewData
) -> Array:
    """Functions of the embedding of samples, one after the other; these have the fitted views."""
    return reduce(lambda rows, function: function(rows), functions, embedder(part))
