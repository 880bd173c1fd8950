"""FPMVS-CAG: subspace clustering through anchors that all views share, without parameters."""

from anchorview.compared._anchor_graph import AnchorGraphBaseline
from anchorview.compared._base import BaselineResult, baseline
from anchorview.views.container import MultiViewData


@baseline
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
    This is :class:`~anchorview.compared.smvsc.SMVSC` without the graph's squared norm and with as
    many anchors as clusters.

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
