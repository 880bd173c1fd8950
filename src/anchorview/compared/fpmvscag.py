"""FPMVS-CAG: subspace clustering through anchors that all views share, without parameters."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from anchorview._utils.sklearn_compat import Interval
from anchorview.compared._anchor_graph import AnchorGraphMethod
from anchorview.compared._base import Clustering
from anchorview.views.container import MultiViewData


class FPMVSCAG(AnchorGraphMethod):
    r"""Fast parameter-free multi-view subspace clustering with consensus anchor guidance.

    Every view :math:`X_v` (n samples, :math:`d_v` features, standardized) is projected by
    :math:`W_v` to k dimensions, where all views share k anchors :math:`A` and one graph :math:`Z`
    from samples to anchors:

    .. math::

        \min \sum_v \alpha_v^2 \|X_v - Z A^\top W_v^\top\|_F^2
        \quad\text{s.t. } W_v, A \text{ orthonormal},\ Z \ge 0,\ Z \mathbf 1 = \mathbf 1,\
        \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    K-means on the left singular vectors of :math:`Z`, rows scaled to length 1, gives the labels.
    It is :class:`~anchorview.compared.smvsc.SMVSC` without the graph's squared norm and with as
    many anchors as clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k, at least 2; also the number of anchors.
    max_iter : int, default=20
        Iterations; all of them are done.
    init : {"gcca", "identity"}, default="gcca"
        Start of the graph. "gcca": one-hot rows from a quick K-means on what the views have in
        common (generalized canonical correlation), which depends neither on the order of the
        samples nor on that of the features. "identity": the authors' start, which sees no more
        than the first `n_clusters` samples and features; the paper's numbers use it.
    weighted_z : bool, default=False
        How the views count in the step of Z. False: all alike, as in the authors' program, which
        the paper's numbers come from; the objective may then rise. True: by their squared weights,
        as the objective says; it then never rises.
    n_init : int, default=50
        K-means restarts for the labels; the one with least inertia is kept.
    random_state : int, RandomState instance or None, default=None
        Seed of K-means, for the start and for the labels.
    verbose : int, default=0
        1 prints the size of the data and the time taken.

    Attributes
    ----------
    labels_ : array (n,) of int32
        Cluster of each sample.
    view_weights_ : array (n_views,)
        How much each view counts; they sum to 1.
    objective_ : array (n_iter_,)
        The objective after every iteration.
    n_iter_ : int
        Iterations done.
    graph_ : array (n, n_clusters)
        Z: rows on the simplex.
    embedding_ : array (n, at most n_clusters)
        U: left singular vectors of the graph, which K-means clusters.
    anchors_ : array (n_clusters, n_clusters)
        A: orthogonal.
    projections_ : list of arrays (d_v, n_clusters)
        W_v: orthonormal columns (rows, if the view has fewer features than clusters).
    n_views_in_, n_features_in_ : int
        Number of views, and of features over all views.
    n_features_per_view_ : tuple of int
        Features of each view.
    sample_ids_ : pandas.Index or None
        Labels of the samples, where they came as DataFrames (or MuData).
    view_names_in_ : tuple of str
        Names of the views: keys of the dict given to `fit`, else ``view_0``, ``view_1``...

    Notes
    -----
    An iteration takes O(n k D) time for D features in all; memory is a standardized copy of the
    data (sparse views are not made dense) and a few arrays (n, k).

    The authors' program departs from the stated objective: the step of Z leaves out the squared
    weights, which makes Z nearly one-hot. ``weighted_z=True`` minimizes the objective, or a bound
    on it that touches it at the present state where a view has fewer features than clusters. The
    authors report the best of 50 K-means runs by the known classes; here the labels are those of
    least inertia. Weights are inverse to the squared residuals, as the results saved with
    the authors' release of 2022 indicate; their program of 2021 took the residuals unsquared.

    Directions of U whose singular value is below 1e-6 of the largest are dropped, since anchors
    that no sample uses make them arbitrary. If fewer different rows than clusters are left, K-means
    warns and some clusters stay empty.

    The default start is a clustering by itself, and on many data as good a one as the method ends
    with. To judge the method rather than its start, or to compare with the paper's numbers, use
    ``init="identity"``.

    A view with fewer features than clusters gets a projection with orthonormal rows. Constant
    features count as zero, duplicates need no care. Of each view's squared norm, 1e-6 at least
    counts as unexplained, so that weights stay finite. The standardized views are centered, so the
    direction of the anchors' mean is arbitrary; it moves neither the graph nor the objective. What
    an anchor without samples points to is as arbitrary.

    References
    ----------
    S. Wang, X. Liu, X. Zhu, P. Zhang, Y. Zhang, F. Gao, E. Zhu, "Fast Parameter-Free Multi-View
    Subspace Clustering With Consensus Anchor Guidance", IEEE Transactions on Image Processing,
    2022.

    Examples
    --------
    >>> from anchorview import make_multiview
    >>> from anchorview.compared import FPMVSCAG
    >>> from anchorview.metrics import clustering_accuracy
    >>> views, y = make_multiview(200, n_clusters=3, n_features=(20, 10), random_state=0)
    >>> model = FPMVSCAG(n_clusters=3, random_state=0).fit(views)
    >>> clustering_accuracy(y, model.labels_) > 0.9
    True
    >>> model.n_iter_
    20
    """

    normalize_embedding: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AnchorGraphMethod._parameter_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_iter: int = 20,
        init: str = "gcca",
        weighted_z: bool = False,
        n_init: int = 50,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.init = init
        self.weighted_z = weighted_z
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def _cluster(self, data: MultiViewData) -> Clustering:
        return self._cluster_graph(data, ridge=0.0, tol=0.0)
