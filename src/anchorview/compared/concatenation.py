"""Single-view methods on all features side by side: K-means and spectral clustering."""

from typing import ClassVar

import numpy as np

from anchorview._utils.progress import report_progress
from anchorview.compared._base import ArraysHeld, Baseline, BaselineResult, baseline
from anchorview.compared._neighbor_graphs import leading_eigenvectors, neighbor_affinity
from anchorview.compared._partition import sum_by_cluster
from anchorview.compared._view_scaling import dense_views, min_max_scaled_views
from anchorview.views.container import MultiViewData


@baseline
class ConcatKMeans(Baseline):
    r"""K-means on the concatenated features.

    With :math:`x_i` the standardized features of sample i in all views, and centers
    :math:`c_1, \dots, c_k`:

    .. math::

        \min \sum_i \min_j \|x_i - c_j\|^2.

    Parameters
    ----------
    %(n_clusters)s
    %(n_init)s
    %(random_state_and_verbose)s

    Attributes
    ----------
    %(labels_)s
    embedding_ : ndarray of shape (n_samples, n_features)
        The standardized features of all views.
    %(equal_view_weights_)s
    %(single_objective_)s
    %(n_iter_and_input)s

    Notes
    -----
    A view counts by the number of its features. An iteration of K-means takes O(n k D) time for D
    features in total; memory holds a dense copy of the data.

    References
    ----------
    S. Lloyd, "Least Squares Quantization in PCM", IEEE Transactions on Information Theory, 1982.

    %(example)s
    """

    normalize_embedding: ClassVar[bool] = False
    _arrays_held: ClassVar[ArraysHeld] = ArraysHeld(copies=5, clusters=4)

    n_init: int = 10
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        points = np.hstack(dense_views(data, "features"))
        labels = self._kmeans_labels(points)
        sums = sum_by_cluster(labels, self.n_clusters, points)
        means = sums / np.maximum(np.bincount(labels, minlength=self.n_clusters), 1)[:, None]
        inertia = float(np.sum((points - means[labels]) ** 2))
        return BaselineResult(labels, [inertia], embedding=points)


@baseline
class ConcatSpectral(Baseline):
    r"""Spectral clustering of one neighbor graph of the concatenated features.

    The features of all views, scaled to the range from 0 to 1, give one graph of nearest neighbors
    with normalized Laplacian :math:`L`, and K-means clusters the rows of its spectral embedding,
    scaled to length 1:

    .. math::

        \min_{F^\top F = I} \operatorname{tr}(F^\top L F).

    Parameters
    ----------
    %(n_clusters)s
    %(n_neighbors)s
    %(n_init)s
    %(random_state_and_verbose)s

    Attributes
    ----------
    %(labels_)s
    embedding_ : ndarray of shape (n_samples, n_clusters)
        :math:`F`, with orthonormal columns.
    %(equal_view_weights_)s
    %(single_objective_)s
    %(n_iter_and_input)s

    Notes
    -----
    A view counts by the number of its features. The graph is that of :class:`UOMVSC`: a sample
    gives its nearest neighbors weights that decrease with the squared distance and sum to 1.

    %(neighbor_graph_notes)s

    References
    ----------
    A. Ng, M. Jordan, Y. Weiss, "On Spectral Clustering: Analysis and an Algorithm", Advances in
    Neural Information Processing Systems (NIPS), 2001.

    %(example)s
    """

    normalize_embedding: ClassVar[bool] = True
    _arrays_held: ClassVar[ArraysHeld] = ArraysHeld(copies=4, clusters=8, neighbors=16)

    n_neighbors: int = 15
    n_init: int = 10
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        affinity = neighbor_affinity(min_max_scaled_views(data), self.n_neighbors)
        report_progress("clustering", 1, 2)
        F = leading_eigenvectors(affinity, self.n_clusters)
        objective = self.n_clusters - float(np.sum(F * (affinity @ F)))
        labels = self._kmeans_labels(F)
        report_progress("clustering", 2, 2)
        return BaselineResult(labels, [objective], embedding=F)
