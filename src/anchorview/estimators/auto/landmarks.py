"""Landmarks of the views, by which samples are compared with their neighbors.

The landmarks of a view are the centers of a K-means run on its leading coordinates. A sample has
the weights

    w_j = exp(-d_j / s),  s = mean of its d_j,  normalized to sum 1,

on its nearest landmarks, with squared distances ``d_j``, times the importance of the view. A
partition of some samples is passed on to others by their weights: a landmark has the label with
most weight on it, and votes for it by its share of the weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.cluster import KMeans

from anchorview._utils.threads import for_blocks, parallel_map
from anchorview._utils.typing import Array
from anchorview.core.neighbors import MAX_DISTANCES, graph_of_neighbors, nearest_places
from anchorview.views.container import MultiViewData, RowBlock

N_LANDMARKS, N_LANDMARKS_OF_MANY, LANDMARKS_PER_CLUSTER = 2_000, 500, 5
"""Number of landmarks that pass labels on, or more if clusters are many; if there are not as many
samples, all are landmarks. The second number costs .02 in accuracy, and saves time for more samples
than `MANY_SAMPLES`."""
MANY_SAMPLES = 20_000

N_NEAREST_LANDMARKS = 5
"""Number of landmarks on which a sample has weights."""

LEADING, SAMPLES_PER_COORDINATE = 64, 4
"""Number of leading coordinates of a view in which neighbors are found, if there are as many
samples per coordinate; otherwise, in all."""

VOTE_DIGITS = 5
"""Digits of votes that are compared."""

KMEANS_ITERATIONS = 5
"""Iterations that place the landmarks, which need to cover the data but not to be optimal."""

LABEL_DTYPE = np.dtype(np.int16)
"""Type of labels in partitions, small because there is one per sample and K-means run."""

MAX_CLUSTERS = np.iinfo(LABEL_DTYPE).max

Neighbors = tuple[Array, Array]
"""Positions of the nearest landmarks of samples, nearest first, and weights on them."""


@dataclass(frozen=True)
class Landmarks:
    """The landmarks of all views, in their leading coordinates."""

    places: tuple[npt.NDArray[np.floating[Any]], ...]
    """By view, an array with a row per landmark."""
    importance: Array
    """Of each view."""

    @property
    def counts(self) -> list[int]:
        """Number of landmarks of each view."""
        return [len(rows) for rows in self.places]

    def nearest(self, coordinates: MultiViewData) -> list[Neighbors]:
        """Nearest landmarks of samples in each view; weights are 0 where a sample lacks it."""
        shapes = [(len(coordinates), min(N_NEAREST_LANDMARKS, count)) for count in self.counts]
        near = [np.zeros(shape, dtype=np.int32) for shape in shapes]
        weights = [np.zeros(shape, dtype=coordinates.dtype) for shape in shapes]

        def work(block: RowBlock) -> None:
            for p in block.views:
                rows = coordinates.views[p][block.rows, : self.places[p].shape[1]]
                near[p][block.rows], own = _weighted(rows, self.places[p])
                weights[p][block.rows] = own * self.importance[p]

        step = max(1, MAX_DISTANCES // max(self.counts))
        for_blocks(work, coordinates.blocks(step), "landmarks")
        return list(zip(near, weights, strict=True))

    def weights(self, neighbors: Sequence[Neighbors]) -> list[sparse.csr_array]:
        """Weights of samples on all landmarks of each view."""
        matrices = []
        for (near, weights), count in zip(neighbors, self.counts, strict=True):
            matrix = graph_of_neighbors(near, weights, count)
            matrix.sort_indices()
            matrices.append(matrix)
        return matrices

    def labels(
        self, neighbors: Sequence[Neighbors], partitions: Array, n_clusters: int
    ) -> "LandmarkLabels":
        """Labels of the landmarks of all views in each partition."""
        n, weights = partitions.shape[1], self.weights(neighbors)
        labels, shares = [], []
        for partition in partitions:
            ones = (np.ones(n), partition, np.arange(n + 1))
            members = sparse.csr_array(ones, shape=(n, n_clusters))
            table = np.vstack([(matrix.T @ members).toarray() for matrix in weights])
            labels.append(table.argmax(axis=1))
            total = np.maximum(table.sum(axis=1), np.finfo(float).tiny)
            shares.append(table.max(axis=1) / total)
        return LandmarkLabels(np.array(labels, LABEL_DTYPE), np.array(shares, np.float32))

    def labels_of_samples(self, neighbors: Sequence[Neighbors], given: "LandmarkLabels") -> Array:
        """Labels of samples in each partition: those with most votes, over all views."""
        pairs = zip(given.labels, given.shares, strict=True)
        votes = (self.votes(neighbors, *pair) for pair in pairs)
        # Two views often have all of their weight on different labels: not rounding decides then.
        rounded = (np.round(own, VOTE_DIGITS) for own in votes)
        return np.array([own.argmax(axis=1) for own in rounded], dtype=LABEL_DTYPE)

    def votes(self, neighbors: Sequence[Neighbors], labels: Array, shares: Array) -> Array:
        """Votes for each label for each sample in one partition, (n, n_labels)."""
        n, n_labels = len(neighbors[0][0]), 1 + int(labels.max())
        starts = np.cumsum([0, *self.counts[:-1]])
        cells, values = [], []
        for (near, weights), start in zip(neighbors, starts, strict=True):
            at = start + near
            cells.append((labels[at] + n_labels * np.arange(n)[:, None]).ravel())
            values.append((weights * shares[at]).ravel())
        total = np.bincount(np.concatenate(cells), np.concatenate(values), n * n_labels)
        return total.reshape(n, n_labels)


@dataclass(frozen=True)
class LandmarkLabels:
    """Labels of the landmarks of all views, one view after the other, (n_partitions, n)."""

    labels: npt.NDArray[np.int16]
    shares: npt.NDArray[np.float32]
    """Share of the weight on each landmark that has its label."""


def fit_landmarks(
    coordinates: MultiViewData,
    n_landmarks: int,
    rows: Array,
    seed: int,
    importance: Array | None = None,
) -> Landmarks:
    """Place landmarks of every view among some rows.

    If these have no more than `n_landmarks` distinct values in a view, they are its landmarks.
    """
    available = coordinates.available

    def place(p: int) -> Array:
        has = rows if available is None else rows[available[rows, p]]
        return _kmeans_centers(leading_coordinates(coordinates.views[p][has]), n_landmarks, seed)

    views = range(len(coordinates.views))
    importance = np.ones(len(views)) if importance is None else importance
    return Landmarks(tuple(places for _, places in parallel_map(place, views)), importance)


def n_landmarks(n_clusters: int, n_samples: int) -> int:
    """Number of landmarks that pass labels on to so many samples."""
    count = N_LANDMARKS if n_samples <= MANY_SAMPLES else N_LANDMARKS_OF_MANY
    return max(count, LANDMARKS_PER_CLUSTER * n_clusters)


def leading_coordinates(rows: Array) -> Array:
    """Coordinates of rows of a view in which neighbors are found."""
    return rows[:, :LEADING] if len(rows) >= SAMPLES_PER_COORDINATE * LEADING else rows


def _weighted(rows: Array, places: Array) -> Neighbors:
    near, d = nearest_places([rows], [places.astype(rows.dtype, copy=False)], N_NEAREST_LANDMARKS)
    scale = d.mean(axis=1, keepdims=True)
    weights = np.exp(-np.divide(d, scale, out=np.zeros_like(d), where=scale > 0))
    return near, weights / weights.sum(axis=1, keepdims=True)


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
