from itertools import combinations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from anchorview.compared._anchor_graphs import (
    minimize_on_simplex,
    project_groups_to_simplex,
    project_rows_to_simplex,
)


class TestSimplexProjection:
    @pytest.mark.parametrize("scale", [0.01, 0.3, 1, 10, 1000])
    @pytest.mark.parametrize("m", [1, 2, 3, 17])
    def test_optimality_conditions(self, scale, m):
        Q = scale * np.random.default_rng(m).standard_normal((60, m))
        before = Q.copy()
        Z = project_rows_to_simplex(Q)
        np.testing.assert_array_equal(Q, before)
        assert (Z >= 0).all()
        np.testing.assert_allclose(Z.sum(axis=1), 1, rtol=1e-12)
        # The gradient z - q is constant on the support and no smaller elsewhere.
        gradient = Z - Q
        excess = gradient - gradient.min(axis=1, keepdims=True)
        assert np.allclose(np.where(Z > 0, excess, 0), 0, atol=1e-12 * max(1, scale))

    def test_ties_share_and_points_of_the_simplex_stay(self):
        Q = np.array([[2.0, 2.0, 2.0], [1.0, 1.0, -5.0], [0.0, 0.0, 0.0]])
        expected = [[1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]
        np.testing.assert_allclose(project_rows_to_simplex(Q), expected, rtol=1e-15)
        inside = np.random.default_rng(0).dirichlet(np.ones(5), size=30)
        np.testing.assert_allclose(project_rows_to_simplex(inside), inside, atol=1e-15)


def best_by_enumeration(Q, c):
    """Minimizer of ``z'Qz - 2 c'z`` on the simplex: the best of all sets of positive entries."""
    m = len(c)
    best, lowest = None, np.inf
    for size in range(1, m + 1):
        for support in map(list, combinations(range(m), size)):
            # Stationary on the support: Q z = c + t, with t such that z sums to 1.
            inverse = np.linalg.inv(Q[np.ix_(support, support)])
            t = (1 - inverse.sum(axis=0) @ c[support]) / inverse.sum()
            z = np.zeros(m)
            z[support] = inverse @ (c[support] + t)
            if z.min() >= 0 and z @ Q @ z - 2 * c @ z < lowest:
                best, lowest = z, z @ Q @ z - 2 * c @ z
    return best


@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_quadratic_programs_are_solved(ridge):
    rng = np.random.default_rng(0)
    H = rng.standard_normal((5, 3))
    Q, C = H @ H.T + ridge * np.eye(5), 2 * rng.standard_normal((20, 5))
    Z = minimize_on_simplex(Q, C, max_iter=5000, tol=1e-10)
    np.testing.assert_allclose(Z.sum(axis=1), 1)
    assert Z.min() >= 0
    np.testing.assert_allclose(Z, [best_by_enumeration(Q, c) for c in C], atol=1e-4)


def test_too_few_steps_give_a_warning():
    rng = np.random.default_rng(0)
    H = rng.standard_normal((6, 2))
    Q = H @ H.T + 1e-6 * np.eye(6)
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        minimize_on_simplex(Q, rng.standard_normal((10, 6)), max_iter=3, tol=1e-12)


def test_groups_of_any_length_are_projected_as_rows_are():
    rng = np.random.default_rng(0)
    lengths = [4, 1, 0, 7, 2]
    groups = np.repeat(np.arange(5), lengths)
    values = 1e6 + rng.standard_normal(len(groups))
    order = rng.permutation(len(groups))
    found = np.empty(len(groups))
    found[order] = project_groups_to_simplex(values[order], groups[order], 5)
    for group in (0, 1, 3, 4):
        expected = project_rows_to_simplex(values[groups == group][None])[0]
        np.testing.assert_allclose(found[groups == group], expected, atol=1e-9)
