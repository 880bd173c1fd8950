import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from anchorview.compared._views import leading_eigenvectors, neighbor_graph
from anchorview.core.neighbors import normalized_affinity


def plain_graph(X, K):
    """The definition, sample by sample."""
    n = len(X)
    W = np.zeros((n, n))
    for i in range(n):
        e = ((X - X[i]) ** 2).sum(axis=1)
        e[i] = np.inf
        nearest = np.argsort(e)[: K + 1]
        e = e[nearest]
        for t in range(K):
            W[i, nearest[t]] = (e[K] - e[t]) / (K * e[K] - e[:K].sum())
    return (W + W.T) / 2


class TestNeighborGraph:
    @pytest.mark.parametrize("K", [1, 5, 38])
    def test_definition(self, K):
        X = np.random.default_rng(0).standard_normal((40, 6))
        W = neighbor_graph([X], K)
        np.testing.assert_allclose(W.toarray(), plain_graph(X, K), rtol=1e-10, atol=1e-14)

    def test_views_side_by_side_dense_and_sparse(self):
        rng = np.random.default_rng(0)
        dense = rng.standard_normal((60, 6))
        thin = sparse.random_array((60, 20), density=0.3, random_state=rng, format="csr")
        whole = np.hstack([dense, thin.toarray()])
        expected = plain_graph(whole, 5)
        for views in ([dense, thin], [sparse.csr_array(whole)], [sparse.csr_matrix(whole)]):
            W = neighbor_graph(views, 5)
            np.testing.assert_allclose(W.toarray(), expected, rtol=1e-10, atol=1e-14)

    def test_duplicates_are_neighbors_but_a_sample_is_not_its_own(self):
        X = np.repeat(np.random.default_rng(0).standard_normal((10, 50)), 5, axis=0)
        W = neighbor_graph([X], 3).toarray()
        assert not W.diagonal().any()
        # Four copies, of which three get a third: only copies are neighbors.
        block = np.kron(np.eye(10), np.ones((5, 5))) > 0
        assert not W[~block].any()
        np.testing.assert_allclose(W.sum(), 50)
        assert set(np.round(6 * W[block])) <= {0, 1, 2}
        np.testing.assert_allclose(6 * W, np.round(6 * W), atol=1e-12)

    @pytest.mark.parametrize("n", [2, 3, 4, 6])
    def test_few_samples_have_fewer_neighbors(self, n):
        X = np.random.default_rng(0).standard_normal((n, 3))
        W = neighbor_graph([X], 5).toarray()
        expected = np.array([[0, 1], [1, 0]]) if n == 2 else plain_graph(X, n - 2)
        np.testing.assert_allclose(W, expected, atol=1e-12)

    @given(st.integers(2, 40), st.integers(1, 8), st.integers(1, 4), st.integers(0, 1000))
    def test_sums_and_signs_on_grids_full_of_ties(self, n, K, d, seed):
        X = np.random.default_rng(seed).integers(0, 3, size=(n, d))
        W = neighbor_graph([X], K)
        dense = W.toarray()
        assert (dense >= 0).all()
        np.testing.assert_array_equal(dense, dense.T)
        assert not dense.diagonal().any()
        # Each sample gives weights that sum to 1; half of them stays in its row.
        assert W.sum() == pytest.approx(n)
        assert (dense.sum(axis=1) >= 0.5 - 1e-12).all()


def blobs(n, components, seed=0, d=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % components
    return 100 * rng.standard_normal((components, d))[y] + rng.standard_normal((n, d)), y


def check_eigenvectors(A, count):
    F = leading_eigenvectors(A, count)
    values = np.linalg.eigvalsh(A.toarray())[::-1][:count]
    np.testing.assert_allclose(F.T @ F, np.eye(count), atol=1e-10)
    np.testing.assert_allclose(F.T @ (A @ F), np.diag(values), atol=1e-8)
    # Errors of vectors are the roots of errors of values.
    assert np.abs(A @ F - F * values).max() < 1e-6
    return F


class TestLeadingEigenvectors:
    @pytest.mark.parametrize("n", [50, 700])
    @pytest.mark.parametrize("count", [2, 7, 40])
    def test_one_component(self, n, count):
        X = np.random.default_rng(0).standard_normal((n, 5))
        A = normalized_affinity(neighbor_graph([X], 5))
        F = check_eigenvectors(A, count)
        _, vectors = np.linalg.eigh(A.toarray())
        exact = vectors[:, -count:]
        np.testing.assert_allclose(F @ F.T, exact @ exact.T, atol=1e-6)

    @pytest.mark.parametrize("components", [3, 8, 60])
    @pytest.mark.parametrize("count", [3, 8])
    def test_several_components(self, components, count):
        """The eigenvalue 1 occurs once per component; all copies must be found."""
        X, _ = blobs(900, components)
        A = normalized_affinity(neighbor_graph([X], 5))
        assert connected_components(A)[0] >= components
        F = check_eigenvectors(A, count)
        if components >= count:
            assert np.trace(F.T @ (A @ F)) == pytest.approx(count, abs=1e-10)
