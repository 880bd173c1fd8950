"""Data without clusters, on which the agreement of partitions is compared for each number.

They are samples of the normal distribution with the means and covariances of the coordinates,
within and between views, scaled as these are. Families also agree on such data, since they all
divide it along its longest directions, so only agreement beyond this is evidence of clusters.
"""

from collections.abc import Mapping

import numpy as np

from anchorview._utils.linalg import unit_rows
from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import CandidatePool
from anchorview.estimators.auto.settings import NORMALIZED, SHARING_A_BASIS
from anchorview.views.container import MultiViewData, container_with_views

SAMPLES_PER_LANDMARK = 4
"""Minimum number of rows per landmark."""


def some_rows(coordinates: Mapping[str, MultiViewData], rows: Array) -> dict[str, MultiViewData]:
    """Coordinates of some samples; views have the norms of all."""
    selected = {}
    for scaling, data in coordinates.items():
        factor = data.dtype.type(np.sqrt(len(data) / len(rows)))
        part = data[rows]
        selected[scaling] = container_with_views(part, tuple(v * factor for v in part.views))
    return selected


def without_clusters(
    coordinates: Mapping[str, MultiViewData], rng: np.random.Generator
) -> dict[str, MultiViewData]:
    """Rows of a normal distribution, scaled as the samples are in the scalings of neighbors.

    They have the means and covariances of the coordinates in "zscore" and "unit", within and
    between both, of the samples that have the views; the same rows lack them.
    """
    n = len(next(iter(coordinates.values())))
    mixing = rng.standard_normal((n, n))
    drawn = {}
    for scaling, plain in SHARING_A_BASIS.items():
        if scaling not in coordinates:
            continue
        data = coordinates[plain]
        views = []
        for p, view in enumerate(data.views):
            has = np.arange(n) if data.available is None else np.flatnonzero(data.available[:, p])
            rows = view[has].astype(np.float64)
            means = rows.mean(axis=0) if len(has) else 0.0
            rows = mixing[np.ix_(has, has)] @ (rows - means) / np.sqrt(max(1, len(has))) + means
            rows = unit_rows(rows)
            if scaling == NORMALIZED and len(has):
                rows -= rows.mean(axis=0)
            rows /= max(np.linalg.norm(rows), np.finfo(float).tiny)
            whole = np.zeros(view.shape, view.dtype)
            whole[has] = rows
            views.append(whole)
        drawn[scaling] = container_with_views(data, tuple(views))
    return drawn


def comparison_pool(coordinates: Mapping[str, MultiViewData], seed: int) -> CandidatePool:
    """Pool of candidates whose partitions are compared, but do not join a consensus.

    One run per candidate is repaired: a run that ends with two clusters in one lowers the
    agreement at the right number.
    """
    pool = CandidatePool(coordinates, seed, n_runs=1, repairs_runs=True)
    pool.n_landmarks = max(10, min(pool.n_landmarks, len(pool) // SAMPLES_PER_LANDMARK))
    return pool
