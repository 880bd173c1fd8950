"""Models outlive their process: files hold all of them, and bad files never pass for models."""

import json
import os
import pickle
import sys
import zipfile
from hashlib import sha256
from io import BytesIO
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from anchorview import DALMC
from anchorview import __version__ as this_version
from anchorview._utils.errors import OutputFileError
from anchorview.core.cost_model import Plan
from anchorview.estimators.persistence import model_file
from anchorview.estimators.persistence.saving import ModelFileError, load_model, save_model
from anchorview.estimators.persistence.storing import stored
from helpers.problems import problems

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")

ARCHIVED = Path(__file__).parent / "data" / "model_v1.anchorview"
ARCHIVED_CASE = ARCHIVED.with_name("model_v1_case.npz")


def made_views(n=60, widths=(5, 7, 6), seed=0, incomplete=False):
    rng = np.random.default_rng(seed)
    latent = 3 * rng.standard_normal((3, 4))[rng.integers(3, size=n)]
    views = [latent @ rng.standard_normal((4, d)) + rng.standard_normal((n, d)) for d in widths]
    if incomplete:
        for row in range(0, n, 3):
            views[row % len(views)][row] = np.nan
    return views


def write_archived_model():
    """Make the files of `test_archived_model`, of format version 1, as they were made.

    ``cd tests && python -c "import test_persistence as t; t.write_archived_model()"``
    """
    ARCHIVED.parent.mkdir(exist_ok=True)
    views = made_views(40, widths=(4, 5), incomplete=True)
    model = DALMC(3, n_components=2, random_state=0).fit(dict(zip("ab", views, strict=True)))
    write_version_1(ARCHIVED, model)
    np.savez_compressed(
        ARCHIVED_CASE, a=views[0], b=views[1], labels=model.labels_, embedding=model.embedding_
    )


def patterns(views):
    """Yield the samples with every combination of views."""
    for has in product([True, False], repeat=len(views)):
        if any(has):
            yield [view if there else None for view, there in zip(views, has, strict=True)]


def layout(array):
    """Strides of an array; along an axis of length 1 they mean nothing."""
    return [step for step, size in zip(array.strides, array.shape, strict=True) if size > 1]


def same(a, b):
    """Whether two values are equal, arrays bit by bit and in their layout."""
    if isinstance(a, np.ndarray):
        return (
            type(b) is np.ndarray
            and a.dtype == b.dtype
            and a.shape == b.shape
            and layout(a) == layout(b)
            and (a.tobytes() == b.tobytes() if a.dtype.kind != "O" else a.tolist() == b.tolist())
        )
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Plan):
        return a == b  # Costs that are whole numbers become floats.
    if isinstance(a, dict):
        return type(b) is dict and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, pd.Index):
        return a.equals(b) and a.name == b.name
    if isinstance(a, pd.Series):
        return a.equals(b) and a.name == b.name and same(a.index, b.index)
    if isinstance(a, pd.DataFrame):
        return a.equals(b) and list(a) == list(b) and same(a.index, b.index)
    if type(a).__module__.startswith("anchorview"):
        return type(a) is type(b) and same_fields(vars(a), vars(b))
    return type(a) is type(b) and a == b


def same_fields(a, b):
    # Maps are made when they are first needed; sums of batches are not saved.
    unsaved = {"_maps", "_growing"}
    names = a.keys() - unsaved
    return names == b.keys() - unsaved and all(same(a[name], b[name]) for name in names)


def same_models(a, b):
    without_ids = {"sample_ids_": None}
    return same_fields({**without_ids, **vars(a)}, {**without_ids, **vars(b)})


def round_trip(model, folder):
    first, second = folder / "first.anchorview", folder / "second.anchorview"
    save_model(model, first)
    loaded = load_model(first)
    assert same_models(model, loaded)
    assert loaded.get_params() == model.get_params()
    assert clone(loaded).get_params() == model.get_params()
    save_model(loaded, str(second))
    assert first.read_bytes() == second.read_bytes()
    return loaded


def require_same_predictions(model, loaded, views):
    for some in patterns(views):
        assert same(model.transform(some), loaded.transform(some))
        assert same(model.predict(some), loaded.predict(some))


@pytest.fixture(scope="module")
def model():
    return DALMC(2, n_components=1, max_iter=2, tol=0, random_state=0).fit(made_views(12, (2, 3)))


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "model.anchorview"
    save_model(model, path)
    return path


