import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from anchorview import MultiViewData
from anchorview.estimators.methods import method_class
from anchorview.experiments.jobs import METRICS, Job
from anchorview.experiments.measuring import (
    clocks,
    elapsed,
    impute_means,
    ordered,
    remove_entries,
    run_job,
)
from anchorview.experiments.tables import BUSY_CORES
from anchorview.metrics import clustering_scores
from helpers.job_problems import MadeData

K = 5
DATA = MadeData(n_clusters=K, random_state=1)
VIEWS, CLASSES = DATA.load()
NORMALIZED = {"dalmc": True, "amgl": False, "awmvc": True}
"""Methods that apply K-means to an embedding that does not depend on the seed, and whether they
normalize its rows."""


def run(method="dalmc", settings=None, data=DATA, **attributes):
    return run_job(Job.of("made", method, settings, **attributes), data)


def fit(method="dalmc", seed=0, **settings):
    return method_class(method)(K, random_state=seed, **settings).fit(VIEWS)


def scores_of(all_labels):
    runs = [clustering_scores(CLASSES, labels) for labels in all_labels]
    return {metric: tuple(run[metric] for run in runs) for metric in METRICS}


@pytest.mark.parametrize(
    ("method", "settings", "normalized"),
    [
        *((method, {}, normalized) for method, normalized in NORMALIZED.items()),
        ("dalmc", {"normalize_embedding": False}, False),
    ],
)
def test_runs_are_single_kmeans_on_the_embedding_of_one_fit(method, settings, normalized):
    result = run(method, settings, runs=6, seed=3)
    model = fit(method, seed=3, **settings)
    points = normalize(model.embedding_) if normalized else model.embedding_
    assert result.status == "done", result.reason
    runs = (KMeans(K, n_init=1, random_state=seed) for seed in range(3, 9))
    assert result.scores == scores_of(kmeans.fit_predict(points) for kmeans in runs)
    assert len(set(result.scores["ACC"])) > 1
    assert result.returned == clustering_scores(CLASSES, model.labels_)


@pytest.mark.parametrize(
    ("method", "settings", "single_start", "runs"),
    [
        *((method, {}, {"n_init": 1}, 3) for method in ("bmvc", "opmc", "uomvsc")),
        # K-means on an embedding that depends on the seed.
        *((method, {}, {"n_init": 1}, 3) for method in ("fpmvs-cag", "lmvsc")),
        ("dalmc", {"init": "random"}, {"n_init": 1}, 3),
        ("omsc", {}, {}, 3),
        # A fit of AutoDALMC counts for four runs.
        ("auto", {"budget": "fast"}, {}, 12),
    ],
)
def test_other_methods_are_fitted_from_one_start_per_run(method, settings, single_start, runs):
    result = run(method, settings, runs=runs, seed=1)
    fits = (fit(method, seed, **settings, **single_start) for seed in (1, 2, 3))
    assert result.scores == scores_of(model.labels_ for model in fits)
    assert result.returned == clustering_scores(CLASSES, fit(method, 1, **settings).labels_)


@pytest.mark.parametrize(
    ("method", "settings"),
    [("omsc", {"init": "identity"}), ("dalmc", {"assignment": "cluster_qr"})],
)
def test_deterministic_labels_are_repeated(method, settings):
    result = run(method, settings, runs=3)
    assert result.scores == scores_of([fit(method, **settings).labels_] * 3)


@pytest.mark.parametrize("order", ["file", "sorted", "shuffled"])
def test_rows_and_classes_are_ordered_together(order):
    # The first feature tells the row.
    numbers = np.arange(len(CLASSES))
    views = MultiViewData([numbers[:, None] + 0.0, -numbers[:, None] - 0.0])
    data, classes = ordered(views, CLASSES, Job("made", "dalmc", order=order, seed=1))
    rows = data.views[0][:, 0].astype(int)
    np.testing.assert_array_equal(data.views[1][:, 0], -rows)
    np.testing.assert_array_equal(classes, CLASSES[rows])
    np.testing.assert_array_equal(np.sort(rows), numbers)
    assert (np.diff(classes) >= 0).all() == (order == "sorted")
    assert (np.diff(rows) > 0).all() == (order == "file")


def test_results_have_attributes_of_the_fit():
    result, model = run(runs=1), fit()
    assert result.objective == tuple(model.objective_)
    assert result.view_weights == tuple(model.views_["weight"])
    assert result.n_iter == model.n_iter_
    assert 0 < result.fit_seconds < result.seconds
    assert result.cpu_seconds > 0
    assert result.other_cores >= 0


@pytest.mark.system
def test_cpu_time_includes_child_processes():
    start = clocks()
    work = "import time\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", work], check=True)
    assert elapsed(start)["cpu_seconds"] > 0.45


@pytest.mark.system
def test_other_processes_are_seen():
    # Not a child of this process, but of one that ends.
    work = "import time; end = time.time() + 1\nwhile time.time() < end: pass"
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {work!r}])"
    subprocess.run([sys.executable, "-c", parent], check=True)
    start = clocks()
    time.sleep(0.8)
    assert elapsed(start)["other_cores"] > BUSY_CORES


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_removed_entries_are_random_and_every_sample_keeps_a_view(fraction):
    removed = remove_entries(VIEWS, fraction, seed=0)
    assert removed.available.any(axis=1).all()
    assert (~removed.available).mean() == pytest.approx(min(fraction, 0.5), abs=0.01)
    np.testing.assert_array_equal(removed.available, remove_entries(VIEWS, fraction, 0).available)
    if fraction < 0.5:
        assert (removed.available != remove_entries(VIEWS, fraction, 1).available).any()


def test_missing_entries_are_imputed_by_means_also_of_sparse_views():
    removed = remove_entries(VIEWS, 0.4, seed=0)
    imputed = impute_means(removed)
    assert imputed.available is None
    assert imputed.names == VIEWS.names
    for view, has, full in zip(VIEWS.views, removed.available.T, imputed.views, strict=True):
        expected = pd.DataFrame(np.where(has[:, None], view, np.nan))
        np.testing.assert_allclose(full, expected.fillna(expected.mean()), atol=1e-12)
    counts = np.array([[1, 2], [2, 3], [9, 9]])
    available = [[True, True], [True, True], [False, True]]
    data = MultiViewData([sparse.csr_array(counts), counts], available=available)
    np.testing.assert_allclose(impute_means(data).views[0], [[1, 2], [2, 3], [1.5, 2.5]])


def test_missing_entries_need_complete_data_and_compared_methods_imputed_data():
    result = run("amgl", missing=0.3, runs=1)
    assert result.status == "failed"
    assert "every view" in result.reason
    assert run("amgl", missing=0.3, impute=True, runs=1).status == "done"
    incomplete = MadeData(n_clusters=K, missing=0.2)
    assert run(data=incomplete, runs=1).status == "done"
    result = run(data=incomplete, missing=0.2, runs=1)
    assert result.status == "failed"
    assert "has missing views already" in result.reason
