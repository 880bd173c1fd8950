"""Samples of clusters: memberships, outlier scores, typical and doubtful ones."""

from collections.abc import Callable, Iterable
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_scalar

from anchorview._utils.memory import require_memory
from anchorview._utils.typing import Array
from anchorview.estimators.base import of_known_samples_only
from anchorview.estimators.explanation import ClusterDistances, Explanation
from anchorview.inspection.labeled_parts import (
    explanation_of,
    filled,
    labeled_source,
    require_labels,
)
from anchorview.views.container import MultiViewData, ViewsLike

Keep = Callable[[pd.DataFrame], pd.DataFrame]
"""Selects and orders samples of a table of :func:`samples_of_blocks`; can be pickled."""


def samples_of_blocks(blocks: Iterable[ClusterDistances], first_row: int = 0) -> pd.DataFrame:
    """Samples of the blocks of a part that starts at a row, one per row."""
    parts = [
        pd.DataFrame(
            {
                "position": first_row + np.arange(block.rows.start, block.rows.stop),
                "label": block.labels,
                "second": block.second,
                "confidence": block.confidence,
                "second_confidence": block.second_confidence,
                "distance": np.sqrt(block.squares_to_cluster),
            }
        )
        for block in blocks
    ]
    return pd.concat(parts)


def merge_samples(a: pd.DataFrame, b: pd.DataFrame, keep: Keep) -> pd.DataFrame:
    """Samples of both that are kept."""
    return keep(pd.concat([a, b]))


def nearest(samples: pd.DataFrame, n: int) -> pd.DataFrame:
    """The `n` samples of each cluster that are nearest to its center."""
    order = np.lexsort((samples["position"], samples["distance"], samples["label"]))
    return samples.iloc[order].groupby("label", sort=False).head(n)


def _least_certain(samples: pd.DataFrame, n: int) -> pd.DataFrame:
    return samples.iloc[np.lexsort((samples["position"], samples["confidence"]))[:n]]


def _kept_samples(model_or_labels: Any, X: ViewsLike, keep: Keep, stage: str) -> pd.DataFrame:
    """Table of the samples that are kept, in one pass over the parts."""
    labeled = labeled_source(model_or_labels, X)
    work = partial(_part_samples, explanation_of(labeled), keep)
    samples = labeled.source.reduce_as_is(work, partial(merge_samples, keep=keep), stage)
    return _named(samples, labeled.clusters, labeled.sample_index)


def _part_samples(explanation: Explanation, keep: Keep, part: MultiViewData) -> pd.DataFrame:
    return keep(samples_of_blocks(explanation.distances(part), part.first_row))


def _named(samples: pd.DataFrame, clusters: Any, index: "pd.Index[Any]") -> pd.DataFrame:
    """Table with names of samples, which `index` has by position, and of clusters."""
    positions, labels, codes = samples[["position", "label", "second"]].to_numpy().T
    second = clusters[codes]
    if (codes < 0).any():
        second = second.astype(object).where(codes >= 0, None)
    columns = samples[["distance", "confidence"]].reset_index(drop=True)
    return columns.assign(sample=index[positions], cluster=clusters[labels], second_cluster=second)


@filled
def representatives(model_or_labels: Any, X: ViewsLike, n_samples: int = 5) -> pd.DataFrame:
    """Return the samples of each cluster that are nearest to its center.

    For :class:`~anchorview.DALMC`, the distance is that of rows of the embedding to the centroid;
    for :class:`~anchorview.AutoDALMC`, in the embedding of its best candidate to the mean of the
    cluster. For labels and other estimators it is the distance to the mean of the cluster: the root
    of the mean, over views, of the mean squared difference of standardized features.

    Parameters
    ----------
    %(model_or_labels)s
    X : views of samples, in any form that estimators take
        Read once, part by part; twice for labels and other estimators.
    n_samples : int, default=5
        Number of samples per cluster.

    Returns
    -------
    samples : DataFrame
        At most `n_samples` rows per cluster, with the columns `cluster`; `rank`, from 1; `sample`,
        its id or position; `distance`; `confidence`, as for :func:`doubtful`; `second_cluster`.

    See Also
    --------
    doubtful : The samples with the lowest confidence.

    %(digits)s
    >>> typical = representatives(model, views, n_samples=3)
    >>> len(typical)
    30
    >>> classes = y[typical["sample"]].reshape(10, 3)
    >>> bool((classes == classes[:, :1]).all())
    True
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    keep = partial(nearest, n=n_samples)
    table = _kept_samples(model_or_labels, X, keep, "representatives")
    table["rank"] = table.groupby("cluster", sort=False).cumcount() + 1
    return table[["cluster", "rank", "sample", "distance", "confidence", "second_cluster"]]


def doubtful(
    model_or_labels: Any, X: "ViewsLike | None" = None, n_samples: int = 20
) -> pd.DataFrame:
    """Return the samples with the least certain clusters.

    For :class:`~anchorview.AutoDALMC`, the confidence is `confidence_`; else it is the membership
    in the cluster (:func:`memberships`).

    Parameters
    ----------
    model_or_labels : fitted estimator, or array-like (n,) of labels
        As for :func:`cluster_markers`.
    X : views of samples, in any form that estimators take, default=None
        If None, the samples of `fit`, from what :class:`~anchorview.DALMC` and
        :class:`~anchorview.AutoDALMC` have stored.
    n_samples : int, default=20
        Number of samples.

    Returns
    -------
    samples : DataFrame
        Sorted by confidence, with the columns `sample`, its id or position; `cluster`;
        `confidence`; `second_cluster`. Without `X`, a second cluster that `relabel` has merged with
        the cluster is None.

    See Also
    --------
    representatives : The most typical samples.

    Examples
    --------
    >>> from anchorview import AutoDALMC, make_multiview
    >>> from anchorview.inspection import doubtful
    >>> views, _ = make_multiview(200, n_clusters=4, random_state=0)
    >>> model = AutoDALMC(n_clusters=4, budget="fast", random_state=0).fit(views)
    >>> uncertain = doubtful(model, n_samples=3)
    >>> list(uncertain.columns)
    ['sample', 'cluster', 'confidence', 'second_cluster']
    >>> bool(uncertain["confidence"].iloc[0] == model.confidence_.min())
    True
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    keep = partial(_least_certain, n=n_samples)
    if X is None:
        table = _doubtful_of_fit(model_or_labels, keep)
    else:
        table = _kept_samples(model_or_labels, X, keep, "doubtful samples")
    return table[["sample", "cluster", "confidence", "second_cluster"]]