@pytest.mark.parametrize("incomplete", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["compressed", "left", "direct"])
def test_round_trip(tmp_path, incomplete, dtype, solver):
    views = [view.astype(dtype) for view in made_views(90, (5, 100, 6), incomplete=incomplete)]
    model = DALMC(3, solver=solver, random_state=0).fit(views)
    loaded = round_trip(model, tmp_path)
    assert same(loaded.predict(views), model.labels_)
    assert same(loaded.transform(views), model.embedding_)
    assert same(loaded.projections_, model.projections_)
    assert str(loaded.plan_) == str(model.plan_)
    require_same_predictions(model, loaded, made_views(80, (5, 100, 6), seed=1))
    require_same_predictions(model, loaded, made_views(3, (5, 100, 6), seed=2))


@settings(max_examples=25)
@given(problem=problems())
def test_round_trip_of_any_problem(tmp_path_factory, problem):
    model = DALMC(problem.n_clusters, n_init=2, random_state=0).fit(problem.views)
    loaded = round_trip(model, tmp_path_factory.mktemp("models"))
    require_same_predictions(model, loaded, problem.views)


@pytest.mark.parametrize("scaling", ["zscore-unit", "unit-center", "zscore", "unit", "none"])
@pytest.mark.parametrize("unit_norm", [False, True])
def test_round_trip_of_scalings_and_sparse_views(tmp_path, scaling, unit_norm):
    first, second, _ = made_views()
    second[second < 0] = 0
    first[:, 0] = 5  # A constant column has an infinite deviation.
    views = [first, sparse.csr_array(second)]
    model = DALMC(3, scaling=scaling, unit_norm=unit_norm, random_state=0).fit(views)
    require_same_predictions(model, round_trip(model, tmp_path), views)


@pytest.mark.parametrize("variant", ["sampled-anchors", "box-graph"])
def test_round_trip_of_ablations(tmp_path, variant):
    model = DALMC(3, variant=variant, random_state=0).fit(made_views())
    loaded = round_trip(model, tmp_path)
    assert not hasattr(loaded, "predict")


def test_round_trip_of_single_components(tmp_path):
    views = made_views()
    model = DALMC(3, n_components=1, n_anchors=1, random_state=0).fit(views)
    require_same_predictions(model, round_trip(model, tmp_path), views)


def test_round_trip_of_grown_models(tmp_path):
    views = made_views()
    model = DALMC(3, scaling="zscore", random_state=0)
    for batch in (slice(0, 40), slice(40, 60)):
        model.partial_fit([view[batch] for view in views])
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert same(loaded.labels_, model.labels_)
    require_same_predictions(model, loaded, views)


def test_round_trip_of_names(tmp_path):
    frame = pd.DataFrame(made_views()[0], columns=["ä", "b", "c", "d", "e"])
    loaded = round_trip(DALMC(3, random_state=0).fit(frame), tmp_path)
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"b": "B"}))
    named = dict(zip(["text", "画像", "c"], made_views(), strict=True))
    loaded = round_trip(DALMC(3, random_state=0).fit(named), tmp_path)
    assert loaded.view_names_in_ == tuple(named)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (None, None),
        (pd.RangeIndex(12), list(range(12))),
        (pd.Index([f"é{i}" for i in range(12)], name="cell"), [f"é{i}" for i in range(12)]),
        (pd.Index([*range(11), "last"], dtype=object), [*range(11), "last"]),
        (pd.Index(np.arange(12) / 2, name=7), [str(i / 2) for i in range(12)]),
    ],
)
def test_sample_ids(model, tmp_path, ids, expected):
    model = pickle.loads(pickle.dumps(model))
    model.sample_ids_ = ids
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m").sample_ids_
    if expected is None:
        assert loaded is None
    else:
        assert loaded.tolist() == expected
        assert loaded.name == (ids.name if isinstance(ids.name, str) else None)


def test_parameters_of_other_types(tmp_path):
    views = made_views()
    model = DALMC(
        np.int64(3),
        n_components=np.array([2, 3, 2]),
        beta=np.float32(0.1),
        normalize_embedding=np.bool_(True),
        random_state=np.random.RandomState(0),
    ).fit(views)
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    params = loaded.get_params()
    assert (params["n_clusters"], params["n_components"]) == (3, [2, 3, 2])
    assert params["beta"] == np.float32(0.1)
    assert params["normalize_embedding"] is True
    assert params["random_state"] is None
    require_same_predictions(model, loaded, views)


