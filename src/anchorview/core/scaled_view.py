"""Scaled views: what the stages multiply with.

A :class:`ScaledBlock` has some rows of several views side by side, a :class:`SparseScaledView` all
rows of a sparse view. Dense rows are scaled where they are multiplied. Sparse rows are never made
dense: centering, and batches that were taken out, are a matrix of low rank that is added.
"""

from collections.abc import Sequence
from copy import copy
from functools import reduce
from itertools import pairwise
from operator import iadd
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import (
    LowRankSum,
    MatrixOperator,
    gram_columns,
    is_sparse,
    reciprocal,
    squared_norm,
)
from anchorview._utils.threads import ThreadBuffer, for_blocks, parallel_map, row_slices
from anchorview._utils.typing import Array, Matrix
from anchorview.core.scale import ViewScaling, times_roots, with_unit_norms
from anchorview.views.container import MultiViewData, RowBlock, dense_rows
from anchorview.views.row_source import LARGEST_BLOCK

ENTRIES_PER_BLOCK = 2**21
"""About how many entries a thread multiplies at a time."""

SAFE_SHIFT, DENSE_ENTRIES = 100.0, 2**20
"""Maximum of the shifts, in standard deviations, for which products in single precision, and
squared lengths, keep most of their digits; where shifts are larger, a thread holds dense rows with
about as many entries."""

MAX_CANCELLATION = 100
"""Sum of squares of a column, relative to that after centering, up to which products of centered
columns are computed without centering first; they lose as many digits as this has."""

CANCELED = 64 * float(np.finfo(np.float64).eps)
"""Share of the terms of a squared length below which their difference is rounding."""

ALL_ROWS = slice(None)

_scaled = ThreadBuffer()


class EntryBlock(NamedTuple):
    """Some rows of a sparse matrix, which share its memory."""

    rows: slice
    matrix: sparse.csr_array


def entry_blocks(X: sparse.csr_array) -> list[EntryBlock]:
    """Blocks of rows with about equal numbers of entries."""
    n, d = X.shape
    ends = np.searchsorted(X.indptr, np.arange(ENTRIES_PER_BLOCK, X.nnz, ENTRIES_PER_BLOCK))
    borders = np.unique(np.concatenate([[0], ends, [n]]))
    blocks = []
    for start, stop in pairwise(borders.tolist()):
        first, last = X.indptr[start], X.indptr[stop]
        # The constructor would copy parts of larger arrays.
        matrix = sparse.csr_array((stop - start, d), dtype=X.dtype)
        matrix.data, matrix.indices = X.data[first:last], X.indices[first:last]
        matrix.indptr = (X.indptr[start : stop + 1] - first).astype(X.indices.dtype)
        blocks.append(EntryBlock(slice(start, stop), matrix))
    return blocks


