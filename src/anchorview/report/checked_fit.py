"""A fitted model together with its samples, checked for consistency."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.text import quoted
from anchorview._utils.typing import Array
from anchorview.inspection.labeled_parts import fitted_views
from anchorview.metrics import clustering_scores
from anchorview.plotting.drawn_samples import cluster_codes, normalizes_embedding, stored_embedding
from anchorview.plotting.map_layout import reduced_views
from anchorview.views.alignment import matched_by_id, require_known_ids
from anchorview.views.container import MultiViewData, container_of_views
from anchorview.views.input_grammar import parse, selection_like_fit

UNKNOWN_CLASS = "–"
"""Class of samples without a known one."""


@dataclass(frozen=True, eq=False)
class CheckedFit:
    """A fitted model with the samples it was fitted on, in the same order.

    The model may be any object with `labels_`; what depends on other attributes is left out if it
    does not have them.
    """

    model: Any
    labels: Array
    """Number of the cluster of each sample, from 0."""
    clusters: "pd.Index[Any]"
    """Names of the clusters, or their numbers; also of those without samples."""
    data: MultiViewData | None
    """The views as they were given, matched to those of the fit; None if they are not given."""
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
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.clusters)

    @property
    def cluster_names(self) -> Sequence[str]:
        """Names of the clusters, by default their numbers."""
        return [str(cluster) for cluster in self.clusters]

    @property
    def view_names(self) -> Sequence[str]:
        """Names of the views; none if neither the model nor the user gives any."""
        given = () if self.data is None else self.data.names
        return list(getattr(self.model, "view_names_in_", given))

    @property
    def n_features_per_view(self) -> Sequence[int]:
        """Number of features of each view."""
        given = () if self.data is None else self.data.n_features_per_view
        return list(getattr(self.model, "n_features_per_view_", given))

    @cached_property
    def coordinates(self) -> Any:
        """What the map is laid out by: the embedding, or else the views; None without both."""
        embedding = stored_embedding(self.model)
        return embedding if embedding is not None or self.data is None else reduced_views(self.data)

    @property
    def coordinates_name(self) -> str:
        """What `coordinates` are, in words."""
        if stored_embedding(self.model) is None:
            return f"the standardized views ({self.estimator_name} computes no embedding)"
        if self.is_auto:
            return "the embedding of the best candidate (the clusters are a consensus of all)"
        return "the embedding that was clustered"

    @property
    def normalizes_coordinates(self) -> bool:
        """Whether the rows of `coordinates` are to be scaled to unit length."""
        return stored_embedding(self.model) is not None and normalizes_embedding(self.model)

    @cached_property
    def sizes(self) -> Array:
        """Number of samples of each cluster."""
        return np.bincount(self.labels, minlength=self.n_clusters)


def check_fit(
    model: Any,
    X: Any = None,
    *,
    target: Any = None,
    sample_ids: Any = None,
    scores: Mapping[str, float] | None = None,
    texts: Any = None,
    thumbnails: Any = None,
) -> CheckedFit:
    """Check that the model, views and all that is given by sample are of the same samples."""
    if not hasattr(model, "labels_"):
        raise ValueError(
            f"This {type(model).__name__} is not fitted yet. Call fit before writing a report."
        )
    labels, clusters = cluster_codes(model, model.labels_)
    if not len(labels):
        raise ValueError(
            "The model has no labels: the fit wrote them to a separate file, and the model file "
            "does not contain them. Fit again and report on that model."
        )
    ids = getattr(model, "sample_ids_", None)
    data = None if X is None else _views_of_fit(model, X)
    if data is not None:
        _check_length("X", data, labels)
        data = _reorder(data, data.sample_ids, ids, "X")
    target, texts, thumbnails = (
        None if values is None else _in_order_of_fit(values, name, labels, ids)
        for name, values in (("target", target), ("texts", texts), ("thumbnails", thumbnails))
    )
    sample_ids = ids if sample_ids is None else sample_ids
    if sample_ids is not None:
        sample_ids = sample_ids if isinstance(sample_ids, Sequence) else pd.Index(sample_ids)
        _check_length("sample_ids", sample_ids, labels)
    classes, known = None, np.zeros(len(labels), bool)
    if target is not None:
        target = np.asarray(target)
        if target.ndim != 1:
            raise ValueError(f"target must have one class per sample; its shape is {target.shape}.")
        known = ~pd.isna(target)
        classes = np.where(known, target.astype(str), UNKNOWN_CLASS) if known.any() else None
    if scores is None:
        scores = {} if classes is None else clustering_scores(classes[known], labels[known])
    return CheckedFit(model, labels, clusters, data, sample_ids, classes, scores, texts, thumbnails)


def _views_of_fit(model: Any, X: Any) -> MultiViewData:
    """Views in memory, matched to those of a model that knows them."""
    if isinstance(X, MultiViewData):
        data = X
    else:
        selection = selection_like_fit(X, getattr(model, "view_selection_", None))
        # Models of this package take single missing values only if they impute them.
        nan_cells = getattr(model, "imputation_", True) is not None
        data = container_of_views(parse(X, selection), nan_cells=nan_cells)
    fitted = fitted_views(model)
    return data if fitted is None else data.matched_to(fitted)


def _in_order_of_fit(values: Any, name: str, labels: Array, ids: Any) -> Any:
    """Check the length of values by sample; a Series is matched by id, and may have other ids."""
    if isinstance(values, pd.Series) and ids is not None and matched_by_id(values.index, ids):
        require_known_ids(values.index, ids, name)
        lacking = ids[~ids.isin(values.index)]
        if len(lacking):
            raise ValueError(
                f"{name} has no value for {len(lacking)} of {len(ids)} samples, such as "
                f"{quoted(lacking[0])}. Give one, or None, for every sample of the fit."
            )
        values = values[values.index.isin(ids)]
        return _reorder(values.to_numpy(), values.index, ids, name)
    _check_length(name, values, labels)
    return values.to_numpy() if isinstance(values, pd.Series) else values


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
