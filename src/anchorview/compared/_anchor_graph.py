"""One anchor graph for all views: the model and solver that SMVSC, FPMVS-CAG and OMSC share.

Samples are rows: a view is ``X_v`` (n x d_v), its projection ``W_v`` (d_v x d), the anchors are
``A`` (d x m) and the graph is ``Z`` (n x m)::

    min  sum_v a_v^2 ||X_v - Z A' W_v'||^2 + (a term in Z)
    s.t. W_v and A orthonormal (columns or rows),  Z >= 0,  Z 1 = 1,  sum a = 1,  a >= 0

Each iteration passes over each view twice: for ``X_v W_v A``, which gives ``Z``, and for
``X_v' Z``, which gives the residuals and the next ``W_v`` and ``A``.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from anchorview._utils.linalg import leading_directions, polar_factor, squared_norm, times
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import (
    KMEANS_RUNS,
    BaselineResult,
    WeightedBaseline,
    iterations,
    kmeans,
)
from anchorview.compared._bipartite import project_rows_to_simplex
from anchorview.compared._view_scaling import standardized_views
from anchorview.views.container import MultiViewData

MIN_UNEXPLAINED = 1e-6
"""Minimum share of a view's squared norm that counts as residual, above rounding."""

SINGULAR_VALUE_TOLERANCE = 1e-6
"""Singular values below this share of the largest are rounding errors."""

GCCA_RIDGE = 0.01
"""Ridge of the whitening, which favors strong directions: a share of the largest eigenvalue."""

MIN_ITERATIONS = 10
"""Iterations before the change of the objective is checked."""


class AnchorGraphModel:
    """State of the alternation and its updates; letters as in the module's docstring.

    With `weighted_z`, each update minimizes the objective or, where its quadratic term has no
    simple minimizer, an upper bound that touches it, with the largest eigenvalue in place of the
    Hessian: in ``Z`` if the bases ``B_v = W_v A`` are not orthonormal, in ``A`` if m > d or some
    d_v < d, in ``W_v`` if d_v < d. Without it, as in the authors' programs, every quadratic term
    is treated as constant, and the update of ``Z`` weights all views equally.

    A view of importance ``w_v`` counts like ``w_v`` copies: ``a_v^2`` becomes ``a_v^2 / w_v``.
    """

    def __init__(
        self,
        views: Sequence[Matrix],
        graph: Array,
        n_components: int,
        *,
        weighted_z: bool,
        importance: Array | float = 1.0,
    ) -> None:
        self.views = views
        self.weighted_z = weighted_z
        self.importance = importance * np.ones(len(views))
        self.weights = self.importance / len(views)
        # The first projections are leading blocks of the identity then.
        self.anchors = np.zeros((n_components, graph.shape[1]))
        self.projections: list[Array] = []
        self._squared_norms = np.array([squared_norm(X) for X in views])
        self.set_graph(graph)

    def set_graph(self, graph: Array) -> None:
        """Replace ``Z`` and what is computed from it."""
        self.graph = graph
        self.gram = graph.T @ graph
        self.products = [times(X.T, graph) for X in self.views]

    def fit_anchors(self) -> None:
        """Initialize ``A`` by the leading right singular vectors of all ``X_v' Z`` stacked."""
        scatter = sum(w * (T.T @ T) for w, T in zip(self.importance, self.products, strict=True))
        self.anchors = eigh(scatter)[1][:, ::-1][:, : len(self.anchors)].T

    @property
    def squares(self) -> Array:
        """``a_v^2 / w_v``, the factors of the views in the objective."""
        return np.asarray(self.weights**2 / self.importance)

    @property
    def bases(self) -> list[Array]:
        """``B_v = W_v A``, the anchors in the feature space of each view."""
        return [W @ self.anchors for W in self.projections]

    @property
    def residuals(self) -> Array:
        """``R_v = ||X_v||^2 - 2 tr(B_v' X_v' Z) + tr(B_v'B_v Z'Z)``, bounded from below."""
        parts = zip(self._squared_norms, self.bases, self.products, strict=True)
        R = [norm - 2 * np.vdot(B, T) + np.vdot(B.T @ B, self.gram) for norm, B, T in parts]
        return np.maximum(R, MIN_UNEXPLAINED * self._squared_norms)

    def update_projections(self) -> None:
        """``W_v = polar(X_v' Z A')``."""
        A = self.anchors
        targets = [product @ A.T for product in self.products]
        if self.weighted_z:
            E = A @ self.gram @ A.T
            slack = _largest_eigenvalue(E) * np.eye(len(E)) - E
            for v, W in enumerate(self.projections):
                if W.shape[0] < W.shape[1]:
                    targets[v] += W @ slack
        self.projections = [polar_factor(target) for target in targets]

    def update_anchors(self) -> None:
        """``A = polar(sum_v a_v^2 W_v' X_v' Z)``."""
        squares = self.squares
        A = self.anchors
        d, m = A.shape
        parts = zip(squares, self.projections, self.products, strict=True)
        target = sum(square * (W.T @ product) for square, W, product in parts)
        constant = m <= d <= min(len(W) for W in self.projections)
        if self.weighted_z and A.any() and not constant:
            P = sum(s * (W.T @ W) for s, W in zip(squares, self.projections, strict=True))
            target += squares.sum() * _largest_eigenvalue(self.gram) * A - P @ A @ self.gram
        self.anchors = polar_factor(target)

    def update_graph(self, ridge: float, target: Array | float = 0.0) -> None:
        """``Z = simplex((sum_v a_v^2 X_v B_v + ridge target) / (sum_v a_v^2 + ridge))``.

        Without `weighted_z`, ``a_v^2`` is 1, and the ridge counts once per view above the line.
        """
        squares = self.squares
        total, bases = squares.sum(), self.bases
        if self.weighted_z:
            factors = squares
            H = sum(s * (B.T @ B) for s, B in zip(squares, bases, strict=True))
            Q = self.graph @ (total * np.eye(len(H)) - H)
            Q += ridge * target
        else:
            factors = self.importance
            Q = np.zeros(self.graph.shape)
            Q += len(squares) * ridge * target
        for factor, X, B in zip(factors, self.views, bases, strict=True):
            Q += times(X, factor * B)
        Q /= total + ridge
        self.set_graph(project_rows_to_simplex(Q))

    def update_weights(self) -> float:
        """Set ``a_v`` proportional to ``w_v / R_v``; returns ``sum_v a_v^2 / w_v R_v``."""
        R = self.residuals
        self.set_weights(1 / R)
        return float(self.squares @ R)

    def set_weights(self, weights: Array) -> None:
        """Set ``a_v`` proportional to weights of one copy of each view."""
        shares = self.importance * weights
        self.weights = shares / shares.sum()


