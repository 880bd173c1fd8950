"""Factors in place have the products that they are made of, of any rank."""

import numpy as np
import pytest

from anchorview._utils.linalg import cholesky_rows, pivoted_cholesky_rows

TOLERANCE = 1e-12


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
