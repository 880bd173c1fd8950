"""Structure: whether clusters are divided by a valley of density or cut through a continuum.

Two measures, both about 1 for arbitrary pieces of a continuum and 0 for clusters that do not touch:

- *cut*: the share of the weight of neighbor edges that leave a cluster, relative to that of pieces
  around random samples of the same graph, by shortest paths. Few edges alone are no evidence, as
  there are few between pieces of a curve, too.
- *valley*: the density halfway between a cluster and the nearest one, relative to the lower of
  their peaks, on samples that did not place the centers.

If their sum is large, it is compared with that of communities in normal noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from anchorview._utils.text import in_words
from anchorview._utils.typing import Array
from anchorview.core.neighbors import nearest_centers
from anchorview.estimators.auto.neighbor_graphs import NeighborGraph
from anchorview.estimators.relabeling import Relabeling
from anchorview.estimators.representation import NO_STRUCTURE
from anchorview.views.container import MultiViewData, container_with_views

MIN_SAMPLES, MIN_SAMPLES_PER_CLUSTER = 50, 4
"""Below these numbers of samples, clusters cannot be told from noise."""

ROWS, ROWS_PER_CLUSTER = 2000, 20
"""Number of samples that are judged, and its minimum per cluster."""

N_DIRECTIONS = 50
"""Number of leading directions of each view in which samples are compared."""

MIN_NEIGHBORS, MAX_NEIGHBORS = 4, 15
"""Range of the number of neighbors, which is half of the mean size of clusters."""

N_PARTITIONS = 10
"""Number of random partitions of the graph; their cuts vary by 5 to 20 %."""

N_REPEATS, REPEATED_ROWS = 5, 2500
"""Number of random divisions into two halves, each of which judges centers of the other, and of
draws of noise; more for fewer samples, until they are as many as the second number in all."""

LLOYD_STEPS = 5
"""Steps that fit centers to one half of the samples, so that they forget the other half."""

MIN_SIDE = 3
"""Number of samples of each of two clusters that a density needs."""

NO_CLUSTERS = 1.53
"""Sum of cut and valley from which on clusters are as arbitrary as those of noise."""

DOUBTFUL = 1.0
"""Sum from which on it is compared with normal noise."""
NOISE_ROWS = 1000
"""Maximum number of samples of noise."""
NOISE_MARGIN = 10.0
"""How much smaller than in noise the sum must be at least, times the number of samples. It is not
in 98 of 100 data sets of noise."""

STRONG, MODERATE = 0.54, 0.44
"""Structure from which on it is called so, else weak. These limits and those above and below were
chosen on 20 kinds of data without clusters and 15 real data sets (benchmarks/structure.md)."""

SEPARATED, TOUCHING = 0.85, 1.2
"""Sums of cut and valley up to which a single cluster is separated, or touches its neighbors."""

SAYINGS = {
    "separated": "separated",
    "touching": "touching others",
    "continuum": "cut out of a continuum",
}
BORDERS = tuple(SAYINGS)
"""What a cluster can be, and how a sentence says it."""

GRID = np.linspace(-1.0, 1.0, 81)
"""Positions on the line between two centers, which lie at -0.5 and 0.5."""
HALFWAY, BEFORE, AFTER = slice(36, 45), slice(0, 41), slice(40, 81)


@dataclass(frozen=True)
class Structure:
    """How far clusters are separated."""

    value: float | None = None
    """From 0, as on data without clusters, to 1; None if samples are too few."""
    borders: tuple[str, ...] = ()
    """For each cluster, one of `BORDERS`; empty if samples are too few."""


def judge_structure(
    coordinates: MultiViewData, labels: Array, n_clusters: int, seed: int
) -> Structure:
    """Structure of clusters of samples, given by coordinates of standardized features.

    Rows must not have unit norm, which makes two clusters of a line.
    """
    if len(labels) < max(MIN_SAMPLES, MIN_SAMPLES_PER_CLUSTER * n_clusters):
        return Structure()
    rng = np.random.default_rng(seed)
    count = min(len(labels), max(ROWS, ROWS_PER_CLUSTER * n_clusters))
    rows = np.sort(rng.choice(len(labels), count, replace=False))
    points = tuple(view[rows, :N_DIRECTIONS] for view in coordinates.views)
    data = container_with_views(coordinates[rows], points)
    n_repeats = max(N_REPEATS, REPEATED_ROWS // count)
    sums, mean = _sums(data, labels[rows], n_clusters, n_repeats, rng)
    limit = NO_CLUSTERS
    if mean > DOUBTFUL:
        some = data[np.sort(rng.choice(count, min(count, NOISE_ROWS), replace=False))]
        by_chance = []
        for _ in range(n_repeats):
            noise = normal_noise(some, rng.standard_normal((len(some), len(some))))
            communities = NeighborGraph(noise).n_communities(n_clusters)
            by_chance.append(_sums(noise, communities, n_clusters, N_REPEATS, rng)[1])
        limit = min(limit, float(np.mean(by_chance) - NOISE_MARGIN / count))
    borders = np.select([sums <= SEPARATED, sums <= TOUCHING], BORDERS[:2], BORDERS[2])
    return Structure(max(0.0, 1 - mean / limit), tuple(borders.tolist()))


def merged_borders(borders: tuple[str, ...], relabeling: Relabeling | None) -> tuple[str, ...]:
    """Borders after relabeling: merged clusters are separated no better than any of them."""
    if relabeling is None:
        return borders
    ranks = np.zeros(len(relabeling.names), dtype=int)
    np.maximum.at(ranks, relabeling.clusters, [BORDERS.index(border) for border in borders])
    return tuple(BORDERS[rank] for rank in ranks)


def structure_word(structure: float) -> str:
    """Strong, moderate, weak or none."""
    if structure <= 0:
        return "none"
    return "strong" if structure >= STRONG else "moderate" if structure >= MODERATE else "weak"


def structure_sentence(structure: float | None) -> str:
    """Sentence on the attribute `structure_`, for the command line and reports."""
    if structure is None:
        return (
            f"structure is not judged: it takes at least {MIN_SAMPLES} samples, and "
            f"{MIN_SAMPLES_PER_CLUSTER} per cluster, to tell clusters from noise"
        )
    if structure == 0:
        return (
            f"{NO_STRUCTURE}: the clusters are no better separated than pieces of data without "
            "clusters, so they may be arbitrary"
        )
    return (
        f"{structure_word(structure)} structure: {structure:.2f} on a scale from 0 (as on data "
        "without clusters) to 1 (clusters do not touch)"
    )


def structure_sentences(model: Any, names: Sequence[object]) -> list[str]:
    """Sentences on the structure of a fitted model and its clusters; none if it is not judged."""
    if getattr(model, "structure_", None) is None:
        return []
    by_border = {
        border: [name for name, own in zip(names, model.borders_, strict=True) if own == border]
        for border in BORDERS
    }
    parts = [f"{SAYINGS[border]} {in_words(own)}" for border, own in by_border.items() if own]
    return [structure_sentence(model.structure_), f"by cluster: {'; '.join(parts)}"]


def normal_noise(data: MultiViewData, mixing: Array) -> MultiViewData:
    """Rows of a normal distribution with the means and covariances of samples.

    Covariances are those within and between the views; the same rows lack views. Rows are mixed by
    a square matrix of standard normal numbers.
    """
    views = []
    for p, view in enumerate(data.views):
        has = np.arange(len(data))
        if data.available is not None:
            has = np.flatnonzero(data.available[:, p])
        rows = view[has].astype(np.float64)
        means = rows.mean(axis=0) if len(has) else 0.0
        drawn = np.zeros(view.shape)
        drawn[has] = mixing[np.ix_(has, has)] @ (rows - means) / np.sqrt(max(1, len(has))) + means
        views.append(drawn.astype(view.dtype))
    return container_with_views(data, tuple(views))


def _sums(
    data: MultiViewData, labels: Array, n_clusters: int, n_splits: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Sum of cut and valley of each cluster, and the mean over the samples."""
    sizes = np.bincount(labels, minlength=n_clusters)
    n_neighbors = int(np.clip(len(data) / n_clusters / 2, MIN_NEIGHBORS, MAX_NEIGHBORS))
    cuts = _cuts(NeighborGraph(data, n_neighbors).mean, labels, n_clusters, rng)
    valleys = _valleys(np.hstack(data.views).astype(np.float64), labels, n_clusters, n_splits, rng)
    known = np.isfinite(valleys) & (sizes > 0)
    valley = float(np.average(valleys[known], weights=sizes[known])) if known.any() else 1.0
    mean = float(np.average(cuts, weights=sizes)) + valley
    return cuts + np.where(known, valleys, valley), mean


