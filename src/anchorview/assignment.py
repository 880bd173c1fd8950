"""From the embedding to labels, for the training samples and for new ones."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import qr
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin

from anchorview._typing import Array
from anchorview.linalg import polar_and_norm
from anchorview.progress import report

AssignmentMethod = Literal["kmeans", "cluster_qr"]


@dataclass(frozen=True)
class Assignment:
    """A rule that labels points of the embedding.

    Attributes
    ----------
    method : {"kmeans", "cluster_qr"}
    normalize : bool
        Whether points are scaled to length 1 first.
    matrix : array (n_clusters, n_anchors)
        Centroids, or for ``"cluster_qr"`` the directions of the clusters.
    """

    method: AssignmentMethod
    normalize: bool
    matrix: Array

    def __call__(self, embedding: Array) -> Array:
        """Labels of the rows of an embedding."""
        points = normalized_rows(embedding) if self.normalize else embedding
        if self.method == "kmeans":
            labels = pairwise_distances_argmin(points, self.matrix.astype(points.dtype))
        else:
            labels = np.argmax(np.abs(points @ self.matrix.T), axis=1)
        return np.asarray(labels, dtype=np.int32)


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
        K-means with `n_init` restarts, least inertia; or pivoted QR (Damle, Minden and Ying, 2019),
        which has no randomness and needs at least `n_clusters` columns.
    normalize : bool
        Whether to scale rows to length 1 first.
    n_init : int
    seed : int
    """
    points = normalized_rows(embedding) if normalize else embedding
    report("assigning", 0, 1)
    if method == "kmeans":
        # Rows go to K-means in the order of their lengths in the embedding, which neither the
        # order of the samples nor a rotation of the embedding changes: nor do the labels, then.
        order = np.argsort(np.einsum("ij,ij->i", embedding, embedding), kind="stable")
        model = KMeans(n_clusters, n_init=n_init, random_state=seed).fit(points[order])
        matrix = model.cluster_centers_
    else:
        matrix = _qr_directions(points, n_clusters)
    assignment = Assignment(method, normalize, np.asarray(matrix, dtype=np.float64))
    labels = assignment(embedding)
    report("assigning", 1, 1)
    return assignment, labels


def _qr_directions(points: Array, n_clusters: int) -> Array:
    """Directions of the `n_clusters` samples that point apart most, made orthonormal."""
    if points.shape[1] < n_clusters:
        raise ValueError(
            f"assignment='cluster_qr' needs n_anchors >= n_clusters; got {points.shape[1]} anchors "
            f"for {n_clusters} clusters. Use assignment='kmeans'."
        )
    _, pivots = qr(points.T, mode="r", pivoting=True)
    directions, _ = polar_and_norm(points[pivots[:n_clusters]].astype(np.float64))
    return directions
