"""Cluster means in the views themselves, for labels without a model that embeds samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from anchorview._utils.typing import Array
from anchorview.core.assign import ClusterSpread
from anchorview.inspection.cluster_moments import Moments, merge_views, part_moments
from anchorview.inspection.labeled_parts import LabeledSource
from anchorview.views.container import MultiViewData, dense_rows


@dataclass(frozen=True, eq=False)
class ViewMeans:
    """Means of the clusters in every view, whose features are standardized.

    The squared distance of a sample to a cluster is the mean over its views of the squared distance
    in the view, divided by the number of features.
    """

    means: tuple[Array, ...]
    """Means in units of the standard deviation, (n_clusters, n_features), for each view."""
    factors: tuple[Array, ...]
    """Reciprocal standard deviation of every feature; 0 for a constant one."""
    empty: Array
    """Whether each cluster has no samples."""

    def squared_distances(self, data: MultiViewData) -> Array:
        """Squared distances of samples to all clusters; infinite for empty ones."""
        total = np.zeros((len(data), len(self.empty)))
        counts = np.zeros(len(data))
        for p, (means, factors) in enumerate(zip(self.means, self.factors, strict=True)):
            has = slice(None) if data.available is None else np.flatnonzero(data.available[:, p])
            rows = dense_rows(data.views[p], has).astype(np.float64)
            rows *= factors
            known = ~np.isnan(rows)
            rows[~known] = 0
            # Squared differences over the known values: |x|^2 - 2 x'm + |m|^2.
            squares = known.astype(np.float64) @ np.square(means).T - 2 * rows @ means.T
            squares += np.einsum("ij,ij->i", rows, rows)[:, None]
            total[has] += np.maximum(squares, 0) / known.sum(axis=1)[:, None]
            counts[has] += 1
        total /= counts[:, None]
        total[:, self.empty] = np.inf
        return total


def fit_view_means(labeled: LabeledSource) -> tuple[ViewMeans, ClusterSpread]:
    """Means of the clusters, and the distances of the samples to them, in one pass."""
    moments = labeled.reduce(partial(part_moments, len(labeled.clusters)), merge_views, "means")
    return view_means(moments)


def view_means(moments: Sequence[Moments]) -> tuple[ViewMeans, ClusterSpread]:
    """The same from the moments of the clusters in each view."""
    means, factors, squares = [], [], []
    sizes = np.max([own.counts.max(axis=1) for own in moments], axis=0)
    for own in moments:
        clusters = range(len(own.counts))
        everything = reduce(Moments.merged, (own.of_cluster(c) for c in clusters))
        variance = everything.squares / np.maximum(everything.counts, 1)
        factor = np.divide(1, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0)
        means.append(own.means * factor)
        factors.append(factor)
        within = own.squares * factor**2 / np.maximum(own.counts, 1)
        squares.append(within.mean(axis=1))
    spread = ClusterSpread(sizes, sizes * np.mean(squares, axis=0))
    return ViewMeans(tuple(means), tuple(factors), sizes == 0), spread
