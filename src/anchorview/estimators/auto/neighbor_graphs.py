"""Graphs of nearest neighbors: their eigenvectors, and Louvain communities.

In each view a sample i is connected to its nearest neighbors j with the self-tuning weights
``exp(-d_ij / (s_i s_j))``, where ``d`` are squared distances and ``s`` is the distance to the
farthest of the neighbors. Weights are the maximum of both directions, ``N = D^-1/2 W D^-1/2``, and
the graph is the mean of the views', weighted by their importance ``w``. Cross-diffusion sends one
view's neighbors through the graphs of the others: ``sum_v w_v N_v mean(w_u N_u, u != v) N_v / V +
mean(w_v N_v) / 2``. Of more equal rows than neighbors, those that are near in other views are
neighbors.
"""

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Self

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sknetwork.clustering import Louvain

from anchorview._utils.threads import parallel_map
from anchorview._utils.typing import Array
from anchorview.core.neighbors import nearest_others, normalized_affinity
from anchorview.estimators.auto.landmarks import leading_coordinates
from anchorview.views.container import MultiViewData

N_NEIGHBORS = 15
"""Number of neighbors."""

DENSE_SIZE = 500
"""Number of samples up to which all eigenvectors are computed."""

EIGENVECTOR_TOLERANCE = 1e-5

LOG_RESOLUTIONS = (-8.0, 8.0)
"""Range of the base-2 logarithm of resolutions."""

WEIGHT_DIGITS = 7
"""Digits of the weights from which communities are found."""

MAX_TRIALS = 8
"""Maximum number of resolutions that are tried to find a number of communities."""

MAX_RATIO, MIN_STEP = 1.3, 0.5
"""Communities that are more than asked for by at most this factor are merged, and minimum step of
the logarithm of resolutions: both save trials, and accuracy does not depend on them."""

EQUAL, OTHER_VIEWS = 1e-10, 0.03
"""Share of the mean squared norm up to which rows of a view are taken to be equal, and factor of
the coordinates of other views if there are more equal rows than neighbors, as in views of a few
categories."""

Neighbors = tuple[Array, Array, Array]
"""Rows that have a view, the nearest others of each, nearest first, and squared distances."""


class NeighborGraph:
    """The neighbor graphs of the views of some samples."""

    def __init__(
        self,
        coordinates: MultiViewData,
        n_neighbors: int = N_NEIGHBORS,
        importance: Array | None = None,
        neighbors: list[Neighbors] | None = None,
    ) -> None:
        self.n_samples = len(coordinates)
        self._coordinates = coordinates
        views = range(len(coordinates.views))
        self._importance = np.ones(len(views)) if importance is None else importance
        if neighbors is None:
            found = parallel_map(partial(_neighbors_in, coordinates, n_neighbors), views)
            neighbors = [result for _, result in found]
        self._neighbors = neighbors
        self._communities: dict[float, Array] = {}
        self._views = [self._graph(*of_view, n_neighbors) for of_view in neighbors]
        weighted = [w * N for w, N in zip(self._importance, self._views, strict=True)]
        self._sum: sparse.csr_array = sum(weighted[1:], weighted[0])
        mean = self._sum * (1 / len(self._views))
        if coordinates.available is not None:
            # Samples that lack views have weights in fewer graphs.
            mean = normalized_affinity(mean)
        self.mean: sparse.csr_array = mean

    def of_nearest(self, count: int) -> Self:
        """Return the graph of fewer neighbors."""
        return type(self)(self._coordinates, count, self._importance, self._neighbors)

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
        """`n_clusters` communities, merged from the fewest that were found; None if all are fewer.

        The most connected communities are merged.
        """
        enough = [own for own in self._communities.values() if own.max() + 1 >= n_clusters]
        return _merged(min(enough, key=np.max), self.mean, n_clusters) if enough else None

    def n_communities(self, n_clusters: int) -> Array:
        """`n_clusters` Louvain communities.

        A resolution with as many, or hardly more, is found by bisection, and the most connected
        communities are merged. There may be fewer, if the graph does not have as many.
        """
        tried: dict[float, Array] = {}
        for _ in range(MAX_TRIALS):
            counts = {power: int(labels.max()) + 1 for power, labels in tried.items()}
            power = _next_power(counts, n_clusters)
            tried[power] = self.communities(2.0**power)
            if n_clusters <= tried[power].max() + 1 <= MAX_RATIO * n_clusters:
                return _merged(tried[power], self.mean, n_clusters)
        # Further away the number grows fast, and merging takes cubic time in it.
        power = max(tried)
        while tried[power].max() < n_clusters and power < LOG_RESOLUTIONS[1]:
            power = min(power + 1, LOG_RESOLUTIONS[1])
            tried[power] = self.communities(2.0**power)
        enough = [labels for labels in tried.values() if labels.max() >= n_clusters]
        return _merged(min(enough or [tried[power]], key=np.max), self.mean, n_clusters)

    def eigenvectors(self, count: int, *, diffused: bool) -> Array:
        """Leading eigenvectors (columns) of the mean graph, or after cross-diffusion."""
        n = self.n_samples
        count = min(count, n - 1)
        if n <= DENSE_SIZE:
            matrix = self._diffusion(np.eye(n)) if diffused else self.mean.toarray()
            return np.linalg.eigh(matrix)[1][:, -count:]
        operator = LinearOperator((n, n), matvec=self._diffusion, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n)
        _, vectors = eigsh(
            operator if diffused else self.mean,
            k=count,
            which="LA",
            v0=start,
            tol=EIGENVECTOR_TOLERANCE,
        )
        return np.asarray(vectors)

    def _diffusion(self, M: Array) -> Array:
        """Cross-diffused graph, normalized by degree, times a matrix or vector."""
        factors = self._diffusion_factors if M.ndim == 1 else self._diffusion_factors[:, None]
        return np.asarray(factors * self._unnormalized(factors * M))

    def _unnormalized(self, M: Array) -> Array:
        total = self._sum @ M / (2 * len(self._views))
        for w, N in zip(self._importance, self._views, strict=True):
            neighbors = N @ M
            others = self._sum @ neighbors - w * (N @ neighbors)
            total += w * (N @ others) / (len(self._views) * max(1, len(self._views) - 1))
        return np.asarray(total)

    @cached_property
    def _diffusion_factors(self) -> Array:
        return _inverse_roots(self._unnormalized(np.ones(self.n_samples)))

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


