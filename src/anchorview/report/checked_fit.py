"""A fitted model together with its samples, checked for consistency."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.metrics import clustering_scores
from anchorview.plotting.drawn_samples import DrawnSamples, normalizes_embedding, stored_embedding

UNKNOWN_CLASS = "–"
"""Class of samples without a known one."""


class CheckedFit(DrawnSamples):
    """A fitted model with the samples it was fitted on, and what is known of these.

    The model may be any object with `labels_`; what depends on other attributes is left out if it
    does not have them. Raises if something is of other samples.
    """

    classes: Array | None = None
    """Known classes as strings, or :data:`UNKNOWN_CLASS`; None if no class is known."""

    def __init__(
        self,
        model: Any,
        X: Any = None,
        *,
        target: Any = None,
        sample_ids: Any = None,
        scores: Mapping[str, float] | None = None,
        texts: Any = None,
        thumbnails: Any = None,
    ) -> None:
        super().__init__(model, X, of_fit=True)
        self.texts = self._values(texts, "texts")
        self.thumbnails = self._values(thumbnails, "thumbnails")
        self.scores = scores or {}
        classes = self._values(target, "target")
        if sample_ids is not None:
            self.sample_ids = pd.Index(self.aligned(np.asarray(sample_ids), "sample_ids"))
        known = np.array([]) if classes is None else pd.notna(classes)
        if classes is not None and known.any():
            self.classes = np.where(known, classes.astype(str), UNKNOWN_CLASS)
            if scores is None:
                self.scores = clustering_scores(self.classes[known], self.labels[known])

    def _values(self, values: Any, name: str) -> Array | None:
        """Values in the order of the fit, or None; a Series is matched by id."""
        if values is None:
            return None
        objects = values.astype(object) if isinstance(values, pd.Series) else values
        aligned = self.aligned(objects, name).astype(object)
        return aligned.where(aligned.notna(), None).to_numpy()

    @property
    def is_auto(self) -> bool:
        """Whether the model selected its settings among candidates."""
        return hasattr(self.model, "candidates_")

    @property
    def other_levels(self) -> Sequence[int]:
        """Numbers of clusters that are supported beside the chosen one."""
        levels = getattr(self.model, "levels_", None)
        return [] if levels is None else levels.index[~levels["chosen"]].tolist()

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

    @property
    def has_coordinates(self) -> bool:
        """Whether there is an embedding, or views, by which a map can be laid out."""
        return self.X is not None or stored_embedding(self.model) is not None

    @property
    def coordinates_name(self) -> str:
        """What the map is laid out by, in words."""
        if stored_embedding(self.model) is None:
            return f"the standardized views ({self.model_name} computes no embedding)"
        if self.is_auto:
            return "the embedding of the best candidate (the clusters are a consensus of all)"
        return "the embedding that was clustered"

    @property
    def normalizes_coordinates(self) -> bool:
        """Whether the rows of `embedding` are to be scaled to unit length."""
        return stored_embedding(self.model) is not None and normalizes_embedding(self.model)

    @cached_property
    def sizes(self) -> Array:
        """Number of samples of each cluster."""
        return np.bincount(self.labels, minlength=self.n_clusters)
