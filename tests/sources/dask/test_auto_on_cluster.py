"""AutoDALMC on a cluster of worker processes, some of which are killed."""

import os
import signal

import dask.array as da
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import AutoDALMC
from anchorview.distributed import dask_views
from anchorview.estimators.auto import representative_rows
from helpers.dask_problems import K, make_views, stored, with_missing, worker_killing_array

# All tests share one cluster, so they run in one pytest process.
pytestmark = [
    pytest.mark.system,
    pytest.mark.usefixtures("small_parts"),
    pytest.mark.xdist_group("auto cluster"),
]

N, CHUNK = 3000, 400


def fit_auto(X):
    return AutoDALMC(K, budget="fast", random_state=0).fit(X)


@pytest.fixture(autouse=True)
def small_sample(set_constants):
    # The size, half of this with the fast budget, is decided in this process, not by the workers.
    set_constants(representative_rows, SAMPLE_SIZE=800)


@pytest.mark.parametrize("missing", [False, True])
def test_workers_give_the_clusters_of_memory(client, tmp_path, missing):
    views = make_views(N)
    views = with_missing(views, CHUNK) if missing else views
    reference = fit_auto(views)
    lazy = dask_views(stored(tmp_path, views), CHUNK)
    model = fit_auto(lazy)
    assert isinstance(model.labels_, da.Array) and isinstance(model.embedding_, da.Array)
    assert adjusted_rand_score(model.labels_.compute(), reference.labels_) >= 0.999
    np.testing.assert_allclose(model.confidence_.compute(), reference.confidence_, atol=0.1)
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.labels_.compute())


@pytest.mark.parametrize("read", [1, 2, 3])
def test_worker_killed_in_each_pass(client, tmp_path, read):
    """A block is read for the choice of the sample, for the sample, and for the labels."""
    chunk = N // 8 + 1
    maps = stored(tmp_path, make_views(N))
    undisturbed = fit_auto(dask_views(maps, chunk))
    views = dask_views(maps, chunk)
    views["b"] = worker_killing_array(maps["b"], chunk, 5, read, tmp_path)
    model = fit_auto(views)
    assert (tmp_path / "killed").exists()
    assert (model.labels_.compute() == undisturbed.labels_.compute()).all()


def test_worker_killed_after_labeling(client, tmp_path):
    """The records of samples that it held are recomputed."""
    model = fit_auto(dask_views(stored(tmp_path, make_views(N)), CHUNK))
    before = model.labels_.compute()
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    assert (model.labels_.compute() == before).all()
    assert len(model.confidence_.compute()) == N