def _cuts(
    graph: sparse.csr_array, labels: Array, n_clusters: int, rng: np.random.Generator
) -> Array:
    """Share of edges that leave each cluster, relative to that of random pieces of the graph."""
    n = graph.shape[0]
    edges = graph.tocoo()
    # Weights of distant neighbors may be too small for a reciprocal.
    weights = np.maximum(edges.data, np.finfo(float).tiny)
    # SciPy 1.14 takes no other integers.
    coords = tuple(axis.astype(np.int32) for axis in edges.coords)
    lengths = sparse.csr_array((1 / weights, coords), shape=graph.shape)
    degrees = np.maximum(np.bincount(edges.row, edges.data, n), np.finfo(float).tiny)

    def leaving(pieces: Array) -> Array:
        crosses = pieces[edges.row] != pieces[edges.col]
        return np.bincount(edges.row[crosses], edges.data[crosses], n) / degrees

    by_chance = np.zeros(n)
    for _ in range(N_PARTITIONS):
        seeds = rng.choice(n, n_clusters, replace=False)
        *_, pieces = dijkstra(lengths, indices=seeds, min_only=True, return_predecessors=True)
        by_chance += leaving(pieces) / N_PARTITIONS
    observed = np.bincount(labels, leaving(labels), n_clusters)
    expected = np.bincount(labels, by_chance, n_clusters)
    return np.divide(observed, expected, out=np.ones(n_clusters), where=expected > 0)


