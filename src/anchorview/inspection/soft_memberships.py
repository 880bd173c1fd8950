"""Soft memberships of samples in clusters, and scores of outliers."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.memory import require_memory
from anchorview._utils.typing import Array
from anchorview.inspection.cluster_geometry import (
    ConsensusGeometry,
    EmbeddingGeometry,
    Geometry,
    geometry_of,
    row_blocks,
    soft_memberships,
)
from anchorview.inspection.labeled_parts import LabeledSource, labeled_source, predicts
from anchorview.views.container import MultiViewData, ViewsLike


def memberships(model: Any, X: ViewsLike) -> pd.DataFrame:
    r"""Soft memberships of samples in the clusters.

    A membership is proportional to :math:`k^{-d^2 / W}`, where :math:`k` is the number of clusters,
    :math:`d` the distance of the sample to the center of the cluster, and :math:`W` the mean of
    :math:`d^2` over the samples of `fit` and their own clusters. For :class:`~anchorview.DALMC`
    these are distances of rows of the embedding to the centroids of K-means; for
    :class:`~anchorview.AutoDALMC`, of the sample's labels in all partitions to the frequencies of
    these labels in the cluster. A cluster that `relabel` has merged has the distance of the nearest
    cluster in it.

    Parameters
    ----------
    model : fitted DALMC or AutoDALMC
    X : views of samples, in any form that `predict` takes
        They are processed part by part; the result is in memory.

    Returns
    -------
    memberships : DataFrame (n, n_clusters)
        Rows sum to 1, and the largest is that of the cluster that `predict` returns. Indexed by
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
    labeled, geometry = _located(model, X, "memberships")
    # That of AutoDALMC has distances in the embedding; memberships are those of the consensus.
    scale = max(model.membership_scale, geometry.floor)
    function = partial(_part_memberships, geometry, scale)
    count = len(labeled.clusters)
    members = part_rows(labeled, function, count, "memberships")
    return pd.DataFrame(members, index=sample_index(labeled), columns=labeled.clusters)


def outlier_scores(model: Any, X: ViewsLike) -> "pd.Series[float]":
    """How far samples are from the center of their cluster, relative to its other samples.

    The score is the distance to the center divided by the root mean square distance of the samples
    of `fit` that are in the cluster: about 1 is typical, and a sample with 3 is three times as far.
    Distances are those of rows of the embedding; for :class:`~anchorview.AutoDALMC`, of the
    embedding of its best candidate to the mean of the cluster.

    Parameters
    ----------
    model : fitted DALMC or AutoDALMC
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
    labeled, geometry = _located(model, X, "outlier scores")
    scores = part_rows(labeled, partial(_part_scores, geometry), None, "outlier scores")
    return pd.Series(scores, index=sample_index(labeled), name="outlier_score")


def _located(model: Any, X: ViewsLike, what: str) -> tuple[LabeledSource, Geometry]:
    """Samples and the centers of the clusters, of a model that can predict."""
    require_prediction(model, what)
    labeled = labeled_source(model, X)
    return labeled, geometry_of(model, labeled)


def require_prediction(model: Any, what: str) -> None:
    """Raise if a model does not place new samples among its clusters."""
    if not predicts(model):
        raise TypeError(
            f"{type(model).__name__} cannot place samples among its clusters, so it has no "
            f"{what}. Use DALMC or AutoDALMC; an ablation of DALMC cannot either."
        )
    check_is_fitted(model, "labels_")


def sample_index(labeled: LabeledSource) -> "pd.Index[Any]":
    """Ids of samples, or their positions."""
    ids = labeled.sample_ids
    return pd.RangeIndex(len(labeled.source)) if ids is None else ids


def part_rows(labeled: LabeledSource, function: Any, width: int | None, stage: str) -> Array:
    """Rows that a function computes of all parts, in memory."""
    source = labeled.source
    require_memory(
        2 * 8.0 * len(source) * (width or 1), f"A table of {stage}", "Give fewer samples at a time."
    )
    return np.asarray(source.map_rows(function, width, np.float64, stage, None))


def _part_memberships(geometry: Geometry, scale: float, part: MultiViewData) -> Array:
    if isinstance(geometry, ConsensusGeometry):
        return _consensus_memberships(geometry, scale, part)
    return np.vstack(
        [
            with_largest_at(soft_memberships(block.squares, scale), block.labels)
            for block in geometry.located(part)
        ]
    )


def _consensus_memberships(geometry: ConsensusGeometry, scale: float, part: MultiViewData) -> Array:
    partitions = geometry.partitions(geometry.prepare(part))
    found = []
    for rows in row_blocks(len(part), len(geometry.consensus.offsets)):
        own = partitions[:, rows]
        members = soft_memberships(geometry.pattern_squares(own), scale)
        found.append(with_largest_at(members, geometry.labels(own)))
    return np.vstack(found)


def with_largest_at(members: Array, labels: Array) -> Array:
    """Memberships of which the largest is that of the label.

    Two of them that are equal up to rounding may be in another order than the distances by which
    `predict` decided, which are computed in the precision of the data.
    """
    wrong = np.flatnonzero(members.argmax(axis=1) != labels)
    members[wrong, labels[wrong]] = np.nextafter(members[wrong].max(axis=1), 2)
    return members


def _part_scores(geometry: Geometry, part: MultiViewData) -> Array:
    assert isinstance(geometry, ConsensusGeometry | EmbeddingGeometry)
    typical = geometry.mean_square_per_cluster
    return np.concatenate(
        [np.sqrt(block.own_squares / typical[block.labels]) for block in geometry.located(part)]
    )
