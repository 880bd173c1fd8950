import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from anchorview import MultiViewData
from anchorview._utils.linalg import unit_rows
from anchorview.compared import FPMVSCAG, SMVSC
from anchorview.compared._anchor_graph import (
    LEAST_RESIDUAL,
    AnchorGraph,
    alternate,
    left_singular_vectors,
    shared_embedding,
    start_members,
)
from anchorview.compared._simplex import simplex_rows
from anchorview.compared._view_scaling import standardized_views

SHAPES = {
    "m = d": ((9, 7, 6), 4, 4),
    "m > d": ((9, 7, 6), 3, 8),
    "narrow views": ((2, 1, 9), 4, 4),
    "narrow views, m > d": ((2, 3, 9), 4, 9),
}


def make_views(widths, n=60, seed=0):
    rng = np.random.default_rng(seed)
    latent = 2 * rng.standard_normal((5, 4))[rng.integers(5, size=n)]
    views = [latent @ rng.standard_normal((4, d)) + rng.standard_normal((n, d)) for d in widths]
    return standardized_views(MultiViewData(views))


def make_state(shape, *, weighted_z, seed=0):
    widths, d, m = SHAPES[shape]
    views = make_views(widths, seed=seed)
    members = np.eye(m)[np.random.default_rng(seed).integers(m, size=60)]
    state = AnchorGraph(views, members, d, weighted_z=weighted_z)
    state.fit_anchors()
    return state


def step(state, ridge=0.5, pull=0.0):
    state.update_projections()
    state.update_anchors()
    state.update_graph(ridge, pull)
    state.update_weights()


def objective(state, ridge, pull=0.0):
    """The objective by its definition."""
    fit = sum(
        a**2 * np.sum((X - state.graph @ (W @ state.anchors).T) ** 2)
        for a, X, W in zip(state.weights, state.views, state.projections, strict=True)
    )
    return fit + ridge * np.sum((state.graph - pull) ** 2)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_kept_is_what_it_says(shape):
    state = make_state(shape, weighted_z=False)
    step(state)
    Z = state.graph
    np.testing.assert_allclose(state.gram, Z.T @ Z)
    for X, product, W, R in zip(
        state.views, state.products, state.projections, state.residuals, strict=True
    ):
        np.testing.assert_allclose(product, X.T @ Z, atol=1e-12)
        assert np.sum((X - Z @ (W @ state.anchors).T) ** 2) == pytest.approx(R, rel=1e-12)
        small = W.T @ W if W.shape[0] >= W.shape[1] else W @ W.T
        np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-12)
    A = state.anchors
    np.testing.assert_allclose(A @ A.T, np.eye(len(A)), atol=1e-12)
    np.testing.assert_allclose(Z.sum(axis=1), 1)
    assert (Z >= 0).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_authors_step_of_the_graph_sample_by_sample(shape):
    state = make_state(shape, weighted_z=False)
    step(state)
    state.update_projections()
    state.update_anchors()
    weights, n, m = state.weights, *state.graph.shape
    pull = np.random.default_rng(3).random((n, m))
    state.update_graph(0.5, pull)
    for i in range(n):
        q = sum(
            state.anchors.T @ W.T @ X[i]
            for W, X in zip(state.projections, state.views, strict=True)
        )
        q = (q + len(weights) * 0.5 * pull[i]) / (sum(weights**2) + 0.5)
        np.testing.assert_allclose(state.graph[i], simplex_rows(q[None])[0], atol=1e-12)


def test_weights_are_inverse_to_residuals_and_minimize():
    state = make_state("m = d", weighted_z=False)
    step(state)
    R = state.residuals
    np.testing.assert_allclose(state.weights * R, (state.weights * R)[0])
    assert state.weights.sum() == pytest.approx(1)
    value = state.update_weights()
    for other in np.random.default_rng(0).dirichlet(np.ones(3), size=200):
        assert other**2 @ R >= value


