"""Merged and named clusters: labels, prediction, saving, and a second relabeling."""

import json
from copy import deepcopy

import dask
import numpy as np
import pytest

from anchorview import DALMC, AutoDALMC, load
from anchorview.estimators.relabeling import mapping_header
from anchorview.inspection import doubtful
from anchorview.plotting import ClusterSizesDisplay
from helpers.dask_problems import in_dask, stored
from helpers.data import clustered_views, with_ids
from helpers.model_files import round_trip

N, K = 150, 5


@pytest.fixture(scope="module", params=["dalmc", "auto"])
def fitted(request):
    views, _ = clustered_views(N, K, separation=2.5, missing=0.2)
    model = DALMC(K) if request.param == "dalmc" else AutoDALMC(K, budget="fast")
    return model.set_params(random_state=0).fit(views), views


def test_clusters_with_equal_names_are_merged(fitted, tmp_path):
    model, views = deepcopy(fitted[0]), fitted[1]
    before = model.labels_
    assert model.cluster_names_ is None
    assert model.n_clusters_ == K
    model.relabel({3: "b", 1: " b ", 0: "a"})
    assert model.cluster_names_ == ("a", "b", "2", "3")
    assert model.n_clusters_ == 4
    expected = np.array([0, 1, 2, 1, 3])[before]
    np.testing.assert_array_equal(model.labels_, expected)
    assert model.labels_.dtype == np.int32
    np.testing.assert_array_equal(model.predict(views), expected)
    loaded = round_trip(model, tmp_path)
    assert loaded.cluster_names_ == model.cluster_names_
    np.testing.assert_array_equal(loaded.predict(views), expected)


def test_a_second_relabeling_takes_the_new_names_and_a_fit_forgets_them(fitted, tmp_path):
    model, views = deepcopy(fitted[0]), fitted[1]
    before = model.labels_
    model.relabel({1: "b", 3: "b"}).relabel({"b": "c", 3: "c"})
    assert model.cluster_names_ == ("0", "c", "2")
    np.testing.assert_array_equal(model.labels_, np.array([0, 1, 2, 1, 1])[before])
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    # A number instead of a name merges a cluster with this one.
    model.relabel({0: "2"})
    assert model.cluster_names_ == ("0", "c")
    np.testing.assert_array_equal(round_trip(model, tmp_path).predict(views), model.labels_)
    model.fit(views)
    assert model.cluster_names_ is None
    np.testing.assert_array_equal(model.labels_, fitted[0].labels_)


def test_numbers_and_names_are_the_same_everywhere_after_a_merge(fitted):
    model, views = deepcopy(fitted[0]), fitted[1]
    model.relabel({0: "sport", 1: "sport"})
    assert model.cluster_names_ == ("sport", "1", "2", "3")
    sizes = np.bincount(model.predict(views)).tolist()
    summary = model.summary(views)
    assert summary.index.tolist() == ["sport", "1", "2", "3"]
    assert summary["size"].tolist() == sizes
    model.relabel({3: "history"})
    assert model.summary(views)["size"]["history"] == sizes[3]
    assert (model.summary(views)["nearest_cluster"] != model.cluster_names_).all()


def test_names_take_the_place_of_numbers_if_relabel_is_told_so(fitted, tmp_path):
    model, views = deepcopy(fitted[0]), fitted[1]
    mapping = {0: "sport", 1: "sport", 3: "history"}
    assert (model.relabel(mapping).predict(views) == model.labels_).all()
    model.relabel({}, output="names")
    limit = doubtful(model, n_samples=N)["confidence"].median()
    names = np.array(model.cluster_names_, dtype=object)
    expected = names[model.labels_]
    for each in (model, round_trip(model, tmp_path)):
        assert each.labels_.dtype == np.int32
        assert each.predict(views).tolist() == expected.tolist()
        assert each.labels_series.tolist() == expected.tolist()
        certain = each.labels_without_doubt(limit)
        in_doubt = np.array([label == -1 for label in certain])
        assert certain[~in_doubt].tolist() == expected[~in_doubt].tolist()
        assert 0 < in_doubt.sum() < N
        assert f"sport {(expected == 'sport').sum()}" in repr(each)
        assert each.score(views, expected) == 1
        assert 0 < each.score(views) <= 1
    with dask.config.set(scheduler="threads"):
        assert model.predict(in_dask(views, 50)).compute().tolist() == expected.tolist()
    assert model.predict(with_ids(views))["s3"] == expected[3]
    if isinstance(model, AutoDALMC):
        assert model.predict_with_confidence(views)[0].tolist() == expected.tolist()
    display = ClusterSizesDisplay.from_estimator(model, views)
    assert display.sizes["sport"] == (expected == "sport").sum()
    assert (model.relabel({"history": "past"}).predict(views) == "past").any()
    numbers = model.relabel({}, output="numbers").predict(views)
    np.testing.assert_array_equal(numbers, model.labels_)
    with pytest.raises(ValueError, match="output='text'"):
        model.relabel({}, output="text")


