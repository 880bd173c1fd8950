"""Bipartite graphs of samples and anchors with as many connected components as clusters.

For a graph ``P`` (n x m) with row sums ``d_i`` and column sums ``e_j``, the multiplicity of the
singular value 1 of ``D^{-1/2} P E^{-1/2}`` is the number of connected components. With its leading
singular vectors ``u_i``, ``v_j``, each scaled by ``1 / sqrt 2``, the rank is penalized by
``w sum_ij P_ij |u_i / sqrt d_i - v_j / sqrt e_j|^2``.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

from anchorview._utils.linalg import reciprocal
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._partition import KMEANS_RUNS, kmeans, sum_by_cluster
from anchorview.compared._simplex import project_groups_to_simplex

FIRST_WEIGHT = 0.1
"""Weight of the rank penalty in the first iteration, as in the authors' programs."""

RANK_TOLERANCE = 1e-7
"""Deviation of a sum of singular values from an integer that counts as none."""


class StructuredGraph(NamedTuple):
    """A bipartite graph and its leading singular vectors."""

    graph: sparse.csr_array
    """P, n x m: the mean of a matrix with rows on the simplex and one with such columns."""
    embedding: Array
    """Leading left singular vectors of the normalized graph, n x k, orthonormal."""


def structured_graph(
    target: sparse.csr_array, n_clusters: int, *, ridge: float = 1.0, max_iter: int = 50
) -> StructuredGraph:
    """Graph near ``target / ridge``, on its support, with `n_clusters` connected components.

    Each iteration projects rows and columns of ``(target - w / 2 * distances) / ridge`` to the
    simplex and takes the mean of both. The weight w doubles while the graph has too few components
    and halves if it has too many. After `max_iter` iterations the graph is returned as it is.
    """
    entries = target.tocoo()
    rows, columns = entries.row, entries.col
    n, m = target.shape
    weight, distances = FIRST_WEIGHT, np.zeros(len(rows))
    for _ in range(max_iter):
        values = (entries.data - 0.5 * weight * distances) / ridge
        by_row = project_groups_to_simplex(values, rows, n)
        by_column = project_groups_to_simplex(values, columns, m)
        P = sparse.csr_array(((by_row + by_column) / 2, (rows, columns)), shape=(n, m))
        U, V, sigma, left, right = _singular_pairs(P, n_clusters + 1)
        k = min(n_clusters, len(sigma))
        if sigma[:k].sum() < k - RANK_TOLERANCE:
            weight *= 2
        elif sigma.sum() > n_clusters + 1 - RANK_TOLERANCE:
            weight /= 2
        else:
            break
        u, v = U[:, :k] * left[:, None], V[:, :k] * right[:, None]
        lengths = np.einsum("ij,ij->i", u, u)[rows] + np.einsum("ij,ij->i", v, v)[columns]
        products = np.einsum("ij,ij->i", u[rows], v[columns])
        distances = np.maximum(lengths - 2 * products, 0) / 2
    P.eliminate_zeros()
    return StructuredGraph(P, U[:, :k])


def _singular_pairs(P: sparse.csr_array, count: int) -> tuple[Array, Array, Array, Array, Array]:
    """Leading singular vectors and values of the normalized graph, and the scalings of its sides.

    Vectors of the samples are orthonormal; the values are at most 1.
    """
    rows, columns = (np.asarray(P.sum(axis=axis)).ravel() for axis in (1, 0))
    left, right = (reciprocal(np.sqrt(sums), sums) for sums in (rows, columns))
    normalized = P.multiply(left[:, None]).multiply(right[None]).tocsr()
    m = P.shape[1]
    first = max(0, m - count)
    squares, V = eigh((normalized.T @ normalized).toarray(), subset_by_index=(first, m - 1))
    sigma, V = np.sqrt(np.clip(squares[::-1], 0, 1)), V[:, ::-1]
    image = normalized @ V
    U, _ = np.linalg.qr(image)
    # Columns of U point as their images do.
    U *= np.where(np.einsum("ij,ij->j", U, image) < 0, -1.0, 1.0)
    return U, V, sigma, left, right


def component_labels(graph: sparse.csr_array) -> Array:
    """Connected component of each sample, numbered from 0 by the first sample in it."""
    n = graph.shape[0]
    adjacency = sparse.block_array([[None, graph], [graph.T, None]], format="csr")
    _, components = connected_components(adjacency, directed=False)
    _, first, labels = np.unique(components[:n], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[labels]


def cluster_labels(
    structured: StructuredGraph, views: Sequence[Matrix], n_clusters: int, seed: int
) -> tuple[Array, int]:
    """Labels from the connected components of a graph, and the number of components.

    With more components than clusters, K-means of their means in the views merges them; with fewer,
    labels are from K-means on the embedding.
    """
    labels = component_labels(structured.graph)
    count = int(labels.max()) + 1
    if count < n_clusters:
        F = structured.embedding
        _, labels = kmeans(F, n_clusters, normalize=True, n_init=KMEANS_RUNS, seed=seed)
    elif count > n_clusters:
        sizes = np.bincount(labels)
        means = np.hstack([sum_by_cluster(labels, count, X) for X in views]) / sizes[:, None]
        merging = KMeans(n_clusters, n_init=KMEANS_RUNS, random_state=seed)
        labels = merging.fit(means, sample_weight=sizes).labels_[labels]
    return labels, count
