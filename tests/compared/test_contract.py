"""What every compared method promises, whatever it does inside."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from anchorview import MultiViewData, make_multiview
from anchorview._utils.progress import listen_to_progress
from anchorview.estimators.methods import METHODS, method_class

COMPARED = [name for name in METHODS if name not in ("auto", "dalmc")]
QUICK = {name: {"n_init": 3} for name in ("awmvc", "fpmvs-cag", "opmc", "smvsc")}
REFILLED = {"bmvc", "omsc", "opmc", "uomvsc"}
"""Methods that refill emptied clusters; the others leave them to K-means."""

pytestmark = pytest.mark.parametrize("name", COMPARED)


def make(name, n_clusters=3, **settings):
    return method_class(name)(n_clusters, **{"random_state": 0, **QUICK.get(name, {}), **settings})


@pytest.fixture(scope="module")
def made():
    views, y = make_multiview(150, n_clusters=3, n_features=(12, 9, 7), random_state=0)
    return list(views.values()), y


def check(model, n, n_views):
    assert model.labels_.shape == (n,)
    assert model.labels_.dtype == np.int32
    assert model.labels_.min() >= 0
    assert model.labels_.max() < model.n_clusters
    assert model.view_weights_.shape == (n_views,)
    assert (model.view_weights_ >= 0).all()
    assert model.view_weights_.sum() == pytest.approx(1)
    assert model.objective_.shape == (model.n_iter_,)
    assert np.isfinite(model.objective_).all()
    if hasattr(model, "embedding_"):
        assert len(model.embedding_) == n
        assert np.isfinite(model.embedding_).all()


def test_clusters_that_are_there_are_found(name, toy):
    views, y = toy
    model = make(name).fit(views)
    check(model, len(y), 3)
    assert adjusted_rand_score(y, model.labels_) > 0.8


def test_input_is_left_alone_and_the_seed_decides(name, made):
    views, _ = made
    before = [view.copy() for view in views]
    model = make(name)
    first = model.fit(views)
    labels, objective = first.labels_, first.objective_
    for view, old in zip(views, before, strict=True):
        np.testing.assert_array_equal(view, old)
    again = clone(model).fit(views)
    np.testing.assert_array_equal(again.labels_, labels)
    np.testing.assert_array_equal(again.objective_, objective)
    np.testing.assert_array_equal(clone(model).fit_predict(views), labels)


def test_all_forms_of_input_give_the_same(name, made):
    views, _ = made
    expected = make(name).fit(views).labels_
    ids = [f"s{i}" for i in range(len(expected))]
    frames = {f"v{p}": pd.DataFrame(view, index=ids) for p, view in enumerate(views)}
    shuffled = dict(frames, v1=frames["v1"].iloc[::-1])
    for form in (tuple(views), frames, shuffled, MultiViewData(views)):
        model = make(name).fit(form)
        np.testing.assert_array_equal(model.labels_, expected)
    assert list(make(name).fit(frames).labels_series.index) == ids
    thin = [sparse.csr_array(view) for view in views]
    assert adjusted_rand_score(make(name).fit(thin).labels_, expected) > 0.95
    single = [view.astype(np.float32) for view in views]
    assert adjusted_rand_score(make(name).fit(single).labels_, expected) > 0.9
    check(make(name).fit(views[0]), len(expected), 1)


def test_integers_and_half_precision(name):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    counts = rng.poisson(2 + 6 * np.eye(3)[y].repeat(4, axis=1)).astype(np.uint8)
    half = (np.eye(3)[y].repeat(3, axis=1) + 0.2 * rng.random((120, 9))).astype(np.float16)
    check(make(name).fit([counts, half]), 120, 2)


def test_incomplete_samples_are_refused_by_name(name, made):
    views, _ = made
    holes = [view.copy() for view in views]
    holes[1][7] = np.nan
    with pytest.raises(ValueError, match=r"every sample, but sample 7 lacks view 1.*Use DALMC"):
        make(name).fit(holes)


def test_more_clusters_than_samples(name):
    with pytest.raises(ValueError, match="n_samples=4 should be >= n_clusters=5"):
        make(name, 5).fit(np.random.default_rng(0).random((4, 6)))


def test_memory_is_stated_before_it_runs_out(name, made, monkeypatch):
    class Nothing:
        available = 1000

    monkeypatch.setattr("anchorview._utils.memory.psutil.virtual_memory", Nothing)
    match = rf"{method_class(name).__name__} on .* needs .* beyond the data, but 1 kB are free"
    with pytest.raises(MemoryError, match=match):
        make(name).fit(made[0])


@pytest.mark.parametrize("kind", ["dense", "sparse", "many samples"])
def test_memory_stated_covers_what_is_used(name, kind):
    n, widths = (6000, (8, 5)) if kind == "many samples" else (1500, (60, 40))
    views, _ = make_multiview(n, n_clusters=4, n_features=widths, random_state=0)
    if kind == "sparse":
        views = {key: sparse.csr_array(np.maximum(view - 3, 0)) for key, view in views.items()}
    model = make(name, 4)
    stated = model._memory_needed(MultiViewData(views))
    tracemalloc.start()
    model.fit(views)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Interpreter objects aside, the statement is an upper bound, and not an idle one.
    assert used < stated + 5e6
    assert stated < 20 * used


def test_progress_is_reported(name, made):
    reports = []
    with listen_to_progress(lambda stage, done, total: reports.append((stage, done, total))):
        make(name).fit(made[0])
    assert any(total > 1 and 0 < done <= total for _, done, total in reports)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestHardData:
    """Where the authors' programs divide by zero or fail."""

    def test_constant_features(self, name, made):
        views, y = made
        odd = [
            np.hstack([view, np.full((len(y), 3), 4.0), np.zeros((len(y), 2))]) for view in views
        ]
        model = make(name).fit(odd)
        check(model, len(y), 3)
        assert adjusted_rand_score(y, model.labels_) > 0.5

    def test_fewer_features_than_clusters(self, name):
        views, y = make_multiview(200, n_clusters=6, n_features=(2, 1, 9), random_state=0)
        check(make(name, 6).fit(views), len(y), 3)

    def test_duplicates(self, name, made):
        views, y = made
        model = make(name).fit([np.repeat(view, 3, axis=0) for view in views])
        check(model, 3 * len(y), 3)

    def test_fewer_different_samples_than_clusters(self, name):
        rng = np.random.default_rng(0)
        rows = rng.integers(3, size=60)
        views = [rng.standard_normal((3, 5))[rows], rng.standard_normal((3, 4))[rows]]
        model = make(name, 5).fit(views)
        check(model, 60, 2)
        if name in REFILLED:
            assert np.bincount(model.labels_, minlength=5).min() > 0

    def test_as_many_clusters_as_samples(self, name):
        rng = np.random.default_rng(0)
        model = make(name, 6).fit([rng.random((6, 4)), rng.random((6, 3))])
        check(model, 6, 2)
        if name in REFILLED:
            assert sorted(model.labels_) == list(range(6))

    def test_very_few_samples(self, name):
        rng = np.random.default_rng(0)
        for n in (2, 3, 5, 8):
            check(make(name, 2).fit([rng.random((n, 4)), rng.random((n, 30))]), n, 2)

    def test_a_view_of_two_values(self, name, made):
        views, y = made
        flag = (np.arange(len(y)) % 2)[:, None]
        check(make(name).fit([*views, flag]), len(y), 4)

    def test_rows_of_zeros(self, name, made):
        views, y = made
        holes = [view.copy() for view in views]
        holes[0][:40] = 0
        holes[1][20:60] = 0
        check(make(name).fit(holes), len(y), 3)

    def test_huge_and_tiny_units(self, name, made):
        views, y = made
        scaled = [views[0] * 1e12, views[1] * 1e-9, views[2]]
        check(make(name).fit(scaled), len(y), 3)

    def test_a_view_twice(self, name, made):
        views, y = made
        check(make(name).fit([views[0], views[0]]), len(y), 2)
