"""Nearest centers and neighbors against all distances."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from anchorview.core import centers, neighbors
from anchorview.core.centers import nearest_centers, squared_distances
from anchorview.core.neighbors import nearest_others, nearest_places


@pytest.mark.parametrize("max_distances", [2**20, 300, 1])
@pytest.mark.parametrize("form", [sparse.csr_array, np.asarray])
def test_dense_and_sparse_rows(form, max_distances, set_constants):
    set_constants(neighbors, MAX_DISTANCES=max_distances)
    rng = np.random.default_rng(0)
    whole = rng.standard_normal((70, 12)) * (rng.random((70, 12)) < 0.6)
    exact = np.square(whole[:, None] - whole).sum(axis=2)
    points = form(whole)
    near, squares = nearest_places(points, points[:40], 5)
    np.testing.assert_array_equal(near, np.argsort(exact[:, :40], axis=1)[:, :5])
    np.testing.assert_allclose(squares, np.sort(exact[:, :40], axis=1)[:, :5], atol=1e-12)
    near, squares = nearest_others(points, 90)
    np.testing.assert_array_equal(near, np.argsort(exact, axis=1)[:, 1:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_of_close_samples_do_not_vanish_beside_their_norms(dtype):
    rng = np.random.default_rng(0)
    points = (100 + rng.standard_normal((40, 3))).astype(dtype)
    points[20:] = points[:20]
    points[30:] += dtype(1e-3)
    near, squares = nearest_others(points, 4)
    exact = np.square(points[:, None].astype(float) - points[near]).sum(axis=2)
    np.testing.assert_allclose(squares, exact, rtol=1e-4)
    assert (near != np.arange(40)[:, None]).all()
    assert (squares[:10, 0] == 0).all() and (near[:10, 0] == np.arange(20, 30)).all()


@pytest.fixture
def small_blocks(set_constants):
    set_constants(centers, SCORES=200, MIN_SCORED_ROWS=7, COMPARED_ROWS=30)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_centers_of_several_sets(dtype, small_blocks):
    rng = np.random.default_rng(0)
    rows, centers = rng.standard_normal((100, 4)).astype(dtype), rng.standard_normal((3, 9, 4))
    expected = [cdist(rows, of_set).argmin(axis=1) for of_set in centers]
    np.testing.assert_array_equal(nearest_centers(rows, centers), expected)
    np.testing.assert_array_equal(nearest_centers(rows, centers[1]), expected[1])


def test_squared_distances_over_known_values():
    rng = np.random.default_rng(0)
    rows, centers = rng.standard_normal((50, 6)), rng.standard_normal((4, 6))
    np.testing.assert_allclose(squared_distances(rows, centers), cdist(rows, centers) ** 2)
    known = rng.random(rows.shape) < 0.7
    rows[~known] = 0
    differences = np.where(known[:, None], rows[:, None] - centers, 0)
    expected = np.square(differences).sum(axis=2)
    np.testing.assert_allclose(squared_distances(rows, centers, known), expected)
