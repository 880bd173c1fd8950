"""Samples without any value belong to no cluster: label -1 in all outputs, and one warning."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, load, make_multiview
from anchorview.inspection import cluster_markers, doubtful, memberships
from anchorview.plotting import SampleMapDisplay
from anchorview.report import write_fit_report
from helpers.dask_problems import stored

N, K, GONE = 60, 3, [4, 17]
MODELS = {"dalmc": DALMC(K, random_state=0), "auto": AutoDALMC(K, budget="fast", random_state=0)}
COUNTED = pytest.mark.filterwarnings("ignore:2 of 60 samples have no value")


def gaps(ids=None):
    """Views in which two samples have no value, and the views of all other samples."""
    views, _ = make_multiview(N, n_clusters=K, random_state=0)
    kept = np.setdiff1d(np.arange(N), GONE)
    for view in views.values():
        view[GONE] = np.nan
    rest = {name: view[kept] for name, view in views.items()}
    if ids is not None:
        views = {name: pd.DataFrame(view, ids) for name, view in views.items()}
    return views, rest, kept


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("ids", [None, [f"s{i}" for i in range(N)]], ids=["arrays", "frames"])
def test_they_have_the_label_minus_one(name, ids, tmp_path):
    views, rest, kept = gaps(ids)
    expected = np.full(N, -1)
    expected[kept] = MODELS[name].fit_predict(rest)
    with pytest.warns(UserWarning, match="2 of 60 samples have no value"):
        model = MODELS[name].fit(views)
    np.testing.assert_array_equal(model.labels_, expected)
    assert np.isnan(model.embedding_[GONE]).all() and np.isfinite(model.embedding_[kept]).all()
    assert "58" not in repr(model).split("\n")[0]
    model.save(tmp_path / "m")
    for fitted in (model, load(tmp_path / "m")):
        with pytest.warns(UserWarning, match="2 of 60"):
            np.testing.assert_array_equal(fitted.predict(views), expected)
        with pytest.warns(UserWarning, match="2 of 60"):
            assert np.isnan(np.asarray(fitted.transform(views))[GONE]).all()
        np.testing.assert_array_equal(fitted.labels_, expected)
        assert np.isnan(fitted.embedding_[GONE]).all()
    with pytest.warns(UserWarning, match="1 of 1 samples"):
        one = model.predict({key: view[4:5] for key, view in views.items()})
    assert np.asarray(one).tolist() == [-1]
    if name == "auto":
        with pytest.warns(UserWarning, match="2 of 60"):
            labels, confidence = model.predict_with_confidence(views)
        np.testing.assert_array_equal(labels, expected)
        assert np.isnan(np.asarray(confidence)[GONE]).all()
    merged = model.relabel({0: 1})
    assert (merged.labels_[GONE] == -1).all() and merged.labels_[kept].max() == K - 2


@pytest.mark.filterwarnings("ignore:1 of 30 samples have no value")
def test_chunks():
    views, rest, _ = gaps([f"s{i}" for i in range(N)])
    for view in views.values():
        view.iloc[[17, 34]] = view.iloc[[34, 17]]
    settings = {"scaling": "unit", "random_state": 0}
    model, whole = DALMC(K, **settings), DALMC(K, **settings).fit(rest)
    for start in (0, 30):
        chunk = {name: view.iloc[start : start + 30] for name, view in views.items()}
        model.partial_fit(chunk)
        assert len(model.labels_series) == 30 and (model.labels_ < 0).sum() == 1
    assert model.objective_[-1] == pytest.approx(whole.objective_[-1], rel=1e-3)


@COUNTED
@pytest.mark.parametrize("name", MODELS)
def test_new_samples_in_files(name, tmp_path):
    views, _, _ = gaps()
    model = MODELS[name].fit(views)
    files = stored(tmp_path, views)
    np.testing.assert_array_equal(model.predict(files), model.labels_)
    with pytest.raises(ValueError, match="no view at all"):
        DALMC(K, solver="compressed").fit(files)


@COUNTED
@pytest.mark.parametrize("name", MODELS)
def test_tables_plots_and_reports_are_of_the_other_samples(name, tmp_path):
    views, _, _ = gaps([f"s{i}" for i in range(N)])
    model = MODELS[name].fit(views)
    gone = {"s4", "s17"}
    assert gone.isdisjoint(memberships(model, views).index)
    assert gone.isdisjoint(doubtful(model, n_samples=N)["sample"])
    assert gone.isdisjoint(doubtful(model, views, n_samples=N)["sample"])
    assert len(cluster_markers(model, views))
    assert model.summary(views)["size"].sum() == N - 2
    SampleMapDisplay.from_estimator(model, views)
    plt.close("all")
    write_fit_report(tmp_path / "report.html", model, views)
