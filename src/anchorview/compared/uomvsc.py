"""UOMVSC: one-step clustering on graphs of the samples and of each view's spectral embedding."""

from collections.abc import Sequence
from numbers import Real

import numpy as np

from anchorview._utils.linalg import polar, polar_factor, unit_rows
from anchorview._utils.sklearn_compat import Interval
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import (
    BaselineResult,
    WeightedBaseline,
    fill_empty_clusters,
    iterations,
    progressed,
)
from anchorview.compared._neighbor_graphs import leading_eigenvectors, neighbor_affinity
from anchorview.compared._view_scaling import min_max_scaled_views
from anchorview.views.container import MultiViewData

EPS = float(np.finfo(np.float64).eps)


def scaled_indicator(labels: Array, n_clusters: int) -> Array:
    """``F = Y (Y'Y)^{-1/2}`` for the one-hot Y of the labels: orthonormal columns."""
    sizes = np.bincount(labels, minlength=n_clusters)
    F = np.zeros((len(labels), n_clusters))
    F[np.arange(len(labels)), labels] = 1 / np.sqrt(sizes[labels] + EPS)
    return F


def agreement_weights(affinities: Sequence[Matrix], H: Array, F: Array, w: Array) -> Array:
    """Weights proportional to ``max(tr(H'A_v F), 0)``, a unit vector; times the importance."""
    agreement = np.array([np.sum(H * (A @ F)) for A in affinities])
    weights = np.maximum(agreement, 0) + EPS
    return np.asarray(w * weights / np.linalg.norm(np.sqrt(w) * weights))


def membership_gains(G: Array, labels: Array) -> Array:
    """Gain of ``tr(G'F)`` if a sample is in a cluster (n, k), all other samples fixed.

    With cluster sizes q and sums ``a_c`` of ``G_ic`` over the members, this is
    ``(a_c + G_ic) / sqrt(q_c + 1) - a_c / sqrt(q_c)`` for a sample outside the cluster and
    ``a_c / sqrt(q_c) - (a_c - G_ic) / sqrt(q_c - 1)`` for a member.
    """
    n, k = G.shape
    members = G[np.arange(n), labels]
    sums = np.bincount(labels, weights=members, minlength=k)
    sizes = np.bincount(labels, minlength=k) + EPS
    gains = (sums + G) / np.sqrt(sizes + 1) - sums / np.sqrt(sizes)
    a, q = sums[labels], sizes[labels]
    gains[np.arange(n), labels] = a / np.sqrt(q) - (a - members) / np.sqrt(q - 1)
    return gains


def fuse_graphs(
    model: "UOMVSC",
    graphs: Sequence[Matrix],
    partitions: Sequence[Matrix],
    H: Array,
    labels: Array,
    importance: Array,
) -> tuple[Array, Array, Array, Array, list[float]]:
    """Increase ``tr(H'A*F)``, ``A* = (1 - lambda) sum alpha_v A_v + lambda sum beta_v B_v``.

    Weights and H are exact maxima. All samples move at once, each to where it alone gains most,
    which can decrease the objective. Returns labels, H, alpha, beta and the objectives.
    """
    k, lambda_ = model.n_clusters, model.lambda_
    F = scaled_indicator(labels, k)
    objective: list[float] = []
    for _ in iterations(objective, model.max_iter, model.tol):
        alpha = agreement_weights(graphs, H, F, importance)
        beta = agreement_weights(partitions, H, F, importance)
        weights = [*((1 - lambda_) * alpha), *(lambda_ * beta)]
        A = sum(w * M for w, M in zip(weights, [*graphs, *partitions], strict=True))
        H, _ = polar(A @ F)
        G = A @ H
        gains = membership_gains(G, labels)
        labels = fill_empty_clusters(gains.argmax(axis=1), -gains.max(axis=1), k)
        F = scaled_indicator(labels, k)
        objective.append(float(np.sum(G * F)))
    return labels, H, alpha, beta, objective


