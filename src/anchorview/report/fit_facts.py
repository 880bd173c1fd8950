"""What a report says of a fit, gathered and checked before anything is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.auto.consensus import DOUBTFUL_CONFIDENCE as DOUBTFUL
from anchorview.metrics import clustering_scores
from anchorview.views.container import MultiViewData

UNKNOWN = "–"
"""Class of a sample that has none."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model with the samples that it was fitted on."""

    model: Any
    labels: Array
    n_clusters: int
    data: MultiViewData | None
    """None if the views are not at hand."""
    ids: Sequence[Any] | None
    target: Array | None
    """Known classes as text, and :data:`UNKNOWN`."""
    scores: Mapping[str, float]

    @property
    def estimator(self) -> str:
        """Name of the method."""
        return type(self.model).__name__

    @property
    def is_auto(self) -> bool:
        """Whether settings were chosen among candidates."""
        return hasattr(self.model, "candidates_")

    @property
    def embedding(self) -> Any:
        """What places the samples among the clusters; None if the method has no such thing."""
        embedding = getattr(self.model, "embedding_", None)
        # A model from a file may have left its embedding where the fit had written it.
        return None if embedding is None or len(embedding) != len(self.labels) else embedding

    @property
    def normalizes(self) -> bool:
        """Whether rows of the embedding are brought to length 1 before they are clustered."""
        return bool(getattr(self.model, "normalize_embedding", True))

    @property
    def confidence(self) -> Array | None:
        """How sure each sample's cluster is, if the model can tell."""
        return getattr(self.model, "confidence_", None)

    @cached_property
    def sizes(self) -> Array:
        """Samples of each cluster."""
        return np.bincount(self.labels, minlength=self.n_clusters)


def gathered(model: Any, X: Any, target: Any, sample_ids: Any, scores: Any) -> Fitted:
    """Check that model, views, classes and ids are of the same samples."""
    if not hasattr(model, "labels_"):
        raise ValueError(
            f"{type(model).__name__} is not fitted yet: there is nothing to report. Call fit first."
        )
    labels = np.asarray(model.labels_)
    if not len(labels):
        raise ValueError(
            "The model has no labels: the file that it was loaded from does not hold them, as the "
            "fit wrote them elsewhere. Fit again, and report on that."
        )
    data = None
    if X is not None:
        data = MultiViewData(X).matched_to(
            model.view_names_in_, model.n_features_per_view_, type(model).__name__
        )
        _require_length("X", len(data), len(labels))
        data = _in_order(data, data.sample_ids, model.sample_ids_, "X")
    if target is not None:
        _require_length("target", len(target), len(labels))
        # An index that has nothing to do with the samples only counts them.
        if isinstance(target, pd.Series) and target.index.isin(_names(model)).any():
            target = _in_order(target.to_numpy(), target.index, model.sample_ids_, "target")
        target = np.asarray(target)
        if target.ndim != 1:
            raise ValueError(f"target must have one class a sample; its shape is {target.shape}.")
    ids = sample_ids if sample_ids is not None else model.sample_ids_
    if ids is not None:
        ids = pd.Index(ids) if not isinstance(ids, Sequence) else ids
        _require_length("sample_ids", len(ids), len(labels))
    known = np.zeros(len(labels), bool) if target is None else ~pd.isna(target)
    classes = np.where(known, np.asarray(target).astype(str), UNKNOWN) if known.any() else None
    if scores is None:
        scores = {} if classes is None else clustering_scores(classes[known], labels[known])
    n_clusters = int(getattr(model, "n_clusters_", None) or model.n_clusters)
    return Fitted(model, labels, n_clusters, data, ids, classes, scores)


def _names(model: Any) -> Any:
    return () if model.sample_ids_ is None else model.sample_ids_


def _in_order(values: Any, ids: Any, expected: Any, name: str) -> Any:
    """Values of samples in the order of the fit, if both say what the samples are called."""
    if ids is None or expected is None or ids.equals(expected):
        return values
    strange = ids[~ids.isin(expected) | ids.duplicated()]
    if len(strange):
        raise ValueError(
            f"{name} names other samples than those that the model was fitted on, such as "
            f"{strange[0]!r}. Give {name} of the samples of the fit, each once."
        )
    return values[ids.get_indexer(expected)]


def _require_length(name: str, length: int, n_samples: int) -> None:
    if length != n_samples:
        raise ValueError(
            f"{name} has {length} samples, but the model was fitted on {n_samples}. Give {name} of "
            "the samples of the fit, in the same order."
        )
