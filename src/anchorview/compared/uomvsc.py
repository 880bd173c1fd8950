"""UOMVSC: one-pass clustering on graphs of the samples and of each view's spectral embedding."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import polar, polar_factor, unit_rows
from anchorview._utils.progress import report_progress
from anchorview._utils.sklearn_compat import Interval
from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import Clustering, ComparedMethod
from anchorview.compared._empty_clusters import without_empties
from anchorview.compared._neighbor_graphs import (
    building_memory,
    eigenvector_memory,
    graph_memory,
    leading_eigenvectors,
    neighbor_graph,
    normalized_affinity,
)
from anchorview.compared._view_scaling import min_max_scaled_views
from anchorview.views.container import MultiViewData

EPS = float(np.finfo(np.float64).eps)


def affinity_pair(
    views: Sequence[Matrix], n_clusters: int, n_neighbors: int
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Affinities of the samples in some views side by side, and in their spectral embedding.

    The embedding is the leading eigenvectors of the first, with rows of length 1.
    """
    A = normalized_affinity(neighbor_graph(views, n_neighbors))
    embedding = unit_rows(leading_eigenvectors(A, n_clusters))
    return A, normalized_affinity(neighbor_graph([embedding], n_neighbors))


def scaled_indicator(labels: Array, n_clusters: int) -> Array:
    """``F = Y (Y'Y)^{-1/2}`` of the membership matrix Y: orthonormal columns."""
    sizes = np.bincount(labels, minlength=n_clusters)
    F = np.zeros((len(labels), n_clusters))
    F[np.arange(len(labels)), labels] = 1 / np.sqrt(sizes[labels] + EPS)
    return F


def agreement_weights(affinities: Sequence[Matrix], H: Array, F: Array) -> Array:
    """Weights of length 1 in proportion to ``tr(H'A_v F)``, where that is positive."""
    agreement = np.array([np.sum(H * (A @ F)) for A in affinities])
    weights = np.maximum(agreement, 0) + EPS
    return weights / np.linalg.norm(weights)


def membership_scores(G: Array, labels: Array) -> Array:
    """What ``tr(G'F)`` gains by each sample's being in each cluster, all others staying.

    With cluster sizes q and sums ``a_c`` of ``G_ic`` over the members, this is
    ``(a_c + G_ic) / sqrt(q_c + 1) - a_c / sqrt(q_c)`` for a sample outside the cluster and
    ``a_c / sqrt(q_c) - (a_c - G_ic) / sqrt(q_c - 1)`` for a member.
    """
    n, k = G.shape
    own = G[np.arange(n), labels]
    sums = np.bincount(labels, weights=own, minlength=k)
    sizes = np.bincount(labels, minlength=k) + EPS
    scores = (sums + G) / np.sqrt(sizes + 1) - sums / np.sqrt(sizes)
    a, q = sums[labels], sizes[labels]
    scores[np.arange(n), labels] = a / np.sqrt(q) - (a - own) / np.sqrt(q - 1)
    return scores


@dataclass(frozen=True)
class Fusion:
    """Result of :func:`fuse`."""

    labels: Array
    H: Array
    alpha: Array
    beta: Array
    objective: list[float]


def fuse(
    graphs: Sequence[Matrix],
    partitions: Sequence[Matrix],
    H: Array,
    labels: Array,
    *,
    lambda_: float,
    max_iter: int,
    tol: float,
) -> Fusion:
    """Increase ``tr(H'A*F)``, ``A* = (1 - lambda) sum alpha_v A_v + lambda sum beta_v B_v``.

    Weights and H are exact maxima, but all samples move at once to where each alone would gain
    most, so the objective can fall.

    Parameters
    ----------
    graphs, partitions : sequences of sparse matrices (n, n)
        A_v and B_v.
    H : array (n, k)
        Start, with orthonormal columns.
    labels : array (n,)
        Start.
    """
    k = H.shape[1]
    F = scaled_indicator(labels, k)
    objective: list[float] = []
    for iteration in range(1, max_iter + 1):
        alpha = agreement_weights(graphs, H, F)
        beta = agreement_weights(partitions, H, F)
        weights = [*((1 - lambda_) * alpha), *(lambda_ * beta)]
        A = sum(w * M for w, M in zip(weights, [*graphs, *partitions], strict=True))
        H, _ = polar(A @ F)
        G = A @ H
        scores = membership_scores(G, labels)
        labels = without_empties(scores.argmax(axis=1), -scores.max(axis=1), k)
        F = scaled_indicator(labels, k)
        objective.append(float(np.sum(G * F)))
        report_progress("iterating", iteration, max_iter)
        if iteration >= 3 and abs(objective[-1] - objective[-2]) < tol * abs(objective[-2]):
            break
    return Fusion(labels, H, alpha, beta, objective)


