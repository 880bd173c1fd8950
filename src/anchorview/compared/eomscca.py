"""EOMSC-CA: an anchor graph of all views with as many components as clusters."""

import numpy as np
from scipy import sparse
from scipy.linalg import svd

from anchorview._utils.linalg import times
from anchorview.compared._anchor_graph import (
    SINGULAR_VALUE_TOLERANCE,
    AnchorGraphBaseline,
    AnchorGraphModel,
)
from anchorview.compared._base import BaselineResult, iterations
from anchorview.compared._bipartite import cluster_labels, structured_graph
from anchorview.views.container import MultiViewData


def update_projections(model: AnchorGraphModel) -> None:
    """``W_v = polar(X_v' Z A')`` without the directions that it leaves open.

    Views are centered, so the mean of the anchors leaves one open in the first iteration if rows of
    Z sum to 1. It would add an arbitrary constant to each row of B, on which the graph depends.
    """
    projections = []
    for product in model.products:
        U, s, Vt = svd(product @ model.anchors.T, full_matrices=False)
        kept = s > SINGULAR_VALUE_TOLERANCE * s[0] if s[0] > 0 else s == 0
        projections.append(U[:, kept] @ Vt[kept])
    model.projections = projections


def graph_target(model: AnchorGraphModel) -> sparse.csr_array:
    """Positive part of ``B = sum_v a_v^2 X_v W_v A``; rows without any keep their largest entry."""
    B = np.zeros(model.graph.shape)
    for square, X, base in zip(model.squares, model.views, model.bases, strict=True):
        B += times(X, square * base)
    kept = B > 0
    kept[np.arange(len(B)), B.argmax(axis=1)] = True
    rows, columns = np.nonzero(kept)
    return sparse.csr_array((B[kept], (rows, columns)), shape=B.shape)


class EOMSCCA(AnchorGraphBaseline):
    r"""Efficient one-pass multi-view subspace clustering with consensus anchors (EOMSC-CA).

    The model is that of :class:`SMVSC`, with a graph :math:`Z` between samples and anchors that has
    k connected components in place of a penalty on its norm:

    .. math::

        \min \sum_v \alpha_v^2 \|X_v - Z A^\top W_v^\top\|_F^2
        \quad\text{s.t. } W_v, A \text{ orthonormal},\ Z \ge 0,\
        Z \text{ has k connected components},\ \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    The components are the clusters; there is no K-means.

    Parameters
    ----------
    n_anchors : int, default=None
        Number of anchors m, between `n_clusters` and the number of samples. None means
        `n_clusters`. The paper tries k to 7k.
    %(max_iter)s
    tol : float, default=1e-4
        Relative change of the objective below which to stop.
    %(view_importance)s
    %(graph_init)s

    Attributes
    ----------
    %(components_)s
    %(views_)s
    graph_ : csr_array of shape (n_samples, n_anchors)
        :math:`Z`.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading left singular vectors of the normalized graph, orthonormal.
    anchors_ : ndarray of shape (n_clusters, n_anchors)
        :math:`A`, with orthonormal rows.
    %(projections_)s
    %(objective_)s
        It may increase: the update of Z is a heuristic.

    Notes
    -----
    An iteration takes O(n m D) time for D features in total, and up to 50 steps of
    O(n m log(n m)) for the components. Memory holds a standardized copy of the data (sparse views
    stay sparse) and a few arrays of shape (n, m).

    As in the authors' program, weights are proportional to the inverse of the unsquared residual
    norms, entries of the graph are at most those of :math:`\sum_v \alpha_v^2 X_v W_v A` that are
    positive, and its rows and columns are projected to the simplex in turn and averaged, so neither
    sum to 1 exactly. The authors' inner solver starts from a graph with zero rows, whose distances
    are not numbers and count as 0; here the first distances are 0. The dimension of the projections
    is k; the paper also tries multiples.

    %(components_notes)s

    %(anchor_graph_notes)s

    References
    ----------
    S. Liu, S. Wang, P. Zhang, K. Xu, X. Liu, C. Zhang, F. Gao, "Efficient One-Pass Multi-View
    Subspace Clustering with Consensus Anchors", AAAI Conference on Artificial Intelligence, 2022.
    """

    weighted_z = False

    n_anchors: int | None = None
    max_iter: int = 50
    tol: float = 1e-4

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        model, _ = self._initial_model(data)
        objective: list[float] = []
        for _ in iterations(objective, self.max_iter, self.tol, least=2):
            update_projections(model)
            model.update_anchors()
            ridge = float(np.sum(model.squares))
            structured = structured_graph(graph_target(model), self.n_clusters, ridge=ridge)
            model.set_graph(structured.graph.toarray())
            roots = np.sqrt(model.residuals)
            model.set_weights(1 / roots)
            objective.append(float(model.squares @ roots**2))
        self.anchors_, self.projections_ = model.anchors, model.projections
        self.graph_ = structured.graph
        seed = self._seeds()[1]
        labels, self.n_components_ = cluster_labels(structured, model.views, self.n_clusters, seed)
        return BaselineResult(labels, objective, model.weights, structured.embedding)
