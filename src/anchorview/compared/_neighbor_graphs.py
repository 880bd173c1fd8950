"""Nearest-neighbor graphs and their leading eigenvectors, in memory linear in the samples."""

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve_banded, cholesky_banded, eigh, qr
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sklearn.exceptions import ConvergenceWarning

from anchorview._utils.typing import Array, Matrix
from anchorview.core.neighbors import graph_of_neighbors, nearest_others, normalized_affinity

CENTER_ROWS = 1000
"""Approximate number of rows whose medians are the origin of the distances."""

EQUAL = 1e-12
"""Distances that differ by less than this share of the largest differ only by rounding."""

DENSE_GRAPH = 600
"""Maximum number of samples for a full eigendecomposition."""

NARROW = 100
"""Maximum bandwidth, beside the diagonal, of a graph that is factored instead of filtered."""

SHIFT = 1e-12
"""Distance from 1, the largest possible eigenvalue, at which a banded graph is inverted."""

DEGREE, FILTERS_PER_DEGREE = 40, 10
"""Maximum degree of the first filters, and number of filters after which it doubles."""

MAX_FILTERS = 60
"""Number of filters, or inversions, after which unconverged eigenvectors are returned."""

MAX_RESIDUAL, MIN_RESIDUAL = 1e-8, 1e-12
"""Bounds of the norm of ``A f - l f`` below which an eigenpair is accepted."""


def neighbor_graph(views: Sequence[Matrix], n_neighbors: int) -> sparse.csr_array:
    """Symmetric nearest-neighbor graph of the samples in the concatenated views.

    With squared distances ``e_1 <= ... <= e_{K+1}`` to its nearest neighbors, a sample gives the
    t-th of K the weight ``(e_{K+1} - e_t) / sum_s (e_{K+1} - e_s)``, which does not depend on the
    unit of the data. The weights given by a sample sum to 1, and the graph is the mean of what two
    samples give each other. A sample is never its own neighbor, even among duplicates. If the
    nearest K + 1 samples are equally near, K of them get 1 / K each; which ones depends on the
    order of the rows. Other ties do not matter: neighbors as far as the last one get no weight.
    K is at most n - 2 (1 for two samples).
    """
    near, squares = nearest_others(_conditioned(views), n_neighbors + 1)
    W = weighted_neighbors(near, squares, len(near))
    return ((W + W.T) / 2).tocsr()


def weighted_neighbors(near: Array, squares: Array, n_columns: int) -> sparse.csr_array:
    """Graph of the nearest K neighbors, weighted by the squared distances of K + 1."""
    kept = max(1, squares.shape[1] - 1)
    gaps = squares[:, -1:] - squares[:, :kept]
    totals = gaps.sum(axis=1, keepdims=True)
    weights = np.full_like(gaps, 1 / kept)
    np.divide(gaps, totals, out=weights, where=totals > EQUAL * squares[:, -1:])
    return graph_of_neighbors(near[:, :kept], weights, n_columns)