class SparseScaledView(MatrixOperator):
    """A sparse view as a scaling makes it: ``diag(f) E diag(c) + L T`` with few terms ``T``.

    The terms are those of a correction of batches, and centering. `has` says which rows are
    available; other rows are zero, whatever their values. Products with few columns run in threads.
    """

    def __init__(
        self, X: sparse.csr_array | LowRankSum, scaling: ViewScaling, has: Array | None = None
    ) -> None:
        n, d = X.shape
        self.columns = np.ones(d) if scaling.deviation is None else 1 / scaling.deviation
        self.factors = np.ones(n) if has is None else has.astype(np.float64)
        self.terms = np.empty((0, d))
        self.coefficients: Matrix = np.empty((n, 0))
        """Sparse if there are batches, as a sample has one batch."""
        if isinstance(X, LowRankSum):
            self.coefficients = _times_rows(self.factors, X.coefficients.astype(np.float64))
            self.terms, X = X.terms * self.columns, X.entries
        centering = -self.factors[:, None]
        shift = np.zeros(d) if scaling.center is None else scaling.center * self.columns
        largest = max(np.abs(values).max(initial=0) for values in (shift, self.terms))
        self.is_safe = bool(largest <= SAFE_SHIFT)
        single = X.dtype == np.float32 and self.is_safe
        super().__init__(dtype=np.dtype(np.float32 if single else np.float64), shape=(n, d))
        self.X = X if X.dtype.kind == "f" and X.dtype.itemsize >= 4 else X.astype(self.dtype)
        if has is not None and not has.all():
            self.X = self.X.copy()
            self.X.data[np.repeat(~has, np.diff(X.indptr))] = 0
        self.squares = np.ones(n)
        if scaling.unit_first:
            self *= _reciprocal_roots(self._squared_lengths())
        if scaling.center is not None:
            low = self.coefficients
            self.coefficients = (
                sparse.hstack([low, centering], format="csr")
                if sparse.issparse(low)
                else np.hstack([low, centering])
            )
            self.terms = np.vstack([self.terms, shift])
        self.squares = self._squared_lengths()
        if scaling.unit_last:
            self *= _reciprocal_roots(self.squares)
        self *= 1 / scaling.norm

    @classmethod
    def of(cls, data: MultiViewData, p: int, scaling: ViewScaling) -> "SparseScaledView":
        """View `p` of some samples, with the roots of their weights."""
        has = None if data.available is None else data.available[:, p]
        return cls(data.views[p], scaling, has).weighted(data.sample_weight)

    def weighted(self, weights: Array | None) -> "SparseScaledView":
        """Multiply the rows by the roots of their weights, if they have any."""
        if weights is not None:
            self *= np.sqrt(weights)
        return self

    def _squared_lengths(self) -> Array:
        """Squared lengths of the rows; zero where the terms cancel but for rounding."""
        n, d = self.shape
        lengths = np.empty(n)

        def exact(rows: slice) -> None:
            scaled = self.toarray(rows)
            lengths[rows] = np.einsum("ij,ij->i", scaled, scaled)

        if not self.is_safe:
            for _ in parallel_map(exact, row_slices(n, max(1, DENSE_ENTRIES // d))):
                pass
            return lengths
        inner, weighted = self.terms @ self.terms.T, (self.columns * self.terms).T

        def work(block: EntryBlock) -> None:
            factors, low = self.factors[block.rows], self.coefficients[block.rows]
            low = low.toarray() if sparse.issparse(low) else low
            squared = block.matrix.astype(np.float64)
            squared.data **= 2
            squares = (squared @ self.columns**2) * factors**2
            lengths[block.rows] = squares
            if len(inner):
                products = 2 * factors[:, None] * (block.matrix @ weighted) + low @ inner
                changed = squares + np.einsum("ij,ij->i", low, products)
                squares += low**2 @ inner.diagonal()
                lengths[block.rows] = np.where(changed < CANCELED * squares, 0, changed)

        for _ in parallel_map(work, entry_blocks(self.X)):
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
        L, T = self.coefficients, self.terms
        low = T.T @ ((L.T @ L) @ T)
        uncentered = G.diagonal() + low.diagonal()
        mixed = (scaled.T @ L) @ T
        G += mixed + mixed.T + low
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
        part.factors, part.coefficients = self.factors[rows], self.coefficients[rows]
        return part

    def toarray(self, rows: slice = ALL_ROWS) -> Array:
        """Scaled rows, in double precision."""
        block = self.X[rows].toarray().astype(np.float64)
        block *= self.factors[rows, None]
        block *= self.columns
        return block + self.coefficients[rows] @ self.terms

    def __imul__(self, factors: float | Array) -> "SparseScaledView":
        """Multiply all rows by a number, or each by its own."""
        self.factors = self.factors * factors
        self.coefficients = _times_rows(factors, self.coefficients)
        self.squares = self.squares * factors**2
        return self

    def _matmat(self, M: Array) -> Array:
        product = np.empty((self.shape[0], M.shape[1]), dtype=self.dtype)
        weighted = np.ascontiguousarray(self.columns[:, None] * M, dtype=self.dtype)
        added = (self.terms @ M).astype(self.dtype)
        factors, low = self.factors.astype(self.dtype), self.coefficients.astype(self.dtype)

        def work(block: EntryBlock) -> None:
            part = block.matrix @ weighted
            part *= factors[block.rows, None]
            np.add(part, low[block.rows] @ added, out=product[block.rows])

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
        total += self.terms.T @ (self.coefficients.T @ M)
        return total.astype(self.dtype, copy=False)


def _times_rows(factors: float | Array, X: Matrix) -> Matrix:
    if not isinstance(factors, np.ndarray):
        return factors * X
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(factors) @ X)
    return factors[:, None] * X


def _reciprocal_roots(squares: Array) -> Array:
    return reciprocal(np.sqrt(squares), squares)


def scaled_product(X: Matrix, scaling: ViewScaling, W: Array) -> Array:
    """Scaled rows times a map, in its precision; sparse rows stay sparse."""
    if not isinstance(X, np.ndarray):
        return np.asarray(SparseScaledView(X, scaling) @ W).astype(W.dtype, copy=False)
    product = np.empty((len(X), W.shape[1]), W.dtype)
    for part in row_slices(len(X), max(1, LARGEST_BLOCK // (len(W) * W.itemsize))):
        values = _scaled.array((part.stop - part.start, len(W)), W.dtype)
        # A factor of each row is cheaper to apply to the product.
        factor = scaling.apply_but_factor(X[part], values)
        np.matmul(values, W, out=product[part])
        product[part] *= factor
    return product


class ScaledBlock:
    """Scaled views of a row block side by side."""

    def __init__(
        self, data: MultiViewData, scalings: Sequence[ViewScaling], block: RowBlock
    ) -> None:
        self.views = [data.views[p] for p in block.views]
        self.scalings = [scalings[p] for p in block.views]
        self.block, self.weights = block, block.weights
        self.ends = np.cumsum([view.shape[1] for view in self.views]).tolist()
        self.shape = block.size, self.ends[-1]
        self.dtype = data.dtype

    def toarray(self, out: Array | None = None) -> Array:
        """All scaled rows times the roots of their weights, in `out` if it is given."""
        out = np.empty(self.shape, self.dtype) if out is None else out
        columns = np.split(out, self.ends[:-1], axis=1)
        for view, scaling, part in zip(self.views, self.scalings, columns, strict=True):
            scaling.apply(dense_rows(view, self.block.rows), part)
        return times_roots(out, self.weights)

    def gram(self) -> Array:
        """Weighted sums of products of all pairs of columns, in the precision of the rows."""
        pairs = list(zip(self.views, self.scalings, strict=True))
        if all(sparse.issparse(view) and scaling.keeps_zeros for view, scaling in pairs):
            parts = [view[self.block.rows] * (1 / scaling.norm) for view, scaling in pairs]
            few = sparse.csr_array(sparse.hstack(parts, format="csr", dtype=self.dtype))
            if self.weights is not None:
                few = _times_rows(np.sqrt(self.weights).astype(self.dtype), few)
            return np.asarray((few.T @ few).toarray())
        rows = self.toarray(_scaled.array(self.shape, self.dtype))
        return np.asarray(rows.T @ rows)

    def __matmul__(self, W: Array) -> Array:
        """Product with a map from all columns, in its precision; no rows are made dense."""
        maps = zip(self.views, self.scalings, np.split(W, self.ends[:-1]), strict=True)
        rows = self.block.rows
        products = (scaled_product(view[rows], scaling, part) for view, scaling, part in maps)
        return reduce(iadd, products)


def scaled_views(
    data: MultiViewData,
    scalings: tuple[ViewScaling, ...],
    *,
    unit_norm: bool,
    dtype: "np.dtype[Any] | None" = None,
) -> tuple[tuple[Matrix, ...], tuple[ViewScaling, ...]]:
    """All views, scaled, and the scalings including norms; rows of missing samples are zero.

    Rows are multiplied by the roots of the weights of samples. Dense views are copied (in the
    precision `dtype`, if given), as they are multiplied many times.
    """
    matrices: list[Matrix] = [
        SparseScaledView.of(data, p, scaling)
        if is_sparse(data.views[p])
        else scaled_copy(data, p, scaling, dtype or data.dtype)
        for p, scaling in enumerate(scalings)
    ]
    squared_norms = [squared_norm(X) for X in matrices]
    scalings = with_unit_norms(data, scalings, squared_norms, unit_norm=unit_norm)
    for X, scaling in zip(matrices, scalings, strict=True):
        if unit_norm:
            X *= 1 / scaling.norm
    return tuple(matrices), scalings


def scaled_copy(data: MultiViewData, p: int, scaling: ViewScaling, dtype: "np.dtype[Any]") -> Array:
    """Dense scaled copy of a view, times the roots of weights; rows of missing samples are zero."""
    view = data.views[p]
    out = np.zeros(view.shape, dtype=dtype)

    def work(block: RowBlock) -> None:
        rows = dense_rows(view, block.rows)
        scaled = scaling.apply(rows, np.empty(rows.shape, dtype=dtype))
        out[block.rows] = times_roots(scaled, block.weights)

    for_blocks(work, (block for block in data.blocks() if p in block.views), "scaling")
    return out
