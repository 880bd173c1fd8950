"""Views lifted to weights on landmarks, in which curved clusters become linearly separable.

The landmarks of a view are the centers of a K-means run on its leading directions. A lifted sample
has the weights

    w_j = exp(-d_j / s),  s = mean of its d_j,  normalized to sum 1,

on its nearest landmarks, with squared distances ``d_j``; columns are divided by the square roots of
their sums. The lifted view is a sparse (n, m) matrix, and is compressed and solved like any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.utils import gen_batches

from anchorview._utils.linalg import leading_directions
from anchorview._utils.memory import require_memory
from anchorview._utils.threads import ThreadBuffer, for_blocks, max_pending_results, parallel_map
from anchorview._utils.typing import Array, Matrix
from anchorview.core.scale import ViewScaling
from anchorview.core.scaled_view import projected_rows
from anchorview.views.container import MultiViewData, RowBlock, dense_rows
from anchorview.views.low_rank_sum import has_few_entries

N_NEIGHBORS = 5
"""Number of landmarks on which a sample has weights."""

MAX_DISTANCES = 2**20
"""Maximum number of distances between samples and landmarks that are held at a time."""

MAX_DIRECTIONS = 64
"""Maximum number of leading directions of a view in which distances to landmarks are measured. With
them, lifts cost a fraction, and their partitions are better by .01 on average (benchmarks/auto.md).
"""

SAMPLES_PER_DIRECTION = 4
"""Minimum number of samples per direction. Of fewer samples, distances are those in all features.
"""

KMEANS_ITERATIONS = 5
"""Iterations that place the landmarks, which need to cover the data but not to be optimal."""


_scores = ThreadBuffer()


@dataclass(frozen=True)
class ViewLift:
    """The lift of one view."""

    directions: npt.NDArray[np.floating[Any]] | None
    """Leading directions of the scaled view (columns), onto which rows are projected first; None
    if the view is used as it is."""
    landmarks: npt.NDArray[np.floating[Any]]
    """Rows of shape (m, d), in the (projected) scaled view."""
    column_factors: Array
    """Inverse square root of the total weight of each landmark; 0 if it has none."""

    def nearest(
        self, view: Matrix, rows: slice | Array, scaling: ViewScaling, dtype: "np.dtype[Any]"
    ) -> tuple[Array, Array]:
        """Nearest landmarks of some rows of a view, nearest first, and weights on them."""
        if self.directions is None:
            return self.nearest_of_projected(_scaled_rows(view, rows, scaling, dtype))
        W = self.directions.astype(dtype, copy=False)
        return self.nearest_of_projected(projected_rows(view, rows, scaling, W))

    def nearest_of_projected(self, block: Array) -> tuple[Array, Array]:
        """The same for scaled rows, projected onto the directions if there are any."""
        batches = gen_batches(len(block), max(1, MAX_DISTANCES // len(self.landmarks)))
        near, weights = zip(*(self._nearest(block[batch]) for batch in batches), strict=True)
        return np.vstack(near), np.vstack(weights)

    def _nearest(self, block: Array) -> tuple[Array, Array]:
        landmarks = self.landmarks.astype(block.dtype, copy=False)
        # The nearest landmark c of x has the largest x'c - c'c / 2.
        scores = _scores.array((len(block), len(landmarks)), block.dtype)
        np.matmul(block, landmarks.T, out=scores)
        scores -= 0.5 * np.einsum("ij,ij->i", landmarks, landmarks)
        flat, starts = scores.reshape(-1), np.arange(0, scores.size, len(landmarks))
        count = min(N_NEIGHBORS, len(landmarks))
        near = np.empty((len(block), count), dtype=np.intp)
        largest = np.empty(near.shape, dtype=block.dtype)
        # Searching a few times for the maximum is many times faster than a partial sort.
        for j in range(count):
            near[:, j] = scores.argmax(axis=1)
            at = starts + near[:, j]
            largest[:, j] = flat[at]
            flat[at] = -np.inf
        d = np.maximum(np.einsum("ij,ij->i", block, block)[:, None] - 2 * largest, 0)
        scale = d.mean(axis=1, keepdims=True)
        weights = np.exp(-np.divide(d, scale, out=np.zeros_like(d), where=scale > 0))
        return near, weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Lift:
    """The lifts of all views, and the scalings that are applied to the views first."""

    scalings: tuple[ViewScaling, ...]
    views: tuple[ViewLift, ...]

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Lifted views of samples, which lack the same views as in `data`."""
        return _lifted(data, self.views, _nearest_landmarks(data, self.scalings, self.views))


