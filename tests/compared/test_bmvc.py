import numpy as np
import pytest
from scipy import sparse

from anchorview import MultiViewData
from anchorview.compared.bmvc import (
    BMVC,
    KernelView,
    centered_kernel,
    cluster_codes,
    initial_codes,
    learn_codes,
    signs,
)
from helpers.data import clustered_data

BETA, GAMMA, LAMBDA, R = 0.003, 0.01, 1e-5, 5


def plain_distances(X, anchors):
    return np.sum((X[:, None] - anchors) ** 2, axis=2)


def plain_kernel(X, anchors, width):
    K = np.exp(-plain_distances(X, anchors) / (2 * width**2))
    return K - K.mean(axis=0)


def plain_objective(kernels, U, B, C, labels, weights, lambda_=LAMBDA):
    """The stated objective, term by term."""
    total = lambda_ * np.sum((B - C[labels]) ** 2)
    for K, u, weight in zip(kernels, U, weights, strict=True):
        Z = K @ u
        loss = np.sum((B - Z) ** 2) + BETA * np.sum(u**2) - GAMMA * np.sum(Z**2)
        total += weight**R * loss
    return total


@pytest.fixture(scope="module")
def data():
    return clustered_data(300, 4)[0]


@pytest.fixture(scope="module")
def kernels(data):
    return [centered_kernel(data, p, view[::12]) for p, view in enumerate(data.views)]


@pytest.fixture(scope="module")
def authors(vectors):
    """Results of the authors' program, and its kernels."""
    file = vectors("bmvc")
    views = []
    for p in range(3):
        X, anchors = file[f"X_{p}"], file[f"Anchor_{p}"]
        width = 2 * np.mean(np.sqrt(plain_distances(X, anchors).min(axis=1)))
        views.append(KernelView(plain_kernel(X, anchors, width), BETA, GAMMA))
    return file, views


def test_authors_program_from_its_initialization(authors):
    file, views = authors
    start = file["B0"].T, file["C0"].T, np.ones(len(views))
    B, clusters, weights, _ = learn_codes(BMVC(), views, *start)
    np.testing.assert_array_equal(clusters.labels, file["lab"].ravel() - 1)
    np.testing.assert_array_equal(B, file["Bc"].T)
    np.testing.assert_array_equal(clusters.C, file["C"].T)
    np.testing.assert_allclose(weights, file["alpha"].ravel(), rtol=1e-8)


class TestKernel:
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
    def test_equals_its_definition(self, form, dtype):
        rng = np.random.default_rng(0)
        X = (10 * rng.random((50, 6))).astype(dtype)
        anchors = 10 * rng.random((8, 6))
        width = 2 * np.mean(np.sqrt(plain_distances(X.astype(float), anchors).min(axis=1)))
        got = centered_kernel(MultiViewData([form(X)]), 0, anchors)
        assert got.dtype == (np.float64 if dtype == np.float64 else np.float32)
        tolerance = 1e-12 if dtype == np.float64 else 1e-5
        expected = plain_kernel(X.astype(float), anchors, width)
        np.testing.assert_allclose(got, expected, atol=tolerance)


def test_objective_is_as_stated_and_never_increases(kernels):
    views = [KernelView(K, BETA, GAMMA) for K in kernels]
    equal = np.ones(len(kernels))
    B = initial_codes(kernels, 20, np.random.RandomState(0), equal)
    start = B, B[[0, 50, 100, 150]], equal
    runs = [learn_codes(BMVC(max_iter=n, lambda_=1e-3), views, *start) for n in (14, 15)]
    (before, *_), (B, clusters, weights, objective) = runs
    assert (np.diff(objective) <= 1e-12 * objective[0]).all()
    assert objective[-1] < objective[0]
    U = [view.projection(view.K.T @ before) for view in views]
    expected = plain_objective(kernels, U, B, clusters.C, clusters.labels, weights, 1e-3)
    assert objective[-1] == pytest.approx(expected, rel=1e-9)
    for other in np.random.default_rng(0).dirichlet(np.ones(3), size=50):
        value = plain_objective(kernels, U, B, clusters.C, clusters.labels, other, 1e-3)
        assert value >= objective[-1]


def test_view_that_explains_the_codes_completely_has_a_finite_weight():
    rng = np.random.default_rng(0)
    B = signs(rng.standard_normal((40, 6)), float)
    views = [KernelView(K, BETA, GAMMA) for K in (B, rng.standard_normal((40, 6)))]
    _, _, weights, objective = learn_codes(BMVC(lambda_=0, max_iter=3), views, B, B[:3], np.ones(2))
    # Optimal weights give all views the same ``alpha_v^(r - 1) h_v``, which is the objective.
    assert objective[-1] / weights[0] ** (R - 1) == pytest.approx(1e-3 * B.size)
    assert (weights > 0).all()
    assert weights[0] > weights[1]


def test_empty_cluster_takes_the_code_farthest_from_its_center():
    B = np.array([[1.0] * 8] * 5 + [[-1.0] * 8] * 5)
    B[3, :3] = -1
    found = cluster_codes(B, np.array([0] * 5 + [1] * 5), 3)
    np.testing.assert_array_equal(found.labels, [0, 0, 0, 2, 0, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(found.C[2], B[3])
    assert found.loss == 0


class TestEstimator:
    def test_learned_attributes(self, data):
        model = BMVC(4, random_state=0).fit(data)
        assert model.codes_.dtype == np.int8
        assert model.codes_.shape == (300, model.code_length_) == (300, 20)
        assert set(np.unique(model.codes_)) == {-1, 1}
        assert [anchors.shape for anchors in model.anchors_] == [(20, 12), (20, 9), (20, 7)]
        for view, anchors in zip(data.views, model.anchors_, strict=True):
            assert (plain_distances(anchors, view).min(axis=1) == 0).all()
        scores = model.codes_.astype(float) @ model.cluster_centers_.T
        np.testing.assert_array_equal(scores.argmax(axis=1), model.labels_)
        assert (np.diff(model.objective_) <= 0).all()
        assert model.n_iter_ == 7

    def test_reference_view_gives_the_initial_codes(self, data):
        by_position, by_name, other = (
            BMVC(4, reference_view=view, random_state=0).fit(data).codes_
            for view in (1, data.names[1], 2)
        )
        np.testing.assert_array_equal(by_position, by_name)
        assert (by_position != other).any()
        for wrong in (3, "pixels"):
            with pytest.raises(ValueError, match=f"reference_view={wrong!r} is none of the 3"):
                BMVC(4, reference_view=wrong).fit(data)
