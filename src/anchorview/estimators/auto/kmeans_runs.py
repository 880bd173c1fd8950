"""K-means runs on the embedding of a candidate, each of which gives a partition."""

import numpy as np

from anchorview._utils.linalg import unit_rows
from anchorview._utils.threads import without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment, distant_rows, labels_of_runs
from anchorview.core.blockwise_kmeans import LocalRows, Refined, lloyd
from anchorview.core.kmeans_repair import repair
from anchorview.core.kmeans_seeding import kmeans_plusplus

N_KMEANS_RUNS = 4
"""Number of K-means runs per candidate."""

MAX_TRIALS = 10
"""Maximum number of candidates per centroid of a start; runs are not repaired as a rule."""

SETTLED = 1e-4
"""Relative decrease of the inertia in a step below which a run, or its repair, ends."""


def kmeans_runs(
    rows: Array,
    n_clusters: int,
    seed: int,
    n_runs: int = N_KMEANS_RUNS,
    *,
    repairs: bool = False,
) -> tuple[tuple[Assignment, ...], Array, float]:
    """K-means runs by ascending inertia, the labels of each, and the smallest inertia.

    One run starts from rows that pivoted QR selects, which finds separated clusters whatever their
    number; the others start at random. With `repairs`, centroids that share a cluster are moved to
    clusters that lack one.
    """
    points = unit_rows(rows)
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=n_runs).tolist()
    # Candidates are fitted beside each other.
    with without_nested_threads():
        starts = [points[distant_rows(rows, n_clusters)]] if rows.shape[1] >= n_clusters else []
        for own in seeds[len(starts) :]:
            random = np.random.RandomState(own)
            starts.append(kmeans_plusplus(points, n_clusters, random, MAX_TRIALS))
        found = lloyd(LocalRows(points), np.stack(starts), False, SETTLED)
        centroids = found.centroids
        if repairs:
            alone = (Refined(c[None], i[None]) for c, i in zip(*found, strict=True))
            centroids = np.vstack([repair(points, run, SETTLED) for run in alone])
        runs = [Assignment(own, normalize=True) for own in centroids]
        labels = labels_of_runs(runs, rows)
    inertias = []
    for run, own in zip(runs, labels, strict=True):
        away = points - run.centroids.astype(rows.dtype)[own]
        inertias.append(float(np.einsum("ij,ij->", away, away, dtype=np.float64)) / len(rows))
    order = np.argsort(inertias, kind="stable")
    return tuple(runs[r] for r in order), labels[order], inertias[order[0]]
