"""Neighbors: graphs of the samples, and landmarks by which any samples are compared with these.

In each view a sample i is connected to its nearest neighbors j by ``exp(-d_ij / (s_i s_j))``, with
squared distances ``d`` and the distance ``s`` to the farthest of the neighbors. Weights are the
maximum of both directions, ``N = D^-1/2 W D^-1/2``, and the graph is the mean of the views',
weighted by their importance.

The landmarks of a view are the centers of a K-means run. A sample has the weights ``exp(-d_j / s)``
on its nearest ones, where ``s`` is the mean of its ``d_j``, normalized to sum 1, times the
importance of the view. A landmark votes for the label with most weight on it, by its share.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans
from sknetwork.clustering import Louvain
from sknetwork.hierarchy import Paris

from anchorview._utils.threads import for_blocks, parallel_map
from anchorview._utils.typing import Array
from anchorview.core.neighbors import (
    MAX_DISTANCES,
    graph_of_neighbors,
    nearest_others,
    nearest_places,
    normalized_affinity,
)
from anchorview.estimators.partitions.consensus import cluster_members
from anchorview.views.container import MultiViewData, RowBlock

N_NEIGHBORS = 15

DENSE_SIZE = 500
"""Number of samples up to which all eigenvectors are computed."""

EIGENVECTOR_TOLERANCE = 1e-5

LOG_RESOLUTIONS = (-8.0, 8.0)
"""Range of the base-2 logarithm of resolutions."""

WEIGHT_DIGITS = 7
"""Digits of the weights from which communities are found."""

MAX_TRIALS, MAX_RATIO, MIN_STEP = 8, 1.3, 0.5
"""Maximum number of resolutions that are tried to find a number of communities, the factor up to
which they may be more than asked for, and step of the logarithm of resolutions."""

TINY = 1e-9
"""Weight within communities, which may have none."""

EQUAL, OTHER_VIEWS = 1e-10, 0.03
"""Share of the mean squared norm up to which rows are equal, and factor of the coordinates of other
views if there are more equal rows than neighbors, as in views of a few categories."""

NeighborRows = tuple[Array, Array, Array]
"""Rows that have a view, the nearest others of each, nearest first, and squared distances."""


class NeighborGraph:
    """The neighbor graphs of the views of some samples."""

    def __init__(self, coordinates: MultiViewData, importance: Array | None = None) -> None:
        self.n_samples, views = len(coordinates), range(len(coordinates.views))
        self._importance = np.ones(len(views)) if importance is None else importance
        self._complete = coordinates.available is None
        found = parallel_map(partial(_neighbors_in, coordinates), views)
        self._neighbors = [result for _, result in found]
        self._connect(N_NEIGHBORS)

    def of_nearest(self, count: int) -> Self:
        """Return the graph of fewer neighbors."""
        fewer = copy(self)
        fewer._connect(count)
        return fewer

    def _connect(self, count: int) -> None:
        self._communities: dict[float, Array] = {}
        graphs = [self._graph(*of_view, count) for of_view in self._neighbors]
        mean = sum(w * N for w, N in zip(self._importance, graphs, strict=True)) / len(graphs)
        # Samples that lack views have weights in fewer graphs.
        self.mean: sparse.csr_array = mean if self._complete else normalized_affinity(mean)

    def communities(self, resolution: float) -> Array:
        """Louvain communities at a resolution, by descending size."""
        if resolution not in self._communities:
            # The class knows matrices of SciPy, not arrays.
            graph = sparse.csr_matrix(self.mean)
            # Communities must not depend on rounding, which the order of samples decides.
            graph.data = np.round(graph.data, WEIGHT_DIGITS)
            # Not its Leiden class, which draws from the C library's generator without a seed.
            method = Louvain(resolution, return_probs=False, return_aggregate=False)
            self._communities[resolution] = method.fit_predict(graph)
        return self._communities[resolution]

    def merged_communities(self, n_clusters: int) -> Array | None:
        """`n_clusters` communities, merged from the fewest that were found; None if fewer."""
        enough = [own for own in self._communities.values() if own.max() + 1 >= n_clusters]
        return _merged(min(enough, key=np.max), self.mean, n_clusters) if enough else None

    def at_number(self, n_clusters: int) -> Array:
        """`n_clusters` communities, merged from those found before, or of another resolution."""
        merged = self.merged_communities(n_clusters)
        return self.n_communities(n_clusters) if merged is None else merged

    def n_communities(self, n_clusters: int) -> Array:
        """`n_clusters` communities, merged from those of a searched resolution; all, if fewer."""
        tried = []
        (low, high), power = LOG_RESOLUTIONS, 0.0
        for _ in range(MAX_TRIALS):
            tried.append(self.communities(2.0**power))
            count = int(tried[-1].max()) + 1
            if n_clusters <= count <= MAX_RATIO * n_clusters:
                break
            low, high = (power, high) if count < n_clusters else (low, power)
            # Their number is about proportional; not too near to what is known.
            step, guess = min(MIN_STEP, (high - low) / 4), power + np.log2(n_clusters / count)
            power = float(np.clip(guess, low + step, high - step))
        enough = [labels for labels in tried if labels.max() >= n_clusters - 1]
        return _merged(min(enough or [max(tried, key=np.max)], key=np.max), self.mean, n_clusters)

    def eigenvectors(self, count: int) -> Array:
        """Leading eigenvectors (columns) of the graph."""
        n = self.n_samples
        count = min(count, n - 1)
        if n <= DENSE_SIZE:
            return np.linalg.eigh(self.mean.toarray())[1][:, -count:]
        start = np.random.default_rng(0).standard_normal(n)
        found = eigsh(self.mean, k=count, which="LA", v0=start, tol=EIGENVECTOR_TOLERANCE)
        return np.asarray(found[1])

    def _graph(self, rows: Array, near: Array, squares: Array, count: int) -> sparse.csr_array:
        """Normalized graph of a view, of which `rows` have it."""
        n, count = self.n_samples, min(count, near.shape[1])
        if not count:
            return sparse.csr_array((n, n))
        near, squares = near[:, :count], squares[:, :count]
        reach = np.sqrt(squares[:, -1])
        scale = reach[:, None] * reach[near]
        # Samples with as many equal neighbors are connected to these alone.
        weights = np.exp(-np.divide(squares, scale, out=np.zeros_like(squares), where=scale > 0))
        indices = (np.repeat(rows, count), rows[near].ravel())
        W = sparse.csr_array((weights.ravel(), indices), shape=(n, n))
        W = W.maximum(W.T)
        return normalized_affinity(W)


def _neighbors_in(coordinates: MultiViewData, view: int) -> NeighborRows:
    """Nearest neighbors in a view of the samples that have it."""
    rows = coordinates.rows_with(view)
    if len(rows) < 2:
        return rows, np.empty((len(rows), 0), int), np.empty((len(rows), 0))
    points = leading_coordinates(coordinates.views[view][rows])
    near, squares = nearest_others(points, N_NEIGHBORS)
    if (squares[:, -1] <= EQUAL * np.square(points).sum(axis=1).mean()).any():
        # Of many equal rows, those that are also near in other views are neighbors.
        others = (own[rows] for q, own in enumerate(coordinates.views) if q != view)
        added = [OTHER_VIEWS * leading_coordinates(own) for own in others]
        near, _ = nearest_others(np.hstack([points, *added]), N_NEIGHBORS)
        away = (np.square(points - points[column]).sum(axis=1) for column in near.T)
        squares = np.column_stack(list(away))
        order = np.argsort(squares, axis=1, kind="stable")
        near, squares = (np.take_along_axis(x, order, axis=1) for x in (near, squares))
    return rows, near, squares.astype(np.float64)


def _merged(labels: Array, graph: sparse.csr_array, n_clusters: int) -> Array:
    """Communities of which the most connected, relative to their degrees, are merged."""
    count = int(labels.max()) + 1
    if count <= n_clusters:
        return labels
    members = cluster_members(labels[None], count)
    weights = (members.T @ graph @ members).toarray() + TINY * np.eye(count)
    tree = Paris().fit_predict(weights)
    merged = np.arange(count)
    for step, pair in enumerate(tree[: count - n_clusters, :2]):
        merged[np.isin(merged, pair)] = count + step
    return np.unique(merged[labels], return_inverse=True)[1].ravel()


# Landmarks

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
        pairs = zip(neighbors, self.counts, strict=True)
        return [graph_of_neighbors(*own, count).sorted_indices() for own, count in pairs]

    def labels(
        self, neighbors: Sequence[Neighbors], partitions: Array, n_clusters: int
    ) -> "LandmarkLabels":
        """Labels of the landmarks of all views in each partition."""
        weights = self.weights(neighbors)
        labels, shares = [], []
        for partition in partitions:
            members = cluster_members(partition[None], n_clusters)
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
    coordinates: MultiViewData, n_landmarks: int, rows: Array, seed: int, importance: Array
) -> Landmarks:
    """Place landmarks of every view among some rows; few distinct values are landmarks."""

    def place(p: int) -> Array:
        has = rows[coordinates.has_view(p)[rows]]
        return _kmeans_centers(leading_coordinates(coordinates.views[p][has]), n_landmarks, seed)

    placed = parallel_map(place, range(len(coordinates.views)))
    return Landmarks(tuple(places for _, places in placed), importance)


def n_landmarks(n_clusters: int, n_samples: int) -> int:
    """Number of landmarks that pass labels on to so many samples."""
    count = N_LANDMARKS if n_samples <= MANY_SAMPLES else N_LANDMARKS_OF_MANY
    return max(count, LANDMARKS_PER_CLUSTER * n_clusters)


def leading_coordinates(rows: Array) -> Array:
    """Coordinates of rows of a view in which neighbors are found."""
    return rows[:, :LEADING] if len(rows) >= SAMPLES_PER_COORDINATE * LEADING else rows


def _weighted(rows: Array, places: Array) -> Neighbors:
    near, d = nearest_places(rows, places.astype(rows.dtype, copy=False), N_NEAREST_LANDMARKS)
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
