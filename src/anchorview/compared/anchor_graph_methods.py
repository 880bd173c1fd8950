"""SMVSC, FPMVS-CAG, OMSC and EOMSC-CA: subspace clustering through anchors that all views share."""

import numpy as np
from scipy import sparse
from scipy.linalg import svd

from anchorview._utils.linalg import polar_factor, times
from anchorview._utils.typing import Array
from anchorview.compared._anchor_graphs import (
    SINGULAR_VALUE_TOLERANCE,
    AnchorGraphBaseline,
    AnchorGraphModel,
    cluster_labels,
    structured_graph,
)
from anchorview.compared._base import BaselineResult, fill_empty_clusters, iterations
from anchorview.views.container import MultiViewData


class SMVSC(AnchorGraphBaseline):
    r"""Scalable multi-view subspace clustering with unified anchors.

    Each view :math:`X_v` (n samples, :math:`d_v` features, standardized) is projected by
    :math:`W_v` to k dimensions, where all views share m anchors :math:`A` and one graph :math:`Z`
    between samples and anchors:

    .. math::

        \min \sum_v \alpha_v^2 \|X_v - Z A^\top W_v^\top\|_F^2 + \lambda \|Z\|_F^2
        \quad\text{s.t. } W_v, A \text{ orthonormal},\ Z \ge 0,\ Z \mathbf 1 = \mathbf 1,\
        \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    K-means on the left singular vectors of :math:`Z`, rows scaled to length 1, gives the labels.

    Parameters
    ----------
    %(n_anchors)s
    lambda_ : float, default=1.0
        Weight of the graph's squared norm; larger values spread samples over more anchors.
    %(max_iter)s
    tol : float, default=1e-3
        Relative change of the objective below which to stop, but not before the tenth iteration.
    %(graph_init)s
    %(view_importance)s
    %(weighted_z)s

    Attributes
    ----------
    %(views_)s
    graph_ : ndarray of shape (n_samples, n_anchors)
        :math:`Z`, with rows on the simplex.
    embedding_ : ndarray of shape (n_samples, n_directions)
        Left singular vectors of the graph, at most `n_anchors`.
    anchors_ : ndarray of shape (n_clusters, n_anchors)
        :math:`A`, with orthonormal rows.
    %(projections_)s

    Notes
    -----
    An iteration takes O(n m D) time for D features in total. Memory holds a standardized copy of
    the data (sparse views stay sparse) and a few arrays of shape (n, m).

    The authors' program differs from the stated objective: the update of Z omits the squared
    weights, which makes Z nearly one-hot, and treats :math:`A^\top A` as the identity, which is
    wrong for m > k. ``weighted_z=True`` minimizes the objective, or a bound that touches it at the
    present state. Weights come from squared residuals, as in the program since December 2021.

    %(graph_spectrum_notes)s

    %(anchor_graph_notes)s

    References
    ----------
    M. Sun, P. Zhang, S. Wang, S. Zhou, W. Tu, X. Liu, E. Zhu, C. Wang, "Scalable Multi-view
    Subspace Clustering with Unified Anchors", ACM International Conference on Multimedia, 2021.

    %(example)s
    >>> model.graph_.shape
    (200, 3)
    """

    normalize_embedding = True

    n_anchors: int | None = None
    lambda_: float = 1.0
    max_iter: int = 51
    tol: float = 1e-3
    weighted_z: bool = False
    n_init: int = 50

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        return self._cluster_graph(data, self.lambda_, self.tol)


class FPMVSCAG(AnchorGraphBaseline):
    r"""Fast parameter-free multi-view subspace clustering with consensus anchor guidance.

    Each view :math:`X_v` (n samples, :math:`d_v` features, standardized) is projected by
    :math:`W_v` to k dimensions, where all views share k anchors :math:`A` and one graph :math:`Z`
    between samples and anchors:

    .. math::

        \min \sum_v \alpha_v^2 \|X_v - Z A^\top W_v^\top\|_F^2
        \quad\text{s.t. } W_v, A \text{ orthonormal},\ Z \ge 0,\ Z \mathbf 1 = \mathbf 1,\
        \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    K-means on the left singular vectors of :math:`Z`, rows scaled to length 1, gives the labels.
    This is :class:`SMVSC` without the graph's squared norm and with as many anchors as clusters.

    Parameters
    ----------
    %(fixed_max_iter)s
    %(graph_init)s
    %(view_importance)s
    %(weighted_z)s

    Attributes
    ----------
    %(views_)s
    graph_ : ndarray of shape (n_samples, n_clusters)
        :math:`Z`, with rows on the simplex.
    embedding_ : ndarray of shape (n_samples, n_directions)
        Left singular vectors of the graph, at most `n_clusters`.
    anchors_ : ndarray of shape (n_clusters, n_clusters)
        :math:`A`, orthogonal.
    %(projections_)s

    Notes
    -----
    An iteration takes O(n k D) time for D features in total. Memory holds a standardized copy of
    the data (sparse views stay sparse) and a few arrays of shape (n, k).

    The authors' program differs from the stated objective: the update of Z omits the squared
    weights, which makes Z nearly one-hot. ``weighted_z=True`` minimizes the objective, or a bound
    that touches it at the present state where a view has fewer features than clusters. Weights are
    inverse to the squared residuals, as the results saved with the authors' release of 2022
    indicate; their program of 2021 does not square the residuals.

    %(graph_spectrum_notes)s

    %(anchor_graph_notes)s

    References
    ----------
    S. Wang, X. Liu, X. Zhu, P. Zhang, Y. Zhang, F. Gao, E. Zhu, "Fast Parameter-Free Multi-View
    Subspace Clustering With Consensus Anchor Guidance", IEEE Transactions on Image Processing,
    2022.

    %(example)s
    >>> model.n_iter_
    20
    """

    n_anchors = None
    normalize_embedding = True

    max_iter: int = 20
    weighted_z: bool = False
    n_init: int = 50

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        return self._cluster_graph(data, ridge=0.0, tol=0.0)


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


def update_projections(model: AnchorGraphModel) -> None:
    """``W_v = polar(X_v' Z A')`` without directions that it leaves open, which would change B."""
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
