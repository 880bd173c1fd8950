"""K-means over blocks of rows: a sample, seeding, Lloyd's algorithm, and repairs.

scikit-learn's K-means is used where rows are in memory and clusters few. For many rows or clusters
this one takes a fraction of its time.
"""

from functools import partial
from operator import add, itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import report_progress
from anchorview._utils.threads import row_slices, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.centers import (
    MANY_CLUSTERS,
    MIN_SCORED_ROWS,
    SCORES,
    EmbeddedRows,
    nearest_centers,
    score_weights,
)
from anchorview.core.neighbors import graph_of_neighbors, nearest_others

MAX_STEPS = 300
TOLERANCE = 1e-4
"""Lloyd iterations stop when the centroids move by less than this share of the variance of the
points, as in scikit-learn."""

SUMMED_ROWS = 16_384
"""Maximum number of rows that are added up in their precision before sums continue in
float64."""

FEW_CLUSTERS = 24
"""Number of clusters up to which rows are added up by products with a matrix of memberships. With
10 clusters this takes a third of the time of finding labels first, with 30 about as long."""

SAME_INERTIA = 1e-6
"""Relative difference of two inertias that may be due to rounding."""


class ClusterSums(NamedTuple):
    """Sums over points, for several sets of centroids."""

    sums: Array
    """Sums of the points of each cluster: sets x clusters x columns."""
    counts: Array
    """Weights of the points of each cluster, or numbers of them: sets x clusters."""
    squares: float
    """Sum of the squared norms of all points."""

    def merged(self, other: "ClusterSums") -> "ClusterSums":
        """Sums over both blocks of points."""
        return ClusterSums(*map(add, self, other))

    @property
    def inertias(self) -> Array:
        """Sums of squared distances to the means of the clusters, of each set."""
        explained = np.einsum("skd,skd,sk->s", self.sums, self.sums, 1 / positive(self.counts))
        # Rounding can make the inertia of points that equal their centroids negative.
        return np.maximum(self.squares - explained, 0)


def positive(counts: Array) -> Array:
    """Counts by which sums are divided: those of empty clusters are 1."""
    return np.where(counts > 0, counts, 1)


def cluster_sums(
    embedding: Array,
    first_row: int,
    weights: Array | None = None,
    *,
    centroids: Array,
    normalize: bool,
) -> ClusterSums:
    """Assign rows to the nearest centroid of each set, and add them up by cluster."""
    n_sets, k, width = centroids.shape
    if k <= FEW_CLUSTERS:
        return _sums_of_few(embedding, weights, centroids, normalize)
    nearest = np.empty((len(embedding), n_sets), np.int32)
    sums = np.zeros((n_sets * k, width))
    squares = 0.0
    dtype = precision_for(embedding, k)
    for part in row_slices(len(embedding), SUMMED_ROWS):
        block = embedding[part].astype(dtype, copy=False)
        points = unit_rows(block) if normalize else block
        labels = nearest[part]
        labels[:] = nearest_centers(points, centroids, dtype).T + k * np.arange(n_sets)
        members = graph_of_neighbors(labels, np.ones(labels.shape, dtype), n_sets * k)
        counted = points if weights is None else points * weights[part, None]
        sums += members.T @ counted
        squares += float(np.einsum("ij,ij->", points, counted, dtype=np.float64))
    by_set = None if weights is None else np.repeat(weights, n_sets)
    counts = np.bincount(nearest.ravel(), by_set, n_sets * k).reshape(n_sets, k)
    return ClusterSums(sums.reshape(centroids.shape), counts, squares)


