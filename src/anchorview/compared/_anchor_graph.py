"""One anchor graph for all views: the machine that SMVSC, FPMVS-CAG and OMSC share.

Samples are rows here, so a view is ``X_v`` (n x d_v), its projection ``W_v`` (d_v x d), the anchors
are ``A`` (d x m) and the graph is ``Z`` (n x m), rows on the simplex::

    min  sum_v a_v^2 ||X_v - Z A' W_v'||^2 + (a term in Z)
    s.t. W_v and A orthonormal (columns or rows),  Z >= 0,  Z 1 = 1,  sum a = 1,  a >= 0

An iteration passes over each view twice: for ``X_v W_v A``, which gives ``Z``, and for ``X_v' Z``,
which gives the residuals and the next ``W_v`` and ``A``.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from anchorview._utils.linalg import (
    DENSE_PART,
    DENSE_SPECTRUM,
    leading_directions,
    polar_factor,
    squared_norm,
    times,
)
from anchorview._utils.progress import report_progress
from anchorview._utils.sklearn_compat import StrOptions
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import Clustering, ComparedMethod
from anchorview.compared._simplex import simplex_rows
from anchorview.compared._view_scaling import standardized_views
from anchorview.core.assign import assigned
from anchorview.core.cost_model import block_memory
from anchorview.views.container import MultiViewData

LEAST_RESIDUAL = 1e-6
"""Share of a view's squared norm that at least counts as unexplained: weights stay finite, and
rounding in single precision does not decide them."""

NO_DIRECTION = 1e-6
"""Singular values below this share of the largest are rounding."""

START_RIDGE = 0.01
"""Ridge of the start's whitening, relative to a view's leading squared singular value."""

START_RESTARTS = 10
"""K-means restarts that find the start."""

LEAST_ITERATIONS = 10
"""Iterations before the change of the objective can end the alternation."""


class AnchorGraph:
    r"""State and steps of the alternation; letters as in the module's docstring.

    Every step of the consistent form (`weighted_z`) minimizes the objective or, where its quadratic
    term has no simple minimizer, an upper bound that touches it at the present state: in ``Z`` if
    the bases ``B_v = W_v A`` are not orthonormal, in ``A`` if m > d or some d_v < d, in ``W_v`` if
    d_v < d. Each bound replaces the term's Hessian by its largest eigenvalue. So the objective
    never rises, whatever the shapes. The authors' form takes every quadratic term for constant.

    Parameters
    ----------
    views : sequence of matrices (n, d_v)
    graph : array (n, m)
        The start of ``Z``. Its rows need not be on the simplex.
    n_components : int
        The latent dimension d. The start of ``A`` is zero, which makes the first ``W_v`` leading
        blocks of the identity; see :meth:`fit_anchors`.
    weighted_z : bool
        Whether the views count in the step of ``Z`` by their squared weights, as the objective
        says, or all alike, as in the authors' programs.
    """

    def __init__(
        self, views: Sequence[Matrix], graph: Array, n_components: int, *, weighted_z: bool
    ) -> None:
        self.views = views
        self.weighted_z = weighted_z
        self.weights = np.full(len(views), 1 / len(views))
        self.anchors = np.zeros((n_components, graph.shape[1]))
        self.projections: list[Array] = []
        self._squared_norms = np.array([squared_norm(X) for X in views])
        self._set_graph(graph)

    def _set_graph(self, graph: Array) -> None:
        self.graph = graph
        self.gram = graph.T @ graph
        self.products = [times(X.T, graph) for X in self.views]

    def fit_anchors(self) -> None:
        """Start ``A`` from the graph: leading right singular vectors of all ``X_v' Z`` stacked."""
        scatter = sum(T.T @ T for T in self.products)
        self.anchors = eigh(scatter)[1][:, ::-1][:, : len(self.anchors)].T

    @property
    def bases(self) -> list[Array]:
        """``B_v = W_v A``, the anchors in the features of each view."""
        return [W @ self.anchors for W in self.projections]

    @property
    def residuals(self) -> Array:
        """``||X_v||^2 - 2 tr(B_v' X_v' Z) + tr(B_v'B_v Z'Z)``, kept above zero."""
        parts = zip(self._squared_norms, self.bases, self.products, strict=True)
        found = [
            norm - 2 * np.vdot(B, product) + np.vdot(B.T @ B, self.gram)
            for norm, B, product in parts
        ]
        return np.maximum(found, LEAST_RESIDUAL * self._squared_norms)

    def update_projections(self) -> None:
        """``W_v = polar(X_v' Z A')``."""
        A = self.anchors
        targets = [product @ A.T for product in self.products]
        if self.weighted_z:
            E = A @ self.gram @ A.T
            slack = _largest(E) * np.eye(len(E)) - E
            for v, W in enumerate(self.projections):
                if W.shape[0] < W.shape[1]:
                    targets[v] += W @ slack
        self.projections = [polar_factor(target) for target in targets]

    def update_anchors(self) -> None:
        """``A = polar(sum_v a_v^2 W_v' X_v' Z)``."""
        squares = self.weights**2
        A = self.anchors
        d, m = A.shape
        parts = zip(squares, self.projections, self.products, strict=True)
        target = sum(square * (W.T @ product) for square, W, product in parts)
        constant = m <= d <= min(len(W) for W in self.projections)
        if self.weighted_z and A.any() and not constant:
            P = sum(s * (W.T @ W) for s, W in zip(squares, self.projections, strict=True))
            target += squares.sum() * _largest(self.gram) * A - P @ A @ self.gram
        self.anchors = polar_factor(target)

    def update_graph(self, ridge: float, pull: Array | float = 0.0) -> None:
        """Rows of ``Z`` for the term ``ridge * ||Z - pull||^2``.

        The authors' form is ``simplex((sum_v X_v B_v + V ridge pull) / (sum_v a_v^2 + ridge))``
        with V views, the consistent one ``simplex((sum_v a_v^2 X_v B_v + ridge pull) / ...)``.
        """
        squares = self.weights**2
        total, bases = squares.sum(), self.bases
        if self.weighted_z:
            factors = squares
            H = sum(s * (B.T @ B) for s, B in zip(squares, bases, strict=True))
            Q = self.graph @ (total * np.eye(len(H)) - H)
            Q += ridge * pull
        else:
            factors = np.ones(len(squares))
            Q = np.zeros(self.graph.shape)
            Q += len(squares) * ridge * pull
        for factor, X, B in zip(factors, self.views, bases, strict=True):
            Q += times(X, factor * B)
        Q /= total + ridge
        self._set_graph(simplex_rows(Q))

    def update_weights(self) -> float:
        """``a_v`` inverse to the residual ``R_v``; returns ``sum_v a_v^2 R_v``."""
        R = self.residuals
        self.weights = 1 / R / (1 / R).sum()
        return float(self.weights**2 @ R)


