"""Samples to label next, and known classes that look wrong."""

import numpy as np
import pytest

import anchorview
from anchorview import DALMC, AutoDALMC
from anchorview.inspection import ask, suspicious_labels
from helpers.data import frames_and_classes


@pytest.fixture(scope="module")
def planted():
    return frames_and_classes(240, 4, separation=6, seed=2)


@pytest.fixture(scope="module")
def unlabeled(planted):
    return AutoDALMC(4, budget="fast", random_state=0).fit(planted[0])


def test_first_question_has_all_classes(planted, unlabeled):
    views, y = planted
    asked = ask(unlabeled, views, n=4)
    assert set(y[asked["sample"]]) == set(y)
    assert asked["stands_for"].between(20, 120).all()
    predicted = unlabeled.labels_series[asked["sample"]].to_numpy()
    assert (asked["cluster"].to_numpy() == predicted).all()


def test_next_question(planted, tmp_path):
    views, y = planted
    known = y[y < 2].groupby(y).head(3)
    model = AutoDALMC(4, budget="fast", random_state=0).fit(views, known)
    asked = ask(model, views, n=6)["sample"]
    assert not set(asked) & set(known.index)
    # Clusters without a class come first.
    assert set(y[asked.iloc[:2]]) == {2, 3}
    model.save(tmp_path / "model.anchorview")
    again = ask(anchorview.load(tmp_path / "model.anchorview"), views, n=6)["sample"]
    assert again.equals(asked)


def test_wrong_classes_are_listed(planted, unlabeled):
    views, y = planted
    known = y.groupby(y).head(10).copy()
    wrong = known.index[[3, 17, 30]]
    known[wrong] = (known[wrong] + 1) % 4
    listed = suspicious_labels(unlabeled, views, known)
    assert set(listed["sample"]) == set(wrong)
    listed = listed.set_index("sample")
    assert listed["suggested"][wrong].equals(y[wrong].rename("suggested").rename_axis("sample"))
    assert (listed["probability"] < 0.5).all()


def test_wrong_classes_in_narrow_views():
    # All rows of a single positive feature are equal once they have unit norm.
    y = np.arange(120) % 3
    rng = np.random.default_rng(0)
    views = [10 * y[:, None] + 10 + rng.random((120, 1)) for _ in range(2)]
    known = np.where(np.arange(120) < 30, y, -1)
    known[7] = 2
    with pytest.warns(UserWarning, match="left out"):
        model = AutoDALMC(budget="fast", random_state=0).fit(views, known)
    assert 7 in suspicious_labels(model, views, known)["sample"].tolist()


def test_other_models(planted):
    views, _ = planted
    with pytest.raises(TypeError, match="fit AutoDALMC"):
        ask(DALMC(4, random_state=0).fit(views), views)
