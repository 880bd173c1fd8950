"""OPMC: one-pass multi-view clustering.

Samples are rows: ``Y`` (n, k) is one-hot and kept as labels, ``C_v`` (k, c) are latent centroids
and ``W_v`` (c, d_v) has orthonormal rows.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from anchorview._utils.linalg import DENSE_PART, polar_factor, times
from anchorview._utils.sklearn_compat import StrOptions
from anchorview._utils.threads import row_slices
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import (
    Baseline,
    BaselineResult,
    fill_empty_clusters,
    progressed,
    sum_by_cluster,
)
from anchorview.compared._view_scaling import row_standardized_views, standardized_views
from anchorview.core.scale import fit_scalings
from anchorview.core.scaled_view import scaled_views
from anchorview.views.container import MultiViewData, dense_rows

MIN_SWEEPS = 3
"""Sweeps before the change of the objective is checked."""


class CenteredView:
    """A view minus its column means, so that a common offset costs the distances no digits."""

    def __init__(self, X: Matrix, mean: Array) -> None:
        self.X, self.mean = X, mean.astype(np.float64)
        n, d = X.shape
        self.squares = np.empty(n)
        for rows in row_slices(n, max(1, DENSE_PART // d)):
            block = dense_rows(X, rows).astype(np.float64, copy=False)
            self.squares[rows] = np.einsum("ij,ij->i", block, block)

    def dense(self, rows: slice | Array) -> Array:
        """Some samples before centering."""
        return dense_rows(self.X, rows) + self.mean

    def sums(self, labels: Array, sizes: Array) -> Array:
        """``T = Y'X``: sum of the samples of each cluster (k, d), before centering."""
        return sum_by_cluster(labels, len(sizes), self.X) + np.outer(sizes, self.mean)

    def distances(self, centroids: Array) -> Array:
        """Squared distances (n, k) to the centroids, minus the squared norm of each sample."""
        M = centroids - self.mean
        D = times(self.X, -2 * M.T)
        D += np.einsum("ij,ij->i", M, M)
        return D


def centered_views(data: MultiViewData, scaling: str) -> list[CenteredView]:
    """Views after "rows", "features" or "none" scaling; only "rows" makes sparse views dense."""
    if scaling == "features":
        return [CenteredView(X, np.zeros(X.shape[1])) for X in standardized_views(data)]
    if scaling == "none":
        shifts = tuple(replace(s, deviation=None) for s in fit_scalings(data, "zscore"))
        matrices, _ = scaled_views(data, shifts, unit_norm=False)
        means = [np.asarray(s.center) for s in shifts]
    else:
        matrices = row_standardized_views(data)
        means = [X.mean(axis=0, dtype=np.float64).astype(X.dtype) for X in matrices]
        for X, mean in zip(matrices, means, strict=True):
            X -= mean
    return [CenteredView(X, mean) for X, mean in zip(matrices, means, strict=True)]


class Factors(NamedTuple):
    """Factors of a view."""

    C: Array
    W: Array | None
    """None means the identity: the latent space is the view itself."""

    @property
    def centroids(self) -> Array:
        """``C W`` (k, d)."""
        return self.C if self.W is None else self.C @ self.W


class OnePassRun(NamedTuple):
    """Result of the sweeps from one initialization."""

    labels: Array
    factors: list[Factors]
    objective: list[float]
    """After each sweep."""


class OnePassSolver:
    """Sweeps over W, C and labels; all views have equal weights."""

    def __init__(self, views: Sequence[CenteredView], n_clusters: int, n_components: int) -> None:
        self.views = views
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.squares = np.sum([view.squares for view in views], axis=0)

    def initialize(self, rng: np.random.RandomState) -> tuple[Array, list[Array]]:
        """Uniformly random labels and C."""
        labels = rng.randint(self.n_clusters, size=len(self.squares))
        labels = fill_empty_clusters(labels, self.squares, self.n_clusters)
        shape = self.n_clusters, self.n_components
        return labels, [rng.random_sample(shape) for _ in self.views]

    def run(self, labels: Array, C: Sequence[Array], max_iter: int, tol: float) -> OnePassRun:
        """Sweep from labels and latent centroids."""
        objective: list[float] = []
        rounding = np.finfo(float).eps * self.squares.sum() / len(self.views)
        for sweep in range(max_iter):
            factors = self.factors(labels, C)
            labels, value = self.partition(self.distances(factors), factors)
            C = [factor.C for factor in factors]
            objective.append(value)
            # As in the authors' program, the change in the previous sweep is checked.
            if sweep + 1 >= MIN_SWEEPS and abs(objective[-2] - objective[-3]) <= max(
                tol * objective[-2], rounding
            ):
                break
        return OnePassRun(labels, factors, objective)

    def factors(self, labels: Array, C: Sequence[Array]) -> list[Factors]:
        """C and W that are optimal for labels."""
        sizes = np.bincount(labels, minlength=self.n_clusters).astype(np.float64)
        factors = []
        for view, previous in zip(self.views, C, strict=True):
            T = view.sums(labels, sizes)
            # The row space of a large W contains that of T, so C W are the means whatever C was.
            W = None if self.n_components >= min(T.shape) else polar_factor(previous.T @ T)
            factors.append(Factors((T if W is None else T @ W.T) / sizes[:, None], W))
        return factors

    def distances(self, factors: Sequence[Factors]) -> Array:
        """``sum_v ||x_vi - (C_v W_v)_j||^2`` (n, k), minus the squared norm of each sample."""
        D = np.zeros((len(self.squares), self.n_clusters))
        for view, factor in zip(self.views, factors, strict=True):
            D += view.distances(factor.centroids)
        return D

    def partition(self, D: Array, factors: Sequence[Factors]) -> tuple[Array, float]:
        """Labels and objective; an empty cluster restarts at the sample it is given."""
        nearest = np.argmin(D, axis=1)
        labels = fill_empty_clusters(nearest, self._misfit(D, nearest), self.n_clusters)
        misfit = self._misfit(D, labels)
        moved = np.flatnonzero(labels != nearest)
        if len(moved):
            misfit[moved] = 0
            for view, factor in zip(self.views, factors, strict=True):
                x = view.dense(moved)
                factor.C[labels[moved]] = x if factor.W is None else x @ factor.W.T
                misfit[moved] += ((x - factor.centroids[labels[moved]]) ** 2).sum(axis=1)
        return labels, float(misfit.sum() / len(self.views))

    def _misfit(self, D: Array, labels: Array) -> Array:
        distances = np.take_along_axis(D, labels[:, None], axis=1)[:, 0] + self.squares
        return np.maximum(distances, 0)


