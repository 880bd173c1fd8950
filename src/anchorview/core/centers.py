"""Rows of an embedding, their nearest centers, and how far they lie from these.

``|x - c|^2 = |x|^2 - 2 (x'c - c'c / 2)``, so the nearest center of a row has the largest score
``x'c - c'c / 2``. Scores are found in blocks of matrix products.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from anchorview._utils.linalg import finite_lengths, unit_rows
from anchorview._utils.threads import parallel_map, row_slices, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.views.row_source import Result

SCORES, MIN_SCORED_ROWS = 2**18, 128
"""Number of scores that are held at a time, what a core has in its cache, and minimum number of
rows for which they are computed together."""

COMPARED_ROWS = 4096
"""Number of rows that a thread compares with the centers at a time."""

BLOCK = 2**20
"""Bytes of a block as float64."""

MANY_CLUSTERS = 100
"""Number of clusters above which rows are compared with centroids in single precision."""

NEAR_TIE = 1e-5
"""Difference of scores in single precision that rounding may have caused, relative to the lengths
of row and centroid."""

RowsFunction = Callable[[Array, int, Array | None], Result]
"""Function of a block of rows, the position of the first one, and the weights, if they have any."""


class EmbeddedRows:
    """The rows of an embedding, one per sample, and their labels once `label` was called.

    These are rows that this process can read by slices: an array, or a view on disk. Those of
    weight zero are labeled, but do not count otherwise.
    """

    labels: Any = None

    def __init__(self, embedding: Any, weights: Array | None = None) -> None:
        self.embedding, self.weights = embedding, weights
        self.shape: tuple[int, int] = embedding.shape
        self.total_weight: float = self.shape[0] if weights is None else float(weights.sum())

    def label(self, function: Callable[[Array], Array]) -> None:
        """Label all rows by a function of a block of rows."""
        self.labels = function(self.embedding)

    def weights_of(self, rows: slice) -> Array | None:
        """Weights of some rows."""
        return None if self.weights is None else self.weights[rows]

    def reduce(
        self, function: RowsFunction[Result], merge: Callable[[Result, Result], Result]
    ) -> Result:
        """Function of all blocks, merged in order."""
        with closing(self.over_blocks(function)) as results:
            return reduce(merge, results)

    def over_blocks(self, function: RowsFunction[Result]) -> Generator[Result]:
        """Yield the results of all blocks in order."""

        def work(rows: slice) -> Result:
            with without_nested_threads():
                return function(self.embedding[rows], rows.start, self.weights_of(rows))

        n, width = self.shape
        # Blocks of equal sizes keep all threads busy.
        step = -(-n // max(1, -(-8 * width * n // BLOCK)))
        for _, result in parallel_map(work, row_slices(n, step)):
            yield result


def score_weights(centers: Array, dtype: "np.dtype[Any]") -> Array:
    """Matrix to multiply rows and a column of ones with, for their scores for all centers."""
    halves = np.einsum("ij,ij->i", centers, centers) / 2
    return np.ascontiguousarray(np.column_stack([centers, -halves]).T, dtype=dtype)


def for_scores(
    rows: Array, centers: Array, dtype: "np.dtype[Any]", work: Callable[[slice, Array], None]
) -> None:
    """Call ``work(block, scores)`` in threads for all rows; it may overwrite the scores."""
    weights = score_weights(centers, dtype)
    step = max(MIN_SCORED_ROWS, SCORES // weights.shape[1])

    def score(part: slice) -> None:
        extended = np.ones((part.stop - part.start, len(weights)), dtype)
        extended[:, :-1] = rows[part]
        buffer = np.empty((min(step, len(extended)), weights.shape[1]), dtype)
        with without_nested_threads():
            for block in row_slices(len(extended), step):
                points = extended[block]
                scores = np.matmul(points, weights, out=buffer[: len(points)])
                work(slice(part.start + block.start, part.start + block.stop), scores)

    for _ in parallel_map(score, row_slices(len(rows), COMPARED_ROWS)):
        pass


def nearest_centers(rows: Array, centers: Array, dtype: "np.dtype[Any] | None" = None) -> Array:
    """Positions of the nearest centers, compared in `dtype` or the higher precision of both.

    For several sets of centers, (n_sets, n_centers, width), the result is (n_sets, n).
    """
    sets = centers.reshape(-1, *centers.shape[-2:])
    nearest = np.empty((len(sets), len(rows)), np.intp)

    def work(block: slice, scores: Array) -> None:
        by_set = scores.reshape(len(scores), len(sets), -1)
        nearest[:, block] = by_set.argmax(axis=2).T

    for_scores(rows, sets.reshape(-1, sets.shape[2]), dtype or np.result_type(rows, centers), work)
    return nearest if centers.ndim == 3 else nearest[0]


def squared_distances(rows: Array, centers: Array, known: Array | None = None) -> Array:
    """Squared distances to all centers, (n, n_centers).

    With `known`, they are sums over the known values of each row; the other values are 0.
    """
    squares = np.einsum("ij,ij->i", centers, centers)
    if known is not None:
        squares = known.astype(rows.dtype) @ np.square(centers).T
    distances: Array = squares - 2 * (rows @ centers.T)
    distances += np.einsum("ij,ij->i", rows, rows)[:, None]
    return np.maximum(distances, 0, out=distances)


@dataclass(frozen=True)
class ClusterSpread:
    """Numbers of samples and sums of their squared distances to the centers of their clusters."""

    sizes: Array
    """Number of samples of each cluster, or sum of their weights, as float64."""
    squares: Array
    """Sum over the samples of each cluster."""

    @classmethod
    def of(
        cls, labels: Array, squares: Array, n_clusters: int, weights: Array | None = None
    ) -> "ClusterSpread":
        """Spread of samples with these labels and squared distances to their centers."""
        squares = squares if weights is None else weights * squares
        return cls(
            np.bincount(labels, weights, n_clusters).astype(np.float64),
            np.bincount(labels, squares, n_clusters),
        )

    def merged(self, other: "ClusterSpread") -> "ClusterSpread":
        """Spread of the samples of both."""
        return ClusterSpread(self.sizes + other.sizes, self.squares + other.squares)

    @property
    def mean_square(self) -> float:
        """Mean squared distance of all samples to their centers."""
        return float(self.squares.sum() / self.sizes.sum())

    def membership_scale(self, n_clusters: int) -> float:
        """Squared distance at which a membership falls to 1/e: ``mean_square / log(k)``.

        Memberships are then ``k ** (-square / mean_square)``, so that k clusters that are further
        away by the mean square count together as much as the nearest one, whatever their number.
        """
        return self.mean_square / float(np.log(n_clusters))

    @property
    def mean_square_per_cluster(self) -> Array:
        """Mean squared distance by cluster; that of all samples for an empty cluster."""
        everywhere = np.full_like(self.squares, self.mean_square)
        return np.divide(self.squares, self.sizes, out=everywhere, where=self.sizes > 0)


@dataclass(frozen=True)
class Assignment:
    """Nearest-centroid classifier of rows of the embedding."""

    centroids: Array
    """n_clusters x n_anchors."""
    normalize: bool
    """Whether rows are normalized to unit norm first."""

    def __call__(self, embedding: Array) -> Array:
        """Labels of the rows of an embedding."""
        points = self._points(embedding)
        if len(self.centroids) > MANY_CLUSTERS:
            return self._nearest_of_many(points)
        return nearest_centers(points, self.centroids).astype(np.int32)

    def _points(self, embedding: Array) -> Array:
        """Rows that are compared with the centroids."""
        if self.normalize:
            return unit_rows(embedding)
        finite_lengths(embedding)
        return embedding

    def _nearest_of_many(self, points: Array) -> Array:
        """Labels of points by products in single precision; those in doubt, in double precision."""
        reach = float(np.linalg.norm(self.centroids, axis=1).max())
        labels = np.empty(len(points), np.int32)

        def work(rows: slice, scores: Array) -> None:
            block, at = points[rows], np.arange(len(scores))
            labels[rows] = scores.argmax(axis=1)
            best = scores[at, labels[rows]]
            scores[at, labels[rows]] = -np.inf
            margin = NEAR_TIE * reach * (np.sqrt(np.einsum("ij,ij->i", block, block)) + reach)
            doubtful = np.flatnonzero(best - scores.max(axis=1) <= margin)
            if len(doubtful):
                labels[rows][doubtful] = nearest_centers(block[doubtful], self.centroids)

        for_scores(points, self.centroids, np.dtype(np.float32), work)
        return labels

    def squared_distances_to_label(self, embedding: Array, labels: Array) -> Array:
        """Squared distances of rows of an embedding to the centroids of their labels."""
        points = self._points(embedding).astype(np.float64)
        points -= self.centroids[labels]
        squares: Array = np.einsum("ij,ij->i", points, points)
        return squares

    def squared_distances(self, embedding: Array) -> Array:
        """Squared distances of rows of an embedding to all centroids, in double precision."""
        return squared_distances(self._points(embedding).astype(np.float64), self.centroids)


def cluster_spread(
    rows: EmbeddedRows, assignment: Assignment, labels: Array | None = None
) -> ClusterSpread:
    """Distances of rows to the centroids of their labels, by cluster, in one pass."""
    work = partial(_block_spread, assignment=assignment, labels=labels)
    return rows.reduce(work, ClusterSpread.merged)


def _block_spread(
    embedding: Array,
    first_row: int,
    weights: Array | None,
    *,
    assignment: Assignment,
    labels: Array | None,
) -> ClusterSpread:
    known = None if labels is None else labels[first_row : first_row + len(embedding)]
    labels = assignment(embedding) if known is None else known
    squares = assignment.squared_distances_to_label(embedding, labels)
    return ClusterSpread.of(labels, squares, len(assignment.centroids), weights)


def labels_of_runs(assignments: Sequence[Assignment], embedding: Array) -> Array:
    """Labels by several assignments that share `normalize`, (n_assignments, n)."""
    points = unit_rows(embedding) if assignments[0].normalize else embedding
    return nearest_centers(points, np.stack([run.centroids for run in assignments]))
