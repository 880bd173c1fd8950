"""Counts, means and squared deviations of every feature in every cluster, merged over parts."""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from anchorview._utils.linalg import LowRankSum
from anchorview._utils.moments import Moments, group_matrix, group_moments
from anchorview._utils.progress import report_progress
from anchorview._utils.threads import parallel_map, row_slices
from anchorview._utils.typing import Array, FeatureNames, Matrix
from anchorview.preprocessing import TableEncoder
from anchorview.views.container import MultiViewData, dense_rows
from anchorview.views.row_source import CACHED_BLOCK
from anchorview.views.table_columns import TableView, coded_column

ROWS_PER_CLUSTER = 16
"""Minimum number of rows of a block per cluster: merging the moments of smaller blocks would cost
as much as computing them."""

LARGEST_DENSE_BLOCK, SPARSE_BLOCK = 16 * 2**20, 2**20
"""Maximum number of bytes of a block of deviations, however many clusters there are, and minimum
number of stored entries of a block of a sparse view."""

MAX_TEXT_LEVELS = TableEncoder().max_levels
"""Texts with more different values than this are no categories."""


class ClusterMoments(NamedTuple):
    """Moments of the features of a view, by cluster; missing values do not count."""

    values: Moments
    nonzeros: Array

    @classmethod
    def of(
        cls, rows: Matrix, labels: Array, n_clusters: int, weights: Array | None = None
    ) -> "ClusterMoments":
        """Moments of some rows with labels, which may have weights."""
        values = group_moments(rows, labels, n_clusters, weights)
        sums = group_matrix(labels, n_clusters, weights)
        nonzeros = sums @ (rows != 0).astype(np.float64)
        unknown = sums.sum(axis=1)[:, None] - values.weight
        return cls(values, dense_rows(nonzeros, slice(None)) - unknown)

    def merged(self, other: "ClusterMoments") -> "ClusterMoments":
        """Moments of both samples together."""
        return ClusterMoments(self.values.merged(other.values), self.nonzeros + other.nonzeros)

    def of_clusters(self, clusters: Any) -> "ClusterMoments":
        """Moments of one or some clusters."""
        return ClusterMoments(self.values.of_groups(clusters), self.nonzeros[clusters])

    def outside(self) -> "ClusterMoments":
        """Moments of the samples outside of each cluster: in those before and after it.

        Subtracting the cluster from all samples would lose digits.
        """
        nothing = _no_moments(self.nonzeros.shape[1:])
        clusters = [self.of_clusters(c) for c in range(len(self.nonzeros))]
        before = accumulate(clusters[:-1], ClusterMoments.merged, initial=nothing)
        after = accumulate(clusters[:0:-1], ClusterMoments.merged, initial=nothing)
        return _stacked([*before]).merged(_stacked([*after][::-1]))


def _no_moments(shape: tuple[int, ...]) -> ClusterMoments:
    return ClusterMoments(Moments(*np.zeros((3, *shape))), np.zeros(shape))


def _stacked(clusters: Sequence[ClusterMoments]) -> ClusterMoments:
    values, nonzeros = zip(*clusters, strict=True)
    return ClusterMoments(Moments(*map(np.stack, zip(*values, strict=True))), np.stack(nonzeros))


class Feature(NamedTuple):
    """What is compared: a feature or, of a table, a column or a level of a category."""

    name: str
    column: str
    kind: str = "number"
    """A number, date or level."""


