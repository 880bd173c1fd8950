"""Views as the baselines see them: scaled, and as graphs of nearest neighbors."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from anchorview._utils.linalg import squared_norm
from anchorview._utils.typing import Array, Matrix
from anchorview.core.neighbors import graph_of_neighbors, nearest_others, normalized_affinity
from anchorview.core.scale import CONSTANT_COLUMN, ViewScaling, fit_scalings, with_unit_norms
from anchorview.core.scaled_view import scaled_copy, scaled_views
from anchorview.views.container import MultiViewData, dense_rows


def standardized_views(data: MultiViewData) -> tuple[Matrix, ...]:
    """Views with columns of mean 0 and standard deviation 1 (divisor n - 1), or constant 0."""
    matrices, _ = scaled_views(data, fit_scalings(data, "zscore"), unit_norm=False)
    for X in matrices:
        X *= np.sqrt(1 - 1 / len(data))
    return matrices


def dense_views(data: MultiViewData, scaling: str) -> list[Array]:
    """Dense copies of the views, with columns standardized ("features") or as they are ("none")."""
    scalings = fit_scalings(data, "zscore" if scaling == "features" else "none")
    for p in range(len(data.views)):
        # Raises if a view is constant: nothing can be learned from it.
        column_ranges(data, p)
    copies = [scaled_copy(data, p, each, data.dtype) for p, each in enumerate(scalings)]
    with_unit_norms(data, scalings, [squared_norm(X) for X in copies])
    return copies


def row_standardized_views(data: MultiViewData) -> tuple[Array, ...]:
    """Dense views with rows of mean 0 and standard deviation 1 (divisor d - 1), or constant 0."""
    few = min(data.n_features_per_view) <= 2
    columns = fit_scalings(data, "zscore" if few else "none")
    matrices: list[Array] = []
    for p, (view, scaling) in enumerate(zip(data.views, columns, strict=True)):
        n, d = view.shape
        out = np.empty((n, d), dtype=data.dtype)
        for block in data.blocks():
            rows = dense_rows(view, block.rows).astype(np.float64)
            if d <= 2:
                # At most a sign of a row would be left.
                out[block.rows] = scaling.apply(rows, rows) * np.sqrt(1 - 1 / n)
                continue
            mean = rows.mean(axis=1, keepdims=True)
            rows -= mean
            deviation = np.sqrt(np.einsum("ij,ij->i", rows, rows)[:, None] / (d - 1))
            if not np.isfinite(deviation).all():
                raise ValueError(data.problem("overflow", p))
            deviation[deviation <= CONSTANT_COLUMN * np.abs(mean)] = np.inf
            out[block.rows] = rows / deviation
        matrices.append(out)
    # Raises if nothing but zeros is left of a view.
    with_unit_norms(data, columns, [squared_norm(X) for X in matrices])
    return tuple(matrices)


def min_max_scaled_views(data: MultiViewData) -> tuple[Matrix, ...]:
    """Views with columns that range from 0 to 1, or constant 0; sparse ones are not shifted."""
    matrices: list[Matrix] = []
    for p, view in enumerate(data.views):
        low, spread = column_ranges(data, p)
        if sparse.issparse(view):
            X = view.astype(data.dtype)
            X.data /= spread[X.indices].astype(data.dtype)
            matrices.append(X)
        else:
            scaling = ViewScaling(center=low, deviation=spread)
            matrices.append(scaled_copy(data, p, scaling, data.dtype))
    return tuple(matrices)


def column_ranges(data: MultiViewData, p: int) -> tuple[Array, Array]:
    """Minimum of columns, and range, infinite if constant; raises if no column varies."""
    view = data.views[p]
    low, high = (
        np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64).ravel()
        for part in (view.min(axis=0), view.max(axis=0))
    )
    spread = high - low
    constant = spread <= CONSTANT_COLUMN * np.maximum(np.abs(low), np.abs(high))
    spread[constant] = np.inf
    if constant.all():
        raise ValueError(data.problem("zero", p))
    return low, spread


CENTER_ROWS, EQUAL = 1000, 1e-12
"""Rows for the medians that are the origin of distances, and share of these that is rounding."""

DENSE_GRAPH = 600
"""Maximum number of samples for a full eigendecomposition."""

LANCZOS_VECTORS, MAX_RESIDUAL = 60, 1e-10
"""Minimum number of Lanczos vectors, and norm of ``A f - l f``, relative to l, that is accepted."""


def neighbor_graph(views: Sequence[Matrix], n_neighbors: int) -> sparse.csr_array:
    """Symmetric graph of nearest neighbors, never a sample itself, in the concatenated views."""
    near, squares = nearest_others(_conditioned(views), n_neighbors + 1)
    W = weighted_neighbors(near, squares, len(near))
    return ((W + W.T) / 2).tocsr()


def weighted_neighbors(near: Array, squares: Array, n_columns: int) -> sparse.csr_array:
    """Graph of the nearest K neighbors, weighted by the squared distances of K + 1.

    With ``e_1 <= ... <= e_{K+1}``, the t-th has the weight
    ``(e_{K+1} - e_t) / sum_s (e_{K+1} - e_s)``, or 1 / K if all are equally near.
    """
    kept = max(1, squares.shape[1] - 1)
    gaps = squares[:, -1:] - squares[:, :kept]
    totals = gaps.sum(axis=1, keepdims=True)
    weights = np.full_like(gaps, 1 / kept)
    np.divide(gaps, totals, out=weights, where=totals > EQUAL * squares[:, -1:])
    return graph_of_neighbors(near[:, :kept], weights, n_columns)


def _conditioned(views: Sequence[Matrix]) -> Matrix:
    """Views side by side, shifted and scaled: distances lose few digits and never overflow."""
    points = []
    for view in views:
        X = view.astype(np.float64)
        if not sparse.issparse(X):
            # A few huge samples do not affect medians.
            X -= np.median(X[:: max(1, len(X) // CENTER_ROWS)], axis=0)
        points.append(X)
    is_dense = not any(map(sparse.issparse, points))
    X = np.hstack(points) if is_dense else sparse.hstack(points, format="csr")
    largest = max(X.max(), -X.min())
    if largest > 0:
        X /= largest
    return X


def neighbor_affinity(views: Sequence[Matrix], n_neighbors: int) -> sparse.csr_array:
    """Normalized affinity of the nearest-neighbor graph."""
    return normalized_affinity(neighbor_graph(views, n_neighbors))


def leading_eigenvectors(A: Matrix, count: int) -> Array:
    """Orthonormal eigenvectors of the largest eigenvalues of a sparse symmetric `A`.

    Lanczos iterations miss multiple eigenvalues, so connected components are solved one by one.
    """
    n_components, component = connected_components(A, directed=False)
    vertices = np.split(np.argsort(component, kind="stable"), np.cumsum(np.bincount(component)))
    solved = []
    for some in vertices[:n_components]:
        values, vectors = _largest_eigenpairs(A[some][:, some], count)
        solved += [(value, some, vector) for value, vector in zip(values, vectors.T, strict=True)]
    solved = sorted(solved, key=lambda pair: -pair[0])[:count]
    F = np.zeros((A.shape[0], len(solved)))
    for place, (_, some, vector) in enumerate(solved):
        F[some, place] = vector
    return F


def _largest_eigenpairs(A: Matrix, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues of a connected graph, descending, and their eigenvectors."""
    n = A.shape[0]
    if n <= DENSE_GRAPH or 3 * count > n:
        # Drivers for a subset of the eigenvectors return too few if an eigenvalue is multiple.
        values, vectors = eigh(A.toarray(), driver="evd", overwrite_a=True)
    else:
        start = np.random.default_rng(0).standard_normal(n)
        n_vectors = min(n - 1, max(LANCZOS_VECTORS, 2 * count + 20))
        values, vectors = eigsh(A, count, which="LA", v0=start, ncv=n_vectors, tol=MAX_RESIDUAL)
    return values[: -count - 1 : -1], vectors[:, : -count - 1 : -1]
