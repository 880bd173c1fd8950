"""OMSC: the anchor graph and the clusters learned together."""

import numpy as np

from anchorview._utils.linalg import polar_factor
from anchorview._utils.typing import Array
from anchorview.compared._anchor_graph import AnchorGraphBaseline
from anchorview.compared._base import BaselineResult, fill_empty_clusters, iterations
from anchorview.views.container import MultiViewData


def nearest_codes(graph: Array, codes: Array) -> Array:
    """Label of each row ``z_i`` of the graph: ``argmin_j ||z_i - g_j||^2``, no cluster empty."""
    distances = np.einsum("ij,ij->j", codes, codes) - 2 * (graph @ codes)
    labels = distances.argmin(axis=1)
    misfit = np.einsum("ij,ij->i", graph, graph) + distances[np.arange(len(labels)), labels]
    return fill_empty_clusters(labels, misfit, codes.shape[1])


class OMSC(AnchorGraphBaseline):
    r"""Efficient orthogonal multi-view subspace clustering.

    Each view :math:`X_v` (n samples, :math:`d_v` features, standardized) is projected by
    :math:`W_v` to k dimensions, where all views share m anchors :math:`A` and one graph :math:`Z`
    between samples and anchors; the clusters :math:`F` and their codes :math:`G` are learned with
    it:

    .. math::

        \min \sum_v \alpha_v^2 \|X_v - Z A^\top W_v^\top\|_F^2
             + \lambda \|Z - F G^\top\|_F^2
        \quad\text{s.t. } W_v, A \text{ orthonormal},\ G^\top G = I,\ Z \ge 0,\
        Z \mathbf 1 = \mathbf 1,\ F \text{ one-hot},\
        \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    :math:`F` gives the labels; there is no K-means after the optimization.

    Parameters
    ----------
    %(n_anchors)s
    lambda_ : float, default=1.0
        Weight of the distance between the graph and the codes of the clusters. The paper tries 1,
        0.1, 0.01 and 0.001.
    %(fixed_max_iter)s
    %(graph_init)s
    %(weighted_z)s
        The authors' program also adds the term in :math:`\lambda` once per view. The objective can
        increase with True as well if an empty cluster is filled.
    %(view_importance)s

    Attributes
    ----------
    %(views_)s
    embedding_ : ndarray of shape (n_samples, n_anchors)
        The graph :math:`Z`, with rows on the simplex.
    anchors_ : ndarray of shape (n_clusters, n_anchors)
        :math:`A`, with orthonormal rows.
    codes_ : ndarray of shape (n_anchors, n_clusters)
        :math:`G`, the code of each cluster, with orthonormal columns.
    %(projections_)s

    Notes
    -----
    An iteration takes O(n m (D + k)) time for D features in total. Memory holds a standardized copy
    of the data (sparse views stay sparse) and a few arrays of shape (n, m).

    The authors' program differs from the stated objective: the update of Z omits the squared
    weights, adds the term of the clusters once per view, and treats :math:`A^\top A` as the
    identity, which is wrong for m > k. ``weighted_z=True`` minimizes the objective, or a bound that
    touches it at the present state. The authors choose m and lambda by the true classes.

    An empty cluster takes the sample farthest from the code of its cluster; the authors'
    program leaves it empty.

    %(anchor_graph_notes)s

    References
    ----------
    M.-S. Chen, C.-D. Wang, D. Huang, J.-H. Lai, P. S. Yu, "Efficient Orthogonal Multi-view
    Subspace Clustering", ACM SIGKDD Conference on Knowledge Discovery and Data Mining, 2022.

    %(example)s
    >>> model.n_iter_
    15
    """

    n_anchors: int | None = None
    lambda_: float = 1.0
    max_iter: int = 15
    weighted_z: bool = False

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        # F (n, k), with zero rows for samples without a cluster, and G (m, k).
        model, indicator = self._initial_model(data)
        if self.init == "identity":
            codes = np.eye(self._anchor_count(data), self.n_clusters)
        else:
            codes = polar_factor(model.graph.T @ indicator)
        objective: list[float] = []
        for _ in iterations(objective, self.max_iter):
            model.update_projections()
            model.update_anchors()
            model.update_graph(self.lambda_, indicator @ codes.T)
            codes = polar_factor(model.graph.T @ indicator)
            labels = nearest_codes(model.graph, codes)
            indicator = np.eye(self.n_clusters)[labels]
            distance = float(np.sum((model.graph - indicator @ codes.T) ** 2))
            objective.append(model.update_weights() + self.lambda_ * distance)
        self.anchors_, self.projections_, self.codes_ = model.anchors, model.projections, codes
        return BaselineResult(labels, objective, model.weights, model.graph)