def _largest(S: Array) -> float:
    """Largest eigenvalue of a symmetric matrix."""
    return float(np.linalg.eigvalsh(S)[-1])


def alternate(state: AnchorGraph, ridge: float, max_iter: int, tol: float) -> Array:
    """Iterate with the term ``ridge * ||Z||^2``; returns the objective after each iteration.

    From the tenth iteration on, a relative change below `tol` is the end.
    """
    objective: list[float] = []
    for done in range(1, max_iter + 1):
        state.update_projections()
        state.update_anchors()
        state.update_graph(ridge)
        objective.append(state.update_weights() + ridge * float(np.trace(state.gram)))
        report_progress("iterating", done, max_iter)
        if done >= LEAST_ITERATIONS and abs(objective[-2] - objective[-1]) < tol * objective[-2]:
            break
    return np.array(objective)


def left_singular_vectors(graph: Array) -> Array:
    """Left singular vectors of a long matrix, largest first, but for those of rounding.

    An anchor that no sample uses has no direction; what a decomposition returns for it is
    arbitrary.
    """
    squares, V = eigh(graph.T @ graph)
    kept = squares > NO_DIRECTION**2 * squares[-1]
    return graph @ (V[:, kept] / np.sqrt(squares[kept]))[:, ::-1]


def shared_embedding(views: Sequence[Matrix], n_components: int) -> Array:
    """Scores of what the views have in common (generalized canonical correlation).

    Each view's leading principal scores are whitened, but for a ridge that prefers strong
    directions; of all of them together the leading principal scores are returned.
    """
    whitened = []
    for X in views:
        V, s = leading_directions(X, min(n_components, *X.shape))
        found = s > NO_DIRECTION * s[0]
        scale = np.sqrt(s[found] ** 2 + START_RIDGE * s[0] ** 2)
        whitened.append(times(X, V[:, found] / scale))
    together = np.hstack(whitened)
    V, _ = leading_directions(together, min(n_components, *together.shape))
    return together @ V


