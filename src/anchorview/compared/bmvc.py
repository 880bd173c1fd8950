"""BMVC: binary multi-view clustering."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from anchorview._utils.sklearn_compat import Interval
from anchorview.compared._base import Clustering, ComparedMethod
from anchorview.compared._bmvc_kernel import (
    KERNEL_BLOCK,
    centered_kernel,
    kernel_view,
    sampled_anchors,
    start_codes,
    start_sample,
)
from anchorview.compared._bmvc_solver import BinarySolver, restarted
from anchorview.views.container import MultiViewData

MOST_ANCHORS = 1000
"""Anchors unless told otherwise, if there are samples enough."""

SAMPLES_PER_ANCHOR = 15
"""Samples for each anchor unless told otherwise."""


class BMVC(ComparedMethod):
    r"""Binary multi-view clustering.

    Every view is turned into similarities :math:`P_v` (m, n) of the samples to m anchors, and
    projected by :math:`U_v` on binary codes :math:`B` (L, n) that all views share. The codes are
    clustered as they are learned, around binary centers :math:`C` with one-hot :math:`G`:

    .. math::

        \min \sum_v \alpha_v^r \left( \|B - U_v P_v\|_F^2 + \beta \|U_v\|_F^2
             - \gamma \|U_v P_v\|_F^2 \right) + \lambda \|B - C G\|_F^2
        \quad\text{s.t. } B, C \in \{-1, 1\},\ \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    Similarities are Gaussian, :math:`\exp(-\|x - a\|^2 / 2\sigma_v^2)`, less their means, with
    :math:`\sigma_v` twice the mean distance to the nearest anchor. Views are taken as they are,
    without scaling.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at least 2.
    code_length : int, default=128
        Bits of a code, L; at most `n_anchors`.
    n_anchors : int, default=None
        Anchors of each view, m: samples drawn at random. None: one for every 15 samples, but at
        least ``2 * n_clusters`` and at most 1000, the number that the published results use. Many
        more for the samples there are make every sample similar to itself only.
    r : float, default=5
        Exponent of the view weights, above 1; the larger, the more alike they are.
    beta : float, default=0.003
        Weight of the projections' squared norm, above 0.
    gamma : float, default=0.01
        Weight of the variance of the projected samples, below 1.
    lambda_ : float, default=1e-5
        Weight of the clustering of the codes. It should be far below ``n_views ** (-r)``, or the
        codes stay at the centers that they start from.
    max_iter : int, default=7
        Iterations. There is no other stopping rule.
    reference_view : int or str, default=None
        View, by position or name, whose principal components give the first codes. None: those of
        all views together, which does better on average. The published results use the fourth.
    n_init : int, default=10
        Random starts of the clusters of the final codes, that of the iterations among them; the
        one with the fewest bits different from the centers is kept. The published results use 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the anchors and of the first centers.
    verbose : int, default=0
        1 prints the number of iterations and the time.

    Attributes
    ----------
    labels_ : array (n,) of int32
        Cluster of each sample; every cluster has samples.
    codes_ : array (n, code_length_) of int8
        Code of each sample, of -1 and 1.
    code_length_ : int
        Bits of a code.
    anchors_ : list of arrays (n_anchors, d_v)
        Anchors of each view.
    cluster_centers_ : array (n_clusters, code_length_) of int8
        Code of each cluster.
    view_weights_ : array (n_views,)
        How much each view counts; they sum to 1.
    objective_ : array (n_iter_,)
        The objective after every iteration; it never increases.
    n_iter_ : int
        Iterations done.
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
    For V views with D features in all, the kernels take O(n m D) time, their factors
    O(n m^2 V + m^3 V), and an iteration O(n m L V). Memory is n m V numbers, in single precision if
    all views fit in it.

    Every step of an iteration minimizes the objective exactly for codes of less than 990 bits: the
    penalty that balances the bits of a center is so small then that it decides ties only, and it
    is no part of the recorded objective.

    Where the authors' program differs: it computes the first codes from 1000 samples of the
    reference view (here 2000 of all views, more for longer codes), starts the clusters of codes
    once, and lets a cluster that has lost all its samples stay empty. Here that takes the sample
    whose code is farthest from its center, and starts from this code. The program's width counts
    the distance of an anchor to itself, which is zero; here such distances are left out. A view's
    part of the objective can become negative if it explains the codes completely; at least 0.1 %
    of the codes always counts as unexplained, so that weights exist.

    Distances are all that counts of a view: constant features change nothing, and a view may have
    fewer features than there are clusters or bits.

    References
    ----------
    Z. Zhang, L. Liu, F. Shen, H. T. Shen, L. Shao, "Binary Multi-View Clustering", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 41 (7), 2019.

    Examples
    --------
    >>> from anchorview import load_digits
    >>> from anchorview.compared import BMVC
    >>> from anchorview.metrics import clustering_accuracy
    >>> views, y = load_digits(return_X_y=True)
    >>> model = BMVC(n_clusters=10, random_state=0).fit(views)
    >>> clustering_accuracy(y, model.labels_) > 0.7
    True
    >>> model.codes_.shape
    (2000, 128)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ComparedMethod._parameter_constraints,
        "code_length": [Interval(Integral, 1, None, closed="left")],
        "n_anchors": [Interval(Integral, 1, None, closed="left"), None],
        "r": [Interval(Real, 1, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, 1, closed="left")],
        "lambda_": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "reference_view": [Interval(Integral, 0, None, closed="left"), str, None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        code_length: int = 128,
        n_anchors: int | None = None,
        r: float = 5,
        beta: float = 0.003,
        gamma: float = 0.01,
        lambda_: float = 1e-5,
        max_iter: int = 7,
        reference_view: int | str | None = None,
        n_init: int = 10,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.code_length = code_length
        self.n_anchors = n_anchors
        self.r = r
        self.beta = beta
        self.gamma = gamma
        self.lambda_ = lambda_
        self.max_iter = max_iter
        self.reference_view = reference_view
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def _cluster(self, data: MultiViewData) -> Clustering:
        anchor_seed, code_seed = self._seeds()
        anchor_rng, code_rng = map(np.random.RandomState, (anchor_seed, code_seed))
        m = self._anchor_count(data)
        self.code_length_ = min(self.code_length, m)
        self.anchors_ = [sampled_anchors(view, m, anchor_rng) for view in data.views]
        views = [
            kernel_view(centered_kernel(data, p, anchors), self.beta, self.gamma)
            for p, anchors in enumerate(self.anchors_)
        ]
        references = [views[p].K for p in self._references(data)]
        B = start_codes(references, self.code_length_, code_rng)
        C = B[code_rng.choice(len(data), self.n_clusters, replace=False)]
        found = BinarySolver(views, r=self.r, lambda_=self.lambda_).run(B, C, self.max_iter)
        clusters = restarted(found.B, found.clusters, self.n_init - 1, code_rng)
        self.codes_ = found.B.astype(np.int8)
        self.cluster_centers_ = clusters.C.astype(np.int8)
        objective = np.array(found.objective)
        objective[-1] -= self.lambda_ * (found.clusters.loss - clusters.loss)
        return Clustering(clusters.labels, found.weights, objective)

    def _anchor_count(self, data: MultiViewData) -> int:
        n = len(data)
        usual = max(2 * self.n_clusters, min(n // SAMPLES_PER_ANCHOR, MOST_ANCHORS))
        return min(n, self.n_anchors or usual)

    def _references(self, data: MultiViewData) -> list[int]:
        if self.reference_view is None:
            return list(range(len(data.views)))
        if isinstance(self.reference_view, str):
            return [data.names.index(self.reference_view)]
        return [int(self.reference_view)]

    def _require_possible(self, data: MultiViewData) -> None:
        super()._require_possible(data)
        wanted, n_views = self.reference_view, len(data.names)
        known = data.names if isinstance(wanted, str) else (None, *range(n_views))
        if wanted not in known:
            raise ValueError(
                f"reference_view={wanted!r} is none of the {n_views} views {list(data.names)}."
            )

    def _memory_needed(self, data: MultiViewData) -> float:
        n, n_views, m = len(data), len(data.views), self._anchor_count(data)
        length = min(self.code_length, m)
        widest = max(data.n_features_per_view)
        kernels = (n * data.dtype.itemsize + 24 * m) * m * n_views
        anchors = 8 * m * data.shape[1]
        blocks = 8 * 8 * (min(KERNEL_BLOCK, n * max(m, widest)) + m * m + m * widest)
        sampled = start_sample(n, length)
        start = 40 * sampled * (m * n_views + sampled)
        codes = n * (40 * length + 24 * self.n_clusters + 80)
        return kernels + anchors + blocks + max(start, codes)
