"""AMGL: spectral clustering of several graphs, weighted by the solution itself."""

from collections.abc import Sequence

import numpy as np

from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import BaselineResult, WeightedBaseline, iterations, progressed
from anchorview.compared._neighbor_graphs import leading_eigenvectors, neighbor_affinity
from anchorview.compared._view_scaling import column_ranges
from anchorview.views.container import MultiViewData

MIN_TRACE = 1e-8
"""Lower bound of a view's trace, as a share of the number of clusters."""


def laplacian_traces(affinities: Sequence[Matrix], F: Array) -> Array:
    """``t_v = tr(F' L_v F)`` for orthonormal columns F and ``L_v = I - A_v``."""
    k = F.shape[1]
    t = np.array([k - np.sum(F * (A @ F)) for A in affinities])
    return np.maximum(t, MIN_TRACE * k)


def joint_eigenvectors(
    model: "AMGL", affinities: Sequence[Matrix], w: Array
) -> tuple[Array, Array, list[float]]:
    """Minimize ``sum_v w_v sqrt(tr(F' L_v F))``, w the importance, over F with orthonormal columns.

    In turn, F holds the leading eigenvectors of ``sum_v alpha_v A_v``, and
    ``alpha_v = w_v / (2 sqrt(t_v))``, the slope of the concave root, so the objective never
    increases. Returns F, alpha and the objective after each iteration.
    """
    alpha = w / len(affinities)
    objective: list[float] = []
    for _ in iterations(objective, model.max_iter, model.tol):
        shares = alpha / alpha.sum()
        mean = sum(share * A for share, A in zip(shares, affinities, strict=True))
        F = leading_eigenvectors(mean, model.n_clusters)
        roots = np.sqrt(laplacian_traces(affinities, F))
        alpha = w / (2 * roots)
        objective.append(float((w * roots).sum()))
    return F, alpha, objective


class AMGL(WeightedBaseline):
    r"""Auto-weighted multiple graph learning (parameter-free).

    Each view gets a nearest-neighbor graph with normalized Laplacian :math:`L_v`. All views share
    one spectral embedding :math:`F`; K-means clusters its rows:

    .. math::

        \min_{F^\top F = I} \sum_v \sqrt{\operatorname{tr}(F^\top L_v F)}.

    The root gives each view the weight :math:`\alpha_v = 1 / (2 \sqrt{\operatorname{tr}(F^\top L_v
    F)})` in the eigenproblem for the next :math:`F`.

    Parameters
    ----------
    %(view_importance)s
    %(n_neighbors)s
    %(max_iter)s
    %(tol)s

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        :math:`F`, with orthonormal columns.
    views_ : DataFrame
        By view: its `weight`, :math:`\alpha`, normalized to sum to 1.
    %(objective_)s
        It never increases.

    Notes
    -----
    %(neighbor_graph_notes)s

    As in the paper, views are not scaled: within a view, features with larger values count more.
    The unit of a whole view and constant features do not matter. A view that is constant up to
    rounding raises an error.

    The authors' program takes the nearest sample for the sample itself, even among duplicates, and
    runs K-means once. F has orthonormal columns, so with fewer distinct samples than clusters,
    duplicates are spread over clusters. If the graph of a view has as many components as there are
    clusters, its trace can be 0; here it counts as at least ``1e-8 * n_clusters``, so that the view
    dominates and the other views choose among its solutions. Clusters that K-means leaves empty
    give a ConvergenceWarning.

    References
    ----------
    F. Nie, J. Li, X. Li, "Parameter-Free Auto-Weighted Multiple Graph Learning: A Framework for
    Multiview Clustering and Semi-Supervised Classification", International Joint Conference on
    Artificial Intelligence (IJCAI), 2016.
    """

    normalize_embedding = False

    n_neighbors: int = 5
    max_iter: int = 100
    tol: float = 1e-8
    n_init: int = 10

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        affinities = []
        for p, view in enumerate(progressed(data.views)):
            # Raises if a view is constant: its neighbors would be decided by rounding.
            column_ranges(data, p)
            affinities.append(neighbor_affinity([view], self.n_neighbors))
        F, alpha, objective = joint_eigenvectors(self, affinities, self._importance(data))
        labels = self._kmeans_labels(F)
        return BaselineResult(labels, objective, alpha / alpha.sum(), F)
