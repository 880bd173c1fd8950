"""A table with one row per cluster, computed in one pass over the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.inspection.cluster_geometry import (
    ConsensusGeometry,
    EmbeddingGeometry,
    Geometry,
    geometry_of,
)
from anchorview.inspection.cluster_moments import Moments, merge_views, part_moments
from anchorview.inspection.distance_sums import DistanceSums
from anchorview.inspection.labeled_parts import LabeledSource, labeled_source
from anchorview.inspection.markers import marker_table
from anchorview.inspection.typical_samples import Samples, require_positive
from anchorview.inspection.view_contributions import (
    Contributions,
    ContributionSums,
    contributions_of,
)
from anchorview.inspection.view_means import view_means
from anchorview.views.container import MultiViewData, ViewsLike


def cluster_summary(
    model: Any, X: ViewsLike, *, n_features: int = 3, n_medoids: int = 3
) -> pd.DataFrame:
    """Describe each cluster by one row: size, confidence, neighbor, typical samples, features.

    One pass over the rows, in memory, from files or in Dask; two for estimators that cannot
    predict. Every estimator has it as the method ``summary`` as well.

    Parameters
    ----------
    model : fitted estimator
        :class:`~anchorview.DALMC` and :class:`~anchorview.AutoDALMC` predict the clusters of the
        samples, which may be new. The labels of other estimators belong to the samples of `X`.
    X : views of samples, in any form that estimators take
    n_features : int, default=3
        Number of leading features per cluster.
    n_medoids : int, default=3
        Number of typical samples per cluster.

    Returns
    -------
    summary : DataFrame
        Indexed by cluster, with the columns

        - `size`, `share`: number of samples, and their share of all.
        - `confidence`: mean confidence of the samples, as for :func:`doubtful`.
        - `nearest_cluster`: the cluster whose center has the smallest mean squared distance to the
          samples of this one; distances are those of :func:`representatives`.
        - `separation`: how separate the two are: mean of ``(b - a) / max(a, b)`` over the samples,
          with the distances a to the own center and b to that of the nearest cluster. At most 1;
          near 0 if the two are nearly one.
        - `medoids`: ids or positions of the samples nearest to the center.
        - `features`: the features with the largest effects (:func:`cluster_markers`), as
          ``"view: feature"``.
        - ``view:<name>`` for each view: its share of the evidence for the cluster, which is its
          contribution (:func:`view_contributions`), if positive, divided by the sum of the positive
          ones; for estimators that cannot predict, its share of the squared distances between the
          center of this cluster and those of the others.

        A cluster without samples has the size 0 and nothing else.

    See Also
    --------
    cluster_markers : All features of all clusters.
    representatives : Typical samples with their distances.

    Examples
    --------
    >>> from anchorview import DALMC, load_digits
    >>> from anchorview.inspection import cluster_summary
    >>> views, _ = load_digits(return_X_y=True)
    >>> model = DALMC(n_clusters=10, random_state=0).fit(views)
    >>> summary = cluster_summary(model, views)
    >>> list(summary.columns[:6])
    ['size', 'share', 'confidence', 'nearest_cluster', 'separation', 'medoids']
    >>> int(summary["size"].sum())
    2000
    """
    require_positive(n_features, "n_features")
    require_positive(n_medoids, "n_medoids")
    return summary_of(model, labeled_source(model, X), n_features, n_medoids)


def summary_of(model: Any, labeled: LabeledSource, n_features: int, n_medoids: int) -> pd.DataFrame:
    """Table of :func:`cluster_summary`."""
    geometry = geometry_of(model, labeled)
    contributions = None
    if isinstance(geometry, EmbeddingGeometry | ConsensusGeometry):
        contributions = contributions_of(model, labeled)
    work = _PartSummary(geometry, contributions, len(labeled.clusters), n_medoids)
    found = labeled.source.reduce_as_is(work, partial(_merged, n_medoids), "summarizing")
    return _table(labeled, found, _view_shares(model, labeled, found), n_features)


class _Found(NamedTuple):
    """What a summary needs to know about some samples."""

    distances: DistanceSums
    moments: list[Moments]
    medoids: Samples
    contributions: ContributionSums | None


@dataclass(frozen=True, eq=False)
class _PartSummary:
    """Summary of a part; can be pickled."""

    geometry: Geometry
    contributions: Contributions | None
    n_clusters: int
    n_medoids: int

    def __call__(self, part: MultiViewData) -> _Found:
        k = self.n_clusters
        labels = np.empty(len(part), dtype=np.int32)
        distances, medoids = [], []
        for block in self.geometry.located(part):
            labels[block.rows] = block.labels
            distances.append(DistanceSums.of(block))
            medoids.append(Samples.of(block, part.first_row).nearest(self.n_medoids))
        contributions = None
        if self.contributions is not None:
            contributions = ContributionSums.of(*self.contributions(part), k)
        return _Found(
            reduce(DistanceSums.merged, distances),
            part_moments(k, part, labels),
            reduce(Samples.merged, medoids).nearest(self.n_medoids),
            contributions,
        )


def _merged(n_medoids: int, a: _Found, b: _Found) -> _Found:
    contributions = None
    if a.contributions is not None and b.contributions is not None:
        contributions = a.contributions.merged(b.contributions)
    return _Found(
        a.distances.merged(b.distances),
        merge_views(a.moments, b.moments),
        a.medoids.merged(b.medoids).nearest(n_medoids),
        contributions,
    )


def _view_shares(model: Any, labeled: LabeledSource, found: _Found) -> pd.DataFrame:
    """Share of each view of the evidence for each cluster, (n_clusters, n_views)."""
    if found.contributions is not None:
        names: Sequence[str] = model.view_names_in_
        values = np.nan_to_num(found.contributions.means)
    else:
        names = labeled.view_names
        means, _ = view_means(found.moments)
        columns = [_mean_squares_between(own, ~means.empty) for own in means.means]
        values = np.column_stack(columns)
    values = np.maximum(values, 0)
    total = values.sum(axis=1, keepdims=True)
    shares = np.divide(values, total, out=np.full_like(values, np.nan), where=total > 0)
    return pd.DataFrame(shares, columns=[f"view:{name}" for name in names])


def _mean_squares_between(means: Array, used: Array) -> Array:
    """Mean squared distance of each mean to those of other clusters, per feature."""
    squares = np.einsum("ij,ij->i", means, means)
    between = np.maximum(squares[:, None] + squares - 2 * means @ means.T, 0)[:, used].sum(axis=1)
    return np.where(used, between / max(1, used.sum() - 1) / means.shape[1], 0.0)


def _table(
    labeled: LabeledSource, found: _Found, shares: pd.DataFrame, n_features: int
) -> pd.DataFrame:
    clusters, medoids, ids = labeled.clusters, found.medoids, labeled.sample_ids
    samples = medoids.positions if ids is None else ids[medoids.positions]
    markers: dict[Any, list[str]] = {}
    if np.count_nonzero(found.distances.sizes) > 1:
        table = marker_table(labeled, found.moments, n_features)
        for cluster, view, feature in table[["cluster", "view", "feature"]].to_numpy():
            markers.setdefault(cluster, []).append(f"{view}: {feature}")
    summary = found.distances.table(clusters)
    summary["medoids"] = [
        tuple(samples[medoids.labels == c].tolist()) for c in range(len(clusters))
    ]
    summary["features"] = [tuple(markers.get(cluster, ())) for cluster in clusters]
    return summary.join(shares.set_index(summary.index))
