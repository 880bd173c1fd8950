"""Lloyd's algorithm over blocks of rows, for several sets of centroids at once."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial, reduce
from operator import add, itemgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import report_progress
from anchorview._utils.threads import parallel_map, row_slices, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.views.row_source import Result

BLOCK = 2**20
"""Bytes of a block as float64."""


class EmbeddedRows:
    """The rows of an embedding, one per sample, and their labels once `label` was called.

    These are rows that this process can read by slices: an array, or a view on disk.
    """

    labels: Any = None

    def __init__(self, embedding: Any) -> None:
        self.embedding = embedding
        self.shape: tuple[int, int] = embedding.shape

    def label(self, function: Callable[[Array], Array]) -> None:
        """Label all rows by a function of a block of rows."""
        self.labels = function(self.embedding)

    def reduce(
        self, function: Callable[[Array, int], Result], merge: Callable[[Result, Result], Result]
    ) -> Result:
        """``function(block, position of its first row)`` of all blocks, merged in order."""
        with closing(self.over_blocks(function)) as results:
            return reduce(merge, results)

    def over_blocks(self, function: Callable[[Array, int], Result]) -> Generator[Result]:
        """Yield the results of all blocks in order."""

        def work(rows: slice) -> Result:
            with without_nested_threads():
                return function(self.embedding[rows], rows.start)

        n, width = self.shape
        # Blocks of equal sizes keep all threads busy.
        step = -(-n // max(1, -(-8 * width * n // BLOCK)))
        for _, result in parallel_map(work, row_slices(n, step)):
            yield result

    def whole(self) -> Array:
        """All rows, in memory."""
        return np.asarray(self.embedding)


MAX_STEPS = 300
TOLERANCE = 1e-4
"""Lloyd iterations stop when the centroids move by less than this share of the variance of the
points, as in scikit-learn."""

MANY_CLUSTERS = 100
"""Number of clusters above which rows are compared with centroids in single precision."""

SUMMED_ROWS = 16_384
"""Maximum number of rows that are added up in their precision before sums continue in
float64."""

FEW_CLUSTERS = 24
"""Number of clusters up to which rows are added up by products with a matrix of memberships. With
10 clusters this takes a third of the time of finding labels first, with 30 about as long."""

SCORES, MIN_SCORED_ROWS = 2**18, 128
"""Number of scores that are held at a time, what a core has in its cache, and minimum number of
rows for which they are computed together."""

COMPARED_ROWS = 4096
"""Number of rows that a thread compares with the centroids at a time."""

SAME_INERTIA = 1e-6
"""Relative difference of two inertias that may be due to rounding."""


class ClusterSums(NamedTuple):
    """Sums over points, for several sets of centroids."""

    sums: Array
    """Sums of the points of each cluster: sets x clusters x columns."""
    counts: Array
    """Numbers of points of each cluster: sets x clusters."""
    squares: float
    """Sum of the squared norms of all points."""

    def merged(self, other: "ClusterSums") -> "ClusterSums":
        """Sums over both blocks of points."""
        return ClusterSums(*map(add, self, other))

    @property
    def inertias(self) -> Array:
        """Sums of squared distances to the means of the clusters, of each set."""
        explained = np.einsum("skd,skd,sk->s", self.sums, self.sums, 1 / np.maximum(self.counts, 1))
        # Rounding can make the inertia of points that equal their centroids negative.
        return np.maximum(self.squares - explained, 0)


def cluster_sums(
    embedding: Array, first_row: int, *, centroids: Array, normalize: bool
) -> ClusterSums:
    """Assign rows to the nearest centroid of each set, and add them up by cluster."""
    n_sets, k, width = centroids.shape
    if k <= FEW_CLUSTERS:
        return _sums_of_few(embedding, centroids, normalize)
    nearest = np.empty((len(embedding), n_sets), np.int32)
    sums = np.zeros((n_sets * k, width))
    squares = 0.0
    weights = score_weights(centroids.reshape(-1, width), precision_for(embedding, k))
    offsets = k * np.arange(n_sets)
    for start in range(0, len(embedding), SUMMED_ROWS):
        block = embedding[start : start + SUMMED_ROWS].astype(weights.dtype, copy=False)
        points = unit_rows(block) if normalize else block
        labels = nearest[start : start + SUMMED_ROWS]
        for rows, scores in score_blocks(points, weights):
            labels[rows] = scores.reshape(-1, n_sets, k).argmax(axis=2) + offsets
        members = sparse.csr_array(
            (
                np.ones(labels.size, points.dtype),
                labels.ravel(),
                np.arange(0, labels.size + 1, n_sets),
            ),
            shape=(len(labels), n_sets * k),
        )
        sums += members.T @ points
        squares += float(np.einsum("ij,ij->", points, points, dtype=np.float64))
    counts = np.bincount(nearest.ravel(), minlength=n_sets * k).reshape(n_sets, k)
    return ClusterSums(sums.reshape(centroids.shape), counts, squares)


def _sums_of_few(embedding: Array, centroids: Array, normalize: bool) -> ClusterSums:
    """:func:`cluster_sums` by products with a matrix of memberships."""
    n_sets, k, width = centroids.shape
    weights = np.ascontiguousarray(score_weights(centroids.reshape(-1, width), embedding.dtype).T)
    step = min(max(MIN_SCORED_ROWS, SCORES // len(weights)), SUMMED_ROWS)
    # The last column of ones adds the offsets of the scores and counts the members.
    points = np.ones((min(step, len(embedding)), width + 1), embedding.dtype)
    buffers = np.empty((2, len(weights) * len(points)), embedding.dtype)
    total = np.zeros((len(weights), width + 1))
    squares = 0.0
    for rows in row_slices(len(embedding), step):
        block = points[: rows.stop - rows.start]
        block[:, :-1] = unit_rows(embedding[rows]) if normalize else embedding[rows]
        scores, members = (
            buffer[: len(weights) * len(block)].reshape(n_sets, k, -1) for buffer in buffers
        )
        np.matmul(weights, block.T, out=scores.reshape(len(weights), -1))
        np.copyto(members, scores == scores.max(axis=1, keepdims=True))
        sums = members.reshape(len(weights), -1) @ block
        if sums[:, -1].sum() != n_sets * len(block):
            _keep_first(members)
            sums = members.reshape(len(weights), -1) @ block
        total += sums
        block = block[:, :-1]
        squares += float(np.einsum("ij,ij->i", block, block).sum(dtype=np.float64))
    sums, counts = total[:, :-1], total[:, -1]
    return ClusterSums(
        sums.reshape(centroids.shape), counts.reshape(n_sets, k).astype(np.intp), squares
    )


def _keep_first(members: Array) -> None:
    """Of clusters (second axis) with equal scores, leave a row in the first."""
    sets, rows = np.nonzero(members.sum(axis=1) > 1)
    first = members[sets, :, rows].argmax(axis=1)
    members[sets, :, rows] = 0
    members[sets, first, rows] = 1


def precision_for(embedding: Array, n_clusters: int) -> "np.dtype[Any]":
    """Precision in which rows are compared with centroids: single for many clusters."""
    return np.dtype(np.float32) if n_clusters > MANY_CLUSTERS else embedding.dtype


def score_weights(centroids: Array, dtype: "np.dtype[Any]") -> Array:
    """Matrix whose product with points and a column of ones is largest at the nearest centroid."""
    # |x - c|^2 = |x|^2 - 2 (x'c - c'c / 2)
    halves = np.einsum("ij,ij->i", centroids, centroids) / 2
    return np.ascontiguousarray(np.column_stack([centroids, -halves]).T, dtype=dtype)


def score_blocks(points: Array, weights: Array) -> Iterator[tuple[slice, Array]]:
    """Yield rows and their scores for all centroids, of which the nearest has the largest.

    The scores are in a buffer that the next rows overwrite.
    """
    step = max(MIN_SCORED_ROWS, SCORES // weights.shape[1])
    extended = np.ones((len(points), len(weights)), weights.dtype)
    extended[:, :-1] = points
    buffer = np.empty((min(step, len(points)), weights.shape[1]), weights.dtype)
    for rows in row_slices(len(points), step):
        block = extended[rows]
        yield rows, np.matmul(block, weights, out=buffer[: len(block)])


def for_scores(
    points: Array, centroids: Array, dtype: "np.dtype[Any]", work: Callable[[slice, Array], None]
) -> None:
    """Call ``work(rows, scores)`` in threads for all rows; it may overwrite the scores."""
    weights = score_weights(centroids, dtype)

    def score(part: slice) -> None:
        with without_nested_threads():
            for rows, scores in score_blocks(points[part], weights):
                work(slice(part.start + rows.start, part.start + rows.stop), scores)

    for _ in parallel_map(score, row_slices(len(points), COMPARED_ROWS)):
        pass


class Refined(NamedTuple):
    """Centroids after Lloyd iterations, and their inertias before the last step."""

    centroids: Array
    inertias: Array

    def best(self, count: int) -> Array:
        """The `count` sets of centroids with the lowest inertia."""
        # Inertias that differ from the lowest by rounding only count as equal: the first precedes.
        lowest = self.inertias.min()
        above = (self.inertias - lowest) / max(SAME_INERTIA * lowest, np.finfo(float).tiny)
        return self.centroids[np.argsort(np.floor(above), kind="stable")[:count]]


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
    n, width = rows.shape
    centroids = np.array(starts, dtype=np.float64)
    inertias = np.full(len(centroids), np.inf)
    moving = np.arange(len(centroids))
    for step in range(max_steps):
        report_progress("assigning", step, max_steps)
        before = centroids[moving]
        work = partial(cluster_sums, centroids=before, normalize=normalize)
        total = rows.reduce(work, ClusterSums.merged)
        counts = total.counts[:, :, None]
        moved = np.where(counts > 0, total.sums / np.maximum(counts, 1), before)
        mean = total.sums[0].sum(axis=0) / n
        # Rounding can make the variance of equal rows negative.
        variance = max(total.squares / n - mean @ mean, 0) / width
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


_Farthest = tuple[float, Array]
"""Squared distance of the row that is farthest from a span, and the row."""


def _farthest(embedding: Array, first_row: int, *, basis: Array) -> _Farthest:
    rows = embedding.astype(np.float64)
    rows -= (rows @ basis.T) @ basis
    squares = np.einsum("ij,ij->i", rows, rows)
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
