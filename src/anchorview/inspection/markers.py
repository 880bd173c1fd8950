"""Markers: features by which clusters differ from the other samples."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr
from scipy.stats import false_discovery_control

from anchorview._utils.typing import Array
from anchorview.inspection.cluster_moments import Moments, merge_views, part_moments
from anchorview.inspection.labeled_parts import LabeledSource, labeled_source
from anchorview.views.container import ViewsLike

MAX_EFFECT = 1e6
"""Effect of a feature that is constant inside and outside, with different values."""


def cluster_markers(
    model_or_labels: Any, X: ViewsLike, *, n_features: int | None = None
) -> pd.DataFrame:
    r"""Compare every feature in each cluster with the samples outside of the cluster.

    One pass over the rows, in memory, from files or in Dask. Missing views and single missing
    values are left out.

    Features are ranked by effect. Clusters were formed to differ in these features, so p-values
    and q-values are optimistic: they are small even where there is no structure. Use them to
    compare features, not as evidence that clusters exist.

    Parameters
    ----------
    model_or_labels : fitted estimator, or array-like (n,) of labels
        A fitted :class:`~anchorview.DALMC` or :class:`~anchorview.AutoDALMC` predicts the clusters
        of the samples, which may be new; so does any other estimator that has `predict`, which is
        called with `X`. Labels, and `labels_` of all other estimators, belong to the samples of
        `X`: they are matched by sample id if they (as a Series, or `sample_ids_`) and `X` have ids,
        else by position. With labels, `X` may have views that the clustering has not used.
    X : views, in any form that estimators take
        Their values are compared as they are; nothing is scaled or imputed. Single NaN are ignored
        with labels, and with models that impute them for their prediction.
    n_features : int, default=None
        Number of features per cluster to return; if None, all.

    Returns
    -------
    markers : DataFrame
        One row per cluster, view and feature, sorted by cluster and rank. Clusters without samples
        and views that no sample has are left out. Columns:

        - `cluster`, `view`, `feature`: features without a name have their position.
        - `rank`: 1, 2... within the cluster, over all views, by absolute effect.
        - `effect`: standardized mean difference, ``mean_in - mean_out`` divided by the pooled
          standard deviation within the two groups. If this is 0, the effect is 0 for equal means
          and otherwise 1e6 with the sign of the difference, the largest that is reported.
        - `mean_in`, `mean_out`: mean in the cluster and of the other samples.
        - `nonzero_in`, `nonzero_out`: share of values that are not 0.
        - `n_in`, `n_out`: number of values.
        - `statistic`, `p_value`: Welch's t-test, two-sided; NaN with fewer than two values.
        - `q_value`: p-value adjusted for all clusters and features by Benjamini and Hochberg.

    See Also
    --------
    compare_partitions : Compare clusters with those of another clustering.

    Examples
    --------
    >>> from anchorview import DALMC, load_digits
    >>> from anchorview.inspection import cluster_markers
    >>> views, _ = load_digits(return_X_y=True)
    >>> model = DALMC(n_clusters=10, random_state=0).fit(views)
    >>> markers = cluster_markers(model, views, n_features=3)
    >>> markers.shape
    (30, 14)
    >>> list(markers.columns[:5])
    ['cluster', 'view', 'feature', 'rank', 'effect']
    >>> bool(markers["effect"].abs().min() > 1)
    True
    """
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features={n_features} should be >= 1, or None for all.")
    labeled = labeled_source(model_or_labels, X)
    moments = labeled.reduce(partial(part_moments, len(labeled.clusters)), merge_views, "markers")
    return marker_table(labeled, moments, n_features)


def marker_table(
    labeled: LabeledSource, moments: Sequence[Moments], n_features: int | None = None
) -> pd.DataFrame:
    """Table of :func:`cluster_markers`, from the moments of each view."""
    has_samples = np.any([view.counts.any(axis=1) for view in moments], axis=0)
    clusters = labeled.clusters[has_samples]
    if len(clusters) == 1:
        raise ValueError(
            f"All samples of X are in cluster {clusters[0]}, so there is nothing outside to "
            "compare it with. Use more clusters or more samples."
        )
    views, features, columns = [], [], []
    for p, view in enumerate(moments):
        if not view.counts.any():
            continue
        inside = Moments(*(values[has_samples] for values in view))
        outside = inside.outside()
        with np.errstate(over="ignore"):
            overflows = not np.isfinite(inside.squares + outside.squares).all()
        if overflows:
            raise ValueError(labeled.source.problem("overflow", p))
        columns.append(_statistics(inside, outside))
        width, names = view.counts.shape[1], labeled.feature_names[p]
        views += [labeled.view_names[p]] * width
        features += [str(j) for j in range(width)] if names is None else list(names)
    table = {name: np.hstack([view[name] for view in columns]) for name in columns[0]}
    table["q_value"] = adjusted_p_values(table["p_value"])

    # NaN, of features that cannot be compared, come last.
    order = np.argsort(-np.abs(table["effect"]), axis=1, kind="stable")[:, :n_features]
    n_clusters, n_rows = order.shape
    head = {
        "cluster": np.repeat(clusters, n_rows),
        "view": np.array(views, dtype=object)[order.ravel()],
        "feature": np.array(features, dtype=object)[order.ravel()],
        "rank": np.tile(np.arange(1, n_rows + 1), n_clusters),
    }
    sorted_columns = {
        name: np.take_along_axis(values, order, axis=1).ravel() for name, values in table.items()
    }
    return pd.DataFrame(head | sorted_columns)


def _statistics(inside: Moments, outside: Moments) -> dict[str, Array]:
    """Columns of the table that depend on one feature only, (n_clusters, n_features)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share_in, share_out = inside.nonzeros / inside.counts, outside.nonzeros / outside.counts
        mean_in = np.where(inside.counts > 0, inside.means, np.nan)
        mean_out = np.where(outside.counts > 0, outside.means, np.nan)
        difference = mean_in - mean_out
        pooled = (inside.squares + outside.squares) / (inside.counts + outside.counts - 2)
        effect = _ratio(difference, np.sqrt(pooled))
        statistic, p_value = _welch(inside, outside, difference)
    return {
        "effect": np.clip(effect, -MAX_EFFECT, MAX_EFFECT),
        "mean_in": mean_in,
        "mean_out": mean_out,
        "nonzero_in": share_in,
        "nonzero_out": share_out,
        "n_in": inside.counts.astype(np.int64),
        "n_out": outside.counts.astype(np.int64),
        "statistic": statistic,
        "p_value": p_value,
    }


