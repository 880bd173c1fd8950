"""DiskSource: fits on disk equal fits in memory, and failures leave earlier results intact."""

from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, make_multiview
from anchorview._utils.errors import OutputFileError
from anchorview._utils.progress import listen_to_progress
from anchorview.core.scale import SCALINGS
from anchorview.datasets.formats.arrays import NpyView, open_npy
from anchorview.sources import disk_source
from helpers.data import clustered_views, folder_contents

N = 3000


@pytest.fixture
def many_parts(set_constants):
    """Parts of 150 rows of the views below, so that there are 20 of them."""
    set_constants(disk_source, PART=64_000, PRODUCTS_PER_PART=0)


@pytest.fixture
def store(tmp_path):
    """Write views (a dict or a list) to files and open these, in the same form."""

    def stored(views):
        (tmp_path / "views").mkdir(exist_ok=True)
        named = views if isinstance(views, dict) else dict(enumerate(views))
        found = {}
        for name, view in named.items():
            path = tmp_path / "views" / f"{name}.npy"
            np.save(path, view)
            found[name] = open_npy(path)
        return found if isinstance(views, dict) else list(found.values())

    return stored


def make_views(dtype=np.float64, n=N, seed=0, **options):
    views, _ = clustered_views(n, 4, (12, 18, 23), separation=5, seed=seed, **options)
    return {name: view.astype(dtype) for name, view in views.items()}


def quick(n_clusters=4, **options):
    """DALMC with two K-means restarts, enough for well-separated clusters."""
    return DALMC(n_clusters, n_init=2, **{"random_state": 0} | options)


def tolerance_of(dtype):
    return 1e-6 if dtype == np.float64 else 1e-3


def assert_same_model(found, expected, tolerance=1e-6):
    S, T = (np.asarray(model.embedding_, dtype=np.float64) for model in (found, expected))
    assert S.shape == T.shape
    # Compared by S S', a few rows at a time, as S is unique up to a rotation only.
    scale = np.einsum("ij,ij->i", T, T).max()
    for rows in np.array_split(np.arange(len(S)), max(1, len(S) // 30)):
        assert abs(S[rows] @ S.T - T[rows] @ T.T).max() <= tolerance * scale
    assert adjusted_rand_score(found.labels_, expected.labels_) >= 0.999
    np.testing.assert_allclose(found.views_["weight"], expected.views_["weight"], rtol=tolerance)
    np.testing.assert_allclose(found.objective_[-1], expected.objective_[-1], rtol=tolerance)
    assert found.n_components_ == expected.n_components_


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_fit_on_disk_equals_fit_in_memory(many_parts, store, scaling, dtype):
    views = make_views(dtype)
    stored = store(views)
    model = quick(scaling=scaling)
    expected = quick(scaling=scaling).fit(views)
    assert_same_model(model.fit(stored), expected, tolerance_of(dtype))
    assert model.embedding_.dtype == dtype
    assert model.labels_.dtype == np.int32
    np.testing.assert_array_equal(model.predict(stored), model.labels_)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_allclose(
        model.transform(stored, scale=False), model.embedding_, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("where", ["random rows", "ends, a whole part and one row"])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_missing_views_on_disk_equal_those_in_memory(many_parts, store, where, scaling):
    views = make_views()
    if where == "random rows":
        rng = np.random.default_rng(0)
        for view in views.values():
            view[rng.random(N) < 0.2] = np.nan
        views["view_0"][np.isnan(views["view_1"][:, 0])] = 1
    else:
        views["view_0"][:160] = views["view_1"][200:900] = np.nan
        views["view_2"][[1234, -1]] = np.nan
    model = quick(scaling=scaling).fit(store(views))
    assert_same_model(model, quick(scaling=scaling, solver="compressed").fit(views))


@pytest.fixture(scope="module")
def many_rows():
    """Narrow views with enough samples for blockwise K-means."""
    views, _ = make_multiview(45_000, n_clusters=4, n_features=(5, 7), separation=6, random_state=0)
    return views


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("assignment", ["kmeans", "cluster_qr"])
def test_blockwise_kmeans_equals_kmeans_in_memory(
    set_constants, store, tmp_path, many_rows, assignment, dtype
):
    views = {name: view.astype(dtype) for name, view in many_rows.items()}
    model, expected = (quick(assignment=assignment) for _ in range(2))
    expected.fit(views)
    set_constants(disk_source, PART=2**18)
    model.fit(store(views), out=tmp_path / "out")
    pairs = np.random.default_rng(0).choice(45_000, 2000, replace=False)
    S, T = (np.asarray(m.embedding_[pairs], np.float64) for m in (model, expected))
    assert abs(S @ S.T - T @ T.T).max() <= tolerance_of(dtype) * (T**2).sum(axis=1).max()
    assert adjusted_rand_score(model.labels_, expected.labels_) >= 0.999
    np.testing.assert_array_equal(model.predict(store(views)), model.labels_)


def test_part_size_and_threads_do_not_change_results(set_constants, store):
    stored = store(make_views(missing=0.2))
    set_constants(disk_source, PRODUCTS_PER_PART=0)
    models = []
    for part, workers in [(64_000, 1), (64_000, 3), (64_000, 7), (200_000, 2), (10**8, 2)]:
        set_constants(disk_source, PART=part, workers=lambda workers=workers: workers)
        models.append(quick().fit(stored))
    for model in models[1:]:
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
    for model in models[1:3]:
        np.testing.assert_array_equal(model.embedding_, models[0].embedding_)


def test_out_files_equal_returned_results_until_a_second_fit(many_parts, store, tmp_path):
    views = make_views()
    out = tmp_path / "results"
    model = quick().fit(store(views), out=out)
    assert sorted(folder_contents(out)) == ["embedding.npy", "labels.npy", "sample_ids.npy"]
    plain = quick().fit(store(views))
    for name in ("embedding", "labels"):
        result, in_memory = getattr(model, f"{name}_"), getattr(plain, f"{name}_")
        assert isinstance(result, np.memmap) and not isinstance(in_memory, np.memmap)
        np.testing.assert_array_equal(np.load(out / f"{name}.npy"), result)
        np.testing.assert_array_equal(in_memory, result)
    second = quick(3).fit(store(make_views(seed=1)), out=out)
    np.testing.assert_array_equal(np.load(out / "labels.npy"), second.labels_)
    assert np.load(out / "embedding.npy").shape == (N, 3)
    np.testing.assert_array_equal(model.labels_, plain.labels_)


@pytest.mark.parametrize("on_disk", [True, False])
def test_transform_and_predict_write_files(many_parts, store, tmp_path, on_disk):
    model = quick().fit(make_views())
    new = make_views(seed=1, missing=0.2)
    X = store(new) if on_disk else new
    embedding = model.transform(X, out=tmp_path / "e.npy")
    labels = model.predict(X, out=tmp_path / "l.npy")
    assert isinstance(embedding, np.memmap)
    assert isinstance(labels, np.memmap)
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), model.transform(new), atol=1e-12)
    np.testing.assert_array_equal(np.load(tmp_path / "l.npy"), model.predict(new))
    assert {path.suffix for path in tmp_path.iterdir() if path.is_file()} == {".npy"}


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("view_1", (2345, 6)), np.nan, "view 1 contains NaN at row 2345, column 6"),
        (("view_1", (2345, 6)), np.inf, "view 1 contains infinity at row 2345, column 6"),
        (("", 2222), np.nan, "2222 has no view"),
    ],
)
def test_errors_have_the_row_in_the_file(many_parts, store, where, value, message):
    model = quick().fit(store(make_views(seed=1)))
    views = make_views()
    chosen, cells = where
    for name, view in views.items():
        if chosen in name:
            view[cells] = value
    with pytest.raises(ValueError, match=message):
        quick().fit(store(views))
    if chosen:
        with pytest.raises(ValueError, match=message):
            model.predict(store(views))
    else:
        with pytest.warns(UserWarning, match="row 2222"):
            assert np.flatnonzero(model.predict(store(views)) < 0).tolist() == [2222]


