"""Results of models in MuData and AnnData objects."""

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from anchorview import DALMC, load, make_multiview
from anchorview.scverse import write_results
from helpers.cells import annotated

# They announce changes, and use deprecated functions of pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore:::(mudata|anndata)\\b"),
    pytest.mark.filterwarnings("ignore:Observation names are not unique"),
    pytest.mark.filterwarnings("ignore:.*infer_string"),
]

IDS = ["0012", "NA", "c", "d"]


def example():
    """Two modalities with one sample in common."""
    rna, protein = annotated(np.eye(3), IDS[:3], "g"), annotated(np.eye(2), IDS[2:], "p")
    return mudata.MuData({"rna": rna, "protein": protein})


@pytest.fixture
def fitted():
    views, _ = make_multiview(40, n_clusters=3, random_state=0)
    ids = [f"s{i}" for i in range(40)]
    data = mudata.MuData({name: annotated(view, ids, name) for name, view in views.items()})
    return data, DALMC(n_clusters=3, random_state=0).fit(views)


def test_results_are_written_or_replaced(fitted):
    data, model = fitted
    for cells in (data, *data.mod.values()):
        cells.obs["dalmc_confidence"] = 0.5
    for _ in range(2):
        write_results(data, model)
    # The confidence of an earlier model does not belong to these clusters.
    for cells in (data, *data.mod.values()):
        assert list(cells.obs.columns) == ["dalmc"]
    clusters = data.obs["dalmc"]
    assert list(clusters.cat.categories) == ["0", "1", "2"]
    np.testing.assert_array_equal(clusters.astype(int), model.labels_)
    np.testing.assert_array_equal(data.obsm["X_dalmc"], model.embedding_)
    results = data.uns["dalmc"]
    assert results["view_names"] == ["view_0", "view_1", "view_2"]
    np.testing.assert_array_equal(results["view_weights"], model.views_["weight"])
    assert results["params"].keys() == model.get_params().keys()
    # Any clusterer has labels to write.
    kmeans = KMeans(4, n_init=1, random_state=0).fit(data["view_0"].X)
    write_results(data, kmeans)
    np.testing.assert_array_equal(data.obs["kmeans"].astype(int), kmeans.labels_)
    assert "X_kmeans" not in data.obsm
    assert list(data.uns["kmeans"]) == ["params"]
    # Nothing remains of earlier results under the same name.
    write_results(data, kmeans, "dalmc")
    assert "X_dalmc" not in data.obsm
    assert list(data.uns["dalmc"]) == ["params"]


class Model(BaseEstimator):
    """The part of a fitted estimator that write_results uses."""

    def __init__(self, labels, **params):
        self.labels_, self.params = labels, params
        self.embedding_ = np.ones((len(labels), 2), dtype=np.float32)
        self.view_names_in_ = ("a", "é/b")
        self.views_ = pd.DataFrame({"weight": (0.25, 0.75)}, self.view_names_in_)

    def fit(self):
        return self

    def get_params(self, deep=True):
        return self.params


PARAMS = {
    "none": (None, "None"),
    "flag": (True, True),
    "number": (np.float64(0.5), 0.5),
    "text": ("auto", "auto"),
    "numbers": ((3, 1), [3, 1]),
    "array": (np.array([0.5, 1.5]), [0.5, 1.5]),
    "gaps": ([3, None], ["3", "None"]),
    "nothing": ((), []),
    "nested": (([1], [2, 3]), "[[1], [2, 3]]"),
    "dict": ({"a/b": np.int64(1), "c": None}, '{"a/b": 1, "c": "None"}'),
    "generator": (np.random.RandomState(0), "RandomState(MT19937)"),
}


@pytest.mark.parametrize("kind", ["h5mu", "h5ad"])
def test_results_can_be_saved(tmp_path, kind):
    model = Model(np.array([10, 9, 10, -1]), **{name: given for name, (given, _) in PARAMS.items()})
    # Not every anndata can save pandas' own strings.
    with pd.option_context("future.infer_string", False):
        data = example() if kind == "h5mu" else annotated(np.ones((4, 2)), IDS, "g")
        write_results(data, model, "key")
        path = tmp_path / f"data.{kind}"
        data.write(path)
        again = mudata.read_h5mu(path) if kind == "h5mu" else anndata.read_h5ad(path)
    assert list(again.obs_names) == IDS
    assert list(again.obs["key"]) == ["10", "9", "10", "-1"]
    assert list(again.obs["key"].cat.categories) == ["-1", "9", "10"]
    np.testing.assert_array_equal(again.obsm["X_key"], model.embedding_)
    results = again.uns["key"]
    assert list(results["view_names"]) == ["a", "é/b"]
    np.testing.assert_array_equal(results["view_weights"], [0.25, 0.75])
    assert results["params"].keys() == PARAMS.keys()
    for name, (_, expected) in PARAMS.items():
        np.testing.assert_array_equal(results["params"][name], expected)


def frames_of(data):
    return {name: cells.to_df() for name, cells in data.mod.items()}


@pytest.mark.parametrize("form", ["frames", "MuData", "loaded", "Dask"])
def test_results_are_matched_by_sample_id(fitted, tmp_path, form):
    data, model = fitted
    shuffled = data[np.random.default_rng(0).permutation(40)].copy()
    views = data if form == "MuData" else frames_of(data)
    if form == "Dask":
        dataframe = pytest.importorskip("dask.dataframe")
        views = {
            name: dataframe.from_pandas(view.sort_index(), npartitions=3)
            for name, view in views.items()
        }
    model = DALMC(n_clusters=3, random_state=0).fit(views)
    if form == "loaded":
        model.save(tmp_path / "model.anchorview")
        model = load(tmp_path / "model.anchorview")
    write_results(shuffled, model)
    ids = pd.Index(np.asarray(model.sample_ids_))
    labels = pd.Series(np.asarray(model.labels_), ids)[shuffled.obs_names]
    np.testing.assert_array_equal(shuffled.obs["dalmc"].astype(int), labels)
    rows = ids.get_indexer(shuffled.obs_names)
    np.testing.assert_array_equal(shuffled.obsm["X_dalmc"], np.asarray(model.embedding_)[rows])


def test_results_that_cannot_be_matched_are_refused(fitted):
    data, _ = fitted
    frames = frames_of(data)
    model = DALMC(n_clusters=3, random_state=0)
    model.fit({name: frame[:38] for name, frame in frames.items()})
    with pytest.raises(ValueError, match=r"2 of 40 samples in the object .* 's38'"):
        write_results(data, model)
    model.fit(frames)
    with pytest.raises(ValueError, match=r"2 of 40 samples in the model .* 's0'"):
        write_results(data[2:].copy(), model)
    model.fit({name: frame.reset_index(drop=True) for name, frame in frames.items()})
    with pytest.raises(ValueError, match=r"ids such as 's0'"):
        write_results(data, model)
    repeated = annotated(np.ones((40, 2)), [f"s{min(i, 38)}" for i in range(40)], "g")
    with pytest.raises(ValueError, match="object has the sample id 's38' more than once"):
        write_results(repeated, model)
    with pytest.raises(ValueError, match="4 samples in the model, but 40 in the object"):
        write_results(data, Model(np.arange(4)))
    with pytest.raises(NotFittedError):
        write_results(data, DALMC(n_clusters=2))
    assert data.obs.empty
