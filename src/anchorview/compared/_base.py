"""Base class of the baselines, their iterations, and partitions kept as labels."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from scipy import sparse

from anchorview._utils import sklearn_compat as constraints
from anchorview._utils.errors import restored_on_error
from anchorview._utils.memory import require_memory
from anchorview._utils.progress import report_progress
from anchorview._utils.sklearn_compat import Interval, StrOptions, fit_context
from anchorview._utils.text import quoted
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._docstrings import fill_docstring
from anchorview.core.assign import assigned
from anchorview.core.solve import ViewImportance, importance_of_views
from anchorview.estimators.base import MultiViewClusterer
from anchorview.views.container import MultiViewData

KMEANS_RUNS = 10
"""K-means runs of anchors and initial graphs, and where components are not the clusters."""


@dataclass(frozen=True)
class BaselineResult:
    """Result of a baseline."""

    labels: Array
    objective: Sequence[float]
    """Objective after each iteration."""
    view_weights: Array | None = None
    """Weights of the views with the sum 1; None if the method does not weight views."""
    embedding: Array | None = None


@dataclass_transform(eq_default=False, kw_only_default=True)
@dataclass(eq=False, repr=False)
class Baseline(MultiViewClusterer):
    """A subclass clusters complete data in `_cluster`; its annotated attributes are parameters."""

    n_clusters: int = 8

    _: KW_ONLY
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    _default_anchors: ClassVar[int | None] = None
    _extra_anchors: ClassVar[int] = 0
    """Default of `n_anchors`, if the method has anchors, with twice as many samples; and by how
    many they must exceed the clusters."""

    normalize_embedding: ClassVar[bool | None] = None
    """Whether K-means sees rows of `embedding_` scaled to length 1; None if it is not on these."""

    _parameter_constraints: ClassVar[constraints.ParameterConstraints] = {
        "n_clusters": constraints.N_CLUSTERS,
        "min_cluster_size": [Interval(Integral, 2, None, closed="left")],
        "n_anchors": [constraints.POSITIVE_INT, None],
        "n_components": [constraints.POSITIVE_INT, None],
        "n_dimensions": [constraints.POSITIVE_INT],
        "n_neighbors": [constraints.POSITIVE_INT],
        "code_length": [constraints.POSITIVE_INT],
        "reference_view": [Interval(Integral, 0, None, closed="left"), str, None],
        "alpha": [constraints.POSITIVE],
        "beta": [constraints.POSITIVE],
        "gamma": [Interval(Real, 0, 1, closed="left")],
        "lambda_": [constraints.NON_NEGATIVE],
        "r": [Interval(Real, 1, None, closed="neither")],
        "scaling": [StrOptions({"features", "none"})],
        "init": [StrOptions({"gcca", "identity"})],
        "weighting": [StrOptions({"similarity", "laplacian"})],
        "view_importance": [Mapping, None],
        "weighted_z": ["boolean"],
        "exact_weights": ["boolean"],
        "max_iter": constraints.MAX_ITER,
        "tol": constraints.TOL,
        "n_init": constraints.N_INIT,
        "random_state": constraints.RANDOM_STATE,
        "verbose": constraints.VERBOSE,
    }

    def __init_subclass__(cls, ranges: constraints.ParameterConstraints | None = None) -> None:
        super().__init_subclass__()
        cls._parameter_constraints = cls._parameter_constraints | (ranges or {})
        dataclass(eq=False, repr=False, kw_only=True)(cls)
        fill_docstring(cls)

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
        data = self._in_memory(X)
        require_memory(
            self._memory_needed(data),
            f"{type(self).__name__} on {data!r}",
            "Use fewer samples, or cluster all of them with DALMC.",
        )
        start = self._say(f"clustering {data!r}")
        result = self._cluster(data)
        self.labels_ = result.labels.astype(np.int32)
        equal = 1 / len(data.views)
        weights = equal if result.view_weights is None else result.view_weights
        self.views_ = self._table_of_views(weight=weights)
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

    def _anchor_count(self, data: MultiViewData) -> int:
        if self._default_anchors is None:
            return 0
        n, least = len(data), self.n_clusters + self._extra_anchors
        return self.n_anchors or min(n, max(least, min(self._default_anchors, n // 2)))

    def _memory_needed(self, data: MultiViewData) -> float:
        """Bytes that every fit allocates: a copy of the data, and rows by cluster and anchor."""
        columns = (self.n_clusters or 0) + self._anchor_count(data)
        entries = sum(view.nnz if sparse.issparse(view) else view.size for view in data.views)
        return float(data.dtype.itemsize * entries + 8 * len(data) * columns)

    def _kmeans_labels(self, embedding: Array, *, normalize: bool | None = None) -> Array:
        """Labels from K-means; `normalize` is the class attribute by default."""
        normalize = bool(self.normalize_embedding if normalize is None else normalize)
        how = {"normalize": normalize, "n_init": self.n_init, "seed": self._seeds()[1]}
        return kmeans(embedding, self.n_clusters, **how)[1]

    def _require_possible(self, data: MultiViewData) -> None:
        if data.available is not None:
            row, p = np.argwhere(~data.available)[0]
            sample = row if data.sample_ids is None else quoted(data.sample_ids[row])
            raise ValueError(
                f"{type(self).__name__} needs every view of every sample, but sample {sample} "
                f"lacks {data.describe_view(p)}. Use DALMC, which supports missing views, or "
                "remove incomplete samples."
            )
        if len(data) < (self.n_clusters or 2):
            raise ValueError(f"n_samples={len(data)} should be >= n_clusters={self.n_clusters}.")
        if self._default_anchors is None:
            return
        n, least, count = len(data), self.n_clusters + self._extra_anchors, self._anchor_count(data)
        if not min(least, n) <= count <= n:
            raise ValueError(
                f"n_anchors={count} should be at least {least} for n_clusters={self.n_clusters} "
                f"and at most n_samples={n}."
            )


class WeightedBaseline(Baseline):
    """Base class of the baselines that weight views."""

    view_importance: ViewImportance = None

    def _importance(self, data: MultiViewData) -> Array:
        """Importance of each view relative to the mean."""
        return importance_of_views(self.view_importance, data.names)

    def _require_possible(self, data: MultiViewData) -> None:
        self._importance(data)
        super()._require_possible(data)


Item = TypeVar("Item")


def iterations(
    objective: Sequence[float], max_iter: int, tol: float = 0.0, *, least: int = 3
) -> Iterator[int]:
    """Yield until the relative change of the objective, to which the caller appends, is small."""
    for done in range(1, max_iter + 1):
        yield done
        report_progress("iterating", done, max_iter)
        if done >= least and abs(objective[-2] - objective[-1]) < tol * abs(objective[-2]):
            return


def progressed(items: Sequence[Item], stage: str = "building graphs") -> Iterator[Item]:
    """Yield items, and report progress after each."""
    for done, item in enumerate(items, 1):
        yield item
        report_progress(stage, done, len(items))


def kmeans(
    X: Array, n_clusters: int, *, normalize: bool = False, n_init: int, seed: int
) -> tuple[Array, Array]:
    """Centers and labels of the best of several runs; `normalize` scales rows to length 1."""
    how = {"method": "kmeans", "normalize": normalize, "n_init": n_init, "seed": seed}
    assignment, labels = assigned(X, n_clusters, **how)
    return assignment.centroids, labels


def sum_by_cluster(labels: Array, n_clusters: int, X: Matrix) -> Array:
    """``Y'X`` (n_clusters, d) for the one-hot ``Y`` of labels, multiplied in the precision of X."""
    n = len(labels)
    Y = sparse.csr_array((np.ones(n, X.dtype), labels, np.arange(n + 1)), shape=(n, n_clusters))
    T = Y.T @ X if isinstance(X, np.ndarray) else (X.T @ Y.toarray()).T
    return np.asarray(T, dtype=np.float64)


def fill_empty_clusters(labels: Array, misfit: Array, n_clusters: int) -> Array:
    """Give empty clusters the samples with the largest misfit, but not the best of a cluster."""
    empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
    if not len(empty):
        return labels
    best_first = np.argsort(-misfit, kind="stable")[::-1]
    _, best_of_clusters = np.unique(labels[best_first], return_index=True)
    worst_first = np.delete(best_first, best_of_clusters)[::-1]
    filled = labels.copy()
    filled[worst_first[: len(empty)]] = empty
    return filled
