"""Soft memberships of samples in clusters, and scores of outliers."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.explanation import Explanation
from anchorview.inspection.labeled_parts import labeled_source
from anchorview.inspection.view_means import explanation_of
from anchorview.views.container import MultiViewData, ViewsLike


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
    model_or_labels : fitted estimator, or array-like (n,) of labels
        As for :func:`cluster_markers`.
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

    Examples
    --------
    >>> from anchorview import DALMC, load_digits
    >>> from anchorview.inspection import memberships
    >>> views, _ = load_digits(return_X_y=True)
    >>> model = DALMC(n_clusters=10, random_state=0).fit(views)
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


def outlier_scores(model_or_labels: Any, X: ViewsLike) -> "pd.Series[float]":
    """How far samples are from the center of their cluster, relative to its other samples.

    The score is the distance to the center divided by the root mean square distance of the samples
    of `fit` that are in the cluster: about 1 is typical, and a sample with 3 is three times as far.
    Distances are those of rows of the embedding; for :class:`~anchorview.AutoDALMC`, of the
    embedding of its best candidate to the mean of the cluster; for labels and other estimators, as
    for :func:`representatives`, and relative to the samples of `X`.

    Parameters
    ----------
    model_or_labels : fitted estimator, or array-like (n,) of labels
        As for :func:`cluster_markers`.
    X : views of samples, in any form that `predict` takes

    Returns
    -------
    scores : Series (n,)
        Indexed by sample id, or position if there are none.

    See Also
    --------
    representatives : The samples nearest to the centers.

    Examples
    --------
    >>> from anchorview import DALMC, load_digits
    >>> from anchorview.inspection import outlier_scores
    >>> views, _ = load_digits(return_X_y=True)
    >>> model = DALMC(n_clusters=10, random_state=0).fit(views)
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
    blocks = explanation.located(part)
    scores = [np.sqrt(block.squares_to_cluster / typical[block.labels]) for block in blocks]
    return np.concatenate(scores)
