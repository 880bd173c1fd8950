import numpy as np
import pytest
from hypothesis import given, settings

from anchorview.compared.factorization_methods import AWMVC
from helpers.data import clustered_views
from helpers.problems import problems


def test_authors_program(toy, vectors):
    expected = vectors("awmvc")
    model = AWMVC(3, init="identity", n_init=2, random_state=0).fit(toy[0])
    np.testing.assert_allclose(model.objective_, expected["Obj"].ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.dimension_weights_, expected["alpha"].ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.alignment_weights_, expected["C"].ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.embedding_, expected["Z"].T, atol=1e-8)


def uncompressed(X, spaces, k, n_views, max_iter):
    """The iterations on the samples, with thin SVDs and every matrix formed."""

    def svd_polar(M):
        U, _, Vt = np.linalg.svd(M, full_matrices=False)
        return U @ Vt

    Z = [space.T for space in spaces]
    W = [np.eye(len(z), k) for z in Z]
    alpha, c = np.full(len(Z), 1 / len(Z)), np.full(len(Z), len(Z) ** -0.5)
    objective = []
    for _ in range(max_iter):
        B = [X.T @ z.T for z in Z]
        S = svd_polar(sum(ci * z.T @ w for ci, z, w in zip(c, Z, W, strict=True))).T
        W = [svd_polar(z @ S.T) for z in Z]
        Z = [
            svd_polar(a**2 / n_views**2 * X @ b + ci * S.T @ w.T).T
            for a, b, ci, w in zip(alpha, B, c, W, strict=True)
        ]
        r = [np.sum((X.T - b @ z) ** 2) / n_views**2 for b, z in zip(B, Z, strict=True)]
        f = np.array([np.trace(w @ S @ z.T) for w, z in zip(W, Z, strict=True)])
        alpha = np.array(r) ** -0.5 / np.sum(np.array(r) ** -0.5)
        c = f / np.linalg.norm(f)
        objective.append(0.5 * alpha**2 @ r - c @ f)
    return S.T, np.array(objective)


@pytest.mark.parametrize("init", ["svd", "identity"])
@pytest.mark.parametrize("n", [40, 300])
def test_compressed_iterations_equal_those_on_the_samples(init, n):
    views, _ = clustered_views(n, 4, (20, 30, 11), seed=1)
    model = AWMVC(4, init=init, max_iter=12, tol=0, n_init=2, random_state=0).fit(views)
    X = np.hstack(list(views.values()))
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    basis = np.linalg.svd(X, full_matrices=False)[0] if init == "svd" else np.eye(n)
    consensus, objective = uncompressed(X, [basis[:, :d] for d in (4, 8, 12)], 4, 3, 12)
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-9)
    S = model.embedding_
    np.testing.assert_allclose(S @ S.T, consensus @ consensus.T, atol=1e-8)


@settings(max_examples=15)
@given(problems())
def test_consensus_is_orthonormal_and_exact_weights_never_increase_the_objective(problem):
    for init in ("svd", "identity"):
        model = AWMVC(
            problem.n_clusters, init=init, exact_weights=True, tol=0, max_iter=15, n_init=1
        )
        model.fit(problem.views)
        S = model.embedding_
        np.testing.assert_allclose(S.T @ S, np.eye(S.shape[1]), atol=1e-6)
        scale = np.abs(model.objective_).max()
        assert np.diff(model.objective_).max() <= 1e-10 * scale
