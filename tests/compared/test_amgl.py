import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview.compared import _views
from anchorview.compared._views import neighbor_graph
from anchorview.compared.neighbor_graph_methods import (
    AMGL,
    MIN_TRACE,
    joint_eigenvectors,
    laplacian_traces,
)
from anchorview.core.neighbors import normalized_affinity


def affinities(views, K=5):
    return [normalized_affinity(neighbor_graph([view], K)) for view in views]


@pytest.mark.parametrize(("dense_graph", "tolerance"), [(600, 1e-10), (10, 1e-7)])
def test_authors_program(toy, vectors, set_constants, dense_graph, tolerance):
    """Also with the eigensolver for large graphs."""
    set_constants(_views, DENSE_GRAPH=dense_graph)
    expected = vectors("amgl")
    model = AMGL(3, random_state=0).fit(toy[0])
    alpha, F = expected["alpha"].ravel(), expected["F"]
    np.testing.assert_allclose(model.objective_, expected["Obj"].ravel(), rtol=1e-10)
    np.testing.assert_allclose(model.views_["weight"], alpha / alpha.sum(), rtol=tolerance)
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, F @ F.T, atol=tolerance)
    assert adjusted_rand_score(model.labels_, expected["lab"].ravel()) > 0.95


def test_zero_traces_are_bounded_from_below():
    """Otherwise rounding would decide the weight, 1 / 0."""
    pairs = sparse.csr_array(np.kron(np.eye(3), [[0, 1], [1, 0]]))
    F = np.kron(np.eye(3), [[1], [1]]) / np.sqrt(2)
    np.testing.assert_allclose(laplacian_traces([pairs], F), [3 * MIN_TRACE], rtol=1e-12)


def test_one_view_gives_spectral_clustering():
    X = np.random.default_rng(0).standard_normal((80, 4))
    (A,) = affinities([X])
    _, _, objective = joint_eigenvectors(AMGL(5), [A], np.ones(1))
    smallest = np.linalg.eigvalsh(np.eye(80) - A.toarray())[:5]
    np.testing.assert_allclose(objective, np.sqrt(smallest.sum()), rtol=1e-10)
    assert len(objective) == 3


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 4))
def test_objective_never_increases_and_columns_are_orthonormal(seed, k, n_views):
    rng = np.random.default_rng(seed)
    views = [rng.standard_normal((60, 3)) for _ in range(n_views)]
    A = affinities(views)
    F, _, objective = joint_eigenvectors(AMGL(k, max_iter=12, tol=0), A, np.ones(len(A)))
    assert np.diff(objective).max() < 1e-9 * objective[0]
    np.testing.assert_allclose(F.T @ F, np.eye(k), atol=1e-10)


def groups_far_apart(count, n=120):
    rng = np.random.default_rng(0)
    y = np.arange(n) % count
    return 1000 * rng.standard_normal((count, 3))[y] + rng.standard_normal((n, 3)), y, rng


def test_components_are_the_clusters_or_the_other_view_chooses_among_them():
    """A view whose graph has several components has trace 0, and its weight would be infinite."""
    apart, y, rng = groups_far_apart(3)
    model = AMGL(3, random_state=0).fit([apart, rng.standard_normal((120, 20))])
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.views_["weight"].iloc[0] > 0.99
    F = model.embedding_
    assert laplacian_traces(affinities([apart]), F) == pytest.approx(3 * MIN_TRACE)
    apart, part, rng = groups_far_apart(6)
    y = part % 3
    other = 8 * np.eye(3)[y] + rng.standard_normal((120, 3))
    model = AMGL(3, random_state=0).fit([apart, other])
    assert adjusted_rand_score(y, model.labels_) == 1
