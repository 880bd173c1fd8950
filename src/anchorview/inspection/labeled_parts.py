"""Parts of a source with the clusters of their samples, and cluster means, which explain labels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.docstring_fragments import docstring_filler
from anchorview._utils.memory import require_memory
from anchorview._utils.moments import Moments
from anchorview._utils.text import quoted
from anchorview._utils.typing import Array, FeatureNames
from anchorview.core.centers import ClusterSpread, squared_distances
from anchorview.estimators.explanation import (
    ROUNDING,
    ClusterDistances,
    Explanation,
    explanation_of_model,
    row_blocks,
    with_memberships,
)
from anchorview.estimators.preparation import Preparation, fit_preparation, words_of_texts
from anchorview.estimators.relabeling import named
from anchorview.inspection.cluster_moments import ViewMoments, merge_views, part_moments
from anchorview.preprocessing import TableEncoder
from anchorview.sources.open_source import open_source
from anchorview.views.alignment import matched_rows
from anchorview.views.container import MultiViewData, concatenate_samples, dense_rows
from anchorview.views.fitted_views import FittedViews
from anchorview.views.row_source import PartFunction, RowSource, selected_rows
from anchorview.views.sample_design import ids_in_memory
from anchorview.views.table_columns import TableView

filled = docstring_filler(
    {
        "model_or_labels": """\
model_or_labels : fitted estimator, or array-like (n,) of labels
    As for :func:`cluster_markers`.""",
        "digits": """\
