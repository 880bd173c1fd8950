import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from anchorview.estimators.methods import method_class
from anchorview.experiments.jobs import METRICS, Job
from anchorview.experiments.runner import run_job
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


def test_results_have_attributes_of_the_fit():
    result, model = run(runs=1), fit()
    assert result.objective == tuple(model.objective_)
    assert result.view_weights == tuple(model.views_["weight"])
    assert result.n_iter == model.n_iter_
    assert 0 < result.fit_seconds < result.seconds


def test_methods_that_do_not_accept_missing_views_fail_with_the_reason():
    incomplete = MadeData(n_clusters=K, missing=0.2)
    assert run(data=incomplete, runs=1).status == "done"
    result = run("amgl", data=incomplete, runs=1)
    assert result.status == "failed"
    assert "every view" in result.reason