def _largest_eigenvalue(S: Array) -> float:
    return float(np.linalg.eigvalsh(S)[-1])


def singular_vectors(graph: Matrix, count: int | None = None) -> tuple[Array, Array]:
    """Singular vectors of a tall matrix, without those of zero values: unused anchors."""
    gram, m = graph.T @ graph, graph.shape[1]
    leading = None if count is None else (max(0, m - count), m - 1)
    squares, V = eigh(gram.toarray() if sparse.issparse(gram) else gram, subset_by_index=leading)
    kept = squares > SINGULAR_VALUE_TOLERANCE**2 * squares[-1]
    V = V[:, kept][:, ::-1]
    return graph @ (V / np.sqrt(squares[kept])[::-1]), V


def gcca_embedding(
    views: Sequence[Matrix], n_components: int, importance: Array | float = 1.0
) -> Array:
    """Generalized canonical correlation analysis: components of the views' whitened components."""
    whitened = []
    for w, X in zip(importance * np.ones(len(views)), views, strict=True):
        V, s = leading_directions(X, min(n_components, *X.shape))
        kept = s > SINGULAR_VALUE_TOLERANCE * s[0]
        scale = np.sqrt(s[kept] ** 2 + GCCA_RIDGE * s[0] ** 2)
        whitened.append(times(X, np.sqrt(w) * V[:, kept] / scale))
    stacked = np.hstack(whitened)
    V, _ = leading_directions(stacked, min(n_components, *stacked.shape))
    return stacked @ V


def kmeans_indicator(embedding: Array, n_clusters: int, seed: int) -> Array:
    """One-hot rows of a K-means clustering of the embedding's normalized rows."""
    _, labels = kmeans(embedding, n_clusters, normalize=True, n_init=KMEANS_RUNS, seed=seed)
    return np.eye(n_clusters)[labels]


class AnchorGraphBaseline(WeightedBaseline):
    """Base class of SMVSC, FPMVS-CAG, OMSC and EOMSC-CA."""

    init: str = "gcca"

    _default_anchors = 0

    def _initial_model(self, data: MultiViewData) -> tuple[AnchorGraphModel, Array]:
        """Initial state, and the indicator of the initial clusters (n, k); rows may be zero."""
        views, seed, importance = standardized_views(data), self._seeds()[0], self._importance(data)
        n, k, m = len(data), self.n_clusters, self._anchor_count(data)
        graph, indicator = np.eye(n, m), np.eye(n, k)
        if self.init == "gcca":
            embedding = gcca_embedding(views, k, importance)
            graph = kmeans_indicator(embedding, m, seed)
            indicator = graph if m == k else kmeans_indicator(embedding, k, seed)
        model = AnchorGraphModel(views, graph, k, weighted_z=self.weighted_z, importance=importance)
        if self.init == "gcca":
            model.fit_anchors()
        return model, indicator

    def _cluster_graph(self, data: MultiViewData, ridge: float, tol: float) -> BaselineResult:
        """Alternate with the term ``ridge * ||Z||^2``, then cluster left singular vectors of Z."""
        model, _ = self._initial_model(data)
        objective: list[float] = []
        for _ in iterations(objective, self.max_iter, tol, least=MIN_ITERATIONS):
            model.update_projections()
            model.update_anchors()
            model.update_graph(ridge)
            objective.append(model.update_weights() + ridge * float(np.trace(model.gram)))
        self.anchors_, self.projections_ = model.anchors, model.projections
        self.graph_ = model.graph
        embedding, _ = singular_vectors(model.graph)
        labels = self._kmeans_labels(embedding)
        return BaselineResult(labels, objective, model.weights, embedding)
