from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from anchorview import MultiViewData, make_multiview
from anchorview.core.assign import assigned
from anchorview.estimators.methods import method_class
from anchorview.experiments.plan.jobs import METRICS, Job
from anchorview.experiments.run.job_worker import run_job, with_means, with_missing
from anchorview.metrics import clustering_scores

K = 5
NORMALIZED = {"dalmc": True, "amgl": False, "awmvc": True, "fpmvs-cag": True, "smvsc": True}


@dataclass(frozen=True)
class Made:
    """Clusters that overlap, so that runs differ."""

    settings: dict = field(default_factory=dict)
    name: str = "made"
    digest: str = "made"
    n_clusters: int = K

    def load(self):
        views, y = make_multiview(
            150, n_clusters=K, n_features=(8, 12), separation=2.5, random_state=1, **self.settings
        )
        return MultiViewData(views), y


def fitted(method, seed=0, **settings):
    views, _ = Made().load()
    return method_class(method)(K, random_state=seed, **settings).fit(views)


def scores_of(all_labels):
    _, y = Made().load()
    runs = [clustering_scores(y, labels) for labels in all_labels]
    return {metric: tuple(run[metric] for run in runs) for metric in METRICS}


@pytest.mark.parametrize("method", NORMALIZED)
def test_runs_are_single_kmeans_on_the_embedding_of_one_fit(method):
    result = run_job(Job("made", method, runs=6, seed=3), Made())
    model = fitted(method, seed=3)
    points = normalize(model.embedding_) if NORMALIZED[method] else model.embedding_
    expected = [KMeans(K, n_init=1, random_state=3 + run).fit_predict(points) for run in range(6)]
    assert result.status == "done", result.reason
    assert result.scores == scores_of(expected)
    # The graphs of the other two are so nearly one-hot that all runs agree.
    if method not in ("fpmvs-cag", "smvsc"):
        assert len(set(result.scores["ACC"])) > 1
    _, y = Made().load()
    assert result.own == clustering_scores(y, model.labels_)


@pytest.mark.parametrize("method", NORMALIZED)
def test_what_the_estimators_say_of_their_kmeans_is_what_they_do(method):
    model = fitted(method)
    _, labels = assigned(
        model.embedding_,
        K,
        method="kmeans",
        normalize=model.normalize_embedding,
        n_init=model.n_init,
        seed=model._seeds()[1],
    )
    np.testing.assert_array_equal(labels, model.labels_)


def test_rows_are_taken_as_they_are_if_the_settings_say_so():
    settings = {"normalize_embedding": False}
    result = run_job(Job.of("made", "dalmc", settings, runs=3), Made())
    points = fitted("dalmc", normalize_embedding=False).embedding_
    expected = [KMeans(K, n_init=1, random_state=run).fit_predict(points) for run in range(3)]
    assert result.scores == scores_of(expected)


@pytest.mark.parametrize("method", ["bmvc", "opmc", "uomvsc"])
def test_methods_with_starts_of_their_own_are_fitted_anew_from_one(method):
    result = run_job(Job("made", method, runs=3, seed=1), Made())
    expected = [fitted(method, seed=1 + run, n_init=1).labels_ for run in range(3)]
    assert result.scores == scores_of(expected)
    _, y = Made().load()
    assert result.own == clustering_scores(y, fitted(method, seed=1).labels_)


def test_omsc_is_random_only_where_its_start_is():
    random = run_job(Job("made", "omsc", runs=3), Made())
    assert random.scores == scores_of([fitted("omsc", seed=run).labels_ for run in range(3)])
    fixed = run_job(Job.of("made", "omsc", {"init": "identity"}, runs=3), Made())
    assert fixed.scores == scores_of([fitted("omsc", init="identity").labels_] * 3)


def test_labels_without_kmeans_restarts_count_for_all_runs():
    result = run_job(Job.of("made", "dalmc", {"assignment": "cluster_qr"}, runs=3), Made())
    assert result.scores == scores_of([fitted("dalmc", assignment="cluster_qr").labels_] * 3)


def test_auto_is_fitted_once_for_four_runs():
    job = Job.of("made", "auto", {"max_candidates": 4}, runs=8)
    result = run_job(job, Made())
    expected = [fitted("auto", seed=seed, max_candidates=4).labels_ for seed in range(2)]
    assert result.scores == scores_of(expected)


def test_the_same_job_twice_gives_the_same():
    job = Job("made", "dalmc", missing=0.3, runs=4)
    first, second = (run_job(job, Made()) for _ in range(2))
    assert first.status == "done"
    assert (first.scores, first.own) == (second.scores, second.own)


def test_what_the_fit_tells_is_kept():
    result = run_job(Job("made", "dalmc", runs=1), Made())
    model = fitted("dalmc")
    assert result.objective == tuple(model.objective_)
    assert result.view_weights == tuple(model.view_weights_)
    assert result.n_iter == model.n_iter_
    assert 0 < result.fit_seconds < result.seconds


def test_what_is_impossible_has_a_reason_in_one_line():
    result = run_job(Job.of("made", "dalmc", {"n_anchors": 1000}), Made())
    assert result.status == "failed"
    assert result.reason.startswith("ValueError: n_anchors=1000")
    assert "\n" not in result.reason
    assert result.scores == {}


def test_lack_of_memory_is_a_status():
    class Huge(Made):
        def load(self):
            raise MemoryError("Unable to allocate\n9 GiB")

    result = run_job(Job("made", "dalmc"), Huge())
    assert (result.status, result.reason) == ("memory", "Unable to allocate 9 GiB")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_entries_are_removed_at_random_but_one_of_each_sample(share):
    data, _ = Made().load()
    removed = with_missing(data, share, seed=0)
    assert removed.available.any(axis=1).all()
    assert (~removed.available).mean() == pytest.approx(min(share, 0.5), abs=0.01)
    np.testing.assert_array_equal(removed.available, with_missing(data, share, 0).available)
    if share < 0.5:
        assert (removed.available != with_missing(data, share, 1).available).any()


def test_means_fill_what_is_missing():
    data, _ = Made().load()
    removed = with_missing(data, 0.4, seed=0)
    filled = with_means(removed)
    assert filled.available is None
    assert filled.names == data.names
    for view, has, full in zip(data.views, removed.available.T, filled.views, strict=True):
        expected = pd.DataFrame(np.where(has[:, None], view, np.nan))
        np.testing.assert_allclose(full, expected.fillna(expected.mean()), atol=1e-12)


def test_means_fill_sparse_and_integer_views():
    counts = np.array([[1, 2], [2, 3], [9, 9]])
    available = [[True, True], [True, True], [False, True]]
    data = MultiViewData([sparse.csr_array(counts), counts], available=available)
    np.testing.assert_allclose(with_means(data).views[0], [[1, 2], [2, 3], [1.5, 2.5]])


def test_a_compared_method_runs_on_filled_data_only():
    without = run_job(Job("made", "amgl", missing=0.3, runs=1), Made())
    assert without.status == "failed"
    assert "needs every view" in without.reason
    assert run_job(Job("made", "amgl", missing=0.3, impute=True, runs=1), Made()).status == "done"


def test_nothing_is_removed_from_incomplete_data():
    incomplete = Made({"missing": 0.2})
    assert run_job(Job("made", "dalmc", runs=1), incomplete).status == "done"
    result = run_job(Job("made", "dalmc", missing=0.2, runs=1), incomplete)
    assert (result.status, "lacks some already" in result.reason) == ("failed", True)
