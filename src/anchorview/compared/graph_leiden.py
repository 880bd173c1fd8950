"""Leiden communities of the mean of the views' neighbor graphs, as is usual for single cells."""

import numpy as np
from scipy import sparse

from anchorview._utils.errors import optional_import
from anchorview._utils.sklearn_compat import N_CLUSTERS
from anchorview.compared._base import Baseline, BaselineResult, progressed
from anchorview.compared._neighbor_graphs import neighbor_graph
from anchorview.compared._view_scaling import dense_views
from anchorview.views.container import MultiViewData

LOG_RESOLUTIONS = (-8.0, 8.0)
"""Range of the base-2 logarithm of resolutions."""

MAX_RESOLUTIONS = 21
"""Maximum number of resolutions that are tried to find a number of communities."""


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
