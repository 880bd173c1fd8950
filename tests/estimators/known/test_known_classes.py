"""Classes that are known for some samples: AutoDALMC.fit(X, y)."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV

import anchorview
from anchorview import AutoDALMC, MultiViewData, inspection, make_multiview
from helpers.dask_problems import in_dask, stored

NAMES = np.array(["oak", "elm", "ash", "yew"], dtype=object)


@pytest.fixture(scope="module")
def planted():
    """Clusters that overlap, and their classes."""
    views, y = make_multiview(240, n_clusters=4, separation=4, random_state=1)
    return list(views.values()), y


def auto(n_clusters=None):
    return AutoDALMC(n_clusters, budget="fast", random_state=0)


def some(y, count=3):
    """Classes of the first samples of each class; -1 for the others."""
    known = np.full(len(y), -1)
    for code in np.unique(y):
        rows = np.flatnonzero(y == code)[:count]
        known[rows] = code
    return known


def accuracy(y, labels, known):
    return np.mean(labels[known < 0] == y[known < 0])


@pytest.fixture(scope="module")
def fitted(planted):
    views, y = planted
    return auto().fit(views, some(y))


def test_clusters_are_classes(planted, fitted):
    views, y = planted
    known = some(y)
    assert fitted.n_clusters_ == 4
    assert (fitted.labels_[known >= 0] == known[known >= 0]).all()
    assert accuracy(y, fitted.labels_, known) > 0.9
    assert (fitted.confidence_[known >= 0] == 1).all()
    assert np.mean(fitted.predict(views) == fitted.labels_) > 0.98


def test_classes_may_be_texts_and_series(planted, fitted):
    views, y = planted
    known = some(y)
    ids = [f"s{i}" for i in range(len(y))]
    tables = [pd.DataFrame(view, index=ids) for view in views]
    named = pd.Series(NAMES[y], index=ids)[known >= 0]
    model = auto().fit(tables, named.sample(frac=1, random_state=0))
    assert model.cluster_names_ == ("ash", "elm", "oak", "yew")
    same = pd.Series(NAMES[fitted.labels_], index=ids)
    assert model.predict(tables).eq(same).mean() > 0.97
    assert model.labels_series[named.index].equals(named.rename("cluster"))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_unknown_values(planted, fitted, missing):
    views, y = planted
    known = some(y)
    values = [NAMES[code] if code >= 0 else missing for code in known]
    model = auto().fit(views, values)
    assert np.array_equal(np.sort(NAMES)[model.labels_], NAMES[fitted.labels_])


@pytest.mark.parametrize("unknown", [-1, np.nan])
def test_no_label_changes_nothing(planted, unknown):
    views, y = planted
    plain, model = auto(4).fit(views), auto(4).fit(views, np.full(len(y), unknown))
    assert np.array_equal(plain.labels_, model.labels_)
    assert np.array_equal(plain.confidence_, model.confidence_)


def test_all_labels(planted):
    views, y = planted
    random = np.random.default_rng(0).integers(4, size=len(y))
    assert np.array_equal(auto().fit(views, random).labels_, random)


def test_more_clusters_than_classes(planted):
    views, y = planted
    known = some(np.where(y < 2, y, -1))
    known = np.where(y < 2, known, -1)
    names = np.where(known < 0, None, NAMES[known])
    model = auto(4).fit(views, names)
    assert model.cluster_names_[:2] == ("elm", "oak")
    for code in (2, 3):
        found = np.bincount(model.labels_[y == code], minlength=4)
        assert found.argmax() >= 2
        assert found.max() > 0.8 * found.sum()


def test_numbers_of_clusters_stay(planted):
    views, y = planted
    known = some(y)
    known[y == 1] = -1
    model = auto(4).fit(views, known)
    assert model.cluster_names_ is None
    assert accuracy(y, model.labels_, known) > 0.9


def test_missing_views(planted):
    views, y = planted
    views = [view.copy() for view in views]
    views[0][::3] = np.nan
    model = auto().fit(views, some(y))
    assert accuracy(y, model.labels_, some(y)) > 0.85


def test_samples_without_values(planted):
    views, y = planted
    views = [view.copy() for view in views]
    for view in views:
        view[5] = np.nan
    known = some(y)
    with pytest.warns(UserWarning, match="no value in any view"):
        model = auto().fit(views, known)
    known[5] = -1
    assert model.labels_[5] == -1
    assert (model.labels_[known >= 0] == known[known >= 0]).all()


def test_copies(planted, fitted, tmp_path):
    views, y = planted
    model = auto().fit(views, np.where(some(y) < 0, None, NAMES[y]))
    model.save(tmp_path / "trees.anchorview")
    for copy in (pickle.loads(pickle.dumps(model)), anchorview.load(tmp_path / "trees.anchorview")):
        assert copy.cluster_names_ == model.cluster_names_
        assert np.array_equal(copy.predict(views), model.predict(views))
        assert np.array_equal(copy.labels_, model.labels_)
    again = clone(model).fit(views, some(y))
    assert np.array_equal(again.labels_, fitted.labels_)


def test_grid_search(planted):
    views, y = planted
    score = make_scorer(accuracy_score)
    search = GridSearchCV(auto(), {"n_clusters": [4]}, scoring=score, cv=2, error_score="raise")
    assert search.fit(MultiViewData(views)[::2], y[::2]).best_score_ > 0.8


def test_files(planted, fitted, tmp_path):
    views, y = planted
    files = stored(tmp_path, {f"view_{p}": view for p, view in enumerate(views)})
    model = auto().fit(files, some(y), out=tmp_path / "out")
    assert np.array_equal(model.labels_, fitted.labels_)
    assert np.array_equal(np.load(tmp_path / "out" / "labels.npy"), fitted.labels_)
    assert np.array_equal(np.load(tmp_path / "out" / "confidence.npy"), fitted.confidence_)


def test_second_clusters_in_files(planted, tmp_path):
    views, y = planted
    known = np.where(np.arange(len(y)) < 60, (y + (np.arange(len(y)) < 8)) % 4, -1)
    model, written = auto().fit(views, known), auto().fit(views, known, out=tmp_path)
    assert (model.second_labels_[:8] != model.labels_[:8]).all()
    assert np.array_equal(written.second_labels_, model.second_labels_)


def test_dask(planted, fitted):
    views, y = planted
    model = auto().fit(in_dask({f"view_{p}": view for p, view in enumerate(views)}, 100), some(y))
    assert np.array_equal(model.labels_.compute(), fitted.labels_)


def test_inspection_uses_the_classes(planted, fitted):
    views, _ = planted
    doubtful = inspection.doubtful(fitted, views, n_samples=5)
    assert doubtful["confidence"].is_monotonic_increasing
    members = inspection.memberships(fitted, views)
    assert np.array_equal(members.to_numpy().argmax(axis=1), fitted.predict(views))
    contributions = inspection.view_contributions(fitted, views)
    assert len(contributions)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5] * 240, "no class"),
        ([0, 1], "240 samples in X"),
        (pd.Series(["oak"], index=["nobody"]), "nobody"),
    ],
)
def test_wrong_classes(planted, y, message):
    ids = [f"s{i}" for i in range(240)]
    views = [pd.DataFrame(view, index=ids) for view in planted[0]]
    with pytest.raises(ValueError, match=message):
        auto().fit(views, y)


def test_fewer_clusters_than_classes(planted):
    views, y = planted
    with pytest.raises(ValueError, match="n_clusters=4"):
        auto(3).fit(views, some(y))
    # As a search for the number of clusters does, with classes for the score.
    with pytest.warns(UserWarning, match="y is ignored"):
        model = auto(3).fit(views, y)
    assert np.array_equal(model.labels_, auto(3).fit(views).labels_)