def test_loaded_model_can_be_fitted_again(saved):
    views = made_views()
    loaded = load_model(saved).set_params(n_clusters=3, n_components=None).fit(views)
    assert same(loaded.predict(views), loaded.labels_)
    loaded.embedding_[0] = 0


def test_only_fitted_models_are_saved(tmp_path):
    model = DALMC(3)
    with pytest.raises(NotFittedError):
        save_model(model, tmp_path / "m")
    with pytest.raises(ValueError, match="constant"):
        model.fit([np.ones((9, 3))])
    with pytest.raises(NotFittedError):
        save_model(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "params", [{"variant": "box-graph"}, {"n_clusters": -1}, {"beta": float("nan")}, {"tol": dict}]
)
def test_what_could_not_be_loaded_is_not_saved(model, tmp_path, params):
    changed = pickle.loads(pickle.dumps(model)).set_params(**params)
    with pytest.raises(ValueError, match=r"cannot be saved: .* Fit it again\."):
        save_model(changed, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_file_that_exists_is_replaced_whole_or_not_at_all(model, saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OutputFileError, match="No space left"):
        patch.setattr(os, "fsync", full)
        save_model(model, saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    saved.write_bytes(b"something else")
    save_model(model, saved)
    assert saved.read_bytes() == before
    with pytest.raises(OutputFileError, match="there is no folder"):
        save_model(model, saved.parent / "nowhere" / "m")
    with pytest.raises(OutputFileError, match="is a folder"):
        save_model(model, saved.parent)


def test_archived_model():
    loaded = load_model(ARCHIVED)
    with np.load(ARCHIVED_CASE) as case:
        views = {"a": case["a"], "b": case["b"]}
        np.testing.assert_array_equal(loaded.labels_, case["labels"])
        np.testing.assert_array_equal(loaded.predict(views), case["labels"])
        np.testing.assert_allclose(loaded.transform(views), case["embedding"], atol=1e-12)
    assert ARCHIVED.stat().st_size < 60_000


# Files that are not what was written.


def error_of(path):
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 400
    return message


def test_not_a_model(tmp_path):
    assert "No such file" in error_of(tmp_path / "nothing")
    assert "not an anchorview model. Give a file made by save." in error_of(tmp_path)
    path = tmp_path / "m"
    for content in (b"", b"PK", b"hello", bytes(1000), b"PK\x03\x04" + bytes(1000)):
        path.write_bytes(content)
        assert "not an anchorview model" in error_of(path)
    np.savez(tmp_path / "views.npz", labels=np.arange(3))
    assert "not an anchorview model" in error_of(tmp_path / "views.npz")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert "not an anchorview model" in error_of(tmp_path / "pipe")


class Bomb:
    def __reduce__(self):
        return sys.exit, ("a pickle was run",)


def test_pickles_are_not_run(saved):
    objects = np.array([Bomb()], dtype=object)
    np.savez(saved.with_name("objects.npz"), labels=objects)
    assert "not an anchorview model" in error_of(saved.with_name("objects.npz"))
    members = members_of(saved)
    pickled = BytesIO()
    np.save(pickled, objects, allow_pickle=True)
    members["labels.npy"] = pickled.getvalue()
    forge(saved, members)
    assert "'labels.npy' has the type object" in error_of(saved)
    members["labels.npy"] = pickle.dumps(Bomb())
    forge(saved, members)
    error_of(saved)


def test_every_flipped_byte_is_noticed(saved):
    content = saved.read_bytes()
    rng = np.random.default_rng(0)
    places = {*range(0, len(content), 53), *range(100), *range(len(content) - 100, len(content))}
    for place in sorted(places):
        flipped = bytearray(content)
        flipped[place] ^= int(rng.integers(1, 256))
        saved.write_bytes(flipped)
        error_of(saved)
    assert len(places) > 300
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    saved.write_bytes(flipped)
    assert "is damaged (its checksum does not match)" in error_of(saved)


def test_every_truncation_and_addition_is_noticed(saved):
    content = saved.read_bytes()
    for length in sorted({*range(0, len(content), 97), *range(len(content) - 100, len(content))}):
        saved.write_bytes(content[:length])
        error_of(saved)
    for more in (b"\0", content, bytes(64)):
        saved.write_bytes(content + more)
        error_of(saved)
        saved.write_bytes(more + content)
        error_of(saved)


# Files made to deceive: their checksums are right.


def seal(path, content):
    """Write an archive whose comment has room for the checksum, with the right one."""
    path.write_bytes(content[:-64] + sha256(content[:-64]).hexdigest().encode())


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def forge(path, members, compression=zipfile.ZIP_STORED):
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.comment = bytes(64)
        for name, content in members.items() if isinstance(members, dict) else members:
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    seal(path, stream.getvalue())


def forge_document(path, change):
    members = members_of(path)
    document = json.loads(members["anchorview.json"])
    document = change(document) or document
    forge(path, {**members, "anchorview.json": json.dumps(document).encode()})


def npy_bytes(array):
    stream = BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_forging_as_such_is_fine(model, saved):
    forge(saved, members_of(saved))
    assert same_models(load_model(saved), model)


def test_newer_versions(saved):
    forge_document(saved, lambda d: d.update(format_version=3, anchorview_version="9.1\n"))
    message = error_of(saved)
    assert "written by anchorview '9.1\\n' in a newer format (3;" in message
    assert this_version in message
    assert "Upgrade anchorview" in message
    forge_document(saved, lambda d: d.update(unheard_of=1))
    assert "Upgrade anchorview" in error_of(saved)


def write_version_1(path, model):
    """Write a model as the first version of the format did, which had one estimator only."""
    document, arrays = stored(model)
    del document["estimator"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_file, "FORMAT_VERSION", 1)
        model_file.write_model_file(path, document, arrays)


def test_version_1(model, saved):
    write_version_1(saved, model)
    assert same_models(load_model(saved), model)
    document = json.loads(members_of(saved)["anchorview.json"])
    assert document["format_version"] == 1
    assert "estimator" not in document
    forge_document(saved, lambda d: d.update(format_version=2))
    assert "its estimator is unknown" in error_of(saved)
    forge_document(saved, lambda d: d.update(format_version=1, estimator="DALMC"))
    assert "'estimator' is unknown to its version" in error_of(saved)


@pytest.mark.parametrize("name", ["", "dalmc", "AutoDALMC", "os.system", None, 1, ["DALMC"], {}])
def test_other_estimators(saved, name):
    forge_document(saved, lambda d: d.update(estimator=name))
    assert ("no fields" if name == "AutoDALMC" else "its estimator is unknown") in error_of(saved)


def test_parameters_newer_than_the_file_have_their_defaults(saved):
    forge_document(saved, lambda d: d["params"].pop("n_init") and None)
    assert load_model(saved).n_init == DALMC().n_init


@pytest.mark.parametrize("version", [None, 0, -1, True, 1.0, "1", [1]])
def test_versions_that_are_none(saved, version):
    forge_document(saved, lambda d: d.update(format_version=version))
    assert "its format has no version" in error_of(saved)


@pytest.mark.parametrize("document", [[], 3, {"format": "other"}, {"format": ["anchorview-model"]}])
def test_other_formats(saved, document):
    forge_document(saved, lambda _: document or [1])
    assert "not an anchorview model" in error_of(saved)


BAD_VALUES = [None, True, -1, 0, 1e999, float("nan"), 10**400, "x" * 9999, [], {}, [[1]], {"a": {}}]


def test_documents_with_any_value_replaced(saved):
    content = saved.read_bytes()
    document = json.loads(members_of(saved)["anchorview.json"])
    paths = [(key,) for key in document]
    paths += [(key, inner) for key in ("params", "plan") for inner in document[key]]
    paths += [("plan", "work", "direct"), ("scalings", 0, "norm"), ("scalings", 0, "unit_last")]
    paths += [("view_names", 0), ("scalings", 0)]
    refused = 0
    for place, value in product(paths, BAD_VALUES):

        def change(document, place=place, value=value):
            *outer, last = place
            for key in outer:
                document = document[key]
            document[last] = value

        saved.write_bytes(content)
        forge_document(saved, change)
        try:
            load_model(saved)
        except ModelFileError:
            refused += 1
    assert refused > 0.8 * len(paths) * len(BAD_VALUES)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d["params"].update(__class__="x"), "parameter '__class__' is unknown"),
        (lambda d: d["params"].update(n_components=[2, None]), "'n_components' is of another kind"),
        (lambda d: d["params"].update(variant="box-graph"), "fitted as another variant"),
        (lambda d: d.update(beta=None), "fitted as another variant"),
        (lambda d: d.update(beta=-1.0), "'beta' is not a weight"),
        (lambda d: d.update(view_names=["a", "a"]), "view_names"),
        (lambda d: d.update(view_names=["a"]), "'view_weights' has the shape"),
        (lambda d: d.update(view_names=["a", "b", "c"]), "'bases/2' is missing"),
        (lambda d: d.update(feature_names=["a"]), "one name a feature"),
        (lambda d: d.update(feature_names=[1, 2]), "'feature_names' are not strings"),
        (lambda d: d.update(sample_ids={"name": None, "labels": [1]}), "one id a sample"),
        (lambda d: d.update(sample_ids={"name": None, "labels": [1.5] * 12}), "an id is no"),
        (lambda d: d["scalings"].pop() and None, "one scaling a view"),
        (lambda d: d["scalings"][0].update(norm=0.0), "norm"),
        (lambda d: d["plan"].update(route="elsewhere"), "'plan' has other routes"),
        (lambda d: d["plan"]["work"].update(direct=-1.0), "'plan' has costs"),
        (lambda d: d.update(more=1), "no fields"),
    ],
)
def test_documents_that_contradict(saved, change, reason):
    forge_document(saved, change)
    assert reason in error_of(saved)


