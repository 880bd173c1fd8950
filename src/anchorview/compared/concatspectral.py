"""ConcatSpectral: spectral clustering of a neighbor graph of all features side by side."""

from typing import ClassVar

import numpy as np

from anchorview._utils import param_constraints as constraints
from anchorview._utils.progress import report_progress
from anchorview.compared._base import Baseline, BaselineResult
from anchorview.compared._docstrings import fill_docstring
from anchorview.compared._neighbor_graphs import (
    building_memory,
    eigenvector_memory,
    leading_eigenvectors,
    neighbor_graph,
    normalized_affinity,
)
from anchorview.compared._view_scaling import min_max_scaled_views
from anchorview.compared._view_weights import equal_weights
from anchorview.views.container import MultiViewData


@fill_docstring
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
    %(random_state)s
    %(verbose)s

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

    Examples
    --------
    %(example)s
    """

    normalize_embedding: ClassVar[bool] = True

    _parameter_constraints: ClassVar[constraints.ParameterConstraints] = {
        **Baseline._parameter_constraints,
        "n_neighbors": [constraints.POSITIVE_INT],
        "n_init": constraints.N_INIT,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 15,
        n_init: int = 10,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        affinity = normalized_affinity(neighbor_graph(min_max_scaled_views(data), self.n_neighbors))
        report_progress("clustering", 1, 2)
        F = leading_eigenvectors(affinity, self.n_clusters)
        objective = self.n_clusters - float(np.sum(F * (affinity @ F)))
        labels = self._kmeans_labels(F, normalize=self.normalize_embedding)
        report_progress("clustering", 2, 2)
        return BaselineResult(labels, equal_weights(data), np.array([objective]), F)

    def _memory_needed(self, data: MultiViewData) -> float:
        n, D = data.shape
        building = building_memory(data.views, self.n_neighbors)
        return 16.0 * n * D + building + eigenvector_memory(n, self.n_clusters)
