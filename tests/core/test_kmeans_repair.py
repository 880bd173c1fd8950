"""Centroids move from clusters that have two to clusters that have none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from anchorview.core.blockwise_kmeans import lloyd, repaired
from anchorview.core.centers import EmbeddedRows


def make_clusters(k=6, n=600, noise=0.1, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), np.arange(k), rng.integers(k, size=n - 2 * k)])
    centers = 3 * np.eye(k)
    # The last two are neighbors, so that Lloyd iterations leave them one centroid.
    centers[-1] = centers[-2] + 2 * np.eye(k)[-1]
    return (centers[y] + noise * rng.standard_normal((n, k))).astype(dtype), y


def settled(points, start):
    return lloyd(EmbeddedRows(points), np.asarray(start)[None], False, 0.0).centroids[0]


def inertia(points, centroids):
    return cdist(points, centroids, "sqeuclidean").min(axis=1).sum()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_missing_cluster_gets_one_of_two_centroids(dtype):
    points, y = make_clusters(dtype=dtype)
    means = np.array([points[y == c].mean(axis=0, dtype=np.float64) for c in range(6)])
    both = points[y == 0][:2]
    stuck = settled(points, np.vstack([both, means[1:5]]))
    found = settled(points, repaired(points, stuck))
    assert inertia(points, found) < 0.25 * inertia(points, stuck)
    order = cdist(means, found).argmin(axis=1)
    np.testing.assert_allclose(found[order], means, atol=1e-6)


def test_separated_clusters_and_equal_points_stay():
    points, _ = make_clusters()
    assert repaired(points, settled(points, points[:6])) is None
    points = np.ones((50, 3))
    assert repaired(points, np.array([[1.0, 1, 1], [1, 1, 1], [2, 2, 2]])) is None


@given(seed=st.integers(0, 200), k=st.integers(2, 40))
@settings(max_examples=25)
def test_moves_lower_the_inertia(seed, k):
    points, _ = make_clusters(k=8, n=300, noise=0.7, seed=seed)
    start = points[np.random.default_rng(seed).choice(300, k, replace=False)]
    before = settled(points, start)
    after = repaired(points, before)
    if after is not None:
        assert inertia(points, after) < inertia(points, before)
        assert after.shape == before.shape
