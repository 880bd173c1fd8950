"""The face that all compared methods share."""

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from anchorview._utils.memory import require_memory
from anchorview._utils.sklearn_compat import Interval, fit_context
from anchorview._utils.typing import Array
from anchorview.core.assign import assigned
from anchorview.estimators.base import MultiViewClusterer
from anchorview.views.container import MultiViewData


@dataclass(frozen=True)
class Clustering:
    """What a method found."""

    labels: Array
    view_weights: Array
    """Share of each view; the sum is 1."""
    objective: Array
    """Its value in every iteration."""
    embedding: Array | None = None
    """What places a sample among the clusters, where a method has it."""


class ComparedMethod(MultiViewClusterer):
    """Base of the compared methods: a subclass clusters complete data in `_cluster`."""

    normalize_embedding: ClassVar[bool | None] = None
    """Whether rows of `embedding_` are scaled to length 1 for the K-means that gives the labels;
    None if the labels are not those of K-means on it."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : list, tuple or dict of views, a single view, MuData or MultiViewData
            Each view is an (n, d_v) array, DataFrame or scipy.sparse matrix, rows in the same
            order; DataFrames are aligned by index. Every sample must have every view.
        y : ignored
            Present for scikit-learn's conventions.

        Returns
        -------
        self : estimator
        """
        data = self._validate(X, reset=True, fitting=True)
        require_memory(
            self._memory_needed(data),
            f"{type(self).__name__} on {data!r}",
            "Take fewer samples, or cluster all of them with DALMC.",
        )
        clock = self._say(f"clustering {data!r}")
        found = self._cluster(data)
        self.labels_ = found.labels.astype(np.int32)
        self.view_weights_ = found.view_weights
        self.objective_ = found.objective
        self.n_iter_ = len(found.objective)
        if found.embedding is not None:
            self.embedding_ = found.embedding
        self._say(f"done in {self.n_iter_} iterations", clock)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        # scikit-learn would take a parameter named lambda_ for something learned.
        return hasattr(self, "labels_")

    @abstractmethod
    def _cluster(self, data: MultiViewData) -> Clustering:
        """Cluster complete data that fits in memory."""

    @abstractmethod
    def _memory_needed(self, data: MultiViewData) -> float:
        """Bytes beyond the data that the fit takes at most."""

    def _by_kmeans(self, embedding: Array, *, normalize: bool) -> Array:
        """Labels of an embedding's rows: least inertia of the `n_init` restarts."""
        _, labels = assigned(
            embedding,
            self.n_clusters,
            method="kmeans",
            normalize=normalize,
            n_init=self.n_init,
            seed=self._seeds()[1],
        )
        return labels

    def _require_possible(self, data: MultiViewData) -> None:
        name = type(self).__name__
        if data.available is not None:
            row, p = np.argwhere(~data.available)[0]
            sample = row if data.sample_ids is None else repr(data.sample_ids[row])
            raise ValueError(
                f"{name} needs every view of every sample, but sample {sample} lacks "
                f"{data.describe_view(p)}. Use DALMC, which takes such samples, or leave them out."
            )
        if len(data) < self.n_clusters:
            raise ValueError(f"n_samples={len(data)} should be >= n_clusters={self.n_clusters}.")
