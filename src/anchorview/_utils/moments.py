"""Weights, means and squared deviations of features, of all rows or by group, that can be merged.

Blocks of rows are centered before they are squared, and merged by the formulas of Chan, Golub and
LeVeque, so that no digits cancel.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from anchorview._utils.linalg import are_safe, canonical_csr, quotients
from anchorview._utils.threads import ThreadBuffer
from anchorview._utils.typing import Array, Matrix

SHIFT_ROWS = 64
"""About how many rows give the shift that is subtracted before squares are added up."""

_deviations = ThreadBuffer()


class Moments(NamedTuple):
    """Moments of features: of all rows (n_features,), or by group (n_groups, n_features)."""

    weight: Any
    """Number of rows, or sum of their weights: a number, or an array by group and feature, as
    missing values do not count."""
    mean: Array
    """0 where nothing was counted."""
    squares: Array
    """Sums of squared deviations from the mean."""

    @classmethod
    def of(cls, rows: Matrix, weights: Array | None = None) -> "Moments":
        """Moments of some rows, dense or sparse, without missing values."""
        if weights is not None:
            return group_moments(rows, np.zeros(rows.shape[0], np.intp), 1, weights).of_groups(0)
        if sparse.issparse(rows):
            mean, variance = mean_variance_axis(sparse.csr_matrix(rows, dtype=np.float64), axis=0)
            return cls(rows.shape[0], mean, variance * rows.shape[0])
        if rows.dtype != np.float32:
            return _in_double_precision(rows)
        moments = _in_single_precision(rows)
        unsafe = ~are_safe(moments.squares)
        if unsafe.any():
            _, moments.mean[unsafe], moments.squares[unsafe] = _in_double_precision(rows[:, unsafe])
        return moments

    def merged(self, other: "Moments") -> "Moments":
        """Moments of both sets of rows."""
        weight = self.weight + other.weight
        total = np.where(weight > 0, weight, 1)
        step = other.mean - self.mean
        with np.errstate(over="ignore"):
            squares = self.squares + other.squares
            squares = squares + step**2 * (self.weight * other.weight / total)
        return Moments(weight, self.mean + step * (other.weight / total), squares)

    def of_groups(self, groups: Any) -> "Moments":
        """Moments of one or some groups."""
        return Moments(*(values[groups] for values in self))


class CrossMoments(NamedTuple):
    """Means of two sets of features, and sums of products of deviations of all pairs."""

    weight: float
    left: Array
    right: Array
    products: Array

    def merged(self, other: "CrossMoments") -> "CrossMoments":
        """Moments of both sets of rows."""
        weight = self.weight + other.weight
        left, right = other.left - self.left, other.right - self.right
        share = other.weight / weight
        products = np.outer(self.weight * share * left, right)
        products += self.products
        products += other.products
        return CrossMoments(weight, self.left + share * left, self.right + share * right, products)


def _in_double_precision(rows: Array) -> Moments:
    values = _deviations.array(rows.shape, np.dtype(np.float64))
    values[...] = rows
    mean = values.mean(axis=0)
    values -= mean
    return Moments(len(values), mean, np.einsum("ij,ij->j", values, values))


def _in_single_precision(rows: Array) -> Moments:
    """Moments from sums in single precision of deviations from an approximate mean.

    As exact as the scaled rows in single precision, in little more than half the time.
    """
    size = len(rows)
    some = rows[:: max(1, size // SHIFT_ROWS)]
    shift = some.mean(axis=0, dtype=np.float64).astype(np.float32)
    values = np.subtract(rows, shift, out=_deviations.array(rows.shape, rows.dtype))
    with np.errstate(over="ignore", invalid="ignore"):
        rest = values.sum(axis=0).astype(np.float64) / size
        squares = np.einsum("ij,ij->j", values, values).astype(np.float64) - size * rest**2
    return Moments(size, shift + rest, squares)


def group_matrix(groups: Array, n_groups: int, weights: Array | None = None) -> sparse.csr_array:
    """Indicator matrix of groups: its product with rows adds them up by group."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(n_groups + 1))
    values = np.ones(len(groups)) if weights is None else weights[order]
    return sparse.csr_array((values, order, starts), shape=(n_groups, len(groups)))


def group_moments(
    rows: Matrix, groups: Array, n_groups: int, weights: Array | None = None
) -> Moments:
    """Moments by group of rows, dense or sparse; NaN does not count.

    Deviations are computed from a value in the group first: a feature that is constant in a group
    has none.
    """
    sums = group_matrix(groups, n_groups, weights)
    occupied = np.flatnonzero(np.diff(sums.indptr))
    first = rows[sums.indices[sums.indptr[occupied]]]
    pivot = np.zeros((n_groups, rows.shape[1]))
    pivot[occupied] = first.toarray() if sparse.issparse(first) else first
    missing = np.isnan(pivot)
    if missing.any() and not sparse.issparse(rows):
        largest = np.fmax.reduceat(rows[sums.indices], sums.indptr[occupied], axis=0)
        pivot[occupied] = np.where(missing[occupied], largest, pivot[occupied])
    np.nan_to_num(pivot, copy=False)
    by_group = _of_sparse_groups if sparse.issparse(rows) else _of_dense_groups
    with np.errstate(over="ignore"):
        return by_group(rows, groups, pivot, sums)


def _of_dense_groups(rows: Array, groups: Array, pivot: Array, sums: sparse.csr_array) -> Moments:
    away = _deviations.array(rows.shape, np.dtype(np.float64))
    np.take(pivot, groups, axis=0, out=away, mode="clip")
    np.subtract(rows, away, out=away)
    weight = np.repeat(sums.sum(axis=1)[:, None], rows.shape[1], axis=1)
    missing = np.isnan(away) if np.isnan(away.sum()) else None
    if missing is not None:
        away[missing] = 0
        weight -= sums @ missing
    shift = quotients(sums @ away, weight)
    away -= shift[groups]
    if missing is not None:
        away[missing] = 0
    np.multiply(away, away, out=away)
    return Moments(weight, np.where(weight > 0, pivot + shift, 0), sums @ away)


def _of_sparse_groups(rows: Matrix, groups: Array, pivot: Array, sums: sparse.csr_array) -> Moments:
    rows = canonical_csr(rows)
    shape, size = pivot.shape, pivot.size
    # Position of each entry in a flat array of groups and features.
    cells = np.repeat(groups.astype(np.int64) * shape[1], np.diff(rows.indptr)) + rows.indices
    row_weights = np.empty(len(groups))
    row_weights[sums.indices] = sums.data
    entries, weights = rows.data.astype(np.float64), np.repeat(row_weights, np.diff(rows.indptr))

    def added(values: Array) -> Array:
        return np.bincount(cells, values, size).reshape(shape)

    absent = sums.sum(axis=1)[:, None] - added(weights)
    known = ~np.isnan(entries)
    if not known.all():
        cells, entries, weights = cells[known], entries[known], weights[known]
    weight = absent + added(weights)
    away = entries - pivot.ravel()[cells]
    shift = quotients(added(weights * away) - absent * pivot, weight)
    mean = np.where(weight > 0, pivot + shift, 0)
    squares = added(weights * (away - shift.ravel()[cells]) ** 2) + absent * mean**2
    return Moments(weight, mean, squares)


def as_counts(weights: Array) -> Array:
    """Sums of weights as integers, if they are whole numbers as those of samples are."""
    return weights.astype(np.int64) if (weights == np.rint(weights)).all() else weights
