import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import anchorview.core.scale as scaling
from anchorview import MultiViewData
from anchorview.core.scale import (
    SCALINGS,
    fit_scalings,
    ranged_views,
    row_standardized_views,
    scaled_block,
    scaled_views,
)


def expected(X, method):
    """The scalings as their definition reads, on a whole dense view."""
    X = X.astype(np.float64)

    def unit(M):
        lengths = np.linalg.norm(M, axis=1, keepdims=True)
        return np.divide(M, lengths, out=np.zeros_like(M), where=lengths > 0)

    def zscore(M):
        deviation = M.std(axis=0)
        deviation[deviation < 1e-12 * np.abs(M.mean(axis=0))] = np.inf
        deviation[deviation == 0] = np.inf
        return (M - M.mean(axis=0)) / deviation

    steps = {
        "zscore-unit": lambda M: unit(zscore(M)),
        "unit-center": lambda M: unit(M) - unit(M).mean(axis=0),
        "zscore": zscore,
        "unit": unit,
        "none": lambda M: M,
    }
    return steps[method](X)


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((60, 7)) * 10.0 ** rng.integers(-3, 4, size=7) + 5
    dense[:, 2] = 0.1
    thin = sparse.random_array((60, 30), density=0.2, rng=rng, format="csr")
    return [dense, thin]


@pytest.mark.parametrize("method", SCALINGS)
@pytest.mark.parametrize("block_rows", [1, 7, None])
def test_blocks_are_scaled_as_defined(views, method, block_rows):
    data = MultiViewData(views)
    scalings = fit_scalings(data, method, block_rows)
    blocks = [scaled_block(data, scalings, block).copy() for block in data.blocks(block_rows)]
    whole = np.hstack([expected(views[0], method), expected(views[1].toarray(), method)])
    np.testing.assert_allclose(np.vstack(blocks), whole, atol=1e-9)


@pytest.mark.parametrize("method", SCALINGS)
@pytest.mark.parametrize("unit_norm", [True, False])
def test_whole_views_equal_blocks_and_have_norm_one(views, method, unit_norm):
    data = MultiViewData(views)
    matrices, scalings = scaled_views(data, fit_scalings(data, method), unit_norm=unit_norm)
    (block,) = (scaled_block(data, scalings, rows) for rows in data.blocks())
    dense, thin = matrices
    assert not isinstance(thin, np.ndarray)
    np.testing.assert_allclose(dense, block[:, :7], atol=1e-12)
    np.testing.assert_allclose(thin @ np.eye(30), block[:, 7:], atol=1e-12)
    np.testing.assert_allclose(thin.T @ np.eye(60), block[:, 7:].T, atol=1e-12)
    np.testing.assert_allclose(thin.dense_rows(slice(5, 9)), block[5:9, 7:], atol=1e-12)
    assert thin.squared_norm == pytest.approx(np.sum(block[:, 7:] ** 2))
    if unit_norm:
        assert np.linalg.norm(dense) == pytest.approx(1)
        assert thin.squared_norm == pytest.approx(1)


def test_columns_with_a_large_mean_keep_their_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 3)) + 1e9
    (scaling,) = fit_scalings(MultiViewData(X), "zscore", block_rows=64)
    np.testing.assert_allclose(scaling.deviation, X.std(axis=0), rtol=1e-7)


def single_columns():
    """Columns in single precision that plain sums would lose, by what is special about them."""
    noise = np.random.default_rng(0).standard_normal((5000, 8))
    columns = {
        "plain": noise[:, 0],
        "large mean": 1e4 + noise[:, 1],
        "tiny": 1e-28 * noise[:, 2],
        "huge": 1e28 * noise[:, 3],
        "outlier first": np.where(np.arange(5000) == 0, 1e6, noise[:, 4]),
        "sorted": np.sort(noise[:, 5]) + 100,
        "rare": np.where(np.arange(5000) == 4321, 1.0, 0.0),
        "constant": np.full(5000, 0.1),
    }
    return {name: column.astype(np.float32)[:, None] for name, column in columns.items()}


