"""AutoDALMC models outlive their process as DALMC models do."""

import json
from copy import copy, deepcopy
from dataclasses import replace
from io import BytesIO
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from test_persistence import (
    BAD_VALUES,
    error_of,
    forge,
    forge_document,
    members_of,
    npy_bytes,
    patterns,
    round_trip,
    same,
    same_models,
    write_version_1,
)

import anchorview
from anchorview import AutoDALMC, make_multiview
from anchorview.estimators.auto import candidates
from anchorview.estimators.persistence import saving
from anchorview.estimators.persistence.model_file import read_model_file
from anchorview.estimators.persistence.saving import ModelFileError, load_model, save_model

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")


def made_views(n=90, widths=(6, 8), missing=0.0, seed=0):
    views, _ = make_multiview(
        n, n_clusters=3, n_features=widths, missing=missing, random_state=seed
    )
    return list(views.values())


def fitted(views, n_clusters=3, max_candidates=6, random_state=0):
    model = AutoDALMC(n_clusters, max_candidates=max_candidates, random_state=random_state)
    return without_gaps(model.fit(views))


def without_gaps(model):
    """Lay out an array as files do: without the entries of other runs between its own."""
    model._with_result = np.ascontiguousarray(model._with_result)
    return model


def with_failures(views):
    """Fit, without the settings of one family and one more."""
    solve = candidates.Form.solve

    def fail(form, setting, n_clusters):
        if setting.family == candidates.Family("unit-center") or setting.components == 4:
            raise ValueError(f"no luck with „{setting.family}“\n")
        return solve(form, setting, n_clusters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates.Form, "solve", fail)
        with pytest.warns(UserWarning, match="of 8 candidates could not be fitted"):
            return fitted(views, max_candidates=8)


CASES = {
    "all candidates": lambda: (made_views(), fitted(made_views(), max_candidates=None)),
    "three candidates": lambda: (made_views(), fitted(made_views(), max_candidates=3)),
    "one candidate": lambda: (made_views(), fitted(made_views(), max_candidates=1)),
    "numbers of clusters": lambda: (repeated_views(), fitted(repeated_views(), [2, 3, 5, 40])),
    "any number": lambda: (made_views(), fitted(made_views(), None, max_candidates=2)),
    "single precision": lambda: (
        [view.astype(np.float32) for view in made_views()],
        fitted([view.astype(np.float32) for view in made_views()]),
    ),
    "incomplete": lambda: (made_views(missing=0.3), fitted(made_views(missing=0.3))),
    "sparse and constant": lambda: (unusual_views(), fitted(unusual_views())),
    "wide": lambda: (made_views(widths=(150, 5)), fitted(made_views(widths=(150, 5)))),
    "one view": lambda: (made_views()[:1], fitted(made_views()[:1], max_candidates=None)),
    "failures": lambda: (made_views(), with_failures(made_views())),
}


def repeated_views():
    """30 different samples, which cannot be 40 clusters."""
    return [np.repeat(view, 3, axis=0) for view in made_views(30)]


def unusual_views():
    first, second = made_views()
    first[:, 0] = 5  # A constant column has an infinite deviation.
    second[second < 0] = 0
    return [first, sparse.csr_array(second)]


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """Views and the model fitted on them."""
    return CASES[request.param]()


@pytest.fixture(scope="module")
def model():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "MAX_ITER", 2)
        return fitted(made_views(40, (3, 4)), [2, 3], max_candidates=4)


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "model.anchorview"
    model.save(path)
    return path


@pytest.fixture
def copied(model):
    """Return a model whose attributes a test may replace."""
    return copy(model)


def require_same_predictions(model, loaded, views):
    for method in ("transform", "predict", "predict_with_confidence", "candidate_labels"):
        assert same(getattr(model, method)(views), getattr(loaded, method)(views)), method


