"""Nearest centers and nearest neighbors of rows, found in blocks of matrix products, and graphs.

``|x - c|^2 = |x|^2 - 2 (x'c - c'c / 2)``, so the nearest center of a row has the largest score
``x'c - c'c / 2``. Where several neighbors are searched, rows and places may be sparse.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import reciprocal
from anchorview._utils.threads import (
    ThreadBuffer,
    parallel_map,
    row_slices,
    without_nested_threads,
)
from anchorview._utils.typing import Array, Matrix
from anchorview.views.container import dense_rows

SCORES, MIN_SCORED_ROWS = 2**18, 128
"""Number of scores that are held at a time, what a core has in its cache, and minimum number of
rows for which they are computed together."""

COMPARED_ROWS = 4096
"""Number of rows that a thread compares with the centers at a time."""

MAX_DISTANCES = 2**20
"""Maximum number of distances, or of entries of dense rows, that are held at a time."""

CLOSE = 0.01
"""Squared distances below this share of the squared norm are computed again, exactly."""

Neighbors = tuple[Array, Array]
"""Positions of the nearest places of rows, nearest first, and squared distances."""

_scores = ThreadBuffer()


def score_weights(centers: Array, dtype: "np.dtype[Any]") -> Array:
    """Matrix to multiply rows and a column of ones with, for their scores for all centers."""
    halves = np.einsum("ij,ij->i", centers, centers) / 2
    return np.ascontiguousarray(np.column_stack([centers, -halves]).T, dtype=dtype)


def for_scores(
    rows: Array, centers: Array, dtype: "np.dtype[Any]", work: Callable[[slice, Array], None]
) -> None:
    """Call ``work(block, scores)`` in threads for all rows; it may overwrite the scores."""
    weights = score_weights(centers, dtype)
    step = max(MIN_SCORED_ROWS, SCORES // weights.shape[1])

    def score(part: slice) -> None:
        extended = np.ones((part.stop - part.start, len(weights)), dtype)
        extended[:, :-1] = rows[part]
        buffer = np.empty((min(step, len(extended)), weights.shape[1]), dtype)
        with without_nested_threads():
            for block in row_slices(len(extended), step):
                points = extended[block]
                scores = np.matmul(points, weights, out=buffer[: len(points)])
                work(slice(part.start + block.start, part.start + block.stop), scores)

    for _ in parallel_map(score, row_slices(len(rows), COMPARED_ROWS)):
        pass


def nearest_centers(rows: Array, centers: Array, dtype: "np.dtype[Any] | None" = None) -> Array:
    """Positions of the nearest centers, compared in `dtype` or the higher precision of both.

    For several sets of centers, (n_sets, n_centers, width), the result is (n_sets, n).
    """
    sets = centers.reshape(-1, *centers.shape[-2:])
    nearest = np.empty((len(sets), len(rows)), np.intp)

    def work(block: slice, scores: Array) -> None:
        by_set = scores.reshape(len(scores), len(sets), -1)
        nearest[:, block] = by_set.argmax(axis=2).T

    for_scores(rows, sets.reshape(-1, sets.shape[2]), dtype or np.result_type(rows, centers), work)
    return nearest if centers.ndim == 3 else nearest[0]


def squared_distances(rows: Array, centers: Array, known: Array | None = None) -> Array:
    """Squared distances to all centers, (n, n_centers).

    With `known`, they are sums over the known values of each row; the other values are 0.
    """
    squares = np.einsum("ij,ij->i", centers, centers)
    if known is not None:
        squares = known.astype(rows.dtype) @ np.square(centers).T
    distances: Array = squares - 2 * (rows @ centers.T)
    distances += np.einsum("ij,ij->i", rows, rows)[:, None]
    return np.maximum(distances, 0, out=distances)


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
