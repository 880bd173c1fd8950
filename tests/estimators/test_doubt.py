"""Labels without those of samples in doubt."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, load, make_multiview
from anchorview.inspection import doubtful
from anchorview.report.findings import CheckedFit, inspect_fit
from helpers.dask_problems import in_dask, stored
from helpers.data import with_ids

MODELS = [
    pytest.param(DALMC(4, random_state=0), id="dalmc"),
    pytest.param(AutoDALMC(4, budget="fast", random_state=0), id="auto"),
]


@pytest.fixture(scope="module")
def views():
    views, _ = make_multiview(240, n_clusters=4, separation=2, random_state=0)
    return views


@pytest.mark.parametrize("model", MODELS)
def test_in_doubt_are_those_of_the_report(model, views):
    model.fit(views)
    before = model.labels_.copy()
    labels = model.labels_without_doubt()
    expected = inspect_fit(CheckedFit(model, views)).certainty.doubtful
    assert labels.dtype == np.int32
    assert 0 < expected.sum() < len(labels)
    np.testing.assert_array_equal(labels, np.where(expected, -1, before))
    np.testing.assert_array_equal(model.labels_, before)
    np.testing.assert_array_equal(model.predict(views, doubtful=-1), labels)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("threshold", [0.0, 0.8, 1.0])
def test_threshold_is_one_of_the_confidence(model, threshold, views):
    table = doubtful(model.fit(views), n_samples=240).set_index("sample").sort_index()
    expected = np.where(table["confidence"] < threshold, -1, model.labels_)
    np.testing.assert_array_equal(model.labels_without_doubt(threshold), expected)
    for wrong in (threshold - 1.1, threshold + 1.1, float("nan")):
        with pytest.raises(ValueError, match="threshold"):
            model.labels_without_doubt(wrong)


@pytest.mark.parametrize("model", MODELS)
def test_series_if_samples_have_ids(model, views):
    tables = with_ids(views)
    labels = model.fit(tables).labels_without_doubt()
    assert labels.index.tolist() == [f"s{i}" for i in range(240)]
    assert labels.name == "cluster"
    pd.testing.assert_series_equal(model.predict(tables, doubtful=-1), labels)


@pytest.mark.parametrize("model", MODELS)
def test_results_in_dask_stay_lazy_and_those_in_files_are_not_saved(model, views, tmp_path):
    expected = model.fit(views).labels_without_doubt()
    lazy = in_dask(views, 60)
    predicted = model.predict(lazy, doubtful=-1)
    labels = model.fit(lazy).labels_without_doubt()
    for result in (labels, predicted):
        assert isinstance(result, da.Array)
        assert result.shape == (240,)
        np.testing.assert_array_equal(result.compute() < 0, expected < 0)
    if isinstance(model, DALMC):
        model = DALMC(4, solver="compressed", random_state=0)
    model.fit(stored(tmp_path, views), out=tmp_path / "results")
    labels = model.labels_without_doubt()
    np.testing.assert_array_equal(model.predict(views, doubtful=-1), labels)
    np.testing.assert_array_equal(np.load(tmp_path / "results" / "labels.npy"), model.labels_)
    model.save(tmp_path / "m.anchorview")
    with pytest.raises(ValueError, match="doubtful=-1"):
        load(tmp_path / "m.anchorview").labels_without_doubt()


def test_ablations_and_merged_clusters(views):
    ablation = DALMC(4, variant="box-graph", random_state=0).fit(views)
    assert set(ablation.labels_without_doubt()) <= {-1, 0, 1, 2, 3}
    model = DALMC(4, random_state=0).fit(views)
    before = (model.labels_without_doubt() < 0).sum()
    merged = model.relabel({0: "a", 1: "a"}).labels_without_doubt()
    assert 0 < (merged < 0).sum() < before
    assert set(merged) == {-1, 0, 1, 2}
