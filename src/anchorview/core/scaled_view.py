"""Sparse views as if they were scaled, without making them dense.

Rows are scaled to ``diag(r) X diag(c) - u m'``: centering is a correction of rank one. A view from
which batches were taken out is a sum with a matrix of low rank, ``X = E + L T``.
"""

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import gen_batches

from anchorview._utils.linalg import gram_columns, reciprocal
from anchorview._utils.threads import parallel_map
from anchorview._utils.typing import Array
from anchorview.views.low_rank_sum import LowRankSum

if TYPE_CHECKING:
    from anchorview.core.scale import ViewScaling
    from anchorview.views.container import MultiViewData

ENTRIES_PER_BLOCK = 2**21
"""About how many entries a thread multiplies at a time."""

SAFE_SHIFT = 100.0
"""Maximum of the shifts, in standard deviations, for which products in single precision, and
squared lengths, keep most of their digits."""

DENSE_ENTRIES = 2**20
"""About how many entries of dense rows are held by a thread where shifts are larger."""

MAX_CANCELLATION = 100
"""Sum of squares of a column, relative to that after centering, up to which products of centered
columns are computed without centering first; they lose as many digits as this has."""

CANCELED = 64 * float(np.finfo(np.float64).eps)
"""Share of the terms of a squared length below which their difference is rounding."""


class EntryBlock(NamedTuple):
    """Some rows of a sparse matrix, which share its memory."""

    rows: slice
    matrix: sparse.csr_array

    def squared(self) -> sparse.csr_array:
        """Rows with squared entries, in double precision."""
        return _csr(self.matrix.data.astype(np.float64) ** 2, self.matrix)


def _csr(entries: Array, like: sparse.csr_array) -> sparse.csr_array:
    """Matrix with other entries in the places of a matrix."""
    return _sharing(entries, like.indices, like.indptr, like.shape)


