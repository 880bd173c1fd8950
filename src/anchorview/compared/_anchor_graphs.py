"""Graphs of samples and anchors: rows on simplexes, k components, and one graph for all views.

For a graph ``P`` (n x m) with row sums ``d_i`` and column sums ``e_j``, the multiplicity of the
singular value 1 of ``D^{-1/2} P E^{-1/2}`` is the number of connected components. With its leading
singular vectors ``u_i``, ``v_j``, each scaled by ``1 / sqrt 2``, the rank is penalized by
``w sum_ij P_ij |u_i / sqrt d_i - v_j / sqrt e_j|^2``.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from anchorview._utils.linalg import (
    leading_directions,
    polar_factor,
    reciprocal,
    squared_norm,
    times,
)
from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import (
    KMEANS_RUNS,
    BaselineResult,
    WeightedBaseline,
    iterations,
    kmeans,
    sum_by_cluster,
)
from anchorview.compared._views import standardized_views
from anchorview.views.container import MultiViewData

FIRST_WEIGHT, RANK_TOLERANCE = 0.1, 1e-7
"""First weight of the rank penalty, as in the authors' programs, and error of its sums."""

STEPS_PER_CHECK = 25
"""Number of steps after which rows that are done are left out."""


def project_rows_to_simplex(Q: Array) -> Array:
    """Nearest point of ``{z >= 0, sum z = 1}`` to each row of `Q`.

    It is ``max(q - c_r / r, 0)`` for the last ``r`` with ``u_r > c_r / r``, where ``u`` is the row
    in descending order and ``c_j = u_1 + ... + u_j - 1``.
    """
    n, m = Q.shape
    # A shift does not change the projection; beside large values, the 1 would lose its digits.
    points = Q - Q.max(axis=1, keepdims=True)
    values = np.sort(points, axis=1)[:, ::-1]
    excess = np.cumsum(values, axis=1)
    excess -= 1
    excess /= np.arange(1, m + 1, dtype=Q.dtype)
    last = np.count_nonzero(values > excess, axis=1) - 1
    points -= excess[np.arange(n), last][:, None]
    return np.maximum(points, 0, out=points)


