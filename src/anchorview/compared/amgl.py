"""AMGL: spectral clustering of several graphs whose weights follow from the solution."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from anchorview._utils.progress import report_progress
from anchorview._utils.sklearn_compat import Interval
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import Clustering, ComparedMethod
from anchorview.compared._neighbor_graphs import (
    building_memory,
    eigenvector_memory,
    graph_memory,
    leading_eigenvectors,
    neighbor_graph,
    normalized_affinity,
)
from anchorview.compared._view_scaling import column_ranges
from anchorview.views.container import MultiViewData

LEAST_TRACE = 1e-8
"""Share of the number of clusters that a view's trace counts as at least."""


def traces(affinities: Sequence[Matrix], F: Array) -> Array:
    """``t_v = tr(F' L_v F)`` of orthonormal columns F, for ``L_v = I - A_v``."""
    k = F.shape[1]
    t = np.array([k - np.sum(F * (A @ F)) for A in affinities])
    return np.maximum(t, LEAST_TRACE * k)


def joint_eigenvectors(
    affinities: Sequence[Matrix], n_clusters: int, *, max_iter: int, tol: float
) -> tuple[Array, Array, list[float]]:
    """Minimize ``sum_v sqrt(tr(F' L_v F))`` over F with orthonormal columns.

    In turn, F is the eigenvectors of the smallest eigenvalues of ``sum_v alpha_v L_v``, which are
    those of the largest of ``sum_v alpha_v A_v``, and ``alpha_v = 1 / (2 sqrt(t_v))``: the slope of
    the concave root, so the objective never increases.

    Returns
    -------
    F : array (n, n_clusters)
    alpha : array (n_views,)
    objective : list of float
        After each iteration.
    """
    alpha = np.full(len(affinities), 1 / len(affinities))
    objective: list[float] = []
    for iteration in range(1, max_iter + 1):
        shares = alpha / alpha.sum()
        F = leading_eigenvectors(
            sum(share * A for share, A in zip(shares, affinities, strict=True)), n_clusters
        )
        roots = np.sqrt(traces(affinities, F))
        alpha = 1 / (2 * roots)
        objective.append(float(roots.sum()))
        report_progress("iterating", iteration, max_iter)
        if iteration >= 3 and objective[-2] - objective[-1] < tol * objective[-2]:
            break
    return F, alpha, objective


class AMGL(ComparedMethod):
    r"""Auto-weighted multiple graph learning (parameter-free).

    Every view gets a graph of nearest neighbors with the normalized Laplacian :math:`L_v`; all
    views share one spectral embedding :math:`F`, whose rows are clustered by K-means:

    .. math::

        \min_{F^\top F = I} \sum_v \sqrt{\operatorname{tr}(F^\top L_v F)}.

    The root makes each view weigh :math:`\alpha_v = 1 / (2 \sqrt{\operatorname{tr}(F^\top L_v
    F)})` in the eigenproblem that gives the next :math:`F`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at least 2.
    n_neighbors : int, default=5
        Neighbors of a sample that get a weight in a view's graph; at most the number of samples
        less 2.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-8
        Stop, from the third iteration on, when the objective falls by less than this, relatively.
    n_init : int, default=10
        K-means restarts; the one with least inertia is kept.
    random_state : int, RandomState instance or None, default=None
        Seed of K-means.
    verbose : int, default=0
        1 prints the time taken.

    Attributes
    ----------
    labels_ : array (n,) of int32
        Cluster of each sample.
    embedding_ : array (n, n_clusters)
        F: orthonormal columns, one row a sample.
    view_weights_ : array (n_views,)
        Shares of alpha; they sum to 1.
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
    The time is that of the graphs, which grows with the square of the number of samples (all
    distances are looked at), and of one sparse eigenproblem an iteration. Memory grows with the
    number of samples only: no matrix of all pairs is made, where the authors' program makes one
    for each view.

    As in the paper, views are taken as they come: within a view, features with larger values count
    for more, so scale them first where units differ. The unit of a whole view does not matter,
    nor do constant features. A view that is constant, be it but for rounding, is refused. A view
    may have fewer features than there are clusters: only its distances count.

    The authors' program takes the nearest sample for the sample itself, which need not be so among
    duplicates; here a sample is never its own neighbor. A sample with more than `n_neighbors`
    duplicates (or others that are all equally near) gives the same weight to `n_neighbors` of them,
    and which ones depends on the order of the rows. F has orthonormal columns and so at least as
    many different rows as there are clusters: with fewer different samples, duplicates are divided
    among clusters. Should K-means still leave one empty, because rows differ by rounding only, it
    warns (ConvergenceWarning), as do eigenvectors that have not converged.

    If a view's graph has as many components as there are clusters, its trace can become 0 and its
    weight infinite; here a trace counts as at least ``1e-8 * n_clusters``, so that the view decides
    and the others choose among the solutions that it leaves open. The program runs K-means once;
    here the best of `n_init` runs is kept.

    References
    ----------
    F. Nie, J. Li, X. Li, "Parameter-Free Auto-Weighted Multiple Graph Learning: A Framework for
    Multiview Clustering and Semi-Supervised Classification", International Joint Conference on
    Artificial Intelligence (IJCAI), 2016.

    Examples
    --------
    >>> from anchorview import make_multiview
    >>> from anchorview.compared import AMGL
    >>> from anchorview.metrics import clustering_accuracy
    >>> views, y = make_multiview(200, n_clusters=3, n_features=(12, 9), random_state=0)
    >>> model = AMGL(n_clusters=3, random_state=0).fit(views)
    >>> clustering_accuracy(y, model.labels_) > 0.9
    True
    """

    normalize_embedding: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ComparedMethod._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 5,
        max_iter: int = 100,
        tol: float = 1e-8,
        n_init: int = 10,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def _cluster(self, data: MultiViewData) -> Clustering:
        affinities = []
        for p, view in enumerate(data.views):
            # Neighbors in a view that varies by rounding only would be those of the rounding.
            column_ranges(data, p)
            affinities.append(normalized_affinity(neighbor_graph([view], self.n_neighbors)))
            report_progress("building graphs", p + 1, len(data.views))
        F, alpha, objective = joint_eigenvectors(
            affinities, self.n_clusters, max_iter=self.max_iter, tol=self.tol
        )
        labels = self._by_kmeans(F, normalize=self.normalize_embedding)
        return Clustering(labels, alpha / alpha.sum(), np.array(objective), F)

    def _memory_needed(self, data: MultiViewData) -> float:
        n, n_views = len(data), len(data.views)
        building = max(building_memory([view], self.n_neighbors) for view in data.views)
        # The sum of the graphs has at most as many entries as all of them, and is added up twice.
        solving = eigenvector_memory(n, self.n_clusters) + 2 * n_views * graph_memory(
            n, self.n_neighbors
        )
        return n_views * graph_memory(n, self.n_neighbors) + max(building, solving)
