import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import MultiViewData
from anchorview._utils.linalg import polar
from anchorview.compared.neighbor_graph_methods import (
    UOMVSC,
    agreement_weights,
    fuse_graphs,
    membership_gains,
    scaled_indicator,
    view_affinities,
)
from helpers.data import clustered_data


@pytest.fixture(scope="module")
def authors(vectors):
    return vectors("uomvsc")


@pytest.fixture(scope="module")
def stacks(authors):
    return [np.moveaxis(authors[name], 2, 0) for name in ("A_x", "A_h")]


@pytest.fixture
def problem():
    """Graphs, orthonormal H and labels of a random problem with k = 4."""
    rng = np.random.default_rng(0)
    data, _ = clustered_data(80, 4, (6, 5), seed=1)
    A, B = view_affinities(data, 4, 6, np.ones(len(data.views)))
    H, _ = np.linalg.qr(rng.standard_normal((80, 4)))
    return A, B, H, rng.permutation(np.arange(80) % 4)


class TestAuthorsProgram:
    def test_graphs_and_iterations_from_their_initialization(self, toy, stacks, authors):
        """The last graphs are those of the concatenated views."""
        found = view_affinities(MultiViewData(toy[0]), 3, 15, np.ones(3))
        for ours, theirs in zip(found, stacks, strict=True):
            assert len(ours) == 4
            for mine, their in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(mine.toarray(), their, rtol=1e-8, atol=1e-9)
        start = authors["Y0"].argmax(axis=1)
        np.testing.assert_allclose(scaled_indicator(start, 3), authors["F0"], atol=1e-12)
        labels, H, _, _, values = fuse_graphs(UOMVSC(3), *stacks, authors["H0"], start, np.ones(4))
        np.testing.assert_allclose(values, authors["Obj"].ravel(), rtol=1e-10)
        np.testing.assert_array_equal(labels, authors["F"].argmax(axis=1))
        np.testing.assert_allclose(H, authors["H"], atol=1e-9)

    def test_from_the_data(self, toy, authors):
        """Only the first weights differ, since the eigenvectors are rotated to the labels here."""
        model = UOMVSC(3, random_state=0).fit(toy[0])
        assert model.objective_[-1] == pytest.approx(authors["Obj"].ravel()[-1], rel=1e-6)
        assert adjusted_rand_score(model.labels_, authors["F"].argmax(axis=1)) == 1


class TestSteps:
    def test_gains_of_adding_one_sample_to_a_cluster(self):
        rng = np.random.default_rng(1)
        G = rng.standard_normal((25, 3))
        labels = np.arange(25) % 3
        gains = membership_gains(G, labels)
        for i in range(25):
            others = np.arange(25) != i
            without = np.sum(G[others] * scaled_indicator(labels[others], 3))
            for c in range(3):
                moved = np.where(others, labels, c)
                gain = np.sum(G * scaled_indicator(moved, 3)) - without
                assert gain == pytest.approx(gains[i, c], abs=1e-12)
        # Those of a single member and of an empty cluster are finite.
        G = np.random.default_rng(0).standard_normal((6, 3))
        labels = np.array([0, 0, 0, 0, 0, 1])
        gains = membership_gains(G, labels)
        assert np.isfinite(gains).all()
        assert gains[5, 1] == pytest.approx(G[5, 1])
        np.testing.assert_allclose(gains[:, 2], G[:, 2])

    def test_weights_are_never_negative(self, problem):
        A, _, _, labels = problem
        F = scaled_indicator(labels, 4)
        weights = agreement_weights([A[0], -A[0]], F, F, np.ones(2))
        assert np.sum(F * (A[0] @ F)) > 0
        np.testing.assert_allclose(weights, [1, 0], atol=1e-12)
        weights = agreement_weights([-A[0], -A[0]], F, F, np.ones(2))
        np.testing.assert_allclose(weights, np.sqrt([0.5, 0.5]))


def test_an_empty_cluster_gets_a_sample():
    """Four cliques, and a fifth cluster with a member of each, which all move to their cliques."""
    y = np.repeat(np.arange(4), 10)
    rng = np.random.default_rng(0)
    noise = 1e-3 * rng.random((40, 40))
    A = 0.1 * (y[:, None] == y) * (1 - np.eye(40)) + noise + noise.T
    labels = y.copy()
    labels[::10] = 4
    H, _ = np.linalg.qr(rng.standard_normal((40, 5)))
    first, _ = polar(A @ scaled_indicator(labels, 5))
    np.testing.assert_array_equal(membership_gains(A @ first, labels).argmax(axis=1), y)
    labels = fuse_graphs(UOMVSC(5, max_iter=1), [A], [A], H, labels, np.ones(1))[0]
    assert sorted(np.bincount(labels, minlength=5)) == [1, 9, 10, 10, 10]
    assert np.sum(labels != y) == 1
