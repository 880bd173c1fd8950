"""The sweeps of OPMC: factors and partition together, K-means unless the latent space is small.

Samples are rows: ``Y`` (n, k) is one-hot and kept as labels, ``C_v`` (k, c) are latent centroids
and ``W_v`` (c, d_v) has orthonormal rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from anchorview._utils.linalg import DENSE_PART, polar_factor, times
from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._cluster_sums import cluster_sums
from anchorview.compared._empty_clusters import without_empties
from anchorview.compared._view_scaling import row_standardized_views, standardized_views
from anchorview.core.scale import fit_scalings, scaled_views
from anchorview.views.container import MultiViewData

Scaling = Literal["rows", "features", "none"]

LEAST_SWEEPS = 3
"""Sweeps before the change of the objective is looked at."""


@dataclass(frozen=True)
class CenteredView:
    """A view less its column means, so that distances do not drown in a common offset."""

    X: Matrix
    mean: Array
    squares: Array
    """Squared lengths of the rows of `X`."""

    def rows(self, rows: Array) -> "CenteredView":
        """Some samples, about the same point."""
        part = self.X[rows] if isinstance(self.X, np.ndarray) else self.X.restricted(rows)
        return CenteredView(part, self.mean, self.squares[rows])

    def dense(self, rows: slice | Array) -> Array:
        """Some samples as they were before the means were taken off."""
        return _dense(self.X, rows) + self.mean

    def sums(self, labels: Array, sizes: Array) -> Array:
        """``T = Y'X``: sum of each cluster's samples (k, d)."""
        return cluster_sums(labels, len(sizes), self.X) + np.outer(sizes, self.mean)

    def distances(self, centroids: Array) -> Array:
        """Squared distances (n, k) to the centroids, less each sample's squared length."""
        M = centroids - self.mean
        D = times(self.X, -2 * M.T)
        D += np.einsum("ij,ij->i", M, M)
        return D


def _dense(X: Matrix, rows: slice | Array) -> Array:
    return X[rows] if isinstance(X, np.ndarray) else X.dense_rows(rows)


def centered_views(data: MultiViewData, scaling: Scaling) -> list[CenteredView]:
    """Views under a scaling; a sparse one becomes dense for "rows" only."""
    zeros = [np.zeros(d) for d in data.n_features_per_view]
    if scaling == "features":
        return [_centered(X, mean) for X, mean in zip(standardized_views(data), zeros, strict=True)]
    if scaling == "none":
        shifts = tuple(replace(s, deviation=None) for s in fit_scalings(data, "zscore"))
        matrices, _ = scaled_views(data, shifts, unit_norm=False)
        centers = [np.asarray(s.center) for s in shifts]
        return [_centered(X, mean) for X, mean in zip(matrices, centers, strict=True)]
    views = []
    for X in row_standardized_views(data):
        mean = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        X -= mean
        views.append(_centered(X, mean.astype(np.float64)))
    return views


