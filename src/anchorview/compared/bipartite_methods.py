"""LMVSC, MVSC and SFMC: each view has a graph of samples and anchors in its own features."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import unit_rows
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._anchor_graphs import (
    StructuredGraph,
    cluster_labels,
    minimize_on_simplex,
    singular_vectors,
    structured_graph,
)
from anchorview.compared._base import (
    KMEANS_RUNS,
    Baseline,
    BaselineResult,
    WeightedBaseline,
    iterations,
    kmeans,
    progressed,
)
from anchorview.compared._views import column_ranges, dense_views, weighted_neighbors
from anchorview.core.neighbors import graph_of_neighbors, nearest_places
from anchorview.core.scale import ViewScaling
from anchorview.core.scaled_view import scaled_copy
from anchorview.views.container import MultiViewData


class LMVSC(Baseline):
    r"""Large-scale multi-view subspace clustering.

    The m anchors :math:`H_v` of a view are K-means centers of its samples. Each sample :math:`x_i`
    (a row of :math:`X_v`) is a convex combination of them:

    .. math::

        \min_{Z_v} \|X_v - Z_v H_v\|_F^2 + \alpha \|Z_v\|_F^2
        \quad\text{s.t. } Z_v \ge 0,\ Z_v \mathbf 1 = \mathbf 1.

    K-means on the first k left singular vectors of :math:`[Z_1, \dots, Z_V] / \sqrt V` gives the
    labels.

    Parameters
    ----------
    n_anchors : int, default=None
        Number of anchors m of each view, at least `n_clusters`. None means 50 (`n_clusters` if that
        is more), but at most half of the samples. The paper tries k, 50 and 100.
    alpha : float, default=1.0
        Weight of the squared norm of the graphs, above 0; larger values spread samples over more
        anchors. The paper tries 0.01, 1 and 100.
    %(feature_scaling)s
    max_iter : int, default=5000
        Maximum number of steps of the quadratic programs.
    tol : float, default=1e-6
        Optimality gap of the quadratic programs at which to stop, relative to their linear term.

    Attributes
    ----------
    graphs_ : list of ndarray of shape (n_samples, n_anchors)
        :math:`Z_v`, with rows on the simplex.
    anchors_ : list of ndarray of shape (n_anchors, n_features_v)
        :math:`H_v`, of the scaled views.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Left singular vectors, orthonormal; fewer if the graphs have a lower rank.
    %(equal_views_)s
    %(single_objective_)s

    Notes
    -----
    The quadratic programs of a view share their matrix and are solved together, in O(n m^2) time
    per step; the authors call a solver per sample. Memory holds a dense copy of the data and
    :math:`Z_v`.

    References
    ----------
    Z. Kang, W. Zhou, Z. Zhao, J. Shao, M. Han, Z. Xu, "Large-Scale Multi-View Subspace Clustering
    in Linear Time", AAAI Conference on Artificial Intelligence, 2020.
    """

    normalize_embedding = False
    _default_anchors = 50

    n_anchors: int | None = None
    alpha: float = 1.0
    scaling: str = "features"
    max_iter: int = 5000
    tol: float = 1e-6
    n_init: int = 10

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        views, m = dense_views(data, self.scaling), self._anchor_count(data)
        self.graphs_, self.anchors_, objective = [], [], 0.0
        for X in progressed(views):
            H, _ = kmeans(X, m, n_init=KMEANS_RUNS, seed=self._seeds()[0])
            Q = H @ H.T + self.alpha * np.eye(m)
            Z = minimize_on_simplex(Q, X @ H.T, max_iter=self.max_iter, tol=self.tol)
            objective += float(np.sum((X - Z @ H) ** 2) + self.alpha * np.sum(Z**2))
            self.graphs_.append(Z)
            self.anchors_.append(H)
        stacked = np.hstack(self.graphs_) / np.sqrt(len(views))
        U = singular_vectors(stacked)[0][:, : self.n_clusters]
        labels = self._kmeans_labels(U)
        return BaselineResult(labels, [objective], embedding=U)


MIN_TRACE = 1e-8
"""Lower bound of a view's trace, as a share of its largest value."""