@pytest.mark.parametrize(
    ("stage", "n"), [("scaling", N), ("embedding", N), ("assigning", N), ("assigning", 45_000)]
)
def test_interrupted_fit_keeps_previous_results(
    set_constants, store, tmp_path, many_rows, stage, n
):
    set_constants(disk_source, PART=2**16 if n == N else 2**19, PRODUCTS_PER_PART=0)
    out = tmp_path / "results"
    quick().fit(store(make_views()), out=out)
    before = folder_contents(out)
    stored = store({name: view[:n] for name, view in many_rows.items()})

    def interrupt(at, done, total):
        if at == stage and done >= total / 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), listen_to_progress(interrupt):
        quick(random_state=1).fit(stored, out=out)
    assert folder_contents(out) == before
    quick(random_state=1).fit(stored, out=out)
    assert folder_contents(out) != before


@pytest.fixture
def unreadable(store, monkeypatch):
    """A view that fails as soon as a row is read."""
    refused = Mock(side_effect=AssertionError("A row was read."))
    monkeypatch.setattr(NpyView, "_read_into", refused)
    return store([make_views()["view_2"]])[0]


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("file", "is not a folder"),
        ("missing/results", "there is no folder"),
        ("taken", "labels.npy: is a folder"),
    ],
)
def test_unusable_outputs_raise_before_reading(unreadable, tmp_path, out, message):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "taken" / "labels.npy").mkdir(parents=True)
    with pytest.raises(OutputFileError, match=message):
        quick().fit([unreadable], out=tmp_path / out)
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "missing").exists()
    model = quick().fit([make_views()["view_2"]])
    for method in (model.predict, model.transform):
        with pytest.raises(OutputFileError):
            method([unreadable], out=tmp_path / "missing" / "e.npy")
