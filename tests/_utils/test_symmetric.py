"""Products in tiles and factors in place equal those of NumPy, of any rank."""

import numpy as np
import pytest

from anchorview._utils import linalg
from anchorview._utils.linalg import (
    add_products,
    cholesky_rows,
    mirror_upper,
    pivoted_cholesky_rows,
)

TOLERANCE = 1e-12


@pytest.fixture(autouse=True, params=[7, 1024])
def tiles(request, set_constants):
    set_constants(linalg, TILE=request.param)


def products(kind: str) -> np.ndarray:
    X = np.random.default_rng(0).standard_normal((60, 30)) * np.logspace(-4, 4, 30)
    if kind == "zero columns":
        X[:, [0, 8, 29]] = 0
    if kind == "dependent columns":
        X[:, [3, 28]] = X[:, [20, 5]]
        X[:, 11] = X[:, 2] - 3 * X[:, 25]
    if kind == "few rows":
        X = X[:12]
    return X.T @ X


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_products_are_added_in_tiles(dtype, error):
    rows = np.random.default_rng(0).standard_normal((50, 31)).astype(dtype)
    total = np.ones((31, 31))
    add_products(total, rows)
    mirror_upper(total)
    assert total.dtype == np.float64
    np.testing.assert_allclose(total, 1 + rows.astype(np.float64).T @ rows, atol=50 * error)


@pytest.mark.parametrize(
    ("kind", "rank"),
    [("full", 30), ("zero columns", 30), ("dependent columns", 27), ("few rows", 12)],
)
def test_rows_have_the_products_and_the_rank(kind, rank):
    G = products(kind)
    R = cholesky_rows(G.copy(), TOLERANCE)
    assert len(R) == rank
    lengths = np.sqrt(np.diag(G))
    error = np.abs(R.T @ R - G)
    assert (error <= 1e-11 * np.outer(lengths, lengths)).all()


def test_full_rank_needs_no_other_memory():
    G = products("full")
    assert np.shares_memory(cholesky_rows(G, TOLERANCE), G)


@pytest.mark.parametrize(
    ("kind", "rank"),
    [("full", 30), ("zero columns", 27), ("dependent columns", 27), ("few rows", 12)],
)
def test_pivots_make_rows_triangular(kind, rank):
    G = products(kind)
    R, pivots = pivoted_cholesky_rows(G.copy(), TOLERANCE)
    assert len(R) == len(pivots) == rank
    np.testing.assert_array_equal(np.tril(R[:, pivots], -1), 0)
    lengths = np.sqrt(np.diag(G))
    assert (np.abs(R.T @ R - G) <= 1e-11 * np.outer(lengths, lengths)).all()
