"""Operations on partitions that are kept as cluster labels."""

import numpy as np
from scipy import sparse

from anchorview._utils.typing import Array, Matrix
from anchorview.core.assign import assigned

KMEANS_RUNS = 10
"""K-means runs of initial graphs, and where the components of a graph are not the clusters."""


def kmeans(
    X: Array, n_clusters: int, *, normalize: bool = False, n_init: int, seed: int
) -> tuple[Array, Array]:
    """Centers and labels of the best of several runs; `normalize` scales rows to length 1."""
    settings = {"method": "kmeans", "normalize": normalize, "n_init": n_init, "seed": seed}
    assignment, labels = assigned(X, n_clusters, **settings)
    return assignment.centroids, labels


def sum_by_cluster(labels: Array, n_clusters: int, X: Matrix) -> Array:
    """``Y'X`` (n_clusters, d) for the one-hot ``Y`` of the labels, multiplied in `X`'s precision.

    `X` is an array or an operator such as a scaled sparse view.
    """
    n = len(labels)
    Y = sparse.csr_array((np.ones(n, X.dtype), labels, np.arange(n + 1)), shape=(n, n_clusters))
    T = Y.T @ X if isinstance(X, np.ndarray) else (X.T @ Y.toarray()).T
    return np.asarray(T, dtype=np.float64)


def fill_empty_clusters(labels: Array, misfit: Array, n_clusters: int) -> Array:
    """Labels in which every cluster has a sample; returned unchanged if that is so already.

    Each empty cluster takes one of the samples with the largest `misfit`, but never the
    best-fitting sample of a cluster, so that no other cluster becomes empty. There must be at least
    as many samples as clusters.
    """
    sizes = np.bincount(labels, minlength=n_clusters)
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return labels
    worst_first = np.argsort(-misfit, kind="stable")
    ranked = labels[worst_first]
    by_cluster = np.argsort(ranked, kind="stable")
    starts = np.cumsum(sizes) - sizes
    rank_in_cluster = np.empty(len(labels), dtype=int)
    rank_in_cluster[by_cluster] = np.arange(len(labels)) - starts[ranked[by_cluster]]
    movable = worst_first[rank_in_cluster < sizes[ranked] - 1]
    filled = labels.copy()
    filled[movable[: len(empty)]] = empty
    return filled
