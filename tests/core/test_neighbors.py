"""Nearest neighbors against all distances."""

import numpy as np
import pytest
from scipy import sparse

from anchorview.core import neighbors
from anchorview.core.neighbors import nearest_others, nearest_places


@pytest.mark.parametrize("max_distances", [2**20, 300, 1])
def test_matrices_side_by_side_dense_and_sparse(max_distances, set_constants):
    set_constants(neighbors, MAX_DISTANCES=max_distances)
    rng = np.random.default_rng(0)
    dense, thin = rng.standard_normal((70, 6)), sparse.random_array((70, 9), density=0.3, rng=rng)
    thin = thin.tocsr()
    whole = np.hstack([dense, thin.toarray()])
    exact = np.square(whole[:, None] - whole).sum(axis=2)
    near, squares = nearest_places([dense, thin], [dense[:40], thin[:40]], 5)
    np.testing.assert_array_equal(near, np.argsort(exact[:, :40], axis=1)[:, :5])
    np.testing.assert_allclose(squares, np.sort(exact[:, :40], axis=1)[:, :5], atol=1e-12)
    near, squares = nearest_others([whole], 90)
    np.testing.assert_array_equal(near, np.argsort(exact, axis=1)[:, 1:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_of_close_samples_do_not_vanish_beside_their_norms(dtype):
    rng = np.random.default_rng(0)
    points = (100 + rng.standard_normal((40, 3))).astype(dtype)
    points[20:] = points[:20]
    points[30:] += dtype(1e-3)
    near, squares = nearest_others([points], 4)
    exact = np.square(points[:, None].astype(float) - points[near]).sum(axis=2)
    np.testing.assert_allclose(squares, exact, rtol=1e-4)
    assert (near != np.arange(40)[:, None]).all()
    assert (squares[:10, 0] == 0).all() and (near[:10, 0] == np.arange(20, 30)).all()
