"""SFMC: one bipartite graph of all views with as many components as clusters."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from anchorview._utils.typing import Array, Matrix
from anchorview.compared._base import BaselineResult, WeightedBaseline, iterations, progressed
from anchorview.compared._bipartite import (
    StructuredGraph,
    cluster_labels,
    minimize_on_simplex,
    structured_graph,
)
from anchorview.compared._neighbor_graphs import weighted_neighbors
from anchorview.compared._view_scaling import column_ranges
from anchorview.core.neighbors import nearest_places
from anchorview.core.scale import ViewScaling
from anchorview.core.scaled_view import scaled_copy
from anchorview.views.container import MultiViewData


def scaled_to_range(data: MultiViewData) -> list[Array]:
    """Views with features that begin at 0, divided by the widest range of a feature."""
    views = []
    for p in progressed(range(len(data.views)), "scaling"):
        low, spread = column_ranges(data, p)
        varies = np.isfinite(spread)
        X = scaled_copy(data, p, ViewScaling(center=low), np.dtype(np.float64))
        X /= np.where(varies, spread[varies].max(), np.inf)
        views.append(X)
    return views


def directly_sampled(scores: Array, count: int) -> Array:
    """Positions of anchors, ascending: in turn the largest score, which then becomes 0.

    Scores ``s`` become ``s (1 - s)`` in units of the largest, so that samples with similar scores
    lose theirs too.
    """
    scores = scores / scores.max()
    chosen = np.empty(count, dtype=int)
    free = np.ones(len(scores), dtype=bool)
    for i in range(count):
        chosen[i] = np.argmax(np.where(free, scores, -1.0))
        free[chosen[i]] = False
        scores = scores * (1 - scores)
        scores /= max(float(scores.max()), float(np.finfo(np.float64).tiny))
    return np.sort(chosen)


def anchor_neighbors(X: Array, anchors: Array, n_neighbors: int) -> sparse.csr_array:
    """Graph of the samples and their nearest anchors; weights of a sample sum to 1."""
    count = min(n_neighbors + 1, len(anchors))
    return weighted_neighbors(*nearest_places(X, anchors, count), len(anchors))


def fused_graph(
    model: "SFMC", graphs: Sequence[Matrix], w: Array
) -> tuple[StructuredGraph, Array, list[float]]:
    """Alternate between the structured graph P of ``sum_v alpha_v B_v`` and its weights.

    The weights minimize ``||P - sum_v alpha_v B_v||^2`` over the simplex, and are then multiplied
    by the importance `w`. Returns the graph, alpha and the objective after each iteration.
    """
    gram = np.array([[np.sum(A.multiply(B)) for A in graphs] for B in graphs])
    # Equal graphs make it singular.
    gram += 1e-12 * np.trace(gram) * np.eye(len(graphs))
    alpha = w / len(graphs)
    objective: list[float] = []
    for _ in iterations(objective, model.max_iter):
        mixed = sum(a * B for a, B in zip(alpha, graphs, strict=True)).tocsr()
        structured = structured_graph(mixed, model.n_clusters)
        b = np.array([[np.sum(B.multiply(structured.graph)) for B in graphs]])
        alpha = minimize_on_simplex(gram, b, max_iter=10_000, tol=1e-9)[0]
        if (w != 1).any():
            alpha = w * alpha / (w @ alpha)
        square = float(structured.graph.multiply(structured.graph).sum())
        objective.append(max(0.0, float(alpha @ gram @ alpha - 2 * alpha @ b[0]) + square))
    return structured, alpha, objective


class SFMC(WeightedBaseline):
    r"""Scalable and parameter-free multi-view graph fusion clustering.

    Each view has a bipartite graph :math:`B_v` of the samples and their nearest anchors, which are
    samples. All views share one graph :math:`P` with k connected components:

    .. math::

        \min \Big\| P - \sum_v \alpha_v B_v \Big\|_F^2
        \quad\text{s.t. } P \ge 0,\ P \text{ has k connected components},\
        \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    The components are the clusters; there is no K-means.

    Parameters
    ----------
    n_anchors : int, default=None
        Number of anchors m, at least `n_clusters`. None means 256 (`n_clusters` if that is more),
        but at most half of the samples, which is the authors' choice.
    n_neighbors : int, default=10
        Number of nearest anchors of a sample in each view.
    %(max_iter)s
    view_importance : dict of str to float, default=None
        How much views count, by name; 1 for those that are not named, and relative to the mean over
        the views. In every iteration, the weights that minimize the objective are multiplied by it
        and divided by their sum. To ignore a view, leave it out.

    Attributes
    ----------
    %(components_)s
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading left singular vectors of the normalized graph, orthonormal.
    graph_ : csr_array of shape (n_samples, n_anchors)
        :math:`P`.
    anchor_samples_ : ndarray of shape (n_anchors,)
        Positions of the samples that are anchors.
    %(views_)s

    Notes
    -----
    Anchors are samples, chosen one by one by the sum of their features; a choice lowers the scores
    of samples with similar sums. This depends on the sign of the features, and the recursion
    amplifies rounding: with many anchors, data in single precision can have other anchors.

    A step of the inner solver, at most 50 per iteration, takes O(n K V log(n K V)) and
    :math:`O(m^3)` time for K neighbors and V views. Memory holds a dense copy of the data, and
    distances to all anchors of one view at a time.

    Rows and columns of :math:`P` are projected to the simplex in turn and averaged, as in the
    authors' program, so neither sum to 1 exactly.

    %(components_notes)s

    References
    ----------
    X. Li, H. Zhang, R. Wang, F. Nie, "Multiview Clustering: A Scalable and Parameter-Free Bipartite
    Graph Fusion Method", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.
    """

    # Half of the samples in the authors' script; a step takes cubic time in the anchors.
    _default_anchors = 256

    n_anchors: int | None = None
    n_neighbors: int = 10
    max_iter: int = 10

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        views = scaled_to_range(data)
        importance = self._importance(data)
        parts = zip(importance, views, strict=True)
        scores = np.sum([w * X.sum(axis=1) for w, X in parts], axis=0)
        self.anchor_samples_ = directly_sampled(scores, self._anchor_count(data))
        graphs = [anchor_neighbors(X, X[self.anchor_samples_], self.n_neighbors) for X in views]
        structured, alpha, objective = fused_graph(self, graphs, importance)
        self.graph_ = structured.graph
        seed = self._seeds()[1]
        labels, self.n_components_ = cluster_labels(structured, views, self.n_clusters, seed)
        return BaselineResult(labels, objective, alpha, structured.embedding)
