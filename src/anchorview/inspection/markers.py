"""Markers: features by which clusters differ from the other samples."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from anchorview._utils.moments import as_counts
from anchorview._utils.typing import Array
from anchorview.inspection.cluster_moments import ClusterMoments, Feature, ViewMoments
from anchorview.inspection.labeled_parts import LabeledSource, filled, labeled_source
from anchorview.views.container import ViewsLike

MAX_EFFECT = 1e6
"""Effect of a feature that is constant inside and outside, with different values."""

EFFECT_ROUNDING = 1e-9
"""Share by which effects differ that are equal but for rounding, as those of two levels."""

OF_KINDS = ["column", "kind", "lift", "odds_ratio"]
"""Columns of the table that say nothing if all features are numbers."""


@filled
def cluster_markers(
    model_or_labels: Any, X: ViewsLike, *, n_features: int | None = None
) -> pd.DataFrame:
    r"""Compare every feature in each cluster with the samples outside of the cluster.

    One pass over the rows, in memory, from files or in Dask. Missing views and single missing
    values are left out. Every level of a category in a table is a feature, such as
    ``plan=premium``, which is 1 in the samples with this level and 0 in the others.

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
        - `n_in`, `n_out`: number of values, or sum of the weights of their samples.
        - `statistic`, `p_value`: Welch's t-test, two-sided; NaN with fewer than two values.
        - `q_value`: p-value adjusted for all clusters and features by Benjamini and Hochberg.

        If there are tables with categories or dates, also:

        - `column`, `kind`: column of the table, and "number", "date" or "level". Means of dates are
          days since 1970-01-01. Those of a level, `mean_in` and `mean_out`, are its shares of the
          samples whose value is known.
        - `lift`, `odds_ratio`: ratio of the two shares of a level, and of their odds
          ``share / (1 - share)``; infinite if no sample outside has the level. NaN for the others.

        Columns of texts with more than 40 different values are no categories and are left out,
        unless they are of pandas' type ``category``.

    See Also
    --------
    compare_partitions : Compare clusters with those of another clustering.

    %(digits)s
    >>> markers = cluster_markers(model, views, n_features=3)
    >>> markers.shape
    (30, 14)
    >>> list(markers.columns[:5])
    ['cluster', 'view', 'feature', 'rank', 'effect']
    >>> bool(markers["effect"].abs().min() > 1)
    True

    >>> customers = pd.DataFrame({"plan": ["free", "pro", "pro", "free"], "age": [20, 50, 55, 51]})
    >>> markers = cluster_markers([0, 1, 1, 1], customers)
    >>> markers[["cluster", "feature", "mean_in", "mean_out", "lift"]].head(3).round(2)
       cluster    feature  mean_in  mean_out  lift
    0        0        age     20.0     52.00   NaN
    1        0  plan=free      1.0      0.33   3.0
    2        0   plan=pro      0.0      0.67   0.0
    """
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features={n_features} should be >= 1, or None for all.")
    table = marker_table(labeled_source(model_or_labels, X), n_features)
    only_numbers = {*table.get("kind", ())} <= {"number"}
    return table.drop(columns=OF_KINDS, errors="ignore") if only_numbers else table


def marker_table(
    labeled: LabeledSource,
    n_features: int | None = None,
    moments: Sequence[ViewMoments] | None = None,
    are_compared: Callable[[Sequence[Feature]], Array] | None = None,
) -> pd.DataFrame:
    """Table of :func:`cluster_markers`, with the columns of tables; `moments` if they are known."""
    moments = labeled.moments("markers") if moments is None else moments
    names = labeled.feature_names
    flat = [view.features(names[p]) for p, view in enumerate(moments)]
    has_samples = np.any([view.values.weight.any(axis=1) for view, _ in flat], axis=0)
    clusters = labeled.clusters[has_samples]
    if len(clusters) == 1:
        raise ValueError(
            f"All samples of X are in cluster {clusters[0]}, so there is nothing outside to "
            "compare it with. Use more clusters or more samples."
        )
    features: list[tuple[str, ...]] = []
    columns = []
    for p, (view, of_view) in enumerate(flat):
        if not view.values.weight.any():
            continue
        inside = view.of_clusters(has_samples)
        outside = inside.outside()
        with np.errstate(over="ignore"):
            overflows = not np.isfinite(inside.values.squares + outside.values.squares).all()
        if overflows:
            raise ValueError(labeled.source.problem("overflow", p))
        kept = np.flatnonzero(are_compared(of_view) if are_compared else np.ones(len(of_view)))
        statistics = _statistics(inside, outside)
        columns.append({name: values[:, kept] for name, values in statistics.items()})
        features += [(labeled.view_names[p], *of_view[j]) for j in kept]
    if not features:
        return pd.DataFrame()
    table = {name: np.hstack([view[name] for view in columns]) for name in columns[0]}
    table["q_value"] = adjusted_p_values(table["p_value"])

    texts = np.array(features, object)
    # Of two levels, that which is more frequent in the cluster comes first; NaN, of features that
    # cannot be compared, come last.
    effect, is_level = table["effect"], texts[:, 3] == "level"
    size = np.abs(effect) * np.where(is_level & (effect < 0), 1 - EFFECT_ROUNDING, 1)
    order = np.argsort(-size, axis=1, kind="stable")[:, :n_features]
    n_clusters, n_rows = order.shape
    view_names, feature_names, column_names, kinds = texts[order.ravel()].T
    sorted_columns = {
        name: np.take_along_axis(values, order, axis=1).ravel() for name, values in table.items()
    }
    means = sorted_columns["mean_in"], sorted_columns["mean_out"]
    a, b = (np.where(kinds == "level", shares, np.nan) for shares in means)
    with np.errstate(divide="ignore", invalid="ignore"):
        lift, odds_ratio = a / b, a * (1 - b) / (b * (1 - a))
    of_kinds = (column_names, kinds, lift, odds_ratio)
    return pd.DataFrame(
        {
            "cluster": np.repeat(clusters, n_rows),
            "view": view_names,
            "feature": feature_names,
            "rank": np.tile(np.arange(1, n_rows + 1), n_clusters),
            **sorted_columns,
            **dict(zip(OF_KINDS, of_kinds, strict=True)),
        }
    )


def leading_markers(markers: pd.DataFrame, n_features: int, by: list[str]) -> pd.DataFrame:
    """The first rows of each group of rows; of the levels of a column, only the first."""
    markers = markers.drop_duplicates(["cluster", "view", "column"])
    return markers.groupby(by, sort=False).head(n_features)


def _statistics(inside: ClusterMoments, outside: ClusterMoments) -> dict[str, Array]:
    """Columns of the table that depend on one feature only, (n_clusters, n_features)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        (n_in, mean_in, squares_in), (n_out, mean_out, squares_out) = inside[0], outside[0]
        mean_in = np.where(n_in > 0, mean_in, np.nan)
        mean_out = np.where(n_out > 0, mean_out, np.nan)
        of_in = mean_in, np.sqrt(squares_in / (n_in - 1)), n_in
        of_out = mean_out, np.sqrt(squares_out / (n_out - 1)), n_out
        test = stats.ttest_ind_from_stats(*of_in, *of_out, equal_var=False)
        difference = mean_in - mean_out
        effect = difference / np.sqrt((squares_in + squares_out) / (n_in + n_out - 2))
        # No difference relative to no deviation is no difference.
        equal = (difference == 0) & (squares_in + squares_out == 0)
        testable = (n_in > 1) & (n_out > 1)
        return {
            "effect": np.where(equal, 0, np.clip(effect, -MAX_EFFECT, MAX_EFFECT)),
            "mean_in": mean_in,
            "mean_out": mean_out,
            "nonzero_in": inside.nonzeros / n_in,
            "nonzero_out": outside.nonzeros / n_out,
            "n_in": as_counts(n_in),
            "n_out": as_counts(n_out),
            "statistic": np.where(equal & testable, 0, test.statistic),
            "p_value": np.where(equal & testable, 1, test.pvalue),
        }


def adjusted_p_values(p_values: Array) -> Array:
    """Benjamini-Hochberg q-values; NaN where there is no p-value."""
    adjusted = np.full(p_values.shape, np.nan)
    known = ~np.isnan(p_values)
    if known.any():
        adjusted[known] = stats.false_discovery_control(p_values[known])
    return adjusted
