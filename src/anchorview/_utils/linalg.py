"""Linear algebra: polar factors, products, ranks, leading singular vectors, Cholesky factors."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpstrf
from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigsh, svds

from anchorview._utils.threads import row_slices, single_threaded_blas
from anchorview._utils.typing import Array, Matrix

WELL_CONDITIONED = 1e-6
"""Minimum ratio of Gram eigenvalues for which a polar factor from them has ten digits."""

DENSE_SPECTRUM = 4_000
"""Maximum of the shorter side for which leading singular vectors come from the Gram matrix."""

WHOLE_SPECTRUM, LARGE_SHARE = 400, 0.2
"""Size of a matrix, and share of its eigenpairs, up to which and from which all are computed: by
divide and conquer, which is faster than bisection then. NumPy's function also lets other threads
run, and SciPy's does not."""

DENSE_PART = 2**24
"""Maximum number of entries of a dense part of a matrix that must not become dense as a whole."""

SAFE_SQUARES = (1e-30, 1e38)
"""Limits between which sums of squares in single precision are safe."""

SPECTRUM_TOLERANCE = 1e-6
"""Relative error of eigenvalues of large matrices at which their iteration ends. Directions of
noise, with eigenvalues that are close together, take long to get there."""

FACTORED_BY_ONE = 2048
"""Maximum size of a matrix that one thread factorizes: several would wait for each other if other
programs use the cores."""

FEW_ENTRIES = 0.1
"""Share of entries that are not zero up to which products of sparse rows with a hundred columns or
more are faster than those of dense rows."""


def polar(B: Array) -> tuple[Array, Array]:
    """Polar factor of a long matrix with full column rank, and the map to it.

    For the thin SVD ``B = U diag(s) V'`` returns ``U V'`` and ``M = V diag(1/s) V'``, so that
    ``U V' = B M``. Computed from the Gram matrix (BLAS-3) for long matrices, by
    SVD for short and ill-conditioned ones.
    """
    n, m = B.shape
    if n > 2 * m:
        squares, V = np.linalg.eigh(B.T @ B)
        if squares[0] > WELL_CONDITIONED * squares[-1]:
            M = (V / np.sqrt(squares)) @ V.T
            return B @ M, M
    U, s, Vt = np.linalg.svd(B, full_matrices=False)
    inverse = np.divide(1.0, s, out=np.zeros_like(s), where=s > 0)
    return U @ Vt, (Vt.T * inverse) @ Vt


def polar_and_norm(B: Array) -> tuple[Array, float]:
    """Polar factor of a small matrix of any shape, and the sum of its singular values."""
    U, s, Vt = np.linalg.svd(B, full_matrices=False)
    return U @ Vt, float(s.sum())


def polar_factor(B: Array) -> Array:
    """Polar factor of a small matrix of any shape; that of zeros is the identity's leading block.

    For fewer columns than rows its columns are orthonormal, otherwise its rows. Among all such
    matrices T it has the largest ``tr(T'B)``.
    """
    return polar_and_norm(B)[0]


def canonical_csr(X: Any) -> Any:
    """Sparse matrix as CSR in which each entry is stored once; a copy if it is not."""
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


class LowRankSum:
    """Rows ``entries + coefficients @ terms`` of a view; blocks of rows become dense.

    Both `entries` and `coefficients` are CSR matrices; there are few `terms`.
    """

    ndim = 2

    def __init__(
        self, entries: sparse.csr_array, coefficients: sparse.csr_array, terms: Array
    ) -> None:
        self.entries, self.coefficients, self.terms = entries, coefficients, terms
        self.shape: tuple[int, int] = entries.shape
        self.dtype = np.dtype(entries.dtype)
        self.nnz = int(entries.nnz)
        self.nbytes = int(entries.data.nbytes + entries.indices.nbytes)

    def __getitem__(self, rows: Any) -> "LowRankSum":
        """Return some rows."""
        return LowRankSum(self.entries[rows], self.coefficients[rows], self.terms)

    def astype(self, dtype: "np.typing.DTypeLike") -> "LowRankSum":
        """Return the same rows with entries of another type."""
        return LowRankSum(self.entries.astype(dtype), self.coefficients, self.terms)

    def toarray(self) -> Array:
        """Dense rows."""
        rows: Array = self.entries.toarray()
        rows += self.coefficients @ self.terms
        return rows

    def stacked(self, parts: Sequence["LowRankSum"]) -> "LowRankSum":
        """Rows of several parts with the same terms."""
        return LowRankSum(
            sparse.vstack([part.entries for part in parts], format="csr"),
            sparse.vstack([part.coefficients for part in parts], format="csr"),
            self.terms,
        )


