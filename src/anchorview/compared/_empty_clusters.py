"""What happens to a cluster that has lost all its samples."""

import numpy as np

from anchorview._utils.typing import Array


def without_empties(labels: Array, misfit: Array, n_clusters: int) -> Array:
    """Labels in which every cluster has a sample.

    Each empty cluster takes one of the samples that fit their own cluster worst (`misfit`, largest
    first), except from clusters that this would empty in turn. Labels without empty clusters are
    returned as they are. There must be at least as many samples as clusters.
    """
    sizes = np.bincount(labels, minlength=n_clusters)
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return labels
    worst_first = np.argsort(-misfit, kind="stable")
    ranked = labels[worst_first]
    by_cluster = np.argsort(ranked, kind="stable")
    starts = np.cumsum(sizes) - sizes
    rank_in_cluster = np.empty(len(labels), dtype=int)
    rank_in_cluster[by_cluster] = np.arange(len(labels)) - starts[ranked[by_cluster]]
    # The best-fitting sample of a cluster always stays.
    movable = worst_first[rank_in_cluster < sizes[ranked] - 1]
    filled = labels.copy()
    filled[movable[: len(empty)]] = empty
    return filled
