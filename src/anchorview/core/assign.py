"""Stage 5, assign: cluster labels of the rows of the embedding."""

from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.linalg import qr
from sklearn.cluster import KMeans
from sklearn.cluster import kmeans_plusplus as sklearn_plusplus

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import report_progress
from anchorview._utils.threads import parallel_map
from anchorview._utils.typing import Array
from anchorview.core.blockwise_kmeans import (
    TOLERANCE,
    distant_rows_in_blocks,
    kmeans_plusplus,
    lloyd,
    precision_for,
    repair,
    sampled_rows,
)
from anchorview.core.centers import MANY_CLUSTERS, Assignment, EmbeddedRows

AssignmentMethod = Literal["kmeans", "cluster_qr"]

SAMPLE, SAMPLE_PER_CLUSTER = 20_000, 10
"""Minimum number of rows, in all and per cluster, on which K-means restarts run if there are more
than twice as many. With 20,000 of 126,000 rows the inertia was within .1 % of restarts on all."""

SEEDED_ROWS = 20_000
"""Maximum number of rows of the sample from which k-means++ selects. Its time grows with the
product of rows and clusters; repairs make up for what few rows per cluster miss."""

MAX_RESTARTED = 200
"""Number of restarts times clusters above which fewer restarts run, as repairs make up for them.
With 60,000 to 110,000 rows the inertia of 26 to 1,000 clusters was that of more restarts within
.1 %, in a third to all of the time."""

MOST_INDEPENDENT = 4_000_000
"""Number of rows times clusters up to which restarts run independently on all rows, as in
scikit-learn, if rows are few."""

VERY_MANY_CLUSTERS = 2000
"""Number of clusters above which a step takes as long as all else, and fewer steps are made."""

SETTLED = (1e-5, 1e-3, 3e-3)
"""Relative decrease of the inertia in a step below which it is not continued; the second and third
with more than `MANY_CLUSTERS` and `VERY_MANY_CLUSTERS` clusters. For 10,000 overlapping clusters of
200,000 rows, 5 steps instead of 7 end .2 % higher."""

PACE_OF_MANY = 1.8
"""Length of steps on all rows with more than `MANY_CLUSTERS` clusters. For 1,000 overlapping
clusters of 110,000 rows, 12 such steps reach the inertia of 35 steps of length 1. From the rows
that k-means++ selects, longer steps do not help."""

SETTLED_ON_SAMPLE = (1e-4, 1e-3, 5e-3)
"""The same on a sample. With 1e-5, ten clusters of 60,000 rows had the same inertia within .005 %
and the sample took a third to a half longer."""


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

    By the K-means run with the lowest inertia of `n_init` random restarts; or by K-means
    started from the rows selected by pivoted QR (as in Damle, Minden and Ying, 2019), which is
    deterministic and needs at least `n_clusters` columns. Few rows are read into memory. If there
    are many rows or clusters, restarts run on a sample and the best is continued on all rows, which
    gives nearly the same inertia in a fraction of the time.
    """
    report_progress("assigning", 0, 1)
    n, width = rows.shape
    if method == "cluster_qr":
        require_columns(width, n_clusters)
    if n <= 2 * SAMPLE and (method == "cluster_qr" or n * n_clusters <= MOST_INDEPENDENT):
        embedding, weights = np.asarray(rows.embedding), rows.weights
        if weights is not None:
            embedding, weights = embedding[weights > 0], weights[weights > 0]
        points = unit_rows(embedding) if normalize else embedding
        tolerance = _kmeans_tolerance(points, weights)
        if method == "kmeans":
            order = _canonical_order(embedding, weights)
            points, weights = points[order], None if weights is None else weights[order]
            init: Any = partial(_plusplus, weights=weights)
        else:
            init, n_init = points[distant_rows(embedding, n_clusters)], 1
        kmeans = KMeans(n_clusters, init=init, n_init=n_init, tol=tolerance, random_state=seed)
        centroids = kmeans.fit(points, sample_weight=weights).cluster_centers_
    elif method == "kmeans":
        start = _start_from_sample(rows, n_clusters, normalize, n_init, seed)
        settled = _by_number(n_clusters, SETTLED)
        pace = PACE_OF_MANY if n_clusters > MANY_CLUSTERS else 1.0
        centroids = lloyd(rows, start[None], normalize, settled, pace=pace).centroids[0]
    else:
        rows_apart = distant_rows_in_blocks(rows, n_clusters)
        start = unit_rows(rows_apart) if normalize else rows_apart
        centroids = lloyd(rows, start[None], normalize, SETTLED[0]).centroids[0]
    report_progress("assigning", 1, 1)
    return Assignment(centroids.astype(np.float64), normalize)


def _plusplus(
    points: Array,
    n_clusters: int,
    random_state: np.random.RandomState,
    weights: Array | None = None,
) -> Array:
    """Start of K-means as in scikit-learn, which is faster on rows in double precision."""
    exact = points.astype(np.float64, copy=False)
    start, _ = sklearn_plusplus(exact, n_clusters, sample_weight=weights, random_state=random_state)
    return np.asarray(start, dtype=points.dtype)


def _kmeans_tolerance(points: Array, weights: Array | None) -> float:
    """Tolerance of scikit-learn's K-means, which multiplies it by the variance without weights."""
    if weights is None:
        return TOLERANCE
    centered = points - np.average(points, axis=0, weights=weights)
    variance = np.average(np.square(centered), axis=0, weights=weights).mean()
    return float(TOLERANCE * variance / max(points.var(axis=0).mean(), np.finfo(float).tiny))


