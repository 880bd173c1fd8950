"""Cluster means in the views themselves, which explain labels without a model of this package."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from anchorview._utils.moments import Moments
from anchorview._utils.typing import Array
from anchorview.core.centers import ClusterSpread, squared_distances
from anchorview.estimators.explanation import (
    ROUNDING,
    ClusterDistances,
    Explanation,
    row_blocks,
    with_memberships,
)
from anchorview.estimators.preparation import Preparation, fit_preparation
from anchorview.inspection.cluster_moments import merge_views, part_moments
from anchorview.inspection.labeled_parts import LabeledSource, PartLabels, with_words
from anchorview.preprocessing import TableEncoder
from anchorview.views.container import MultiViewData, dense_rows


@dataclass(frozen=True, eq=False)
class MeansExplanation(Explanation):
    """Known labels, and the means of the clusters in every view, with standardized features.

    The squared distance of a sample to a cluster is the mean over its views of the squared distance
    in the view, divided by the number of features.
    """

    labels_of: PartLabels
    means: tuple[Array, ...]
    """Means in units of the standard deviation, (n_clusters, n_features), for each view."""
    factors: tuple[Array, ...]
    """Reciprocal standard deviation of every feature; 0 for a constant one."""

    def labels(self, part: MultiViewData) -> Array:
        """Clusters of the samples of a part."""
        return self.labels_of(part)

    def distances(self, part: MultiViewData) -> Iterator[ClusterDistances]:
        """Yield labels, confidence and distances of the samples of a part in blocks, in order."""
        labels, part = self.labels_of(part), self.prepare(part)
        for rows in self._blocks(part):
            data = part[rows]
            squares = np.zeros((len(data), len(self.spread.sizes)))
            for has, squares_in_view in self._by_view(data):
                squares[has] += squares_in_view
            squares /= _n_views(data)[:, None]
            squares[:, self.spread.sizes == 0] = np.inf
            yield with_memberships(rows, labels[rows], squares, max(self.scale, self.floor))

    def contributions(self) -> Callable[[MultiViewData], tuple[Array, Array]]:
        """Function of a part: clusters of its samples, and contributions of their views."""
        return self._contributions

    def _contributions(self, part: MultiViewData) -> tuple[Array, Array]:
        """Mean squared distance to other clusters minus that to the cluster, by number of views."""
        labels, part = self.labels_of(part), self.prepare(part)
        contributions = np.full((len(part), len(self.means)), np.nan)
        clusters = np.flatnonzero(self.spread.sizes)
        n_others = max(1, len(clusters) - 1)
        for block in self._blocks(part):
            data, block_labels, sums = part[block], labels[block], contributions[block]
            n_views = _n_views(data)
            for p, (has, squares) in enumerate(self._by_view(data)):
                to_cluster = np.take_along_axis(squares, block_labels[has, None], axis=1)[:, 0]
                to_others = (squares[:, clusters].sum(axis=1) - to_cluster) / n_others
                sums[has, p] = (to_others - to_cluster) / n_views[has]
        return labels, contributions

    def _blocks(self, part: MultiViewData) -> Iterator[slice]:
        return row_blocks(len(part), max(len(self.spread.sizes), *part.n_features_per_view))

    def _by_view(self, data: MultiViewData) -> Iterator[tuple[Any, Array]]:
        """Yield, for each view, the rows that have it, and their squared distances in it."""
        for p, (means, factors) in enumerate(zip(self.means, self.factors, strict=True)):
            has = slice(None) if data.available is None else np.flatnonzero(data.available[:, p])
            rows = dense_rows(data.views[p], has).astype(np.float64)
            rows *= factors
            known = ~np.isnan(rows)
            rows[~known] = 0
            yield has, squared_distances(rows, means, known) / known.sum(axis=1)[:, None]


def _n_views(data: MultiViewData) -> Array:
    """Number of views of each sample."""
    return np.sum([data.has_view(p) for p in range(len(data.views))], axis=0)


def explanation_of(labeled: LabeledSource) -> Explanation:
    """Explanation of the clusters by their model; else by their means in the views, in one pass."""
    if labeled.explanation is not None:
        return labeled.explanation
    n_clusters, source = len(labeled.clusters), labeled.source
    preparation = fit_preparation(source, None) if source.table_kinds else None
    work = partial(_moments, n_clusters, preparation)
    moments = [view.numbers.values for view in labeled.reduce(work, merge_views, "means")]
    means, factors, squares = [], [], []
    sizes = np.max([view.weight.max(axis=1) for view in moments], axis=0)
    for p, view in enumerate(moments):
        everything = reduce(Moments.merged, map(view.of_groups, range(len(view.weight))))
        variance = everything.squares / np.maximum(everything.weight, 1)
        factor = np.divide(1, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0)
        if preparation is not None and isinstance(preparation.steps[p], TableEncoder):
            # Its columns are scaled such that categories weigh as much as numbers.
            factor = np.ones_like(variance)
        means.append(view.mean * factor)
        factors.append(factor)
        squares.append((view.squares * factor**2 / np.maximum(view.weight, 1)).mean(axis=1))
    spread = ClusterSpread(sizes, sizes * np.mean(squares, axis=0))
    # All samples of a single cluster belong to it, whatever the scale.
    scale = spread.membership_scale(max(2, n_clusters))
    prepare, of_clusters = partial(with_words, preparation), (tuple(means), tuple(factors))
    fitted = (prepare, labeled.view_names, spread, scale, ROUNDING)
    return MeansExplanation(*fitted, labeled.labels_of, *of_clusters)


def _moments(
    n_clusters: int, preparation: Preparation | None, part: MultiViewData, labels: Array
) -> list[Any]:
    return part_moments(n_clusters, with_words(preparation, part), labels)
