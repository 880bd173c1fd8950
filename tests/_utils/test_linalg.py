"""Norms, Cholesky factors, ranks and leading singular vectors against full decompositions."""

import numpy as np
import pytest
from scipy import sparse

from anchorview import MultiViewData
from anchorview._utils import linalg
from anchorview._utils.linalg import (
    cholesky_rows,
    gram,
    gram_columns,
    leading_directions,
    pivoted_cholesky_rows,
    rank_and_directions,
    rank_up_to,
    row_squares,
)
from anchorview.core.scale import fit_scalings
from anchorview.core.scaled_view import scaled_views

TOLERANCE = 1e-6
SHAPES = {"tall": (90, 20), "wide": (20, 90), "square": (30, 30)}


def matrix_of_rank(shape, rank, seed=0):
    """Matrix whose nonzero singular values are distinct."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((n, rank)))[0] for n in shape)
    return (left * np.linspace(3, 1, rank)) @ right.T


def scaled_sparse(shape, seed=0):
    """Scaled sparse view, which is an operator."""
    X = sparse.random_array(
        shape, density=0.3, random_state=np.random.default_rng(seed), format="csr"
    )
    data = MultiViewData([X])
    (operator,), _ = scaled_views(data, fit_scalings(data, "zscore"), unit_norm=True)
    return operator


def require_leading(dense, found, count):
    """Leading right singular vectors up to their signs, and singular values."""
    directions, values = found
    _, s, Vt = np.linalg.svd(dense)
    assert directions.shape == (dense.shape[1], count)
    np.testing.assert_allclose(values, s[:count], rtol=1e-8)
    np.testing.assert_allclose(np.abs(Vt[:count] @ directions), np.eye(count), atol=1e-6)


@pytest.mark.parametrize("dense_spectrum", [4000, 10], ids=["gram", "iterative"])
@pytest.mark.parametrize("shape", SHAPES)
class TestRankAndDirections:
    @pytest.fixture(autouse=True)
    def small_spectrum(self, dense_spectrum, set_constants):
        set_constants(linalg, DENSE_SPECTRUM=dense_spectrum)

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
    @pytest.mark.parametrize("rank", [3, 6, 20])
    def test_equal_the_decomposition(self, shape, kind, rank):
        dense = matrix_of_rank(SHAPES[shape], rank)
        assert np.linalg.matrix_rank(dense) == rank
        for limit, count in ((12, 6), (8, 8), (4, 2), (2, 4)):
            found, *leading = rank_and_directions(kind(dense), limit, count, TOLERANCE)
            assert found == min(limit, rank) == rank_up_to(kind(dense), limit, TOLERANCE)
            require_leading(dense, leading, min(count, found))

    def test_of_a_scaled_sparse_view(self, shape):
        operator = scaled_sparse(SHAPES[shape])
        dense = operator @ np.eye(operator.shape[1])
        rank, *leading = rank_and_directions(operator, 8, 4, TOLERANCE)
        assert rank == 8
        require_leading(dense, leading, 4)
        require_leading(dense, leading_directions(operator, 4), 4)

    def test_in_single_precision(self, shape):
        dense = matrix_of_rank(SHAPES[shape], 5)
        rank, directions, values = rank_and_directions(dense.astype(np.float32), 12, 12, 1e-3)
        assert rank == 5
        assert directions.dtype == values.dtype == np.float64
        np.testing.assert_allclose(values, np.linspace(3, 1, 5), rtol=1e-5)
        np.testing.assert_allclose(directions.T @ directions, np.eye(5), atol=1e-5)


@pytest.mark.parametrize("dense_part", [2**24, 150])
def test_products_of_columns(dense_part, set_constants):
    set_constants(linalg, DENSE_PART=dense_part)
    dense = matrix_of_rank((40, 9), 6)
    for X in (sparse.csr_array(dense), dense):
        np.testing.assert_allclose(gram(X), dense.T @ dense, atol=1e-12)
    columns = np.array([7, 0, 3, 4, 1])
    found = gram_columns(sparse.csr_array(dense), columns)
    np.testing.assert_allclose(found, (dense.T @ dense)[:, columns], atol=1e-12)


@pytest.mark.parametrize(("whole", "share"), [(0, 2.0), (100, 2.0), (0, 0.1)])
@pytest.mark.parametrize("count", [1, 7, 20, 30])
def test_largest_eigenpairs_whichever_way(whole, share, count, set_constants):
    set_constants(linalg, WHOLE_SPECTRUM=whole, LARGE_SHARE=share)
    rows = np.random.default_rng(0).standard_normal((50, 20))
    G = rows.T @ rows
    squares, vectors = linalg.largest_eigenpairs(G, count)
    expected = np.linalg.eigvalsh(G)[-count:]
    np.testing.assert_allclose(squares, expected)
    np.testing.assert_allclose(G @ vectors, squares * vectors, atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(expected)), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8])
def test_squared_norms_of_rows(dtype):
    X = (30 * np.random.default_rng(0).standard_normal((50, 40))).astype(dtype)
    X[3] = 0
    squares = row_squares(X)
    assert squares.dtype == np.float64
    tolerance = 1e-6 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(squares, np.square(X.astype(float)).sum(axis=1), rtol=tolerance)
    # Squares beyond single precision.
    far = np.ones((4, 5), np.float32) * np.array([1e-25, 1, 1e25, 0], np.float32)[:, None]
    np.testing.assert_allclose(
        row_squares(far), np.square(far.astype(float)).sum(axis=1), rtol=1e-6
    )


def products(kind: str) -> np.ndarray:
    X = np.random.default_rng(0).standard_normal((60, 30)) * np.logspace(-4, 4, 30)
    if kind == "zeros":
        X[:, [0, 8, 29]] = 0
    if kind == "dependent":
        X[:, [3, 28]] = X[:, [20, 5]]
        X[:, 11] = X[:, 2] - 3 * X[:, 25]
    if kind == "few rows":
        X = X[:12]
    return X.T @ X


@pytest.mark.parametrize(
    ("kind", "rank", "pivoted_rank"),
    [("full", 30, 30), ("zeros", 30, 27), ("dependent", 27, 27), ("few rows", 12, 12)],
)
def test_rows_have_the_products_and_the_rank_and_pivots_make_them_triangular(
    kind, rank, pivoted_rank
):
    G = products(kind)
    pivoted, pivots = pivoted_cholesky_rows(G.copy(), 1e-12)
    assert len(pivoted) == len(pivots) == pivoted_rank
    np.testing.assert_array_equal(np.tril(pivoted[:, pivots], -1), 0)
    plain = cholesky_rows(G.copy(), 1e-12)
    assert len(plain) == rank
    lengths = np.sqrt(np.diag(G))
    for R in (plain, pivoted):
        assert (np.abs(R.T @ R - G) <= 1e-11 * np.outer(lengths, lengths)).all()
