"""AutoDALMC on samples in memory, on disk and in Dask: the same clusters, whatever their order."""

from functools import cache

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import AutoDALMC, load, open_views
from anchorview.core import representative_rows
from anchorview.estimators.auto import model_fit
from anchorview.estimators.partitions import candidates
from anchorview.inspection import cluster_summary, doubtful
from anchorview.sources import disk_source
from anchorview.sources.dask import dask_input
from anchorview.sources.open_source import open_source
from helpers.auto_models import candidate_labels
from helpers.dask_problems import in_dask, make_views, stored, with_missing

N, CHUNK, K = 900, 200, 4
FILES = {"labels", "confidence", "second_labels", "embedding", "sample_ids"}


@pytest.fixture(autouse=True)
def small_parts_and_samples(set_constants):
    """Everything is fitted to 300 of the samples, and parts have 50 to 200 rows."""
    # Half of the size with the fast budget.
    set_constants(model_fit, SAMPLE_SIZE=600)
    set_constants(representative_rows, MIN_ROWS_PER_VIEW=50)
    set_constants(candidates, LANDMARK_ROWS=150)
    set_constants(disk_source, PART=50 * 24 * 8, PRODUCTS_PER_PART=0)
    set_constants(dask_input, SMALL_PART=1, PRODUCTS_PER_PART=0)


def fit(X, out=None, **options):
    return AutoDALMC(K, budget="fast", random_state=0, **options).fit(X, out=out)


def make(missing):
    return with_missing(make_views(N), CHUNK) if missing else make_views(N)


@cache
def fitted(missing):
    """Model of the views in memory."""
    return fit(make(missing))


def require_same(model, reference):
    """Results of all samples are those of another fit, up to rounding."""
    assert adjusted_rand_score(np.asarray(model.labels_), reference.labels_) >= 0.999
    assert np.mean(np.asarray(model.second_labels_) == reference.second_labels_) >= 0.99
    np.testing.assert_allclose(model.confidence_, reference.confidence_, atol=0.1)
    np.testing.assert_allclose(model.embedding_, reference.embedding_, atol=1e-6)
    np.testing.assert_allclose(model.views_["weight"], reference.views_["weight"], atol=1e-6)
    np.testing.assert_array_equal(model._spread.sizes, np.bincount(model.labels_, minlength=K))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", ["disk", "disk-out", "memory-out", "dask"])
def test_all_sources_give_the_same_clusters(kind, missing, tmp_path):
    views, reference = make(missing), fitted(missing)
    folder = tmp_path / "results" if kind.endswith("out") else None
    if kind == "dask":
        model = fit(in_dask(views, CHUNK))
        for name in ("labels_", "confidence_", "second_labels_", "embedding_"):
            assert isinstance(getattr(model, name), da.Array)
    else:
        given = views if kind == "memory-out" else stored(tmp_path / "views", views)
        model = fit(given, folder)
    require_same(model, reference)
    if folder is not None:
        assert {path.stem for path in folder.iterdir()} == FILES
        assert isinstance(model.confidence_, np.memmap)
        np.testing.assert_array_equal(np.load(folder / "labels.npy"), model.labels_)
        np.testing.assert_array_equal(np.load(folder / "sample_ids.npy"), np.arange(N))
        # The folder opens as the embedding with labels.
        assert list(open_views(folder).views) == ["embedding"]


@pytest.mark.parametrize("missing", [False, True])
def test_new_samples_on_disk_and_in_dask(missing, tmp_path):
    views, model = make(missing), fitted(missing)
    maps = stored(tmp_path / "views", views)
    np.testing.assert_array_equal(model.predict(maps), model.labels_)
    np.testing.assert_array_equal(model.predict(in_dask(views, 70)).compute(), model.labels_)
    written = model.predict(maps, out=tmp_path / "labels.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), model.labels_)
    assert isinstance(written, np.memmap)
    embedding = model.transform(maps, scale=False, out=tmp_path / "embedding.npy")
    np.testing.assert_allclose(embedding, model.embedding_, atol=1e-10)
    np.testing.assert_allclose(
        model.transform(in_dask(views, 70), scale=False), model.embedding_, atol=1e-10
    )
    for X in (maps, in_dask(views, 70)):
        labels, confidence = model.predict_with_confidence(X)
        np.testing.assert_array_equal(labels, model.labels_)
        np.testing.assert_allclose(confidence, model.confidence_, atol=1e-12)
        np.testing.assert_array_equal(candidate_labels(model, X), candidate_labels(model, views))


class TestSample:
    @pytest.mark.parametrize("missing", [False, True])
    def test_is_the_same_from_every_source_in_every_order(self, missing, tmp_path):
        views = make(missing)
        order = np.random.default_rng(1).permutation(N)
        moved = {name: view[order] for name, view in views.items()}
        forms = (views, moved, stored(tmp_path, views), in_dask(views, 130))
        samples = [representative_rows.representative_sample(open_source(X), 300) for X in forms]
        rows = [np.sort(sample.views[2][:, 0]) for sample in samples]
        assert 300 <= len(rows[0]) <= 300 + 3 * 50
        for other in rows[1:]:
            np.testing.assert_array_equal(other, rows[0])
        for sample in samples:
            has = np.isfinite(sample.views[1]).all(axis=1)
            assert (sample.available is not None) == missing
            assert not missing or (sample.available[:, 1] == has).all()

    def test_represents_rare_views(self):
        views = make_views(N)
        rare = np.full((N, 3), np.nan)
        rare[::15] = np.random.default_rng(0).standard_normal((60, 3))
        source = open_source({**views, "rare": rare})
        sample = representative_rows.representative_sample(source, 300)
        assert sample.available[:, 3].sum() >= 50


@pytest.mark.parametrize("kind", ["disk-out", "dask"])
def test_models_without_the_rows_of_the_fit_are_saved(kind, tmp_path):
    views, reference = make_views(N), fitted(False)
    model = fit(in_dask(views, CHUNK)) if kind == "dask" else fit(views, tmp_path / "out")
    assert "worker" in repr(model) or "900 samples" in repr(model)
    model.save(tmp_path / "model.anchorview")
    loaded = load(tmp_path / "model.anchorview")
    assert len(loaded.labels_) == len(loaded.confidence_) == len(loaded.second_labels_) == 0
    assert loaded.n_samples_fit_ == N
    np.testing.assert_array_equal(loaded.predict(views), reference.labels_)
    np.testing.assert_allclose(loaded.transform(views), reference.transform(views), atol=1e-9)
    # Inspection computes what the file does not have.
    for own in (model, loaded):
        pd.testing.assert_frame_equal(
            cluster_summary(own, views), cluster_summary(reference, views), rtol=1e-6, atol=1e-9
        )
    pd.testing.assert_frame_equal(doubtful(model, n_samples=5), doubtful(reference, n_samples=5))


def test_memory(tmp_path):
    maps = stored(tmp_path / "views", make_views(N))
    with pytest.raises(MemoryError, match=r"by AutoDALMC needs .* but 10 kB may be used"):
        fit(maps, memory_limit=1e4)
    with pytest.raises(ValueError, match="folder of the views"):
        fit(maps, tmp_path / "views")
    with pytest.raises(ValueError, match="scale=False"):
        AutoDALMC(K).fit_transform(maps, out=tmp_path / "out")
    with pytest.raises(ValueError, match="out= cannot be used with views in Dask"):
        fit(in_dask(make_views(N), CHUNK), tmp_path / "out")
