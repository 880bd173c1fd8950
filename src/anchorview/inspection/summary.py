"""A table with one row per cluster, computed in one pass over the rows."""

from functools import partial, reduce
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils import check_scalar

from anchorview._utils.moments import Moments, as_counts, group_moments
from anchorview._utils.text import percent
from anchorview._utils.typing import Array
from anchorview.estimators.explanation import ClusterDistances, Explanation
from anchorview.estimators.preparation import Preparation
from anchorview.inspection.cluster_moments import ViewMoments, merge_views, part_moments
from anchorview.inspection.labeled_parts import (
    LabeledSource,
    explanation_of,
    filled,
    labeled_source,
    with_words,
)
from anchorview.inspection.markers import leading_markers, marker_table
from anchorview.inspection.titles import cluster_titles
from anchorview.inspection.typical_samples import Keep, merge_samples, nearest, samples_of_blocks
from anchorview.inspection.view_contributions import PartContributions, contribution_moments
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

        - `title`: the readable features that set the cluster apart, in a few words, such as
          ``"audio: price 110, stereo"``; or its name, given by ``relabel``. All are different.
        - `size`, `share`: number of samples, or sum of their weights, and the share of all.
        - `confidence`: mean confidence of the samples, as for :func:`doubtful`.
        - `nearest_cluster`: the cluster whose center has the smallest mean squared distance to the
          samples of this one; distances are those of :func:`representatives`.
        - `separation`: how separate the two are: mean of ``(b - a) / max(a, b)`` over the samples,
          with the distances a to its center and b to that of the nearest cluster. At most 1;
          near 0 if the two are nearly one.
        - `border`, only of :class:`~anchorview.AutoDALMC`: evidence for the cluster, as in its
          attribute `borders_`: "strong", "moderate", "weak" or "none".
        - `medoids`: ids or positions of the samples nearest to the center.
        - `features`: the features with the largest effects (:func:`cluster_markers`), as
          ``"view: feature"``. Levels of categories, at most one per column, also have
          their shares: ``"customers: plan=premium 84 % (21 % elsewhere)"``.
        - ``view:<name>`` for each view: its share of the evidence for the cluster, which is its
          contribution (:func:`view_contributions`), if positive, divided by the sum of the positive
          ones.

        A cluster without samples has a title, the size 0 and nothing else.

    See Also
    --------
    cluster_markers : All features of all clusters.
    representatives : Typical samples with their distances.

    %(digits)s
    >>> summary = cluster_summary(model, views)
    >>> list(summary.columns[:5])
    ['title', 'size', 'share', 'confidence', 'nearest_cluster']
    >>> int(summary["size"].sum())
    2000
    """
    check_scalar(n_features, "n_features", Integral, min_val=1)
    check_scalar(n_medoids, "n_medoids", Integral, min_val=1)
    labeled = labeled_source(model_or_labels, X)
    summary, shares, sums = summarized(labeled, partial(nearest, n=n_medoids))
    summary.insert(0, "title", cluster_titles(labeled, sums.moments, summary["size"].to_numpy()))
    with_borders(summary, model_or_labels)
    labels, positions = sums.samples[["label", "position"]].to_numpy().T
    samples = labeled.sample_index[positions]
    summary["medoids"] = [tuple(samples[labels == c].tolist()) for c in range(len(summary))]
    features = _leading_features(labeled, sums, n_features)
    summary["features"] = [features.get(cluster, ()) for cluster in labeled.clusters]
    return summary.join(shares)


def with_borders(summary: pd.DataFrame, model: Any) -> None:
    """Insert the column `border` in the table of the clusters of a model that judges them."""
    borders = getattr(model, "borders_", None)
    if borders is not None:
        words = pd.Series(borders, index=summary.index, dtype=object)
        position = summary.columns.get_indexer(pd.Index(["separation"]))[0] + 1
        summary.insert(position, "border", words.where(summary["size"] > 0, None))


class Sums(NamedTuple):
    """What a summary needs to know about some samples."""

    distances: Moments
    contributions: Moments
    moments: list[ViewMoments]
    samples: pd.DataFrame

    def merged(self, other: "Sums", keep: Keep) -> "Sums":
        """The same about both; `keep` selects samples."""
        return Sums(
            self.distances.merged(other.distances),
            self.contributions.merged(other.contributions),
            merge_views(self.moments, other.moments),
            merge_samples(self.samples, other.samples, keep),
        )


def summarized(labeled: LabeledSource, keep: Keep) -> tuple[pd.DataFrame, pd.DataFrame, Sums]:
    """Numbers of the clusters, shares of the views in them, and all sums, in one pass."""
    explanation, n_clusters = explanation_of(labeled), len(labeled.clusters)
    work = partial(
        _part_sums, explanation, explanation.contributions(), labeled.words, n_clusters, keep
    )
    merge = partial(Sums.merged, keep=keep)
    sums = labeled.source.reduce_as_is(work, merge, "summarizing")
    numbers = distance_table(sums.distances, labeled.clusters)
    support = np.maximum(sums.contributions.mean, 0)
    total = support.sum(axis=1, keepdims=True)
    shares = np.divide(support, total, out=np.full_like(support, np.nan), where=total > 0)
    names = [f"view:{name}" for name in explanation.view_names]
    return numbers, pd.DataFrame(shares, numbers.index, names), sums


def distance_moments(block: ClusterDistances, weights: Array | None = None) -> Moments:
    """Moments by cluster of confidence, squared distances to all centers, and separation."""
    squares = np.where(np.isfinite(block.squares), block.squares, np.nan)
    distances, to_cluster = np.sqrt(squares), np.sqrt(block.squares_to_cluster)[:, None]
    larger, apart = np.maximum(distances, to_cluster), distances - to_cluster
    separation = np.divide(apart, larger, out=np.zeros_like(apart), where=larger > 0)
    values = np.column_stack([block.confidence, squares, separation])
    return group_moments(values, block.labels, squares.shape[1], weights)


def distance_table(moments: Moments, clusters: "pd.Index[Any]") -> pd.DataFrame:
    """The first columns of :func:`cluster_summary`, of :func:`distance_moments`."""
    sizes = as_counts(moments.weight[:, 0])
    confidence, squares, separation = np.split(moments.mean, [1, 1 + len(sizes)], axis=1)
    filled = sizes > 0
    squares = np.where(filled, squares, np.inf)
    np.fill_diagonal(squares, np.inf)
    nearest = squares.argmin(axis=1)
    pairs = filled & (filled.sum() > 1)
    neighbors = clusters[nearest]
    if not pairs.all():
        neighbors = neighbors.astype(object).where(pairs, None)
    columns = {
        "size": sizes,
        "share": sizes / sizes.sum(),
        "confidence": np.where(filled, confidence[:, 0], np.nan),
        "nearest_cluster": neighbors,
        "separation": np.where(pairs, separation[np.arange(len(sizes)), nearest], np.nan),
    }
    return pd.DataFrame(columns).set_index(clusters.rename("cluster"))


def _part_sums(
    explanation: Explanation,
    contributions: PartContributions,
    words: Preparation | None,
    n_clusters: int,
    keep: Keep,
    part: MultiViewData,
) -> Sums:
    distances, samples = [], []
    for block in explanation.distances(part):
        distances.append(distance_moments(block, part.weights(block.rows)))
        samples.append(samples_of_blocks([block], part.first_row))
    in_part = pd.concat(samples)
    return Sums(
        reduce(Moments.merged, distances),
        contribution_moments(contributions, n_clusters, part),
        part_moments(n_clusters, with_words(words, part), in_part["label"].to_numpy()),
        keep(in_part),
    )


def _leading_features(
    labeled: LabeledSource, sums: Sums, n_features: int
) -> dict[Any, tuple[str, ...]]:
    """The leading features of each cluster in words; nothing if all samples are in one cluster."""
    if np.count_nonzero(sums.distances.weight[:, 0]) < 2:
        return {}
    n_levels = sum(len(view.levels) for view in sums.moments)
    table = marker_table(labeled, n_features + n_levels, sums.moments)
    table = leading_markers(table, n_features, ["cluster"])
    texts = [_feature_text(row) for row in table.to_dict("records")]
    return pd.Series(texts, table.index).groupby(table["cluster"]).agg(tuple).to_dict()


def _feature_text(marker: Any) -> str:
    """A feature with its view; of a level, with its shares inside and outside."""
    text = f"{marker['view']}: {marker['feature']}"
    if marker["kind"] != "level" or np.isnan(marker["effect"]):
        return text
    return f"{text} {percent(marker['mean_in'])} ({percent(marker['mean_out'])} elsewhere)"
