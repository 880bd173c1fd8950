"""Layout of a map of the samples: which samples are drawn, and where."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import report_progress
from anchorview._utils.threads import row_slices
from anchorview._utils.typing import Array
from anchorview.estimators.preparation import encoded_tables
from anchorview.views.container import MultiViewData
from anchorview.views.table_columns import TableView

MAX_POINTS = 100_000
"""Number of points for which browsers draw the map and find tooltips without delay."""

N_LANDMARKS = 2_000
"""Number of samples embedded by t-SNE; the others are placed relative to them."""

MIN_PER_CLUSTER = 50
"""Minimum number of samples drawn of each cluster, if it has as many."""

N_NEAR_LANDMARKS = 5
"""Number of landmarks that determine the position of a sample."""

MAX_SPREAD = 0.06
"""Neighboring landmarks farther apart than this fraction of the map's width belong to different
groups; a sample is placed in the group of its nearest landmark, not between groups."""

BLOCK_ROWS = 20_000
"""Number of rows per block."""


def map_layout(
    embedding: Any, labels: Array, max_points: int = MAX_POINTS, *, normalize: bool = True
) -> tuple[Array, Array]:
    """Arrange samples in two dimensions such that similar rows of the embedding are neighbors.

    Only the drawn rows of the embedding are read, wherever it is. Labels determine how many samples
    of each cluster are drawn, not where. Returns the drawn rows, ascending, and their positions.
    """
    random = np.random.RandomState(0)
    drawn = sample_clusters(labels, max_points, 1, random)
    points = read_rows(embedding, drawn, normalize)
    # Square roots of the sizes, so that small clusters stay visible.
    landmarks = sample_clusters(labels[drawn], N_LANDMARKS, 0.5, random)
    report_progress("map", 0, 2)
    anchors = _tsne(points[landmarks], random)
    report_progress("map", 1, 2)
    positions = _interpolate(points, points[landmarks], anchors, random)
    positions[landmarks] = anchors
    report_progress("map", 2, 2)
    return drawn, positions


def read_rows(embedding: Any, rows: Array, normalize: bool) -> Array:
    """Read rows of an embedding, given in ascending order, and optionally normalize them."""
    parts = row_slices(len(rows), BLOCK_ROWS)
    stacked = np.vstack([np.asarray(embedding[rows[part]], dtype=np.float32) for part in parts])
    return unit_rows(stacked) if normalize else stacked


def sample_clusters(
    labels: Array, max_samples: int, power: float, random: np.random.RandomState
) -> Array:
    """Draw about `max_samples` positions in proportion to powers of the sizes of clusters."""
    if len(labels) <= max_samples:
        return np.arange(len(labels))
    sizes = np.bincount(labels)
    minimum = np.minimum(sizes, min(MIN_PER_CLUSTER, max(1, max_samples // (2 * len(sizes)))))
    # What remains after the minimum is divided by what is missing to the ideal shares.
    weights = sizes**power
    missing = np.maximum(weights * max_samples / weights.sum() - minimum, 0)
    rest = max(0, max_samples - minimum.sum())
    quotas = minimum + np.floor(missing * rest / max(missing.sum(), 1e-12))
    rank = pd.Series(random.random_sample(len(labels))).groupby(labels).rank().to_numpy()
    return np.flatnonzero(rank <= quotas[labels])


def _tsne(points: Array, random: np.random.RandomState) -> Array:
    if len(points) < 4:
        return np.column_stack([np.arange(len(points)), np.zeros(len(points))]).astype(np.float32)
    # Noise separates samples that are equal or lie on a line.
    noise = 1e-6 * random.standard_normal((len(points), 2))
    perplexity = min(30.0, (len(points) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, init="pca", max_iter=500, random_state=0)
    return tsne.fit_transform(np.hstack([points, noise])).astype(np.float32)


def _interpolate(
    points: Array, landmarks: Array, anchors: Array, random: np.random.RandomState
) -> Array:
    """Positions of samples: weighted means of those of the nearest landmarks, with jitter."""
    positions = np.empty((len(points), 2), dtype=np.float32)
    if len(points) == len(landmarks):
        return positions
    width = float(np.ptp(anchors, axis=0).max())
    n_neighbors = min(N_NEAR_LANDMARKS, len(landmarks))
    search = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(landmarks)
    spacing = NearestNeighbors(n_neighbors=2).fit(anchors).kneighbors()[0][:, 1]
    for block in row_slices(len(points), BLOCK_ROWS):
        distances, nearest = search.kneighbors(points[block])
        neighbors = anchors[nearest]
        close = np.linalg.norm(neighbors - neighbors[:, :1], axis=2) <= MAX_SPREAD * width
        weights = close / (distances**2 + 1e-6)
        weights /= weights.sum(axis=1, keepdims=True)
        jitter = random.standard_normal((len(distances), 2)) * spacing[nearest[:, :1]]
        positions[block] = np.einsum("ij,ijk->ik", weights, neighbors) + 0.5 * jitter
    return positions


N_MAP_COMPONENTS = 20
"""Number of principal components of each view."""


def reduced_views(data: MultiViewData) -> Array:
    """Leading principal components of the views, standardized and divided by their widths."""
    blocks = []
    data = encoded_tables(data, nan_cells=True)
    for position, view in enumerate(data.views):
        has = data.has_view(position)
        rows = view[np.flatnonzero(has)]
        rows = rows.toarray() if isinstance(rows, TableView) else rows
        scaler = StandardScaler(with_mean=not sparse.issparse(rows))
        scaled = scaler.fit_transform(rows.astype(np.float32)) / np.sqrt(view.shape[1])
        # Sparse views are not centered, which would make them dense: their first component is
        # close to the mean.
        n_components = min(N_MAP_COMPONENTS, *scaled.shape)
        svd = TruncatedSVD(n_components, random_state=0)
        block = np.zeros((len(data), n_components), np.float32)
        known = scaled if sparse.issparse(scaled) else np.nan_to_num(scaled)
        block[has] = svd.fit_transform(known)
        block[has] -= block[has].mean(axis=0)
        blocks.append(block)
    return np.hstack(blocks)
