"""Starts of K-means: a sample of rows, and greedy k-means++ by matrix products."""

from functools import partial
from operator import add

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from anchorview._utils.threads import parallel_map, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.blockwise_kmeans import EmbeddedRows, lloyd

SLOTS = 16
"""Maximum number of centroids whose candidates are drawn together. Distances to them are then one
matrix product, and the potential of each choice is still exact."""

MAX_TRIALS = 3
"""Maximum number of candidates per centroid by default. With 8, as scikit-learn draws for 1,000
clusters, seeding takes two to four times as long; what fewer candidates miss is repaired later."""

CELL_CLUSTERS = 1000
"""Number of clusters per cell if points are divided into cells that are seeded one by one."""

CELL_SAMPLE = 20_000
"""Maximum number of points from which cells are found."""

CELLS_SETTLED = 1e-3
"""Relative decrease of the inertia of cells in a step below which they are not improved."""


def kmeans_plusplus_in_cells(points: Array, n_clusters: int, rng: np.random.RandomState) -> Array:
    """Rows that k-means++ selects within cells of neighboring points.

    With twice as many clusters k-means++ takes four times as long, as the number of points grows
    with that of clusters. In cells it takes twice as long. Every cell has a share of the clusters
    that is proportional to its inertia. The points are in random order; with few clusters there
    is one cell.
    """
    n_cells = n_clusters // CELL_CLUSTERS
    if n_cells < 2 or len(points) < n_clusters:
        return kmeans_plusplus(points, n_clusters, rng)
    sample = points[:CELL_SAMPLE]
    start = kmeans_plusplus(sample, n_cells, rng)
    centers = lloyd(EmbeddedRows(sample), start[None], False, CELLS_SETTLED).centroids[0]
    labels = pairwise_distances_argmin(points, centers.astype(points.dtype))
    squares = np.square(points - centers[labels]).sum(axis=1)
    inertias = np.bincount(labels, squares, minlength=n_cells)
    counts = np.bincount(labels, minlength=n_cells)
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])
    shares = _shares(n_clusters, inertias, counts)
    seeds = rng.randint(2**31 - 1, size=n_cells)

    def selected(cell: int) -> Array:
        cell_rng = np.random.RandomState(seeds[cell])
        return kmeans_plusplus(points[members[cell]], int(shares[cell]), cell_rng)

    used = np.flatnonzero(shares).tolist()
    return np.concatenate([rows for _, rows in parallel_map(selected, used)])


def _shares(total: int, weights: Array, capacities: Array) -> Array:
    """Whole numbers that add up to a total, proportional to weights, each up to its capacity.

    All with a capacity are at least 1.
    """
    least = np.minimum(capacities, 1)
    exact = least + (total - least.sum()) * weights / max(weights.sum(), np.finfo(float).tiny)
    shares = np.minimum(np.floor(exact).astype(np.intp), capacities)
    while (missing := total - shares.sum()) > 0:
        order = np.argsort(shares - exact, kind="stable")
        shares[order[shares[order] < capacities[order]][:missing]] += 1
    return shares


def kmeans_plusplus(
    points: Array, n_clusters: int, rng: np.random.RandomState, max_trials: int = MAX_TRIALS
) -> Array:
    """Rows that k-means++ selects, of several candidates each the one that lowers the inertia most.

    Candidates for the next few centroids are drawn together, with probabilities proportional to
    the squared distances from the centroids before them (Arthur and Vassilvitskii, 2007).
    """
    trials = min(2 + int(np.log(n_clusters)), max_trials)
    with without_nested_threads():
        return points[_selected(points, n_clusters, rng, trials)]


def _selected(points: Array, n_clusters: int, rng: np.random.RandomState, trials: int) -> list[int]:
    n = len(points)
    squares = np.einsum("ij,ij->i", points, points)
    doubled = np.ascontiguousarray(-2 * points.T)

    def squared_distances(rows: Array | list[int]) -> Array:
        """Squared distances of some points to all points, (len(rows), n)."""
        distances: Array = points[rows] @ doubled
        distances += squares
        distances += squares[rows][:, None]
        return np.maximum(distances, 0, out=distances)

    chosen = [int(rng.randint(n))]
    nearest = squared_distances(chosen)[0]
    nearest[chosen] = 0
    while len(chosen) < n_clusters:
        slots = min(max(1, len(chosen) // 4), SLOTS, n_clusters - len(chosen))
        cumulated = np.cumsum(nearest, dtype=np.float64)
        drawn = rng.random_sample(slots * trials) * cumulated[-1]
        candidates = np.minimum(np.searchsorted(cumulated, drawn, side="right"), n - 1)
        distances = squared_distances(candidates)
        distances[np.arange(len(candidates)), candidates] = 0
        for slot in np.split(np.arange(slots * trials), slots):
            if slot[0] > 0 and not nearest[candidates[slot]].any():
                # All of them have been chosen since they were drawn.
                break
            lowered = np.minimum(distances[slot[0] : slot[-1] + 1], nearest)
            best = int(lowered.sum(axis=1).argmin())
            nearest = lowered[best]
            chosen.append(int(candidates[slot[best]]))
    return chosen


NORM_INTERVALS = 2**24
"""Number of intervals per factor of two into which norms are rounded: much finer than the
differences between rows, much coarser than rounding in double precision."""

MARGIN = 1.25
"""Expected number of candidate rows relative to the requested number, so that enough are found."""

_Sample = list[tuple[Array, Array]]
"""Keys and rows of each block; concatenated once, as samples may be large."""


def sampled_rows(rows: EmbeddedRows, count: int, seed: int) -> Array:
    """About `count` rows, wherever they are and however they are divided into blocks.

    Every row has a pseudo-random key, and rows with small keys are sampled, ordered by key. In
    double precision keys are computed from the norms of the rows, so the sample depends neither on
    the order of the rows nor on rotations. In single precision, where rounding would change such
    keys, they are computed from positions.
    """
    n = rows.shape[0]
    expected = min(MARGIN * count, n)
    for by_length in (True, False):
        sample = rows.reduce(
            partial(_below, share=MARGIN * count / n, n=n, seed=seed, by_length=by_length), add
        )
        # Rows with equal norms have equal keys. If there are many, too many or too few rows would
        # be sampled, or too few distinct ones.
        keys = np.concatenate([keys for keys, _ in sample])
        even = abs(len(keys) - expected) <= 5 * np.sqrt(expected)
        if even and len(np.unique(keys)) >= count / 2:
            break
    order = np.argsort(keys, kind="stable")[:count]
    return np.concatenate([rows_of_block for _, rows_of_block in sample])[order]


def _below(
    block: Array, first_row: int, *, share: float, n: int, seed: int, by_length: bool
) -> _Sample:
    if by_length and block.dtype == np.float64:
        squares = n * np.einsum("ij,ij->i", block, block)
        cells = np.floor(np.log2(np.maximum(squares, np.finfo(float).tiny)) * NORM_INTERVALS)
        keys = _mixed(cells.astype(np.int64).view(np.uint64), seed)
    else:
        keys = _mixed(np.arange(first_row, first_row + len(block), dtype=np.uint64), seed)
    small = np.flatnonzero(keys < np.uint64(min(share, 1 - 2**-53) * 2**64))
    # Many copies of one row would all be sampled; the surplus is not needed.
    small = small[: int(MARGIN * share * n)]
    return [(keys[small], block[small])]


def _mixed(numbers: Array, seed: int) -> Array:
    """Pseudo-random keys of numbers (the finalizer of splitmix64)."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    keys = (numbers + np.full(1, seed, np.uint64)) * golden
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