class UOMVSC(ComparedMethod):
    r"""Unified one-step multi-view spectral clustering.

    Every view, and all views side by side as one more, gets the normalized affinity :math:`A_v` of
    its samples' nearest neighbors, and the normalized affinity :math:`B_v` of nearest neighbors
    in its spectral embedding. Labels :math:`Y` come from their weighted sum without K-means:

    .. math::

        \max \operatorname{tr}(H^\top A^* F), \quad
        A^* = (1 - \lambda) \sum_v \alpha_v A_v + \lambda \sum_v \beta_v B_v
        \quad\text{s.t. } H^\top H = I,\ F = Y (Y^\top Y)^{-1/2},\ Y \text{ one-hot},\
        \|\alpha\|_2 = \|\beta\|_2 = 1,\ \alpha, \beta \ge 0.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at least 2.
    lambda_ : float, default=0.5
        Weight of the embeddings' graphs against the samples' own, from 0 to 1.
    n_neighbors : int, default=15
        Neighbors of a sample that get a weight in a graph; at most the number of samples less 2.
    max_iter : int, default=30
        Most iterations.
    tol : float, default=1e-6
        Stop, from the third iteration on, when the objective changes by less than this, relatively.
    n_init : int, default=20
        Restarts of the K-means that gives the first labels; the one with least inertia is kept.
    random_state : int, RandomState instance or None, default=None
        Seed of K-means.
    verbose : int, default=0
        1 prints the time taken.

    Attributes
    ----------
    labels_ : array (n,) of int32
        Cluster of each sample.
    embedding_ : array (n, n_clusters)
        H: orthonormal columns, one row a sample.
    view_weights_ : array (n_views,)
        Shares of ``(1 - lambda_) * graph_weights_ + lambda_ * partition_weights_`` among the given
        views; they sum to 1.
    graph_weights_ : array (n_views + 1,)
        alpha; the last is that of all views side by side. Its squares sum to 1.
    partition_weights_ : array (n_views + 1,)
        beta; the last is that of all views side by side. Its squares sum to 1.
    objective_ : array (n_iter_,)
        The objective after every iteration; it usually rises, but need not.
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
    Features are brought to the range from 0 to 1 first; constant ones do not count, and a view of
    none but constant ones is refused. Sparse views stay sparse. A view may have fewer features than
    there are clusters: only its distances count.

    The time is that of the graphs, which grows with the square of the number of samples (all
    distances are looked at), of one sparse eigenproblem a view, and of sparse products in the
    iterations. Memory grows with the number of samples only: no matrix of all pairs is made, where
    the authors' program makes two for each view.

    The steps for the weights and for H never lower the objective; the step for the labels moves all
    samples at once, each as if the others stayed, and can. The authors' program chooses `lambda_`
    with the true classes; nothing here does. It leaves clusters empty that have lost all samples;
    here such a cluster takes the sample that gains least by being where it is. It starts H from
    eigenvectors whose signs and order are arbitrary, so that the first weights are too, even
    negative; here the eigenvectors are first turned to agree best with the first labels, and a
    negative agreement gives weight 0. A sample is never its own neighbor, even among duplicates;
    if more than `n_neighbors` others are all equally near, it gives the same weight to
    `n_neighbors` of them, and which ones depends on the order of the rows.

    References
    ----------
    C. Tang, Z. Li, J. Wang, X. Liu, W. Zhang, E. Zhu, "Unified One-Step Multi-View Spectral
    Clustering", IEEE Transactions on Knowledge and Data Engineering, 2023.

    Examples
    --------
    >>> from anchorview import make_multiview
    >>> from anchorview.compared import UOMVSC
    >>> from anchorview.metrics import clustering_accuracy
    >>> views, y = make_multiview(200, n_clusters=3, n_features=(12, 9), random_state=0)
    >>> model = UOMVSC(n_clusters=3, random_state=0).fit(views)
    >>> clustering_accuracy(y, model.labels_) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ComparedMethod._parameter_constraints,
        "lambda_": [Interval(Real, 0, 1, closed="both")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        lambda_: float = 0.5,
        n_neighbors: int = 15,
        max_iter: int = 30,
        tol: float = 1e-6,
        n_init: int = 20,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.lambda_ = lambda_
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def _cluster(self, data: MultiViewData) -> Clustering:
        graphs, partitions = self._affinities(data)
        H, labels = self._start((1 - self.lambda_) * graphs[-1] + self.lambda_ * partitions[-1])
        lambda_, max_iter, tol = self.lambda_, self.max_iter, self.tol
        found = fuse(graphs, partitions, H, labels, lambda_=lambda_, max_iter=max_iter, tol=tol)
        self.graph_weights_ = found.alpha
        self.partition_weights_ = found.beta
        weights = ((1 - self.lambda_) * found.alpha + self.lambda_ * found.beta)[:-1]
        return Clustering(found.labels, weights / weights.sum(), np.array(found.objective), found.H)

    def _affinities(self, data: MultiViewData) -> tuple[list[Matrix], list[Matrix]]:
        """A and B of every view, and last of all views side by side."""
        views = min_max_scaled_views(data)
        sets = [*([view] for view in views), views]
        pairs = []
        for views_together in sets:
            pairs.append(affinity_pair(views_together, self.n_clusters, self.n_neighbors))
            report_progress("building graphs", len(pairs), len(sets))
        graphs, partitions = zip(*pairs, strict=True)
        return list(graphs), list(partitions)

    def _start(self, A: Matrix) -> tuple[Array, Array]:
        """Spectral clustering of one affinity: eigenvectors, turned to the labels, and labels."""
        k = self.n_clusters
        H = leading_eigenvectors(A, k)
        labels = self._by_kmeans(H, normalize=True)
        return H @ polar_factor(H.T @ scaled_indicator(labels, k)), labels

    def _memory_needed(self, data: MultiViewData) -> float:
        n, k, n_graphs = len(data), self.n_clusters, 2 * (len(data.views) + 1)
        scaled = sum(
            2 * view.nnz if sparse.issparse(view) else n * view.shape[1] for view in data.views
        )
        building = building_memory(data.views, self.n_neighbors) + eigenvector_memory(n, k)
        # The sum of the graphs has at most as many entries as all of them, and is added up twice.
        iterating = 2 * n_graphs * graph_memory(n, self.n_neighbors) + 8.0 * 8 * n * k
        kept = n_graphs * graph_memory(n, self.n_neighbors) + data.dtype.itemsize * scaled
        return kept + max(building, iterating)
