"""From the embedding to labels, for the training samples and for new ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import qr
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin

from anchorview._typing import Array
from anchorview.progress import report

AssignmentMethod = Literal["kmeans", "cluster_qr"]

SAMPLE = 20_000
"""Points that K-means restarts see when there are many more."""

FINALISTS = 3
"""Restarts that go on from the sample to all points."""


@dataclass(frozen=True)
class Assignment:
    """Labels points of the embedding by their nearest centroid.

    Attributes
    ----------
    centroids : array (n_clusters, n_anchors)
    normalize : bool
        Whether points are scaled to length 1 first.
    """

    centroids: Array
    normalize: bool

    def __call__(self, embedding: Array) -> Array:
        """Labels of the rows of an embedding."""
        points = normalized_rows(embedding) if self.normalize else embedding
        labels = pairwise_distances_argmin(points, self.centroids.astype(points.dtype))
        return labels.astype(np.int32)


def labels_by(assignments: Sequence[Assignment], embedding: Array) -> Array:
    """Labels of the rows of an embedding by several assignments alike, a row for each."""
    centroids = np.vstack([own.centroids for own in assignments]).astype(embedding.dtype)
    points = normalized_rows(embedding) if assignments[0].normalize else embedding
    # The nearest centroid c of x has the largest x'c - c'c / 2.
    scores = points @ centroids.T
    scores -= 0.5 * np.einsum("ij,ij->i", centroids, centroids)
    return scores.reshape(len(embedding), len(assignments), -1).argmax(axis=2).T


def normalized_rows(embedding: Array) -> Array:
    """Rows scaled to length 1; zero rows stay. One column has signs only, so it stays as it is."""
    if embedding.shape[1] == 1:
        return embedding
    lengths = np.linalg.norm(embedding, axis=1, keepdims=True)
    return np.divide(embedding, lengths, out=np.zeros_like(embedding), where=lengths > 0)


def fit_assignment(
    embedding: Array,
    n_clusters: int,
    *,
    method: AssignmentMethod,
    normalize: bool,
    n_init: int,
    seed: int,
) -> tuple[Assignment, Array]:
    """Learn how to label the embedding's rows; returns the rule and the labels.

    Parameters
    ----------
    embedding : array (n, n_anchors)
    n_clusters : int
    method : {"kmeans", "cluster_qr"}
        K-means with `n_init` random restarts, least inertia; or K-means started once from the rows
        that pivoted QR finds to point apart most (as in the cluster_qr of Damle, Minden and Ying,
        2019), which has no randomness and needs at least `n_clusters` columns.
    normalize : bool
        Whether rows are scaled to length 1 first.
    n_init : int
    seed : int
    """
    report("assigning", 0, 1)
    points = normalized_rows(embedding) if normalize else embedding
    if method == "kmeans":
        centroids = _restarted(points[_canonical_order(embedding)], n_clusters, n_init, seed)
    else:
        start = points[rows_apart(embedding, n_clusters)]
        centroids = KMeans(n_clusters, init=start, n_init=1).fit(points).cluster_centers_
    assignment = Assignment(centroids.astype(np.float64), normalize)
    labels = assignment(embedding)
    report("assigning", 1, 1)
    return assignment, labels


def _canonical_order(embedding: Array) -> Array:
    """Order of the rows by what neither their order nor a rotation of the embedding changes.

    K-means that sees them so gives labels that do not depend on these either. Lengths come first,
    without their last digits; rows of equal length are told apart by the mean of all rows.
    """
    rows = embedding.astype(np.float64, copy=False)
    lengths = np.einsum("ij,ij->i", rows, rows)
    return np.lexsort((rows @ rows.mean(axis=0), np.round(lengths / lengths.max(), 9)))


def _restarted(points: Array, n_clusters: int, n_init: int, seed: int) -> Array:
    """Centroids of the best of `n_init` runs.

    On many points all runs see a sample, and the best of them go on to all points: the same
    inertia to a tenth of a percent, in a fraction of the time.
    """
    if len(points) <= 2 * SAMPLE or n_init <= FINALISTS:
        model = KMeans(n_clusters, n_init=n_init, random_state=seed).fit(points)
        return model.cluster_centers_
    rng = np.random.RandomState(seed)
    sample = points[np.sort(rng.choice(len(points), SAMPLE, replace=False))]
    heats = [
        KMeans(n_clusters, n_init=1, random_state=int(heat)).fit(sample)
        for heat in rng.randint(2**31 - 1, size=n_init)
    ]
    heats.sort(key=lambda model: model.inertia_)
    finals = [
        KMeans(n_clusters, init=model.cluster_centers_, n_init=1).fit(points)
        for model in heats[:FINALISTS]
    ]
    return min(finals, key=lambda model: model.inertia_).cluster_centers_


def rows_apart(embedding: Array, count: int) -> Array:
    """Pivoted QR: rows that are long and stand out from the span of those before."""
    if embedding.shape[1] < count:
        raise ValueError(
            "assignment='cluster_qr' needs n_anchors >= n_clusters; got "
            f"{embedding.shape[1]} anchors for {count} clusters. Use assignment='kmeans'."
        )
    _, pivots = qr(embedding.T, mode="r", pivoting=True)
    return pivots[:count]
