"""Fitted models survive saving and loading, and files that contradict themselves are refused."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from anchorview import DALMC, AutoDALMC, load
from anchorview.estimators.auto.labeling import Clustering
from anchorview.estimators.partitions import coordinates
from helpers.data import clustered_views
from helpers.model_files import (
    document_of,
    error_of,
    forge_array,
    forge_document,
    members_of,
    require_same_predictions,
    round_trip,
    same,
)

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")


def listed_views(n=90, widths=(6, 8), seed=0, dtype=np.float64, **options):
    views, _ = clustered_views(n, 3, widths, seed=seed, **options)
    return [view.astype(dtype) for view in views.values()]


def unusual_views():
    first, second = listed_views()
    first[:, 0] = 5  # A constant column has an infinite deviation.
    second[second < 0] = 0
    return [first, sparse.csr_array(second)]


def repeated_views():
    """30 different samples, which cannot be 40 clusters."""
    return [np.repeat(view, 3, axis=0) for view in listed_views(30)]


@pytest.mark.parametrize(
    "model", [DALMC(3), DALMC(3, normalize_embedding=False), AutoDALMC(3, budget="fast")]
)
def test_models_with_changed_weights_say_so(tmp_path, model):
    views, path = listed_views(), tmp_path / "model.anchorview"
    model.set_params(random_state=0).fit(views).save(path)
    names = [name.removesuffix(".npy") for name in members_of(path) if "embedder/" in name]
    assert names
    for name in names:
        forge_array(path, name, lambda array: np.full_like(array, 1e300))
    with pytest.raises(ValueError, match="the model file was"):
        load(path).predict(views)


@pytest.mark.parametrize(
    ("solver", "dtype", "missing"),
    [("compressed", np.float64, 0.2), ("left", np.float32, 0.0), ("direct", np.float64, 0.0)],
)
def test_dalmc(tmp_path, missing, dtype, solver):
    views = listed_views(90, (5, 100, 6), dtype=dtype, missing=missing)
    model = DALMC(3, solver=solver, random_state=0).fit(views)
    loaded = round_trip(model, tmp_path)
    assert same(loaded.predict(views), model.labels_)
    assert same(loaded.transform(views, scale=False), model.embedding_)
    for found, expected in zip(loaded.projections_, model.projections_, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert str(loaded.plan_) == str(model.plan_)
    for n in (80, 3):
        require_same_predictions(model, loaded, listed_views(n, (5, 100, 6), seed=1))


@pytest.mark.parametrize(
    "params",
    [
        {"scaling": "none"},
        {"unit_norm": False},
        {"n_components": 1, "n_anchors": 1},
        {"view_importance": {"view_1": 4.0}},
        {"variant": "sampled-anchors"},
        {"variant": "box-graph"},
    ],
    ids=str,
)
def test_dalmc_with_other_parameters(tmp_path, params):
    views = unusual_views()
    model = DALMC(3, random_state=0, **params).fit(views)
    loaded = round_trip(model, tmp_path)
    assert hasattr(loaded, "predict") == ("variant" not in params)
    if hasattr(loaded, "predict"):
        require_same_predictions(model, loaded, views)


def test_partial_fit(tmp_path):
    views = listed_views()
    model = DALMC(3, scaling="zscore", random_state=0)
    for batch in (slice(0, 40), slice(40, 90)):
        model.partial_fit([view[batch] for view in views])
    loaded = round_trip(model, tmp_path)
    require_same_predictions(model, loaded, views)
    with pytest.raises(ValueError, match="loaded from a file"):
        loaded.partial_fit(views)


AUTO_CASES = {
    "all candidates": (listed_views, 3, "default"),
    "numbers of clusters": (repeated_views, [5, 2, 40, 3], "fast"),
    "single precision": (lambda: listed_views(dtype=np.float32), 3, "fast"),
    "incomplete": (lambda: listed_views(missing=0.3), 3, "fast"),
    "sparse and constant": (unusual_views, 3, "fast"),
    "wide and incomplete": (lambda: listed_views(widths=(5, 70), missing=0.3), 3, "fast"),
    "one view": (lambda: listed_views(widths=(6,)), 3, "fast"),
}


@pytest.mark.parametrize("case", AUTO_CASES)
def test_auto(case, tmp_path, set_constants):
    set_constants(coordinates, MAX_DIRECTIONS=10, FEW_SAMPLES=10)
    make_views, n_clusters, budget = AUTO_CASES[case]
    views = make_views()
    model = AutoDALMC(n_clusters, budget=budget, random_state=0).fit(views)
    loaded = round_trip(model, tmp_path)
    assert same(loaded.predict_with_confidence(views), (model.labels_, model.confidence_))
    embedding = loaded.transform(views, scale=False)
    if case == "single precision":
        # Maps are rounded before they are saved, and scaled after they are loaded.
        np.testing.assert_allclose(embedding, model.embedding_, rtol=0, atol=1e-6)
    else:
        assert same(embedding, model.transform(views, scale=False))
        # A fit multiplies by the maps of all levels at once, which rounds differently.
        np.testing.assert_allclose(embedding, model.embedding_, rtol=0, atol=1e-13)
    pd.testing.assert_frame_equal(loaded.candidates_, model.candidates_)
    wide = [view.shape[1] > 10 for view in views]
    for basis in loaded._families.bases.values():
        assert [view.directions is not None for view in basis.views] == wide
    for n in (70, 7):
        new = listed_views(n, [view.shape[1] for view in views], seed=1)
        require_same_predictions(model, loaded, new)


@pytest.mark.parametrize(
    ("fixture", "given", "expected"),
    [
        ("dalmc", {"n_clusters": np.int64(2)}, {"n_clusters": 2}),
        ("dalmc", {"n_components": np.array([2, 3])}, {"n_components": [2, 3]}),
        ("dalmc", {"beta": np.float32(0.5)}, {"beta": 0.5}),
        ("dalmc", {"normalize_embedding": np.bool_(True)}, {"normalize_embedding": True}),
        ("dalmc", {"random_state": np.random.RandomState(0)}, {"random_state": None}),
        (
            "auto",
            {"view_importance": {"view_0": np.float32(4)}},
            {"view_importance": {"view_0": 4.0}},
        ),
        ("auto", {"n_clusters": None}, {"n_clusters": None}),
        ("auto", {"n_clusters": range(4, 8)}, {"n_clusters": [4, 5, 6, 7]}),
        ("auto", {"n_clusters": (4, 2)}, {"n_clusters": [4, 2]}),
    ],
)
def test_parameters_of_other_types(request, tmp_path, fixture, given, expected):
    model = deepcopy(request.getfixturevalue(fixture)).set_params(**given)
    model.save(tmp_path / "m")
    params = load(tmp_path / "m").get_params()
    assert params == {**model.get_params(), **expected}
    assert all(type(params[name]) is type(value) for name, value in expected.items())


@pytest.mark.parametrize("model", [DALMC(3), AutoDALMC(3)])
def test_only_fitted_models_are_saved(tmp_path, model):
    with pytest.raises(ValueError, match="constant"):
        model.fit([np.ones((9, 3))])
    with pytest.raises(NotFittedError):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("fixture", "changes"),
    [
        ("dalmc", {"n_clusters": -1}),
        ("dalmc", {"beta": float("nan")}),
        ("dalmc", {"tol": dict}),
        ("auto", {"budget": "free"}),
        ("auto", {"verbose": "loud"}),
        ("auto", {"best_candidate_": 99}),
        ("auto", {"_clustering": Clustering([], None)}),
    ],
)
def test_models_that_could_not_be_loaded_are_not_saved(request, tmp_path, fixture, changes):
    model = deepcopy(request.getfixturevalue(fixture))
    vars(model).update(changes)
    with pytest.raises(ValueError, match=r"cannot be saved: .* Fit it again\."):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_parameters_newer_than_the_file_have_their_defaults(saved):
    params = document_of(members_of(saved))["params"]
    del params["n_init"]
    forge_document(saved, {"params": params})
    assert load(saved).n_init == DALMC().n_init


@pytest.mark.parametrize(
    ("fixture", "changes", "reason"),
    [
        ("saved", {"more": 1}, "'more' is unknown"),
        ("saved", {"params/__class__": "x"}, "parameter '__class__' is unknown"),
        ("saved_auto", {"state/_clustering/candidates/0/embedder/maps": []}, "is unknown"),
        ("saved", {"state/plan_/route": "elsewhere"}, "'state/plan_/route' is not one of"),
        ("saved_auto", {"params/budget": [2]}, "'budget' parameter"),
        ("saved_auto", {"state/best_candidate_": 10}, "'best_candidate_' is unknown"),
        ("saved_auto", {"state/levels_/dtypes": ["complex"]}, "is not one of"),
    ],
)
def test_documents_that_contradict_themselves(request, fixture, changes, reason):
    path = request.getfixturevalue(fixture)
    forge_document(path, changes)
    assert reason in error_of(path)
