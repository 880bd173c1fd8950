"""How much each view supports the clusters of samples."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.inspection.labeled_parts import labeled_source
from anchorview.inspection.view_means import explanation_of
from anchorview.views.container import MultiViewData, ViewsLike

PartContributions = Callable[[MultiViewData], tuple[Array, Array]]
"""Clusters of the samples of a part, and contributions of their views; can be pickled."""


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
    model_or_labels : fitted estimator, or array-like (n,) of labels
        As for :func:`cluster_markers`.
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

    Examples
    --------
    >>> from anchorview import DALMC, load_digits
    >>> from anchorview.inspection import view_contributions
    >>> views, _ = load_digits(return_X_y=True)
    >>> model = DALMC(n_clusters=10, random_state=0).fit(views)
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
    count = len(labeled.clusters)
    sums = labeled.source.reduce_as_is(
        partial(_sums_of, function, count), ContributionSums.merged, "contributions"
    )
    return pd.DataFrame(sums.means, index=labeled.clusters.rename("cluster"), columns=names)


class ContributionSums(NamedTuple):
    """Sums of contributions over the samples of each cluster, (n_clusters, n_views)."""

    totals: Array
    counts: Array

    @classmethod
    def of(cls, labels: Array, rows: Array, n_clusters: int) -> "ContributionSums":
        """Sums over some samples."""
        totals = [np.bincount(labels, column, n_clusters) for column in np.nan_to_num(rows.T)]
        counts = [np.bincount(labels, column, n_clusters) for column in ~np.isnan(rows.T)]
        return cls(np.column_stack(totals), np.column_stack(counts))

    def merged(self, other: "ContributionSums") -> "ContributionSums":
        """Sums over both."""
        return ContributionSums(self.totals + other.totals, self.counts + other.counts)

    @property
    def means(self) -> Array:
        """Means over the samples that have the view; NaN if there are none."""
        nothing = np.full_like(self.totals, np.nan)
        return np.divide(self.totals, self.counts, out=nothing, where=self.counts > 0)


def _rows_of(function: PartContributions, part: MultiViewData) -> Array:
    return function(part)[1]


def _sums_of(function: PartContributions, n_clusters: int, part: MultiViewData) -> ContributionSums:
    return ContributionSums.of(*function(part), n_clusters)
