"""OPMC and AWMVC: views as products of factors that they share.

In OPMC samples are rows: ``Y`` (n, k) is one-hot and kept as labels, ``C_v`` (k, c) are latent
centroids and ``W_v`` (c, d_v) has orthonormal rows.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lstsq

from anchorview._utils.linalg import (
    DENSE_PART,
    leading_directions,
    polar,
    polar_factor,
    rank_up_to,
    times,
)
from anchorview._utils.sklearn_compat import StrOptions
from anchorview._utils.threads import row_slices
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import (
    Baseline,
    BaselineResult,
    fill_empty_clusters,
    iterations,
    progressed,
    sum_by_cluster,
)
from anchorview.compared._views import row_standardized_views, standardized_views
from anchorview.core.compress import compress
from anchorview.core.embed import Embedder
from anchorview.core.scale import ViewScaling, fit_scalings
from anchorview.core.scaled_view import scaled_views
from anchorview.core.solve import rank_tolerance
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
    """Factors of a view; no W means the identity: the latent space is the view itself."""

    C: Array
    W: Array | None

    @property
    def centroids(self) -> Array:
        """``C W`` (k, d)."""
        return self.C if self.W is None else self.C @ self.W


class OnePassRun(NamedTuple):
    """Result of the sweeps from one initialization, with the objective after each."""

    labels: Array
    factors: list[Factors]
    objective: list[float]


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


MIN_RESIDUAL_SHARE = 1e-10
"""Share of ||X||^2 that counts as unexplained by a latent space that explains everything."""


def align_latent_spaces(
    model: "AWMVC", X: Array, spaces: Sequence[Array], n_views: int
) -> tuple[Array, Array, Array, list[float]]:
    """Alternate from initial ``Z_i'`` (n x l_i); returns ``S'`` (n x k), alpha, c and objectives.

    Rows of the concatenated views may be pseudo-samples: every step commutes with an orthonormal Q.
    """
    K = X @ X.T if X.shape[0] <= X.shape[1] else None
    total = float(np.vdot(X, X))
    ends = np.cumsum([Z.shape[1] for Z in spaces])[:-1]
    maps = [np.eye(Z.shape[1], spaces[0].shape[1]) for Z in spaces]
    alpha = np.full(len(spaces), 1 / len(spaces))
    c = np.full(len(spaces), len(spaces) ** -0.5)
    objective: list[float] = []
    for _ in iterations(objective, model.max_iter, model.tol):
        # B_i = X'Z_i' enters only through X B_i and norms.
        together = np.hstack(spaces)
        products = np.split(X @ (X.T @ together) if K is None else K @ together, ends, axis=1)
        squares = [np.vdot(Z, P) for Z, P in zip(spaces, products, strict=True)]
        S, _ = polar(sum(w * Z @ W for w, Z, W in zip(c, spaces, maps, strict=True)))
        maps = [polar_factor(Z.T @ S) for Z in spaces]
        spaces = [
            polar((a / n_views) ** 2 * P + w * S @ W.T)[0]
            for a, P, w, W in zip(alpha, products, c, maps, strict=True)
        ]
        # r_i = b^2 ||X - Z_i' B_i'||^2, with B_i from the previous iteration.
        r = np.array(
            [
                max(total - 2 * np.vdot(P, Z) + square, MIN_RESIDUAL_SHARE * total) / n_views**2
                for P, Z, square in zip(products, spaces, squares, strict=True)
            ]
        )
        f = np.array([np.vdot(Z @ W, S) for Z, W in zip(spaces, maps, strict=True)])
        alpha = r ** (-1.0 if model.exact_weights else -0.5)
        alpha /= alpha.sum()
        c = f / np.linalg.norm(f)
        objective.append(float(0.5 * alpha**2 @ r - c @ f))
    return S, alpha, c, objective


class AWMVC(Baseline, ranges={"init": [StrOptions({"svd", "identity"})]}):
    r"""Auto-weighted multi-view clustering.

    The views are factorized in several latent dimensions :math:`l_i = i k`, and an orthonormal
    consensus :math:`S` is aligned with all factors; its columns, one per sample, are clustered by
    K-means:

    .. math::

        \min \tfrac12 \sum_i \alpha_i^2 \sum_v \tfrac1{V^2} \|X_v - B_{iv} Z_i\|_F^2
             - \sum_i c_i \operatorname{tr}(Z_i^\top W_i S)
        \quad\text{s.t. } Z_i Z_i^\top = I,\ W_i^\top W_i = I,\ S S^\top = I,\
        \textstyle\sum_i \alpha_i = 1,\ \|c\|_2 = 1.

    Parameters
    ----------
    n_dimensions : int, default=3
        Number of latent dimensions k, 2k, ..., `n_dimensions` * k.
    init : {'svd', 'identity'}, default='svd'
        Initial :math:`Z_i`: leading singular vectors of the concatenated views, or the first rows
        of the identity, which the published numbers use and which depends on the order of samples.
    exact_weights : bool, default=False
        Whether :math:`\alpha_i \propto 1 / r_i` for the residuals :math:`r_i`, which minimizes the
        objective and makes it monotone, or :math:`\alpha_i \propto r_i^{-1/2}`, as in the authors'
        program.
    %(max_iter)s
    %(tol)s

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, min(k, rank of the views))
        The consensus :math:`S^\top`.
    views_ : DataFrame
        By view: its `weight`, 1 / V each: the method weights dimensions, not views.
    dimension_weights_ : ndarray of shape (n_dimensions,)
        :math:`\alpha`.
    alignment_weights_ : ndarray of shape (n_dimensions,)
        :math:`c`.

    Notes
    -----
    Features are standardized first (divisor n - 1; constant features become zero). Views have equal
    weights, so all steps are those of the concatenated views, and they run on the same exact
    compression as DALMC: one pass over the samples for the Gram matrix of all D features,
    iterations on at most min(n, D) pseudo-samples, and one pass back. Memory is about ten D x D
    matrices if n > D (and one more per core), and four times the standardized data otherwise.

    The weights :math:`r_i^{-1/2}` of the authors' program do not minimize the objective. It reports
    the best of 50 K-means runs by the true classes; here the run with the lowest inertia is kept.
    For the two initializations on real data see ``benchmarks/compared.md``.

    Latent dimensions are limited to the rank of the concatenated views, so views may have fewer
    features than clusters. A dimension that explains the views completely counts as leaving a share
    of 1e-10 unexplained. With fewer distinct samples than clusters, K-means warns and some clusters
    stay empty.

    References
    ----------
    X. Wan, X. Liu, J. Liu, S. Wang, Y. Wen, W. Liang, E. Zhu, Z. Liu, L. Zhou, "Auto-weighted
    Multi-view Clustering for Large-scale Data", AAAI Conference on Artificial Intelligence, 2023.

    %(example)s
    >>> model.embedding_.shape
    (200, 3)
    """

    normalize_embedding = True

    n_dimensions: int = 3
    init: str = "svd"
    exact_weights: bool = False
    max_iter: int = 101
    tol: float = 1e-5
    n_init: int = 50

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        n, n_views = len(data), len(data.views)
        # Deviations with divisor n - 1 instead of n.
        correction = np.sqrt(n / (n - 1))
        scalings = tuple(replace(s, norm=correction) for s in fit_scalings(data, "zscore"))
        largest = min(self.n_dimensions * self.n_clusters, n)
        if self.init == "identity":
            # The identity is not in the span of the views, so it is compressed with them.
            units = sparse.eye_array(n, largest, format="csr", dtype=data.dtype)
            named = dict(zip(data.names, data.views, strict=True))
            data = MultiViewData({**named, "first samples": units})
            scalings = (*scalings, ViewScaling())
        problem = compress(data, scalings, "compressed", unit_norm=False)
        X = np.hstack(problem.views[:n_views])
        rank = rank_up_to(X, largest, rank_tolerance(data.dtype))
        dimensions = [min(i * self.n_clusters, rank) for i in range(1, self.n_dimensions + 1)]
        if self.init == "identity":
            basis = problem.views[n_views]
        else:
            basis, _ = leading_directions(X.T, rank)
        S, self.dimension_weights_, self.alignment_weights_, objective = align_latent_spaces(
            self, X, [basis[:, :dimension] for dimension in dimensions], n_views
        )
        embedding, R = S, np.hstack(problem.views)
        if len(R) != len(data):
            # Rows of all samples X = Q R from those of pseudo-samples: Q S = X R^+ S.
            maps = {tuple(range(len(scalings))): lstsq(R, S)[0]}
            embedding = Embedder(None, scalings, True, maps)(data)
        labels = self._kmeans_labels(embedding)
        return BaselineResult(labels, objective, embedding=embedding)
