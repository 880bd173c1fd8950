"""LMVSC: anchor graphs of all views from quadratic programs, clustered together."""

import numpy as np

from anchorview.compared._anchor_graph import singular_vectors
from anchorview.compared._base import Baseline, BaselineResult, kmeans, progressed
from anchorview.compared._bipartite import minimize_on_simplex
from anchorview.compared._view_scaling import dense_views
from anchorview.views.container import MultiViewData

ANCHOR_RUNS = 10
"""K-means runs for the anchors, as in the authors' program."""


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
            H, _ = kmeans(X, m, n_init=ANCHOR_RUNS, seed=self._seeds()[0])
            Q = H @ H.T + self.alpha * np.eye(m)
            Z = minimize_on_simplex(Q, X @ H.T, max_iter=self.max_iter, tol=self.tol)
            objective += float(np.sum((X - Z @ H) ** 2) + self.alpha * np.sum(Z**2))
            self.graphs_.append(Z)
            self.anchors_.append(H)
        stacked = np.hstack(self.graphs_) / np.sqrt(len(views))
        U = singular_vectors(stacked)[0][:, : self.n_clusters]
        labels = self._kmeans_labels(U)
        return BaselineResult(labels, [objective], embedding=U)