def test_round_trip(case, tmp_path):
    views, model = case
    loaded = round_trip(model, tmp_path)
    assert type(loaded) is AutoDALMC
    assert same(loaded.predict(views), model.labels_)
    assert same(loaded.predict_with_confidence(views)[1], model.confidence_)
    assert same(loaded.transform(views), model.embedding_)
    pd.testing.assert_frame_equal(loaded.candidates_, model.candidates_)
    widths = [view.shape[1] for view in views]
    require_same_predictions(model, loaded, views)
    for n in (70, 7):
        for some in patterns(made_views(n, widths, seed=1)):
            require_same_predictions(model, loaded, some)


def test_failures(tmp_path):
    model = with_failures(made_views())
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    failed = loaded.candidates_["error"] != ""
    assert failed.sum() == 3
    assert loaded.candidates_.loc[failed, "agreement"].isna().all()
    assert set(loaded.candidates_.loc[failed, "error"]) == set(model.candidates_["error"]) - {""}
    assert len(loaded.candidate_labels(made_views())) == (~failed).sum()


def test_curve(tmp_path):
    model = fitted(repeated_views(), [5, 2, 40, 3], max_candidates=2)
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m").curve_
    pd.testing.assert_series_equal(loaded, model.curve_)
    assert (loaded.name, loaded.index.name) == ("agreement", "n_clusters")
    assert loaded.index.tolist() == [2, 3, 5, 40]
    assert loaded.isna().tolist() == [False, False, False, True]


def test_families_are_shared(case, tmp_path):
    """Candidates of one family use one lift, in the file and after loading."""
    _, model = case
    model.save(tmp_path / "m")
    document = json.loads(members_of(tmp_path / "m")["anchorview.json"])
    assert len(document["families"]) == len({c.setting.family for c in model._candidates})
    assert len(document["candidates"]) == len(model._candidates)


def test_names_and_ids(tmp_path):
    first, second = made_views(40)
    ids = pd.Index([f"é{i}" for i in range(40)], name="cell")
    views = {"text": pd.DataFrame(first, index=ids), "画像": pd.DataFrame(second, index=ids)}
    loaded = round_trip(fitted(views, max_candidates=2), tmp_path)
    assert loaded.view_names_in_ == ("text", "画像")
    assert loaded.labels_series.index.equals(ids)
    frame = pd.DataFrame(first, columns=list("abcdef"))
    loaded = round_trip(fitted(frame, max_candidates=2), tmp_path)
    assert loaded.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"b": "B"}))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (3, 3),
        (np.int64(3), 3),
        (None, None),
        (range(2, 5), [2, 3, 4]),
        ((4, 2), [4, 2]),
        (np.array([2, 3]), [2, 3]),
    ],
)
def test_parameters(copied, tmp_path, given, expected):
    copied.set_params(n_clusters=given, random_state=np.random.RandomState(0), verbose=False)
    copied.save(tmp_path / "m")
    params = anchorview.load(tmp_path / "m").get_params()
    assert params == {
        "n_clusters": expected,
        "max_candidates": 4,
        "random_state": None,
        "verbose": False,
    }
    assert type(params["n_clusters"]) is type(expected)


def test_empty_clusters(copied, tmp_path):
    offsets = copied._consensus.offsets.copy()
    offsets[0] = -np.inf
    copied._consensus = replace(copied._consensus, offsets=offsets)
    loaded = round_trip(copied, tmp_path)
    require_same_predictions(copied, loaded, made_views(40, (3, 4)))
    assert 0 not in loaded.predict(made_views(40, (3, 4)))


