"""A table with one row per cluster, computed in one pass over the rows."""

from functools import partial, reduce
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils import check_scalar

from anchorview._utils.typing import Array
from anchorview.estimators.explanation import ClusterDistances, Explanation
from anchorview.inspection.cluster_moments import ViewMoments, merge_views, part_moments
from anchorview.inspection.labeled_parts import LabeledSource, filled, labeled_source
from anchorview.inspection.markers import leading_markers, marker_table, shares_text
from anchorview.inspection.typical_samples import Keep, merge_samples, nearest, samples_of_blocks
from anchorview.inspection.view_contributions import (
    PartContributions,
    added,
    contribution_means,
    contribution_sums,
)
from anchorview.inspection.view_means import MeansExplanation, explanation_of
from anchorview.views.container import MultiViewData, ViewsLike


@filled
def cluster_summary(
    model_or_labels: Any, X: ViewsLike, *, n_features: int = 3, n_medoids: int = 3
) -> pd.DataFrame:
    """Describe each cluster by one row: size, confidence, neighbor, typical samples, features.

    One pass over the rows, in memory, from files or in Dask; two for labels and estimators that
    only have labels. Every estimator has it as the method ``summary`` as well.

    Parameters
    ----------
    %(model_or_labels)s
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
          with the distances a to its center and b to that of the nearest cluster. At most 1;
          near 0 if the two are nearly one.
        - `border`, only of :class:`~anchorview.AutoDALMC`: "separated", "touching" or "continuum",
          as in its attribute `borders_`.
        - `medoids`: ids or positions of the samples nearest to the center.
        - `features`: the features with the largest effects (:func:`cluster_markers`), as
          ``"view: feature"``. Levels of categories, of which there is one per column, also have
          their shares: ``"customers: plan=premium 84 % (21 % elsewhere)"``.
        - ``view:<name>`` for each view: its share of the evidence for the cluster, which is its
          contribution (:func:`view_contributions`), if positive, divided by the sum of the positive
          ones; for labels and other estimators, its share of the squared distances between the
          center of this cluster and those of the others.

        A cluster without samples has the size 0 and nothing else.

    See Also
    --------
    cluster_markers : All features of all clusters.
    representatives : Typical samples with their distances.

    %(digits)s
    >>> summary = cluster_summary(model, views)
    >>> list(summary.columns[:6])
    ['size', 'share', 'confidence', 'nearest_cluster', 'separation', 'medoids']
    >>> int(summary["size"].sum())
    2000
    """
    check_scalar(n_features, "n_features", Integral, min_val=1)
    check_scalar(n_medoids, "n_medoids", Integral, min_val=1)
    summary = summary_of(labeled_source(model_or_labels, X), n_features, n_medoids)
    return with_borders(summary, model_or_labels)


def with_borders(summary: pd.DataFrame, model: Any) -> pd.DataFrame:
    """Table of the clusters of a model with the column `border`, if the model judges them."""
    borders = getattr(model, "borders_", None)
    if borders is not None:
        words = pd.Series(borders, index=summary.index, dtype=object)
        position = summary.columns.get_indexer(pd.Index(["separation"]))[0] + 1
        summary.insert(position, "border", words.where(summary["size"] > 0, None))
    return summary


def summary_of(labeled: LabeledSource, n_features: int, n_medoids: int) -> pd.DataFrame:
    """Table of :func:`cluster_summary`."""
    explanation = explanation_of(labeled)
    by_means = isinstance(explanation, MeansExplanation)
    contributions = None if by_means else explanation.contributions()
    keep = partial(nearest, n=n_medoids)
    work = partial(_part_sums, explanation, contributions, len(labeled.clusters), keep)
    sums = labeled.source.reduce_as_is(work, partial(_Sums.merged, keep=keep), "summarizing")
    return _table(labeled, sums, _view_shares(explanation, sums), n_features)


