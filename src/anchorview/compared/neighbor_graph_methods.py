"""AMGL, UOMVSC and Leiden: each view has a graph of nearest neighbors."""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from scipy import sparse

from anchorview._utils.errors import optional_import
from anchorview._utils.linalg import polar, polar_factor, unit_rows
from anchorview._utils.sklearn_compat import N_CLUSTERS, Interval
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import (
    Baseline,
    BaselineResult,
    WeightedBaseline,
    fill_empty_clusters,
    iterations,
    progressed,
)
from anchorview.compared._views import (
    column_ranges,
    dense_views,
    leading_eigenvectors,
    min_max_scaled_views,
    neighbor_affinity,
    neighbor_graph,
)
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
    """Minimize ``sum_v w_v sqrt(tr(F' L_v F))``, w the importance; returns F, alpha, objectives.

    In turn, F holds the leading eigenvectors of ``sum_v alpha_v A_v``, and
    ``alpha_v = w_v / (2 sqrt(t_v))`` is the slope of the concave root.
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


EPS = float(np.finfo(np.float64).eps)


def scaled_indicator(labels: Array, n_clusters: int) -> Array:
    """``F = Y (Y'Y)^{-1/2}`` for the one-hot Y of the labels: orthonormal columns."""
    sizes = np.bincount(labels, minlength=n_clusters)
    return np.eye(n_clusters)[labels] / np.sqrt(sizes + EPS)


def agreement_weights(affinities: Sequence[Matrix], H: Array, F: Array, w: Array) -> Array:
    """Weights proportional to ``max(tr(H'A_v F), 0)``, a unit vector; times the importance."""
    agreement = np.array([np.sum(H * (A @ F)) for A in affinities])
    weights = np.maximum(agreement, 0) + EPS
    return np.asarray(w * weights / np.linalg.norm(np.sqrt(w) * weights))


def membership_gains(G: Array, labels: Array) -> Array:
    """Gain of ``tr(G'F)`` if a sample is in a cluster (n, k), all other samples fixed.

    With cluster sizes q and sums ``a_c`` over the members: ``(a_c + G_ic) / sqrt(q_c + 1) -
    a_c / sqrt(q_c)`` outside, and ``a_c / sqrt(q_c) - (a_c - G_ic) / sqrt(q_c - 1)`` for members.
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

    All samples move at once, each to where it alone gains most, which can decrease the objective.
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


LOG_RESOLUTIONS, MAX_RESOLUTIONS = (-8.0, 8.0), 21
"""Range of the base-2 logarithm of resolutions, and how many are tried to find a number."""


class GraphLeiden(Baseline, ranges={"n_clusters": [*N_CLUSTERS, None]}):
    r"""Leiden communities of the mean of the views' neighbor graphs.

    With the mean :math:`W` of the nearest-neighbor graphs of the standardized views, degrees
    :math:`d` and the sum :math:`w` of all weights, the communities maximize the modularity at a
    resolution :math:`\gamma`:

    .. math::

        \max \frac{1}{w} \sum_{ij} \Big(W_{ij} - \gamma \frac{d_i d_j}{w}\Big) [l_i = l_j].

    It needs ``pip install "anchorview[leiden]"``.

    Parameters
    ----------
    n_clusters : int or None, default=8
        Number of clusters, at least 2. The resolution is found by bisection; if none has as many
        communities, the nearest number is returned. None means the communities at resolution 1.
    %(n_neighbors)s
    random_state : int, RandomState instance or None, default=None
        Determines the order in which samples are moved. Pass an int for reproducible results.

    Attributes
    ----------
    n_clusters_ : int
        Number of communities.
    resolution_ : float
        :math:`\gamma`.
    %(equal_views_)s
    objective_ : ndarray of shape (1,)
        Modularity at `resolution_`.

    Notes
    -----
    The graph of a view is that of :class:`UOMVSC`. Clusters are numbered by descending size. A
    graph with more components than `n_clusters` has at least as many communities.

    %(neighbor_graph_notes)s

    References
    ----------
    V. Traag, L. Waltman, N. J. van Eck, "From Louvain to Leiden: Guaranteeing Well-Connected
    Communities", Scientific Reports, 2019.

    Examples
    --------
    >>> from anchorview.compared import GraphLeiden
    >>> GraphLeiden(n_clusters=None)
    GraphLeiden(n_clusters=None)
    """

    n_neighbors: int = 15

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        leiden = optional_import("leidenalg", "Leiden communities", "leiden")
        igraph = optional_import("igraph", "Leiden communities", "leiden")
        views = progressed(dense_views(data, "features"))
        graphs = [neighbor_graph([view], self.n_neighbors) for view in views]
        edges = sparse.triu(sum(graphs) / len(graphs), 1).tocoo()
        graph = igraph.Graph(len(data), np.column_stack(edges.coords))
        seed = int(self._seeds()[0])

        wanted: int | None = self.n_clusters
        tried = {}
        middle, (low, high) = 0.0, LOG_RESOLUTIONS
        for _ in range(MAX_RESOLUTIONS):
            found = leiden.find_partition(
                graph,
                leiden.RBConfigurationVertexPartition,
                weights=edges.data,
                resolution_parameter=2.0**middle,
                n_iterations=-1,
                seed=seed,
            )
            labels, quality = np.array(found.membership), found.quality() / (2 * edges.data.sum())
            count = int(labels.max()) + 1
            tried[2.0**middle] = labels, quality, count
            if wanted is None or count == wanted:
                break
            low, high = (middle, high) if count < wanted else (low, middle)
            middle = (low + high) / 2
        self.resolution_ = min(tried, key=lambda each: abs(tried[each][2] - (wanted or 0)))
        labels, quality, self.n_clusters_ = tried[self.resolution_]
        return BaselineResult(labels, [quality])
