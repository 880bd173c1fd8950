"""The estimator's contract: what users of scikit-learn and of several views rely on."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anchorview import DALMC, MultiViewData, load, make_multiview
from anchorview._utils import memory
from anchorview.core import cost_model
from anchorview.estimators import dalmc
from anchorview.metrics import clustering_accuracy
from helpers.problems import problems

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")


@pytest.fixture(scope="module")
def made():
    return make_multiview(400, n_clusters=4, random_state=0)


def test_digits_by_default(digits):
    views, y = digits
    model = DALMC(n_clusters=10, random_state=0).fit(views)
    assert clustering_accuracy(y, model.labels_) > 0.9
    assert (np.diff(model.objective_) <= 1e-10 * np.abs(model.objective_[1:])).all()
    assert model.embedding_.shape == (2000, 10)
    embedding = model.embedding_.astype(np.float64)
    np.testing.assert_allclose(embedding.T @ embedding, np.eye(10), atol=1e-4)
    # At most half of the rank.
    assert model.n_components_ == [20, 20, 20, 20, 20, 3]
    model = DALMC(10, n_components=[20, 10, 20, 10, 20, 5], random_state=0).fit(views)
    assert model.n_components_ == [20, 10, 20, 10, 20, 5]


@settings(max_examples=20)
@given(problem=problems())
def test_predict_and_transform_reproduce_the_fit(problem):
    model = DALMC(problem.n_clusters, n_init=2, random_state=0)
    labels = model.fit_predict(problem.views)
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_array_equal(model.predict(problem.views), labels)
    np.testing.assert_array_equal(model.transform(problem.views, scale=False), model.embedding_)
    orthonormal = model.embedding_.T @ model.embedding_
    np.testing.assert_allclose(orthonormal, np.eye(len(orthonormal)), atol=1e-8)
    for A in model.anchors_:
        A = A if A.shape[0] >= A.shape[1] else A.T
        np.testing.assert_allclose(A.T @ A, np.eye(A.shape[1]), atol=1e-8)
    np.testing.assert_array_equal(clone(model).fit_predict(problem.views), labels)


def test_views_are_matched_by_name_else_by_position(made):
    views, _ = made
    model = DALMC(4, random_state=0).fit(views)
    turned = dict(reversed(views.items()))
    np.testing.assert_array_equal(model.predict(turned), model.labels_)
    np.testing.assert_array_equal(model.predict(list(views.values())), model.labels_)
    assert len(model.predict({"view_0": views["view_0"]})) == 400
    with pytest.raises(ValueError, match="'other' is unknown"):
        model.predict({"other" if name == "view_0" else name: v for name, v in views.items()})
    with pytest.raises(ValueError, match="Got 2 view"):
        model.predict([views["view_0"], views["view_1"]])
    with pytest.raises(ValueError, match="view 1 has 19 features"):
        model.predict([views["view_0"], views["view_1"][:, :19], views["view_2"]])
    with pytest.raises(NotFittedError):
        DALMC(4).predict(views)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_a_narrow_noise_view_does_not_take_over(width, seed):
    # A basis with as many columns as the view has rank explains all of it, and would weigh most.
    views, y = make_multiview(600, n_clusters=3, separation=4, random_state=seed)
    noise = np.random.default_rng(seed).standard_normal((600, width))
    model = DALMC(3, random_state=0).fit([*views.values(), noise])
    assert model.views_["weight"].iloc[-1] < 0.6
    assert clustering_accuracy(y, model.labels_) > 0.9


def test_refits_forget_and_failed_state_is_told():
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=list("abc"))
    model = DALMC(2, random_state=0).fit(X)
    model.fit([X.to_numpy(), X.to_numpy()[:, :2]])
    assert not hasattr(model, "feature_names_in_")
    model.set_params(variant="box-graph").fit(X)
    assert not hasattr(model, "projections_")
    assert not hasattr(model.set_params(variant="dalmc"), "predict")


def test_views_that_vanish_or_overflow_are_named():
    rng = np.random.default_rng(0)
    good, parallel = rng.standard_normal((200, 5)), rng.uniform(1, 2, (200, 1))
    huge = good * np.array([1, 1, 1e200, 1, 1])
    for solver in ("compressed", "direct"):
        with pytest.raises(ValueError, match="view 1 is zero after scaling"):
            DALMC(2, scaling="unit-center", solver=solver).fit([good, parallel])
        with pytest.raises(ValueError, match=r"view 1 has .* too large to be squared"):
            DALMC(2, solver=solver).fit([good, huge])
        single = (good * np.array([1, 1, 1e30, 1, 1])).astype(np.float32)
        with pytest.raises(ValueError, match="view 0 overflows"), np.errstate(over="ignore"):
            DALMC(2, scaling="none", unit_norm=False, solver=solver).fit([single])


def test_scikit_learn_can_split_search_and_pipe(made):
    views, y = made
    data = MultiViewData(views)
    search = GridSearchCV(
        DALMC(4, n_init=2, random_state=0),
        {"beta": [0.01, 1]},
        scoring=lambda model, X, y: clustering_accuracy(y, model.predict(X)),
        cv=3,
    ).fit(data, y)
    assert search.best_score_ > 0.9
    piped = make_pipeline(StandardScaler(), DALMC(4, random_state=0))
    assert len(piped.fit_predict(views["view_0"])) == 400
    frame = DALMC(4, random_state=0).set_output(transform="pandas").fit_transform(views)
    assert list(frame.columns) == [f"dalmc{i}" for i in range(4)]


@pytest.mark.parametrize("variant", ["sampled-anchors", "box-graph"])
def test_ablations_cluster_but_do_not_predict(made, variant):
    views, y = made
    model = DALMC(4, variant=variant, random_state=0).fit(views)
    assert clustering_accuracy(y, model.labels_) > 0.6
    assert model.plan_.route == "direct"
    assert not hasattr(model, "predict")
    with pytest.raises(AttributeError, match="has no attribute 'transform'") as error:
        model.transform(views)
    assert "cannot embed new samples" in str(error.value.__cause__)
    with pytest.raises(ValueError, match="use solver='direct'"):
        DALMC(4, variant=variant, solver="compressed").fit(views)


BAD_SETTINGS = {
    "one cluster": ({"n_clusters": 1}, "n_clusters"),
    "too many clusters": ({"n_clusters": 401}, "n_samples=400 should be >= n_clusters=401"),
    "negative beta": ({"beta": -0.1}, "beta"),
    "unknown scaling": ({"scaling": "minmax"}, "scaling"),
    "no iterations": ({"max_iter": 0}, "max_iter"),
    "components past every view": ({"n_components": 41}, "n_components=41 .* at most 40"),
    "components past one view": ({"n_components": [5, 31, 5]}, "n_components=31 for view 1"),
    "components that are not whole": ({"n_components": [2.9, 3.1, 2.0]}, "whole numbers"),
    "components for other views": ({"n_components": [5, 5]}, "2 entries for 3 views"),
    "anchors past the data": ({"n_anchors": 91}, "n_anchors=91 .* at most 90"),
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_bad_settings_are_refused_before_work_starts(case, made, monkeypatch):
    parameters, message = BAD_SETTINGS[case]
    monkeypatch.setattr(dalmc, "fit_scalings", None)
    with pytest.raises(ValueError, match=message):
        DALMC(**{"n_clusters": 4} | parameters).fit(made[0])


def test_sizes_past_the_rank_are_refused(made):
    rng = np.random.default_rng(0)
    low_rank = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 10))
    with pytest.raises(ValueError, match="n_components=4 for view 1 is larger than its rank 3"):
        DALMC(4, n_components=[5, 4]).fit([made[0]["view_0"], low_rank])
    with pytest.raises(ValueError, match=r"n_anchors=30 .* add up to 12"):
        DALMC(4, n_anchors=30, n_components=[8, 4]).fit([made[0]["view_0"], made[0]["view_1"]])


def test_free_memory_is_read_once(made, set_constants):
    """Fault S13: a second reading allowed what the first one did not, by another route."""
    readings = iter([1000.0, 1e12, 1e12])
    set_constants(cost_model, free_memory=lambda: next(readings))
    with pytest.raises(MemoryError, match="solver='direct'"):
        DALMC(4, solver="direct").fit(made[0])


def test_memory_is_stated_and_no_square_matrix_over_samples_needed(made, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(memory, "available_memory", lambda: 1000.0)
        with pytest.raises(MemoryError, match=r"needs .* beyond the data, but 1 kB"):
            DALMC(4).fit(made[0])
    views, _ = make_multiview(20_000, n_clusters=3, n_features=(5, 6), random_state=0)
    tracemalloc.start()
    DALMC(3, n_init=1, random_state=0).fit(views)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # n x n would be 3.2 GB


def test_the_cost_model_follows_the_shape():
    rng = np.random.default_rng(0)

    def route(*shapes):
        views = [rng.standard_normal(shape) for shape in shapes]
        return DALMC(2, n_init=1, random_state=0).fit(views).plan_.route

    assert route((2000, 20), (2000, 30)) == "compressed"
    assert route((40, 900), (40, 700)) == "left"
    wide = sparse.random_array((800, 4000), density=0.002, random_state=rng, format="csr")
    model = DALMC(2, n_init=1, random_state=0).fit([wide, rng.standard_normal((800, 30))])
    assert model.plan_.route in ("left", "direct")


@pytest.mark.parametrize("seed", range(3))
def test_a_small_distant_group_is_found_without_unit_norms(seed):
    rng = np.random.default_rng(seed)
    rare = np.arange(400) < 20
    views = []
    for width in (10, 15):
        direction = rng.standard_normal(width)
        direction *= 7 / np.linalg.norm(direction)
        views.append(rng.standard_normal((400, width)) + np.outer(rare, direction))
    model = DALMC(2, scaling="zscore", normalize_embedding=False, random_state=0).fit(views)
    assert adjusted_rand_score(rare, model.labels_) > 0.95


def test_history_has_the_objective_and_the_weights_of_each_iteration(tmp_path):
    views, _ = make_multiview(90, n_clusters=3, random_state=0)
    parameters = {"n_clusters": 3, "init": "random", "random_state": 0}
    model = DALMC(**parameters).fit(views)
    history = model.history_
    assert history.index.tolist() == list(range(1, model.n_iter_ + 1))
    np.testing.assert_array_equal(history["objective"], model.objective_)
    np.testing.assert_array_equal(history["weight"].iloc[-1], model.views_["weight"])
    earlier = DALMC(**parameters, max_iter=2).fit(views)
    np.testing.assert_allclose(earlier.views_["weight"], history["weight"].loc[2], rtol=1e-9)
    model.save(tmp_path / "model.anchorview")
    pd.testing.assert_frame_equal(load(tmp_path / "model.anchorview").history_, history)
