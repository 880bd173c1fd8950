"""ConcatKMeans: K-means on all features side by side."""

from typing import ClassVar

import numpy as np

from anchorview._utils import param_constraints as constraints
from anchorview.compared._base import Baseline, BaselineResult
from anchorview.compared._docstrings import fill_docstring
from anchorview.compared._partition import sum_by_cluster
from anchorview.compared._view_scaling import dense_memory, dense_views
from anchorview.compared._view_weights import equal_weights
from anchorview.views.container import MultiViewData


@fill_docstring
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
    %(random_state)s
    %(verbose)s

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

    Examples
    --------
    %(example)s
    """

    normalize_embedding: ClassVar[bool] = False

    _parameter_constraints: ClassVar[constraints.ParameterConstraints] = {
        **Baseline._parameter_constraints,
        "n_init": constraints.N_INIT,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        points = np.hstack(dense_views(data, "features"))
        labels = self._kmeans_labels(points, normalize=self.normalize_embedding)
        sums = sum_by_cluster(labels, self.n_clusters, points)
        means = sums / np.maximum(np.bincount(labels, minlength=self.n_clusters), 1)[:, None]
        inertia = float(np.sum((points - means[labels]) ** 2))
        return BaselineResult(labels, equal_weights(data), np.array([inertia]), points)

    def _memory_needed(self, data: MultiViewData) -> float:
        n, D = data.shape
        return 5 * dense_memory(data) + 8.0 * (n + D) * (4 * self.n_clusters + 20)
