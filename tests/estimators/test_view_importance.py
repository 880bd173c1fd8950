"""Importance of views that the user gives: what it does, and what it must not change."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, AutoDALMC, make_multiview
from helpers.dask_problems import in_dask, stored

ESTIMATORS = [
    pytest.param(DALMC(4, random_state=0), id="dalmc"),
    pytest.param(DALMC(4, variant="sampled-anchors", random_state=0), id="ablation"),
    pytest.param(AutoDALMC(4, budget="fast", random_state=0), id="auto"),
]


@pytest.fixture(scope="module")
def views():
    """Three views of the same clusters."""
    views, _ = make_multiview(150, n_clusters=4, separation=3, random_state=0)
    return views


@pytest.fixture(scope="module")
def incomplete(views):
    """The views, of which some samples lack one."""
    lacking = {name: view.copy() for name, view in views.items()}
    lacking["view_0"][:20], lacking["view_2"][15:60] = np.nan, np.nan
    lacking["view_0"][15:20] = views["view_0"][15:20]
    return lacking


def fitted(model, views, importance):
    return model.set_params(view_importance=importance).fit(views)


@pytest.mark.parametrize("model", ESTIMATORS)
@pytest.mark.parametrize("complete", [True, False])
def test_equal_importance_and_a_common_factor_change_nothing(model, complete, views, incomplete):
    data = views if complete else incomplete
    if not complete and getattr(model, "variant", "dalmc") != "dalmc":
        pytest.skip("ablations need all views")
    plain = fitted(model, data, None)
    embedding, labels = plain.embedding_, plain.labels_
    equal = fitted(model, data, dict.fromkeys(views, 3.7))
    np.testing.assert_array_equal(equal.embedding_, embedding)
    np.testing.assert_array_equal(equal.labels_, labels)
    some = fitted(model, data, {"view_0": 2, "view_2": 0.5}).embedding_
    assert abs(some - embedding).max() > 1e-3
    factor = fitted(model, data, {"view_0": 2e8, "view_1": 1e8, "view_2": 5e7})
    np.testing.assert_allclose(factor.embedding_, some, atol=1e-7)


@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("solver", ["compressed", "direct"])
def test_importance_counts_like_copies_of_the_view(solver, with_missing, views, incomplete):
    data = incomplete if with_missing else views
    model = DALMC(4, n_components=5, solver=solver, tol=0, max_iter=8, random_state=0)
    important = model.set_params(view_importance={"view_1": 3.0}).fit(data)
    copies = data | {"second": data["view_1"], "third": data["view_1"]}
    # Five views in place of three: each has 3 / 5 of the weight that importance 1 has.
    model = DALMC(4, n_components=5, solver=solver, tol=0, max_iter=8, random_state=0)
    repeated = model.set_params(beta=0.1 * (3 / 5) ** 2).fit(copies)
    weights = important.views_["weight"]
    assert weights["view_1"] == pytest.approx(repeated.views_["weight"].iloc[[1, 3, 4]].sum())
    products = important.embedding_.T @ repeated.embedding_
    np.testing.assert_allclose(np.linalg.svd(products)[1], 1, atol=1e-6)
    assert adjusted_rand_score(important.labels_, repeated.labels_) == 1


@pytest.mark.parametrize("model", ESTIMATORS)
def test_a_view_of_tiny_importance_is_as_if_left_out(model, views):
    noise = np.random.default_rng(0).standard_normal((150, 30))
    with_noise = fitted(model, views | {"noise": noise}, {"noise": 1e-6})
    labels, weights = with_noise.labels_, with_noise.views_["weight"]
    without = fitted(model, views, None)
    assert adjusted_rand_score(labels, without.labels_) > 0.97
    assert weights["noise"] < 1e-5


@pytest.mark.parametrize("model", [ESTIMATORS[0], ESTIMATORS[2]])
def test_files_and_dask_give_the_same(model, incomplete, tmp_path):
    importance = {"view_0": 4.0, "view_2": 0.1}
    in_memory = fitted(model, incomplete, importance).labels_
    mapped = stored(tmp_path, incomplete)
    np.testing.assert_array_equal(fitted(model, mapped, importance).labels_, in_memory)
    labels = np.asarray(fitted(model, in_dask(incomplete, 50), importance).labels_)
    assert adjusted_rand_score(labels, in_memory) == 1


@pytest.mark.parametrize("model", [ESTIMATORS[0], ESTIMATORS[2]])
@pytest.mark.parametrize(
    ("importance", "message"),
    [
        ({"text": 2.0}, "names the view 'text'"),
        ({"view_1": 0}, "'view_1' is 0: leave"),
        ({"view_1": -1.0}, "'view_1' is -1.0"),
        ({"view_1": float("nan")}, "'view_1' is nan"),
        ({"view_1": "2"}, "'view_1' is '2'"),
    ],
)
def test_impossible_importance_is_refused(model, importance, message, views):
    with pytest.raises(ValueError, match=message):
        fitted(model, views, importance)