def view_affinities(
    data: MultiViewData, n_clusters: int, n_neighbors: int, importance: Array
) -> tuple[list[Matrix], list[Matrix]]:
    """A and B of each view, and finally of the concatenated views."""
    roots = np.sqrt(importance).astype(data.dtype)
    views = [X * root for X, root in zip(min_max_scaled_views(data), roots, strict=True)]
    groups = [*([view] for view in views), views]
    graphs: list[Matrix] = []
    partitions: list[Matrix] = []
    for group in progressed(groups):
        graphs.append(neighbor_affinity(group, n_neighbors))
        embedding = unit_rows(leading_eigenvectors(graphs[-1], n_clusters))
        partitions.append(neighbor_affinity([embedding], n_neighbors))
    return graphs, partitions


class UOMVSC(WeightedBaseline, ranges={"lambda_": [Interval(Real, 0, 1, closed="both")]}):
    r"""Unified one-step multi-view spectral clustering.

    Each view, and the concatenation of all views as one more, gets the normalized affinity
    :math:`A_v` of nearest neighbors, and the normalized affinity :math:`B_v` of nearest neighbors
    in its spectral embedding. Labels :math:`Y` come from their weighted sum without K-means:

    .. math::

        \max \operatorname{tr}(H^\top A^* F), \quad
        A^* = (1 - \lambda) \sum_v \alpha_v A_v + \lambda \sum_v \beta_v B_v
        \quad\text{s.t. } H^\top H = I,\ F = Y (Y^\top Y)^{-1/2},\ Y \text{ one-hot},\
        \|\alpha\|_2 = \|\beta\|_2 = 1,\ \alpha, \beta \ge 0.

    Parameters
    ----------
    lambda_ : float, default=0.5
        Weight of the graphs of the embeddings relative to those of the samples, between 0 and 1.
    %(view_importance)s
    %(n_neighbors)s
    %(max_iter)s
    %(tol)s
    n_init : int, default=20
        Number of K-means runs for the initial labels; the run with the lowest inertia is kept.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        :math:`H`, with orthonormal columns.
    views_ : DataFrame
        By view: its `weight`, from ``(1 - lambda_) * graph_weights_ + lambda_ *
        partition_weights_`` of the given views, normalized to sum to 1.
    graph_weights_ : ndarray of shape (n_views + 1,)
        :math:`\alpha`; the last one is that of the concatenated views.
    partition_weights_ : ndarray of shape (n_views + 1,)
        :math:`\beta`; the last one is that of the concatenated views.
    %(objective_)s
        It usually increases.

    Notes
    -----
    Features are scaled to the range from 0 to 1 first. Constant features do not count; a view with
    only constant features raises an error. Sparse views stay sparse.

    %(neighbor_graph_notes)s

    Only the update of the labels, which moves all samples at once, can decrease the objective.

    Differences from the authors' program: it chooses `lambda_` by the true classes, and leaves
    empty clusters empty; here an empty cluster takes the sample that gains least from its cluster.
    Its initial H has arbitrary signs and order, so the first weights are arbitrary, even negative;
    here H is first rotated to the initial labels, and a negative agreement gives weight 0.

    References
    ----------
    C. Tang, Z. Li, J. Wang, X. Liu, W. Zhang, E. Zhu, "Unified One-Step Multi-View Spectral
    Clustering", IEEE Transactions on Knowledge and Data Engineering, 2023.
    """

    lambda_: float = 0.5
    n_neighbors: int = 15
    max_iter: int = 30
    tol: float = 1e-6
    n_init: int = 20

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        k, lambda_ = self.n_clusters, self.lambda_
        importance = self._importance(data)
        graphs, partitions = view_affinities(data, k, self.n_neighbors, importance)
        H = leading_eigenvectors((1 - lambda_) * graphs[-1] + lambda_ * partitions[-1], k)
        labels = self._kmeans_labels(H, normalize=True)
        H = H @ polar_factor(H.T @ scaled_indicator(labels, k))
        # The concatenated views are one more.
        labels, H, alpha, beta, objective = fuse_graphs(
            self, graphs, partitions, H, labels, np.append(importance, 1.0)
        )
        self.graph_weights_, self.partition_weights_ = alpha, beta
        weights = ((1 - lambda_) * alpha + lambda_ * beta)[:-1]
        return BaselineResult(labels, objective, weights / weights.sum(), H)
