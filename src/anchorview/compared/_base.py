"""Base class of the baselines."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from anchorview._utils import param_constraints as constraints
from anchorview._utils.memory import require_memory
from anchorview._utils.restored import restored_on_error
from anchorview._utils.sklearn_compat import Interval, StrOptions, fit_context
from anchorview._utils.text import quoted
from anchorview._utils.typing import Array
from anchorview.compared._partition import kmeans_labels
from anchorview.estimators.base import MultiViewClusterer
from anchorview.views.container import MultiViewData


@dataclass(frozen=True)
class BaselineResult:
    """Result of a baseline."""

    labels: Array
    objective: Sequence[float]
    """Objective after each iteration."""
    view_weights: Array | None = None
    """Weight of each view; the weights sum to 1. None if the method does not weight views."""
    embedding: Array | None = None
    """One row per sample, if the method computes an embedding."""


class Baseline(MultiViewClusterer):
    """Base class: a subclass clusters complete data in `_cluster`."""

    normalize_embedding: ClassVar[bool | None] = None
    """Whether K-means, which gives the labels, sees rows of `embedding_` scaled to length 1.
    None if the labels do not come from K-means on `embedding_`."""

    # Of all parameters that several baselines have; others are added by the baseline.
    _parameter_constraints: ClassVar[constraints.ParameterConstraints] = {
        "n_clusters": constraints.N_CLUSTERS,
        "n_anchors": [constraints.POSITIVE_INT, None],
        "n_neighbors": [constraints.POSITIVE_INT],
        "lambda_": [constraints.NON_NEGATIVE],
        "r": [Interval(Real, 1, None, closed="neither")],
        "scaling": [StrOptions({"features", "none"})],
        "init": [StrOptions({"gcca", "identity"})],
        "weighted_z": ["boolean"],
        "max_iter": constraints.MAX_ITER,
        "tol": constraints.TOL,
        "n_init": constraints.N_INIT,
        "random_state": constraints.RANDOM_STATE,
        "verbose": constraints.VERBOSE,
    }

    def __init__(
        self,
        n_clusters: int,
        max_iter: int,
        random_state: int | np.random.RandomState | None,
        verbose: int,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @restored_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : list, tuple or dict of views, a single view, MuData or MultiViewData
            Each view is an array, DataFrame or sparse matrix of shape (n_samples, n_features_v),
            with samples in the same order; DataFrames are aligned by index. Every sample must be
            present in every view.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        data = self._validate(X, reset=True, fitting=True)
        require_memory(
            self._memory_needed(data),
            f"{type(self).__name__} on {data!r}",
            "Use fewer samples, or cluster all of them with DALMC.",
        )
        start = self._say(f"clustering {data!r}")
        result = self._cluster(data)
        self.labels_ = result.labels.astype(np.int32)
        n_views, weights = len(data.views), result.view_weights
        equal = np.full(n_views, 1 / n_views)
        self.view_weights_ = self._by_view(equal if weights is None else weights, "weight")
        self.objective_ = np.array(result.objective)
        self.n_iter_ = len(result.objective)
        if result.embedding is not None:
            self.embedding_ = result.embedding
        self._say(f"done in {self.n_iter_} iterations", start)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        # By its trailing underscore, scikit-learn would take the parameter lambda_ for learned.
        return hasattr(self, "labels_")

    @abstractmethod
    def _cluster(self, data: MultiViewData) -> BaselineResult:
        """Cluster complete data in memory."""

    @abstractmethod
    def _memory_needed(self, data: MultiViewData) -> float:
        """Upper bound of the bytes that `fit` allocates beyond the data."""

    def _kmeans_labels(self, embedding: Array, *, normalize: bool | None = None) -> Array:
        """Labels from K-means; `normalize` is the class attribute by default."""
        normalize = bool(self.normalize_embedding if normalize is None else normalize)
        settings = {"normalize": normalize, "n_init": self.n_init, "seed": self._seeds()[1]}
        return kmeans_labels(embedding, self.n_clusters, **settings)

    def _require_possible(self, data: MultiViewData) -> None:
        if data.available is not None:
            row, p = np.argwhere(~data.available)[0]
            sample = row if data.sample_ids is None else quoted(data.sample_ids[row])
            raise ValueError(
                f"{type(self).__name__} needs every view of every sample, but sample {sample} "
                f"lacks {data.describe_view(p)}. Use DALMC, which supports missing views, or "
                "remove incomplete samples."
            )
        if len(data) < self.n_clusters:
            raise ValueError(f"n_samples={len(data)} should be >= n_clusters={self.n_clusters}.")
