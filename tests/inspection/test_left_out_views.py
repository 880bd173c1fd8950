"""Views that disagree are found, in every form of input and with every kind of estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, AutoDALMC
from anchorview._utils.progress import listen_to_progress
from anchorview.compared import OPMC
from anchorview.inspection import leave_one_view_out
from helpers.data import clustered_views

N, K = 200, 4


def with_extra(kind, **options):
    views, _ = clustered_views(N, K, (12, 15, 10), separation=5.0, **options)
    if kind == "other clusters":
        views["extra"] = clustered_views(N, K, (20,), separation=20.0, seed=7)[0]["view_0"]
    elif kind == "noise":
        views["extra"] = np.random.default_rng(0).standard_normal((N, 20))
    return views


MODELS = {
    "dalmc": DALMC(K, random_state=0),
    "auto": AutoDALMC(K, budget="fast", random_state=0),
    "baseline": OPMC(K, random_state=0),
}


@pytest.mark.parametrize("extra", ["other clusters", "noise", None])
@pytest.mark.parametrize("kind", MODELS)
def test_only_views_that_disagree_are_flagged(kind, extra):
    views = with_extra(extra)
    found = leave_one_view_out(clone(MODELS[kind]).fit(views), views)
    assert list(found.index) == list(views)
    assert found.index[found["disagrees"]].tolist() == (["extra"] if extra else [])


@pytest.mark.parametrize("kind", ["dalmc", "auto"])
def test_numbers_equal_refits(kind):
    views = with_extra(None)
    model = clone(MODELS[kind]).fit(views)
    stages = set()
    with listen_to_progress(lambda stage, *_: stages.add(stage)):
        found = leave_one_view_out(model, views)
    assert "leaving out views" in stages
    # The structure of the refits is not judged, which would take most of the time.
    assert "structure" not in stages
    alone = {
        name: DALMC(K, random_state=0).fit({name: view}).labels_ for name, view in views.items()
    }
    for name in views:
        others = {other: view for other, view in views.items() if other != name}
        labels = clone(MODELS[kind]).fit(others).labels_
        row = found.loc[name]
        assert row["agreement"] == pytest.approx(adjusted_rand_score(model.labels_, labels))
        results = {"others_with": model.labels_, "others_without": labels}
        for column, result in results.items():
            scores = [adjusted_rand_score(result, alone[other]) for other in others]
            assert row[column] == pytest.approx(np.mean(scores))
        largest = max(adjusted_rand_score(alone[name], alone[other]) for other in others)
        assert row["agreement_with_others"] == pytest.approx(largest)


def test_errors_and_two_views_that_cannot_disagree():
    views = with_extra(None)
    model = DALMC(K, random_state=0).fit(views)
    with pytest.raises(ValueError, match="X lacks the view 'view_2'"):
        leave_one_view_out(model, {name: views[name] for name in ("view_0", "view_1")})
    only = {"view_0": views["view_0"]}
    with pytest.raises(ValueError, match="only one view"):
        leave_one_view_out(DALMC(K, random_state=0).fit(only), only)
    with pytest.raises(TypeError, match="Give a fitted estimator"):
        leave_one_view_out(model.labels_, views)
    views, _ = clustered_views(N, K, (12, 15))
    views["view_1"] = np.random.default_rng(0).standard_normal((N, 15))
    found = leave_one_view_out(DALMC(K, random_state=0).fit(views), views)
    assert found["others_without"].isna().all()
    assert not found["disagrees"].any()
