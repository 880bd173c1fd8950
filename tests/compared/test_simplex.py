import numpy as np
import pytest

from anchorview.compared._simplex import simplex_rows


def by_bisection(q):
    """Projection of one row: the threshold t with sum(max(q - t, 0)) = 1, by halving."""
    low, high = min(q) - 1.0, max(q)
    for _ in range(200):
        middle = (low + high) / 2
        if sum(max(value - middle, 0.0) for value in q) > 1:
            low = middle
        else:
            high = middle
    return [max(value - high, 0.0) for value in q]


@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 10, 1000])
@pytest.mark.parametrize("m", [2, 3, 17])
def test_rows_are_projected_one_by_one(scale, m):
    Q = scale * np.random.default_rng(m).standard_normal((60, m))
    expected = np.array([by_bisection(row) for row in Q])
    np.testing.assert_allclose(simplex_rows(Q), expected, atol=1e-12 * max(1, scale))


def test_conditions_of_the_nearest_point():
    Q = 0.5 * np.random.default_rng(0).standard_normal((500, 6))
    Z = simplex_rows(Q)
    assert (Z >= 0).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1, rtol=1e-14)
    # Optimal: the gradient z - q is the same on the support and no less elsewhere.
    gradient = Z - Q
    least = gradient.min(axis=1, keepdims=True)
    assert np.allclose(np.where(Z > 0, gradient - least, 0), 0, atol=1e-14)
    assert 1 < np.count_nonzero(Z, axis=1).mean() < 6


def test_no_point_of_the_simplex_is_nearer():
    rng = np.random.default_rng(1)
    Q = rng.standard_normal((40, 4))
    distance = np.linalg.norm(simplex_rows(Q) - Q, axis=1)
    for _ in range(200):
        other = rng.dirichlet(np.ones(4), size=40)
        assert (np.linalg.norm(other - Q, axis=1) >= distance).all()


def test_ties_share_and_points_of_the_simplex_stay():
    np.testing.assert_allclose(
        simplex_rows(np.array([[2.0, 2.0, 2.0], [1.0, 1.0, -5.0], [0.0, 0.0, 0.0]])),
        [[1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]],
        rtol=1e-15,
    )
    inside = np.random.default_rng(0).dirichlet(np.ones(5), size=30)
    np.testing.assert_allclose(simplex_rows(inside), inside, atol=1e-15)


def test_one_column():
    np.testing.assert_array_equal(simplex_rows(np.array([[3.0], [-7.0]])), 1)


def test_single_precision_stays_single():
    Q = np.random.default_rng(0).standard_normal((50, 8))
    Z = simplex_rows(Q.astype(np.float32))
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z, simplex_rows(Q), atol=1e-6)


@pytest.mark.parametrize("large", [1e9, 1e17])
def test_large_values_keep_the_sum(large):
    Q = np.array([[large, 0.0, -large], [large, large, 0.0], [-large, -large, -large]])
    expected = [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(simplex_rows(Q), expected, rtol=1e-15)


def test_input_is_left_alone():
    Q = np.random.default_rng(0).standard_normal((5, 3))
    before = Q.copy()
    simplex_rows(Q)
    np.testing.assert_array_equal(Q, before)