def gaussian_graph(X: Array, anchors: Array, n_neighbors: int) -> sparse.csr_array:
    """Weights ``exp(-D / (2 s^2))`` of nearest anchors, normalized to ``R^{-1/2} W C^{-1/2}``.

    D are squared distances, s their mean. Weights of a sample sum to 1, so R is the identity.
    """
    nearest, distances = nearest_places(X, anchors, n_neighbors)
    bandwidth = max(float(distances.mean()), np.sqrt(np.finfo(np.float64).tiny))
    # A common factor of a row cancels; with the nearest distance it cannot underflow.
    distances = distances - distances[:, :1]
    weights = np.exp(-distances / (2 * bandwidth**2))
    weights /= weights.sum(axis=1, keepdims=True)
    Z = graph_of_neighbors(nearest, weights, len(anchors))
    sums = np.asarray(Z.sum(axis=0)).ravel()
    Z.data /= np.sqrt(sums)[Z.indices]
    return Z


def fused_vectors(
    model: "MVSC", graphs: Sequence[Matrix], w: Array
) -> tuple[Array, Array, Array, list[float]]:
    """Alternate between singular vectors, all but the first, of ``sum_v alpha_v^r Z_v`` and alpha.

    ``alpha_v`` proportional to ``t_v^{1 / (1 - r)}`` minimizes ``sum_v alpha_v^r t_v``. With the
    importance `w`, a view has the factor ``w (alpha_v / w)^r``.
    """
    r, alpha = model.r, w / len(graphs)
    objective: list[float] = []
    for _ in iterations(objective, model.max_iter, model.tol, least=2):
        factors = w * (alpha / w) ** r
        Z = sum(factor * graph for factor, graph in zip(factors, graphs, strict=True))
        U, V = singular_vectors(Z, model.n_clusters + 1)
        if model.weighting == "laplacian":
            t = np.array([U.shape[1] - np.sum(U * (graph @ V)) for graph in graphs])
            largest = float(U.shape[1])
        else:
            points = unit_rows(U[:, 1:])
            t = np.array([np.sum((graph.T @ points) ** 2) for graph in graphs])
            largest = float(len(U))
        t = np.maximum(t, MIN_TRACE * largest)
        # Powers of t alone would overflow for r close to 1.
        alpha = w * np.exp(np.log(t / t.max()) / (1 - r))
        alpha /= alpha.sum()
        objective.append(float(w * (alpha / w) ** r @ t))
    return U[:, 1:], V[:, 1:], alpha, objective