def _sums_of_few(
    embedding: Array, weights: Array | None, centroids: Array, normalize: bool
) -> ClusterSums:
    """:func:`cluster_sums` by products with a matrix of memberships."""
    n_sets, k, width = centroids.shape
    scoring = np.ascontiguousarray(score_weights(centroids.reshape(-1, width), embedding.dtype).T)
    step = min(max(MIN_SCORED_ROWS, SCORES // len(scoring)), SUMMED_ROWS)
    # The last column of ones adds the offsets of the scores and counts the members.
    points = np.ones((min(step, len(embedding)), width + 1), embedding.dtype)
    buffers = np.empty((2, len(scoring) * len(points)), embedding.dtype)
    total = np.zeros((len(scoring), width + 1))
    squares = 0.0
    for rows in row_slices(len(embedding), step):
        block = points[: rows.stop - rows.start]
        block[:, :-1] = unit_rows(embedding[rows]) if normalize else embedding[rows]
        scores, members = (
            buffer[: len(scoring) * len(block)].reshape(n_sets, k, -1) for buffer in buffers
        )
        np.matmul(scoring, block.T, out=scores.reshape(len(scoring), -1))
        np.copyto(members, scores == scores.max(axis=1, keepdims=True))
        counted = block if weights is None else block * weights[rows, None].astype(block.dtype)
        sums = members.reshape(len(scoring), -1) @ counted
        if weights is not None or sums[:, -1].sum() != n_sets * len(block):
            _keep_first(members)
            sums = members.reshape(len(scoring), -1) @ counted
        total += sums
        products = np.einsum("ij,ij->i", block[:, :-1], counted[:, :-1])
        squares += float(products.sum(dtype=np.float64))
    sums, counts = total[:, :-1], total[:, -1]
    return ClusterSums(sums.reshape(centroids.shape), counts.reshape(n_sets, k), squares)


def _keep_first(members: Array) -> None:
    """Of clusters (second axis) with equal scores, leave a row in the first."""
    sets, rows = np.nonzero(members.sum(axis=1) > 1)
    first = members[sets, :, rows].argmax(axis=1)
    members[sets, :, rows] = 0
    members[sets, first, rows] = 1


def precision_for(embedding: Array, n_clusters: int) -> "np.dtype[Any]":
    """Precision in which rows are compared with centroids: single for many clusters."""
    return np.dtype(np.float32) if n_clusters > MANY_CLUSTERS else embedding.dtype


class Refined(NamedTuple):
    """Centroids after Lloyd iterations, and their inertias before the last step."""

    centroids: Array
    inertias: Array

    @property
    def best(self) -> Array:
        """Centroids with the lowest inertia; the first of those that differ by rounding only."""
        lowest = self.inertias.min()
        return self.centroids[int((self.inertias <= (1 + SAME_INERTIA) * lowest).argmax())]


def lloyd(
    rows: EmbeddedRows,
    starts: Array,
    normalize: bool,
    tolerance: float,
    max_steps: int = MAX_STEPS,
    pace: float = 1.0,
) -> Refined:
    """Lloyd iterations from several starts, one pass over the rows per iteration for all.

    A set of centroids stops when they move no more, or when the inertia decreases by less than the
    share `tolerance` in a step. The length of a step is `pace` times the way to the means of the
    points, except for the last one: for given clusters, steps up to twice that way decrease the
    inertia.
    """
    centroids = np.array(starts, dtype=np.float64)
    inertias = np.full(len(centroids), np.inf)
    moving = np.arange(len(centroids))
    for step in range(max_steps):
        report_progress("assigning", step, max_steps)
        before = centroids[moving]
        work = partial(cluster_sums, centroids=before, normalize=normalize)
        total = rows.reduce(work, ClusterSums.merged)
        counts = total.counts[:, :, None]
        moved = np.where(counts > 0, total.sums / positive(counts), before)
        mean = total.sums[0].sum(axis=0) / rows.total_weight
        # Rounding can make the variance of equal rows negative.
        variance = max(total.squares / rows.total_weight - mean @ mean, 0) / rows.shape[1]
        decrease = inertias[moving] - total.inertias
        shifts = np.square(moved - before).sum(axis=(1, 2))
        settled = (shifts <= TOLERANCE * variance) | (decrease < tolerance * total.inertias)
        if step == max_steps - 1:
            settled[:] = True
        longer = before + pace * (moved - before)
        centroids[moving] = np.where(settled[:, None, None], moved, longer)
        inertias[moving] = total.inertias
        moving = moving[~settled]
        if not len(moving):
            break
    report_progress("assigning", max_steps, max_steps)
    return Refined(centroids, inertias)


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
    keys, they are computed from positions. A row of weight w has the keys ``u / w, (u + 1) / w...``
    with u from 0 to 1, so that heavy rows are sampled several times.
    """
    n = rows.total_weight
    share = MARGIN * count / n
    expected = min(MARGIN * count, n) if rows.weights is None else MARGIN * count
    for by_length in (True, False):
        below = partial(_below, share=share, n=n, seed=seed, by_length=by_length)
        sample = rows.reduce(below, add)
        # Rows with equal norms have equal keys. If there are many, too many or too few rows would
        # be sampled, or too few distinct ones.
        keys = np.concatenate([keys for keys, _ in sample])
        even = abs(len(keys) - expected) <= 5 * np.sqrt(expected)
        if even and len(np.unique(keys)) >= count / 2:
            break
    order = np.argsort(keys, kind="stable")[:count]
    return np.concatenate([rows_of_block for _, rows_of_block in sample])[order]


def _below(
    block: Array,
    first_row: int,
    weights: Array | None,
    *,
    share: float,
    n: float,
    seed: int,
    by_length: bool,
) -> _Sample:
    if by_length and block.dtype == np.float64:
        squares = n * np.einsum("ij,ij->i", block, block)
        cells = np.floor(np.log2(np.maximum(squares, np.finfo(float).tiny)) * NORM_INTERVALS)
        keys = _mixed(cells.astype(np.int64).view(np.uint64), seed)
    else:
        keys = _mixed(np.arange(first_row, first_row + len(block), dtype=np.uint64), seed)
    if weights is not None:
        first = keys * 2.0**-64
        copies = np.maximum(np.ceil(share * weights - first), 0).astype(np.intp)
        drawn = np.repeat(np.arange(len(block)), copies)
        nth = np.arange(len(drawn)) - np.repeat(np.cumsum(copies) - copies, copies)
        return [((first[drawn] + nth) / weights[drawn], block[drawn])]
    small = np.flatnonzero(keys < np.uint64(min(share, 1 - 2**-53) * 2**64))
    # Many copies of one row would all be sampled; the surplus is not needed.
    small = small[: int(MARGIN * share * n)]
    return [(keys[small], block[small])]


def _mixed(numbers: Array, seed: int) -> Array:
    """Pseudo-random keys of numbers: pandas has the finalizer of splitmix64."""
    return pd.util.hash_array((numbers + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15))


SLOTS = 16
"""Maximum number of centroids with candidates that are drawn together. Distances to them are one
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
        for slot in np.split(np.arange(slots * trials), slots):
            if slot[0] > 0 and not nearest[candidates[slot]].any():
                # All of them have been chosen since they were drawn.
                break
            lowered = np.minimum(distances[slot[0] : slot[-1] + 1], nearest)
            best = int(lowered.sum(axis=1).argmin())
            nearest = lowered[best]
            chosen.append(int(candidates[slot[best]]))
    return chosen


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

    Lloyd iterations stay where two centroids share a cluster while another cluster has one too few.
    One of the two is moved there, as long as the inertia falls by more than the share `tolerance`.
    """
    centroids, inertia = run.best, run.inertias.min()
    for _ in range(MAX_REPAIRS):
        moved = repaired(points, centroids, tolerance * inertia)
        if moved is None:
            break
        after = lloyd(EmbeddedRows(points), moved[None], False, tolerance, REPAIR_STEPS)
        if after.inertias[0] >= (1 - tolerance) * inertia:
            break
        centroids, inertia = after.centroids[0], after.inertias[0]
    return centroids


def repaired(points: Array, centroids: Array, least: float = 0.0) -> Array | None:
    """Centroids after moves that lower the inertia at once; None if by `least` or less."""
    k = len(centroids)
    labels = nearest_centers(points, centroids, points.dtype)
    partners = nearest_others(centroids, 1)[0][:, 0]
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


_Farthest = tuple[float, Array]
"""Squared distance of the row that is farthest from a span, and the row."""


def _farthest(
    embedding: Array, first_row: int, weights: Array | None, *, basis: Array
) -> _Farthest:
    rows = embedding.astype(np.float64)
    rows -= (rows @ basis.T) @ basis
    squares = np.einsum("ij,ij->i", rows, rows)
    if weights is not None:
        squares[weights == 0] = -1
    first = int(squares.argmax())
    return float(squares[first]), embedding[first].astype(np.float64)


def distant_rows_in_blocks(rows: EmbeddedRows, count: int) -> Array:
    """The rows selected by pivoted QR, one pass for each."""
    basis = np.empty((0, rows.shape[1]))
    selected = []
    for _ in range(count):
        farther = partial(max, key=itemgetter(0))
        _, row = rows.reduce(partial(_farthest, basis=basis), farther)
        selected.append(row)
        rest = row - basis.T @ (basis @ row)
        length = np.linalg.norm(rest)
        if length > 0:
            basis = np.vstack([basis, rest / length])
    return np.array(selected)
