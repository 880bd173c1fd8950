"""OMSC: the anchor graph and the clusters learned together."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from anchorview._utils.linalg import polar_factor
from anchorview._utils.progress import report_progress
from anchorview._utils.sklearn_compat import Interval
from anchorview._utils.typing import Array
from anchorview.compared._anchor_graph import AnchorGraph, AnchorGraphMethod
from anchorview.compared._base import Clustering
from anchorview.compared._empty_clusters import without_empties
from anchorview.compared._view_scaling import standardized_views
from anchorview.views.container import MultiViewData


def nearest_codes(graph: Array, codes: Array) -> Array:
    """Cluster of each row ``z_i`` of the graph: ``argmin_j ||z_i - g_j||^2``, none left empty."""
    distances = np.einsum("ij,ij->j", codes, codes) - 2 * (graph @ codes)
    labels = distances.argmin(axis=1)
    misfit = np.einsum("ij,ij->i", graph, graph) + distances[np.arange(len(labels)), labels]
    return without_empties(labels, misfit, codes.shape[1])


def alternate_with_clusters(
    state: AnchorGraph, members: Array, codes: Array, lambda_: float, max_iter: int
) -> tuple[Array, Array, Array]:
    """Iterate with the term ``lambda ||Z - F G'||^2``.

    Parameters
    ----------
    state : AnchorGraph
        Ends with the last ``W_v``, ``A``, ``Z`` and weights.
    members : array (n, k)
        The start of ``F``: one-hot rows, or zero rows for samples without a cluster.
    codes : array (m, k)
        The start of ``G``.
    lambda_ : float
    max_iter : int

    Returns
    -------
    labels : array (n,)
    codes : array (m, k)
    objective : array (max_iter,)
    """
    k = codes.shape[1]
    objective = []
    for done in range(1, max_iter + 1):
        state.update_projections()
        state.update_anchors()
        state.update_graph(lambda_, members @ codes.T)
        codes = polar_factor(state.graph.T @ members)
        labels = nearest_codes(state.graph, codes)
        members = np.eye(k)[labels]
        apart = float(np.sum((state.graph - members @ codes.T) ** 2))
        objective.append(state.update_weights() + lambda_ * apart)
        report_progress("iterating", done, max_iter)
    return labels, codes, np.array(objective)


class OMSC(AnchorGraphMethod):
    r"""Efficient orthogonal multi-view subspace clustering.

    Every view :math:`X_v` (n samples, :math:`d_v` features, standardized) is projected by
    :math:`W_v` to k dimensions, where all views share m anchors :math:`A` and one graph :math:`Z`
    from samples to anchors; the clusters :math:`F` and their codes :math:`G` are learned with it:

    .. math::

        \min \sum_v \alpha_v^2 \|X_v - Z A^\top W_v^\top\|_F^2
             + \lambda \|Z - F G^\top\|_F^2
        \quad\text{s.t. } W_v, A \text{ orthonormal},\ G^\top G = I,\ Z \ge 0,\
        Z \mathbf 1 = \mathbf 1,\ F \text{ one-hot},\
        \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    The labels are the ones in :math:`F`; there is no K-means after the optimization.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k, at least 2.
    n_anchors : int, default=None
        Number of anchors m, from `n_clusters` to the number of samples. None: `n_clusters`. The
        paper tries k, 2k and 3k.
    lambda_ : float, default=1.0
        Pull of the clusters on the graph. The paper tries 1, 0.1, 0.01 and 0.001.
    max_iter : int, default=15
        Iterations; all of them are done.
    init : {"gcca", "identity"}, default="gcca"
        Start of the graph. "gcca": one-hot rows from a quick K-means on what the views have in
        common (generalized canonical correlation), which depends neither on the order of the
        samples nor on that of the features. "identity": the authors' start, which sees no more
        than the first `n_anchors` samples and `n_clusters` features; the paper's numbers use it.
    weighted_z : bool, default=False
        How the views count in the step of Z. False: all alike, and the pull once a view, as in the
        authors' program, which the paper's numbers come from; the objective may then rise. True:
        by their squared weights, and the pull once, as the objective says; it then never rises
        unless a cluster without samples is given one.
    random_state : int, RandomState instance or None, default=None
        Seed of K-means for the start.
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
    embedding_ : array (n, n_anchors)
        Z: the graph, rows on the simplex.
    anchors_ : array (n_clusters, n_anchors)
        A: orthonormal rows.
    codes_ : array (n_anchors, n_clusters)
        G: the code of each cluster, orthonormal columns.
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
    An iteration takes O(n m (D + k)) time for D features in all; memory is a standardized copy of
    the data (sparse views are not made dense) and a few arrays (n, m).

    The authors' program departs from the stated objective: the step of Z leaves out the squared
    weights of the views, adds the pull of the clusters once a view, and takes :math:`A^\top A` for
    the identity, which it is not if m > k. ``weighted_z=True`` minimizes the objective, or a bound
    on it that touches it at the present state where no step minimizes it. The authors choose m and
    lambda by the known classes.

    A cluster that loses all its samples takes the one that is farthest from the code of its own
    cluster; the authors' program leaves it empty.

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
    M.-S. Chen, C.-D. Wang, D. Huang, J.-H. Lai, P. S. Yu, "Efficient Orthogonal Multi-view
    Subspace Clustering", ACM SIGKDD Conference on Knowledge Discovery and Data Mining, 2022.

    Examples
    --------
    >>> from anchorview import make_multiview
    >>> from anchorview.compared import OMSC
    >>> from anchorview.metrics import clustering_accuracy
    >>> views, y = make_multiview(200, n_clusters=3, n_features=(20, 10), random_state=0)
    >>> model = OMSC(n_clusters=3, random_state=0).fit(views)
    >>> clustering_accuracy(y, model.labels_) > 0.9
    True
    >>> model.n_iter_
    15
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AnchorGraphMethod._parameter_constraints,
        "n_anchors": [Interval(Integral, 1, None, closed="left"), None],
        "lambda_": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_anchors: int | None = None,
        lambda_: float = 1.0,
        max_iter: int = 15,
        init: str = "gcca",
        weighted_z: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.lambda_ = lambda_
        self.max_iter = max_iter
        self.init = init
        self.weighted_z = weighted_z
        self.random_state = random_state
        self.verbose = verbose

    def _cluster(self, data: MultiViewData) -> Clustering:
        state, members = self._start(standardized_views(data), self._seeds()[0])
        if self.init == "identity":
            codes = np.eye(self._anchor_count, self.n_clusters)
        else:
            codes = polar_factor(state.graph.T @ members)
        labels, codes, objective = alternate_with_clusters(
            state, members, codes, self.lambda_, self.max_iter
        )
        self._keep(state)
        self.codes_ = codes
        return Clustering(labels, state.weights, objective, state.graph)