@pytest.mark.parametrize("name", single_columns())
@pytest.mark.parametrize("block_rows", [700, None])
def test_moments_in_single_precision_keep_their_digits(name, block_rows):
    column = single_columns()[name]
    found = scaling.view_moments(MultiViewData(column), "zscore", block_rows)[0]
    exact = column.astype(np.float64)
    assert found.mean == pytest.approx(exact.mean(), rel=1e-7, abs=2e-6 * exact.std())
    assert found.squares == pytest.approx(len(exact) * exact.var(), rel=2e-5, abs=0)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, np.float32, bool])
def test_small_types_are_scaled_in_single_precision(dtype):
    rng = np.random.default_rng(0)
    X = (rng.random((50, 6)) * (2 if dtype is bool else 200)).astype(dtype)
    data = MultiViewData(X)
    (block,) = (scaled_block(data, fit_scalings(data, "zscore-unit"), b) for b in data.blocks())
    assert block.dtype == np.float32
    np.testing.assert_allclose(block, expected(X, "zscore-unit"), atol=1e-5)


def test_zero_after_scaling_and_overflow_name_the_view():
    nearly_constant = 2.0 + 1e-14 * np.arange(6)[:, None]
    data = MultiViewData({"a": np.eye(6), "b": nearly_constant})
    with pytest.raises(ValueError, match=r"view 1 \('b'\) is zero after scaling"):
        scaled_views(data, fit_scalings(data, "zscore"), unit_norm=True)
    data = MultiViewData([np.full((4, 2), 1e200) * np.arange(4)[:, None]])
    with pytest.raises(ValueError, match="view 0 overflows float64"), np.errstate(over="ignore"):
        scaled_views(data, fit_scalings(data, "none"), unit_norm=True)


@given(
    arrays(np.float64, (9, 4), elements=st.floats(-1e6, 1e6)),
    st.sampled_from(SCALINGS),
    st.integers(1, 9),
)
def test_scaling_is_finite_on_any_finite_data(X, method, block_rows):
    data = MultiViewData(X)
    scalings = fit_scalings(data, method, block_rows)
    (block,) = (scaled_block(data, scalings, rows) for rows in data.blocks())
    assert np.isfinite(block).all()
    if method in ("unit", "zscore-unit"):
        lengths = np.linalg.norm(block, axis=1)
        assert (np.isclose(lengths, 1) | np.isclose(lengths, 0)).all()


@pytest.mark.parametrize("method", SCALINGS)
def test_rows_without_the_view_count_nowhere(views, method):
    available = np.ones((60, 2), bool)
    available[::3, 0] = False
    available[1::3, 1] = False
    data = MultiViewData(views, available=available)
    matrices, _ = scaled_views(data, fit_scalings(data, method), unit_norm=True)
    for p, (matrix, view) in enumerate(zip(matrices, views, strict=True)):
        has = available[:, p]
        alone = MultiViewData(view[np.flatnonzero(has)])
        (reference,), _ = scaled_views(alone, fit_scalings(alone, method), unit_norm=True)
        dense = matrix @ np.eye(matrix.shape[1])
        np.testing.assert_allclose(dense[has], reference @ np.eye(matrix.shape[1]), atol=1e-9)
        assert not dense[~has].any()


def test_rows_are_standardized_as_defined(views):
    equal = np.repeat(np.array([[0.1], [7.0], [0.0]]), 20, axis=0) * np.ones(4)
    equal[0, 1] = 3
    few = [np.arange(60.0)[:, None], np.arange(120.0).reshape(60, 2) ** 2]
    found = row_standardized_views(MultiViewData([*views, equal, *few]))
    for X, rows in zip([views[0], views[1].toarray()], found, strict=False):
        spread = X.std(axis=1, ddof=1, keepdims=True)
        middle = X.mean(axis=1, keepdims=True)
        expected = np.divide(X - middle, spread, out=np.zeros_like(X), where=spread > 0)
        np.testing.assert_allclose(rows, expected, atol=1e-12)
    assert found[2][0] @ found[2][0] == pytest.approx(3)
    assert (found[2][1:] == 0).all()
    for X, columns in zip(few, found[3:], strict=True):
        np.testing.assert_allclose(columns, (X - X.mean(axis=0)) / X.std(axis=0, ddof=1))


