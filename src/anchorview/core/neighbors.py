"""Nearest neighbors of rows, dense or sparse, found in blocks of matrix products, and graphs."""

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import reciprocal
from anchorview._utils.threads import (
    ThreadBuffer,
    row_slices,
)
from anchorview._utils.typing import Array, Matrix
from anchorview.views.container import dense_rows

MAX_DISTANCES = 2**20
"""Maximum number of distances, or of entries of dense rows, that are held at a time."""

CLOSE = 0.01
"""Squared distances below this share of the squared norm are computed again, exactly."""

Neighbors = tuple[Array, Array]
"""Positions of the nearest places of rows, nearest first, and squared distances."""

_scores = ThreadBuffer()


def nearest_others(points: Matrix, count: int) -> Neighbors:
    """The nearest other points of each point; also if others are equal to it."""
    return nearest_places(points, points, count, are_places=True)


def nearest_places(
    rows: Matrix, places: Matrix, count: int, *, are_places: bool = False
) -> Neighbors:
    """The nearest places of each row; if the rows are these places, the nearest others."""
    n, m = rows.shape[0], places.shape[0]
    dtype = np.result_type(rows.dtype, places.dtype)
    near = np.empty((n, min(count, m - are_places)), dtype=np.intp)
    squares = np.empty(near.shape, dtype=dtype)
    halves = 0.5 * _row_squares(places)
    step = max(1, MAX_DISTANCES // max(m, rows.shape[1]))
    for block in row_slices(n, step):
        x = dense_rows(rows, block)
        scores = _scores.array((len(x), m), dtype)
        if isinstance(places, np.ndarray):
            np.matmul(x, places.T, out=scores)
        else:
            scores[...] = (places @ x.T).T
        scores -= halves
        flat, starts = scores.reshape(-1), np.arange(0, scores.size, m)
        if are_places:
            flat[starts + np.arange(block.start, block.stop)] = -np.inf
        # Searching a few times for the maximum is many times faster than a partial sort.
        for j in range(near.shape[1]):
            near[block, j] = scores.argmax(axis=1)
            at = starts + near[block, j]
            squares[block, j] = flat[at]
            flat[at] = -np.inf
    norms = _row_squares(rows)[:, None]
    squares *= -2
    squares += norms
    # Differences of large numbers, which rounding has changed.
    close = np.nonzero(squares < CLOSE * norms)
    for some in row_slices(len(close[0]), step):
        pairs = close[0][some], close[1][some]
        differences = dense_rows(rows, pairs[0]) - dense_rows(places, near[pairs])
        squares[pairs] = np.square(differences).sum(axis=1)
    order = np.argsort(squares, axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(squares, order, axis=1)


def _row_squares(X: Matrix) -> Array:
    """Squared norms of the rows."""
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X)
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


def graph_of_neighbors(near: Array, weights: Array, n_columns: int) -> sparse.csr_array:
    """Sparse matrix with the weights of each row's neighbors."""
    n, count = weights.shape
    ends = np.arange(0, n * count + 1, count)
    return sparse.csr_array((weights.flatten(), near.flatten(), ends), shape=(n, n_columns))


def normalized_affinity(W: sparse.csr_array) -> sparse.csr_array:
    """``D^{-1/2} W D^{-1/2}`` with the row sums D: identity minus the normalized Laplacian.

    Its eigenvalues are between -1 and 1, and 1 occurs once per connected component. The row of a
    vertex without neighbors is zero.
    """
    degrees = np.asarray(W.sum(axis=1)).ravel()
    scale = sparse.diags_array(reciprocal(np.sqrt(degrees), degrees))
    return sparse.csr_array(scale @ W @ scale)
