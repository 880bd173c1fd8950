"""A flat map of an embedding: which samples are drawn, and where."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array

MOST_DRAWN = 100_000
"""Samples that a browser draws and finds under the pointer without delay."""

MOST_READ = 400_000
"""Rows of an embedding that are looked at: it may be a file of any length."""

LANDMARKS = 2_000
"""Samples that are laid out by t-SNE; the others are placed among them."""

LEAST_OF_A_CLUSTER = 50
"""Samples that are drawn of a cluster, however small its share, if it has them."""

NEIGHBOURS = 5
"""Landmarks by which a sample is placed."""

HYPERPLANES = 12
"""Cuts through the embedding, whose pieces tell where it is dense."""

REACH = 0.06
"""Part of the map's width within which landmarks place a sample together. Those farther apart
are different neighbors, and the middle between them is no place for it."""

ROWS_A_READ = 20_000


@dataclass(frozen=True, eq=False)
class FlatMap:
    """Places of the samples that are drawn."""

    rows: Array
    """Their positions among all samples, ascending."""
    places: Array
    """(n, 2), float32."""


def flat_map(
    embedding: Any, labels: Array, most: int = MOST_DRAWN, *, normalize: bool = True
) -> FlatMap:
    """Lay out samples so that those with like rows of the embedding are near each other.

    Parameters
    ----------
    embedding : array (n, l)
        In memory, a memory map or a dask array; only rows that are looked at are read.
    labels : array (n,) of int
        Clusters, which decide only how many samples each has on the map, not where.
    most : int
        Most samples to draw.
    normalize : bool
        Whether rows are scaled to length 1 first, as for the clustering.
    """
    random = np.random.RandomState(0)
    read = share_of_clusters(labels, MOST_READ, random)
    points = rows_of(embedding, read, normalize)
    codes = labels[read]
    drawn = dense_and_sparse(points, codes, quotas(codes, most, proportional=True), random)
    points, codes = points[drawn], codes[drawn]
    chosen = quotas(codes, LANDMARKS, proportional=False)
    landmarks = dense_and_sparse(points, codes, chosen, random)
    report_progress("map", 0, 2)
    anchors = _laid_out(points[landmarks])
    report_progress("map", 1, 2)
    places = _placed(points, points[landmarks], anchors, random)
    # Landmarks are where t-SNE put them.
    places[landmarks] = anchors
    report_progress("map", 2, 2)
    return FlatMap(read[drawn], places)


def rows_of(embedding: Any, rows: Array, normalize: bool) -> Array:
    """Some rows of an embedding, in ascending order, scaled to length 1 if so wanted."""
    parts = [
        np.asarray(embedding[rows[start : start + ROWS_A_READ]], dtype=np.float32)
        for start in range(0, len(rows), ROWS_A_READ)
    ]
    found = np.vstack(parts)
    return unit_rows(found) if normalize else found


def share_of_clusters(labels: Array, most: int, random: np.random.RandomState) -> Array:
    """Rows at random, of each cluster in proportion to its size, but some of each; ascending."""
    if len(labels) <= most:
        return np.arange(len(labels))
    return _smallest(random.random_sample(len(labels)), labels, quotas(labels, most, True))


def quotas(labels: Array, most: int, proportional: bool) -> Array:
    """How many samples to take of each cluster, about `most` in all.

    In proportion to the clusters' sizes or, since small ones would vanish, to their square roots;
    but of none fewer than some.
    """
    sizes = np.bincount(labels)
    if len(labels) <= most:
        return sizes
    wanted = sizes if proportional else np.sqrt(sizes)
    some = np.minimum(sizes, min(LEAST_OF_A_CLUSTER, max(1, most // (2 * len(sizes)))))
    # What is left after each has some goes to those that want more.
    missing = np.maximum(wanted * most / wanted.sum() - some, 0)
    rest = max(0, most - some.sum())
    found = some + np.floor(missing * rest / max(missing.sum(), 1e-12)).astype(int)
    return np.minimum(found, sizes)


def dense_and_sparse(
    points: Array, labels: Array, wanted: Array, random: np.random.RandomState
) -> Array:
    """So many samples of each cluster; one in a sparse region is likelier taken; ascending."""
    if wanted.sum() >= len(labels):
        return np.arange(len(labels))
    planes = random.standard_normal((points.shape[1], HYPERPLANES)).astype(points.dtype)
    heights = points @ planes
    # Cuts anywhere between the outermost samples: through the middle they would divide what is
    # dense as finely as the rest.
    sides = heights > random.uniform(heights.min(axis=0), heights.max(axis=0))
    pieces = sides @ (1 << np.arange(HYPERPLANES)) + (1 << HYPERPLANES) * labels.astype(np.int64)
    _, piece, sizes = np.unique(pieces, return_inverse=True, return_counts=True)
    # The smallest of such keys are a sample without replacement with weights 1 / sqrt(density).
    keys = random.exponential(size=len(labels)) * np.sqrt(sizes[piece])
    return _smallest(keys, labels, wanted)


def _smallest(keys: Array, labels: Array, wanted: Array) -> Array:
    """Rows with the smallest keys, so many of each cluster, ascending."""
    order = np.lexsort((keys, labels))
    firsts = np.searchsorted(labels[order], np.arange(len(wanted)))
    rank = np.arange(len(labels)) - firsts[labels[order]]
    return np.sort(order[rank < wanted[labels[order]]])


def _laid_out(points: Array) -> Array:
    """Places of landmarks by t-SNE."""
    if len(points) < 4:
        return np.column_stack([np.arange(len(points)), np.zeros(len(points))]).astype(np.float32)
    start = _principal_plane(points)
    perplexity = min(30.0, (len(points) - 1) / 3)
    layout = TSNE(
        perplexity=perplexity, init=start, max_iter=500, random_state=0, learning_rate="auto"
    )
    return layout.fit_transform(points).astype(np.float32)


def _principal_plane(points: Array) -> Array:
    """Small coordinates for the start of t-SNE, along the directions of most variance."""
    centered = points - points.mean(axis=0)
    U, s, _ = np.linalg.svd(centered, full_matrices=False)
    plane = np.zeros((len(points), 2), dtype=np.float32)
    plane[:, : min(2, len(s))] = (U * s)[:, :2]
    # Samples that are all equal, or on a line, must not lie exactly upon each other.
    plane += 1e-6 * np.random.RandomState(0).standard_normal(plane.shape)
    return (1e-4 * plane / plane[:, 0].std()).astype(np.float32)


def _placed(
    points: Array, landmarks: Array, anchors: Array, random: np.random.RandomState
) -> Array:
    """Places of samples: a weighted mean of those of the nearest landmarks, a little scattered."""
    places = np.empty((len(points), 2), dtype=np.float32)
    if len(points) == len(landmarks):
        return places
    width = float(np.ptp(anchors, axis=0).max())
    count = min(NEIGHBOURS, len(landmarks))
    search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(landmarks)
    spacing = NearestNeighbors(n_neighbors=2).fit(anchors).kneighbors()[0][:, 1]
    for start in range(0, len(points), ROWS_A_READ):
        block = slice(start, min(start + ROWS_A_READ, len(points)))
        distances, nearest = search.kneighbors(points[block])
        around = anchors[nearest]
        together = np.linalg.norm(around - around[:, :1], axis=2) <= REACH * width
        weights = together / (distances**2 + 1e-6)
        weights /= weights.sum(axis=1, keepdims=True)
        scatter = random.standard_normal((len(distances), 2)) * spacing[nearest[:, :1]]
        places[block] = np.einsum("ij,ijk->ik", weights, around) + 0.5 * scatter
    return places