def _ratio(difference: Array, deviation: Array) -> Array:
    """Quotient, in which no difference relative to no deviation is no difference."""
    return np.where((difference == 0) & (deviation == 0), 0.0, difference / deviation)


def _welch(inside: Moments, outside: Moments, difference: Array) -> tuple[Array, Array]:
    """Statistic and two-sided p-value of Welch's t-test."""
    free_in, free_out = inside.counts - 1, outside.counts - 1
    error_in = inside.squares / free_in / inside.counts
    error_out = outside.squares / free_out / outside.counts
    error = error_in + error_out
    statistic = _ratio(difference, np.sqrt(error))
    # Welch and Satterthwaite: error^2 / (error_in^2 / free_in + error_out^2 / free_out).
    freedom = 1 / ((error_in / error) ** 2 / free_in + (error_out / error) ** 2 / free_out)
    freedom = np.where(error == 0, free_in + free_out, freedom)
    return statistic, 2 * stdtr(freedom, -np.abs(statistic))


def adjusted_p_values(p_values: Array) -> Array:
    """Benjamini-Hochberg q-values; NaN where there is no p-value."""
    adjusted = np.full(p_values.shape, np.nan)
    known = ~np.isnan(p_values)
    if known.any():
        adjusted[known] = false_discovery_control(p_values[known])
    return adjusted
