"""Lloyd's algorithm over blocks of rows, for several sets of centroids at once."""

from collections.abc import Sequence
from functools import partial, reduce
from operator import add
from typing import NamedTuple

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.core.embedded_rows import EmbeddedRows

MAX_STEPS = 300
TOLERANCE = 1e-4
"""Lloyd iterations stop when the centroids move by less than this share of the variance of the
points, as in scikit-learn."""

SUMMED_ROWS = 16_384
"""Number of rows that are added up in their own precision before sums continue in float64."""

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
    explained: Array
    """Part of it that the nearest centroids explain; the inertia of a set is the difference."""

    def merged(self, other: "ClusterSums") -> "ClusterSums":
        """Sums over both blocks of points."""
        return ClusterSums(*map(add, self, other))


def cluster_sums(
    embedding: Array, first_row: int, *, centroids: Array, normalize: bool
) -> ClusterSums:
    """Assign rows to the nearest centroid of each set, and add them up by cluster."""
    parts = (
        _block_sums(embedding[start : start + SUMMED_ROWS], centroids, normalize)
        for start in range(0, len(embedding), SUMMED_ROWS)
    )
    return reduce(ClusterSums.merged, parts)


def _block_sums(embedding: Array, centroids: Array, normalize: bool) -> ClusterSums:
    points = unit_rows(embedding) if normalize else embedding
    n, width = points.shape
    n_sets, k, _ = centroids.shape
    C = centroids.reshape(-1, width).astype(points.dtype)
    # |x - c|^2 = |x|^2 - 2 (x'c - c'c / 2)
    scores = points @ C.T
    scores -= np.einsum("ij,ij->i", C, C) / 2
    nearest = scores.reshape(n, n_sets, k).argmax(axis=2) + k * np.arange(n_sets)
    members = sparse.csr_array(
        (np.ones(nearest.size, points.dtype), nearest.ravel(), n_sets * np.arange(n + 1)),
        shape=(n, n_sets * k),
    )
    saved = np.take_along_axis(scores, nearest, axis=1).sum(axis=0, dtype=np.float64)
    return ClusterSums(
        (members.T @ points).astype(np.float64).reshape(centroids.shape),
        np.bincount(nearest.ravel(), minlength=n_sets * k).reshape(n_sets, k),
        float(np.einsum("ij,ij->", points, points, dtype=np.float64)),
        2 * saved,
    )


def refine_centroids(rows: EmbeddedRows, starts: Sequence[Array], normalize: bool) -> Array:
    """Best centroids of Lloyd iterations from several starts, one pass per iteration for all."""
    n, width = rows.shape

    def sums(centroids: Array) -> ClusterSums:
        work = partial(cluster_sums, centroids=centroids, normalize=normalize)
        return rows.reduce(work, ClusterSums.merged)

    centroids = np.stack(starts).astype(np.float64)
    moving = np.arange(len(centroids))
    for step in range(MAX_STEPS):
        report_progress("assigning", step, MAX_STEPS)
        before = centroids[moving]
        total = sums(before)
        counts = total.counts[:, :, None]
        moved = np.where(counts > 0, total.sums / np.maximum(counts, 1), before)
        mean = total.sums[0].sum(axis=0) / n
        # Rounding can make the variance of equal rows negative.
        variance = max(total.squares / n - mean @ mean, 0) / width
        centroids[moving] = moved
        moving = moving[np.square(moved - before).sum(axis=(1, 2)) > TOLERANCE * variance]
        if not len(moving):
            break
    report_progress("assigning", MAX_STEPS, MAX_STEPS)
    if len(centroids) == 1:
        return centroids[0]
    total = sums(centroids)
    # Rounding can make the inertia of points that equal their centroids negative.
    inertias = np.maximum(total.squares - total.explained, 0)
    # The first of those that differ by rounding only.
    return centroids[np.argmax(inertias <= (1 + SAME_INERTIA) * inertias.min())]


class _Farthest(NamedTuple):
    """The row farthest from a span, and its squared distance."""

    square: float
    row: Array

    def merged(self, other: "_Farthest") -> "_Farthest":
        return other if other.square > self.square else self


def _farthest(embedding: Array, first_row: int, *, basis: Array) -> _Farthest:
    rows = embedding.astype(np.float64)
    rows -= (rows @ basis.T) @ basis
    squares = np.einsum("ij,ij->i", rows, rows)
    first = int(squares.argmax())
    return _Farthest(float(squares[first]), embedding[first].astype(np.float64))


def distant_rows_in_blocks(rows: EmbeddedRows, count: int) -> Array:
    """The rows selected by pivoted QR, one pass for each."""
    basis = np.empty((0, rows.shape[1]))
    found = []
    for _ in range(count):
        row = rows.reduce(partial(_farthest, basis=basis), _Farthest.merged).row
        found.append(row)
        rest = row - basis.T @ (basis @ row)
        length = np.linalg.norm(rest)
        if length > 0:
            basis = np.vstack([basis, rest / length])
    return np.array(found)
