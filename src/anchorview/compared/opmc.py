"""OPMC: one-pass multi-view clustering."""

import heapq
from collections.abc import Iterator
from numbers import Integral, Real
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from anchorview._utils.sklearn_compat import Interval, StrOptions
from anchorview.compared._base import Clustering, ComparedMethod
from anchorview.compared._opmc_solver import CenteredView, OnePassSolver, Run, centered_views
from anchorview.core.assign import FINALISTS, SAMPLE
from anchorview.core.cost_model import block_memory
from anchorview.views.container import MultiViewData

_value = attrgetter("value")


class OPMC(ComparedMethod):
    r"""One-pass multi-view clustering.

    Every view :math:`X_v` (n samples, :math:`d_v` features) is factorized into centroids
    :math:`C_v` in a latent space with orthonormal basis :math:`W_v`; all views share the one-hot
    partition :math:`Y`, so no clustering step follows:

    .. math::

        \min \frac1V \sum_v \|X_v - Y C_v W_v\|_F^2
        \quad\text{s.t. } W_v W_v^\top = I,\ Y \text{ one-hot}.

    The three factors are found in turn, each exactly, from random partitions; the run that ends
    with the least objective is kept. **With as many components as clusters, as published, this is
    K-means** (Lloyd's iteration) on the scaled views side by side.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at least 2.
    n_components : int, default=None
        Dimensions of the latent space, c. None: `n_clusters`, as published. A view with fewer
        features keeps all its dimensions.
    scaling : {"rows", "features", "none"}, default="rows"
        What is done to each view first: every sample to mean 0 and deviation 1 over its features,
        which the published numbers come from (as far as the layout of the authors' files tells);
        every feature to mean 0 and deviation 1; nothing. Rows suit text, histograms and other
        profiles, where the pattern over the features tells and not its level; features suit
        measurements in different units; nothing suits features in one unit, whose spread matters.
    n_init : int, default=100
        Random starts.
    max_iter : int, default=200
        Most sweeps from each start.
    tol : float, default=1e-5
        Stop when the objective changes by less than this, relatively.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    verbose : int, default=0
        1 prints the number of iterations and the time.

    Attributes
    ----------
    labels_ : array (n,) of int32
        Cluster of each sample; every cluster has samples.
    cluster_centers_ : list of arrays (n_clusters, d_v)
        Centroids ``C_v W_v`` in each scaled view.
    view_weights_ : array (n_views,)
        The same for all views.
    objective_ : array (n_iter_,)
        The objective before each sweep of the run that was kept, which is what the stopping rule
        looks at; it never increases.
    n_iter_ : int
        Sweeps of the run that was kept.
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
    A sweep takes time O(n k D) for D features in all; memory is a copy of the data and O(n k).
    With more than 40,000 samples the starts run on 20,000 of them, and the best three go on to
    all.

    The authors' program has no limit on sweeps. A cluster that loses all its samples has its
    centroid at the origin there; here it takes the sample that fits its own cluster worst, and
    starts from that, which never increases the objective. The program's first objective belongs
    to an arbitrary ``W_v``; here it is that of the starting partition with its best factors.

    Samples whose features are all equal become zeros under ``scaling="rows"``; a view with one or
    two features, of which that would leave a sign at most, has its features standardized over the
    samples instead. Constant features become zeros under ``scaling="features"``. A view of which
    these leave nothing but zeros is refused. Sparse views become dense for ``scaling="rows"`` only.

    References
    ----------
    J. Liu, X. Liu, Y. Yang, L. Liu, S. Wang, W. Liang, J. Shi, "One-pass Multi-view Clustering for
    Large-scale Data", IEEE/CVF International Conference on Computer Vision, 2021.

    Examples
    --------
    >>> from anchorview import make_multiview
    >>> from anchorview.compared import OPMC
    >>> from anchorview.metrics import clustering_accuracy
    >>> views, y = make_multiview(200, n_clusters=3, n_features=(20, 10), random_state=0)
    >>> model = OPMC(n_clusters=3, n_init=10, random_state=0).fit(views)
    >>> clustering_accuracy(y, model.labels_) > 0.9
    True
    >>> [centers.shape for centers in model.cluster_centers_]
    [(3, 20), (3, 10)]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ComparedMethod._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "scaling": [StrOptions({"rows", "features", "none"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_components: int | None = None,
        scaling: str = "rows",
        n_init: int = 100,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.scaling = scaling
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _cluster(self, data: MultiViewData) -> Clustering:
        views = centered_views(data, self.scaling)  # type: ignore[arg-type]
        best = self._best_run(views, np.random.RandomState(self._seeds()[0]))
        self.cluster_centers_ = best.centroids
        weights = np.full(len(views), 1 / len(views))
        return Clustering(best.labels, weights, np.array(best.objective))

    def _best_run(self, views: list[CenteredView], rng: np.random.RandomState) -> Run:
        n = len(views[0].squares)
        solver = self._solver(views)
        if n <= 2 * SAMPLE or self.n_init <= FINALISTS:
            return min(self._heats(solver, rng, self.n_init), key=_value)
        rows = np.sort(rng.choice(n, SAMPLE, replace=False))
        sample = self._solver([view.rows(rows) for view in views])
        total = self.n_init + FINALISTS
        finals: list[Run] = []
        for heat in heapq.nsmallest(FINALISTS, self._heats(sample, rng, total), key=_value):
            labels = solver.nearest(heat.C, heat.W)
            place = (self.n_init + len(finals), total)
            finals.append(solver.run(labels, heat.C, self.max_iter, self.tol, place))
        return min(finals, key=_value)

    def _heats(
        self, solver: OnePassSolver, rng: np.random.RandomState, total: int
    ) -> Iterator[Run]:
        for place in range(self.n_init):
            yield solver.run(*solver.start(rng), self.max_iter, self.tol, (place, total))

    def _solver(self, views: list[CenteredView]) -> OnePassSolver:
        return OnePassSolver(views, self.n_clusters, self.n_components or self.n_clusters)

    def _memory_needed(self, data: MultiViewData) -> float:
        n, width = data.shape
        copies = 0.0
        for view, d in zip(data.views, data.n_features_per_view, strict=True):
            kept_sparse = sparse.issparse(view) and self.scaling != "rows"
            copies += 20 * view.nnz if kept_sparse else n * d * data.dtype.itemsize
        sampled = copies * SAMPLE / n if n > 2 * SAMPLE else 0
        blocks = 2 * block_memory(data)
        sweep = n * (32 * self.n_clusters + 120) + 64 * self.n_clusters * width
        return copies + sampled + blocks + sweep