def test_loaded_model_can_be_fitted_again(saved):
    views = made_views(60)
    again = load_model(saved).set_params(n_clusters=3).fit(views)
    assert same(again.labels_, fitted(views, max_candidates=4).labels_)


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        AutoDALMC(3).save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "params",
    [
        {"n_clusters": 1},
        {"n_clusters": [1, 2]},
        {"n_clusters": []},
        {"n_clusters": ["2", "3"]},
        {"n_clusters": [2, float("inf")]},
        {"max_candidates": 0},
        {"verbose": "loud"},
    ],
)
def test_parameters_that_could_not_be_loaded_are_not_saved(copied, tmp_path, params):
    with pytest.raises(ValueError, match=r"cannot be saved: .* Fit it again\."):
        copied.set_params(**params).save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_clusters_", 99), ("best_candidate_", 4), ("_families", {}), ("_candidates", [])],
)
def test_models_that_contradict_themselves_are_not_saved(copied, tmp_path, name, value):
    setattr(copied, name, value)
    with pytest.raises(ValueError, match="cannot be saved"):
        copied.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


# Files made to deceive: their checksums are right.


def test_the_estimator_is_not_taken_for_another(model, saved):
    forge(saved, members_of(saved))
    assert same_models(load_model(saved), model)
    forge_document(saved, lambda d: d.update(estimator="DALMC"))
    assert "no fields" in error_of(saved)
    write_version_1(saved, model)
    assert "no fields" in error_of(saved)


def test_documents_with_any_value_replaced(saved, monkeypatch):
    document, arrays = read_model_file(saved)
    document["failed"] = [
        {
            "scaling": "unit-center",
            "n_landmarks": None,
            "anchors": 1,
            "components": 2,
            "beta": 0.1,
            "error": "none",
        }
    ]
    paths = [(key,) for key in document]
    paths += [("params", name) for name in document["params"]]
    paths += [("curve", name) for name in document["curve"]]
    for name in ("families", "candidates", "failed"):
        paths += [(name, len(document[name]) - 1, field) for field in document[name][-1]]
    paths += [("families", 3, "lift_scalings", 0, "norm"), ("families", 0, "scalings", 0)]
    paths += [("curve", "n_clusters", 0), ("curve", "agreement", 0), ("n_features_per_view", 0)]
    monkeypatch.setattr(saving, "read_model_file", lambda _: (document, arrays))
    assert load_model(saved)._failed[0][1] == "none"
    refused = 0
    for (*outer, last), value in product(paths, BAD_VALUES):
        forged = inner = deepcopy(document)
        for key in outer:
            inner = inner[key]
        inner[last] = value
        # Reading the arrays anew each time would take most of the test's.
        monkeypatch.setattr(saving, "read_model_file", lambda _, d=forged: (d, arrays))
        try:
            load_model(saved)
        except ModelFileError:
            refused += 1
    assert refused > 0.85 * len(paths) * len(BAD_VALUES)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d["params"].update(beta=0.1), "parameter 'beta' is unknown"),
        (
            lambda d: d["params"].update(n_clusters=[1]),
            "numbers from 2 to n_samples // 2 = 20",
        ),
        (lambda d: d["params"].update(n_clusters=[[2]]), "'n_clusters' is of another kind"),
        (lambda d: d["params"].update(max_candidates=[2]), "'max_candidates' is of another kind"),
        (lambda d: d.update(more=1), "no fields"),
        (lambda d: d.update(view_names=["a"]), "one number a view"),
        (lambda d: d.update(feature_names=["a"]), "one name a feature"),
        (lambda d: d.update(sample_ids={"name": None, "labels": [1]}), "one id a sample"),
        (lambda d: d.update(n_features_per_view=[3]), "one number a view"),
        (lambda d: d.update(n_features_per_view=[4, 3]), "has the shape"),
        (lambda d: d.update(n_features_per_view=[3.0, 4]), "'n_features_per_view' is no such"),
        (lambda d: d.update(n_clusters=1), "'n_clusters' is no such number"),
        (lambda d: d.update(n_clusters=4), "'curve' is not over numbers of clusters"),
        (lambda d: d.update(n_clusters=4, curve=None), "'candidates/0/centroids' has the shape"),
        (lambda d: d["curve"].update(n_clusters=[3, 2]), "'curve' is not over numbers"),
        (lambda d: d["curve"].update(n_clusters=[2, 3, 4]), "one agreement a number"),
        (lambda d: d["curve"].update(agreement=[0.5, 1.5]), "'curve' is no such number"),
        (lambda d: d["curve"].update(agreement=[0.5, float("nan")]), "'curve' is no such number"),
        (lambda d: d.update(best_candidate=4), "'best_candidate' is no such number"),
        (lambda d: d.update(best_candidate=-1), "'best_candidate' is no such number"),
        (lambda d: d.update(families=d["families"][:3]), "a candidate's family is missing"),
        (lambda d: d.update(candidates=d["candidates"][:3]), "a family has no candidate"),
        (lambda d: d.update(candidates=[], families=[]), "a family has no candidate"),
        (lambda d: d["families"].append(d["families"][0]), "a family is there twice"),
        (lambda d: d["families"][0].update(scaling="zscore"), "a family's scaling is unknown"),
        (lambda d: d["families"][0].update(n_landmarks=9), "lifted by half"),
        (lambda d: d["families"][3].update(n_landmarks=None), "there twice"),
        (lambda d: d["families"][3].update(n_landmarks=9), "more landmarks than it says"),
        (lambda d: d["families"][3].update(lift_scalings=None), "lifted by half"),
        (lambda d: d["families"][3]["lift_scalings"].pop() and None, "one scaling a view"),
        (lambda d: d["families"][3]["scalings"].pop() and None, "one scaling a view"),
        (lambda d: d["families"][3]["scalings"][0].update(norm=-1.0), "norm is not positive"),
        (lambda d: d["candidates"][0].update(scaling="x"), "a family's scaling is unknown"),
        (lambda d: d["candidates"][0].update(anchors=0), "'anchors' is no such number"),
        (lambda d: d["candidates"][0].update(components=2**40), "'components' is no such number"),
        (lambda d: d["candidates"][0].update(beta=-0.1), "'beta' is no such number"),
        (lambda d: d["candidates"][0].update(seconds=-1.0), "'seconds' is no such number"),
        (lambda d: d["candidates"][0].update(inertia=1e999), "'inertia' is no such number"),
        (lambda d: d["candidates"][0].update(stability=1.0), "no fields"),
        (lambda d: d["candidates"][0].update(normalize=1), "'normalize' is of another kind"),
        (lambda d: d["failed"].append(d["candidates"][0]), "no fields"),
    ],
)
def test_documents_that_contradict(saved, change, reason):
    forge_document(saved, change)
    assert reason in error_of(saved)


