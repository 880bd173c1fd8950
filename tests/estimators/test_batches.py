"""Batches and covariates are taken out in `fit`, and of new samples, wherever these are."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, AutoDALMC, make_multiview
from anchorview._utils.linalg import LowRankSum
from anchorview.sources import disk_source
from anchorview.sources.dask import dask_input
from helpers.batches import centered_on_itself, corrected, planted_batches
from helpers.dask_problems import in_dask, stored
from helpers.data import assert_same_embedding
from helpers.model_files import round_trip


@pytest.fixture(scope="module")
def planted():
    return planted_batches()


@pytest.fixture
def in_parts(set_constants):
    """Files and chunks are processed in several parts."""
    set_constants(disk_source, PART=40_000, PRODUCTS_PER_PART=0)
    set_constants(dask_input, SMALL_PART=1, PRODUCTS_PER_PART=0)


def dalmc(**settings):
    return DALMC(5, random_state=0, **settings)


def test_types_are_found_where_batches_dominate(planted):
    views, types, batch = planted
    raw = dalmc().fit(views)
    assert adjusted_rand_score(batch, raw.labels_) > 0.5
    assert adjusted_rand_score(types, raw.labels_) < 0.3
    model = dalmc().fit(views, batch=batch)
    assert adjusted_rand_score(types, model.labels_) >= 0.95
    assert adjusted_rand_score(batch, model.labels_) <= 0.02
    assert model.batches_ == ("0", "1", "2", "3")
    assert model.batch_mixing_["before"] < 0.1
    assert model.batch_mixing_["after"] > 0.8
    assert "4 batches taken out; mixing of batches 0.0" in repr(model)
    assert raw.batches_ is None and raw.batch_mixing_ is None


@pytest.mark.parametrize("scaling", ["zscore-unit", "unit-center", "none"])
@pytest.mark.parametrize("batch_scale", [True, False])
def test_equal_to_correcting_in_memory_first(scaling, batch_scale, planted):
    views, _, batch = planted
    model = dalmc(scaling=scaling, batch_scale=batch_scale).fit(views, batch=batch)
    expected = dalmc(scaling=scaling).fit(corrected(views, batch, scale=batch_scale))
    assert_same_embedding(model.embedding_, expected.embedding_)
    np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_the_same_from_files_and_dask(planted, in_parts, tmp_path):
    views, _, batch = planted
    depth = np.linspace(-1, 1, len(batch)) ** 3
    expected = dalmc().fit(corrected(views, batch, depth))
    for X in (views, stored(tmp_path, views), in_dask(views, 90)):
        model = dalmc().fit(X, batch=pd.Series(batch), covariates=depth)
        assert_same_embedding(model.embedding_, expected.embedding_)
        np.testing.assert_array_equal(np.asarray(model.labels_), expected.labels_)
        again = model.predict(X, batch=batch, covariates=depth)
        np.testing.assert_array_equal(np.asarray(again), expected.labels_)
    out = dalmc().fit(views, batch=batch, covariates=depth, out=tmp_path / "results")
    np.testing.assert_array_equal(np.asarray(out.labels_), expected.labels_)


def test_auto_is_equal_to_correcting_first(planted, in_parts, tmp_path):
    views, types, batch = planted
    expected = AutoDALMC(5, budget="fast", random_state=0).fit(corrected(views, batch))
    model = AutoDALMC(5, budget="fast", random_state=0).fit(views, batch=batch)
    # The partition; numbers of clusters may differ by rounding.
    assert adjusted_rand_score(expected.labels_, model.labels_) == 1
    assert adjusted_rand_score(types, model.labels_) >= 0.95
    assert adjusted_rand_score(batch, model.labels_) <= 0.02
    labels, confidence = model.predict_with_confidence(stored(tmp_path, views), batch=batch)
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_allclose(confidence, model.confidence_)
    transformed = model.transform(views, batch=batch, scale=False)
    np.testing.assert_allclose(transformed, model.embedding_, atol=1e-10)
    loaded = round_trip(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict(views, batch=batch), model.labels_)


@pytest.mark.parametrize("solver", ["compressed", "left", "direct", "truncated"])
def test_sparse_views_stay_sparse(solver, monkeypatch):
    rng = np.random.default_rng(0)
    types, batch = rng.integers(3, size=200), rng.integers(2, size=200)
    rates = rng.gamma(1, size=(3, 520)) * np.where(rng.random(520) < 0.5, 0.3, 0.0)
    counts = rng.poisson(rates[types] * (1 + batch[:, None]))
    counts[:, :2] += 1 + rng.poisson(1, size=(200, 2))
    width = {"compressed": 40}.get(solver, 520)
    dense = counts[:, :width].astype(float)
    settings = {"n_clusters": 3, "random_state": 0, "solver": solver}
    other = rng.normal(size=(200, 4)) + 5 * types[:, None]
    expected = DALMC(**settings).fit([dense, other], batch=batch)
    if solver != "compressed":
        monkeypatch.delattr(LowRankSum, "toarray")
    model = DALMC(**settings).fit([sparse.csr_array(counts[:, :width]), other], batch=batch)
    assert_same_embedding(model.embedding_, expected.embedding_, 1e-7)
    np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_columns_of_obs_are_batches():
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    views, _, batch = planted_batches(120, k=3, n_batches=2, lacking=False)
    ids = [f"c{i}" for i in range(120)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modalities = {
            name: anndata.AnnData(view, obs=pd.DataFrame(index=ids)) for name, view in views.items()
        }
        data = mudata.MuData(modalities)
    data.obs["plate"] = pd.Categorical.from_codes(batch, ["a", "b"])
    data.obs["depth"] = np.arange(120) % 7
    model = DALMC(3, random_state=0).fit(data, batch="plate", covariates=["depth"])
    expected = DALMC(3, random_state=0).fit(views, batch=batch, covariates=np.arange(120) % 7)
    assert_same_embedding(model.embedding_, expected.embedding_)
    assert model.batches_ == ("a", "b")
    with pytest.raises(ValueError, match=r"X\.obs has no column 'donor', only 'plate', 'depth'"):
        model.fit(data, batch="donor")


def test_an_unknown_batch_can_be_centered_on_itself(planted):
    views, types, batch = planted
    known = batch < 2
    old = {name: view[known] for name, view in views.items()}
    new = {name: view[batch == 2] for name, view in views.items()}
    # Batch 0 lacks view_2, so it is unknown in this view only.
    model = dalmc().fit(old, batch=batch[known])
    names = np.full((batch == 2).sum(), "new")
    for function in (model.predict, model.transform):
        with pytest.raises(ValueError, match="'new' is unknown"):
            function(new, batch=names)
    reference = dalmc().fit(corrected(old, batch[known]))
    expected = reference.transform(centered_on_itself(new, old, batch[known]))
    found = model.transform(new, batch=names, unknown_batch="center")
    assert_same_embedding(found, expected, 1e-9)
    labels = model.predict(new, batch=names, unknown_batch="center")
    assert adjusted_rand_score(types[batch == 2], labels) > 0.9
    one = {name: view[:1] for name, view in new.items()}
    with pytest.raises(ValueError, match="Batch 'new' has 1 sample with view 0"):
        model.predict(one, batch=names[:1], unknown_batch="center")
    with pytest.raises(ValueError, match="unknown_batch='ignore' should be"):
        model.predict(new, batch=names, unknown_batch="ignore")


def test_errors_of_fit_name_the_sample_batch_or_covariate(planted):
    views, _, batch = planted
    text = batch.astype(object)
    missing = text.copy()
    missing[5] = None
    alone = text.copy()
    alone[np.flatnonzero(batch == 1)[0]] = "alone"
    ages = np.arange(400.0)
    nan = ages.copy()
    nan[3] = np.nan
    for match, given in {
        "batch is missing .* row 5": {"batch": missing},
        "missing for 2 samples, .* row 1": {"batch": ["a", np.nan, None, *["b"] * 397]},
        "missing .* row 2": {"batch": np.array(["a", "a", np.nan, *["b"] * 397])},
        "'alone' has 1 sample with view 0": {"batch": alone},
        "400 samples in X, but 3 in batch": {"batch": [1, 2, 3]},
        "batch is a DataFrame with 2 columns": {"batch": pd.DataFrame({"a": text, "b": text})},
        "batch='plate' names columns of obs": {"batch": "plate"},
        "covariate 'covariate_0' is NaN or infinite for row 3": {"covariates": nan},
        "covariate 'covariate_0' is constant within every": {"batch": batch, "covariates": batch},
        "covariate 'covariate_0' is constant for all": {"covariates": np.ones(400)},
        "'covariate_1' is a linear combination of 'covariate_0'": {
            "covariates": np.column_stack([ages, 3 * ages + 1])
        },
        "column 'x' more than once": {
            "covariates": pd.DataFrame(np.column_stack([ages, ages % 7]), columns=["x", "x"])
        },
        "column 'sex' is not numeric": {"covariates": pd.DataFrame({"sex": ["f", "m"] * 200})},
        "'covariate_0' is not numeric": {"covariates": np.array(["f", "m"] * 200)},
    }.items():
        with pytest.raises(ValueError, match=match):
            dalmc().fit(views, **given)
    constant = {**views, "view_0": np.tile(batch[:, None], 3) + 0.0}
    with pytest.raises(ValueError, match="view 0 is constant in every batch"):
        dalmc().fit(constant, batch=batch)


def test_a_warning_if_batches_and_clusters_cannot_be_told_apart():
    rng = np.random.default_rng(0)
    batch = np.repeat([0, 1], 100)
    types = 2 * batch + rng.integers(2, size=200)
    views = {
        f"v{p}": 6 * rng.normal(size=(4, 8))[types] + rng.normal(size=(200, 8)) for p in (0, 1)
    }
    with pytest.warns(UserWarning, match="cannot be told apart: nearly every cluster lies within"):
        DALMC(4, random_state=0).fit(views, batch=batch)


@pytest.mark.parametrize("k", [2, 6])
@pytest.mark.parametrize("make", [dalmc, partial(AutoDALMC, budget="fast", random_state=0)])
def test_a_warning_if_batches_are_the_clusters(make, k):
    views, y = make_multiview(300, n_clusters=k, random_state=0)
    sparse_view = sparse.csr_array(np.maximum(next(iter(views.values())), 0))
    with pytest.warns(UserWarning, match="same as the clusters of the views without correction"):
        make().set_params(n_clusters=k).fit({**views, "s": sparse_view}, batch=y)
    # Batch effects that are stronger than the clusters, and as many batches as clusters.
    rng = np.random.default_rng(0)
    batch = rng.integers(k, size=300)
    shifted = [view + 9 * rng.normal(size=(k, view.shape[1]))[batch] for view in views.values()]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Batches are much the same")
        make().set_params(n_clusters=k).fit(shifted, batch=batch)