def test_levels_are_those_of_the_fit_after_a_merge(tmp_path):
    views, _ = clustered_views(N, K, separation=8.0)
    model = AutoDALMC([K, K + 1], budget="fast", random_state=0).fit(views)
    before, k = model.labels_, model.n_clusters_
    model.relabel({0: "a", 1: "a"}).relabel({"a": "b", 1: "b"})
    for merged in (model, round_trip(model, tmp_path)):
        assert k in merged.levels_.index
        np.testing.assert_array_equal(merged.labels_at(k), before)
        np.testing.assert_array_equal(merged.predict(views, level=k), before)
        np.testing.assert_array_equal(merged.predict(views), merged.labels_)
        with pytest.raises(ValueError, match=r"no level with 3 .* labels_ has merged clusters"):
            merged.labels_at(merged.n_clusters_)
    np.testing.assert_array_equal(model.fit(views).labels_at(k), model.labels_)


def test_a_downloaded_mapping_is_for_one_model(fitted, tmp_path):
    model = fitted[0]
    path = tmp_path / "relabel.json"
    document = {**mapping_header(model), "clusters": {"0": "a", "1": "a"}}
    path.write_text(json.dumps(document), encoding="utf-8")
    for mapping in (document, path, str(path)):
        named = deepcopy(model).relabel(mapping)
        assert named.cluster_names_ == ("a", "1", "2", "3")
    assert round_trip(model, tmp_path).relabel(path).cluster_names_ == named.cluster_names_
    views, _ = clustered_views(N, K, separation=3.0)
    others = (DALMC(K, random_state=0).fit(views), DALMC(3, random_state=0).fit(views), named)
    for other in others:
        names = other.cluster_names_
        with pytest.raises(ValueError, match="is for another model, with clusters of"):
            other.relabel(path)
        assert other.cluster_names_ == names


def test_results_in_dask_and_files(tmp_path):
    views, _ = clustered_views(N, 4)
    expected = DALMC(4, random_state=0).fit(views).relabel({0: "a", 2: "a"})
    with dask.config.set(scheduler="threads"):
        model = DALMC(4, random_state=0).fit(in_dask(views, 50)).relabel({0: "a", 2: "a"})
        np.testing.assert_array_equal(model.labels_.compute(), model.predict(views))
        np.testing.assert_array_equal(expected.predict(in_dask(views, 50)), expected.labels_)
    files = stored(tmp_path, views)
    np.testing.assert_array_equal(expected.predict(files), expected.labels_)
    model = DALMC(4, random_state=0).fit(files, out=tmp_path / "results")
    model.relabel({0: "a", 2: "a"})
    np.testing.assert_array_equal(model.labels_, model.predict(views))
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").cluster_names_ == model.cluster_names_


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        ({5: "a"}, "5 is not a cluster"),
        ({True: "a"}, "True is not a cluster"),
        ({"": "a"}, "'' is not a cluster"),
        ({0: " "}, "name ' '"),
        ({0: 5}, "name 5"),
        ({0: "a", "0": "b"}, "twice"),
        ({0: 1, 1: 0}, "cluster 1"),
        (dict.fromkeys(range(K), "a"), "All clusters"),
    ],
)
def test_mappings_that_are_refused(fitted, mapping, reason):
    model = deepcopy(fitted[0])
    with pytest.raises(ValueError, match=reason):
        model.relabel(mapping)
    assert model.cluster_names_ is None
