"""Layout of a map of the samples: which samples are drawn, and where."""

from typing import Any

import numpy as np
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

MAX_ROWS = 400_000
"""Maximum number of rows read from an embedding, which may be a file of any size."""

N_LANDMARKS = 2_000
"""Number of samples embedded by t-SNE; the others are placed relative to them."""

MIN_PER_CLUSTER = 50
"""Minimum number of samples drawn of each cluster, if it has as many."""

N_NEAR_LANDMARKS = 5
"""Number of landmarks that determine the position of a sample."""

N_HYPERPLANES = 12
"""Number of random hyperplanes that divide the embedding into cells to estimate densities."""

MAX_SPREAD = 0.06
"""Neighboring landmarks farther apart than this fraction of the map's width belong to different
groups; a sample is placed in the group of its nearest landmark, not between groups."""

BLOCK_ROWS = 20_000
"""Number of rows per block."""


def map_layout(
    embedding: Any, labels: Array, max_points: int = MAX_POINTS, *, normalize: bool = True
) -> tuple[Array, Array]:
    """Arrange samples in two dimensions such that similar rows of the embedding are neighbors.

    The embedding may be in memory, memory-mapped or a dask array; only sampled rows are read, and
    scaled to unit length if `normalize`. Labels determine how many samples of each cluster are
    drawn, not where. Returns the indices of the drawn samples, ascending, and their positions,
    (n_points, 2).
    """
    random = np.random.RandomState(0)
    read = sample_clusters(labels, MAX_ROWS, random)
    points = read_rows(embedding, read, normalize)
    labels = labels[read]
    quotas = cluster_quotas(labels, max_points, proportional=True)
    drawn = sample_by_density(points, labels, quotas, random)
    points, labels = points[drawn], labels[drawn]
    quotas = cluster_quotas(labels, N_LANDMARKS, proportional=False)
    landmarks = sample_by_density(points, labels, quotas, random)
    report_progress("map", 0, 2)
    anchors = _tsne(points[landmarks])
    report_progress("map", 1, 2)
    positions = _interpolate(points, points[landmarks], anchors, random)
    positions[landmarks] = anchors
    report_progress("map", 2, 2)
    return read[drawn], positions


def read_rows(embedding: Any, rows: Array, normalize: bool) -> Array:
    """Read rows of an embedding, given in ascending order, and optionally normalize them."""
    parts = row_slices(len(rows), BLOCK_ROWS)
    stacked = np.vstack([np.asarray(embedding[rows[part]], dtype=np.float32) for part in parts])
    return unit_rows(stacked) if normalize else stacked


def sample_clusters(labels: Array, max_samples: int, random: np.random.RandomState) -> Array:
    """Draw samples of each cluster in proportion to its size, but some of each; ascending."""
    if len(labels) <= max_samples:
        return np.arange(len(labels))
    quotas = cluster_quotas(labels, max_samples, proportional=True)
    return _smallest_keys(random.random_sample(len(labels)), labels, quotas)


def cluster_quotas(labels: Array, max_samples: int, proportional: bool) -> Array:
    """Number of samples to draw of each cluster, at most about `max_samples` in total.

    Quotas are proportional to the sizes of the clusters or, to keep small ones visible, to their
    square roots, subject to :data:`MIN_PER_CLUSTER`.
    """
    sizes = np.bincount(labels)
    if len(labels) <= max_samples:
        return sizes
    weights = sizes if proportional else np.sqrt(sizes)
    minimum = np.minimum(sizes, min(MIN_PER_CLUSTER, max(1, max_samples // (2 * len(sizes)))))
    # What remains after the minimum is divided by what is missing to the ideal quotas.
    missing = np.maximum(weights * max_samples / weights.sum() - minimum, 0)
    rest = max(0, max_samples - minimum.sum())
    quotas = minimum + np.floor(missing * rest / max(missing.sum(), 1e-12)).astype(int)
    return np.minimum(quotas, sizes)


def sample_by_density(
    points: Array, labels: Array, quotas: Array, random: np.random.RandomState
) -> Array:
    """Draw samples of each cluster with a preference for sparse regions; ascending."""
    if quotas.sum() >= len(labels):
        return np.arange(len(labels))
    normals = random.standard_normal((points.shape[1], N_HYPERPLANES)).astype(points.dtype)
    heights = points @ normals
    # Uniform offsets over the range of the data: hyperplanes through the middle would divide dense
    # regions as finely as sparse ones.
    sides = heights > random.uniform(heights.min(axis=0), heights.max(axis=0))
    codes = sides @ (1 << np.arange(N_HYPERPLANES))
    codes = codes + (1 << N_HYPERPLANES) * labels.astype(np.int64)
    _, cells, cell_sizes = np.unique(codes, return_inverse=True, return_counts=True)
    # The smallest keys are a weighted sample without replacement, weights 1 / sqrt(density).
    keys = random.exponential(size=len(labels)) * np.sqrt(cell_sizes[cells])
    return _smallest_keys(keys, labels, quotas)


def _smallest_keys(keys: Array, labels: Array, quotas: Array) -> Array:
    """Indices of the samples with the smallest keys of each cluster, ascending."""
    order = np.lexsort((keys, labels))
    first = np.searchsorted(labels[order], np.arange(len(quotas)))
    rank = np.arange(len(labels)) - first[labels[order]]
    return np.sort(order[rank < quotas[labels[order]]])


def _tsne(points: Array) -> Array:
    if len(points) < 4:
        return np.column_stack([np.arange(len(points)), np.zeros(len(points))]).astype(np.float32)
    tsne = TSNE(
        perplexity=min(30.0, (len(points) - 1) / 3),
        init=_principal_components(points),
        max_iter=500,
        random_state=0,
        learning_rate="auto",
    )
    return tsne.fit_transform(points).astype(np.float32)


def _principal_components(points: Array) -> Array:
    """First two principal components, scaled down, as the initialization of t-SNE."""
    centered = points - points.mean(axis=0)
    U, s, _ = np.linalg.svd(centered, full_matrices=False)
    components = np.zeros((len(points), 2), dtype=np.float32)
    components[:, : min(2, len(s))] = (U * s)[:, :2]
    # Separates samples that are equal or lie on a line.
    components += 1e-6 * np.random.RandomState(0).standard_normal(components.shape)
    return (1e-4 * components / components[:, 0].std()).astype(np.float32)


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
    """Leading principal components of the standardized views, side by side.

    Each view has the same total variance. Samples that lack a view have its mean there.
    """
    blocks = []
    data = encoded_tables(data, nan_cells=True)
    for position, view in enumerate(data.views):
        has = np.ones(len(data), bool) if data.available is None else data.available[:, position]
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