Examples
--------
>>> from anchorview import DALMC, load_digits
>>> from anchorview.inspection import {class}
>>> views, y = load_digits(return_X_y=True)
>>> model = DALMC(n_clusters=10, random_state=0).fit(views)""",
    }
)
"""Fills in what docstrings of this package share."""

PartLabels = Callable[[MultiViewData], Array]
"""Positions in :attr:`LabeledSource.clusters` for the samples of a part; can be pickled."""


@dataclass(frozen=True, eq=False)
class LabeledSource:
    """Samples in parts, each with the clusters of its samples."""

    source: RowSource
    clusters: "pd.Index[Any]"
    """The clusters, in the order of tables; of a model, also those without samples."""
    labels_of: PartLabels
    view_names: tuple[str, ...]
    """Names of the views: those of the samples, else those of the model."""
    feature_names: tuple[FeatureNames | None, ...]
    """Names of the features of each view, likewise."""
    explanation: Explanation | None = None
    """What the model says about samples; None for labels, and for models that say nothing."""
    words: Preparation | None = None
    """Puts weights of words in place of texts."""

    def moments(self, stage: str) -> list[ViewMoments]:
        """Moments of the features of each view by cluster, in one pass."""
        work = partial(_labeled_moments, len(self.clusters), self.labels_of, self.words)
        return self.source.reduce_as_is(work, merge_views, stage)

    def rows(self, function: PartFunction[Array], width: int | None, stage: str) -> Array:
        """Rows that a function computes of all parts, in memory; None as width: a vector."""
        required = 2 * 8.0 * len(self.source) * (width or 1)
        require_memory(required, f"A table of {stage}", "Give fewer samples at a time.")
        return np.asarray(self.source.map_rows(function, width, np.float64, stage, None))

    def labels(self) -> Array:
        """Positions in `clusters` for all samples."""
        return np.asarray(self.source.map_rows(self.labels_of, None, np.int32, "labels", None))

    def samples(self, rows: Array) -> MultiViewData:
        """Samples at ascending positions, in memory."""
        function = partial(selected_rows, rows)
        return concatenate_samples(*self.source.reduce_as_is(function, add, "reading samples"))

    @cached_property
    def sample_index(self) -> "pd.Index[Any]":
        """Ids of all samples, in memory, or their positions."""
        ids = ids_in_memory(self.source)
        return pd.RangeIndex(len(self.source)) if ids is None else ids


def labeled_source(model_or_labels: Any, X: Any) -> LabeledSource:
    """Source of samples with their clusters.

    Models that explain themselves label samples part by part; others that can predict, at once.
    Labels of the rest, and those of a vector, are matched by id or else position.
    """
    model = model_or_labels if is_model(model_or_labels) else None
    explanation = explanation_of_model(model)
    # Matrices that the model selects of AnnData and MuData objects.
    selection = getattr(model, "view_selection_", None)
    source = open_source(X, getattr(model, "memory_limit", None), selection_of_fit=selection)
    fitted = fitted_views(model)
    known = source.known_samples
    if explanation is not None:
        source = source if known is None else source.read().with_known_samples()
        if fitted is not None:
            fitted.require_match(source)
        names = getattr(model, "cluster_names_", None)
        count = len(explanation.spread.sizes)
        clusters = pd.RangeIndex(count) if names is None else pd.Index(names)
        view_names, features = _names(source, fitted)
        words = words_of_texts(model, source, view_names)
        if words is not None:
            features = words.feature_names
        return LabeledSource(
            source, clusters, explanation.labels, view_names, features, explanation, words
        )
    if model is not None and hasattr(model, "predict"):
        labels, label_ids = _named(model, model.predict(_as_given(X))), None
    else:
        labels, label_ids = label_values(model_or_labels)
    samples = (ids_in_memory(source), len(source), "X")
    rows = matched_rows(samples, (label_ids, len(labels), "the vector of labels"))
    codes, levels = pd.factorize(labels[rows], sort=True)
    if known is not None:
        source, codes = source.read().with_known_samples(), codes[known]
    labels_of = partial(_stored_labels, codes.astype(np.int32))
    return LabeledSource(source, pd.Index(levels), labels_of, *_names(source, fitted))


def is_model(model_or_labels: Any) -> bool:
    """Whether an object is an estimator, rather than labels."""
    return hasattr(model_or_labels, "labels_") or hasattr(model_or_labels, "fit")


def plain_views(data: MultiViewData) -> Any:
    """Views for estimators of others, which know no containers: a dict, or a list without names."""
    views = [view.frame if isinstance(view, TableView) else view for view in data.views]
    return dict(zip(data.names, views, strict=True)) if data.named else views


def _as_given(X: Any) -> Any:
    """Samples for `predict` of others: the views of a container, or its only matrix."""
    if not isinstance(X, MultiViewData):
        return X
    views = plain_views(X)
    return views if X.named or len(views) > 1 else views[0]


def fitted_views(model: Any) -> FittedViews | None:
    """The views that a model was fitted on, if it says so."""
    if not hasattr(model, "feature_names_per_view_"):
        return None
    names, widths = model.view_names_in_, model.n_features_per_view_
    return FittedViews(type(model).__name__, names, widths, model.feature_names_per_view_)


def _stored_labels(labels: Array, part: MultiViewData) -> Array:
    """Clusters of the samples of a part, of those of all samples in the order of the source."""
    return labels[part.first_row : part.first_row + len(part)]


def _labeled_moments(
    n_clusters: int, labels_of: PartLabels, words: Preparation | None, part: MultiViewData
) -> list[ViewMoments]:
    return part_moments(n_clusters, with_words(words, part), labels_of(part))


def with_words(words: Preparation | None, part: MultiViewData) -> MultiViewData:
    """Part with numbers in place of what a preparation encodes, if there is one."""
    return part if words is None else words.encode_tables(part)


def _names(
    source: RowSource, fitted: FittedViews | None
) -> tuple[tuple[str, ...], tuple[FeatureNames | None, ...]]:
    """Names of the views and features of a source; what has no name there has that of the fit."""
    names, features = source.names, source.feature_names
    if fitted is None:
        return names, features
    if not source.named and len(names) == len(fitted.names):
        names = fitted.names
    completed = list(features)
    for p, (name, width) in enumerate(zip(names, source.n_features_per_view, strict=True)):
        if completed[p] is None and name in fitted.names:
            q = fitted.names.index(name)
            completed[p] = fitted.feature_names[q] if width == fitted.widths[q] else None
    return names, tuple(completed)


def label_values(model_or_labels: Any) -> "tuple[Array, pd.Index[Any] | None]":
    """Labels of a fitted model or of a vector, and the ids of their samples, if they have any."""
    ids = None
    if is_model(model_or_labels):
        require_labels(model_or_labels)
        ids = getattr(model_or_labels, "sample_ids_", None)
        ids = ids if ids is None else pd.Index(np.asarray(ids))
        labels = _named(model_or_labels, model_or_labels.labels_)
    elif isinstance(model_or_labels, pd.Series):
        labels, ids = model_or_labels.to_numpy(), model_or_labels.index
    else:
        labels = np.asarray(model_or_labels)
    if labels.ndim != 1:
        raise ValueError(
            f"labels have shape {labels.shape}; give a fitted model, or one label per sample: an "
            "array (n_samples,) or a Series indexed by sample id."
        )
    missing = np.flatnonzero(pd.isna(labels))
    if len(missing):
        first = int(missing[0])
        raise ValueError(
            f"{len(missing)} label(s) are missing (NaN), the first that of sample "
            f"{first if ids is None else quoted(ids[first])}. Leave these samples out."
        )
    return labels, ids


def require_labels(model: Any) -> None:
    """Raise if a model is not fitted, or is fitted without labels."""
    if not hasattr(model, "labels_"):
        check_is_fitted(model)
        raise TypeError(
            f"{type(model).__name__} has no labels_. Give the labels of its samples instead."
        )


def _named(model: Any, labels: Any) -> Array:
    """Names of clusters, if the model has any, else the labels."""
    names = getattr(model, "cluster_names_", None)
    labels = np.asarray(labels)
    return labels if names is None else named(names, labels)


@dataclass(frozen=True, eq=False)
class MeansExplanation(Explanation):
    """Known labels, and the means of the clusters in every view, with standardized features.

    The squared distance of a sample to a cluster is the mean over its views of the squared distance
    in the view, divided by the number of features.
    """

    labels_of: PartLabels
    means: tuple[Array, ...]
    """Means in units of the standard deviation, (n_clusters, n_features), for each view."""
    factors: tuple[Array, ...]
    """Reciprocal standard deviation of every feature; 0 for a constant one."""

    def labels(self, part: MultiViewData) -> Array:
        """Clusters of the samples of a part."""
        return self.labels_of(part)

    def distances(self, part: MultiViewData) -> Iterator[ClusterDistances]:
        """Yield labels, confidence and distances of the samples of a part in blocks, in order."""
        labels, part = self.labels_of(part), self.prepare(part)
        for rows in self._blocks(part):
            data = part[rows]
            squares = np.zeros((len(data), len(self.spread.sizes)))
            for has, squares_in_view in self._by_view(data):
                squares[has] += squares_in_view
            squares /= _n_views(data)[:, None]
            squares[:, self.spread.sizes == 0] = np.inf
            yield with_memberships(rows, labels[rows], squares, max(self.scale, self.floor))

    def contributions(self) -> Callable[[MultiViewData], tuple[Array, Array]]:
        """Function of a part: clusters of its samples, and contributions of their views."""
        return self._contributions

    def _contributions(self, part: MultiViewData) -> tuple[Array, Array]:
        """Mean squared distance to other clusters minus that to the cluster, by number of views."""
        labels, part = self.labels_of(part), self.prepare(part)
        contributions = np.full((len(part), len(self.means)), np.nan)
        clusters = np.flatnonzero(self.spread.sizes)
        n_others = max(1, len(clusters) - 1)
        for block in self._blocks(part):
            data, block_labels, sums = part[block], labels[block], contributions[block]
            n_views = _n_views(data)
            for p, (has, squares) in enumerate(self._by_view(data)):
                to_cluster = np.take_along_axis(squares, block_labels[has, None], axis=1)[:, 0]
                to_others = (squares[:, clusters].sum(axis=1) - to_cluster) / n_others
                sums[has, p] = (to_others - to_cluster) / n_views[has]
        return labels, contributions

    def _blocks(self, part: MultiViewData) -> Iterator[slice]:
        return row_blocks(len(part), max(len(self.spread.sizes), *part.n_features_per_view))

    def _by_view(self, data: MultiViewData) -> Iterator[tuple[Any, Array]]:
        """Yield, for each view, the rows that have it, and their squared distances in it."""
        for p, (means, factors) in enumerate(zip(self.means, self.factors, strict=True)):
            has = slice(None) if data.available is None else np.flatnonzero(data.available[:, p])
            rows = dense_rows(data.views[p], has).astype(np.float64)
            rows *= factors
            known = ~np.isnan(rows)
            rows[~known] = 0
            yield has, squared_distances(rows, means, known) / known.sum(axis=1)[:, None]


def _n_views(data: MultiViewData) -> Array:
    """Number of views of each sample."""
    return np.sum([data.has_view(p) for p in range(len(data.views))], axis=0)


def explanation_of(labeled: LabeledSource) -> Explanation:
    """Explanation of the clusters by their model; else by their means in the views, in one pass."""
    if labeled.explanation is not None:
        return labeled.explanation
    n_clusters, source = len(labeled.clusters), labeled.source
    preparation = fit_preparation(source, None) if source.table_kinds else None
    encoded = replace(labeled, words=preparation)
    moments = [view.numbers.values for view in encoded.moments("means")]
    means, factors, squares = [], [], []
    sizes = np.max([view.weight.max(axis=1) for view in moments], axis=0)
    for p, view in enumerate(moments):
        everything = reduce(Moments.merged, map(view.of_groups, range(len(view.weight))))
        variance = everything.squares / np.maximum(everything.weight, 1)
        factor = np.divide(1, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0)
        if preparation is not None and isinstance(preparation.steps[p], TableEncoder):
            # Its columns are scaled such that categories weigh as much as numbers.
            factor = np.ones_like(variance)
        means.append(view.mean * factor)
        factors.append(factor)
        squares.append((view.squares * factor**2 / np.maximum(view.weight, 1)).mean(axis=1))
    spread = ClusterSpread(sizes, sizes * np.mean(squares, axis=0))
    # All samples of a single cluster belong to it, whatever the scale.
    scale = spread.membership_scale(max(2, n_clusters))
    prepare, of_clusters = partial(with_words, preparation), (tuple(means), tuple(factors))
    fitted = (prepare, labeled.view_names, spread, scale, ROUNDING)
    return MeansExplanation(*fitted, labeled.labels_of, *of_clusters)
