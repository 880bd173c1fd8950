import numpy as np
import pytest
from scipy import sparse

from anchorview import MultiViewData
from anchorview.compared._views import (
    min_max_scaled_views,
    row_standardized_views,
    standardized_views,
)


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((60, 7)) * 10.0 ** rng.integers(-3, 4, size=7) + 5
    dense[:, 2] = 0.1
    return [dense, sparse.random_array((60, 30), density=0.2, random_state=rng, format="csr")]


def standardized(X, axis):
    deviation = X.std(axis=axis, ddof=1, keepdims=True)
    deviation[deviation < 1e-12] = np.inf
    return (X - X.mean(axis=axis, keepdims=True)) / deviation


def test_standardized_columns(views):
    dense, thin = standardized_views(MultiViewData(views))
    np.testing.assert_allclose(dense, standardized(views[0], 0), atol=1e-9)
    np.testing.assert_allclose(thin @ np.eye(30), standardized(views[1].toarray(), 0), atol=1e-9)


def test_standardized_rows(views):
    constant = np.repeat(np.array([[0.1], [7.0], [0.0]]), 20, axis=0) * np.ones(4)
    constant[0, 1] = 3
    few = [np.arange(60.0)[:, None], np.arange(120.0).reshape(60, 2) ** 2]
    found = row_standardized_views(MultiViewData([*views, constant, *few]))
    for X, rows in zip([views[0], views[1].toarray()], found, strict=False):
        np.testing.assert_allclose(rows, standardized(X, 1), atol=1e-12)
    assert found[2][0] @ found[2][0] == pytest.approx(3)
    assert (found[2][1:] == 0).all()
    for X, columns in zip(few, found[3:], strict=True):
        np.testing.assert_allclose(columns, standardized(X, 0))


def test_columns_range_from_0_to_1_and_constant_columns_are_0(views):
    dense, thin = views
    scaled, scaled_thin = min_max_scaled_views(MultiViewData(views))
    varying = np.delete(dense, 2, axis=1)
    expected = (varying - varying.min(axis=0)) / np.ptp(varying, axis=0)
    np.testing.assert_allclose(np.delete(scaled, 2, axis=1), expected, atol=1e-9)
    assert not scaled[:, 2].any()
    # A sparse view is not shifted and stays sparse; differences of its rows are the same.
    negative = sparse.csr_array(thin.toarray() - 0.3 * (np.arange(60)[:, None] == 5))
    (scaled_negative,) = min_max_scaled_views(MultiViewData(negative))
    for before, after in ((thin, scaled_thin), (negative, scaled_negative)):
        assert sparse.issparse(after)
        whole = before.toarray()
        np.testing.assert_allclose(after.toarray(), whole / np.ptp(whole, axis=0), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool, np.float16, np.float32])
def test_small_types_are_scaled_in_single_precision(dtype):
    X = np.random.default_rng(0).integers(0, 2, size=(50, 6)) * 127
    X = (X - (0 if dtype in (bool, np.uint8) else 60)).astype(dtype)
    X[:, 1] = X[0, 1]
    (scaled,) = min_max_scaled_views(MultiViewData(X))
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, np.not_equal(X, X.min(axis=0)), atol=1e-6)


@pytest.mark.parametrize(
    "scale", [standardized_views, row_standardized_views, min_max_scaled_views]
)
@pytest.mark.parametrize("n_features", [2, 5])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_view_constant_up_to_rounding_is_named(scale, n_features, form):
    noise = np.random.default_rng(0).random((30, n_features))
    data = MultiViewData({"a": np.eye(30), "near": form(1 + 1e-14 * noise)})
    with pytest.raises(ValueError, match=r"view 1 \('near'\) is zero after scaling. Leave this"):
        scale(data)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_small_variation_above_rounding_is_kept(form):
    noise = np.random.default_rng(0).random((30, 4))
    X = 1 + np.array([1e-14, 1e-14, 1e-10, 1e-14]) * noise
    (scaled,) = min_max_scaled_views(MultiViewData(form(X)))
    np.testing.assert_allclose(np.ptp(sparse.csr_array(scaled).toarray(), axis=0), [0, 0, 1, 0])