def test_documents_that_are_hard_to_parse(saved):
    members = members_of(saved)
    for document in (b"", b"[" * 10**6, b"\xff\xfe", b"1" * 5000, b'{"format": "anchorview-model"'):
        forge(saved, {**members, "anchorview.json": document})
        error_of(saved)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("labels", lambda a: a + 2, "clusters that are not there"),
        ("labels", lambda a: a - 1, "clusters that are not there"),
        ("labels", lambda a: a[:-1], "'labels' has the shape"),
        ("labels", lambda a: a.astype(np.int64), "has the type int64"),
        ("labels", lambda a: a.astype(float), "'labels' has the type float64"),
        ("labels", lambda a: np.array(["x"] * len(a)), "has the type <U1"),
        ("labels", lambda a: a.astype("M8[s]"), "has the type datetime64"),
        ("embedding", lambda a: a.astype(np.float16), "has the type float16"),
        ("embedding", lambda a: a.astype(">f8"), "has the type >f8"),
        ("embedding", lambda a: a.astype([("x", "f8")]), "has the type [('x'"),
        ("embedding", lambda a: a[:0], "'labels' has the shape (12,)"),
        ("embedding", lambda a: a[:, :, None], "has the shape"),
        ("embedding", lambda a: a * np.nan, "'embedding' contains NaN"),
        ("view_weights", lambda a: -a, "'view_weights' is no share"),
        ("view_weights", lambda a: a * 1e308, "'view_weights' is no share"),
        ("view_weights", lambda a: a / 2, "'view_weights' is no share"),
        ("centroids", lambda a: a * np.inf, "'centroids' contains infinity"),
        ("centroids", lambda a: a[:, :1], "'centroids' has the shape"),
        ("objective", lambda a: a[:-1], "'steps/1/anchors/0' is unknown"),
        ("objective", lambda a: np.zeros(10**6), "'steps/2/weights' is missing"),
        ("bases/1", lambda a: a[:-1], "has the shape"),
        ("center/0", lambda a: a[:-1], "'center/0' has the shape"),
        ("deviation/0", lambda a: 0 * a, "'deviation/0' is not positive"),
        ("deviation/0", lambda a: np.nan * a, "'deviation/0' contains NaN"),
        ("anchors/0", lambda a: a.T, "'anchors/0' has the shape"),
        ("start/fill/0", lambda a: a[:1], "'start/fill/0' has the shape"),
        ("start/to_representation/0", lambda a: a[:1], "'start/to_representation/0' has the shape"),
        ("steps/0/to_graph", lambda a: a[0], "'steps/0/to_graph' has the shape"),
        ("steps/1/bases/0", lambda a: a.astype(np.float32), "has the type float32"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_arrays_that_contradict(saved, name, change, reason):
    members = members_of(saved)
    array = np.load(BytesIO(members[f"{name}.npy"]))
    members[f"{name}.npy"] = npy_bytes(change(array))
    forge(saved, members)
    assert reason in error_of(saved)


HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }"


