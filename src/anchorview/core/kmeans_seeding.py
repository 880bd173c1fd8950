"""Starts of K-means: greedy k-means++ by matrix products."""

import numpy as np

from anchorview._utils.threads import without_nested_threads
from anchorview._utils.typing import Array

SLOTS = 16
"""Maximum number of centroids whose candidates are drawn together. Distances to them are then one
matrix product, and the potential of each choice is still exact."""

MAX_TRIALS = 3
"""Maximum number of candidates per centroid by default. With 8, as scikit-learn draws for 1,000
clusters, seeding takes two to four times as long; what fewer candidates miss is repaired later."""


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
        for own in np.split(np.arange(slots * trials), slots):
            if own[0] > 0 and not nearest[candidates[own]].any():
                # All of them have been chosen since they were drawn.
                break
            lowered = np.minimum(distances[own[0] : own[-1] + 1], nearest)
            best = int(lowered.sum(axis=1).argmin())
            nearest = lowered[best]
            chosen.append(int(candidates[own[best]]))
    return chosen