def _sharing(
    data: Array, indices: Array, indptr: Array, shape: tuple[int, int]
) -> sparse.csr_array:
    # The constructor would copy parts of larger arrays.
    matrix = sparse.csr_array(shape, dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    return matrix


def entry_blocks(X: sparse.csr_array) -> list[EntryBlock]:
    """Blocks of rows with about equal numbers of entries."""
    n, d = X.shape
    ends = np.searchsorted(X.indptr, np.arange(ENTRIES_PER_BLOCK, X.nnz, ENTRIES_PER_BLOCK))
    borders = np.unique(np.concatenate([[0], ends, [n]]))
    blocks = []
    for start, stop in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        first, last = X.indptr[start], X.indptr[stop]
        starts = X.indptr[start : stop + 1] - first
        parts = X.data[first:last], X.indices[first:last], starts.astype(X.indices.dtype)
        matrix = _sharing(*parts, (stop - start, d))
        blocks.append(EntryBlock(slice(start, stop), matrix))
    return blocks


class LowRank(NamedTuple):
    """Matrix of low rank that is added to the entries of a view, with scaled columns."""

    coefficients: sparse.csr_array
    terms: Array

    def row_products(self, entries: sparse.csr_array, columns: Array) -> Array:
        """Product of each row of this matrix with the row of scaled entries."""
        products = entries @ (self.terms * columns).T
        return np.asarray(self.coefficients.multiply(products).sum(axis=1)).ravel()

    def squared_rows(self) -> Array:
        """Squared lengths of the rows."""
        products = self.coefficients @ (self.terms @ self.terms.T)
        return np.asarray(self.coefficients.multiply(products).sum(axis=1)).ravel()


class ScaledSparse(LinearOperator):
    """A scaled sparse view; products with few columns run in threads.

    `has` says which rows are available; the others are zero, whatever their values.
    """

    def __init__(
        self, X: sparse.csr_array | LowRankSum, scaling: "ViewScaling", has: Array | None = None
    ) -> None:
        n, d = X.shape
        added, X = (X, X.entries) if isinstance(X, LowRankSum) else (None, X)
        self.columns = np.ones(d) if scaling.deviation is None else 1 / scaling.deviation
        self.shift = np.zeros(d) if scaling.center is None else scaling.center * self.columns
        self.low: LowRank | None = None
        if added is not None:
            self.low = LowRank(added.coefficients.astype(np.float64), added.terms * self.columns)
        single = X.dtype == np.float32 and self._largest_shift <= SAFE_SHIFT
        super().__init__(dtype=np.dtype(np.float32 if single else np.float64), shape=(n, d))
        self.X = X if X.dtype.kind == "f" and X.dtype.itemsize >= 4 else X.astype(self.dtype)
        self.rows = np.ones(n) if has is None else has.astype(np.float64)
        if has is not None and not has.all():
            self.X = self.X.copy()
            self.X.data[np.repeat(~has, np.diff(X.indptr))] = 0
        self.shift_rows = self.rows.copy()
        if scaling.unit_first:
            squares, _, _ = self._sums(None)
            self.rows *= reciprocal(np.sqrt(squares), self.rows)
        self.squares = self._squared_lengths()
        if scaling.unit_last:
            inverse = reciprocal(np.sqrt(self.squares), self.squares)
            self.rows, self.shift_rows = self.rows * inverse, self.shift_rows * inverse
            self.squares = self.squares * inverse**2
        self *= 1 / scaling.norm

    @classmethod
    def of(cls, data: "MultiViewData", p: int, scaling: "ViewScaling") -> "ScaledSparse":
        """View `p` of some samples."""
        has = None if data.available is None else data.available[:, p]
        return cls(data.views[p], scaling, has)

    @property
    def _largest_shift(self) -> float:
        """Largest number, in standard deviations, that is added to or subtracted from entries."""
        terms = np.zeros(1) if self.low is None else self.low.terms
        return max(float(np.abs(values).max(initial=0)) for values in (self.shift, terms))

    def _sums(self, shift: Array | None) -> tuple[Array, Array, Array]:
        """Sums over each row before centering: of squares, of the positive terms of these, and of
        products with a shift."""  # noqa: D209
        squares, entries = np.zeros(self.shape[0]), np.zeros(self.shape[0])
        of_squares = self.columns**2
        of_entries = None if shift is None else self.columns * shift

        def work(block: EntryBlock) -> None:
            squares[block.rows] = block.squared() @ of_squares
            if of_entries is not None:
                entries[block.rows] = block.matrix @ of_entries

        for _ in parallel_map(work, entry_blocks(self.X)):
            pass
        if self.low is None:
            return squares, squares, entries
        positive = squares + self.low.squared_rows()
        if shift is not None:
            entries += self.low.coefficients @ (self.low.terms @ shift)
        products = self.low.row_products(self.X.astype(np.float64), self.columns)
        return np.maximum(positive + 2 * products, 0), positive, entries

    def _squared_lengths(self) -> Array:
        """Squared lengths of the rows."""
        if self._largest_shift > SAFE_SHIFT:
            return self._squared_lengths_of_dense_rows()
        centers = bool(self.shift.any())
        squares, positive, entries = self._sums(self.shift if centers else None)
        squares, positive = squares * self.rows**2, positive * self.rows**2
        if not centers and self.low is None:
            return squares
        shifts = self.shift_rows**2 * (self.shift @ self.shift)
        lengths = squares - 2 * self.rows * self.shift_rows * entries + shifts
        lengths[lengths < CANCELED * (positive + shifts)] = 0
        return lengths

    def _squared_lengths_of_dense_rows(self) -> Array:
        """Squared lengths that lose no digits where columns have large means."""
        n, d = self.shape
        lengths = np.empty(n)

        def work(rows: slice) -> None:
            scaled = self.dense_rows(rows)
            lengths[rows] = np.einsum("ij,ij->i", scaled, scaled)

        for _ in parallel_map(work, list(gen_batches(n, max(1, DENSE_ENTRIES // d)))):
            pass
        return lengths

    @property
    def squared_norm(self) -> float:
        """Squared Frobenius norm."""
        return float(self.squares.sum())

    def gram(self) -> Array:
        """Products of all pairs of columns."""
        scaled = self.X.astype(np.float64)
        scaled.data *= np.repeat(self.rows, np.diff(scaled.indptr)) * self.columns[scaled.indices]
        G = (scaled.T @ scaled).toarray()
        uncentered = G.diagonal().copy()
        totals = scaled.T @ self.shift_rows
        if self.low is not None:
            rows = self.low.coefficients * self.rows[:, None]
            mixed = (scaled.T @ rows) @ self.low.terms
            own = self.low.terms.T @ ((rows.T @ rows) @ self.low.terms)
            G += mixed + mixed.T + own
            uncentered += own.diagonal()
            totals = totals + self.low.terms.T @ (rows.T @ self.shift_rows)
        cross = np.outer(totals, self.shift)
        G -= cross + cross.T
        G += (self.shift_rows @ self.shift_rows) * np.outer(self.shift, self.shift)
        imprecise = np.flatnonzero(uncentered > MAX_CANCELLATION * G.diagonal())
        if len(imprecise):
            G[:, imprecise] = gram_columns(self, imprecise)
            G[imprecise] = G[:, imprecise].T
        return G

    def restricted(self, rows: Array) -> "ScaledSparse":
        """Some rows, by their positions, scaled as they are here."""
        part = copy(self)
        part.shape = (len(rows), self.shape[1])
        part.X, part.squares = self.X[rows], self.squares[rows]
        part.rows, part.shift_rows = self.rows[rows], self.shift_rows[rows]
        if self.low is not None:
            part.low = LowRank(self.low.coefficients[rows], self.low.terms)
        return part

    def dense_rows(self, rows: slice | Array) -> Array:
        """Some scaled rows, dense, in double precision."""
        block = self.X[rows].toarray().astype(np.float64)
        block *= self.rows[rows, None]
        block *= self.columns
        if self.low is not None:
            block += self.rows[rows, None] * (self.low.coefficients[rows] @ self.low.terms)
        block -= np.outer(self.shift_rows[rows], self.shift)
        return block

    def __imul__(self, factor: float) -> "ScaledSparse":
        self.rows = self.rows * factor
        self.shift_rows = self.shift_rows * factor
        self.squares = self.squares * factor**2
        return self

    def _matmat(self, M: Array) -> Array:
        product = np.empty((self.shape[0], M.shape[1]), dtype=self.dtype)
        weighted = np.ascontiguousarray(self.columns[:, None] * M, dtype=self.dtype)
        shifted = (self.shift @ M).astype(self.dtype)
        added = None if self.low is None else self.low.terms @ M
        rows, shift_rows = self.rows.astype(self.dtype), self.shift_rows.astype(self.dtype)

        def work(block: EntryBlock) -> None:
            part = block.matrix @ weighted
            if self.low is not None:
                part += self.low.coefficients[block.rows] @ added
            part *= rows[block.rows, None]
            part -= np.outer(shift_rows[block.rows], shifted)
            product[block.rows] = part

        for _ in parallel_map(work, entry_blocks(self.X)):
            pass
        return product

    def _rmatmat(self, M: Array) -> Array:
        rows = self.rows.astype(self.dtype)

        def work(block: EntryBlock) -> Array:
            weighted = rows[block.rows, None] * M[block.rows]
            return block.matrix.T @ np.ascontiguousarray(weighted, dtype=self.dtype)

        total = np.zeros((self.shape[1], M.shape[1]))
        for _, part in parallel_map(work, entry_blocks(self.X)):
            total += part
        total *= self.columns[:, None]
        if self.low is not None:
            total += self.low.terms.T @ (self.low.coefficients.T @ (self.rows[:, None] * M))
        total -= self.shift[:, None] * (self.shift_rows @ M)
        return total.astype(self.dtype, copy=False)
