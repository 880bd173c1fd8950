"""How well batches mix: the share of other batches among the nearest neighbors of samples."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score, completeness_score, homogeneity_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.random import sample_without_replacement

from anchorview._utils.typing import Array, Matrix
from anchorview.views.container import MultiViewData

MAX_SAMPLES = 2000
"""Maximum number of samples whose neighbors are found."""

MAX_ENTRIES = 2**25
"""Maximum number of entries of the samples, as dense rows."""

N_NEIGHBORS, SAMPLES_PER_NEIGHBOR = 30, 10
"""Number of neighbors, or fewer so that there are this many samples for each."""

SAME = 0.7
"""Adjusted mutual information of batches and clusters, divided by the smaller entropy, from which
one of them follows from the other: 0.72 to 0.79 if a tenth of 2,000 samples in 2 to 10 batches are
in a random cluster, and 0 if clusters have the same shares in all batches."""


@dataclass(frozen=True)
class BatchMixing:
    """Share of neighbors from other batches, relative to that of samples in random order.

    About 1 if batches are mixed, 0 if each is by itself.
    """

    before: float
    """In the standardized views as they were given."""
    after: float
    """In the embedding."""


def sampled_positions(n_samples: int, n_features: int) -> Array:
    """Ascending positions of the samples whose neighbors are found."""
    count = min(n_samples, MAX_SAMPLES, max(MAX_SAMPLES // 10, MAX_ENTRIES // n_features))
    return np.sort(sample_without_replacement(n_samples, count, random_state=0))


def mixing_of_views(data: MultiViewData, deviations: tuple[Array, ...], codes: Array) -> float:
    """Mixing of the batches of samples by the distances of their standardized views.

    The squared distance of two samples is the mean over the views that both have.
    """
    n = len(data)
    totals, shared = np.zeros((n, n)), np.zeros((n, n))
    for p, (view, deviation) in enumerate(zip(data.views, deviations, strict=True)):
        has = np.ones(n, bool) if data.available is None else data.available[:, p]
        rows = np.flatnonzero(has)
        scaled = _divided(view[rows], deviation)
        pairs = np.ix_(rows, rows)
        totals[pairs] += euclidean_distances(scaled, squared=True) / view.shape[1]
        shared[pairs] += 1
    farthest = totals.max(initial=0) + 1
    return _mixing(
        np.divide(totals, shared, out=np.full((n, n), farthest), where=shared > 0), codes
    )


def mixing_of_rows(rows: Array, codes: Array) -> float:
    """Mixing of the batches of samples by the distances of rows of an embedding."""
    return _mixing(euclidean_distances(rows, squared=True), codes)


def _divided(rows: Matrix, deviation: Array) -> Matrix:
    # Centering, which would make sparse rows dense, does not change distances.
    factors = np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    if sparse.issparse(rows):
        return rows.astype(np.float64) @ sparse.diags_array(factors, format="csr")
    return rows * factors


def _mixing(squared_distances: Array, codes: Array) -> float:
    n = len(codes)
    sizes = np.bincount(codes)
    expected = float(np.mean((n - sizes[codes]) / max(n - 1, 1)))
    if not expected:
        return 1.0
    neighbors = NearestNeighbors(
        n_neighbors=max(1, min(N_NEIGHBORS, n // SAMPLES_PER_NEIGHBOR)), metric="precomputed"
    )
    near = neighbors.fit(squared_distances).kneighbors(return_distance=False)
    return float(np.mean(codes[near] != codes[:, None])) / expected


def confounding_sentence(labels: Array, codes: Array) -> str | None:
    """Sentence if clusters cannot be told from batches, else None."""
    several = len(np.unique(codes)) > 1 and len(np.unique(labels)) > 1
    if not several:
        return None
    if adjusted_mutual_info_score(codes, labels, average_method="min") < SAME:
        return None
    by_cluster, by_batch = homogeneity_score(codes, labels), completeness_score(codes, labels)
    how = (
        "nearly every cluster lies within one batch"
        if by_cluster >= by_batch
        else "nearly every batch lies within one cluster"
    )
    return (
        f"Batches and clusters cannot be told apart: {how}, although batches were taken out. What "
        "distinguishes the clusters may be what distinguishes the batches. Check that every batch "
        "has samples of several kinds, or compare with a fit without batch."
    )
