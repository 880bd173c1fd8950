"""A sample of integer weight is as many equal samples; one of weight zero only has a label."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, AutoDALMC, MultiViewData, load
from anchorview.compared import OPMC
from anchorview.core import assign
from anchorview.core.blockwise_kmeans import sampled_rows
from anchorview.core.centers import EmbeddedRows
from anchorview.estimators.auto import auto_dalmc
from anchorview.inspection import cluster_markers
from anchorview.sources import disk_source
from helpers.dask_problems import in_dask, stored
from helpers.data import clustered_views

N, K, WIDTHS = 240, 4, (10, 8, 30)


def views_of(kind="complete", seed=0):
    views, _ = clustered_views(N, K, WIDTHS, separation=2.0, seed=seed)
    rng = np.random.default_rng(seed)
    if kind == "missing":
        lacking = rng.random((N, len(views))) < 0.25
        lacking[:, 0] = False
        for view, rows in zip(views.values(), lacking.T, strict=True):
            view[rows] = np.nan
    if kind == "sparse":
        return {name: sparse.csr_array(np.where(X > 1, X, 0)) for name, X in views.items()}
    if kind == "wide":
        views["wide"] = rng.standard_normal((N, 3 * N)) + views["view_0"][:, :1]
    return views


def weights(seed=1):
    """Weights with zeros, also for all samples of a part."""
    w = np.random.default_rng(seed).integers(0, 5, N)
    w[:70] = 0
    return w


def model_of(**params):
    return DALMC(K, random_state=0, **params)


def fit_pair(views, w, **params):
    """Model of weighted samples, and that of repeated samples; the position of these."""
    repeated = np.repeat(np.arange(N), w)
    expected = model_of(**params).fit({name: X[repeated] for name, X in views.items()})
    return model_of(**params).fit(views, sample_weight=w), expected, repeated


def assert_equal_models(found, expected):
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-8)
    np.testing.assert_allclose(found.views_["weight"], expected.views_["weight"], atol=1e-8)


@pytest.mark.parametrize("kind", ["complete", "missing", "sparse", "wide"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"scaling": "unit-center"},
        {"scaling": "none", "unit_norm": False, "normalize_embedding": False},
        {"solver": "direct", "init": "random"},
        {"solver": "left"},
        {"solver": "truncated"},
        {"assignment": "cluster_qr"},
    ],
    ids=str,
)
def test_integer_weights_are_repeated_samples(kind, params):
    if kind == "missing" and params.get("solver") == "left":
        pytest.skip("refused for views with missing rows or few features")
    views, w = views_of(kind), weights()
    found, expected, repeated = fit_pair(views, w, **params)
    assert_equal_models(found, expected)
    np.testing.assert_allclose(found.embedding_[repeated], expected.embedding_, atol=1e-8)
    np.testing.assert_array_equal(found.labels_[repeated], expected.labels_)
    np.testing.assert_array_equal(found.predict(views), expected.predict(views))
    np.testing.assert_array_equal(
        found.labels_without_doubt(), expected.predict(views, doubtful=-1)
    )
    np.testing.assert_allclose(found.transform(views), expected.transform(views), atol=1e-7)


def held(views, where, folder):
    """The views in memory, files or Dask."""
    if where == "dask":
        return in_dask(views, 60)
    return views if where == "memory" else stored(folder, views)


@pytest.mark.parametrize("kind", ["complete", "missing"])
@pytest.mark.parametrize("where", ["files", "out", "dask"])
def test_files_and_dask_weigh_samples_as_memory_does(kind, where, tmp_path, set_constants):
    set_constants(disk_source, PART=20_000, PRODUCTS_PER_PART=0)
    views, w = views_of(kind), weights()
    expected = model_of().fit(views, sample_weight=w)
    out = tmp_path / "results" if where == "out" else None
    found = model_of().fit(held(views, where, tmp_path), sample_weight=w, out=out)
    assert_equal_models(found, expected)
    np.testing.assert_allclose(np.asarray(found.embedding_), expected.embedding_, atol=1e-8)
    np.testing.assert_array_equal(np.asarray(found.labels_), expected.labels_)


def test_samples_of_weight_zero_have_labels_but_no_influence():
    views, w = views_of(), (weights() > 0).astype(float)
    kept = {name: X[w > 0] for name, X in views.items()}
    expected = model_of().fit(kept)
    for X in views.values():
        X[0] = 1e150
    found = model_of().fit(views, sample_weight=w)
    assert_equal_models(found, expected)
    np.testing.assert_array_equal(found.labels_[w > 0], expected.labels_)
    np.testing.assert_array_equal(found.labels_, expected.predict(views))


def test_many_rows_are_sampled_by_weight(set_constants):
    set_constants(assign, SAMPLE=50)
    found, expected, repeated = fit_pair(views_of(), weights())
    assert adjusted_rand_score(found.labels_[repeated], expected.labels_) > 0.97


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_heavy_rows_are_sampled_as_often_as_their_weight_says(dtype):
    rows = np.random.default_rng(0).standard_normal((3000, 3)).astype(dtype)
    rows[:, 0] = np.arange(3000)
    w = np.where(np.arange(3000) < 1000, 0, 1.0)
    w[-10:] = 100
    sample = sampled_rows(EmbeddedRows(rows, w), 900, 0)[:, 0]
    counts = np.bincount(sample.astype(int), minlength=3000)
    assert len(sample) == 900
    assert not counts[:1000].any() and counts[1000:-10].max() == 1
    assert (np.abs(counts[-10:] - 900 * 100 / w.sum()) <= 3).all()


def test_weights_are_aligned_by_id_and_stay_with_the_samples(tmp_path):
    ids = pd.Index([f"s{i}" for i in range(N)])
    frames = {name: pd.DataFrame(X, ids) for name, X in views_of().items()}
    w = pd.Series(weights(), ids)
    expected = model_of().fit(frames, sample_weight=w.to_numpy())
    found = model_of().fit(frames, sample_weight=w.sample(frac=1, random_state=0))
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    data = MultiViewData(frames, sample_weight=w)
    half = model_of().fit(data[::2])
    again = model_of().fit(
        {name: X.iloc[::2] for name, X in frames.items()}, sample_weight=w.iloc[::2]
    )
    np.testing.assert_array_equal(half.labels_, again.labels_)
    found.save(tmp_path / "model.anchorview")
    for copied in (load(tmp_path / "model.anchorview"), pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(copied.predict(frames), found.predict(frames))
        np.testing.assert_array_equal(copied.transform(frames), found.transform(frames))
    fresh = clone(found).fit(frames, sample_weight=w)
    np.testing.assert_array_equal(fresh.labels_, found.labels_)
    np.testing.assert_allclose(
        model_of().fit_transform(frames, sample_weight=w), found.transform(frames), atol=1e-8
    )


@pytest.mark.parametrize(
    ("w", "message"),
    [
        (np.ones(3), "3"),
        (np.full(N, -1.0), "-1"),
        (np.where(np.arange(N) == 7, np.nan, 1), "row 7"),
        (np.zeros(N), "zero"),
        (["a"] * N, "sample_weight"),
        (np.arange(N) < 2, "n_clusters"),
        ("column", "obs"),
    ],
)
def test_impossible_weights_are_refused(w, message):
    with pytest.raises(ValueError, match=message):
        model_of().fit(views_of(), sample_weight=w)


def test_weights_are_refused_where_they_are_not_known():
    views = views_of()
    with pytest.raises(ValueError, match="batches"):
        model_of().fit(views, sample_weight=weights(), batch=np.arange(N) % 2)
    with pytest.raises(ValueError, match="Ablations"):
        model_of(variant="box-graph").fit(views, sample_weight=weights())
    data = MultiViewData(views, sample_weight=weights())
    with pytest.raises(ValueError, match="partial_fit"):
        model_of(scaling="unit-center").partial_fit(data)
    with pytest.raises(ValueError, match="weigh samples"):
        OPMC(K).fit(data)
    with pytest.raises(ValueError, match="once"):
        model_of().fit(data, sample_weight=weights())


def auto(**params):
    return AutoDALMC(K, budget="fast", random_state=0, **params)


def separated(seed=0):
    return clustered_views(N, K, WIDTHS, separation=8.0, seed=seed)


@pytest.mark.parametrize("where", ["memory", "files", "dask"])
@pytest.mark.parametrize("selects", [False, True])
def test_auto_weighs_samples_as_repeated_ones(where, selects, tmp_path, set_constants, monkeypatch):
    set_constants(disk_source, PART=20_000, PRODUCTS_PER_PART=0)
    if selects:
        monkeypatch.setattr(auto_dalmc, "n_sampled", lambda n, *_: min(n, 120))
    (views, y), w = separated(), weights()
    repeated = np.repeat(np.arange(N), w)
    expected = auto().fit({name: X[repeated] for name, X in views.items()})
    found = auto().fit(held(views, where, tmp_path), sample_weight=w)
    labels = np.asarray(found.labels_)
    assert adjusted_rand_score(labels[repeated], expected.labels_) >= 0.99
    assert adjusted_rand_score(labels, y) > 0.95
    np.testing.assert_allclose(found._spread.sizes.sum(), w.sum())


def test_auto_is_not_influenced_by_samples_of_weight_zero(tmp_path):
    (views, _), w = separated(), (weights() > 0).astype(float)
    expected = auto().fit({name: X[w > 0] for name, X in views.items()})
    for X in views.values():
        X[0] = 1e150
    found = auto().fit(views, sample_weight=w)
    np.testing.assert_array_equal(found.labels_[w > 0], expected.labels_)
    np.testing.assert_array_equal(found.labels_, expected.predict(views))
    found.save(tmp_path / "model.anchorview")
    copied = load(tmp_path / "model.anchorview")
    np.testing.assert_array_equal(copied.transform(views), found.transform(views))


def test_heavy_samples_decide_what_auto_separates():
    rng = np.random.default_rng(0)
    y, z = rng.integers(2, size=(2, N))
    views = {
        name: np.column_stack([3 * y, 3 * z]) @ rng.normal(size=(2, 8)) + rng.normal(size=(N, 8))
        for name in "ab"
    }
    heavy = np.where(y == z, 50.0, 0.5)
    labels = AutoDALMC(2, random_state=0).fit(views, sample_weight=heavy).labels_
    assert adjusted_rand_score(labels[y == z], y[y == z]) > 0.9


def test_summaries_and_markers_of_weighted_samples_are_those_of_repeated_ones():
    views, w = views_of("missing"), weights()
    model = model_of().fit(views, sample_weight=w)
    repeated = np.repeat(np.arange(N), w)
    data = MultiViewData(views, sample_weight=w)
    more = {name: X[repeated] for name, X in views.items()}
    columns = ["size", "share", "confidence", "nearest_cluster", "separation", "features"]
    columns += [f"view:{name}" for name in views]
    pd.testing.assert_frame_equal(model.summary(data)[columns], model.summary(more)[columns])
    pd.testing.assert_frame_equal(cluster_markers(model, data), cluster_markers(model, more))