class DistanceSums(NamedTuple):
    """Sums over the samples of each cluster, whose distances to all centers are known."""

    sizes: Array
    confidence: Array
    squares: Array
    """Of squared distances to each center."""
    separation: Array
    """Of (b - a) / max(a, b) with the distances a to the center of the cluster and b to each."""

    @classmethod
    def of(cls, block: ClusterDistances) -> "DistanceSums":
        """Sums over the samples of a block."""
        k = block.squares.shape[1]
        members = np.equal.outer(np.arange(k), block.labels).astype(np.float64)
        distances = np.sqrt(block.squares)
        to_cluster = np.sqrt(block.squares_to_cluster)[:, None]
        larger = np.maximum(distances, to_cluster)
        # Empty clusters are infinitely far: nothing is to be learned about them.
        known = np.isfinite(distances) & (larger > 0)
        apart = distances - to_cluster
        separation = np.divide(apart, larger, out=np.zeros_like(distances), where=known)
        finite = np.isfinite(block.squares)
        squares = members @ np.where(finite, block.squares, 0.0)
        squares[:, ~finite.all(axis=0)] = np.inf
        return cls(
            np.bincount(block.labels, minlength=k),
            np.bincount(block.labels, block.confidence, k),
            squares,
            members @ separation,
        )

    def merged(self, other: "DistanceSums") -> "DistanceSums":
        """Sums over the samples of both."""
        return DistanceSums(*(a + b for a, b in zip(self, other, strict=True)))

    def table(self, clusters: "pd.Index[Any]") -> pd.DataFrame:
        """The first columns of :func:`~anchorview.inspection.cluster_summary`."""
        sizes = self.sizes
        k, filled = len(clusters), sizes > 0
        others = self.squares.copy()
        np.fill_diagonal(others, np.inf)
        others[:, ~filled] = np.inf
        nearest = others.argmin(axis=1)
        pairs = filled & (filled.sum() > 1)
        # NaN for clusters without samples.
        counts = np.where(filled, sizes, np.nan)
        separation = self.separation[np.arange(k), nearest]
        neighbors = clusters[nearest]
        if not pairs.all():
            neighbors = neighbors.astype(object).where(pairs, None)
        columns = {
            "size": sizes,
            "share": sizes / sizes.sum(),
            "confidence": self.confidence / counts,
            "nearest_cluster": neighbors,
            "separation": np.where(pairs, separation / counts, np.nan),
        }
        return pd.DataFrame(columns).set_index(clusters.rename("cluster"))


class _Sums(NamedTuple):
    """What a summary needs to know about some samples."""

    distances: DistanceSums
    moments: list[ViewMoments]
    medoids: pd.DataFrame
    contributions: tuple[Array, ...]
    """Of :func:`contribution_sums`; none if the means of the clusters explain them."""

    def merged(self, other: "_Sums", keep: Keep) -> "_Sums":
        """The same about both; `keep` selects the medoids."""
        distances = self.distances.merged(other.distances)
        moments = merge_views(self.moments, other.moments)
        medoids = merge_samples(self.medoids, other.medoids, keep)
        return _Sums(distances, moments, medoids, added(self.contributions, other.contributions))


def _part_sums(
    explanation: Explanation,
    contributions: PartContributions | None,
    n_clusters: int,
    keep: Keep,
    part: MultiViewData,
) -> _Sums:
    labels = np.empty(len(part), dtype=np.int32)
    distances, medoids = [], []
    for block in explanation.distances(part):
        labels[block.rows] = block.labels
        distances.append(DistanceSums.of(block))
        medoids.append(samples_of_blocks([block], part.first_row, keep))
    return _Sums(
        reduce(DistanceSums.merged, distances),
        part_moments(n_clusters, part, labels),
        keep(pd.concat(medoids)),
        () if contributions is None else contribution_sums(contributions, n_clusters, part),
    )


def _view_shares(explanation: Explanation, sums: _Sums) -> pd.DataFrame:
    """Share of each view of the evidence for each cluster, (n_clusters, n_views)."""
    if sums.contributions:
        values = np.nan_to_num(contribution_means(*sums.contributions))
    else:
        assert isinstance(explanation, MeansExplanation)
        used = explanation.spread.sizes > 0
        values = np.column_stack([_mean_squares_between(view, used) for view in explanation.means])
    values = np.maximum(values, 0)
    total = values.sum(axis=1, keepdims=True)
    shares = np.divide(values, total, out=np.full_like(values, np.nan), where=total > 0)
    return pd.DataFrame(shares, columns=[f"view:{name}" for name in explanation.view_names])


def _mean_squares_between(means: Array, used: Array) -> Array:
    """Mean squared distance of each mean to those of other clusters, per feature."""
    squares = np.einsum("ij,ij->i", means, means)
    between = np.maximum(squares[:, None] + squares - 2 * means @ means.T, 0)[:, used].sum(axis=1)
    return np.where(used, between / max(1, used.sum() - 1) / means.shape[1], 0.0)


def _table(
    labeled: LabeledSource, sums: _Sums, shares: pd.DataFrame, n_features: int
) -> pd.DataFrame:
    clusters, medoids = labeled.clusters, sums.medoids
    labels = medoids["label"].to_numpy()
    samples = labeled.sample_index[medoids["position"].to_numpy()]
    markers: dict[Any, list[str]] = {}
    if np.count_nonzero(sums.distances.sizes) > 1:
        n_levels = sum(len(view.levels) for view in sums.moments)
        table = marker_table(labeled, n_features + n_levels, sums.moments)
        table = leading_markers(table, n_features, ["cluster"])
        for row in table.to_dict("records"):
            text = f"{row['view']}: {row['feature']} {shares_text(row)}"
            markers.setdefault(row["cluster"], []).append(text.rstrip())
    summary = sums.distances.table(clusters)
    summary["medoids"] = [tuple(samples[labels == c].tolist()) for c in range(len(clusters))]
    summary["features"] = [tuple(markers.get(cluster, ())) for cluster in clusters]
    return summary.join(shares.set_index(summary.index))
