"""Fits and inspection on a cluster of worker processes, some of which are killed."""

import os
import pickle
import signal
from operator import add

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, AutoDALMC
from anchorview._utils.errors import DataFileError
from anchorview._utils.progress import listen_to_progress
from anchorview.distributed import dask_views
from anchorview.estimators.auto import model_fit
from anchorview.inspection import cluster_markers, cluster_summary, doubtful
from anchorview.sources.dask import part_graph
from anchorview.sources.open_source import open_source
from helpers.dask_problems import (
    K,
    assert_same,
    distance,
    fit,
    generated,
    in_dask,
    make_views,
    stored,
    with_missing,
    worker_killing_array,
)

# All tests share one cluster, so they run in one pytest process.
pytestmark = [
    pytest.mark.system,
    pytest.mark.usefixtures("small_parts"),
    pytest.mark.xdist_group("cluster"),
]

N, CHUNK = 3000, 400


def fit_auto(X):
    return AutoDALMC(K, budget="fast", random_state=0).fit(X)


@pytest.fixture
def small_sample(set_constants):
    """The size, half of this with the fast budget, is decided here, not by the workers."""
    set_constants(model_fit, SAMPLE_SIZE=800)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-6), (np.float32, 1e-3)])
def test_memory_disk_and_workers_agree(client, tmp_path, dtype, tolerance, missing):
    views = make_views(N, dtype)
    views = with_missing(views, CHUNK) if missing else views
    reference = fit(views)
    maps = stored(tmp_path, views)
    on_disk = fit(maps)
    assert distance(on_disk.embedding_, reference.embedding_) <= tolerance
    assert adjusted_rand_score(on_disk.labels_, reference.labels_) >= 0.999
    model = fit(dask_views(maps, CHUNK))
    assert_same(model, reference, tolerance)
    np.testing.assert_allclose(model.views_["weight"], reference.views_["weight"], atol=tolerance)


@pytest.mark.parametrize("kind", ["labels", "dalmc", "auto"])
def test_clusters_are_inspected_by_workers(client, kind):
    """Labels and models are sent to workers, which summarize the parts."""
    views = with_missing(make_views(700), 200)
    model = {
        "labels": DALMC(4, variant="box-graph"),
        "dalmc": DALMC(4),
        "auto": AutoDALMC(4, budget="fast"),
    }[kind]
    model.set_params(random_state=0).fit(views)
    parts = in_dask(views, 150)
    for function in (cluster_markers, cluster_summary, doubtful):
        pd.testing.assert_frame_equal(function(model, parts), function(model, views), rtol=1e-10)


@pytest.mark.parametrize("assignment", ["kmeans", "cluster_qr"])
def test_blockwise_kmeans_equals_memory(client, tmp_path, assignment):
    """Enough samples that the embedding stays on the workers and K-means runs there."""
    views = make_views(41_000)
    reference = fit(views, assignment=assignment)
    model = fit(dask_views(stored(tmp_path, views), 5000), assignment=assignment)
    assert_same(model, reference)
    assert (model.predict(views) == model.labels_.compute()).all()


def test_results_sent_to_the_client_are_small(client, monkeypatch):
    sizes = []
    compute = dask.compute

    def recorded(*args, **options):
        results = compute(*args, **options)
        sizes.append(len(pickle.dumps(results)))
        return results

    monkeypatch.setattr(part_graph.dask, "compute", recorded)
    model = fit(generated(300_000, 30_000))
    assert len(sizes) > 4
    assert max(sizes) < model.embedding_.nbytes / 5
    # All results but the sample of rows for K-means depend on the number of features only.
    assert sorted(sizes)[-2] < 100_000


def test_raw_data_are_not_transferred(client, tmp_path):
    views = dask_views(stored(tmp_path, make_views(40_000)), 2000)
    raw = sum(view.nbytes for view in views.values())
    before = sum(client.run(_received).values())
    assert open_source(views).reduce(len, add, "counting") == 40_000
    assert sum(client.run(_received).values()) - before < raw / 50


def _received(dask_worker):
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(
    ("fit", "n", "read"),
    [
        (fit, N, 2),
        (fit, 41_000, 3),
        *(pytest.param(fit_auto, N, read, marks=pytest.mark.system) for read in (1, 2, 3)),
    ],
)
def test_worker_killed_while_reading(client, tmp_path, fit, n, read):
    """A block is read a second time for the Gram matrix, a third time for the embedding.

    AutoDALMC reads it for the choice of the sample, for the sample, and for the labels.
    """
    chunk = n // 8 + 1
    maps = stored(tmp_path, make_views(n))
    undisturbed = fit(dask_views(maps, chunk))
    views = dask_views(maps, chunk)
    views["b"] = worker_killing_array(maps["b"], chunk, 5, read, tmp_path)
    model = fit(views)
    assert (tmp_path / "killed").exists()
    assert (tmp_path / f"block-5-read-{read + 1}").exists()
    assert (model.labels_.compute() == undisturbed.labels_.compute()).all()


@pytest.mark.system
@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("missing", [False, True])
def test_auto_gives_the_clusters_of_memory(client, tmp_path, missing):
    views = make_views(N)
    views = with_missing(views, CHUNK) if missing else views
    reference = fit_auto(views)
    lazy = dask_views(stored(tmp_path, views), CHUNK)
    model = fit_auto(lazy)
    assert isinstance(model.labels_, da.Array) and isinstance(model.embedding_, da.Array)
    assert adjusted_rand_score(model.labels_.compute(), reference.labels_) >= 0.999
    np.testing.assert_allclose(model.confidence_.compute(), reference.confidence_, atol=0.1)
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.labels_.compute())
    # The records of samples that a killed worker held are recomputed.
    before = model.labels_.compute()
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    assert (model.labels_.compute() == before).all()
    assert len(model.confidence_.compute()) == N


def test_persisted_views(client):
    lazy = generated(N, CHUNK)
    reference = fit({name: view.compute() for name, view in lazy.items()})
    views = {name: view.persist() for name, view in lazy.items()}
    model = fit(views)
    assert_same(model, reference)
    labels = model.predict(views)
    # The result holds references to the blocks it needs.
    del views
    assert (labels.compute() == model.labels_.compute()).all()


def test_failed_embedding_is_raised_by_fit(client, tmp_path):
    views = dask_views(stored(tmp_path, make_views(N)), CHUNK)

    def damage(stage, done, total):
        if stage == "embedding":
            (tmp_path / "c.npy").unlink(missing_ok=True)

    with (
        listen_to_progress(damage),
        pytest.raises(DataFileError, match=r"c\.npy.*no such file any more"),
    ):
        fit(views)
