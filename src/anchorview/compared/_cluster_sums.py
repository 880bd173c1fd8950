"""Sums of the samples of each cluster."""

import numpy as np
from scipy import sparse

from anchorview._utils.typing import Array, Matrix


def cluster_sums(labels: Array, n_clusters: int, X: Matrix) -> Array:
    """``Y'X`` for one-hot Y: sum of each cluster's rows (n_clusters, d), in the precision of `X`.

    `X` is an array or an operator such as a scaled sparse view.
    """
    n = len(labels)
    Y = sparse.csr_array((np.ones(n, X.dtype), labels, np.arange(n + 1)), shape=(n, n_clusters))
    T = Y.T @ X if isinstance(X, np.ndarray) else (X.T @ Y.toarray()).T
    return np.asarray(T, dtype=np.float64)
