"""Typical and doubtful samples of clusters."""

from collections.abc import Iterable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.memory import require_memory
from anchorview._utils.typing import Array
from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.dalmc import DALMC
from anchorview.inspection.cluster_geometry import (
    Geometry,
    Located,
    embedding_geometry,
    geometry_of,
)
from anchorview.inspection.labeled_parts import labeled_source
from anchorview.views.container import MultiViewData, ViewsLike


class Samples(NamedTuple):
    """Some samples, of all of which the first few are kept in an order."""

    positions: Array
    labels: Array
    second: Array
    confidence: Array
    distances: Array

    @classmethod
    def of(cls, block: Located, first_row: int) -> "Samples":
        """All samples of a block of a part that starts at a row."""
        positions = first_row + np.arange(block.rows.start, block.rows.stop)
        distances = np.sqrt(block.own_squares)
        return cls(positions, block.labels, block.second, block.confidence, distances)

    def at(self, rows: Array) -> "Samples":
        """Return some of the samples."""
        return Samples(*(values[rows] for values in self))

    def merged(self, other: "Samples") -> "Samples":
        """Samples of both."""
        return Samples(*map(np.concatenate, zip(self, other, strict=True)))

    def nearest(self, n: int) -> "Samples":
        """The `n` samples of each cluster that are nearest to its center."""
        kept = self.at(np.lexsort((self.positions, self.distances, self.labels)))
        starts = np.searchsorted(kept.labels, kept.labels)
        return kept.at(np.flatnonzero(np.arange(len(starts)) - starts < n))

    def doubtful(self, n: int) -> "Samples":
        """The `n` samples with the lowest confidence."""
        return self.at(np.lexsort((self.positions, self.confidence))[:n])


def representatives(model: Any, X: ViewsLike, n: int = 5) -> pd.DataFrame:
    """Return the samples of each cluster that are nearest to its center.

    For :class:`~anchorview.DALMC`, the distance is that of rows of the embedding to the centroid;
    for :class:`~anchorview.AutoDALMC`, in the embedding of its best candidate to the mean of the
    cluster. For other estimators, whose labels belong to the samples of `X`, it is the distance to
    the mean of the cluster: the root of the mean, over views, of the mean squared difference of
    standardized features.

    Parameters
    ----------
    model : fitted estimator
    X : views of samples, in any form that estimators take
        Read once, part by part; twice for estimators that cannot predict.
    n : int, default=5
        Number of samples per cluster.

    Returns
    -------
    samples : DataFrame
        At most `n` rows per cluster, with the columns `cluster`; `rank`, from 1; `sample`, its id
        or position; `distance`; `confidence`, as for :func:`doubtful`; `second_cluster`.

    See Also
    --------
    doubtful : The samples with the lowest confidence.

    Examples
    --------
    >>> from anchorview import DALMC, load_digits
    >>> from anchorview.inspection import representatives
    >>> views, y = load_digits(return_X_y=True)
    >>> model = DALMC(n_clusters=10, random_state=0).fit(views)
    >>> typical = representatives(model, views, n=3)
    >>> len(typical)
    30
    >>> classes = y[typical["sample"]].reshape(10, 3)
    >>> bool((classes == classes[:, :1]).all())
    True
    """
    require_positive(n)
    labeled = labeled_source(model, X)
    geometry = geometry_of(model, labeled)
    found = labeled.source.reduce_as_is(
        partial(_part_samples, geometry, n), partial(_merge, n), "representatives"
    )
    return representative_table(found, labeled.clusters, labeled.sample_ids)


def representative_table(
    found: Samples, clusters: "pd.Index[Any]", ids: "pd.Index[Any] | None"
) -> pd.DataFrame:
    """Table of :func:`representatives`, from samples in order."""
    starts = np.searchsorted(found.labels, found.labels)
    return pd.DataFrame(
        {
            "cluster": clusters[found.labels],
            "rank": np.arange(len(starts)) - starts + 1,
            "sample": found.positions if ids is None else ids[found.positions],
            "distance": found.distances,
            "confidence": found.confidence,
            "second_cluster": clusters[found.second],
        }
    )


