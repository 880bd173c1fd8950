"""Scaled views: what the stages multiply with.

A :class:`ScaledView` has the rows of one view, dense or sparse, and a :class:`ScaledBlock` those of
several views side by side. Dense rows are scaled where they are multiplied. Sparse rows are never
made dense: they are scaled to ``diag(r) X diag(c) - u m'``, where centering is a correction of rank
one. A sparse view from which batches were taken out is a sum with a matrix of low rank,
``X = E + L T``; a dense one is corrected when rows are taken.
"""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import gen_batches

from anchorview._utils.linalg import gram_columns, reciprocal, squared_norm
from anchorview._utils.threads import ThreadBuffer, for_blocks, parallel_map
from anchorview._utils.typing import Array, Matrix
from anchorview.core.scale import ViewScaling, with_unit_norms
from anchorview.views.container import MultiViewData, RowBlock, dense_rows
from anchorview.views.low_rank_sum import LowRankSum, has_few_entries, is_sparse
from anchorview.views.row_source import LARGEST_BLOCK, working_precision

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


_scaled = ThreadBuffer()


class EntryBlock(NamedTuple):
    """Some rows of a sparse matrix, which share its memory."""

    rows: slice
    matrix: sparse.csr_array

    def squared(self) -> sparse.csr_array:
        """Rows with squared entries, in double precision."""
        X = self.matrix
        return _sharing(X.data.astype(np.float64) ** 2, X.indices, X.indptr, X.shape)


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


class ScaledView(LinearOperator):
    """Rows of a view as a scaling makes them: ``X @ W``, ``X.T @ M``, rows and Gram matrix."""

    @abstractmethod
    def __getitem__(self, rows: slice | Array) -> "ScaledView":
        """Return some rows."""

    @abstractmethod
    def toarray(self) -> Array:
        """All scaled rows, dense."""

    @abstractmethod
    def gram(self) -> Array:
        """Products of all pairs of columns."""


