"""Counts, means and squared deviations of every feature in every cluster, merged over parts."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from anchorview._utils.progress import report_progress
from anchorview._utils.threads import ThreadBuffer, parallel_map, row_slices
from anchorview._utils.typing import Array, FeatureNames, Matrix
from anchorview.preprocessing import TableEncoder
from anchorview.views.container import MultiViewData, dense_rows
from anchorview.views.row_source import CACHED_BLOCK
from anchorview.views.table_columns import TableView, coded_column

ROWS_PER_CLUSTER = 8
"""Minimum number of rows of a block per cluster: adding up the sums of smaller blocks would cost as
much as computing them."""

LARGEST_DENSE_BLOCK = 16 * 2**20
"""Maximum number of bytes of a block of deviations, however many clusters there are."""

SPARSE_BLOCK = 2**20
"""Number of stored entries of a block of a sparse view, at least."""

MAX_TEXT_LEVELS = TableEncoder().max_levels
"""Texts with more different values than this are no categories."""


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
        both = (zip(*rows, strict=True) for rows in (before, after[::-1]))
        return Moments.merged(*(Moments(*map(np.stack, columns)) for columns in both))


class Feature(NamedTuple):
    """What is compared: a feature or, of a table, a column or a level of a category."""

    name: str
    column: str
    kind: str = "number"
    """A number, date or level."""


class ViewMoments(NamedTuple):
    """Moments of the numbers and dates of a view, and counts of the levels of its categories."""

    numbers: Moments
    """Of all columns; nothing is counted in categories."""
    levels: pd.DataFrame
    """Number of samples by cluster, indexed by the position of the column and the level."""
    dates: frozenset[int] = frozenset()
    """Positions of columns with dates."""
    texts: frozenset[int] = frozenset()
    """Positions of columns with texts, which may have too many values to be categories."""

    def merged(self, other: "ViewMoments") -> "ViewMoments":
        """Moments of both samples together."""
        dates, texts = self.dates | other.dates, self.texts | other.texts
        levels = _added_up([self.levels, other.levels], texts)
        return ViewMoments(self.numbers.merged(other.numbers), levels, dates, texts)

    def features(self, given_names: FeatureNames | None) -> tuple[Moments, list[Feature]]:
        """Moments of numbers, dates and levels in the order of the columns, and what they are."""
        width = self.numbers.counts.shape[1]
        names = list(map(str, range(width))) if given_names is None else list(given_names)
        n_levels = Counter(self.levels.index.get_level_values(0))
        crowded = {j for j in self.texts if n_levels[j] > MAX_TEXT_LEVELS}
        levels = self.levels[~self.levels.index.isin(crowded, level=0)]
        counts = levels.T.to_numpy(np.float64)
        known = levels.groupby(level=0).transform("sum").T.to_numpy(np.float64)
        share = np.divide(counts, known, out=np.zeros_like(known), where=known > 0)
        indicators = Moments(known, share, (known - counts) * share, counts)
        others = [j for j in range(width) if not n_levels[j]]
        kinds = {j: "date" if j in self.dates else "number" for j in others}
        features = [Feature(names[j], names[j], kinds[j]) for j in others]
        if not n_levels:
            return self.numbers, features
        features += [Feature(f"{names[j]}={level}", names[j], "level") for j, level in levels.index]
        order = np.argsort([*others, *levels.index.get_level_values(0)], kind="stable")
        joined = zip(self.numbers, indicators, strict=True)
        moments = Moments(*(np.hstack([a[:, others], b])[:, order] for a, b in joined))
        return moments, [features[i] for i in order]


def _added_up(levels: Sequence[pd.DataFrame], texts: Collection[int]) -> pd.DataFrame:
    """Sums of the counts of levels; of a text, not more levels than show that it has too many."""
    if not any(map(len, levels)):
        return levels[0]
    counts = pd.concat(levels).groupby(level=[0, 1]).sum()
    position = counts.groupby(level=0).cumcount().to_numpy()
    return counts[(position <= MAX_TEXT_LEVELS) | ~counts.index.isin(texts, level=0)]


def merge_views(a: Sequence[ViewMoments], b: Sequence[ViewMoments]) -> list[ViewMoments]:
    """Merge the moments of each view."""
    return [one.merged(other) for one, other in zip(a, b, strict=True)]


def part_moments(n_clusters: int, part: MultiViewData, labels: Array) -> list[ViewMoments]:
    """Moments of each view of a part, whose samples have labels from 0 to `n_clusters` - 1."""
    moments: list[ViewMoments] = []
    for p, view in enumerate(part.views):
        numbers = _view_moments(n_clusters, part, p, labels)
        has = True if part.available is None else part.available[:, p]
        is_table = isinstance(view, TableView) and not view.is_numeric
        kinds = view.kinds if is_table else ()
        counted = [pd.DataFrame(np.zeros((0, n_clusters), np.intp), _index_of_levels(0, []))]
        for j, kind in enumerate(kinds):
            codes, levels = coded_column(view.frame.iloc[:, j], kind)
            if levels is None:
                continue
            known = ~np.isnan(codes) & has
            if kind == "text":
                levels = levels[: MAX_TEXT_LEVELS + 1]
                known &= codes < len(levels)
            cells = codes[known].astype(np.intp) * n_clusters + labels[known]
            counts = _counts(cells, (len(levels), n_clusters))
            occurs = np.asarray(counts.any(axis=1))
            counted.append(pd.DataFrame(counts, _index_of_levels(j, levels.tolist()))[occurs])
        dates, texts = (
            frozenset(j for j, kind in enumerate(kinds) if kind == wanted)
            for wanted in ("date", "text")
        )
        moments.append(ViewMoments(numbers, _added_up(counted, texts), dates, texts))
    return moments


def _index_of_levels(column: int, levels: list[Any]) -> pd.MultiIndex:
    names = np.array([str(level) for level in levels], object)
    return pd.MultiIndex.from_arrays([np.full(len(names), column), names])


def _view_moments(n_clusters: int, part: MultiViewData, p: int, labels: Array) -> Moments:
    view, rows = part.views[p], None
    if part.available is not None and not part.available[:, p].all():
        rows = np.flatnonzero(part.available[:, p])
        labels = labels[rows]
    reference = _middle_of_three(view, rows, labels, n_clusters)

    def block_sums(block: slice) -> _Sums:
        values = view[block if rows is None else rows[block]]
        values = values.toarray() if isinstance(values, TableView) else values
        sums = _sparse_sums if sparse.issparse(values) else _dense_sums
        return sums(values, labels[block], reference)

    deviations, squares, zeros, unknown = np.zeros((4, *reference.shape))
    blocks = row_slices(len(labels), _block_rows(view, n_clusters))
    for block, sums in parallel_map(block_sums, blocks):
        for total, added in zip((deviations, squares, zeros, unknown), sums, strict=True):
            total += added
        report_progress("markers", p * len(part) + block.stop, len(part) * len(part.views))
    count = np.bincount(labels, minlength=n_clusters)[:, None] - unknown
    shift = np.divide(deviations, count, out=np.zeros_like(count), where=count > 0)
    mean = np.where(count > 0, reference + shift, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.maximum(squares - shift * deviations, 0.0)
    return Moments(count, mean, squares, count - zeros)


def _block_rows(view: Matrix, n_clusters: int) -> int:
    """Number of rows of a block."""
    n, width = view.shape
    if sparse.issparse(view):
        # Its sums have an entry for every cluster and feature.
        return max(1, max(SPARSE_BLOCK, n_clusters * width) * n // max(1, view.nnz))
    step = max(CACHED_BLOCK // (8 * width), ROWS_PER_CLUSTER * n_clusters)
    return max(1, min(step, LARGEST_DENSE_BLOCK // (8 * width)))


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


_Sums = tuple[Array, Array, Array | int, Array | int]
"""Sums over the rows of a block, (n_clusters, n_features) or 0: of the deviations from the
reference, and of their squares, and numbers of zeros and of NaN."""

_deviations = ThreadBuffer()


def _dense_sums(values: Array, labels: Array, reference: Array) -> _Sums:
    n_clusters = len(reference)
    # Row c of this matrix times the values adds up the rows of cluster c.
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    shape = (n_clusters, len(labels))
    indicator = sparse.csr_array((np.ones(len(labels)), order, starts), shape=shape)
    away = _deviations.array(values.shape, np.dtype(np.float64))
    np.take(reference, labels, axis=0, out=away, mode="clip")
    np.subtract(values, away, out=away)
    deviations, unknown = indicator @ away, 0
    if np.isnan(deviations).any():
        missing = np.isnan(away)
        away[missing] = 0.0
        deviations, unknown = indicator @ away, indicator @ missing
    with np.errstate(over="ignore"):
        np.multiply(away, away, out=away)
    is_zero = values == 0
    zeros = indicator.astype(np.float32) @ is_zero.astype(np.float32) if is_zero.any() else 0
    return deviations, indicator @ away, zeros, unknown


def _sparse_sums(values: Matrix, labels: Array, reference: Array) -> _Sums:
    if not values.has_canonical_format:
        values = values.copy()
        values.sum_duplicates()
    shape, size = reference.shape, reference.size
    entries = values.data.astype(np.float64)
    # Position of each entry in a flat array of clusters and features.
    cell = np.repeat(labels.astype(np.int64), np.diff(values.indptr)) * shape[1] + values.indices
    known = ~np.isnan(entries)
    absent = np.bincount(labels, minlength=shape[0])[:, None] - _counts(cell, shape)
    unknown = _counts(cell[~known], shape)
    cell, entries = cell[known], entries[known]
    away = entries - reference.ravel()[cell]
    deviations = np.bincount(cell, away, size).reshape(shape) - absent * reference
    squares = np.bincount(cell, away**2, size).reshape(shape) + absent * reference**2
    return deviations, squares, absent + _counts(cell[entries == 0], shape), unknown


def _counts(cells: Array, shape: tuple[int, int]) -> Array:
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
