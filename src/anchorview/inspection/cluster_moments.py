"""Counts, means and squared deviations of every feature in every cluster, merged over parts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from anchorview._utils.threads import ThreadBuffer, map_blocks
from anchorview._utils.typing import Array, Matrix
from anchorview.views.container import MultiViewData, dense_rows
from anchorview.views.row_source import CACHED_BLOCK

ROWS_PER_CLUSTER = 8
"""Minimum number of rows of a block per cluster: adding up the sums of smaller blocks would cost as
much as computing them."""

LARGEST_DENSE_BLOCK = 16 * 2**20
"""Maximum number of bytes of a block of deviations, however many clusters there are."""

SPARSE_BLOCK = 2**20
"""Number of stored entries of a block of a sparse view, at least."""


class Moments(NamedTuple):
    """Moments of the features of a view, by cluster; arrays (n_clusters, n_features).

    Samples without the view and single NaN do not count.
    """

    counts: Array
    means: Array
    """0 where nothing was counted."""
    squares: Array
    """Sum of squared deviations from the mean."""
    nonzeros: Array
    """Number of values that are not zero."""

    def merged(self, other: "Moments") -> "Moments":
        """Moments of both samples together (Chan, Golub and LeVeque)."""
        count = self.counts + other.counts
        share = np.divide(other.counts, count, out=np.zeros_like(count), where=count > 0)
        apart = other.means - self.means
        with np.errstate(over="ignore"):
            squares = self.squares + other.squares + apart**2 * (self.counts * share)
        return Moments(count, self.means + apart * share, squares, self.nonzeros + other.nonzeros)

    def of_cluster(self, cluster: int) -> "Moments":
        """Moments of one cluster; arrays (n_features,)."""
        return Moments(*(values[cluster] for values in self))

    def outside(self) -> "Moments":
        """Moments of the samples outside of each cluster.

        Those of the clusters before and after it are merged; subtracting the cluster from all
        samples would lose digits.
        """
        n_clusters, width = self.counts.shape
        nothing = Moments(*np.zeros((4, width)))
        before, after = [nothing], [nothing]
        for c in range(n_clusters - 1):
            before.append(before[-1].merged(self.of_cluster(c)))
            after.append(after[-1].merged(self.of_cluster(n_clusters - 1 - c)))
        return _stacked(before).merged(_stacked(after[::-1]))


def _stacked(rows: Sequence[Moments]) -> Moments:
    return Moments(*(np.stack(values) for values in zip(*rows, strict=True)))


def merge_views(a: Sequence[Moments], b: Sequence[Moments]) -> list[Moments]:
    """Merge the moments of each view."""
    return [moments.merged(other) for moments, other in zip(a, b, strict=True)]


def part_moments(n_clusters: int, part: MultiViewData, labels: Array) -> list[Moments]:
    """Moments of each view of a part, whose samples have labels from 0 to `n_clusters` - 1."""
    views = [_ViewRows.of(part, p, n_clusters, labels) for p in range(len(part.views))]
    totals = [
        tuple(np.zeros((n_clusters, view.values.shape[1])) for _ in _BlockSums._fields[1:])
        for view in views
    ]
    blocks = [block for p, view in enumerate(views) for block in view.blocks(p)]
    for block, sums in map_blocks(lambda block: block.sums(), blocks, "markers"):
        for total, values in zip(totals[block.position], sums[1:], strict=True):
            if values is not None:
                total[sums.clusters] += values
    return [view.moments(*total) for view, total in zip(views, totals, strict=True)]


class _BlockSums(NamedTuple):
    """Sums over the rows of a block, (n_clusters, n_features); None stands for zeros."""

    clusters: Any
    """Index of the clusters."""
    deviations: Array
    """Deviations from the reference."""
    squares: Array
    """Their squares."""
    zeros: Array | None
    """Number of zeros."""
    unknown: Array | None
    """Number of NaN."""


@dataclass(frozen=True, eq=False)
class _ViewRows:
    """The samples of a part that have a view."""

    values: Matrix
    rows: Array | None
    """Their positions in the view; None if all have it."""
    labels: Array
    reference: Array
    """A value of each feature in each cluster, from which deviations are small."""
    n_clusters: int

    @classmethod
    def of(cls, part: MultiViewData, p: int, n_clusters: int, labels: Array) -> "_ViewRows":
        rows = None if part.available is None else np.flatnonzero(part.available[:, p])
        if rows is not None and len(rows) == len(part):
            rows = None
        known_labels = labels if rows is None else labels[rows]
        reference = _middle_of_three(part.views[p], rows, known_labels, n_clusters)
        return cls(part.views[p], rows, known_labels, reference, n_clusters)

    def blocks(self, position: int) -> "Iterator[_Block]":
        width, minimum = self.values.shape[1], ROWS_PER_CLUSTER * self.n_clusters
        if sparse.issparse(self.values):
            # Its sums have an entry for every cluster and feature.
            entries = max(SPARSE_BLOCK, self.n_clusters * width)
            step = entries * self.values.shape[0] // max(1, self.values.nnz)
        else:
            step = max(CACHED_BLOCK // (8 * width), minimum)
            step = min(step, LARGEST_DENSE_BLOCK // (8 * width))
        for start in range(0, len(self.labels), max(1, step)):
            stop = min(start + max(1, step), len(self.labels))
            yield _Block(self, position, slice(start, stop))

    def moments(self, deviations: Array, squares: Array, zeros: Array, unknown: Array) -> Moments:
        """Moments from the sums over all blocks."""
        size = np.bincount(self.labels, minlength=self.n_clusters).astype(np.float64)
        count = size[:, None] - unknown
        shift = np.divide(deviations, count, out=np.zeros_like(count), where=count > 0)
        mean = np.where(count > 0, self.reference + shift, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.maximum(squares - shift * deviations, 0.0)
        return Moments(count, mean, squares, count - zeros)


def _middle_of_three(values: Matrix, rows: Array | None, labels: Array, n_clusters: int) -> Array:
    """Median of the first, the middle and the last sample of each cluster, feature by feature.

    It is near the mean unless two of the three are outliers, and a constant feature has no
    deviations from it at all.
    """
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    occupied = np.flatnonzero(bounds[1:] > bounds[:-1])
    first, last = bounds[occupied], bounds[occupied + 1] - 1
    members = [order[i] for i in (first, (first + last) // 2, last)]
    a, b, c = (
        dense_rows(values, i if rows is None else rows[i]).astype(np.float64) for i in members
    )
    reference = np.zeros((n_clusters, values.shape[1]))
    reference[occupied] = np.fmax(np.fmin(a, b), np.fmin(np.fmax(a, b), c))
    return np.nan_to_num(reference, copy=False)


@dataclass(frozen=True, eq=False)
class _Block:
    """Some of the samples that have a view."""

    view: _ViewRows
    position: int
    """Position of the view."""
    part: slice
    """Which of its rows."""

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.part.stop - self.part.start)

    def sums(self) -> _BlockSums:
        """Sums over the rows."""
        view = self.view
        values = view.values[self.part if view.rows is None else view.rows[self.part]]
        labels = view.labels[self.part]
        if sparse.issparse(values):
            return _sparse_sums(values, labels, view.reference)
        return _dense_sums(values, labels, view.reference)


_deviations = ThreadBuffer()


def _dense_sums(values: Array, labels: Array, reference: Array) -> _BlockSums:
    clusters, member = np.unique(labels, return_inverse=True)
    shape = (len(clusters), len(labels))
    # Row c of this matrix times the values adds up the rows of cluster c.
    order = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[order], np.arange(len(clusters) + 1))
    indicator = sparse.csr_array((np.ones(len(labels)), order, starts), shape=shape)
    away = _deviations.array(values.shape, np.dtype(np.float64))
    np.take(reference, labels, axis=0, out=away, mode="clip")
    np.subtract(values, away, out=away)
    deviations = indicator @ away
    unknown = None
    if np.isnan(deviations).any():
        missing = np.isnan(away)
        away[missing] = 0.0
        deviations, unknown = indicator @ away, indicator @ missing
    with np.errstate(over="ignore"):
        np.multiply(away, away, out=away)
    is_zero = values == 0
    zeros = indicator.astype(np.float32) @ is_zero.astype(np.float32) if is_zero.any() else None
    return _BlockSums(clusters, deviations, indicator @ away, zeros, unknown)


def _sparse_sums(values: Matrix, labels: Array, reference: Array) -> _BlockSums:
    if not values.has_canonical_format:
        values = values.copy()
        values.sum_duplicates()
    shape, size = reference.shape, reference.size
    entries = values.data.astype(np.float64)
    # Position of each entry in a flat array of clusters and features.
    cell = np.repeat(labels.astype(np.int64), np.diff(values.indptr)) * shape[1] + values.indices
    unknown, known = None, ~np.isnan(entries)
    stored = np.bincount(cell, minlength=size).reshape(shape)
    if not known.all():
        unknown = np.bincount(cell[~known], minlength=size).reshape(shape)
        cell, entries = cell[known], entries[known]
    away = entries - reference.ravel()[cell]
    deviations = np.bincount(cell, away, size).reshape(shape)
    squares = np.bincount(cell, away**2, size).reshape(shape)
    n_rows = np.bincount(labels, minlength=shape[0])[:, None]
    absent = n_rows - stored
    explicit = np.bincount(cell[entries == 0], minlength=size).reshape(shape)
    return _BlockSums(
        slice(None),
        deviations - absent * reference,
        squares + absent * reference**2,
        absent + explicit,
        unknown,
    )