class DenseScaledView(ScaledView):
    """A dense view; rows are scaled for each product, in the precision of the other factor."""

    def __init__(self, X: Array, scaling: ViewScaling) -> None:
        super().__init__(dtype=working_precision([X.dtype]), shape=X.shape)
        self.X, self.scaling = X, scaling

    def __getitem__(self, rows: slice | Array) -> "DenseScaledView":
        """Return some rows."""
        return DenseScaledView(self.X[rows], self.scaling)

    def toarray(self, out: Array | None = None) -> Array:
        """All scaled rows, in `out` and its precision if it is given."""
        return self.scaling.apply(self.X, np.empty(self.shape, self.dtype) if out is None else out)

    def gram(self) -> Array:
        """Products of all pairs of columns."""
        rows = self.toarray(_scaled.array(self.shape, self.dtype))
        return np.asarray(rows.T @ rows)

    def _matmat(self, W: Array) -> Array:
        product = np.empty((self.shape[0], W.shape[1]), W.dtype)
        for part in gen_batches(len(product), max(1, LARGEST_BLOCK // (len(W) * W.itemsize))):
            values = _scaled.array((part.stop - part.start, len(W)), W.dtype)
            # A factor of each row is cheaper to apply to the product.
            factor = self.scaling.apply_but_factor(self.X[part], values)
            np.matmul(values, W, out=product[part])
            product[part] *= factor
        return product

    def _rmatmat(self, M: Array) -> Array:
        return np.asarray(self.toarray(_scaled.array(self.shape, M.dtype)).T @ M)


class SparseScaledView(ScaledView):
    """A sparse view; products with few columns run in threads.

    `has` says which rows are available; the others are zero, whatever their values.
    """

    def __init__(
        self, X: sparse.csr_array | LowRankSum, scaling: ViewScaling, has: Array | None = None
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
        self.factors = np.ones(n) if has is None else has.astype(np.float64)
        if has is not None and not has.all():
            self.X = self.X.copy()
            self.X.data[np.repeat(~has, np.diff(X.indptr))] = 0
        self.shift_factors = self.factors.copy()
        if scaling.unit_first:
            squares, _, _ = self._sums(None)
            self.factors *= reciprocal(np.sqrt(squares), self.factors)
        self.squares = self._squared_lengths()
        if scaling.unit_last:
            inverse = reciprocal(np.sqrt(self.squares), self.squares)
            self.factors, self.shift_factors = self.factors * inverse, self.shift_factors * inverse
            self.squares = self.squares * inverse**2
        self *= 1 / scaling.norm

    @classmethod
    def of(cls, data: MultiViewData, p: int, scaling: ViewScaling) -> "SparseScaledView":
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
        if self._largest_shift > SAFE_SHIFT:
            return self._squared_lengths_of_dense_rows()
        centers = bool(self.shift.any())
        squares, positive, entries = self._sums(self.shift if centers else None)
        squares, positive = squares * self.factors**2, positive * self.factors**2
        if not centers and self.low is None:
            return squares
        shifts = self.shift_factors**2 * (self.shift @ self.shift)
        lengths = squares - 2 * self.factors * self.shift_factors * entries + shifts
        lengths[lengths < CANCELED * (positive + shifts)] = 0
        return lengths

    def _squared_lengths_of_dense_rows(self) -> Array:
        """Squared lengths that lose no digits where columns have large means."""
        n, d = self.shape
        lengths = np.empty(n)

        def work(rows: slice) -> None:
            scaled = self._dense_rows(rows)
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
        scaled.data *= (
            np.repeat(self.factors, np.diff(scaled.indptr)) * self.columns[scaled.indices]
        )
        G = (scaled.T @ scaled).toarray()
        uncentered = G.diagonal().copy()
        totals = scaled.T @ self.shift_factors
        if self.low is not None:
            rows = self.low.coefficients * self.factors[:, None]
            mixed = (scaled.T @ rows) @ self.low.terms
            low_gram = self.low.terms.T @ ((rows.T @ rows) @ self.low.terms)
            G += mixed + mixed.T + low_gram
            uncentered += low_gram.diagonal()
            totals = totals + self.low.terms.T @ (rows.T @ self.shift_factors)
        cross = np.outer(totals, self.shift)
        G -= cross + cross.T
        G += (self.shift_factors @ self.shift_factors) * np.outer(self.shift, self.shift)
        imprecise = np.flatnonzero(uncentered > MAX_CANCELLATION * G.diagonal())
        if len(imprecise):
            G[:, imprecise] = gram_columns(self, imprecise)
            G[imprecise] = G[:, imprecise].T
        return G

    def __getitem__(self, rows: slice | Array) -> "SparseScaledView":
        """Return some rows."""
        part = copy(self)
        part.X, part.squares = self.X[rows], self.squares[rows]
        part.shape = part.X.shape
        part.factors, part.shift_factors = self.factors[rows], self.shift_factors[rows]
        if self.low is not None:
            part.low = LowRank(self.low.coefficients[rows], self.low.terms)
        return part

    def toarray(self) -> Array:
        """All scaled rows, in double precision."""
        return self._dense_rows(slice(None))

    def _dense_rows(self, rows: slice) -> Array:
        block = self.X[rows].toarray().astype(np.float64)
        block *= self.factors[rows, None]
        block *= self.columns
        if self.low is not None:
            block += self.factors[rows, None] * (self.low.coefficients[rows] @ self.low.terms)
        block -= np.outer(self.shift_factors[rows], self.shift)
        return block

    def __imul__(self, factor: float) -> "SparseScaledView":
        self.factors = self.factors * factor
        self.shift_factors = self.shift_factors * factor
        self.squares = self.squares * factor**2
        return self

    def _matmat(self, M: Array) -> Array:
        product = np.empty((self.shape[0], M.shape[1]), dtype=self.dtype)
        weighted = np.ascontiguousarray(self.columns[:, None] * M, dtype=self.dtype)
        shifted = (self.shift @ M).astype(self.dtype)
        added = None if self.low is None else self.low.terms @ M
        factors, shift_factors = (
            self.factors.astype(self.dtype),
            self.shift_factors.astype(self.dtype),
        )

        def work(block: EntryBlock) -> None:
            part = block.matrix @ weighted
            if self.low is not None:
                part += self.low.coefficients[block.rows] @ added
            part *= factors[block.rows, None]
            part -= np.outer(shift_factors[block.rows], shifted)
            product[block.rows] = part

        for _ in parallel_map(work, entry_blocks(self.X)):
            pass
        return product

    def _rmatmat(self, M: Array) -> Array:
        factors = self.factors.astype(self.dtype)

        def work(block: EntryBlock) -> Array:
            weighted = factors[block.rows, None] * M[block.rows]
            return block.matrix.T @ np.ascontiguousarray(weighted, dtype=self.dtype)

        total = np.zeros((self.shape[1], M.shape[1]))
        for _, part in parallel_map(work, entry_blocks(self.X)):
            total += part
        total *= self.columns[:, None]
        if self.low is not None:
            total += self.low.terms.T @ (self.low.coefficients.T @ (self.factors[:, None] * M))
        total -= self.shift[:, None] * (self.shift_factors @ M)
        return total.astype(self.dtype, copy=False)


def scaled_view(X: Matrix, scaling: ViewScaling) -> ScaledView:
    """Rows of a view as a scaling makes them."""
    if isinstance(X, np.ndarray):
        return DenseScaledView(X, scaling)
    return SparseScaledView(X, scaling)


def projected_rows(view: Matrix, rows: slice | Array, scaling: ViewScaling, W: Array) -> Array:
    """Some scaled rows of a view times a map, in its precision.

    Rows with few entries stay sparse.
    """
    X = view[rows]
    if not has_few_entries(X):
        X = dense_rows(X, slice(None))
    return np.asarray(scaled_view(X, scaling) @ W).astype(W.dtype, copy=False)


class ScaledBlock:
    """Scaled views of a row block side by side."""

    def __init__(
        self, data: MultiViewData, scalings: Sequence[ViewScaling], block: RowBlock
    ) -> None:
        self.views = [data.views[p] for p in block.views]
        self.scalings = [scalings[p] for p in block.views]
        self.block = block
        self.ends = np.cumsum([view.shape[1] for view in self.views]).tolist()
        self.shape = block.size, self.ends[-1]
        self.dtype = data.dtype

    @property
    def stays_sparse(self) -> bool:
        """Whether the scaled rows of all views are sparse."""
        pairs = zip(self.views, self.scalings, strict=True)
        return all(sparse.issparse(view) and scaling.keeps_zeros for view, scaling in pairs)

    def toarray(self, out: Array | None = None) -> Array:
        """All scaled rows, in `out` if it is given."""
        out = np.empty(self.shape, self.dtype) if out is None else out
        columns = np.split(out, self.ends[:-1], axis=1)
        for view, scaling, part in zip(self.views, self.scalings, columns, strict=True):
            scaling.apply(dense_rows(view, self.block.rows), part)
        return out

    def gram(self) -> Array:
        """Products of all pairs of columns, in the precision of the rows."""
        if self.stays_sparse:
            pairs = zip(self.views, self.scalings, strict=True)
            parts = [view[self.block.rows] * (1 / scaling.norm) for view, scaling in pairs]
            few = sparse.csr_array(sparse.hstack(parts, format="csr", dtype=self.dtype))
            return np.asarray((few.T @ few).toarray())
        rows = self.toarray(_scaled.array(self.shape, self.dtype))
        return np.asarray(rows.T @ rows)

    def __matmul__(self, W: Array) -> Array:
        """Product with a map from all columns, in its precision; no rows are made dense."""
        maps = np.split(W, self.ends[:-1])
        total: Array | None = None
        for view, scaling, part in zip(self.views, self.scalings, maps, strict=True):
            product = scaled_view(view[self.block.rows], scaling) @ part
            product = product.astype(W.dtype, copy=False)
            total = product if total is None else np.add(total, product, out=total)
        assert total is not None
        return total


def scaled_views(
    data: MultiViewData,
    scalings: tuple[ViewScaling, ...],
    *,
    unit_norm: bool,
    dtype: "np.dtype[Any] | None" = None,
) -> tuple[tuple[Matrix, ...], tuple[ViewScaling, ...]]:
    """All views, scaled, and the scalings including norms; rows of missing samples are zero.

    Dense views are copied (in the precision `dtype`, if given), as they are multiplied many times.
    """
    matrices: list[Matrix] = [
        SparseScaledView.of(data, p, scaling)
        if is_sparse(data.views[p])
        else scaled_copy(data, p, scaling, dtype or data.dtype)
        for p, scaling in enumerate(scalings)
    ]
    normed = with_unit_norms(data, scalings, [squared_norm(X) for X in matrices])
    if not unit_norm:
        return tuple(matrices), scalings
    for X, scaling in zip(matrices, normed, strict=True):
        X *= 1 / scaling.norm
    return tuple(matrices), normed


def scaled_copy(data: MultiViewData, p: int, scaling: ViewScaling, dtype: "np.dtype[Any]") -> Array:
    """Scaled copy of a dense view; rows of missing samples are zero."""
    view = data.views[p]
    out = np.zeros(view.shape, dtype=dtype)

    def work(block: RowBlock) -> None:
        rows = view[block.rows]
        out[block.rows] = scaling.apply(rows, np.empty(rows.shape, dtype=dtype))

    for_blocks(work, (block for block in data.blocks() if p in block.views), "scaling")
    return out