def is_sparse(view: Any) -> bool:
    """Whether a view is stored as the entries that are not zero."""
    return sparse.issparse(view) or isinstance(view, LowRankSum)


def has_few_entries(view: Any) -> bool:
    """Whether rows of a view are multiplied as they are stored, not as dense rows."""
    return is_sparse(view) and view.nnz <= FEW_ENTRIES * view.shape[0] * view.shape[1]


class MatrixOperator(LinearOperator):
    """Operator that is defined by its products with matrices, `_matmat` and `_rmatmat`."""

    def _rmatvec(self, x: Array) -> Array:
        # The default of SciPy before 1.16 asks for `_rmatvec` itself.
        return np.asarray(self._rmatmat(x.reshape(-1, 1))).ravel()


def times(X: Matrix, M: Array) -> Array:
    """``X @ M``, computed in the precision of `X` and returned in float64."""
    return np.asarray(X @ M.astype(X.dtype, copy=False), dtype=np.float64)


def squared_norm(X: Matrix) -> float:
    """Squared Frobenius norm of an array, a sparse matrix or an operator that has it."""
    if hasattr(X, "squared_norm"):
        return float(X.squared_norm)
    entries = X if isinstance(X, np.ndarray) else X.data[:, None]
    return float(np.einsum("ij,ij->i", entries, entries).sum(dtype=np.float64))


def are_safe(squares: Array) -> Array:
    """Whether sums of squares in single precision have lost nothing to underflow or overflow."""
    return (squares > SAFE_SQUARES[0]) & (squares < SAFE_SQUARES[1])


def row_squares(X: Array) -> Array:
    """Squared norms of the rows in float64; those of float32 rows have single precision."""
    if X.dtype != np.float32:
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    squares = np.einsum("ij,ij->i", X, X).astype(np.float64)
    unsafe = ~are_safe(squares)
    if unsafe.any():
        squares[unsafe] = np.einsum("ij,ij->i", X[unsafe], X[unsafe], dtype=np.float64)
    return squares


def quotients(numbers: Any, by: Array) -> Array:
    """Quotients in float64, 0 where a divisor is 0."""
    return np.divide(numbers, by, out=np.zeros(by.shape), where=by > 0)


def reciprocal(lengths: Array, like: Array) -> Array:
    """Reciprocals in the type of `like`; 0 where it cannot represent them.

    Rows with such lengths are zero for all purposes.
    """
    smallest = 1 / float(np.finfo(like.dtype).max)
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > smallest)
    return inverse.astype(like.dtype, copy=False)


def rank_up_to(X: Matrix, limit: int, tolerance: float) -> int:
    """Numerical rank of `X`, or `limit` if the rank is at least that.

    Singular values below `tolerance` times the largest count as zero. For a large matrix, the rank
    of its product with slightly more than `limit` random columns is computed.
    """
    if min(X.shape) > DENSE_SPECTRUM:
        omega = np.random.default_rng(0).standard_normal((X.shape[1], limit + 20))
        X = times(X, omega)
    squares = eigh(_shorter_gram(X), eigvals_only=True)
    return _rank(squares, limit, tolerance)


def _rank(squares: Array, limit: int, tolerance: float) -> int:
    """Number of squared singular values, in ascending order, that do not count as zero."""
    return min(limit, int(np.sum(squares > tolerance**2 * squares[-1])))


def gram(X: Matrix) -> Array:
    """``X'X`` in float64; sparse matrices and operators are never made dense as a whole."""
    if isinstance(X, np.ndarray):
        return times(X.T, X)
    if hasattr(X, "gram"):
        return np.asarray(X.gram())
    return gram_columns(X, np.arange(X.shape[1]))


