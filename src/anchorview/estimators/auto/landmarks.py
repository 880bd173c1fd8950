"""Views lifted to weights on landmarks, where clusters that are curved become straight.

A view's landmarks are the centers of a K-means run. A sample is described by its weights on the
landmarks next to it,

    w_j = exp(-d_j / s),  s = mean of the sample's d_j,  sum of w = 1,

with the squared distances ``d_j``; the columns are divided by the roots of their sums. The lifted
view is a sparse (n, m) matrix, so it compresses and solves like any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from anchorview._utils.memory import require_memory
from anchorview._utils.threads import for_blocks, max_pending_results, parallel_map
from anchorview._utils.typing import Array
from anchorview.core.scale import ViewScaling
from anchorview.views.container import MultiViewData, RowBlock, dense_rows

NEIGHBORS = 5
"""Landmarks on which a sample has weights."""

FEW_LANDMARKS = 2 * NEIGHBORS
"""Landmarks that are not too many for any number of samples."""

DISTANCES = 2**20
"""Most distances between samples and landmarks that are held at a time."""

LANDMARK_STEPS = 5
"""Lloyd steps that place the landmarks; they need to be spread, not optimal."""


@dataclass(frozen=True)
class ViewLift:
    """The lift of one view.

    Attributes
    ----------
    landmarks : array (m, d)
        In the scaled view.
    column_factors : array (m,)
        One by the root of each landmark's total weight; 0 for a landmark without any.
    """

    landmarks: Array
    column_factors: Array

    def nearest(self, block: Array) -> tuple[Array, Array]:
        """Landmarks next to each row of a scaled block, and the row's weights on them."""
        count = min(NEIGHBORS, len(self.landmarks))
        near = np.empty((len(block), count), dtype=np.int32)
        weights = np.empty((len(block), count), dtype=block.dtype)
        step = max(1, DISTANCES // len(self.landmarks))
        for start in range(0, len(block), step):
            rows = slice(start, start + step)
            near[rows], weights[rows] = self._nearest(block[rows], count)
        return near, weights

    def _nearest(self, block: Array, count: int) -> tuple[Array, Array]:
        landmarks = self.landmarks.astype(block.dtype, copy=False)
        distances = block @ landmarks.T
        distances *= -2
        distances += np.einsum("ij,ij->i", landmarks, landmarks)
        rows = np.arange(len(block))
        near = np.empty((len(block), count), dtype=np.intp)
        d = np.empty((len(block), count), dtype=block.dtype)
        # A few searches for the least are many times faster than one partial sort.
        for j in range(count):
            near[:, j] = distances.argmin(axis=1)
            d[:, j] = distances[rows, near[:, j]]
            distances[rows, near[:, j]] = np.inf
        by_landmark = near.argsort(axis=1)
        near, d = (np.take_along_axis(part, by_landmark, axis=1) for part in (near, d))
        d = np.maximum(d + np.einsum("ij,ij->i", block, block)[:, None], 0)
        scale = d.mean(axis=1, keepdims=True)
        weights = np.exp(-np.divide(d, scale, out=np.zeros_like(d), where=scale > 0))
        return near, weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Lift:
    """The lifts of all views, and the scalings that the views get before."""

    scalings: tuple[ViewScaling, ...]
    views: tuple[ViewLift, ...]

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Lifted views of the same samples; a sample lacks the views that it lacks in `data`."""
        return _lifted(data, self.views, _nearest(data, self.scalings, self.views))


def fit_lift(
    data: MultiViewData,
    scalings: tuple[ViewScaling, ...],
    n_landmarks: int,
    sample: Array,
    seed: int,
) -> tuple[Lift, MultiViewData]:
    """Place the landmarks of every view among the rows `sample`; returns the lift and its views.

    A view gets at most half as many landmarks as the sample has different rows with it, unless
    there are few.
    """
    require_memory(
        # Scaled rows and K-means' own copy, of as many views as there are cores.
        max_pending_results()
        * 2
        * len(sample)
        * max(data.n_features_per_view)
        * data.dtype.itemsize,
        f"Placing landmarks in {data!r}",
        "Reduce the number of features.",
    )

    def place(p: int) -> ViewLift:
        rows = sample if data.available is None else sample[data.available[sample, p]]
        points = dense_rows(data.views[p], rows)
        points = scalings[p].apply(points, np.empty(points.shape, dtype=data.dtype))
        landmarks = _spread_points(points, n_landmarks, seed)
        return ViewLift(landmarks, np.ones(len(landmarks)))

    placed = [lift for _, lift in parallel_map(place, range(len(data.views)))]
    found = _nearest(data, scalings, placed)
    lifts = []
    for (near, weights), lift in zip(found, placed, strict=True):
        total = np.bincount(near.ravel(), weights.ravel(), minlength=len(lift.landmarks))
        factors = np.divide(1.0, np.sqrt(total), out=np.zeros_like(total), where=total > 0)
        lifts.append(ViewLift(lift.landmarks, factors))
    return Lift(scalings, tuple(lifts)), _lifted(data, lifts, found)


def _spread_points(points: Array, count: int, seed: int) -> Array:
    """Centres of a short K-means run from different rows: at most half of them, but all of few."""
    rng = np.random.default_rng(seed)
    # Rows that a random direction does not tell apart are the same.
    heights = points @ rng.standard_normal((points.shape[1],)).astype(points.dtype)
    heights /= max(np.abs(heights).max(), np.finfo(heights.dtype).tiny)
    _, different = np.unique(np.round(heights, 5), return_index=True)
    count = min(count, len(different), max(len(different) // 2, FEW_LANDMARKS))
    start = points[np.sort(rng.choice(different, count, replace=False))]
    model = KMeans(count, init=start, n_init=1, max_iter=LANDMARK_STEPS)
    return model.fit(points).cluster_centers_.astype(np.float64)


def _nearest(
    data: MultiViewData, scalings: tuple[ViewScaling, ...], lifts: Sequence[ViewLift]
) -> list[tuple[Array, Array]]:
    """Nearest landmarks and weights of all samples in every view; no weight where it is lacking."""
    counts = [min(NEIGHBORS, len(lift.landmarks)) for lift in lifts]
    near = [np.zeros((len(data), count), dtype=np.int32) for count in counts]
    weights = [np.zeros((len(data), count), dtype=data.dtype) for count in counts]

    def work(block: RowBlock) -> None:
        for p in block.views:
            rows = dense_rows(data.views[p], block.rows)
            scaled = scalings[p].apply(rows, np.empty(rows.shape, dtype=data.dtype))
            near[p][block.rows], weights[p][block.rows] = lifts[p].nearest(scaled)

    for_blocks(work, data.blocks(), "lifting")
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
        matrices.append(sparse.csr_array((weights.ravel(), near.ravel(), starts), shape=shape))
    return MultiViewData(dict(zip(data.names, matrices, strict=True)), available=data.available)
