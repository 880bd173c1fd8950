"""All ways to solve give the same result: on compressed samples, compressed features, the data."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, MultiViewData, make_multiview
from anchorview._utils import linalg
from anchorview.core import compress
from anchorview.core.compress import problem_from_summaries, summarize_groups
from anchorview.core.scale import SCALINGS, fit_scalings
from helpers.blocks import rows_per_block
from helpers.problems import problems

ROUTES = ("compressed", "left", "direct")

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")


def projector(embedding):
    embedding = embedding.astype(np.float64)
    return embedding @ embedding.T


def assert_same(model, reference, objective, graph):
    assert model.n_iter_ == reference.n_iter_
    np.testing.assert_allclose(model.objective_, reference.objective_, rtol=objective)
    difference = projector(model.embedding_) - projector(reference.embedding_)
    assert np.abs(difference).max() < graph


def assert_same_labels(model, reference):
    # A row of no length has no direction to be labeled by.
    lengths = np.linalg.norm(reference.embedding_, axis=1)
    there = lengths > 1e-8 * lengths.max()
    assert adjusted_rand_score(model.labels_[there], reference.labels_[there]) == 1


settings_to_try = {
    "scaling": st.sampled_from(SCALINGS),
    "init": st.sampled_from(["gcca", "random"]),
    "beta": st.sampled_from([0.001, 0.1, 10]),
    "unit_norm": st.booleans(),
}


def fit_all(problem, **options):
    """The same problem solved in all ways."""
    if not options.get("scaling", "zscore").startswith("zscore"):
        # Without standardizing, units that differ by 16 digits are beyond double precision.
        assume("huge units" not in problem.kinds)
    data = MultiViewData(problem.views, available=problem.available)
    common = {"max_iter": 8, "tol": 0, "n_init": 3, "random_state": 0}
    return data, [
        DALMC(problem.n_clusters, solver=route, **common, **options).fit(data) for route in ROUTES
    ]


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(max_views=12), **settings_to_try)
def test_routes_agree(problem, **options):
    _, models = fit_all(problem, **options)
    for model in models[:2]:
        assert_same(model, models[2], objective=1e-8, graph=1e-6)
        assert_same_labels(model, models[2])


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(max_views=6, incomplete=True), **settings_to_try)
def test_groups_agree_with_masks(problem, **options):
    data, models = fit_all(problem, **options)
    for model in models:
        steps = np.diff(model.objective_)
        assert (steps <= 1e-10 * np.abs(model.objective_[1:])).all()
        orthonormal = model.embedding_.T @ model.embedding_
        np.testing.assert_allclose(orthonormal, np.eye(len(orthonormal)), atol=1e-8)
        np.testing.assert_array_equal(model.predict(data), model.labels_)
    for model in models[:2]:
        assert_same(model, models[2], objective=1e-8, graph=1e-6)
        assert_same_labels(model, models[2])


@given(problem=problems())
@settings(max_examples=10)
def test_nothing_missing_is_the_complete_path(problem):
    complete = np.ones((problem.views[0].shape[0], len(problem.views)), bool)
    data = MultiViewData(problem.views, available=complete)
    model = DALMC(problem.n_clusters, n_init=1, random_state=0).fit(data)
    reference = DALMC(problem.n_clusters, n_init=1, random_state=0).fit(problem.views)
    np.testing.assert_array_equal(model.embedding_, reference.embedding_)
    np.testing.assert_array_equal(model.objective_, reference.objective_)


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(dtype=np.float32))
def test_routes_agree_in_single_precision(problem):
    _, models = fit_all(problem)
    for model in models[:2]:
        assert model.embedding_.dtype == np.float32
        assert_same(model, models[2], objective=1e-5, graph=1e-3)


@pytest.mark.parametrize("name", ["msrcv1", "3sources", "scene15", "orl", "100leaves", "aloi10"])
def test_routes_agree_on_real_data(name, real_data):
    views, y = real_data(name)
    k = len(np.unique(y))
    routes = ROUTES if sum(v.shape[1] for v in views) < 3000 else ("left", "direct")
    models = [DALMC(k, solver=route, n_init=1, random_state=0).fit(views) for route in routes]
    double = models[0].embedding_.dtype == np.float64
    for model in models[:-1]:
        assert_same(
            model, models[-1], objective=1e-8 if double else 1e-5, graph=1e-6 if double else 1e-3
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_of_wide_views_are_added_up_one_by_one(dtype, set_constants):
    views, _ = make_multiview(260, n_features=(50, 8), missing=0.2, random_state=0)
    data = MultiViewData({name: view.astype(dtype) for name, view in views.items()})
    scalings = fit_scalings(data, "zscore-unit")
    expected = summarize_groups(data, scalings)
    set_constants(compress, WIDE_GRAM=16)
    with rows_per_block(data, 30):
        found = summarize_groups(data, scalings)
    for pattern, summary in expected.items():
        error = 1e-4 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(found[pattern].matrix, summary.matrix, atol=error)


def test_the_start_of_wide_views_from_their_products(set_constants):
    views, _ = make_multiview(600, n_clusters=3, n_features=(300, 240, 8), random_state=0)
    options = {"solver": "compressed", "n_init": 1, "random_state": 0}
    expected = DALMC(3, **options).fit(views)
    set_constants(linalg, DENSE_SPECTRUM=20)
    assert_same(DALMC(3, **options).fit(views), expected, objective=1e-6, graph=1e-3)


@settings(max_examples=12)
@given(problem=problems(incomplete=True), block_rows=st.integers(1, 50))
def test_block_size_does_not_matter(problem, block_rows):
    data = MultiViewData(problem.views, available=problem.available)
    reference = summarize_groups(data, fit_scalings(data, "zscore-unit"))
    with rows_per_block(data, block_rows):
        scalings = fit_scalings(data, "zscore-unit")
        summaries = summarize_groups(data, scalings)
    assert list(summaries) == list(reference)
    for views, summary in summaries.items():
        np.testing.assert_allclose(summary.matrix, reference[views].matrix, rtol=1e-9, atol=1e-9)
    problem = problem_from_summaries(
        data, list(summaries.values()), scalings, unit_norm=True, dtype=data.dtype
    )
    norms = [np.linalg.norm(view) for view in problem.views]
    np.testing.assert_allclose(norms, 1)


@pytest.mark.parametrize("init", ["gcca", "random", "identity"])
@pytest.mark.parametrize("unit_norm", [True, False])
def test_a_beta_of_any_size_gives_an_orthonormal_embedding_or_an_error(init, unit_norm):
    rng = np.random.default_rng(0)
    latent = 3 * rng.standard_normal((3, 5))[rng.integers(3, size=80)]
    views = [latent @ rng.standard_normal((5, d)) + rng.standard_normal((80, d)) for d in (30, 90)]
    views[1] *= 1e-4
    refused = 0
    for beta in (0, 1e-3, 1e3, 1e6, 1e9, 1e12, 1e15):
        embeddings = []
        for solver in ("compressed", "left", "direct"):
            model = DALMC(3, beta=beta, init=init, unit_norm=unit_norm, scaling="none")
            try:
                model.set_params(solver=solver, n_init=1, random_state=0)
                embeddings.append(model.fit(views).embedding_)
            except ValueError as error:
                assert f"beta={beta:g} is too large for the scale of view" in str(error)
                refused += 1
        for S in embeddings:
            np.testing.assert_allclose(S.T @ S, np.eye(3), atol=1e-5)
            np.testing.assert_allclose(S @ S.T, embeddings[0] @ embeddings[0].T, atol=1e-4)
        assert embeddings or beta >= 1e3
    assert refused