def _valleys(
    X: Array, labels: Array, n_clusters: int, n_splits: int, rng: np.random.Generator
) -> Array:
    """Density halfway to the nearest cluster, relative to the lower peak, of held-out samples."""
    orders = [rng.permutation(len(X)) for _ in range(n_splits)]
    halves = [(order[: len(X) // 2], order[len(X) // 2 :]) for order in orders]
    pairs = [*halves, *((second, first) for first, second in halves)]
    depths = np.full((len(pairs), n_clusters), np.nan)
    for depth, (fitted, held_out) in zip(depths, pairs, strict=True):
        present = np.unique(labels[fitted])
        if len(present) < 2:
            continue
        centers = _lloyd(X[fitted], np.searchsorted(present, labels[fitted]), len(present))
        nearest_center = nearest_centers(X[held_out], centers)
        distances = np.square(centers[:, None] - centers).sum(axis=2)
        np.fill_diagonal(distances, np.inf)
        for a, b in enumerate(distances.argmin(axis=1)):
            direction = (centers[b] - centers[a]) / distances[a, b]
            positions = (X[held_out] - (centers[a] + centers[b]) / 2) @ direction
            sides = positions[nearest_center == a], positions[nearest_center == b]
            if min(map(len, sides)) >= MIN_SIDE:
                depth[present[a]] = _depth(*sides)
    known = np.isfinite(depths)
    return np.divide(
        np.where(known, depths, 0).sum(axis=0),
        known.sum(axis=0),
        out=np.full(n_clusters, np.nan),
        where=known.any(axis=0),
    )


def _lloyd(X: Array, labels: Array, n_clusters: int) -> Array:
    """Centers after a few steps of Lloyd's algorithm, which forget the samples left out."""
    centers = np.zeros((n_clusters, X.shape[1]))
    for step in range(LLOYD_STEPS + 1):
        membership = sparse.csr_array((np.ones(len(X)), labels, np.arange(len(X) + 1)))
        membership.resize(len(X), n_clusters)
        sizes = np.bincount(labels, minlength=n_clusters)[:, None]
        centers = np.where(sizes > 0, membership.T @ X / np.maximum(sizes, 1), centers)
        if step < LLOYD_STEPS:
            labels = nearest_centers(X, centers)
    return centers


def _depth(a: Array, b: Array) -> float:
    """Ratio of the density halfway between two clusters to the lower of their peaks.

    The densities are kernel estimates in which both clusters have the same mass.
    """
    spread, size = min(a.std(), b.std()), min(len(a), len(b))
    bandwidth = 1.06 * spread * size**-0.2 + 1e-9  # Silverman's rule
    density = sum(
        np.exp(-0.5 * np.square((GRID[:, None] - side) / bandwidth)).mean(axis=1) for side in (a, b)
    )
    return float(density[HALFWAY].min() / min(density[BEFORE].max(), density[AFTER].max()))
