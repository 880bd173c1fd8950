"""What views say about clusters: contributions of each view, and the result without it."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from anchorview._utils.linalg import LowRankSum
from anchorview._utils.moments import Moments, group_moments
from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.estimators.auto.evidence import compared_agreement, contradicts
from anchorview.estimators.dalmc import DALMC
from anchorview.inspection.labeled_parts import (
    explanation_of,
    filled,
    fitted_views,
    labeled_source,
    plain_views,
    require_labels,
)
from anchorview.views.container import MultiViewData, ViewsLike, container_with_views

PartContributions = Callable[[MultiViewData], tuple[Array, Array]]
"""Clusters of the samples of a part, and contributions of their views; can be pickled."""


@filled
def view_contributions(
    model_or_labels: Any, X: ViewsLike, *, by: Literal["sample", "cluster"] = "sample"
) -> pd.DataFrame:
    r"""How much each view supports the cluster of a sample.

    The margin of a sample is the product of its normalized embedding :math:`s / \|s\|` with
    :math:`m_c - \bar m`, the center of its cluster minus the mean of the centers of the other
    clusters. The embedding is a sum over views, so the margin is the sum of the contributions of
    the views that the sample has. A positive contribution supports the cluster, a negative one
    supports others.

    For :class:`~anchorview.AutoDALMC` it is the mean over all partitions, weighted as in the
    consensus, where the center of a cluster is the mean of the centroids of a partition, weighted
    by the frequency of their labels in the cluster. For labels and other estimators, the margin is
    the mean squared distance to the means of the other clusters minus that to the mean of the
    cluster, which is a mean over views (:func:`representatives`).

    Parameters
    ----------
    %(model_or_labels)s
    X : views of samples, in any form that `predict` takes
        Samples may lack views.
    by : {"sample", "cluster"}, default="sample"
        A row for every sample, or the mean over the samples of each cluster that have the view.

    Returns
    -------
    contributions : DataFrame (n, n_views) or (n_clusters, n_views)
        NaN where a sample, or all of a cluster, lacks the view; otherwise 0 for a view that
        AutoDALMC has set aside.

    See Also
    --------
    leave_one_view_out : What the result would be without a view.

    %(digits)s
    >>> contributions = view_contributions(model, views, by="cluster")
    >>> contributions.shape
    (10, 6)
    >>> bool((contributions.sum(axis=1) > 0).all())
    True
    """
    if by not in ("sample", "cluster"):
        raise ValueError(f"by={by!r} should be 'sample' or 'cluster'.")
    labeled = labeled_source(model_or_labels, X)
    explanation = explanation_of(labeled)
    function = explanation.contributions()
    names = pd.Index(explanation.view_names, name="view")
    if by == "sample":
        rows = labeled.rows(partial(_rows_of, function), len(names), "contributions")
        return pd.DataFrame(rows, index=labeled.sample_index, columns=names)
    work = partial(contribution_moments, function, len(labeled.clusters))
    moments = labeled.source.reduce_as_is(work, Moments.merged, "contributions")
    means = np.where(moments.weight > 0, moments.mean, np.nan)
    return pd.DataFrame(means, index=labeled.clusters.rename("cluster"), columns=names)


def contribution_moments(
    function: PartContributions, n_clusters: int, part: MultiViewData
) -> Moments:
    """Moments of the contributions of views by cluster, of the samples that have the view."""
    labels, rows = function(part)
    return group_moments(rows, labels, n_clusters, part.sample_weight)


def _rows_of(function: PartContributions, part: MultiViewData) -> Array:
    return function(part)[1]


MAX_REFIT_SAMPLES = 20_000
"""Number of samples, at equal steps, on which the results are computed if there are more."""

MIN_COMMON = 10
"""Number of samples that two views need to have in common to be compared."""

SAME_RESULT = 0.5
"""Agreement from which on a result without a view is taken for that with it."""

GAIN = 0.1
"""A view also disagrees if the agreement of the other views with the result rises by more than this
without it; of good views in small data sets it rose by up to 0.07."""


def leave_one_view_out(model: Any, X: ViewsLike) -> pd.DataFrame:
    """Refit without each view, and find views that disagree with the others.

    Parameters
    ----------
    model : fitted estimator
        It is refitted with its parameters and its number of clusters, without each view in turn.
        Refits of :class:`~anchorview.AutoDALMC` take less time with fewer candidates: give
        ``copy(model).set_params(budget="fast")``.
    X : views that it was fitted on, in any form that estimators take
        If there are more than 20,000 samples, at most 20,000 evenly spaced ones are used.

    Returns
    -------
    table : DataFrame
        One row per view, with the columns

        - `agreement`: adjusted Rand index of the result without the view with the clusters of
          `model`, on samples that have other views. Low if the result depends on this view.
        - `agreement_with_others`: largest adjusted Rand index of a clustering of the view alone (by
          :class:`~anchorview.DALMC`) with one of another view, on samples that have both.
        - `others_with`: mean adjusted Rand index of the clusters of `model` with a clustering of
          each other view alone, on the samples that have it.
        - `others_without`: the same for the result without the view. NaN if there are only two
          views: without one, the result is that of the other.
        - `agreement_among_others`: largest adjusted Rand index of the clusterings of two other
          views; NaN if there are only two views.
        - `disagrees`: whether the view disagrees with the rest, because it has other clusters or is
          noise: `agreement_with_others` is at most 0.05, `agreement_among_others` at least 0.2, and
          the result does not depend on the view (`agreement` is at least 0.5); or `others_without`
          exceeds `others_with` by more than 0.1. Always False if there are only two views, as
          nothing tells which of them to trust.

    See Also
    --------
    view_contributions : How much each view supports the cluster of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview import DALMC, make_multiview
    >>> from anchorview.inspection import leave_one_view_out
    >>> views, _ = make_multiview(200, n_clusters=4, separation=8, random_state=0)
    >>> other, _ = make_multiview(200, n_clusters=4, separation=20, random_state=1)
    >>> views["other"] = other["view_0"]
    >>> model = DALMC(n_clusters=4, random_state=0).fit(views)
    >>> leave_one_view_out(model, views)["disagrees"].to_dict()
    {'view_0': False, 'view_1': False, 'view_2': False, 'other': True}
    """
    data, labels = _samples(model, X)
    n_views = len(data.names)
    if n_views < 2:
        raise ValueError("There is only one view, so none can be left out.")
    n_clusters = int(getattr(model, "n_clusters_", None) or len(np.unique(labels)))
    if n_clusters < 2:
        raise ValueError("There is only one cluster, which depends on no view.")
    params, shared = model.get_params(), {"scaling", "unit_norm"}
    same = {name: params[name] for name in shared} if params.keys() >= shared else {}
    alone = np.full((n_views, len(data)), -1)
    for p in range(n_views):
        report_progress("leaving out views", p, 2 * n_views)
        rows = np.flatnonzero(data.has_view(p))
        only = DALMC(n_clusters, random_state=0, **same)
        alone[p, rows] = only.fit(data.with_views([p])[rows]).labels_
    common = [[_agreement(a, b, MIN_COMMON) for b in alone] for a in alone]
    between = np.where(np.eye(n_views), np.nan, common)
    table = []
    for p in range(n_views):
        report_progress("leaving out views", n_views + p, 2 * n_views)
        others = [q for q in range(n_views) if q != p]
        rows = np.flatnonzero(np.any([data.has_view(q) for q in others], axis=0))
        refit = _refitted(model, others, n_clusters)
        selected = data.with_views(others)[rows]
        with warnings.catch_warnings():
            # What refits warn of is not said of the model.
            warnings.simplefilter("ignore", UserWarning)
            refit.fit(selected if fitted_views(model) is not None else plain_views(selected))
        without = np.full(len(data), -1)
        without[rows] = refit.labels_
        with_others, among_others = compared_agreement(between, p)
        gains = [
            float(np.mean([_agreement(clusters, one) for one in alone[others]]))
            for clusters in (labels, without)
        ]
        agreement = _agreement(labels, without)
        # A result that changes without a view depends on it.
        apart = contradicts(with_others, among_others) and agreement >= SAME_RESULT
        differs = apart or gains[1] - gains[0] > GAIN
        table.append(
            {
                "agreement": agreement,
                "agreement_with_others": with_others,
                "agreement_among_others": among_others,
                "others_with": gains[0],
                "others_without": gains[1] if n_views > 2 else np.nan,
                "disagrees": differs and n_views > 2,
            }
        )
    report_progress("leaving out views", 2 * n_views, 2 * n_views)
    return pd.DataFrame(table, index=pd.Index(data.names, name="view"))


def _agreement(a: Array, b: Array, least: int = 0) -> float:
    """Adjusted Rand index on the samples that both have; NaN if these are fewer than `least`."""
    common = (a >= 0) & (b >= 0)
    return float(adjusted_rand_score(a[common], b[common])) if common.sum() >= least else np.nan


def _samples(model: Any, X: ViewsLike) -> tuple[MultiViewData, Array]:
    """Samples in memory with all views of a model, as it prepares them, and their clusters."""
    if not hasattr(model, "get_params"):
        raise TypeError(
            f"Give a fitted estimator that can be refitted, not {type(model).__name__}."
        )
    require_labels(model)
    labeled = labeled_source(model, X)
    rows = np.arange(0, len(labeled.source), -(-len(labeled.source) // MAX_REFIT_SAMPLES))
    data, labels = labeled.samples(rows), labeled.labels()[rows]
    fitted, explanation = fitted_views(model), labeled.explanation
    if fitted is None:
        # Labels need no finite values, but refits do.
        return container_with_views(data, data.views), labels
    positions = fitted.positions_in(labeled.source)
    if None in positions:
        missing = fitted.names[positions.index(None)]
        raise ValueError(f"X lacks the view {missing!r}. Give all views of the fit.")
    if explanation is None:
        return fitted.matched_part(data), labels
    prepared = explanation.prepare(data)
    # Sparse views without their batches: refits take them for views as they are given.
    views = (v.toarray() if isinstance(v, LowRankSum) else v for v in prepared.views)
    return container_with_views(prepared, tuple(views), nan_cells=True), labels


def _refitted(model: Any, positions: list[int], n_clusters: int) -> Any:
    """Return an unfitted copy of a model for some of its views."""
    refit = clone(model)
    known = refit.get_params()
    params: dict[str, Any] = {"n_clusters": n_clusters, "verbose": 0, "preprocess": None}
    if known.get("random_state") is None:
        params["random_state"] = 0
    if known.get("view_importance"):
        kept = [model.view_names_in_[p] for p in positions]
        given = known["view_importance"]
        params["view_importance"] = {name: given[name] for name in kept if name in given} or None
    components: Any = known.get("n_components")
    if np.ndim(components):
        params["n_components"] = [components[p] for p in positions]
    return refit.set_params(**{name: params[name] for name in params.keys() & known.keys()})
