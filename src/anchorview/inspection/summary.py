"""A table with one row per cluster, computed in one pass over the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.inspection.cluster_geometry import (
    ConsensusGeometry,
    EmbeddingGeometry,
    Geometry,
    Located,
    geometry_of,
)
from anchorview.inspection.cluster_moments import Moments, merge_views, part_moments
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
        - ``view:<name>`` for each view: its share of what speaks for the cluster. Of
          :func:`view_contributions`, those that are positive, divided by their sum; for estimators
          that cannot predict, of the squared distances between the centers of this cluster and the
          others in each view.

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
    labeled = labeled_source(model, X)
    geometry = geometry_of(model, labeled)
    contributions = None
    if isinstance(geometry, EmbeddingGeometry | ConsensusGeometry):
        contributions = contributions_of(model, labeled)
    work = _PartSummary(geometry, contributions, len(labeled.clusters), n_medoids)
    found = labeled.source.reduce_as_is(work, partial(_merged, n_medoids), "summarizing")
    return _table(labeled, found, _view_shares(model, labeled, found), n_features)


class ClusterSums(NamedTuple):
    """What a summary needs to know about some samples."""

    moments: list[Moments]
    confidence: Array
    """Sums over the samples of each cluster."""
    squares: Array
    """Sums of squared distances of the samples of each cluster to each center."""
    separation: Array
    """Sums of (b - a) / max(a, b) with the distance b to each center."""
    sizes: Array
    medoids: Samples
    contributions: ContributionSums | None


@dataclass(frozen=True, eq=False)
class _PartSummary:
    """Summary of a part; can be pickled."""

    geometry: Geometry
    contributions: Contributions | None
    n_clusters: int
    n_medoids: int

    def __call__(self, part: MultiViewData) -> ClusterSums:
        k = self.n_clusters
        labels = np.empty(len(part), dtype=np.int32)
        sums = None
        for block in self.geometry.located(part):
            labels[block.rows] = block.labels
            own = _block_sums(block, k, part.first_row, self.n_medoids)
            sums = own if sums is None else _merged(self.n_medoids, sums, own)
        assert sums is not None
        contributions = None
        if self.contributions is not None:
            contributions = ContributionSums.of(*self.contributions(part), k)
        return sums._replace(moments=part_moments(k, part, labels), contributions=contributions)


def _block_sums(block: Located, k: int, first_row: int, n_medoids: int) -> ClusterSums:
    members = np.equal.outer(np.arange(k), block.labels).astype(np.float64)
    distances = np.sqrt(block.squares)
    own = np.take_along_axis(distances, block.labels[:, None], axis=1)
    larger = np.maximum(distances, own)
    # Empty clusters are infinitely far: nothing is to be learned about them.
    known = np.isfinite(distances) & (larger > 0)
    separation = np.divide(distances - own, larger, out=np.zeros_like(distances), where=known)
    finite = np.isfinite(block.squares)
    squares = members @ np.where(finite, block.squares, 0.0)
    squares[:, ~finite.all(axis=0)] = np.inf
    return ClusterSums(
        [],
        np.bincount(block.labels, block.confidence, k),
        squares,
        members @ separation,
        np.bincount(block.labels, minlength=k),
        Samples.of(block, first_row).nearest(n_medoids),
        None,
    )


def _merged(n_medoids: int, a: ClusterSums, b: ClusterSums) -> ClusterSums:
    contributions = None
    if a.contributions is not None and b.contributions is not None:
        contributions = a.contributions.merged(b.contributions)
    return ClusterSums(
        merge_views(a.moments, b.moments),
        a.confidence + b.confidence,
        a.squares + b.squares,
        a.separation + b.separation,
        a.sizes + b.sizes,
        a.medoids.merged(b.medoids).nearest(n_medoids),
        contributions,
    )


def _view_shares(model: Any, labeled: LabeledSource, found: ClusterSums) -> pd.DataFrame:
    """Share of each view in what speaks for each cluster, (n_clusters, n_views)."""
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
    labeled: LabeledSource, found: ClusterSums, shares: pd.DataFrame, n_features: int
) -> pd.DataFrame:
    clusters, sizes = labeled.clusters, found.sizes
    k, filled = len(clusters), sizes > 0
    others = found.squares.copy()
    np.fill_diagonal(others, np.inf)
    others[:, ~filled] = np.inf
    nearest = others.argmin(axis=1)
    pairs = filled & (filled.sum() > 1)
    nothing = np.full(k, np.nan)
    separation = found.separation[np.arange(k), nearest]
    medoids, ids = found.medoids, labeled.sample_ids
    samples = medoids.positions if ids is None else ids[medoids.positions]
    markers: dict[Any, list[str]] = {}
    if filled.sum() > 1:
        table = marker_table(labeled, found.moments, n_features)
        for cluster, view, feature in table[["cluster", "view", "feature"]].to_numpy():
            markers.setdefault(cluster, []).append(f"{view}: {feature}")
    summary = {
        "size": sizes,
        "share": sizes / sizes.sum(),
        "confidence": np.divide(found.confidence, sizes, out=nothing.copy(), where=filled),
        "nearest_cluster": clusters[nearest]
        if pairs.all()
        else np.where(pairs, clusters[nearest].to_numpy(dtype=object), None),
        "separation": np.divide(separation, sizes, out=nothing.copy(), where=pairs),
        "medoids": [tuple(samples[medoids.labels == c].tolist()) for c in range(k)],
        "features": [tuple(markers.get(cluster, ())) for cluster in clusters],
    }
    found_table = pd.DataFrame(summary).join(shares)
    return found_table.set_index(clusters.rename("cluster"))