def _centered(X: Matrix, mean: Array) -> CenteredView:
    n, d = X.shape
    squares = np.empty(n)
    step = max(1, DENSE_PART // d)
    for start in range(0, n, step):
        block = _dense(X, slice(start, start + step)).astype(np.float64, copy=False)
        squares[start : start + step] = np.einsum("ij,ij->i", block, block)
    return CenteredView(X, mean, squares)


@dataclass(frozen=True)
class Run:
    """Where the sweeps from one start ended."""

    labels: Array
    C: list[Array]
    W: list[Array | None]
    """None stands for the identity: the latent space is the view itself."""
    objective: list[float]
    """Before each sweep."""
    value: float
    """The objective of what is here, after the last sweep."""

    @property
    def centroids(self) -> list[Array]:
        """``C_v W_v`` of each view (k, d_v)."""
        return [in_view(C, W) for C, W in zip(self.C, self.W, strict=True)]


def in_view(C: Array, W: Array | None) -> Array:
    """``C W``: latent points as points of the view."""
    return C if W is None else C @ W


def latent(X: Array, W: Array | None) -> Array:
    """``X W'``: points of the view in the latent space."""
    return X if W is None else X @ W.T


def fitted_factors(T: Array, sizes: Array, C: Array) -> tuple[Array, Array]:
    """``W = polar(C'T)``, then ``C = diag(1/N) T W'``: each the best given the other."""
    W = polar_factor(C.T @ T)
    return latent(T, W) / sizes[:, None], W


class OnePassSolver:
    """Sweeps over W, C and labels; all views count the same."""

    def __init__(self, views: Sequence[CenteredView], n_clusters: int, n_components: int) -> None:
        self.views = views
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.squares = np.sum([view.squares for view in views], axis=0)

    def start(self, rng: np.random.RandomState) -> tuple[Array, list[Array]]:
        """Uniformly random labels and C."""
        labels = rng.randint(self.n_clusters, size=len(self.squares))
        labels = without_empties(labels, self.squares, self.n_clusters)
        shape = self.n_clusters, self.n_components
        return labels, [rng.random_sample(shape) for _ in self.views]

    def run(
        self,
        labels: Array,
        C: Sequence[Array],
        max_iter: int,
        tol: float,
        place: tuple[int, int] = (0, 1),
    ) -> Run:
        """Sweep from labels and latent centroids; `place` is this run's among all, for reports."""
        objective: list[float] = []
        now, factors = np.inf, list(C)
        W: list[Array | None] = []
        for sweep in range(max_iter):
            factors, W = self._factors(labels, factors)
            D = self.distances(factors, W)
            # The start has labels but no W; its value is that with the best factors.
            objective.append(now if sweep else self._value(D, labels))
            labels, now = self._partition(D, factors, W)
            report_progress("iterating", place[0] * max_iter + sweep + 1, place[1] * max_iter)
            if sweep + 1 >= LEAST_SWEEPS and self._settled(objective, tol):
                break
        return Run(labels, factors, W, objective, now)

    def distances(self, C: Sequence[Array], W: Sequence[Array | None]) -> Array:
        """``sum_v ||x_vi - (C_v W_v)_j||^2`` (n, k), less each sample's squared length."""
        D = self.views[0].distances(in_view(C[0], W[0]))
        for view, latent_centroids, basis in zip(self.views[1:], C[1:], W[1:], strict=True):
            D += view.distances(in_view(latent_centroids, basis))
        return D

    def nearest(self, C: Sequence[Array], W: Sequence[Array | None]) -> Array:
        """Labels by the nearest centroids, no cluster empty."""
        D = self.distances(C, W)
        labels = np.argmin(D, axis=1)
        return without_empties(labels, self._misfit(D, labels), self.n_clusters)

    def _factors(self, labels: Array, C: Sequence[Array]) -> tuple[list[Array], list[Array | None]]:
        sizes = np.bincount(labels, minlength=self.n_clusters).astype(np.float64)
        fitted, bases = [], []
        for view, old in zip(self.views, C, strict=True):
            T = view.sums(labels, sizes)
            if self.n_components >= min(T.shape):
                # The row space of W holds that of T, so C W are the means whatever C was.
                new, W = T / sizes[:, None], None
            else:
                new, W = fitted_factors(T, sizes, old)
            fitted.append(new)
            bases.append(W)
        return fitted, bases

    def _partition(
        self, D: Array, C: list[Array], W: Sequence[Array | None]
    ) -> tuple[Array, float]:
        """Nearest centroids and the objective; an empty cluster restarts at the sample it gets."""
        nearest = np.argmin(D, axis=1)
        labels = without_empties(nearest, self._misfit(D, nearest), self.n_clusters)
        value = self._value(D, labels)
        moved = np.flatnonzero(labels != nearest)
        if len(moved):
            value -= self._misfit(D, labels)[moved].sum() / len(self.views)
            for view, latent_centroids, basis in zip(self.views, C, W, strict=True):
                x = view.dense(moved)
                own = latent(x, basis)
                latent_centroids[labels[moved]] = own
                value += ((x - in_view(own, basis)) ** 2).sum() / len(self.views)
        return labels, value

    def _misfit(self, D: Array, labels: Array) -> Array:
        own = np.take_along_axis(D, labels[:, None], axis=1)[:, 0]
        return np.maximum(own + self.squares, 0)

    def _value(self, D: Array, labels: Array) -> float:
        return float(self._misfit(D, labels).sum() / len(self.views))

    def _settled(self, objective: list[float], tol: float) -> bool:
        rounding = np.finfo(float).eps * self.squares.sum() / len(self.views)
        change = abs(objective[-1] - objective[-2])
        return bool(change <= max(tol * objective[-1], rounding))