def _neighbors_in(coordinates: MultiViewData, n_neighbors: int, view: int) -> Neighbors:
    """Nearest neighbors in a view of the samples that have it."""
    rows = np.arange(len(coordinates))
    if coordinates.available is not None:
        rows = np.flatnonzero(coordinates.available[:, view])
    if len(rows) < 2:
        return rows, np.empty((len(rows), 0), int), np.empty((len(rows), 0))
    points = leading_coordinates(coordinates.views[view][rows])
    near, squares = nearest_others([points], n_neighbors)
    if (squares[:, -1] <= EQUAL * np.square(points).sum(axis=1).mean()).any():
        # Of many equal rows, those that are also near in other views are neighbors.
        others = (own[rows] for q, own in enumerate(coordinates.views) if q != view)
        added = [OTHER_VIEWS * leading_coordinates(own) for own in others]
        near, _ = nearest_others([np.hstack([points, *added])], n_neighbors)
        away = (np.square(points - points[column]).sum(axis=1) for column in near.T)
        squares = np.column_stack(list(away))
        order = np.argsort(squares, axis=1, kind="stable")
        near, squares = (np.take_along_axis(x, order, axis=1) for x in (near, squares))
    return rows, near, squares.astype(np.float64)


def _next_power(counts: Mapping[float, int], n_clusters: int) -> float:
    """Base-2 logarithm of the resolution at which a number of communities is expected.

    `counts` are numbers of communities by such logarithms.
    """
    below = [(x, count) for x, count in counts.items() if count < n_clusters]
    above = [(x, count) for x, count in counts.items() if count >= n_clusters]
    if not counts:
        return 0.0
    if below and above:
        # At least a quarter of the way from both, as in a bisection.
        (x, few), (z, many) = max(below), min(above)
        share = np.log2(n_clusters / few) / np.log2(many / few) if many > n_clusters else 1.0
        return float(x + (z - x) * np.clip(share, 0.25, 0.75))
    x, count = max(below) if below else min(above)
    step = np.log2(n_clusters / count)
    step = max(step, MIN_STEP) if below else min(step, -MIN_STEP)
    return float(np.clip(x + step, *LOG_RESOLUTIONS))


def _inverse_roots(degrees: Array) -> Array:
    roots = np.sqrt(np.maximum(degrees, 0))
    return np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)


def _merged(labels: Array, graph: sparse.csr_array, n_clusters: int) -> Array:
    """Communities of which the most connected, relative to their degrees, are merged."""
    count = int(labels.max()) + 1
    members = sparse.csr_array(
        (np.ones(len(labels)), labels, np.arange(len(labels) + 1)), shape=(len(labels), count)
    )
    weights = (members.T @ graph @ members).toarray()
    degrees = np.maximum(weights.sum(axis=1), np.finfo(float).tiny)
    merged = np.arange(count)
    alive = np.ones(count, dtype=bool)
    while alive.sum() > n_clusters:
        ratios = weights / np.outer(degrees, degrees)
        ratios[~alive], ratios[:, ~alive] = -1, -1
        np.fill_diagonal(ratios, -1)
        first, second = divmod(int(ratios.argmax()), count)
        weights[first] += weights[second]
        weights[:, first] += weights[:, second]
        degrees[first] += degrees[second]
        alive[second] = False
        merged[merged == second] = first
    return np.unique(merged[labels], return_inverse=True)[1].ravel()