def _doubtful_of_fit(model: Any, keep: Keep) -> pd.DataFrame:
    """Table of the samples of `fit` that are kept."""
    if not hasattr(model, "__anchorview_explain__"):
        raise ValueError(
            f"{type(model).__name__} does not store how certain the samples are: give X, the views "
            "that it was fitted on."
        )
    require_labels(model)
    model = of_known_samples_only(model)
    if not len(model.labels_):
        raise ValueError("The model was saved without the results of its samples: give X.")
    names, ids = model.cluster_names_, model.sample_ids_
    clusters = pd.RangeIndex(model.n_clusters_) if names is None else pd.Index(names)
    index = pd.RangeIndex(len(model.labels_)) if ids is None else pd.Index(np.asarray(ids))
    return _named(keep(stored_samples(model)), clusters, index)


def stored_samples(model: Any) -> pd.DataFrame:
    """Samples of `fit`, from what a model that explains itself has stored."""
    if hasattr(model, "second_labels_"):
        stored = (model.labels_, model.second_labels_, model.confidence_)
        columns = zip(("label", "second", "confidence"), map(np.asarray, stored), strict=True)
        position = np.arange(len(model.labels_))
        return pd.DataFrame({**dict(columns), "position": position, "distance": np.nan})
    require_memory(
        float(model.embedding_.nbytes), "Reading embedding_", "Give X, which is read in parts."
    )
    explanation, rows = model.__anchorview_explain__(), np.asarray(model.embedding_)
    return samples_of_blocks(explanation.distances_of_rows(rows))


@filled
def memberships(model_or_labels: Any, X: ViewsLike) -> pd.DataFrame:
    r"""Soft memberships of samples in the clusters.

    A membership is proportional to :math:`k^{-d^2 / W}`, where :math:`k` is the number of clusters,
    :math:`d` the distance of the sample to the center of the cluster, and :math:`W` the mean of
    :math:`d^2` over the samples of `fit` and their clusters. For :class:`~anchorview.DALMC`
    these are distances of rows of the embedding to the centroids of K-means; for
    :class:`~anchorview.AutoDALMC`, of the sample's labels in all partitions to the frequencies of
    these labels in the cluster. A cluster that `relabel` has merged has the distance of the nearest
    cluster in it. For labels and other estimators, distances are those in the views
    (:func:`representatives`).

    Parameters
    ----------
    %(model_or_labels)s
    X : views of samples, in any form that `predict` takes
        They are processed part by part; the result is in memory.

    Returns
    -------
    memberships : DataFrame (n, n_clusters)
        Rows sum to 1, and the largest is that of the cluster that `predict` returns; labels and
        other estimators may have placed a sample in a cluster that is not the nearest. Indexed by
        sample id, or position if there are none; columns are the clusters.

    See Also
    --------
    doubtful : The samples with the lowest confidence.
    outlier_scores : Samples that are far from all others of their cluster.

    %(digits)s
    >>> soft = memberships(model, views)
    >>> soft.shape
    (2000, 10)
    >>> bool((soft.to_numpy().argmax(axis=1) == model.labels_).all())
    True
    """
    labeled = labeled_source(model_or_labels, X)
    function = explanation_of(labeled).memberships
    members = labeled.rows(function, len(labeled.clusters), "memberships")
    return pd.DataFrame(members, index=labeled.sample_index, columns=labeled.clusters)


@filled
def outlier_scores(model_or_labels: Any, X: ViewsLike) -> "pd.Series[float]":
    """How far samples are from the center of their cluster, relative to its other samples.

    The score is the distance to the center divided by the root mean square distance of the samples
    of `fit` that are in the cluster: about 1 is typical, and a sample with 3 is three times as far.
    Distances are those of rows of the embedding; for :class:`~anchorview.AutoDALMC`, of the
    embedding of its best candidate to the mean of the cluster; for labels and other estimators, as
    for :func:`representatives`, and relative to the samples of `X`.

    Parameters
    ----------
    %(model_or_labels)s
    X : views of samples, in any form that `predict` takes

    Returns
    -------
    scores : Series (n,)
        Indexed by sample id, or position if there are none.

    See Also
    --------
    representatives : The samples nearest to the centers.

    %(digits)s
    >>> scores = outlier_scores(model, views)
    >>> bool(abs((scores**2).mean() - 1) < 1e-6)
    True
    """
    labeled = labeled_source(model_or_labels, X)
    function = partial(_part_scores, explanation_of(labeled))
    scores = labeled.rows(function, None, "outlier scores")
    return pd.Series(scores, index=labeled.sample_index, name="outlier_score")


def _part_scores(explanation: Explanation, part: MultiViewData) -> Array:
    typical = explanation.mean_square_per_cluster
    blocks = explanation.distances(part)
    scores = [np.sqrt(block.squares_to_cluster / typical[block.labels]) for block in blocks]
    return np.concatenate(scores)
