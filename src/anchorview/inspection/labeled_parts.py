"""Parts of a source with the clusters of their samples, in memory, on disk and in Dask."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.text import listed, quoted
from anchorview._utils.typing import Array, FeatureNames
from anchorview.estimators.base import MultiViewClusterer
from anchorview.sources.open_source import open_source
from anchorview.sources.row_source import Merge, RowSource, ids_in_memory
from anchorview.views.alignment import matched_by_id, require_unique_ids
from anchorview.views.container import MultiViewData
from anchorview.views.parts import Result
from anchorview.views.view_selection import select_like_fit

PartLabels = Callable[[MultiViewData], Array]
"""Positions in :attr:`LabeledSource.clusters` for the samples of a part; can be pickled."""

RESULTS_BY_SAMPLE = (
    "labels_",
    "embedding_",
    "confidence_",
    "second_labels_",
    "sample_ids_",
    "_batch_sums",
)
"""Attributes of models that `predict` does not need, and that workers do not get."""


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

    def reduce(
        self,
        function: Callable[[MultiViewData, Array], Result],
        merge: Merge[Result],
        stage: str,
    ) -> Result:
        """``function`` of all parts and the clusters of their samples, merged in order.

        The clusters are positions in `clusters`; ``part.first_row`` is the position of a part.
        """
        return self.source.reduce_as_is(
            partial(_with_labels, self.labels_of, function), merge, stage
        )

    @cached_property
    def sample_ids(self) -> "pd.Index[Any] | None":
        """Ids of all samples, in memory."""
        return ids_in_memory(self.source)


def labeled_source(model_or_labels: Any, X: Any) -> LabeledSource:
    """Source of samples with their clusters.

    Models that can predict do so part by part, for any samples. Labels of other models, and those
    of a vector, are matched by id if both they and the samples have ids, else by position.
    """
    if predicts(model_or_labels):
        return _predicted(model_or_labels, X)
    model = model_or_labels if hasattr(model_or_labels, "fit") else None
    source = open_source(_selected(model, X), nan_cells=True)
    labels, label_ids = label_values(model_or_labels)
    by_sample = aligned_labels(labels, label_ids, ids_in_memory(source), len(source))
    codes, clusters = pd.factorize(by_sample, sort=True)
    names, features = _names(source, model)
    return LabeledSource(
        source, pd.Index(clusters), StoredLabels(codes.astype(np.int32)), names, features
    )


def predicts(model: Any) -> bool:
    """Whether an object is a model of this package that labels any samples."""
    return isinstance(model, MultiViewClusterer) and hasattr(model, "predict")


@dataclass(frozen=True, eq=False)
class PredictedLabels:
    """Clusters that a model predicts."""

    model: Any

    def __call__(self, part: MultiViewData) -> Array:
        """Clusters of the samples of a part."""
        return np.asarray(self.model.predict(part))


@dataclass(frozen=True, eq=False)
class StoredLabels:
    """Known clusters of all samples, in the order of the source."""

    labels: Array

    def __call__(self, part: MultiViewData) -> Array:
        """Clusters of the samples of a part."""
        return self.labels[part.first_row : part.first_row + len(part)]


def _with_labels(
    labels_of: PartLabels,
    function: Callable[[MultiViewData, Array], Result],
    part: MultiViewData,
) -> Result:
    return function(part, labels_of(part))


def _predicted(model: Any, X: Any) -> LabeledSource:
    check_is_fitted(model)
    limit = getattr(model, "memory_limit", None)
    # Without imputation, a model cannot label samples with single NaN: reading them raises.
    source = open_source(_selected(model, X), limit, nan_cells=model.imputation_ is not None)
    source.require_like(model.fitted_views)
    names = getattr(model, "cluster_names_", None)
    count = getattr(model, "n_clusters_", model.n_clusters)
    clusters = pd.RangeIndex(count) if names is None else pd.Index(names)
    predictor = copy(model)
    for name in RESULTS_BY_SAMPLE:
        if hasattr(predictor, name):
            setattr(predictor, name, None)
    return LabeledSource(source, clusters, PredictedLabels(predictor), *_names(source, model))


def _selected(model: Any, X: Any) -> Any:
    """Views that a model selects of AnnData and MuData objects; else all."""
    return select_like_fit(X, getattr(model, "view_selection_", None))


def _names(
    source: RowSource, model: Any
) -> tuple[tuple[str, ...], tuple[FeatureNames | None, ...]]:
    """Names of the views and features of a source; what has no name there has that of a model."""
    names, features = source.names, source.feature_names
    if not isinstance(model, MultiViewClusterer):
        return names, features
    fitted = model.fitted_views
    if not source.named and len(names) == len(fitted.names):
        names = fitted.names
    found = list(features)
    for p, (name, width) in enumerate(zip(names, source.n_features_per_view, strict=True)):
        if found[p] is None and name in fitted.names:
            own = fitted.names.index(name)
            found[p] = fitted.feature_names[own] if width == fitted.widths[own] else None
    return names, tuple(found)


def label_values(model_or_labels: Any) -> "tuple[Array, pd.Index[Any] | None]":
    """Labels of a fitted model or of a vector, and the ids of their samples, if they have any."""
    ids = None
    if hasattr(model_or_labels, "fit"):
        check_is_fitted(model_or_labels, "labels_")
        ids = getattr(model_or_labels, "sample_ids_", None)
        ids = ids if ids is None else pd.Index(np.asarray(ids))
        labels = np.asarray(model_or_labels.labels_)
        names = getattr(model_or_labels, "cluster_names_", None)
        labels = labels if names is None else np.array(names, dtype=object)[labels]
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


def aligned_labels(
    labels: Array,
    label_ids: "pd.Index[Any] | None",
    ids: "pd.Index[Any] | None",
    n_samples: int,
) -> Array:
    """Labels in the order of the samples of X: by id if both have ids, else by position."""
    if label_ids is None or ids is None or not matched_by_id(label_ids, ids):
        if len(labels) != n_samples:
            raise ValueError(
                f"There are {len(labels)} labels, but {n_samples} samples in X. Without sample "
                "ids in both, they are matched by position: give one label per sample of X."
            )
        return labels
    if label_ids.equals(ids):
        return labels
    require_unique_ids(label_ids, "The vector of labels")
    require_unique_ids(ids, "X")
    positions = label_ids.get_indexer(ids)
    if (positions < 0).any():
        unknown = ids[positions < 0].tolist()
        raise ValueError(
            f"{len(unknown)} of {n_samples} samples of X have no label: {listed(unknown)}. The "
            f"labels have ids such as {quoted(label_ids[0])}. Give labels of all samples of X, or "
            "leave the others out of X."
        )
    return labels[positions]