def doubtful(model: Any, X: "ViewsLike | None" = None, n: int = 20) -> pd.DataFrame:
    """Return the samples whose cluster is least certain.

    For :class:`~anchorview.AutoDALMC`, the confidence is `confidence_`; for other estimators it is
    the membership in the own cluster (:func:`memberships`), which for those that cannot predict is
    computed from the distances to the means of the clusters (:func:`representatives`).

    Parameters
    ----------
    model : fitted estimator
    X : views of samples, in any form that estimators take, default=None
        If None, the samples of `fit`, from what the model has stored. Estimators that cannot
        predict need it.
    n : int, default=20
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
    >>> model = AutoDALMC(n_clusters=4, max_candidates=4, random_state=0).fit(views)
    >>> found = doubtful(model, n=3)
    >>> list(found.columns)
    ['sample', 'cluster', 'confidence', 'second_cluster']
    >>> bool(found["confidence"].iloc[0] == model.confidence_.min())
    True
    """
    require_positive(n)
    if X is None:
        return _doubtful_of_fit(model, n)
    labeled = labeled_source(model, X)
    geometry = geometry_of(model, labeled)
    found = labeled.source.reduce_as_is(
        partial(_part_doubtful, geometry, n), partial(_merge_doubtful, n), "doubtful samples"
    )
    return doubtful_table(found, labeled.clusters, labeled.sample_ids)


def doubtful_table(
    found: Samples, clusters: "pd.Index[Any]", ids: "pd.Index[Any] | None"
) -> pd.DataFrame:
    """Table of :func:`doubtful`, from samples in order."""
    second = clusters[found.second]
    if (found.second < 0).any():
        second = second.astype(object).where(found.second >= 0, None)
    return pd.DataFrame(
        {
            "sample": found.positions if ids is None else ids[found.positions],
            "cluster": clusters[found.labels],
            "confidence": found.confidence,
            "second_cluster": second,
        }
    )


def _doubtful_of_fit(model: Any, n: int) -> pd.DataFrame:
    check_is_fitted(model, "labels_")
    if not isinstance(model, DALMC | AutoDALMC):
        raise ValueError(
            f"{type(model).__name__} does not store how certain the samples are: give X, the views "
            "that it was fitted on."
        )
    if not len(model.labels_):
        raise ValueError("The model was saved without the results of its samples: give X.")
    names = model.cluster_names_
    clusters = pd.RangeIndex(model.n_clusters_) if names is None else pd.Index(names)
    if isinstance(model, AutoDALMC):
        if model.second_labels_ is None:
            raise ValueError(
                "The model file is of an older version, which did not store the second cluster of "
                "each sample: give X, or fit and save the model again."
            )
        positions = np.arange(len(model.labels_))
        nothing = np.empty(len(positions))
        labels, second = np.asarray(model.labels_), np.asarray(model.second_labels_)
        everything = Samples(positions, labels, second, np.asarray(model.confidence_), nothing)
    else:
        require_memory(
            float(model.embedding_.nbytes), "Reading embedding_", "Give X, which is read in parts."
        )
        rows = embedding_geometry(model).located_rows(np.asarray(model.embedding_))
        everything = _first(rows, 0, n)
    ids = model.sample_ids_
    ids = None if ids is None else pd.Index(np.asarray(ids))
    return doubtful_table(everything.doubtful(n), clusters, ids)


def _first(blocks: Iterable[Located], first_row: int, n: int) -> Samples:
    """The most doubtful samples of blocks."""
    parts = (Samples.of(block, first_row).doubtful(n) for block in blocks)
    return reduce(partial(_merge_doubtful, n), parts)


def _part_doubtful(geometry: Geometry, n: int, part: MultiViewData) -> Samples:
    return _first(geometry.located(part), part.first_row, n)


def _merge_doubtful(n: int, a: Samples, b: Samples) -> Samples:
    return a.merged(b).doubtful(n)


def _part_samples(geometry: Geometry, n: int, part: MultiViewData) -> Samples:
    parts = (Samples.of(block, part.first_row).nearest(n) for block in geometry.located(part))
    return reduce(partial(_merge, n), parts)


def _merge(n: int, a: Samples, b: Samples) -> Samples:
    return a.merged(b).nearest(n)


def require_positive(n: int, name: str = "n") -> None:
    """Raise if a number of samples or features is not positive."""
    if n < 1:
        raise ValueError(f"{name}={n} should be >= 1.")