def _start_from_sample(
    rows: EmbeddedRows, n_clusters: int, normalize: bool, n_init: int, seed: int
) -> Array:
    """Centroids of the best K-means run on a sample of rows, repaired."""
    count = min(max(SAMPLE, SAMPLE_PER_CLUSTER * n_clusters), rows.shape[0])
    sample = sampled_rows(rows, count, seed)
    points = sample.astype(precision_for(sample, n_clusters), copy=False)
    points = unit_rows(points) if normalize else points
    n_starts = min(n_init, max(1, MAX_RESTARTED // n_clusters))
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=n_starts).tolist()
    seeded = points[: max(SEEDED_ROWS, n_clusters)]

    def started(run_seed: int) -> Array:
        return kmeans_plusplus(seeded, n_clusters, np.random.RandomState(run_seed))

    starts = np.stack([start for _, start in parallel_map(started, seeds)])
    settled = _by_number(n_clusters, SETTLED_ON_SAMPLE)
    return repair(points, lloyd(EmbeddedRows(points), starts, False, settled), settled)


def _by_number(n_clusters: int, limits: tuple[float, float, float]) -> float:
    return limits[(n_clusters > MANY_CLUSTERS) + (n_clusters > VERY_MANY_CLUSTERS)]


def assigned(embedding: Array, n_clusters: int, **settings: Any) -> tuple[Assignment, Array]:
    """Assignment fitted to an embedding in memory, and the labels of its rows."""
    assignment = fit_assignment(EmbeddedRows(embedding), n_clusters, **settings)
    return assignment, assignment(embedding)


def _canonical_order(embedding: Array, weights: Array | None) -> Array:
    """Order of the rows that depends neither on their given order nor on rotations.

    Labels of K-means on rows in this order do not depend on these either. Rows are sorted by norm,
    rounded to nine digits, then by their product with the mean row. In single precision rounding
    would change this order, so rows keep the given one.
    """
    if embedding.dtype != np.float64:
        return np.arange(len(embedding))
    lengths = np.einsum("ij,ij->i", embedding, embedding)
    mean = embedding.mean(axis=0) if weights is None else weights @ embedding
    heights = embedding @ mean
    return np.lexsort((heights, np.round(lengths / lengths.max(), 9)))


def distant_rows(embedding: Array, count: int) -> Array:
    """Positions of the rows selected by pivoted QR: long, and far from the span of those before."""
    _, pivots = qr(embedding.T, mode="r", pivoting=True)
    return pivots[:count]


def require_columns(n_anchors: int, count: int) -> None:
    """Raise if there are too few columns to select that many rows by pivoted QR."""
    if n_anchors < count:
        raise ValueError(
            "assignment='cluster_qr' needs n_anchors >= n_clusters; got "
            f"{n_anchors} anchors for {count} clusters. Use assignment='kmeans'."
        )