def _conditioned(views: Sequence[Matrix]) -> list[Matrix]:
    """Views in float64, shifted and scaled so that distances lose few digits and never overflow.

    Dense views are shifted by column medians, which a few huge samples do not affect.
    """
    points = []
    for view in views:
        X = view.astype(np.float64)
        if not sparse.issparse(X):
            X -= np.median(X[:: max(1, len(X) // CENTER_ROWS)], axis=0)
        points.append(X)
    largest = max(max(X.max(), -X.min()) for X in points)
    if largest > 0:
        for X in points:
            X /= largest
    return points


def neighbor_affinity(views: Sequence[Matrix], n_neighbors: int) -> sparse.csr_array:
    """Normalized affinity of the nearest-neighbor graph."""
    return normalized_affinity(neighbor_graph(views, n_neighbors))


def leading_eigenvectors(A: Matrix, count: int) -> Array:
    """Orthonormal eigenvectors of the largest eigenvalues of `A`, largest first.

    `A` is sparse and symmetric, with eigenvalues between -1 and 1. If a residual is still too large
    after `MAX_FILTERS` rounds, a ConvergenceWarning is given; the vectors are orthonormal
    nevertheless, but the last ones need not be near eigenvectors.

    Large graphs use subspace iteration with Chebyshev filters: a block of somewhat more than
    `count` columns is multiplied by the polynomial of `A` that is small below an edge and grows
    fastest above it, followed by a Rayleigh-Ritz step. A block finds multiple eigenvalues, as in
    graphs with several components, which Lanczos iterations from one vector can miss. If the last
    eigenspace has more dimensions than needed, which vectors of it are returned is arbitrary.

    The closer the eigenvalues, the higher the degree that separates them. Those of chains of
    samples are too close to 1 for any filter. But the samples of a chain can be ordered such that
    `A` is a narrow band matrix, and then the block is multiplied by ``((1 + SHIFT) I - A)^{-1}``
    instead. Iterations stop when the norm of ``A f - l f`` is below a thousandth of the last
    ``1 - l``, clipped to [`MIN_RESIDUAL`, `MAX_RESIDUAL`].
    """
    n = A.shape[0]
    n_columns = count + max(10, count // 3)
    if n <= DENSE_GRAPH or 3 * n_columns > n:
        # Drivers for a subset of the eigenvectors return too few if an eigenvalue is multiple.
        _, vectors = eigh(A.toarray(), driver="evd", overwrite_a=True)
        return vectors[:, : -count - 1 : -1].copy()
    V = np.random.default_rng(0).standard_normal((n, n_columns))
    inverse = _narrow_inverse(A)
    highest, edge = 1.0, 0.0
    for done in range(1, MAX_FILTERS + 1):
        degree = DEGREE * 2 ** (done // FILTERS_PER_DEGREE)
        V = inverse(V) if inverse else _filtered(A, V, edge, highest, degree)
        V, values, residual = _rotated(A, V, count)
        tolerance = np.clip((1 - values[count - 1]) / 1000, MIN_RESIDUAL, MAX_RESIDUAL)
        if residual < tolerance:
            break
        # The edge below which the filter of this degree amplifies the last value a hundredfold.
        growing = np.cosh(np.arccosh(100) / degree)
        edge = min(values[-1], (2 * values[count - 1] + 1 - growing) / (1 + growing))
        highest = values[0]
    else:
        warnings.warn(
            f"The leading {count} eigenvectors of a graph of {n} samples did not converge: the "
            f"residual is {residual:.1e}, the tolerance {tolerance:.1e}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return V[:, :count].copy()


def _narrow_inverse(A: Matrix) -> Callable[[Array], Array] | None:
    """Product with ``((1 + SHIFT) I - A)^{-1}`` if `A` is a narrow band matrix when reordered."""
    n = A.shape[0]
    order = reverse_cuthill_mckee(A, symmetric_mode=True)
    place = np.empty(n, dtype=np.int32)
    place[order] = np.arange(n)
    below = np.repeat(place, np.diff(A.indptr))
    below -= place[A.indices]
    width = int(below.max(initial=0))
    if width > NARROW:
        return None
    band = np.zeros((width + 1, n))
    lower = below >= 0
    band[below[lower], place[A.indices[lower]]] = -A.data[lower]
    band[0] += 1 + SHIFT
    factor = cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)

    def inverse(V: Array) -> Array:
        solved = cho_solve_banded((factor, True), V[order], overwrite_b=True, check_finite=False)
        return solved[place]

    return inverse


def _filtered(A: Matrix, V: Array, edge: float, highest: float, max_degree: int) -> Array:
    """``T(A) V`` for the Chebyshev polynomial T that is between -1 and 1 from -1 to the edge.

    The degree is limited to `max_degree`, and such that the columns do not all converge to the
    leading eigenvector.
    """
    center, half = (edge - 1) / 2, (edge + 1) / 2
    growth = np.arccosh(max((highest - center) / half, 1 + 1e-9))
    degree = int(np.clip(np.arccosh(1e9) / growth, 2, max_degree))
    before, V = V, (A @ V - center * V) / half
    for _ in range(degree - 1):
        after = A @ V
        after -= center * V
        after *= 2 / half
        after -= before
        before, V = V, after
    return V


def _rotated(A: Matrix, V: Array, count: int) -> tuple[Array, Array, float]:
    """Rayleigh-Ritz: eigenpairs within the span, largest first, and the leading ones' residual."""
    V, _ = qr(V, mode="economic", overwrite_a=True, check_finite=False)
    AV = A @ V
    values, rotation = eigh(V.T @ AV)
    values, rotation = values[::-1], rotation[:, ::-1]
    V = V @ rotation
    errors = (AV @ rotation[:, :count]) - V[:, :count] * values[:count]
    return V, values, float(np.sqrt(np.einsum("ij,ij->j", errors, errors).max()))
