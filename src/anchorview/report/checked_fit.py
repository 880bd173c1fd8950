"""A fitted model together with its samples, checked for consistency."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.metrics import clustering_scores
from anchorview.plotting.map_layout import reduced_views
from anchorview.views.alignment import matched_by_id, require_known_ids
from anchorview.views.container import MultiViewData

UNKNOWN_CLASS = "–"
"""Class of samples without a known one."""


@dataclass(frozen=True, eq=False)
class CheckedFit:
    """A fitted model with the samples it was fitted on, in the same order."""

    model: Any
    labels: Array
    n_clusters: int
    data: MultiViewData | None
    """The views, if they are given."""
    sample_ids: Sequence[object] | None
    classes: Array | None
    """Known classes as strings, or :data:`UNKNOWN_CLASS`; None if no class is known."""
    scores: Mapping[str, float]
    texts: Sequence[object] | None = None
    thumbnails: Sequence[Any] | None = None
    """Paths of images."""

    @property
    def estimator_name(self) -> str:
        """Name of the estimator's class."""
        return type(self.model).__name__

    @property
    def is_auto(self) -> bool:
        """Whether the model selected its settings among candidates."""
        return hasattr(self.model, "candidates_")

    @property
    def embedding(self) -> Any:
        """Embedding of all samples; None if the model has none."""
        embedding = getattr(self.model, "embedding_", None)
        # A model loaded from a file may lack an embedding that the fit wrote to another file.
        return None if embedding is None or len(embedding) != len(self.labels) else embedding

    @cached_property
    def coordinates(self) -> Any:
        """What the map is laid out by: the embedding, or else the views; None without both."""
        if self.embedding is not None or self.data is None:
            return self.embedding
        return reduced_views(self.data)

    @property
    def coordinates_name(self) -> str:
        """What `coordinates` are, in words."""
        if self.embedding is None:
            return f"the standardized views ({self.estimator_name} computes no embedding)"
        if self.is_auto:
            return "the embedding of the best candidate (the clusters are a consensus of all)"
        return "the embedding that was clustered"

    @property
    def cluster_names(self) -> Sequence[str]:
        """Names of the clusters, by default their numbers."""
        names = getattr(self.model, "cluster_names_", None)
        return [str(c) for c in range(self.n_clusters)] if names is None else list(names)

    @property
    def n_fitted_clusters(self) -> int:
        """Number of clusters that the fit found, before some were merged."""
        return int(getattr(self.model, "n_clusters_fit_", self.n_clusters))

    @property
    def normalizes_embedding(self) -> bool:
        """Whether the model clusters the rows of the embedding scaled to unit length."""
        return self.embedding is not None and bool(getattr(self.model, "normalize_embedding", True))

    @property
    def confidence(self) -> Array | None:
        """Confidence in the label of each sample; None if the model has none."""
        return getattr(self.model, "confidence_", None)

    @cached_property
    def sizes(self) -> Array:
        """Number of samples of each cluster."""
        return np.bincount(self.labels, minlength=self.n_clusters)


def check_fit(
    model: Any,
    X: Any,
    target: Any,
    sample_ids: Any,
    scores: Any,
    texts: Any = None,
    thumbnails: Any = None,
) -> CheckedFit:
    """Check that the model, views and all that is given by sample are of the same samples."""
    if not hasattr(model, "labels_"):
        raise ValueError(
            f"This {type(model).__name__} is not fitted yet. Call fit before writing a report."
        )
    labels = np.asarray(model.labels_)
    if not len(labels):
        raise ValueError(
            "The model has no labels: the fit wrote them to a separate file, and the model file "
            "does not contain them. Fit again and report on that model."
        )
    data = None
    if X is not None:
        data = model._validate(X, reset=False)
        _check_length("X", data, labels)
        data = _reorder(data, data.sample_ids, model.sample_ids_, "X")
    if target is not None:
        target = np.asarray(_in_order_of_fit(target, "target", model))
        if target.ndim != 1:
            raise ValueError(f"target must have one class per sample; its shape is {target.shape}.")
    if texts is not None:
        texts = list(_in_order_of_fit(texts, "texts", model))
    if thumbnails is not None:
        thumbnails = list(_in_order_of_fit(thumbnails, "thumbnails", model))
    if sample_ids is None:
        sample_ids = model.sample_ids_
    if sample_ids is not None:
        sample_ids = sample_ids if isinstance(sample_ids, Sequence) else pd.Index(sample_ids)
        _check_length("sample_ids", sample_ids, labels)
    known = np.zeros(len(labels), bool) if target is None else ~pd.isna(target)
    classes = None
    if known.any():
        classes = np.where(known, np.asarray(target).astype(str), UNKNOWN_CLASS)
    if scores is None:
        scores = {} if classes is None else clustering_scores(classes[known], labels[known])
    n_clusters = int(getattr(model, "n_clusters_", None) or model.n_clusters)
    return CheckedFit(
        model, labels, n_clusters, data, sample_ids, classes, scores, texts, thumbnails
    )


def _in_order_of_fit(values: Any, name: str, model: Any) -> Any:
    """Check the length of values by sample; a Series with sample ids is brought into order."""
    _check_length(name, values, model.labels_)
    ids = model.sample_ids_
    if isinstance(values, pd.Series) and ids is not None and matched_by_id(values.index, ids):
        require_known_ids(values.index, ids, name)
        return _reorder(values.to_numpy(), values.index, ids, name)
    return values


def _reorder(values: Any, sample_ids: Any, fitted_ids: Any, name: str) -> Any:
    """Bring values to the order of the fit, if the samples have ids in both."""
    if sample_ids is None or fitted_ids is None or sample_ids.equals(fitted_ids):
        return values
    unexpected = sample_ids[~sample_ids.isin(fitted_ids) | sample_ids.duplicated()]
    if len(unexpected):
        raise ValueError(
            f"{name} has samples that the model was not fitted on, or duplicates, such as "
            f"{unexpected[0]!r}. Pass {name} of the fitted samples, each once."
        )
    return values[sample_ids.get_indexer(fitted_ids)]


def _check_length(name: str, values: Any, labels: Array) -> None:
    if len(values) != len(labels):
        raise ValueError(
            f"{name} has {len(values)} samples, but the model was fitted on {len(labels)}. Pass "
            f"{name} of the fitted samples, in the same order."
        )
