"""Moves of centroids that Lloyd iterations cannot make.

Where two centroids share a cluster while another cluster has one too few, iterations stay. One of
the two is moved there if that lowers the inertia.
"""

import numpy as np

from anchorview._utils.threads import without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.blockwise_kmeans import EmbeddedRows, Refined, for_scores, lloyd

SPLIT_SHARE = 0.2
"""Share of the clusters, those with the largest inertias, that may be split."""

MIN_SPLIT = 8
"""Minimum number of clusters that may be split."""

HALVING_STEPS = 4
"""Number of steps of K-means with two centroids in a cluster that may be split."""

WORTH = 1.2
"""Minimum ratio of what a split saves to what a merge costs; both are overfitted to few points."""

MAX_REPAIRS, REPAIR_STEPS = 6, 5
"""Maximum number of times that centroids are moved to where they are missing, and of Lloyd steps
after each."""


def repair(points: Array, run: Refined, tolerance: float) -> Array:
    """Centroids of the best of some K-means runs on points, moved while that lowers the inertia.

    Moves go on if the inertia falls by more than the share `tolerance`.
    """
    centroids, inertia = run.best(1), run.inertias.min()
    for _ in range(MAX_REPAIRS):
        moved = repaired(points, centroids[0], tolerance * inertia)
        if moved is None:
            break
        after = lloyd(EmbeddedRows(points), moved[None], False, tolerance, REPAIR_STEPS)
        if after.inertias[0] >= (1 - tolerance) * inertia:
            break
        centroids, inertia = after.centroids, after.inertias[0]
    return centroids


def repaired(points: Array, centroids: Array, least: float = 0.0) -> Array | None:
    """Centroids after moves that lower the inertia at once; None if by `least` or less."""
    k = len(centroids)
    labels = _best(points, centroids)
    partners = _best(centroids, centroids, other=True)
    with without_nested_threads():
        counts = np.bincount(labels, minlength=k)
        inertias = np.bincount(
            labels, np.square(points - centroids[labels]).sum(axis=1), minlength=k
        )
        widest = np.argsort(-inertias, kind="stable")[: max(MIN_SPLIT, int(SPLIT_SHARE * k))]
        members = np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])
        halves = {int(c): _halves(points[members[c]]) for c in widest}
    # A centroid without points leaves nothing behind.
    partners[counts == 0] = np.flatnonzero(counts == 0)
    joint = counts + counts[partners]
    between = np.square(centroids - centroids[partners]).sum(axis=1)
    costs = counts * counts[partners] / np.maximum(joint, 1) * between
    moved = centroids.copy()
    used = np.zeros(k, bool)
    lowered = 0.0
    cheapest = iter(np.argsort(costs, kind="stable"))
    for c, (saved, means) in sorted(halves.items(), key=lambda item: -item[1][0]):
        if used[c]:
            continue
        free = (m for m in cheapest if not (used[m] or used[partners[m]] or c in (m, partners[m])))
        m = next(free, None)
        if m is None or saved <= WORTH * costs[m]:
            break
        partner = partners[m]
        if joint[m]:
            pair = counts[[m, partner]] @ centroids[[m, partner]]
            moved[partner] = pair / joint[m]
        moved[c], moved[m] = means
        used[[c, m, partner]] = True
        lowered += saved - costs[m]
    return moved if lowered > least else None


def _best(points: Array, centroids: Array, other: bool = False) -> Array:
    """Nearest centroids of points; with `other`, of centroids, apart from themselves."""
    nearest = np.empty(len(points), np.intp)

    def work(rows: slice, scores: Array) -> None:
        if other:
            scores[np.arange(len(scores)), np.arange(rows.start, rows.stop)] = -np.inf
        nearest[rows] = scores.argmax(axis=1)

    for_scores(points, centroids, points.dtype, work)
    return nearest


def _halves(points: Array) -> tuple[float, Array]:
    """Decrease of the inertia by two clusters of points, started far apart, and their means."""
    nothing = 0.0, points[:1]
    if len(points) < 2:
        return nothing
    center = points.mean(axis=0)
    centered = points - center
    first = centered[np.square(centered).sum(axis=1).argmax()]
    second = centered[np.square(centered - first).sum(axis=1).argmax()]
    means = np.stack([first, second])
    saved = 0.0
    for _ in range(HALVING_STEPS):
        middle = (means[1] @ means[1] - means[0] @ means[0]) / 2
        # The factors are finite. OpenBLAS sets the flag all the same for rows of five numbers in
        # single precision on AVX-512: it computes with what memory held before and discards that.
        with np.errstate(invalid="ignore"):
            sides = centered @ (means[1] - means[0]) > middle
        size = np.count_nonzero(sides)
        if size in (0, len(points)):
            return nothing
        total = centered[sides].sum(axis=0)
        # The sum of all centered points is zero.
        means = np.stack([-total / (len(points) - size), total / size])
        saved = float(total @ total * (1 / size + 1 / (len(points) - size)))
    return saved, means + center