def project_groups_to_simplex(values: Array, groups: Array, n_groups: int) -> Array:
    """:func:`project_rows_to_simplex` for rows of different lengths: `groups` are their numbers."""
    sizes = np.bincount(groups, minlength=n_groups)
    order = np.argsort(groups, kind="stable")
    places = np.empty(len(groups), dtype=int)
    places[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # Minus infinity becomes 0.
    padded = np.full((n_groups, sizes.max()), -np.inf)
    padded[sizes == 0] = 0
    padded[groups, places] = values
    return project_rows_to_simplex(padded)[groups, places]


def minimize_on_simplex(Q: Array, C: Array, *, max_iter: int, tol: float) -> Array:
    """Rows ``z_i`` of the simplex that minimize ``z'Q z - 2 c_i'z``, for positive definite `Q`.

    Accelerated projected gradients on all rows at once. A row is done when ``g'z - min g``, with
    the gradient g, is below `tol` times the mean of the largest ``|c_ij|``.
    """
    n, m = C.shape
    step = 1 / float(np.linalg.eigvalsh(Q)[-1])
    scale = float(np.abs(C).max(axis=1).mean()) + float(np.finfo(np.float64).tiny)
    solution = np.empty((n, m))
    left, c = np.arange(n), C
    Z = ahead = np.full((n, m), 1 / m)
    age = np.zeros(n)
    for done in range(1, max_iter + 1):
        before, Z = Z, project_rows_to_simplex(ahead - step * (ahead @ Q - c))
        change = Z - before
        # These rows lose their momentum.
        backward = np.einsum("ij,ij->i", ahead - Z, change) > 0
        age = np.where(backward, 0, age + 1)
        change *= (age / (age + 3))[:, None]
        ahead = Z + change
        if done % STEPS_PER_CHECK == 0 or done == max_iter:
            gradient = 2 * (Z @ Q - c)
            gaps = np.einsum("ij,ij->i", gradient, Z) - gradient.min(axis=1)
            solution[left] = Z
            open_rows = gaps > tol * scale
            left, c, Z, ahead, age = (part[open_rows] for part in (left, c, Z, ahead, age))
            report_progress("quadratic programs", n - len(left), n)
            if not len(left):
                return solution
    warnings.warn(
        f"{len(left)} of {n} quadratic programs did not converge in max_iter={max_iter} steps: the "
        f"objective may be {gaps.max():.1e} above the minimum. Use a larger max_iter.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return solution


class StructuredGraph(NamedTuple):
    """A bipartite graph, and the leading left singular vectors of the normalized graph."""

    graph: sparse.csr_array
    embedding: Array


def structured_graph(
    target: sparse.csr_array, n_clusters: int, *, ridge: float = 1.0, max_iter: int = 50
) -> StructuredGraph:
    """Graph near ``target / ridge``, on its support, with `n_clusters` connected components.

    Rows and columns of ``(target - w / 2 * distances) / ridge`` are projected to the simplex, and
    the graph is the mean of both. w doubles if it has too few components, and halves if too many.
    """
    entries = target.tocoo()
    rows, columns = entries.row, entries.col
    n, m = target.shape
    weight, distances = FIRST_WEIGHT, np.zeros(len(rows))
    for _ in range(max_iter):
        values = (entries.data - 0.5 * weight * distances) / ridge
        by_row = project_groups_to_simplex(values, rows, n)
        by_column = project_groups_to_simplex(values, columns, m)
        P = sparse.csr_array(((by_row + by_column) / 2, (rows, columns)), shape=(n, m))
        U, V, sigma, left, right = _singular_pairs(P, n_clusters + 1)
        k = min(n_clusters, len(sigma))
        if sigma[:k].sum() < k - RANK_TOLERANCE:
            weight *= 2
        elif sigma.sum() > n_clusters + 1 - RANK_TOLERANCE:
            weight /= 2
        else:
            break
        u, v = U[:, :k] * left[:, None], V[:, :k] * right[:, None]
        lengths = np.einsum("ij,ij->i", u, u)[rows] + np.einsum("ij,ij->i", v, v)[columns]
        products = np.einsum("ij,ij->i", u[rows], v[columns])
        distances = np.maximum(lengths - 2 * products, 0) / 2
    P.eliminate_zeros()
    return StructuredGraph(P, U[:, :k])


def _singular_pairs(P: sparse.csr_array, count: int) -> tuple[Array, Array, Array, Array, Array]:
    """Leading singular pairs U, V, sigma of the normalized graph, and the scalings of its sides."""
    rows, columns = (np.asarray(P.sum(axis=axis)).ravel() for axis in (1, 0))
    left, right = (reciprocal(np.sqrt(sums), sums) for sums in (rows, columns))
    normalized = P.multiply(left[:, None]).multiply(right[None]).tocsr()
    m = P.shape[1]
    first = max(0, m - count)
    squares, V = eigh((normalized.T @ normalized).toarray(), subset_by_index=(first, m - 1))
    sigma, V = np.sqrt(np.clip(squares[::-1], 0, 1)), V[:, ::-1]
    image = normalized @ V
    U, _ = np.linalg.qr(image)
    # Columns of U point as their images do.
    U *= np.where(np.einsum("ij,ij->j", U, image) < 0, -1.0, 1.0)
    return U, V, sigma, left, right


def component_labels(graph: sparse.csr_array) -> Array:
    """Connected component of each sample, numbered from 0 by the first sample in it."""
    adjacency = sparse.block_array([[None, graph], [graph.T, None]], format="csr")
    return np.asarray(connected_components(adjacency, directed=False)[1][: graph.shape[0]])


def cluster_labels(
    structured: StructuredGraph, views: Sequence[Matrix], n_clusters: int, seed: int
) -> tuple[Array, int]:
    """Labels from the connected components of a graph, merged if too many, and their number."""
    labels = component_labels(structured.graph)
    count = int(labels.max()) + 1
    if count < n_clusters:
        F = structured.embedding
        _, labels = kmeans(F, n_clusters, normalize=True, n_init=KMEANS_RUNS, seed=seed)
    elif count > n_clusters:
        sizes = np.bincount(labels)
        means = np.hstack([sum_by_cluster(labels, count, X) for X in views]) / sizes[:, None]
        merging = KMeans(n_clusters, n_init=KMEANS_RUNS, random_state=seed)
        labels = merging.fit(means, sample_weight=sizes).labels_[labels]
    return labels, count


MIN_UNEXPLAINED = SINGULAR_VALUE_TOLERANCE = 1e-6
"""Shares of a view's squared norm, and of the largest singular value, that may be rounding."""

GCCA_RIDGE = 0.01
"""Ridge of the whitening, which favors strong directions: a share of the largest eigenvalue."""

MIN_ITERATIONS = 10
"""Iterations before the change of the objective is checked."""


class AnchorGraphModel:
    """One graph for all views: state and updates of SMVSC, FPMVS-CAG, OMSC and EOMSC-CA.

    With ``X_v`` (n x d_v), projections ``W_v`` (d_v x d), anchors ``A`` (d x m) and ``Z`` (n x m)::

        min  sum_v a_v^2 ||X_v - Z A' W_v'||^2 + (a term in Z)
        s.t. W_v and A orthonormal (columns or rows),  Z >= 0,  Z 1 = 1,  sum a = 1,  a >= 0

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
