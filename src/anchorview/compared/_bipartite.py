"""Graphs of samples and anchors: on simplexes, and with as many components as clusters.

For a graph ``P`` (n x m) with row sums ``d_i`` and column sums ``e_j``, the multiplicity of the
singular value 1 of ``D^{-1/2} P E^{-1/2}`` is the number of connected components. With its leading
singular vectors ``u_i``, ``v_j``, each scaled by ``1 / sqrt 2``, the rank is penalized by
``w sum_ij P_ij |u_i / sqrt d_i - v_j / sqrt e_j|^2``.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from anchorview._utils.linalg import reciprocal
from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import KMEANS_RUNS, kmeans, sum_by_cluster

FIRST_WEIGHT = 0.1
"""Weight of the rank penalty in the first iteration, as in the authors' programs."""

RANK_TOLERANCE = 1e-7
"""Deviation of a sum of singular values from an integer that counts as none."""

STEPS_PER_CHECK = 25
"""Number of steps after which rows that are done are left out."""


def project_rows_to_simplex(Q: Array) -> Array:
    """Nearest point of ``{z >= 0, sum z = 1}`` to each row of `Q`.

    It is ``max(q - c_r / r, 0)``, with the values ``u`` of a row in descending order and
    ``c_j = u_1 + ... + u_j - 1``, for the last ``r`` with ``u_r > c_r / r``.
    """
    n, m = Q.shape
    # A shift does not change the projection; beside large values, the 1 would lose its digits.
    points = Q - Q.max(axis=1, keepdims=True)
    values = np.sort(points, axis=1)[:, ::-1]
    excess = np.cumsum(values, axis=1)
    excess -= 1
    excess /= np.arange(1, m + 1, dtype=Q.dtype)
    last = np.count_nonzero(values > excess, axis=1) - 1
    points -= excess[np.arange(n), last][:, None]
    return np.maximum(points, 0, out=points)


def project_groups_to_simplex(values: Array, groups: Array, n_groups: int) -> Array:
    """:func:`project_rows_to_simplex` for rows of different lengths: `groups` are their numbers."""
    sizes = np.bincount(groups, minlength=n_groups)
    order = np.argsort(groups, kind="stable")
    places = np.empty(len(groups), dtype=int)
    places[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # Minus infinity becomes 0.
    padded = np.full((n_groups, sizes.max()), -np.inf)
    padded[sizes == 0] = 0
    padded[groups, places] = values
    return project_rows_to_simplex(padded)[groups, places]


def minimize_on_simplex(Q: Array, C: Array, *, max_iter: int, tol: float) -> Array:
    """Rows ``z_i`` of the simplex that minimize ``z'Q z - 2 c_i'z``, for positive definite `Q`.

    Accelerated projected gradients on all rows at once. A row is done when ``g'z - min g``, with
    the gradient g, is below `tol` times the mean of the largest ``|c_ij|``.
    """
    n, m = C.shape
    step = 1 / float(np.linalg.eigvalsh(Q)[-1])
    scale = float(np.abs(C).max(axis=1).mean()) + float(np.finfo(np.float64).tiny)
    solution = np.empty((n, m))
    left, c = np.arange(n), C
    Z = ahead = np.full((n, m), 1 / m)
    age = np.zeros(n)
    for done in range(1, max_iter + 1):
        before, Z = Z, project_rows_to_simplex(ahead - step * (ahead @ Q - c))
        change = Z - before
        # These rows lose their momentum.
        backward = np.einsum("ij,ij->i", ahead - Z, change) > 0
        age = np.where(backward, 0, age + 1)
        change *= (age / (age + 3))[:, None]
        ahead = Z + change
        if done % STEPS_PER_CHECK == 0 or done == max_iter:
            gradient = 2 * (Z @ Q - c)
            gaps = np.einsum("ij,ij->i", gradient, Z) - gradient.min(axis=1)
            solution[left] = Z
            open_rows = gaps > tol * scale
            left, c, Z, ahead, age = (part[open_rows] for part in (left, c, Z, ahead, age))
            report_progress("quadratic programs", n - len(left), n)
            if not len(left):
                return solution
    warnings.warn(
        f"{len(left)} of {n} quadratic programs did not converge in max_iter={max_iter} steps: the "
        f"objective may be {gaps.max():.1e} above the minimum. Use a larger max_iter.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return solution


class StructuredGraph(NamedTuple):
    """A bipartite graph, and the leading left singular vectors of the normalized graph."""

    graph: sparse.csr_array
    embedding: Array


def structured_graph(
    target: sparse.csr_array, n_clusters: int, *, ridge: float = 1.0, max_iter: int = 50
) -> StructuredGraph:
    """Graph near ``target / ridge``, on its support, with `n_clusters` connected components.

    Rows and columns of ``(target - w / 2 * distances) / ridge`` are projected to the simplex, and
    the graph is the mean of both. w doubles if it has too few components, and halves if too many.
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
    """Leading singular pairs U, V, sigma of the normalized graph, and the scalings of its sides."""
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
    return np.asarray(connected_components(adjacency, directed=False)[1][:n])


def cluster_labels(
    structured: StructuredGraph, views: Sequence[Matrix], n_clusters: int, seed: int
) -> tuple[Array, int]:
    """Labels from the connected components of a graph, merged if too many, and their number."""
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
