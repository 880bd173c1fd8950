import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from anchorview import MultiViewData
from anchorview.core.scale import SCALINGS, fit_scalings, view_moments
from anchorview.core.scaled_view import ScaledBlock, scaled_views
from helpers.blocks import rows_per_block


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
    thin = sparse.random_array((60, 30), density=0.2, random_state=rng, format="csr")
    return [dense, thin]


@pytest.mark.parametrize("method", SCALINGS)
@pytest.mark.parametrize("block_rows", [1, 7, None])
def test_blocks_are_scaled_as_defined(views, method, block_rows):
    data = MultiViewData(views)
    with rows_per_block(data, block_rows):
        scalings = fit_scalings(data, method)
        blocks = [ScaledBlock(data, scalings, block).toarray() for block in data.blocks()]
    whole = np.hstack([expected(views[0], method), expected(views[1].toarray(), method)])
    np.testing.assert_allclose(np.vstack(blocks), whole, atol=1e-9)


@pytest.mark.parametrize("method", SCALINGS)
@pytest.mark.parametrize("unit_norm", [True, False])
def test_whole_views_equal_blocks_and_have_norm_one(views, method, unit_norm):
    data = MultiViewData(views)
    matrices, scalings = scaled_views(data, fit_scalings(data, method), unit_norm=unit_norm)
    (block,) = (ScaledBlock(data, scalings, rows).toarray() for rows in data.blocks())
    dense, thin = matrices
    assert not isinstance(thin, np.ndarray)
    np.testing.assert_allclose(dense, block[:, :7], atol=1e-12)
    np.testing.assert_allclose(thin @ np.eye(30), block[:, 7:], atol=1e-12)
    assert thin.squared_norm == pytest.approx(np.sum(block[:, 7:] ** 2))
    if unit_norm:
        assert np.linalg.norm(dense) == pytest.approx(1)
        assert thin.squared_norm == pytest.approx(1)


def test_columns_with_a_large_mean_keep_their_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 3)) + 1e9
    data = MultiViewData(X)
    with rows_per_block(data, 64):
        (scaling,) = fit_scalings(data, "zscore")
    np.testing.assert_allclose(scaling.deviation, X.std(axis=0), rtol=1e-7)


def single_columns():
    """Columns for which naive sums in single precision lose digits, by their property."""
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
    data = MultiViewData(column)
    with rows_per_block(data, block_rows):
        found = view_moments(data, "zscore")[0]
    exact = column.astype(np.float64)
    assert found.mean == pytest.approx(exact.mean(), rel=1e-7, abs=2e-6 * exact.std())
    assert found.squares == pytest.approx(len(exact) * exact.var(), rel=2e-5, abs=0)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, np.float32, bool])
def test_small_types_are_scaled_in_single_precision(dtype):
    rng = np.random.default_rng(0)
    X = (rng.random((50, 6)) * (2 if dtype is bool else 200)).astype(dtype)
    data = MultiViewData(X)
    scalings = fit_scalings(data, "zscore-unit")
    (block,) = (ScaledBlock(data, scalings, rows).toarray() for rows in data.blocks())
    assert block.dtype == np.float32
    np.testing.assert_allclose(block, expected(X, "zscore-unit"), atol=1e-5)


@given(
    arrays(np.float64, (9, 4), elements=st.floats(-1e6, 1e6)),
    st.sampled_from(SCALINGS),
    st.integers(1, 9),
)
def test_scaling_is_finite_on_any_finite_data(X, method, block_rows):
    data = MultiViewData(X)
    with rows_per_block(data, block_rows):
        scalings = fit_scalings(data, method)
    (block,) = (ScaledBlock(data, scalings, rows).toarray() for rows in data.blocks())
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


@pytest.mark.parametrize("method", SCALINGS)
def test_products_of_sparse_columns_with_a_large_mean_keep_their_digits(method):
    X = np.random.default_rng(0).standard_normal((60, 12))
    X[:, :3] += [1e2, 1e4, 1e6]
    data = MultiViewData([sparse.csr_array(X)])
    (matrix,), _ = scaled_views(data, fit_scalings(data, method), unit_norm=True)
    rows = matrix.toarray()
    expected = rows.T @ rows
    np.testing.assert_allclose(matrix.gram(), expected, atol=1e-9 * expected.max())
