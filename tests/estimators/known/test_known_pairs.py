"""Pairs of samples that are in the same or in different clusters."""

import numpy as np
import pandas as pd
import pytest

from anchorview import AutoDALMC
from helpers.data import frames_and_classes


@pytest.fixture(scope="module")
def planted():
    return frames_and_classes(150, 3, separation=4, seed=1)


def auto(n_clusters=None):
    return AutoDALMC(n_clusters, budget="fast", random_state=0)


def test_pairs_alone(planted):
    views, _ = planted
    plain = auto(3).fit(views).labels_series
    first, second = (plain.index[plain == cluster][0] for cluster in (0, 1))
    third = plain.index[plain == 0][1]
    same, different = [(first, second)], [(first, third)]
    labels = auto(3).fit(views, same=same, different=different).labels_series
    assert labels[first] == labels[second] != labels[third]


def test_pairs_and_classes(planted):
    views, y = planted
    names = y.map({0: "oak", 1: "elm", 2: "ash"})
    known = names.groupby(names).head(1)
    oaks, elms = (names.index[names == name] for name in ("oak", "elm"))
    same = [(known.index[known == "oak"][0], oaks[5]), (oaks[5], oaks[7])]
    different = [(oaks[9], elms[9])]
    model = auto().fit(views, known, same=same, different=different)
    assert (model.labels_series[[*known.index]] == known).all()
    assert (model.labels_series[[oaks[5], oaks[7]]] == "oak").all()
    assert model.labels_series[oaks[9]] != model.labels_series[elms[9]]
    assert np.mean(model.labels_series == names) > 0.85


def test_too_few_clusters(planted):
    views, _ = planted
    all_apart = [("s0", "s1"), ("s0", "s2"), ("s1", "s2")]
    with pytest.raises(ValueError, match="more than 2 clusters"):
        auto(2).fit(views, different=all_apart)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({"same": [("s1", "s4")], "different": [("s4", "s1")]}, "'s4' and 's1' are joined"),
        ({"same": [("s0", "s1")]}, "'s0' and 's1' are joined by pairs"),
        ({"different": [("s0", "s2")]}, "same class by y"),
        ({"same": [("s0", "nobody")]}, "'nobody'"),
        ({"same": [("s0",)]}, "no pair"),
    ],
)
def test_contradictions(planted, pairs, message):
    views, _ = planted
    known = pd.Series({"s0": "oak", "s1": "elm", "s2": "oak"})
    with pytest.raises(ValueError, match=message):
        auto(3).fit(views, known, **pairs)
