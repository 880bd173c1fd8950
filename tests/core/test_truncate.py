"""Truncated views against the exact solution."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, make_multiview
from anchorview.core import cost_model, truncate
from anchorview.core.scale import SCALINGS
from helpers.dask_problems import in_dask, stored
from helpers.model_files import round_trip

K = 4


@pytest.fixture(scope="module")
def views():
    return make_multiview(
        400, n_clusters=K, n_features=(180, 150, 20), separation=3.0, random_state=0
    )[0]


@pytest.fixture(autouse=True)
def narrow(set_constants):
    set_constants(cost_model, WIDE=100, MIN_DIRECTIONS=16, OVERSAMPLING=8)
    set_constants(truncate, OVERSAMPLING=8)


def fitted(X, solver="truncated", **settings):
    return DALMC(K, solver=solver, random_state=0, **settings).fit(X)


@pytest.mark.parametrize("form", ["dense", "float32", "sparse", "missing"])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_objective_is_within_the_bound(views, form, scaling):
    X = {
        "dense": views,
        "float32": {name: view.astype(np.float32) for name, view in views.items()},
        "sparse": {n: sparse.csr_array(np.where(v > 0.5, v, 0)) for n, v in views.items()},
        "missing": {n: v.copy() for n, v in views.items()},
    }[form]
    if form == "missing":
        for p, view in enumerate(X.values()):
            view[60 * p : 60 * p + 40] = np.nan
    exact, model = fitted(X, "compressed", scaling=scaling), fitted(X, scaling=scaling)
    truncation = model.plan_.truncation
    change = model.objective_[-1] - exact.objective_[-1]
    assert -1e-3 * truncation.bound - 1e-6 <= change <= truncation.bound
    assert adjusted_rand_score(model.labels_, exact.labels_) >= 0.98
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert truncation.left_out[2] == 0
    assert truncation.n_directions[2] == 20
    assert max(truncation.n_directions[:2]) < 150


def test_nothing_is_left_out_of_views_with_few_directions():
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((300, 6))
    X = [factors @ rng.standard_normal((6, d)) for d in (120, 140)]
    exact, model = fitted(X, "compressed", scaling="none"), fitted(X, scaling="none")
    assert max(model.plan_.truncation.left_out) < 1e-12
    np.testing.assert_allclose(model.objective_, exact.objective_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(model.embedding_.T @ exact.embedding_), np.eye(K), atol=1e-6)


def test_directions_are_added_until_the_bound_is_tolerated_unless_they_do_not_help(set_constants):
    rng = np.random.default_rng(0)
    strengths = 0.93 ** np.arange(120)
    X = [
        rng.standard_normal((300, 120)) * strengths @ rng.standard_normal((120, d))
        for d in (130, 140)
    ]
    set_constants(truncate, TOLERANCE=1.0)
    few = fitted(X, scaling="none").plan_.truncation
    set_constants(truncate, TOLERANCE=0.3 * few.bound / few.tolerance)
    more = fitted(X, scaling="none").plan_.truncation
    assert few.n_directions == (24, 24)
    assert more.n_directions == (48, 48)
    assert more.bound <= more.tolerance < few.bound
    assert "below the tolerance" in str(more)
    set_constants(truncate, TOLERANCE=1e-9)
    rng = np.random.default_rng(0)
    noise = [rng.standard_normal((400, 150)), rng.standard_normal((400, 150))]
    truncation = fitted(noise).plan_.truncation
    assert truncation.n_directions == (24, 24)
    assert "not below the tolerance" in str(truncation)


def test_files_dask_and_saved_models_give_the_result_of_memory(views, tmp_path):
    expected = fitted(views)
    loaded = round_trip(expected, tmp_path)
    assert loaded.plan_ == expected.plan_
    np.testing.assert_array_equal(loaded.predict(views), expected.labels_)
    mapped = stored(tmp_path, views)
    for model in (fitted(mapped, memory_limit="12MB"), fitted(in_dask(views, 150))):
        found = model.plan_.truncation
        np.testing.assert_allclose(found.left_out, expected.plan_.truncation.left_out, atol=1e-9)
        np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-8)
        assert adjusted_rand_score(np.asarray(model.labels_), expected.labels_) == 1


def test_exact_routes_are_chosen_where_they_are_fast(views, set_constants):
    assert fitted(views, "auto").plan_.route != "truncated"
    assert fitted(views, "auto").plan_.truncation is None
    set_constants(cost_model, LONG_WORK=0, TRUNCATION_GAIN=0)
    assert fitted(views, "auto").plan_.route == "truncated"
