"""MVSC: spectral clustering of weighted bipartite graphs of samples and anchors."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import unit_rows
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._anchor_graph import singular_vectors
from anchorview.compared._base import BaselineResult, WeightedBaseline, iterations, kmeans
from anchorview.compared._view_scaling import dense_views
from anchorview.core.neighbors import graph_of_neighbors, nearest_places
from anchorview.views.container import MultiViewData

MIN_TRACE = 1e-8
"""Lower bound of a view's trace, as a share of its largest value."""


def gaussian_graph(X: Array, anchors: Array, n_neighbors: int) -> sparse.csr_array:
    """Weights of each sample's nearest anchors, normalized to ``R^{-1/2} W C^{-1/2}``.

    With squared distances D and their mean s over the nearest anchors, weights are
    ``exp(-D / (2 s^2))`` of a sample in units of their sum, and R is the identity then.
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
    """Alternate between singular vectors of ``sum_v alpha_v^r Z_v`` and the weights.

    ``alpha_v`` proportional to ``t_v^{1 / (1 - r)}`` minimizes ``sum_v alpha_v^r t_v``. A view of
    importance `w` counts like w copies of it: it has the factor ``w (alpha_v / w)^r``. Returns the
    vectors of samples and anchors without the first pair, alpha, and the objectives.
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
