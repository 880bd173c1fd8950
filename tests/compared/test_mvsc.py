import numpy as np
import pytest

from anchorview.compared._anchor_graphs import singular_vectors
from anchorview.compared.bipartite_methods import MVSC, fused_vectors, gaussian_graph
from helpers.data import clustered_views


@pytest.fixture(scope="module")
def views():
    return list(clustered_views(90, 3, (6, 4, 5), separation=2.0, seed=2)[0].values())


@pytest.fixture(scope="module")
def graphs(views):
    rng = np.random.default_rng(0)
    return [gaussian_graph(X, X[rng.choice(90, 12, replace=False)], 5) for X in views]


def test_graphs_are_those_of_the_definition(views):
    X, anchors = views[0], views[0][::9]
    D = ((X[:, None] - anchors) ** 2).sum(axis=2)
    nearest = np.argsort(D, axis=1)[:, :5]
    s = np.take_along_axis(D, nearest, axis=1).mean()
    W = np.zeros_like(D)
    np.put_along_axis(W, nearest, np.exp(-np.take_along_axis(D, nearest, 1) / (2 * s**2)), 1)
    W /= W.sum(axis=1, keepdims=True)
    expected = W / np.sqrt(W.sum(axis=0))
    np.testing.assert_allclose(gaussian_graph(X, anchors, 5).toarray(), expected, atol=1e-10)
    # Normalized by both sides, so that the largest singular value is 1.
    assert np.linalg.norm(expected, 2) == pytest.approx(1)


def test_singular_pairs(graphs):
    Z = graphs[0].toarray()
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    found, right = singular_vectors(graphs[0], 4)
    np.testing.assert_allclose(np.abs(found.T @ U[:, :4]), np.eye(4), atol=1e-8)
    np.testing.assert_allclose(np.diag(found.T @ Z @ right), s[:4])


@pytest.mark.parametrize("r", [1.5, 3.0, 50.0])
def test_the_objective_of_the_paper_never_increases(graphs, r):
    model = MVSC(3, r=r, weighting="laplacian", tol=0)
    _, _, alpha, objective = fused_vectors(model, graphs, np.ones(len(graphs)))
    assert (np.diff(objective) <= 1e-9).all()
    assert alpha.sum() == pytest.approx(1)


def test_weights_of_the_paper_are_the_minimizer(graphs):
    model = MVSC(3, r=3.0, weighting="laplacian", max_iter=1)
    U, V, alpha, objective = fused_vectors(model, graphs, np.ones(len(graphs)))
    # Of all vectors, the first pair included, for equal weights.
    U, V = singular_vectors(sum(graphs), 4)
    traces = np.array([4 - np.sum(U * (Z @ V)) for Z in graphs])
    assert objective == pytest.approx([alpha**3 @ traces])
    others = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    assert (objective[0] <= others**3 @ traces + 1e-12).all()