def start_members(embedding: Array, count: int, seed: int) -> Array:
    """One-hot rows of a K-means clustering of the embedding's normalized rows."""
    _, labels = assigned(
        embedding, count, method="kmeans", normalize=True, n_init=START_RESTARTS, seed=seed
    )
    return np.eye(count)[labels]


class AnchorGraphMethod(ComparedMethod):
    """Base of the three methods."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ComparedMethod._parameter_constraints,
        "init": [StrOptions({"gcca", "identity"})],
        "weighted_z": ["boolean"],
    }

    n_anchors: int | None = None

    @property
    def _anchor_count(self) -> int:
        return self.n_clusters if self.n_anchors is None else self.n_anchors

    def _require_possible(self, data: MultiViewData) -> None:
        super()._require_possible(data)
        if not self.n_clusters <= self._anchor_count <= len(data):
            raise ValueError(
                f"n_anchors={self._anchor_count} should be at least n_clusters={self.n_clusters} "
                f"and at most n_samples={len(data)}."
            )

    def _start(self, views: Sequence[Matrix], seed: int) -> tuple[AnchorGraph, Array]:
        """State at the start, and the clusters' members (n x k, one-hot or zero rows)."""
        n, k, m = views[0].shape[0], self.n_clusters, self._anchor_count
        if self.init == "identity":
            return AnchorGraph(views, np.eye(n, m), k, weighted_z=self.weighted_z), np.eye(n, k)
        embedding = shared_embedding(views, k)
        graph = start_members(embedding, m, seed)
        members = graph if m == k else start_members(embedding, k, seed)
        state = AnchorGraph(views, graph, k, weighted_z=self.weighted_z)
        state.fit_anchors()
        return state, members

    def _cluster_graph(self, data: MultiViewData, ridge: float, tol: float) -> Clustering:
        """Alternate, then K-means on the graph's left singular vectors."""
        state, _ = self._start(standardized_views(data), self._seeds()[0])
        objective = alternate(state, ridge, self.max_iter, tol)
        self._keep(state)
        self.graph_ = state.graph
        embedding = left_singular_vectors(state.graph)
        labels = self._by_kmeans(embedding, normalize=bool(self.normalize_embedding))
        return Clustering(labels, state.weights, objective, embedding)

    def _keep(self, state: AnchorGraph) -> None:
        self.anchors_ = state.anchors
        self.projections_ = state.projections

    def _memory_needed(self, data: MultiViewData) -> float:
        n, D = data.shape
        k, m, n_views = self.n_clusters, self._anchor_count, len(data.views)
        memory = block_memory(data)
        for view in data.views:
            shorter = min(view.shape)
            thin = sparse.issparse(view)
            memory += 16 * view.nnz if thin else data.dtype.itemsize * n * view.shape[1]
            dense = shorter <= DENSE_SPECTRUM or k >= shorter // 4
            if thin and dense:
                memory += 3 * 8 * min(DENSE_PART, n * shorter)
            memory += 8 * shorter * (3 * shorter if dense else 2 * k + 40)
        return memory + 8 * (n * (12 * m + (2 * n_views + 6) * k) + 4 * D * m)