@pytest.mark.parametrize(
    "header",
    [
        HEADER % "(1000000000000,)",
        HEADER % "(1000000000000, 1000000000000, 1000000000000)",
        HEADER % "(0, 100000000000000000000000)",
        HEADER % "(-1, -12)",
        HEADER % "(-1,)",
        HEADER % "12",
        HEADER % "()",
        HEADER % "(12L,)",
        HEADER % ("(" * 60 + ")" * 60),
        HEADER % ("9" * 150),
        HEADER.replace("<f8", "|O") % "(12,)",
        HEADER.replace("<f8", "|V0") % "(12,)",
        HEADER.replace("<f8", "<U999999999") % "(12,)",
        HEADER.replace("<f8", "nonsense") % "(12,)",
        "'''",
        "[" * 200,
        "  1\n 2\n",
        "{" + " " * 20000 + "}",
        "\xff\xff",
    ],
)
@pytest.mark.parametrize("version", [b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x09"])
def test_headers_of_arrays_are_not_believed(saved, header, version):
    members = members_of(saved)
    text = header.encode("latin-1")
    length = len(text).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    members["labels.npy"] = b"\x93NUMPY" + version + length + text + bytes(8 * 12)
    forge(saved, members)
    error_of(saved)


def test_members_that_do_not_belong(saved):
    members = members_of(saved)
    for name in ("more.npy", "/labels.npy", "../labels.npy", "labels", "steps/9/weights.npy"):
        forge(saved, {**members, name: members["labels.npy"]})
        error_of(saved)
    for name in members:
        forge(saved, {other: content for other, content in members.items() if other != name})
        if not name.startswith(("center", "deviation")):
            error_of(saved)
    for name in ("labels.npy", "anchorview.json"):
        with pytest.warns(UserWarning, match="Duplicate name"):
            forge(saved, [*members.items(), (name, members[name])])
        assert "twice" in error_of(saved)


def test_compressed_members_are_refused(saved):
    members = members_of(saved)
    bomb = npy_bytes(np.zeros(10**6))
    forge(saved, {**members, "objective.npy": bomb}, zipfile.ZIP_DEFLATED)
    assert saved.stat().st_size < 50_000
    assert "is compressed" in error_of(saved)


def test_declared_sizes_are_not_believed(saved):
    """Change the sizes in the directory of the archive."""
    content = saved.read_bytes()
    entry = content.index(b"PK\x01\x02")
    for offset, size in product((20, 24), (0, 1, 10**6, 2**32 - 1)):
        forged = bytearray(content)
        forged[entry + offset : entry + offset + 4] = size.to_bytes(4, "little")
        seal(saved, bytes(forged))
        error_of(saved)
    for size in (10**6, 2**32 - 2):
        forged = bytearray(content)
        forged[entry + 20 : entry + 28] = 2 * size.to_bytes(4, "little")
        seal(saved, bytes(forged))
        assert "larger than the file" in error_of(saved)


def test_members_that_overlap(saved):
    """Many names for one member's bytes."""
    stream = BytesIO()
    members = members_of(saved)
    with zipfile.ZipFile(stream, "w") as archive:
        archive.comment = bytes(64)
        archive.writestr("anchorview.json", members["anchorview.json"])
        archive.writestr("big.npy", npy_bytes(np.zeros(10**5)))
        big = archive.infolist()[-1]
        for t in range(1000):
            info = zipfile.ZipInfo(f"{t:03}.npy")
            for field in ("file_size", "compress_size", "CRC", "header_offset"):
                setattr(info, field, getattr(big, field))
            archive.filelist.append(info)
    seal(saved, stream.getvalue())
    assert "larger than the file" in error_of(saved)


def test_random_forgeries(saved):
    """Any bytes under a right checksum are an error or a model."""
    content = saved.read_bytes()
    rng = np.random.default_rng(0)
    directory = content.index(b"PK\x01\x02")
    for trial in range(600):
        forged = bytearray(content)
        low, high = [(0, 1500), (directory, len(content) - 64), (0, len(content))][trial % 3]
        for place in rng.integers(low, high, size=rng.integers(1, 4)):
            forged[place] = rng.integers(256)
        seal(saved, bytes(forged))
        try:
            loaded = load_model(saved)
        except ModelFileError:
            continue
        assert loaded.embedding_.shape == (12, 2)


def test_random_forgeries_within_members(saved):
    members = members_of(saved)
    rng = np.random.default_rng(0)
    loads = 0
    for name in [*members, *["anchorview.json"] * 200]:
        for _ in range(5):
            forged = bytearray(members[name])
            for place in rng.integers(len(forged), size=rng.integers(1, 4)):
                forged[place] = rng.integers(256)
            forge(saved, {**members, name: bytes(forged)})
            try:
                loads += load_model(saved).embedding_.shape == (12, 2)
            except ModelFileError:
                continue
    assert loads > 0