def unlike(array):
    """Agreement that is not mutual."""
    array[0, 1] /= 2
    return array


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("labels", lambda a: a + 3, "clusters that are not there"),
        ("labels", lambda a: a[:-1], "'labels' has the shape"),
        ("confidence", lambda a: a + 1, "not between 0 and 1"),
        ("confidence", lambda a: a[:-1], "'confidence' has the shape"),
        ("embedding", lambda a: a[:, 1:], "'embedding' has the shape"),
        ("embedding", lambda a: a * np.nan, "'embedding' contains NaN"),
        ("view_weights", lambda a: a / 2, "'view_weights' is no share"),
        ("view_agreement", lambda a: a + 3, "'view_agreement' has entries"),
        ("agreement", lambda a: a[1:, 1:], "'agreement' has the shape"),
        ("agreement", unlike, "'agreement' is not mutual"),
        ("agreement", lambda a: a - 3, "'agreement' has entries"),
        ("agreement_with_result", lambda a: a[1:], "'agreement_with_result' has the shape"),
        ("agreement_with_result", lambda a: a - 3, "'agreement_with_result' has entries"),
        ("scores", lambda a: a[1:], "'scores' has the shape"),
        ("scores", lambda a: a + 3, "'scores' has entries"),
        ("scores", lambda a: a * np.nan, "'scores' contains NaN"),
        ("consensus/patterns", lambda a: a[0], "'consensus/patterns' has the shape"),
        ("consensus/patterns", lambda a: -a, "'consensus/patterns' has entries"),
        ("consensus/patterns", lambda a: a + np.inf, "'consensus/patterns' contains infinity"),
        ("consensus/offsets", lambda a: a + 1, "'consensus/offsets' are no offsets"),
        ("consensus/offsets", lambda a: a - np.inf, "'consensus/offsets' are no offsets"),
        ("consensus/offsets", lambda a: a * np.nan, "'consensus/offsets' contains NaN"),
        ("consensus/votes", lambda a: a + 3, "'consensus/votes' has entries"),
        ("consensus/votes", lambda a: a - 3, "'consensus/votes' has entries"),
        ("consensus/votes", lambda a: a.astype(float), "'consensus/votes' has the type float64"),
        ("consensus/weights", lambda a: 2 * a, "'consensus/weights' is no share"),
        ("families/3/lift/landmarks/0", lambda a: a[1:], "'families/3/lift/column_factors/0' has"),
        ("families/3/lift/landmarks/0", lambda a: a[:, 1:], "'families/3/lift/landmarks/0' has"),
        ("families/3/lift/column_factors/1", lambda a: -a - 1, "column_factors/1' has entries"),
        ("families/3/lift/center/0", lambda a: a[1:], "'families/3/lift/center/0' has the shape"),
        ("families/2/lift/deviation/0", lambda a: -a, "'deviation/0' is not positive"),
        ("families/0/center/0", lambda a: a[1:], "'families/0/center/0' has the shape"),
        ("candidates/1/centroids", lambda a: a[1:], "'candidates/1/centroids' has the shape"),
        ("candidates/1/centroids", lambda a: a[:, 1:], "'candidates/1/centroids' has the shape"),
        ("candidates/1/centroids", lambda a: a[:, :, 1:], "'candidates/1/start/to_graph/0' has"),
        ("candidates/1/view_weights", lambda a: a / 2, "'candidates/1/view_weights' is no share"),
        ("candidates/1/objective", lambda a: a[:1], "'candidates/1/steps/0/anchors/0' is unknown"),
        ("candidates/3/start/fill/1", lambda a: a[1:], "'candidates/3/start/fill/1' has the shape"),
        ("candidates/3/start/to_representation/0", lambda a: a[1:], "has the shape"),
        ("candidates/3/steps/0/bases/1", lambda a: a[1:], "'candidates/3/steps/0/bases/1' has"),
        ("candidates/3/steps/0/to_graph", lambda a: a * np.inf, "contains infinity"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_arrays_that_contradict(saved, name, change, reason):
    members = members_of(saved)
    array = np.load(BytesIO(members[f"{name}.npy"]))
    forge(saved, {**members, f"{name}.npy": npy_bytes(change(array))})
    assert reason in error_of(saved)


def test_members_that_do_not_belong(saved):
    members = members_of(saved)
    for name in ("more", "candidates/4/objective", "families/0/lift/landmarks/0", "centroids"):
        forge(saved, {**members, f"{name}.npy": members["labels.npy"]})
        assert "is unknown" in error_of(saved)
    # A scaling may lack these.
    needed = [name for name in members if "/center/" not in name and "/deviation/" not in name]
    assert len(needed) < len(members)
    for name in needed:
        forge(saved, {other: content for other, content in members.items() if other != name})
        error_of(saved)


def test_random_forgeries_within_members(saved):
    """Any bytes under a right checksum are an error or a model."""
    members = members_of(saved)
    rng = np.random.default_rng(0)
    names = [*members, *["anchorview.json"] * 100]
    loads = 0
    for name in names:
        forged = bytearray(members[name])
        for place in rng.integers(len(forged), size=rng.integers(1, 4)):
            forged[place] = rng.integers(256)
        forge(saved, {**members, name: bytes(forged)})
        try:
            loads += load_model(saved).labels_.shape == (40,)
        except ModelFileError:
            continue
    assert 0 < loads < len(names)