class ViewMoments(NamedTuple):
    """Moments of the numbers and dates of a view, and counts of the levels of its categories."""

    numbers: ClusterMoments
    """Of all columns; nothing is counted in categories."""
    levels: pd.DataFrame
    """Number of samples by cluster, indexed by the position of the column and the level."""
    dates: frozenset[int] = frozenset()
    texts: frozenset[int] = frozenset()
    """Positions of columns with texts, which may have too many values to be categories."""

    def merged(self, other: "ViewMoments") -> "ViewMoments":
        """Moments of both samples together."""
        dates, texts = self.dates | other.dates, self.texts | other.texts
        levels = _added_up([self.levels, other.levels], texts)
        return ViewMoments(self.numbers.merged(other.numbers), levels, dates, texts)

    def features(self, given_names: FeatureNames | None) -> tuple[ClusterMoments, list[Feature]]:
        """Moments of numbers, dates and levels in the order of the columns, and what they are."""
        width = self.numbers.nonzeros.shape[1]
        names = list(map(str, range(width))) if given_names is None else list(given_names)
        n_levels = Counter(self.levels.index.get_level_values(0))
        crowded = {j for j in self.texts if n_levels[j] > MAX_TEXT_LEVELS}
        levels = self.levels[~self.levels.index.isin(crowded, level=0)]
        counts = levels.T.to_numpy(np.float64)
        known = levels.groupby(level=0).transform("sum").T.to_numpy(np.float64)
        share = np.divide(counts, known, out=np.zeros_like(known), where=known > 0)
        indicators = ClusterMoments(Moments(known, share, (known - counts) * share), counts)
        others = [j for j in range(width) if not n_levels[j]]
        kinds = {j: "date" if j in self.dates else "number" for j in others}
        features = [Feature(names[j], names[j], kinds[j]) for j in others]
        if not n_levels:
            return self.numbers, features
        features += [Feature(f"{names[j]}={level}", names[j], "level") for j, level in levels.index]
        order = np.argsort([*others, *levels.index.get_level_values(0)], kind="stable")

        def joined(numbers: Array, shares: Array) -> Array:
            return np.hstack([numbers[:, others], shares])[:, order]

        values = Moments(*map(joined, self.numbers.values, indicators.values))
        nonzeros = joined(self.numbers.nonzeros, indicators.nonzeros)
        return ClusterMoments(values, nonzeros), [features[i] for i in order]


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
    """Moments of each view of a part; labels are from 0 to `n_clusters` - 1."""
    moments: list[ViewMoments] = []
    for p, view in enumerate(part.views):
        numbers = _view_moments(n_clusters, part, p, labels)
        is_table = isinstance(view, TableView) and not view.is_numeric
        kinds = view.kinds if is_table else ()
        counted = [pd.DataFrame(np.zeros((0, n_clusters), np.intp), _index_of_levels(0, []))]
        for j, kind in enumerate(kinds):
            codes, levels = coded_column(view.frame.iloc[:, j], kind)
            if levels is None:
                continue
            known = ~np.isnan(codes) & part.has_view(p)
            if kind == "text":
                levels = levels[: MAX_TEXT_LEVELS + 1]
                known &= codes < len(levels)
            cells = codes[known].astype(np.intp) * n_clusters + labels[known]
            shape = len(levels), n_clusters
            counts = np.bincount(cells, part.weights(known), np.prod(shape)).reshape(shape)
            occurs = np.asarray(counts.any(axis=1))
            counted.append(pd.DataFrame(counts, _index_of_levels(j, levels.tolist()))[occurs])
        dates = frozenset(j for j, kind in enumerate(kinds) if kind == "date")
        texts = frozenset(j for j, kind in enumerate(kinds) if kind == "text")
        moments.append(ViewMoments(numbers, _added_up(counted, texts), dates, texts))
    return moments


def _index_of_levels(column: int, levels: list[Any]) -> pd.MultiIndex:
    names = np.array([str(level) for level in levels], object)
    return pd.MultiIndex.from_arrays([np.full(len(names), column), names])


def _view_moments(n_clusters: int, part: MultiViewData, p: int, labels: Array) -> ClusterMoments:
    view, rows, weights = part.views[p], None, part.sample_weight
    if part.available is not None and not part.available[:, p].all():
        rows = np.flatnonzero(part.available[:, p])
        labels, weights = labels[rows], part.weights(rows)

    def block_moments(block: slice) -> ClusterMoments:
        values = view[block if rows is None else rows[block]]
        values = values.toarray() if isinstance(values, TableView | LowRankSum) else values
        block_weights = None if weights is None else weights[block]
        return ClusterMoments.of(values, labels[block], n_clusters, block_weights)

    total = _no_moments((n_clusters, view.shape[1]))
    blocks = row_slices(len(labels), _block_rows(view, n_clusters))
    for block, moments in parallel_map(block_moments, blocks):
        total = total.merged(moments)
        report_progress("markers", p * len(part) + block.stop, len(part) * len(part.views))
    return total


def _block_rows(view: Matrix, n_clusters: int) -> int:
    """Number of rows of a block."""
    n, width = view.shape
    if sparse.issparse(view):
        # Its sums have an entry for every cluster and feature.
        return max(1, max(SPARSE_BLOCK, n_clusters * width) * n // max(1, view.nnz))
    step = max(CACHED_BLOCK // (8 * width), ROWS_PER_CLUSTER * n_clusters)
    return max(1, min(step, LARGEST_DENSE_BLOCK // (8 * width)))
