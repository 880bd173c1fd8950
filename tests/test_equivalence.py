"""All ways to solve give the same result: on compressed samples, compressed features, the data."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, MultiViewData
from anchorview.compression import compress_samples, embed, gram
from anchorview.scaling import SCALINGS, fit_scalings
from problems import problems

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


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    problem=problems(max_views=12),
    scaling=st.sampled_from(SCALINGS),
    init=st.sampled_from(["gcca", "random"]),
    beta=st.sampled_from([0.001, 0.1, 10]),
)
def test_routes_agree(problem, scaling, init, beta):
    if not scaling.startswith("zscore"):
        # Without standardising, units that differ by 16 digits are beyond double precision.
        assume("huge units" not in problem.kinds)
    models = [
        DALMC(
            problem.n_clusters,
            scaling=scaling,
            init=init,
            beta=beta,
            solver=route,
            max_iter=8,
            tol=0,
            n_init=3,
            random_state=0,
        ).fit(problem.views)
        for route in ROUTES
    ]
    for model in models[:2]:
        assert_same(model, models[2], objective=1e-8, graph=1e-6)
        assert adjusted_rand_score(model.labels_, models[2].labels_) == 1


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(dtype=np.float32))
def test_routes_agree_in_single_precision(problem):
    models = [
        DALMC(problem.n_clusters, solver=route, max_iter=8, tol=0, n_init=3, random_state=0).fit(
            problem.views
        )
        for route in ROUTES
    ]
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


def test_leading_directions_of_large_views_come_out_the_same():
    # Past DENSE_SPECTRUM the start uses an iterative decomposition.
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((4, 8))[rng.integers(4, size=900)]
    views = [latent @ rng.standard_normal((8, d)) + rng.standard_normal((900, d)) for d in (700, 9)]
    models = [
        DALMC(4, solver=route, n_init=1, random_state=0).fit(views)
        for route in ("compressed", "direct")
    ]
    assert_same(*models, objective=1e-8, graph=1e-6)


@settings(max_examples=25)
@given(problem=problems(), block_rows=st.integers(1, 50))
def test_block_size_does_not_matter(problem, block_rows):
    data = MultiViewData(problem.views)
    scalings = fit_scalings(data, "zscore-unit", block_rows)
    whole = fit_scalings(data, "zscore-unit", len(data))
    np.testing.assert_allclose(
        gram(data, scalings, block_rows), gram(data, whole, len(data)), rtol=1e-9, atol=1e-9
    )
    _, scalings = compress_samples(data, scalings, unit_norm=True, block_rows=block_rows)
    maps = [np.eye(view.shape[1], 3) for view in data.views]
    np.testing.assert_allclose(
        embed(data, scalings, maps, block_rows), embed(data, scalings, maps), rtol=1e-12, atol=1e-14
    )


def test_fit_does_not_depend_on_the_block_size(digits, monkeypatch):
    views, _ = digits
    reference = DALMC(10, random_state=0).fit(views)
    monkeypatch.setattr("anchorview.views.CACHED_BLOCK", 2**16)
    monkeypatch.setattr("anchorview.views.LARGEST_BLOCK", 2**16)
    assert len(list(MultiViewData(views).blocks())) > 50
    model = DALMC(10, random_state=0).fit(views)
    assert adjusted_rand_score(model.labels_, reference.labels_) == 1
    assert_same(model, reference, objective=1e-5, graph=1e-3)