def test_consistent_step_of_the_graph_minimizes_for_orthonormal_bases():
    state = make_state("m = d", weighted_z=True)
    step(state)
    state.update_projections()
    state.update_anchors()
    pull = np.random.default_rng(3).dirichlet(np.ones(4), size=60)
    state.update_graph(0.5, pull)
    best = objective(state, 0.5, pull)
    Q = sum(a**2 * X @ B for a, X, B in zip(state.weights, state.views, state.bases, strict=True))
    exact = simplex_rows((Q + 0.5 * pull) / (np.sum(state.weights**2) + 0.5))
    np.testing.assert_allclose(state.graph, exact, atol=1e-12)
    rng = np.random.default_rng(4)
    for _ in range(50):
        state.graph = 0.9 * exact + 0.1 * rng.dirichlet(np.ones(4), size=60)
        assert objective(state, 0.5, pull) > best


@pytest.mark.parametrize("ridge", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_consistent_step_raises_the_objective(shape, ridge):
    for seed in range(5):
        state = make_state(shape, weighted_z=True, seed=seed)
        pull = np.random.default_rng(seed).dirichlet(np.ones(state.graph.shape[1]), size=60)
        step(state, ridge, pull)
        value = first = objective(state, ridge, pull)
        for _ in range(15):
            for update in (
                state.update_projections,
                state.update_anchors,
                lambda state=state, pull=pull: state.update_graph(ridge, pull),
                state.update_weights,
            ):
                update()
                new = objective(state, ridge, pull)
                assert new <= value * (1 + 1e-12)
                value = new
        assert value < first


@pytest.mark.parametrize("shape", SHAPES)
def test_authors_steps_can_raise_it(shape):
    """Otherwise the test above would show nothing."""
    rises = []
    for seed in range(5):
        objectives = alternate(make_state(shape, weighted_z=False, seed=seed), 1.0, 20, 0.0)
        rises.append(np.diff(objectives).max() / objectives[0])
    assert max(rises) > 1e-7


def test_alternation_reports_the_objective_and_stops():
    state = make_state("m = d", weighted_z=True)
    values = alternate(state, 0.5, 40, 1e-3)
    assert values[-1] == pytest.approx(objective(state, 0.5), rel=1e-12)
    assert 10 <= len(values) < 40
    changes = np.abs(np.diff(values)) / values[:-1]
    assert changes[-1] < 1e-3
    assert (changes[8:-1] >= 1e-3).all()
    assert len(alternate(make_state("m = d", weighted_z=True), 0.5, 13, 0.0)) == 13
    assert len(alternate(make_state("m = d", weighted_z=True), 0.5, 4, 1.0)) == 4
    assert len(alternate(make_state("m = d", weighted_z=True), 0.5, 40, 1.0)) == 10


def test_start_of_the_anchors_spans_most_of_the_products():
    state = make_state("m > d", weighted_z=False)
    A = state.anchors
    np.testing.assert_allclose(A @ A.T, np.eye(3), atol=1e-12)
    stacked = np.vstack(state.products)
    strongest = np.linalg.svd(stacked, compute_uv=False)[:3]
    assert np.linalg.norm(stacked @ A.T) == pytest.approx(np.linalg.norm(strongest))


@pytest.mark.parametrize("weighted_z", [False, True])
def test_views_without_residual_keep_finite_weights(weighted_z):
    rng = np.random.default_rng(0)
    members = np.eye(3)[rng.integers(3, size=40)]
    views = [members @ np.linalg.qr(rng.standard_normal((d, 3)))[0].T for d in (5, 4)]
    state = AnchorGraph(views, members, 3, weighted_z=weighted_z)
    state.fit_anchors()
    step(state, 0.0)
    np.testing.assert_allclose(state.residuals, LEAST_RESIDUAL * 40)
    np.testing.assert_allclose(state.weights, 0.5)


@pytest.mark.parametrize("weighted_z", [False, True])
def test_sparse_views_are_the_same_to_rounding(weighted_z):
    rng = np.random.default_rng(0)
    dense = [rng.poisson(0.5, (50, d)).astype(float) for d in (12, 8)]
    members = np.eye(3)[rng.integers(3, size=50)]
    states = []
    for views in (dense, [sparse.csr_array(view) for view in dense]):
        scaled = standardized_views(MultiViewData(views))
        state = AnchorGraph(scaled, members, 3, weighted_z=weighted_z)
        state.fit_anchors()
        states.append((state, alternate(state, 1.0, 12, 0.0)))
    (a, values), (b, same) = states
    np.testing.assert_allclose(same, values, rtol=1e-10)
    np.testing.assert_allclose(b.graph, a.graph, atol=1e-8)
    np.testing.assert_allclose(b.weights, a.weights, rtol=1e-9)


class TestLeftSingularVectors:
    def test_against_the_decomposition(self):
        Z = np.random.default_rng(0).dirichlet(np.ones(4), size=50)
        U = left_singular_vectors(Z)
        expected = np.linalg.svd(Z, full_matrices=False)[0]
        np.testing.assert_allclose(np.abs(np.sum(U * expected, axis=0)), 1)
        np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-10)

    def test_unused_anchors_have_no_direction(self):
        Z = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
        with_unused = np.insert(Z, [1, 3], 0, axis=1)
        U = left_singular_vectors(with_unused)
        assert U.shape == (50, 3)
        expected = left_singular_vectors(Z)
        np.testing.assert_allclose(np.abs(np.sum(U * expected, axis=0)), 1)


