"""SMVSC and FPMVS-CAG: subspace clustering of all views through anchors that they share."""

from anchorview.compared._anchor_graph import AnchorGraphBaseline
from anchorview.compared._base import BaselineResult
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