def fit_lift(
    data: MultiViewData,
    scalings: tuple[ViewScaling, ...],
    directions: Sequence[Array] | None,
    n_landmarks: int,
    sample: Array,
    seed: int,
) -> tuple[Lift, MultiViewData]:
    """Place landmarks of every view among the rows `sample`; returns the lift and lifted `data`.

    `directions` are the leading ones of each scaled view (columns), if they are known. If the
    sample has no more than `n_landmarks` distinct rows of a view, these are its landmarks.
    """
    known = (None,) * len(data.views) if directions is None else directions
    held = max(
        MAX_DIRECTIONS if has_few_entries(view) and own is not None else view.shape[1]
        for view, own in zip(data.views, known, strict=True)
    )
    require_memory(
        # Scaled rows and a copy made by K-means, for as many views as there are threads.
        max_pending_results() * 2 * len(sample) * held * data.dtype.itemsize,
        f"Placing landmarks in {data!r}",
        "Reduce the number of features.",
    )

    def place(p: int) -> ViewLift:
        rows = sample if data.available is None else sample[data.available[sample, p]]
        view, found, leading = data.views[p], known[p], None
        enough = len(rows) >= SAMPLES_PER_DIRECTION * MAX_DIRECTIONS
        projects = view.shape[1] > MAX_DIRECTIONS and enough
        if projects and found is not None:
            leading = found.astype(np.float32)
            points = projected_rows(view, rows, scalings[p], leading.astype(data.dtype))
        else:
            points = _scaled_rows(view, rows, scalings[p], data.dtype)
            if projects:
                leading = leading_directions(points, MAX_DIRECTIONS)[0].astype(np.float32)
                points = points @ leading.astype(points.dtype)
        landmarks = _kmeans_centers(points, n_landmarks, seed)
        return ViewLift(leading, landmarks, np.ones(len(landmarks)))

    placed = [lift for _, lift in parallel_map(place, range(len(data.views)))]
    found = _nearest_landmarks(data, scalings, placed)
    lifts = []
    for (near, weights), lift in zip(found, placed, strict=True):
        total = np.bincount(near.ravel(), weights.ravel(), minlength=len(lift.landmarks))
        factors = np.divide(1.0, np.sqrt(total), out=np.zeros_like(total), where=total > 0)
        lifts.append(replace(lift, column_factors=factors))
    return Lift(scalings, tuple(lifts)), _lifted(data, lifts, found)


def _scaled_rows(
    view: Matrix, rows: slice | Array, scaling: ViewScaling, dtype: "np.dtype[Any]"
) -> Array:
    """Some scaled rows of a view, dense."""
    own = dense_rows(view, rows)
    return scaling.apply(own, np.empty(own.shape, dtype=dtype))


def _kmeans_centers(points: Array, count: int, seed: int) -> Array:
    """Centers of a short K-means run from some of the distinct rows; these, if they are few."""
    rng = np.random.default_rng(seed)
    # Rows with the same projection onto a random direction are taken to be equal.
    heights = points @ rng.standard_normal((points.shape[1],)).astype(points.dtype)
    heights /= max(np.abs(heights).max(), np.finfo(heights.dtype).tiny)
    _, distinct = np.unique(np.round(heights, 5), return_index=True)
    if len(distinct) <= count:
        return points[distinct].astype(np.float32)
    start = points[np.sort(rng.choice(distinct, count, replace=False))]
    model = KMeans(count, init=start, n_init=1, max_iter=KMEANS_ITERATIONS)
    # Single precision is enough for places, and halves what a saved model takes.
    return model.fit(points).cluster_centers_.astype(np.float32)


def _nearest_landmarks(
    data: MultiViewData, scalings: tuple[ViewScaling, ...], lifts: Sequence[ViewLift]
) -> list[tuple[Array, Array]]:
    """Nearest landmarks and weights of all samples per view; weights are 0 where it is missing."""
    shapes = [(len(data), min(N_NEIGHBORS, len(lift.landmarks))) for lift in lifts]
    near = [np.zeros(shape, dtype=np.int32) for shape in shapes]
    weights = [np.zeros(shape, dtype=data.dtype) for shape in shapes]

    def work(block: RowBlock) -> None:
        for p in block.views:
            near[p][block.rows], weights[p][block.rows] = lifts[p].nearest(
                data.views[p], block.rows, scalings[p], data.dtype
            )

    stay_sparse = all(
        has_few_entries(view) and lift.directions is not None
        for view, lift in zip(data.views, lifts, strict=True)
    )
    for_blocks(work, data.stored_blocks() if stay_sparse else data.blocks(), "lifting")
    return list(zip(near, weights, strict=True))


def _lifted(
    data: MultiViewData, lifts: Sequence[ViewLift], found: Sequence[tuple[Array, Array]]
) -> MultiViewData:
    """Weights on the landmarks, times the column factors, as sparse views."""
    matrices = []
    for (near, weights), lift in zip(found, lifts, strict=True):
        n, count = near.shape
        weights *= lift.column_factors.astype(weights.dtype)[near]
        starts = np.arange(0, n * count + 1, count)
        shape = (n, len(lift.landmarks))
        matrix = sparse.csr_array((weights.ravel(), near.ravel(), starts), shape=shape)
        matrix.sort_indices()
        matrices.append(matrix)
    return MultiViewData(dict(zip(data.names, matrices, strict=True)), available=data.available)
