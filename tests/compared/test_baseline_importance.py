"""Importance of views in the baselines that weigh views."""

from inspect import signature

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import compared, make_multiview

WEIGHING = ("AMGL", "BMVC", "EOMSCCA", "FPMVSCAG", "MVSC", "OMSC", "SFMC", "SMVSC", "UOMVSC")


@pytest.fixture(scope="module")
def views():
    views, _ = make_multiview(120, n_clusters=3, separation=8, random_state=0)
    return views


def fitted(name, views, **settings):
    # With larger exponents, the result of MVSC depends on the random anchors alone.
    settings |= {"r": 2.0} if name == "MVSC" else {}
    return getattr(compared, name)(3, random_state=0, **settings).fit(views)


def test_all_that_weigh_views_take_it():
    takes = [
        name
        for name in compared.__all__
        if "view_importance" in signature(getattr(compared, name)).parameters
    ]
    assert sorted(takes) == list(WEIGHING)


@pytest.mark.parametrize("name", WEIGHING)
def test_only_ratios_matter(name, views):
    plain = fitted(name, views)
    equal = fitted(name, views, view_importance=dict.fromkeys(views, 0.3))
    np.testing.assert_array_equal(equal.labels_, plain.labels_)
    np.testing.assert_array_equal(equal.objective_, plain.objective_)
    some = fitted(name, views, view_importance={"view_0": 4, "view_2": 0.5})
    same = fitted(name, views, view_importance={"view_0": 40, "view_1": 10, "view_2": 5})
    np.testing.assert_allclose(same.views_["weight"], some.views_["weight"], rtol=1e-6)
    assert adjusted_rand_score(same.labels_, some.labels_) == 1


@pytest.mark.parametrize("name", WEIGHING)
def test_a_view_of_tiny_importance_is_as_if_left_out(name, views):
    other, _ = make_multiview(120, n_clusters=3, separation=20, random_state=5)
    data = views | {"other": other["view_0"]}
    # With its other weighting, MVSC does not converge, and rounding decides.
    settings = {"weighting": "laplacian"} if name == "MVSC" else {}
    tiny = fitted(name, data, view_importance={"other": 1e-9}, **settings)
    assert tiny.views_["weight"]["other"] < 1e-6
    assert adjusted_rand_score(tiny.labels_, fitted(name, views, **settings).labels_) > 0.97


@pytest.mark.parametrize("name", ["AMGL", "SMVSC", "FPMVSCAG", "OMSC", "EOMSCCA"])
def test_importance_counts_like_copies_of_the_view(name, views):
    # These do not depend on the number of views: a common factor of their terms cancels.
    settings = {"lambda_": 0.0} if name in ("SMVSC", "OMSC") else {}
    important = fitted(name, views, view_importance={"view_1": 3}, **settings)
    copies = views | {"second": views["view_1"], "third": views["view_1"]}
    repeated = fitted(name, copies, **settings)
    weight = repeated.views_["weight"][["view_1", "second", "third"]].sum()
    assert important.views_["weight"]["view_1"] == pytest.approx(weight, rel=1e-6)
    assert adjusted_rand_score(important.labels_, repeated.labels_) == 1


@pytest.mark.parametrize("name", WEIGHING)
def test_impossible_importance_is_refused(name, views):
    with pytest.raises(ValueError, match="view_importance names the view 'text'"):
        fitted(name, views, view_importance={"text": 2})
    with pytest.raises(ValueError, match="'view_0' is 0: leave the view out"):
        fitted(name, views, view_importance={"view_0": 0})