class OPMC(Baseline, ranges={"scaling": [StrOptions({"rows", "features", "none"})]}):
    r"""One-pass multi-view clustering.

    Each view :math:`X_v` (n samples, :math:`d_v` features) is factorized into centroids
    :math:`C_v` in a latent space with orthonormal basis :math:`W_v`. All views share the one-hot
    partition :math:`Y`, so no separate clustering step is needed:

    .. math::

        \min \frac1V \sum_v \|X_v - Y C_v W_v\|_F^2
        \quad\text{s.t. } W_v W_v^\top = I,\ Y \text{ one-hot}.

    The three factors are updated in turn, each exactly, from random partitions; the run with the
    lowest final objective is kept. **With as many components as clusters, as published, this is
    K-means** (Lloyd's algorithm) on the concatenated scaled views.

    Parameters
    ----------
    n_components : int, default=None
        Dimension c of the latent space. None means `n_clusters`, as published. A view with fewer
        features keeps all its dimensions.
    scaling : {'rows', 'features', 'none'}, default='rows'
        Scaling of each view.

        - 'rows': each sample to mean 0 and standard deviation 1 over its features. Suits text,
          histograms and other profiles, whose pattern matters and not its level. The published
          numbers use it (as far as the layout of the authors' files tells).
        - 'features': each feature to mean 0 and standard deviation 1. Suits measurements in
          different units.
        - 'none': no scaling. Suits features in one unit, whose spread matters.
    n_init : int, default=100
        Number of random initializations.
    %(max_iter)s
    %(tol)s
    random_state : int, RandomState instance or None, default=None
        Determines the random initializations. Pass an int for reproducible results.

    Attributes
    ----------
    %(labels_)s
        No cluster is empty.
    cluster_centers_ : list of ndarray of shape (n_clusters, n_features_v)
        Centroids :math:`C_v W_v` in each scaled view.
    views_ : DataFrame
        By view: its `weight`, 1 / V each: all views have equal weights.
    %(objective_)s
        It is that of the best run and never increases.

    Notes
    -----
    An iteration takes O(n k D) time for D features in total. Memory holds a copy of the data and
    O(n k) numbers. For many samples, fewer initializations are enough.

    Differences from the authors' program: it does not limit the iterations. An empty cluster there
    has its centroid at the origin; here it restarts at the sample farthest from its centroid,
    which never increases the objective.

    Constant samples ('rows') or features ('features') become zero; a view that becomes zero raises
    an error. With 'rows', a view with one or two features has its features standardized instead,
    because rows would keep at most a sign, and sparse views become dense.

    References
    ----------
    J. Liu, X. Liu, Y. Yang, L. Liu, S. Wang, W. Liang, J. Shi, "One-pass Multi-view Clustering for
    Large-scale Data", IEEE/CVF International Conference on Computer Vision, 2021.

    %(example)s
    >>> [centers.shape for centers in model.cluster_centers_]
    [(3, 20), (3, 30), (3, 40)]
    """

    n_components: int | None = None
    scaling: str = "rows"
    n_init: int = 100
    max_iter: int = 200
    tol: float = 1e-5

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        views = centered_views(data, self.scaling)
        solver = OnePassSolver(views, self.n_clusters, self.n_components or self.n_clusters)
        rng = np.random.RandomState(self._seeds()[0])
        runs = (
            solver.run(*solver.initialize(rng), self.max_iter, self.tol)
            for _ in progressed(range(self.n_init), "iterating")
        )
        best = min(runs, key=lambda run: run.objective[-1])
        self.cluster_centers_ = [factor.centroids for factor in best.factors]
        return BaselineResult(best.labels, best.objective)