def test_columns_are_only_measured_where_rows_have_too_few_features(views, monkeypatch):
    passes = []

    def spied(data, method):
        passes.append(method)
        return fit_scalings(data, method)

    monkeypatch.setattr(scaling, "fit_scalings", spied)
    row_standardized_views(MultiViewData(views))
    row_standardized_views(MultiViewData([*views, np.arange(120.0).reshape(60, 2)]))
    assert passes == ["none", "zscore"]


@pytest.mark.parametrize("n_features", [2, 5])
def test_rows_of_zeros_only_and_overflow_name_the_view(n_features):
    X = np.random.default_rng(0).random((30, n_features))
    zero = MultiViewData({"a": np.eye(30), "b": 1 + 1e-14 * X})
    with pytest.raises(ValueError, match=r"view 1 \('b'\) is zero after scaling"):
        row_standardized_views(zero)
    huge = MultiViewData({"a": np.eye(30), "b": 1e200 * X})
    with pytest.raises(ValueError, match=r"view 1 \('b'\) overflows"), np.errstate(over="ignore"):
        row_standardized_views(huge)


@pytest.mark.parametrize("method", SCALINGS)
def test_some_rows_of_a_scaled_sparse_view(views, method):
    data = MultiViewData(views[1])
    (whole,), _ = scaled_views(data, fit_scalings(data, method), unit_norm=True)
    norm, dense = whole.squared_norm, whole @ np.eye(whole.shape[1])
    rows = np.array([40, 3, 3, 17])
    part = whole.restricted(rows)
    assert part.shape == (4, whole.shape[1])
    np.testing.assert_allclose(part @ np.eye(part.shape[1]), dense[rows], atol=1e-12)
    np.testing.assert_allclose(part.T @ np.eye(4), dense[rows].T, atol=1e-12)
    np.testing.assert_allclose(part.dense_rows(slice(None)), dense[rows], atol=1e-12)
    assert part.squared_norm == pytest.approx(np.sum(dense[rows] ** 2))
    part *= 3
    assert part.squared_norm == pytest.approx(9 * np.sum(dense[rows] ** 2))
    assert whole.squared_norm == norm
    np.testing.assert_array_equal(whole @ np.eye(whole.shape[1]), dense)


def test_ranged_columns_go_from_0_to_1_and_constant_ones_are_0(views):
    dense, thin = views
    ranged, ranged_thin = ranged_views(MultiViewData(views))
    varying = np.delete(np.arange(7), 2)
    lowest = dense[:, varying].min(axis=0)
    spread = np.ptp(dense[:, varying], axis=0)
    np.testing.assert_allclose(ranged[:, varying], (dense[:, varying] - lowest) / spread, atol=1e-9)
    assert not ranged[:, 2].any()
    # A sparse view is not shifted and stays sparse; differences of its rows are the same.
    negative = sparse.csr_array(thin.toarray() - 0.3 * (np.arange(60)[:, None] == 5))
    (ranged_negative,) = ranged_views(MultiViewData(negative))
    for before, after in ((thin, ranged_thin), (negative, ranged_negative)):
        assert sparse.issparse(after)
        whole = before.toarray()
        np.testing.assert_allclose(after.toarray(), whole / np.ptp(whole, axis=0), atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_view_without_a_range_is_refused_by_name(form):
    noise = np.random.default_rng(0).random((30, 4))
    near = 1 + 1e-14 * noise
    assert np.ptp(near, axis=0).all()
    data = MultiViewData({"a": np.eye(30), "near": form(near)})
    with pytest.raises(ValueError, match=r"view 1 \('near'\) is zero after scaling. Leave this"):
        ranged_views(data)
    near[:, 2] = 1 + 1e-10 * noise[:, 2]
    _, ranged = ranged_views(MultiViewData({"a": np.eye(30), "near": form(near)}))
    whole = ranged.toarray() if sparse.issparse(ranged) else ranged
    np.testing.assert_allclose(np.ptp(whole, axis=0), [0, 0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool, np.float16, np.float32])
def test_ranged_small_types(dtype):
    X = np.random.default_rng(0).integers(0, 2, size=(50, 6)) * 127
    X = (X - (0 if dtype in (bool, np.uint8) else 60)).astype(dtype)
    X[:, 1] = X[0, 1]
    (ranged,) = ranged_views(MultiViewData(X))
    assert ranged.dtype == np.float32
    np.testing.assert_allclose(ranged, np.not_equal(X, X.min(axis=0)), atol=1e-6)