class MVSC(WeightedBaseline):
    r"""Large-scale multi-view spectral clustering via bipartite graph.

    K-means centers of the concatenated views are anchors. Each view gets a bipartite graph
    :math:`Z_v` of the samples and their nearest anchors, with normalized Laplacian :math:`L_v`, and
    all views share one spectral embedding :math:`G` of samples and anchors:

    .. math::

        \min \sum_v \alpha_v^r \operatorname{tr}(G^\top L_v G)
        \quad\text{s.t. } G^\top G = I,\ \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    K-means on the rows of :math:`G`, without its first column and scaled to length 1, gives the
    labels.

    Parameters
    ----------
    n_anchors : int, default=None
        Number of anchors, more than `n_clusters`. None means 200 (``n_clusters + 1`` if that is
        more), but at most half of the samples. The paper uses 200 to 400.
    n_neighbors : int, default=5
        Number of nearest anchors of a sample.
    r : float, default=5.0
        Exponent of the weights, above 1; larger values make them more equal. The paper chooses 3 to
        50 by data set.
    weighting : {'similarity', 'laplacian'}, default='similarity'
        What the weights follow.

        - 'similarity': :math:`\operatorname{tr}(U^\top Z_v Z_v^\top U)` with the rows U of the
          samples, as in the authors' program: a view that agrees better gets less weight.
        - 'laplacian': :math:`\operatorname{tr}(G^\top L_v G)`, as the objective has it; the
          objective then never increases.
    %(view_importance)s
    %(feature_scaling)s
    %(max_iter)s
    tol : float, default=1e-6
        Relative change of the objective at which to stop.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Rows of :math:`G` of the samples, scaled to length 1.
    %(views_)s

    Notes
    -----
    Anchors take O(n m D) time per iteration of K-means for D features in total, an iteration
    afterwards O(n k) and :math:`O(m^3)`. Memory holds two dense copies of the data and blocks of
    distances to all anchors.

    K-means clusters samples and anchors together, as the authors do. The weights of a sample's
    anchors are nearly equal, since the authors' kernel has the mean of the squared distances in
    place of that of the distances.

    References
    ----------
    Y. Li, F. Nie, H. Huang, J. Huang, "Large-Scale Multi-View Spectral Clustering via Bipartite
    Graph", AAAI Conference on Artificial Intelligence, 2015.
    """

    _default_anchors = 200
    _extra_anchors = 1

    n_anchors: int | None = None
    n_neighbors: int = 5
    r: float = 5.0
    weighting: str = "similarity"
    scaling: str = "features"
    max_iter: int = 50
    tol: float = 1e-6
    n_init: int = 10

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        views, m = dense_views(data, self.scaling), self._anchor_count(data)
        importance = self._importance(data)
        roots = np.sqrt(importance).tolist()
        points = np.hstack([root * X for root, X in zip(roots, views, strict=True)])
        centers, _ = kmeans(points, m, n_init=1, seed=self._seeds()[0])
        ends = np.cumsum(data.n_features_per_view)[:-1]
        graphs = [
            gaussian_graph(X, anchors / root, min(self.n_neighbors, m))
            for X, anchors, root in zip(views, np.split(centers, ends, axis=1), roots, strict=True)
        ]
        U, V, alpha, objective = fused_vectors(self, graphs, importance)
        points = unit_rows(np.vstack([U, V]))
        labels = self._kmeans_labels(points, normalize=False)[: len(data)]
        return BaselineResult(labels, objective, alpha, points[: len(data)])


def scaled_to_range(data: MultiViewData) -> list[Array]:
    """Views with features that begin at 0, divided by the widest range of a feature."""
    views = []
    for p in progressed(range(len(data.views)), "scaling"):
        low, spread = column_ranges(data, p)
        varies = np.isfinite(spread)
        X = scaled_copy(data, p, ViewScaling(center=low), np.dtype(np.float64))
        X /= np.where(varies, spread[varies].max(), np.inf)
        views.append(X)
    return views


def directly_sampled(scores: Array, count: int) -> Array:
    """Positions of anchors: in turn the largest score s; all become s (1 - s), in its units."""
    scores = scores / scores.max()
    chosen = np.empty(count, dtype=int)
    free = np.ones(len(scores), dtype=bool)
    for i in range(count):
        chosen[i] = np.argmax(np.where(free, scores, -1.0))
        free[chosen[i]] = False
        scores = scores * (1 - scores)
        scores /= max(float(scores.max()), float(np.finfo(np.float64).tiny))
    return np.sort(chosen)


def anchor_neighbors(X: Array, anchors: Array, n_neighbors: int) -> sparse.csr_array:
    """Graph of the samples and their nearest anchors; weights of a sample sum to 1."""
    count = min(n_neighbors + 1, len(anchors))
    return weighted_neighbors(*nearest_places(X, anchors, count), len(anchors))


