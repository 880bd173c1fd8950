"""Single-view methods on all features side by side: K-means, spectral clustering and HDBSCAN."""

import numpy as np
from sklearn.cluster import HDBSCAN

from anchorview._utils.progress import report_progress
from anchorview._utils.sklearn_compat import N_CLUSTERS
from anchorview.compared._base import Baseline, BaselineResult, sum_by_cluster
from anchorview.compared._views import (
    dense_views,
    leading_eigenvectors,
    min_max_scaled_views,
    neighbor_affinity,
)
from anchorview.views.container import MultiViewData


class ConcatKMeans(Baseline):
    r"""K-means on the concatenated features.

    With :math:`x_i` the standardized features of sample i in all views, and centers
    :math:`c_1, \dots, c_k`:

    .. math::

        \min \sum_i \min_j \|x_i - c_j\|^2.

    Parameters
    ----------
    %(n_init)s

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_features)
        The standardized features of all views.
    %(equal_views_)s
    %(single_objective_)s

    Notes
    -----
    A view counts by the number of its features. An iteration of K-means takes O(n k D) time for D
    features in total; memory holds a dense copy of the data.

    References
    ----------
    S. Lloyd, "Least Squares Quantization in PCM", IEEE Transactions on Information Theory, 1982.
    """

    normalize_embedding = False

    n_init: int = 10

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        points = np.hstack(dense_views(data, "features"))
        labels = self._kmeans_labels(points)
        sums = sum_by_cluster(labels, self.n_clusters, points)
        means = sums / np.maximum(np.bincount(labels, minlength=self.n_clusters), 1)[:, None]
        inertia = float(np.sum((points - means[labels]) ** 2))
        return BaselineResult(labels, [inertia], embedding=points)


class ConcatSpectral(Baseline):
    r"""Spectral clustering of one neighbor graph of the concatenated features.

    The features of all views, scaled to the range from 0 to 1, give one graph of nearest neighbors
    with normalized Laplacian :math:`L`, and K-means clusters the rows of its spectral embedding,
    scaled to length 1:

    .. math::

        \min_{F^\top F = I} \operatorname{tr}(F^\top L F).

    Parameters
    ----------
    %(n_neighbors)s

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        :math:`F`, with orthonormal columns.
    %(equal_views_)s
    %(single_objective_)s

    Notes
    -----
    A view counts by the number of its features. The graph is that of :class:`UOMVSC`: a sample
    gives its nearest neighbors weights that decrease with the squared distance and sum to 1.

    %(neighbor_graph_notes)s

    References
    ----------
    A. Ng, M. Jordan, Y. Weiss, "On Spectral Clustering: Analysis and an Algorithm", Advances in
    Neural Information Processing Systems (NIPS), 2001.
    """

    normalize_embedding = True

    n_neighbors: int = 15
    n_init: int = 10

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        affinity = neighbor_affinity(min_max_scaled_views(data), self.n_neighbors)
        report_progress("clustering", 1, 2)
        F = leading_eigenvectors(affinity, self.n_clusters)
        objective = self.n_clusters - float(np.sum(F * (affinity @ F)))
        labels = self._kmeans_labels(F)
        report_progress("clustering", 2, 2)
        return BaselineResult(labels, [objective], embedding=F)


class ConcatHDBSCAN(Baseline, ranges={"n_clusters": [*N_CLUSTERS, None]}):
    r"""HDBSCAN on the concatenated features: dense regions are clusters, all else is noise.

    The standardized features of all views give a hierarchy of the regions in which samples are
    connected at a density; clusters are the regions that persist over the widest ranges of it.

    Parameters
    ----------
    n_clusters : int or None, default=8
        Ignored, present for API consistency: the data decide on the number of clusters.
    min_cluster_size : int, default=5
        Minimum number of samples of a cluster, at least 2.
    random_state : Ignored
        Present for API consistency: the method is deterministic.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), dtype=int32
        Cluster label of each sample, from 0; noise is a cluster too, the last one, as labels of
        this package are not negative. ``np.where(model.noise_, -1, model.labels_)`` are the labels
        of scikit-learn.
    noise_ : ndarray of shape (n_samples,), dtype=bool
        Whether each sample is noise.
    n_clusters_ : int
        Number of clusters, including that of noise, if there is any.
    %(equal_views_)s
    objective_ : ndarray of shape (1,)
        Share of the samples that are noise; the method has no objective.

    Notes
    -----
    A view counts by the number of its features. Scores count noise as one cluster. The time grows
    with the square of the number of samples if there are many features.

    References
    ----------
    R. Campello, D. Moulavi, J. Sander, "Density-Based Clustering Based on Hierarchical Density
    Estimates", Advances in Knowledge Discovery and Data Mining (PAKDD), 2013.

    Examples
    --------
    >>> from anchorview import make_multiview
    >>> from anchorview.compared import ConcatHDBSCAN
    >>> views, y = make_multiview(200, n_clusters=3, separation=4.0, noise=1.0, random_state=0)
    >>> model = ConcatHDBSCAN().fit(views)
    >>> model.n_clusters_, int(model.noise_.sum())  # 2 clusters and noise
    (3, 41)
    """

    min_cluster_size: int = 5

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        points = np.hstack(dense_views(data, "features"))
        size = min(self.min_cluster_size, len(points))
        labels = HDBSCAN(min_cluster_size=size, copy=True).fit(points).labels_
        self.noise_ = labels == -1
        labels = np.where(self.noise_, labels.max() + 1, labels)
        self.n_clusters_ = int(labels.max()) + 1
        return BaselineResult(labels, [float(self.noise_.mean())])