def gram_columns(X: Matrix, columns: Array) -> Array:
    """Some columns of ``X'X`` in float64, by products with `X`."""
    n, d = X.shape
    G = np.empty((d, len(columns)))
    for part in row_slices(len(columns), max(1, DENSE_PART // n)):
        selected = np.zeros((d, part.stop - part.start))
        selected[columns[part], np.arange(selected.shape[1])] = 1
        G[:, part] = times(X.T, times(X, selected))
    return G


def _shorter_gram(X: Matrix) -> Array:
    return gram(X if X.shape[1] <= X.shape[0] else X.T)


def leading_directions(X: Matrix, count: int) -> tuple[Array, Array]:
    """Leading right singular vectors of `X` (columns) and their singular values, largest first."""
    shorter = min(X.shape)
    if shorter > DENSE_SPECTRUM and count < shorter // 4:
        start = np.random.default_rng(0).standard_normal(shorter)
        _, s, Vt = svds(aslinearoperator(X), k=count, v0=start, return_singular_vectors="vh")
        order = np.argsort(-s)
        return np.asarray(Vt, dtype=np.float64)[order].T, np.asarray(s, dtype=np.float64)[order]
    return _directions(X, *largest_eigenpairs(_shorter_gram(X), count))


def rank_and_directions(
    X: Matrix, limit: int, count: int, tolerance: float, products: Array | None = None
) -> tuple[int, Array, Array]:
    """:func:`rank_up_to` and, up to the rank, :func:`leading_directions`; shares their work.

    `products` are ``X'X``, if they are known.
    """
    shorter = min(X.shape)
    if shorter > DENSE_SPECTRUM:
        rank = rank_up_to(X, limit, tolerance)
        count = min(count, rank)
        if products is None or count >= shorter // 4:
            return rank, *leading_directions(X, count)
        start = np.random.default_rng(0).standard_normal(shorter)
        squares, vectors = eigsh(products, count, v0=start, tol=SPECTRUM_TOLERANCE)
    else:
        G = _shorter_gram(X) if products is None else products
        squares, vectors = largest_eigenpairs(G, max(limit, count))
        rank = _rank(squares, limit, tolerance)
        first = len(squares) - min(count, rank)
        squares, vectors = squares[first:], vectors[:, first:]
    if products is None:
        return rank, *_directions(X, squares, vectors)
    return rank, vectors[:, ::-1], _singular_values(squares)


def largest_eigenpairs(G: Array, count: int) -> tuple[Array, Array]:
    """Up to `count` largest eigenvalues, ascending, and eigenvectors of a symmetric matrix."""
    first = max(0, len(G) - count)
    if len(G) <= WHOLE_SPECTRUM or count >= LARGE_SHARE * len(G):
        squares, vectors = np.linalg.eigh(G)
        return squares[first:], vectors[:, first:]
    pairs: tuple[Array, Array] = eigh(G, subset_by_index=(first, len(G) - 1))
    return pairs


def _directions(X: Matrix, squares: Array, vectors: Array) -> tuple[Array, Array]:
    """Right singular vectors and singular values from ascending eigenpairs of the shorter Gram."""
    s = _singular_values(squares)
    leading = vectors[:, ::-1]
    return (leading if X.shape[1] <= X.shape[0] else times(X.T, leading) / s), s


def _singular_values(squares: Array) -> Array:
    """Singular values, largest first, from their squares in ascending order."""
    return np.sqrt(np.maximum(squares[::-1], np.finfo(float).tiny))


def unit_rows(embedding: Array) -> Array:
    """Rows normalized to unit norm; zero rows, and a single column, which has signs only, stay."""
    lengths = finite_lengths(embedding)
    if embedding.shape[1] == 1:
        return embedding
    lengths[lengths == 0] = 1
    return embedding * (1 / lengths)[:, None]


def finite_lengths(embedding: Array) -> Array:
    """Norms of the rows of an embedding; raises if they are not finite."""
    lengths: Array = np.sqrt(np.einsum("ij,ij->i", embedding, embedding))
    if not np.isfinite(lengths).all():
        raise ValueError(
            "The embedding of some samples is too large: their values are too far from those of "
            "the fit, or the model file was changed after it was saved."
        )
    return lengths


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
    with single_threaded_blas() if len(G) <= FACTORED_BY_ONE else nullcontext():
        _, failed = dpotrf(G.T, lower=1, overwrite_a=1, clean=0)
    explained = np.square(np.diag(G))
    explained[zero] = np.inf
    if not failed and (explained > tolerance * squares).all():
        _clear_lower(G)
        G[zero, zero] = 0
        return G
    np.fill_diagonal(G, squares)
    for row in range(len(G)):
        G[row, row + 1 :] = G[row + 1 :, row]
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


def _clear_lower(G: Array) -> None:
    """Set everything below the diagonal to zero, without a copy."""
    for row in range(1, len(G)):
        G[row, :row] = 0
