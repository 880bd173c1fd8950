"""Scaled sparse views against the dense views that they stand for."""

import numpy as np
import pytest
from scipy import sparse

from anchorview.core import scaled_view
from anchorview.core.scale import SCALINGS, fit_scalings
from anchorview.core.scaled_view import SparseScaledView, scaled_product
from anchorview.views.container import MultiViewData


def sparse_data(dtype=np.float64, missing=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.5, (60, 25)) * rng.random((60, 25)) + 0.0
    X[7] = 0
    X[:, 3] = 2.0
    available = np.ones((60, 2), bool)
    available[:missing, 0] = False
    views = {"counts": sparse.csr_array(X.astype(dtype)), "other": rng.random((60, 3))}
    return MultiViewData(views, available=available if missing else None), X


def scaled_by_hand(data, X, scaling):
    rows = scaling.apply(X, np.empty(X.shape))
    if data.available is not None:
        rows = rows * data.available[:, :1]
    return rows


@pytest.fixture(params=SCALINGS)
def method(request):
    return request.param


@pytest.mark.parametrize("missing", [0, 11])
@pytest.mark.parametrize("entries", [5, 10_000])
def test_products_are_those_of_the_dense_view(method, missing, entries, set_constants):
    set_constants(scaled_view, ENTRIES_PER_BLOCK=entries)
    data, X = sparse_data(missing=missing)
    scaling = fit_scalings(data, method)[0]
    expected = scaled_by_hand(data, X, scaling)
    found = SparseScaledView.of(data, 0, scaling)
    rng = np.random.default_rng(1)
    M, N = rng.standard_normal((25, 4)), rng.standard_normal((60, 3))
    np.testing.assert_allclose(found @ M, expected @ M, atol=1e-12)
    np.testing.assert_allclose(found.T @ N, expected.T @ N, atol=1e-12)
    np.testing.assert_allclose(found.gram(), expected.T @ expected, atol=1e-11)
    np.testing.assert_allclose(found[5:20].toarray(), expected[5:20], atol=1e-13)
    np.testing.assert_allclose(found.squares, (expected**2).sum(axis=1), atol=1e-12)


def test_single_precision_stays_single(method):
    data, X = sparse_data(np.float32)
    scaling = fit_scalings(data, method)[0]
    found = SparseScaledView.of(data, 0, scaling)
    assert found.dtype == np.float32
    assert np.shares_memory(found.X.data, data.views[0].data)
    M = np.random.default_rng(1).standard_normal((25, 4))
    expected = scaled_by_hand(data, X.astype(np.float32), scaling) @ M
    np.testing.assert_allclose(found @ M.astype(np.float32), expected, atol=1e-4)


def test_large_shifts_are_multiplied_in_double_precision():
    rng = np.random.default_rng(0)
    X = (1e4 + rng.standard_normal((50, 4))).astype(np.float32)
    data = MultiViewData([sparse.csr_array(X)])
    scaling = fit_scalings(data, "zscore")[0]
    found = SparseScaledView.of(data, 0, scaling)
    M = rng.standard_normal((4, 2))
    expected = scaling.apply(X.astype(np.float64), np.empty(X.shape)) @ M
    assert found.dtype == np.float64
    np.testing.assert_allclose(found @ M, expected, atol=1e-8)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_scaled_products_are_those_of_scaled_rows(method, form):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6)) * (rng.random((30, 6)) < 0.5)
    (scaling,) = fit_scalings(MultiViewData(X), method)
    W = rng.standard_normal((6, 2))
    expected = scaling.apply(X, np.empty(X.shape)) @ W
    np.testing.assert_allclose(scaled_product(form(X), scaling, W), expected, atol=1e-12)
