"""Stage 5, assign: cluster labels of the rows of the embedding."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.linalg import qr
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.core.blockwise_kmeans import distant_rows_in_blocks, refine_centroids
from anchorview.core.cluster_spread import ClusterSpread
from anchorview.core.embedded_rows import EmbeddedRows, LocalRows
from anchorview.core.row_sampling import sampled_rows

AssignmentMethod = Literal["kmeans", "cluster_qr"]

SAMPLE = 20_000
"""Number of rows on which K-means restarts run if there are more than twice as many. With 20,000 of
126,000 rows the inertia was within .1 % of restarts on all rows."""

FINALISTS = 3
"""Number of restarts on the sample that are continued on all rows."""


@dataclass(frozen=True)
class Assignment:
    """Nearest-centroid classifier of rows of the embedding."""

    centroids: Array
    """n_clusters x n_anchors."""
    normalize: bool
    """Whether rows are normalized to unit norm first."""

    def __call__(self, embedding: Array) -> Array:
        """Labels of the rows of an embedding."""
        points = unit_rows(embedding) if self.normalize else embedding
        labels = pairwise_distances_argmin(points, self.centroids.astype(points.dtype))
        return labels.astype(np.int32)

    def squared_distances(self, embedding: Array) -> Array:
        """Squared distances of rows of an embedding to all centroids, in double precision."""
        points = (unit_rows(embedding) if self.normalize else embedding).astype(np.float64)
        squares = np.einsum("ij,ij->i", self.centroids, self.centroids) - 2 * (
            points @ self.centroids.T
        )
        squares += np.einsum("ij,ij->i", points, points)[:, None]
        return np.maximum(squares, 0, out=squares)


def cluster_spread(rows: EmbeddedRows, assignment: Assignment) -> ClusterSpread:
    """Distances of rows to their own centroids by cluster, in one pass."""
    return rows.reduce(partial(_block_spread, assignment=assignment), ClusterSpread.merged)


def _block_spread(embedding: Array, first_row: int, *, assignment: Assignment) -> ClusterSpread:
    labels = assignment(embedding)
    squares = assignment.squared_distances(embedding)
    own = np.take_along_axis(squares, labels[:, None], axis=1)[:, 0]
    return ClusterSpread.of(labels, own, len(assignment.centroids))


def labels_of_runs(assignments: Sequence[Assignment], embedding: Array) -> Array:
    """Labels by several assignments that share `normalize`, (n_assignments, n)."""
    centroids = np.vstack([own.centroids for own in assignments]).astype(embedding.dtype)
    points = unit_rows(embedding) if assignments[0].normalize else embedding
    # The nearest centroid c of x has the largest x'c - c'c / 2.
    scores = points @ centroids.T
    scores -= 0.5 * np.einsum("ij,ij->i", centroids, centroids)
    return scores.reshape(len(embedding), len(assignments), -1).argmax(axis=2).T


def fit_assignment(
    rows: EmbeddedRows,
    n_clusters: int,
    *,
    method: AssignmentMethod,
    normalize: bool,
    n_init: int,
    seed: int,
) -> Assignment:
    """Fit centroids to the rows of the embedding, wherever these are.

    By K-means with `n_init` random restarts, of which the lowest inertia is kept; or by K-means
    started from the rows selected by pivoted QR (as in Damle, Minden and Ying, 2019), which is
    deterministic and needs at least `n_clusters` columns. Few rows are read into memory. If there
    are many, restarts run on a sample and the best are continued on all rows, which gives nearly
    the same inertia in a fraction of the time.
    """
    report_progress("assigning", 0, 1)
    if method == "cluster_qr":
        require_columns(rows.shape[1], n_clusters)
    if rows.shape[0] <= 2 * SAMPLE:
        embedding = rows.whole()
        points = unit_rows(embedding) if normalize else embedding
        if method == "kmeans":
            points = points[_canonical_order(embedding)]
            kmeans = KMeans(n_clusters, n_init=n_init, random_state=seed)
        else:
            start = points[distant_rows(embedding, n_clusters)]
            kmeans = KMeans(n_clusters, init=start, n_init=1)
        centroids = kmeans.fit(points).cluster_centers_
    elif method == "kmeans":
        sample = sampled_rows(rows, SAMPLE, seed)
        starts = _finalists(sample, n_clusters, normalize, n_init, seed)
        centroids = refine_centroids(rows, starts, normalize)
    else:
        start = distant_rows_in_blocks(rows, n_clusters)
        centroids = refine_centroids(rows, [unit_rows(start) if normalize else start], normalize)
    report_progress("assigning", 1, 1)
    return Assignment(centroids.astype(np.float64), normalize)


def assigned(embedding: Array, n_clusters: int, **settings: Any) -> tuple[Assignment, Array]:
    """Assignment fitted to an embedding in memory, and the labels of its rows."""
    assignment = fit_assignment(LocalRows(embedding), n_clusters, **settings)
    return assignment, assignment(embedding)


def _canonical_order(embedding: Array) -> Array:
    """Order of the rows that depends neither on their given order nor on rotations.

    Labels of K-means on rows in this order do not depend on these either. Rows are sorted by norm,
    rounded to nine digits, then by their product with the mean row. In single precision rounding
    would change this order, so rows keep the given one.
    """
    if embedding.dtype != np.float64:
        return np.arange(len(embedding))
    lengths = np.einsum("ij,ij->i", embedding, embedding)
    heights = embedding @ embedding.mean(axis=0)
    return np.lexsort((heights, np.round(lengths / lengths.max(), 9)))


def _finalists(
    sample: Array, n_clusters: int, normalize: bool, n_init: int, seed: int
) -> list[Array]:
    """Centroids of the best of `n_init` K-means runs on a sample of rows."""
    points = unit_rows(sample) if normalize else sample
    runs = [
        KMeans(n_clusters, n_init=1, random_state=int(run_seed)).fit(points)
        for run_seed in np.random.RandomState(seed).randint(2**31 - 1, size=n_init)
    ]
    runs.sort(key=lambda model: model.inertia_)
    return [model.cluster_centers_ for model in runs[:FINALISTS]]


def distant_rows(embedding: Array, count: int) -> Array:
    """Positions of the rows selected by pivoted QR: long, and far from the span of those before."""
    require_columns(embedding.shape[1], count)
    _, pivots = qr(embedding.T, mode="r", pivoting=True)
    return pivots[:count]


def require_columns(n_anchors: int, count: int) -> None:
    """Raise if there are too few columns to select that many rows by pivoted QR."""
    if n_anchors < count:
        raise ValueError(
            "assignment='cluster_qr' needs n_anchors >= n_clusters; got "
            f"{n_anchors} anchors for {count} clusters. Use assignment='kmeans'."
        )
