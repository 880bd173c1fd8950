from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from anchorview.compared._anchor_graphs import (
    StructuredGraph,
    cluster_labels,
    component_labels,
    minimize_on_simplex,
    project_groups_to_simplex,
    project_rows_to_simplex,
    structured_graph,
)


def noisy_blocks(n=60, m=12, k=3, noise=0.3):
    """Target with k blocks of samples and anchors, and weaker links between blocks."""
    rng = np.random.default_rng(0)
    samples, anchors = np.arange(n) % k, np.arange(m) % k
    same = samples[:, None] == anchors
    B = same * rng.uniform(0.5, 1, (n, m)) + noise * rng.uniform(0, 1, (n, m))
    return sparse.csr_array(B / B.sum(axis=1, keepdims=True)), samples


def test_the_graph_has_as_many_components_as_clusters():
    target, y = noisy_blocks()
    found = structured_graph(target, 3)
    labels = component_labels(found.graph)
    assert labels.max() == 2
    assert adjusted_rand_score(y, labels) == 1
    # Each of the averaged matrices sums to the number of its simplexes.
    assert found.graph.sum() == pytest.approx((60 + 12) / 2)
    assert found.graph.min() >= 0
    np.testing.assert_allclose(found.embedding.T @ found.embedding, np.eye(3), atol=1e-9)
    # The embedding is constant on a component, up to the degree of the sample.
    scaled = found.embedding / np.sqrt(found.graph.sum(axis=1))[:, None]
    for j in range(3):
        np.testing.assert_allclose(np.ptp(scaled[labels == j], axis=0), 0, atol=1e-4)


def test_zeros_and_existing_components_stay():
    target, _ = noisy_blocks()
    target.data[target.data < 0.05] = 0
    target.eliminate_zeros()
    found = structured_graph(target, 3).graph
    assert not np.any((found.toarray() > 0) & (target.toarray() == 0))
    # A graph that has the components already is only projected.
    target, _ = noisy_blocks(noise=0)
    target.eliminate_zeros()
    found = structured_graph(target, 3).graph.toarray()
    rows = sparse.csr_array(target).toarray()
    assert np.allclose(rows.sum(axis=1), 1)  # Rows are on the simplex, so they stay.
    assert np.abs(2 * found - rows).sum() == pytest.approx(12)  # Columns sum to 1 each.


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_labels_when_components_are_not_the_clusters(n_clusters):
    target, y = noisy_blocks(noise=0)
    target.eliminate_zeros()
    U = np.linalg.qr(np.eye(3)[y] + 1e-3 * np.random.default_rng(0).standard_normal((60, 3)))[0]
    means = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0]])
    labels, count = cluster_labels(StructuredGraph(target, U), [means[y]], n_clusters, 0)
    assert count == 3
    assert len(np.unique(labels)) == n_clusters
    if n_clusters == 2:  # The two near components are merged.
        assert adjusted_rand_score(y == 2, labels) == 1
    elif n_clusters == 3:
        assert adjusted_rand_score(y, labels) == 1


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