class TestStart:
    def test_embedding_does_not_depend_on_any_order(self):
        views = make_views((9, 7, 3))
        rng = np.random.default_rng(0)
        rows = rng.permutation(60)
        other = [view[rows][:, rng.permutation(view.shape[1])] for view in reversed(views)]
        E, F = shared_embedding(views, 4), shared_embedding(other, 4)
        assert E.shape == (60, 4)
        np.testing.assert_allclose(F @ F.T, (E @ E.T)[np.ix_(rows, rows)], atol=1e-10)

    def test_embedding_is_what_the_views_share(self):
        rng = np.random.default_rng(0)
        common = np.linalg.qr(rng.standard_normal((400, 2)))[0]
        # What each view has alone is stronger than what it shares.
        views = [
            common @ rng.standard_normal((2, 8))
            + 3 * rng.standard_normal((400, 3)) / 20 @ rng.standard_normal((3, 8))
            for _ in range(3)
        ]
        views = standardized_views(MultiViewData(views))
        shared = np.linalg.qr(shared_embedding(views, 5)[:, :2])[0]
        strongest = np.linalg.svd(np.hstack(views), full_matrices=False)[0][:, :2]
        assert np.linalg.svd(common.T @ shared, compute_uv=False).min() > 0.9
        assert np.linalg.svd(common.T @ strongest, compute_uv=False).min() < 0.5

    def test_fewer_directions_than_asked_for(self):
        views = make_views((1, 2))
        E = shared_embedding(views, 6)
        assert E.shape == (60, 3)
        assert np.isfinite(E).all()
        # More features than samples, so that the last singular value is rounding.
        wide = make_views((30, 20), n=8)
        assert np.isfinite(shared_embedding(wide, 8)).all()
        assert np.abs(shared_embedding(wide, 8)).max() < 10

    def test_members_are_one_hot(self):
        members = start_members(shared_embedding(make_views((9, 7)), 5), 5, seed=0)
        assert set(np.unique(members)) == {0, 1}
        np.testing.assert_array_equal(members.sum(axis=1), 1)
        assert (members.sum(axis=0) > 0).all()


@pytest.mark.parametrize("method", [SMVSC, FPMVSCAG])
@pytest.mark.parametrize("normalize", [True, False])
def test_labels_are_kmeans_on_what_the_class_says(method, normalize):
    class Told(method):
        normalize_embedding = normalize

    rng = np.random.default_rng(2)
    views = [rng.standard_normal((80, 5)), rng.standard_normal((80, 4))]
    model = Told(5, n_init=20, random_state=0).fit(views)
    points = unit_rows(model.embedding_) if normalize else model.embedding_
    expected = KMeans(5, n_init=20, random_state=0).fit(points).inertia_
    centers = np.array([points[model.labels_ == k].mean(axis=0) for k in range(5)])
    assert np.sum((points - centers[model.labels_]) ** 2) == pytest.approx(expected, rel=0.01)
