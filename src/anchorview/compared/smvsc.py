"""SMVSC: subspace clustering of all views through unified anchors."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from anchorview._utils.sklearn_compat import Interval
from anchorview.compared._anchor_graph import AnchorGraphMethod
from anchorview.compared._base import Clustering
from anchorview.views.container import MultiViewData


class SMVSC(AnchorGraphMethod):
    r"""Scalable multi-view subspace clustering with unified anchors.

    Every view :math:`X_v` (n samples, :math:`d_v` features, standardized) is projected by
    :math:`W_v` to k dimensions, where all views share m anchors :math:`A` and one graph :math:`Z`
    from samples to anchors:

    .. math::

        \min \sum_v \alpha_v^2 \|X_v - Z A^\top W_v^\top\|_F^2 + \lambda \|Z\|_F^2
        \quad\text{s.t. } W_v, A \text{ orthonormal},\ Z \ge 0,\ Z \mathbf 1 = \mathbf 1,\
        \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    K-means on the left singular vectors of :math:`Z`, rows scaled to length 1, gives the labels.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k, at least 2.
    n_anchors : int, default=None
        Number of anchors m, from `n_clusters` to the number of samples. None: `n_clusters`. The
        paper tries k, 2k and 3k.
    lambda_ : float, default=1.0
        Weight of the graph's squared norm; larger values spread samples over more anchors.
    max_iter : int, default=51
        Most iterations.
    tol : float, default=1e-3
        Stop when the objective changes by less than this, relatively, but not before the tenth
        iteration.
    init : {"gcca", "identity"}, default="gcca"
        Start of the graph. "gcca": one-hot rows from a quick K-means on what the views have in
        common (generalized canonical correlation), which depends neither on the order of the
        samples nor on that of the features. "identity": the authors' start, which sees no more
        than the first `n_anchors` samples and `n_clusters` features; the paper's numbers use it.
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
    graph_ : array (n, n_anchors)
        Z: rows on the simplex.
    embedding_ : array (n, at most n_anchors)
        U: left singular vectors of the graph, which K-means clusters.
    anchors_ : array (n_clusters, n_anchors)
        A: orthonormal rows.
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
    An iteration takes O(n m D) time for D features in all; memory is a standardized copy of the
    data (sparse views are not made dense) and a few arrays (n, m).

    The authors' program departs from the stated objective: the step of Z leaves out the squared
    weights, which makes Z nearly one-hot, and takes :math:`A^\top A` for the identity, which it is
    not if m > k. ``weighted_z=True`` minimizes the objective, or a bound on it that touches it at
    the present state where no step minimizes it. The authors report the best of 50 K-means runs by
    the known classes; here the labels are those of least inertia. Weights come from squared
    residuals, as in the program since December 2021.

    Directions of U whose singular value is below 1e-6 of the largest are dropped, since anchors
    that no sample uses make them arbitrary. If fewer different rows than clusters are left, K-means
    warns and some clusters stay empty.

    The default start is a clustering by itself, and on many data as good a one as the method ends
    with. To judge the method rather than its start, or to compare with the paper's numbers, use
    ``init="identity"``.

    A view with fewer features than clusters gets a projection with orthonormal rows. Constant
    features count as zero, duplicates need no care. Of each view's squared norm, 1e-6 at least
    counts as unexplained, so that weights stay finite. The standardized views are centered, so with
    m = k the direction of the anchors' mean is arbitrary; it moves neither the graph nor the
    objective. What an anchor without samples points to is as arbitrary.

    References
    ----------
    M. Sun, P. Zhang, S. Wang, S. Zhou, W. Tu, X. Liu, E. Zhu, C. Wang, "Scalable Multi-view
    Subspace Clustering with Unified Anchors", ACM International Conference on Multimedia, 2021.

    Examples
    --------
    >>> from anchorview import make_multiview
    >>> from anchorview.compared import SMVSC
    >>> from anchorview.metrics import clustering_accuracy
    >>> views, y = make_multiview(200, n_clusters=3, n_features=(20, 10), random_state=0)
    >>> model = SMVSC(n_clusters=3, random_state=0).fit(views)
    >>> clustering_accuracy(y, model.labels_) > 0.9
    True
    >>> model.graph_.shape
    (200, 3)
    """

    normalize_embedding: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AnchorGraphMethod._parameter_constraints,
        "n_anchors": [Interval(Integral, 1, None, closed="left"), None],
        "lambda_": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_anchors: int | None = None,
        lambda_: float = 1.0,
        max_iter: int = 51,
        tol: float = 1e-3,
        init: str = "gcca",
        weighted_z: bool = False,
        n_init: int = 50,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.lambda_ = lambda_
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.weighted_z = weighted_z
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def _cluster(self, data: MultiViewData) -> Clustering:
        return self._cluster_graph(data, self.lambda_, self.tol)
