"""Large symmetric matrices without copies: sums of products in tiles, Cholesky factors in place."""

from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise

import numpy as np
from scipy.linalg.lapack import dpotrf, dpstrf

from anchorview._utils.threads import parallel_map, single_threaded_blas
from anchorview._utils.typing import Array

TILE = 1024
"""Maximum number of rows and columns of a tile. Products of narrower ones are less efficient, and
wider ones would be too few for all cores."""

MIN_TILED = 2048
"""Number of columns above which sums of products are computed in tiles. Below, threads that compute
whole products of different rows need not wait for each other, and their results take little
memory."""


def _for_tiles(size: int, work: Callable[[slice, slice], None]) -> None:
    """Call a function in threads for all tiles on the diagonal of a matrix or above it."""
    count = -(-size // TILE)
    ends = [size * step // count for step in range(count + 1)]
    parts = [slice(*pair) for pair in pairwise(ends)]
    tiles = [(first, other) for i, first in enumerate(parts) for other in parts[i + 1 :]]
    # Those on the diagonal cost half: they come last, when some threads have nothing left to do.
    tiles += [(first, first) for first in parts]
    for _ in parallel_map(lambda tile: work(*tile), tiles):
        pass


def add_products(total: Array, rows: Array) -> None:
    """Add ``rows' rows`` to the tiles of `total` on and above its diagonal.

    Tiles are multiplied in the precision of the rows and added up in that of `total`.
    """

    def work(first: slice, other: slice) -> None:
        total[first, other] += rows[:, first].T @ rows[:, other]

    _for_tiles(len(total), work)


def mirror_upper(G: Array) -> None:
    """Copy the tiles above the diagonal to below it."""

    def work(first: slice, other: slice) -> None:
        if first != other:
            G[other, first] = G[first, other].T

    _for_tiles(len(G), work)


def _mirror_lower(G: Array) -> None:
    """Copy what is below the diagonal to above it."""

    def work(first: slice, other: slice) -> None:
        if first == other:
            lower = np.tril(G[first, first])
            G[first, first] = lower + np.tril(lower, -1).T
        else:
            G[first, other] = G[other, first].T

    _for_tiles(len(G), work)


def _clear_lower(G: Array) -> None:
    """Set everything below the diagonal to zero."""

    def work(first: slice, other: slice) -> None:
        G[other, first] = np.triu(G[first, first]) if first == other else 0

    _for_tiles(len(G), work)


def cholesky_rows(G: Array, tolerance: float) -> Array:
    """Rows ``R`` with ``R'R = G`` for a positive semidefinite matrix, in the memory of `G`.

    `G` is a C-contiguous array in double precision. If the rank, judged as by
    :func:`pivoted_cholesky_rows`, is not full, the factorization is repeated with pivots and may
    have fewer rows. Columns of zeros do not count: they have rows of zeros.
    """
    squares = np.diag(G).copy()
    zero = np.flatnonzero(squares == 0)
    G[zero, zero] = 1
    # The transpose is in the order of LAPACK; its lower triangle is the upper one of G, and the
    # other triangle stays as it is.
    with single_threaded_blas() if len(G) <= MIN_TILED else nullcontext():
        _, failed = dpotrf(G.T, lower=1, overwrite_a=1, clean=0)
    explained = np.square(np.diag(G))
    explained[zero] = np.inf
    if not failed and (explained > tolerance * squares).all():
        _clear_lower(G)
        G[zero, zero] = 0
        return G
    np.fill_diagonal(G, squares)
    _mirror_lower(G)
    return pivoted_cholesky_rows(G, tolerance)[0]


def pivoted_cholesky_rows(G: Array, tolerance: float) -> tuple[Array, Array]:
    """Rows ``R`` with ``R'R = G``, as many as the rank of `G`, which is overwritten; and pivots.

    ``R[:, pivots]`` is upper triangular. The rank is judged on correlations, so the units of
    features do not matter.
    """
    scale = np.sqrt(np.diag(G))
    scale[scale == 0] = 1
    G /= scale
    G /= scale[:, None]
    _, order, rank, _ = dpstrf(G.T, lower=1, tol=tolerance, overwrite_a=1)
    pivots = order - 1
    _clear_lower(G)
    R = np.empty((rank, len(G)))
    R[:, pivots] = G[:rank]
    R *= scale
    return R, pivots[:rank]
