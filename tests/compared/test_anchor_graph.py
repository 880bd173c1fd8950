"""The model and solver that SMVSC, FPMVS-CAG and OMSC share, and what holds for all three."""

import numpy as np
import pytest

from anchorview import MultiViewData
from anchorview.compared import FPMVSCAG, LMVSC, OMSC, SMVSC
from anchorview.compared._anchor_graphs import (
    AnchorGraphModel,
    gcca_embedding,
    project_rows_to_simplex,
    singular_vectors,
)
from anchorview.compared._views import standardized_views
from helpers.data import clustered_views

SHAPES = {
    "m = d": ((9, 7, 6), 4, 4),
    "m > d": ((9, 7, 6), 3, 8),
    "narrow views": ((2, 1, 9), 4, 4),
    "narrow views, m > d": ((2, 3, 9), 4, 9),
}
QUICK = {"random_state": 0, "n_init": 3}
METHODS = [
    pytest.param(FPMVSCAG, QUICK, id="FPMVSCAG"),
    pytest.param(SMVSC, {"tol": 0, **QUICK}, id="SMVSC"),
    pytest.param(SMVSC, {"n_anchors": 8, "tol": 0, **QUICK}, id="SMVSC, m = 8"),
    pytest.param(OMSC, {"random_state": 0}, id="OMSC"),
    pytest.param(OMSC, {"n_anchors": 8, "random_state": 0}, id="OMSC, m = 8"),
]
any_shape = pytest.mark.parametrize("shape", SHAPES)


def make_views(widths, n=60, seed=0):
    rng = np.random.default_rng(seed)
    latent = 2 * rng.standard_normal((5, 4))[rng.integers(5, size=n)]
    views = [latent @ rng.standard_normal((4, d)) + rng.standard_normal((n, d)) for d in widths]
    return standardized_views(MultiViewData(views))


def make_model(shape, *, weighted_z, seed=0):
    widths, d, m = SHAPES[shape]
    indicator = np.eye(m)[np.random.default_rng(seed).integers(m, size=60)]
    model = AnchorGraphModel(make_views(widths, seed=seed), indicator, d, weighted_z=weighted_z)
    model.fit_anchors()
    return model


def iterate(model, ridge=0.5, target=0.0):
    model.update_projections()
    model.update_anchors()
    model.update_graph(ridge, target)
    model.update_weights()


def objective(model, ridge, target=0.0):
    """The objective by its definition."""
    fit = sum(
        a**2 * np.sum((X - model.graph @ (W @ model.anchors).T) ** 2)
        for a, X, W in zip(model.weights, model.views, model.projections, strict=True)
    )
    return fit + ridge * np.sum((model.graph - target) ** 2)


class TestModel:
    @any_shape
    def test_constraints_and_residuals(self, shape):
        model = make_model(shape, weighted_z=False)
        iterate(model)
        Z, A = model.graph, model.anchors
        for X, W, R in zip(model.views, model.projections, model.residuals, strict=True):
            assert np.sum((X - Z @ (W @ A).T) ** 2) == pytest.approx(R, rel=1e-12)
            small = W.T @ W if W.shape[0] >= W.shape[1] else W @ W.T
            np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-12)
        np.testing.assert_allclose(A @ A.T, np.eye(len(A)), atol=1e-12)
        np.testing.assert_allclose(Z.sum(axis=1), 1)
        assert (Z >= 0).all()

    def test_weighted_graph_update_minimizes_for_orthonormal_bases(self):
        model = make_model("m = d", weighted_z=True)
        iterate(model)
        model.update_projections()
        model.update_anchors()
        target = np.random.default_rng(3).dirichlet(np.ones(4), size=60)
        model.update_graph(0.5, target)
        best = objective(model, 0.5, target)
        parts = zip(model.weights, model.views, model.bases, strict=True)
        Q = sum(a**2 * X @ B for a, X, B in parts)
        exact = project_rows_to_simplex((Q + 0.5 * target) / (np.sum(model.weights**2) + 0.5))
        np.testing.assert_allclose(model.graph, exact, atol=1e-12)
        rng = np.random.default_rng(4)
        for _ in range(50):
            model.graph = 0.9 * exact + 0.1 * rng.dirichlet(np.ones(4), size=60)
            assert objective(model, 0.5, target) > best

    @pytest.mark.parametrize("ridge", [0.0, 1.0, 30.0])
    @any_shape
    def test_no_weighted_update_increases_the_objective(self, shape, ridge):
        for seed in range(5):
            model = make_model(shape, weighted_z=True, seed=seed)
            target = np.random.default_rng(seed).dirichlet(np.ones(model.graph.shape[1]), size=60)
            iterate(model, ridge, target)
            value = first = objective(model, ridge, target)
            for _ in range(15):
                for update in (
                    model.update_projections,
                    model.update_anchors,
                    lambda model=model, target=target: model.update_graph(ridge, target),
                    model.update_weights,
                ):
                    update()
                    new = objective(model, ridge, target)
                    assert new <= value * (1 + 1e-12)
                    value = new
            assert value < first


def test_left_singular_vectors_ignore_unused_anchors():
    Z = np.random.default_rng(0).dirichlet(np.ones(4), size=50)
    expected = np.linalg.svd(Z, full_matrices=False)[0]
    for graph in (Z, np.insert(Z, [1, 3], 0, axis=1)):
        U, _ = singular_vectors(graph)
        assert U.shape == (50, 4)
        np.testing.assert_allclose(np.abs(np.sum(U * expected, axis=0)), 1)
        np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-10)


def test_embedding_is_what_the_views_share():
    rng = np.random.default_rng(0)
    common = np.linalg.qr(rng.standard_normal((400, 2)))[0]
    # What each view has alone is stronger than what it shares.
    views = [
        common @ rng.standard_normal((2, 8))
        + 3 * rng.standard_normal((400, 3)) / 20 @ rng.standard_normal((3, 8))
        for _ in range(3)
    ]
    views = standardized_views(MultiViewData(views))
    shared = np.linalg.qr(gcca_embedding(views, 5)[:, :2])[0]
    strongest = np.linalg.svd(np.hstack(views), full_matrices=False)[0][:, :2]
    assert np.linalg.svd(common.T @ shared, compute_uv=False).min() > 0.9
    assert np.linalg.svd(common.T @ strongest, compute_uv=False).min() < 0.5


@pytest.mark.parametrize(("method", "settings"), METHODS)
@pytest.mark.parametrize("init", ["gcca", "identity"])
def test_weighted_objective_never_increases(toy, method, settings, init):
    model = method(3, init=init, weighted_z=True, max_iter=30, **settings).fit(toy[0])
    assert (np.diff(model.objective_) <= 1e-14 * model.objective_[0]).all()


@pytest.mark.parametrize("method", [SMVSC, OMSC, LMVSC])
@pytest.mark.parametrize("n_anchors", [3, 151])
def test_impossible_numbers_of_anchors(method, n_anchors):
    match = f"n_anchors={n_anchors} should be at least 4 .* at most n_samples=150"
    with pytest.raises(ValueError, match=match):
        method(4, n_anchors=n_anchors).fit(clustered_views(k=4)[0])