def fused_graph(
    model: "SFMC", graphs: Sequence[Matrix], w: Array
) -> tuple[StructuredGraph, Array, list[float]]:
    """Alternate between the structured graph P of ``sum_v alpha_v B_v`` and alpha.

    This minimizes ``||P - sum_v alpha_v B_v||^2`` over the simplex, and is then multiplied by `w`.
    """
    gram = np.array([[np.sum(A.multiply(B)) for A in graphs] for B in graphs])
    # Equal graphs make it singular.
    gram += 1e-12 * np.trace(gram) * np.eye(len(graphs))
    alpha = w / len(graphs)
    objective: list[float] = []
    for _ in iterations(objective, model.max_iter):
        mixed = sum(a * B for a, B in zip(alpha, graphs, strict=True)).tocsr()
        structured = structured_graph(mixed, model.n_clusters)
        b = np.array([[np.sum(B.multiply(structured.graph)) for B in graphs]])
        alpha = minimize_on_simplex(gram, b, max_iter=10_000, tol=1e-9)[0]
        if (w != 1).any():
            alpha = w * alpha / (w @ alpha)
        square = float(structured.graph.multiply(structured.graph).sum())
        objective.append(max(0.0, float(alpha @ gram @ alpha - 2 * alpha @ b[0]) + square))
    return structured, alpha, objective


class SFMC(WeightedBaseline):
    r"""Scalable and parameter-free multi-view graph fusion clustering.

    Each view has a bipartite graph :math:`B_v` of the samples and their nearest anchors, which are
    samples. All views share one graph :math:`P` with k connected components:

    .. math::

        \min \Big\| P - \sum_v \alpha_v B_v \Big\|_F^2
        \quad\text{s.t. } P \ge 0,\ P \text{ has k connected components},\
        \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    The components are the clusters; there is no K-means.

    Parameters
    ----------
    n_anchors : int, default=None
        Number of anchors m, at least `n_clusters`. None means 256 (`n_clusters` if that is more),
        but at most half of the samples, which is the authors' choice.
    n_neighbors : int, default=10
        Number of nearest anchors of a sample in each view.
    %(max_iter)s
    view_importance : dict of str to float, default=None
        How much views count, by name; 1 for those that are not named, and relative to the mean over
        the views. In every iteration, the weights that minimize the objective are multiplied by it
        and divided by their sum. To ignore a view, leave it out.

    Attributes
    ----------
    %(components_)s
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading left singular vectors of the normalized graph, orthonormal.
    graph_ : csr_array of shape (n_samples, n_anchors)
        :math:`P`.
    anchor_samples_ : ndarray of shape (n_anchors,)
        Positions of the samples that are anchors.
    %(views_)s

    Notes
    -----
    Anchors are samples, chosen one by one by the sum of their features; a choice lowers the scores
    of samples with similar sums. This depends on the sign of the features, and the recursion
    amplifies rounding: with many anchors, data in single precision can have other anchors.

    A step of the inner solver, at most 50 per iteration, takes O(n K V log(n K V)) and
    :math:`O(m^3)` time for K neighbors and V views. Memory holds a dense copy of the data, and
    distances to all anchors of one view at a time.

    Rows and columns of :math:`P` are projected to the simplex in turn and averaged, as in the
    authors' program, so neither sum to 1 exactly.

    %(components_notes)s

    References
    ----------
    X. Li, H. Zhang, R. Wang, F. Nie, "Multiview Clustering: A Scalable and Parameter-Free Bipartite
    Graph Fusion Method", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.
    """

    # Half of the samples in the authors' script; a step takes cubic time in the anchors.
    _default_anchors = 256

    n_anchors: int | None = None
    n_neighbors: int = 10
    max_iter: int = 10

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        views = scaled_to_range(data)
        importance = self._importance(data)
        parts = zip(importance, views, strict=True)
        scores = np.sum([w * X.sum(axis=1) for w, X in parts], axis=0)
        self.anchor_samples_ = directly_sampled(scores, self._anchor_count(data))
        graphs = [anchor_neighbors(X, X[self.anchor_samples_], self.n_neighbors) for X in views]
        structured, alpha, objective = fused_graph(self, graphs, importance)
        self.graph_ = structured.graph
        seed = self._seeds()[1]
        labels, self.n_components_ = cluster_labels(structured, views, self.n_clusters, seed)
        return BaselineResult(labels, objective, alpha, structured.embedding)
