"""Whole fits on every kind of file that stays on disk, against the same data in memory."""

from copy import deepcopy

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from sklearn.metrics import adjusted_rand_score

from anchorview import (
    DALMC,
    AutoDALMC,
    MultiViewData,
    load,
    make_multiview,
    open_views,
    read_views,
)
from anchorview._utils import memory
from anchorview._utils.errors import DataFileError, OutputFileError
from anchorview.compared import BMVC
from anchorview.datasets.formats import npy
from anchorview.sources import disk_source
from anchorview.views import schema

N, K = 1500, 4
CHUNK = 100


@pytest.fixture(scope="module")
def views_and_y():
    views, y = make_multiview(N, n_clusters=K, n_features=(9, 14), missing=0.2, random_state=0)
    return {name: view.astype(np.float32) for name, view in views.items()}, y


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of some chunks each, so that there are several."""
    monkeypatch.setattr(disk_source, "PART", 30_000)
    monkeypatch.setattr(disk_source, "PRODUCTS_PER_PART", 0)


def write_npy(path, views, y):
    path.mkdir()
    for name, view in views.items():
        np.save(path / f"{name}.npy", view)
    np.save(path / "labels.npy", y)
    return path


def write_hdf5(path, views, y):
    path = path.with_suffix(".h5")
    with h5py.File(path, "w") as file:
        for name, view in views.items():
            file.create_dataset(name, data=view, chunks=(CHUNK, view.shape[1]), compression="gzip")
        file["y"] = y
    return path


def write_matlab(path, views, y):
    path = path.with_suffix(".mat")
    with h5py.File(path, "w") as file:
        for p, view in enumerate(views.values()):
            file.create_dataset(f"X{p + 1}", data=view.T, chunks=(view.shape[1], CHUNK))
        file["gt"] = y[None].astype(float)
    return path


def write_zarr(path, views, y):
    path = path.with_suffix(".zarr")
    group = zarr.open_group(path, mode="w")
    for name, view in views.items():
        array = group.create_array(
            name, shape=view.shape, dtype=view.dtype, chunks=(CHUNK, view.shape[1])
        )
        array[:] = view
    array = group.create_array("y", shape=y.shape, dtype=y.dtype)
    array[:] = y
    return path


def write_parquet(path, views, y):
    path.mkdir()
    for name, view in views.items():
        frame = pd.DataFrame(view, index=pd.Index([f"s{i}" for i in range(N)], name="id"))
        frame.columns = [f"f{j}" for j in range(view.shape[1])]
        frame.to_parquet(path / f"{name}.parquet", row_group_size=CHUNK)
    frame = pd.DataFrame({"y": y}, index=pd.Index([f"s{i}" for i in range(N)], name="id"))
    frame.to_parquet(path / "labels.parquet")
    return path


WRITERS = [write_npy, write_hdf5, write_matlab, write_zarr, write_parquet]


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_files_of_all_kinds_give_what_arrays_in_memory_give(tmp_path, views_and_y, write):
    views, y = views_and_y
    file = open_views(write(tmp_path / "data", views, y))
    reference = DALMC(K, random_state=0).fit(list(views.values()))
    model = DALMC(K, random_state=0, memory_limit="20MB").fit(file, out=tmp_path / "out")
    gap = model.embedding_ @ model.embedding_.T - reference.embedding_ @ reference.embedding_.T
    assert np.abs(gap).max() < 1e-3 * np.abs(reference.embedding_ @ reference.embedding_.T).max()
    assert adjusted_rand_score(model.labels_, reference.labels_) == 1
    assert (np.asarray(file.target) == y).all()
    assert (model.predict(file) == model.labels_).all()


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_rows_are_read_once_a_pass(tmp_path, views_and_y, write, monkeypatch):
    views, y = views_and_y
    file = open_views(write(tmp_path / "data", views, y))
    read = []
    cls = type(next(iter(file.views.values())))
    original = cls.read_into

    def counted(view, out, start):
        read.append(len(out))
        return original(view, out, start)

    monkeypatch.setattr(cls, "read_into", counted)
    DALMC(K, random_state=0).fit(file)
    passes, parts = 3, len(read) / len(views) / 3
    assert sum(read) == passes * len(views) * N
    assert parts > 1 and parts == int(parts)


def test_chunks_larger_than_the_limit_are_refused_with_the_way_out(tmp_path, views_and_y):
    views, _ = views_and_y
    path = tmp_path / "whole.h5"
    with h5py.File(path, "w") as file:
        for name, view in views.items():
            file.create_dataset(name, data=view, chunks=view.shape, compression="gzip")
    message = "1500 rows have to be read at a time.*datasets.convert"
    with pytest.raises(MemoryError, match=message):
        DALMC(K, memory_limit="200kB").fit(open_views(path))


def test_tables_with_other_samples_are_refused_with_the_row(tmp_path, views_and_y):
    path = write_parquet(tmp_path / "data", *views_and_y)
    table = path / "view_1.parquet"
    frame = pd.read_parquet(table)
    frame.index = frame.index.where(frame.index != "s777", "other")
    frame.to_parquet(table, row_group_size=CHUNK)
    with pytest.raises(DataFileError, match=r"row 777 is the sample 'other' in .*view_1.parquet"):
        DALMC(K).fit(open_views(path).views)


@pytest.mark.parametrize("estimator", [AutoDALMC(K, max_candidates=2), BMVC(K)])
def test_other_estimators_take_views_on_disk_into_memory(tmp_path, estimator, monkeypatch):
    views, y = make_multiview(300, n_clusters=K, n_features=(9, 14), random_state=0)
    stored = open_views(write_npy(tmp_path / "data", views, y)).views
    estimator.set_params(random_state=0)
    assert (estimator.fit(stored).labels_ == estimator.fit(views).labels_).all()
    monkeypatch.setattr(memory, "free_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match="Use DALMC"):
        estimator.fit(stored)


def test_what_was_read_or_opened_can_be_given_as_it_is(tmp_path, views_and_y):
    path = write_npy(tmp_path / "data", *views_and_y)
    opened, read = open_views(path), read_views(path)
    assert repr(MultiViewData(read)) == repr(MultiViewData(opened))
    models = [DALMC(K, random_state=0).fit(file) for file in (opened, read)]
    assert (models[0].labels_ == models[1].labels_).all()


def test_what_the_file_says_to_be_missing_is_not_looked_at(tmp_path, views_and_y):
    views, y = views_and_y
    path = write_npy(tmp_path / "data", {n: np.nan_to_num(v, nan=9) for n, v in views.items()}, y)
    has = np.column_stack([~np.isnan(view).any(axis=1) for view in views.values()])
    np.save(path / "available.npy", has)
    model = DALMC(K, random_state=0).fit(open_views(path))
    assert adjusted_rand_score(model.labels_, DALMC(K, random_state=0).fit(views).labels_) == 1


@pytest.mark.parametrize("scaling", ["zscore-unit", "unit-center", "unit", "none"])
def test_a_constant_view_is_refused_as_in_memory(tmp_path, views_and_y, scaling):
    views, y = views_and_y
    same = {**views, "same": np.full((N, 3), 7, np.float32)}
    file = open_views(write_npy(tmp_path / "data", same, y))
    for X in (file, list(file.views.values())):
        with pytest.raises(ValueError, match="is constant: every sample has the same values"):
            DALMC(K, scaling=scaling).fit(X)


@pytest.fixture
def folder(tmp_path, views_and_y):
    return write_npy(tmp_path / "data", *views_and_y)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_results_never_replace_what_was_read(folder):
    before = contents(folder)
    file = open_views(folder)
    model = DALMC(K, random_state=0)
    with pytest.raises(ValueError, match="where the views are"):
        model.fit(file, out=folder)
    model.fit(file)
    for method in (model.predict, model.transform):
        with pytest.raises(ValueError, match="is one of the views"):
            method(file, out=folder / "view_0.npy")
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("settings", "error"),
    [({"n_anchors": 500}, ValueError), ({"n_clusters": 2 * N}, ValueError)],
)
def test_a_fit_that_fails_leaves_no_folder(folder, tmp_path, settings, error):
    out = tmp_path / "results"
    with pytest.raises(error):
        DALMC(K).set_params(**settings).fit(open_views(folder), out=out)
    assert not out.exists()


def test_a_place_that_is_none_is_refused_before_a_row_is_read(folder, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "taken" / "labels.npy").mkdir(parents=True)
    file = open_views(folder)
    monkeypatch.setattr(npy.NpyView, "read_into", None)
    for out, message in [
        ("file", "is not a folder"),
        ("nowhere/results", "there is no folder"),
        ("taken", "labels.npy: is a folder"),
    ]:
        with pytest.raises(OutputFileError, match=message):
            DALMC(K).fit(file, out=tmp_path / out)


def test_fit_transform_writes_too(folder, tmp_path):
    embedding = DALMC(K, random_state=0).fit_transform(open_views(folder), out=tmp_path / "out")
    assert (np.load(tmp_path / "out" / "embedding.npy") == embedding).all()


def test_a_copy_of_a_model_whose_results_are_files_holds_them(folder, tmp_path):
    model = DALMC(K, random_state=0).fit(open_views(folder), out=tmp_path / "out")
    for own, expected in [(model, 0), (deepcopy(model), N)]:
        own.save(tmp_path / "model.anchorview")
        assert len(load(tmp_path / "model.anchorview").labels_) == expected


def test_sample_ids_of_a_folder_stay(folder):
    np.save(folder / "sample_ids.npy", [f"s{i}" for i in range(N)])
    file = open_views(folder)
    assert list(MultiViewData(file).sample_ids[:2]) == ["s0", "s1"]
    model = DALMC(K, random_state=0).fit(file)
    assert list(model.labels_series.index[:2]) == ["s0", "s1"]


def test_names_of_features_are_learned_and_checked_in_parts_too(tmp_path):
    frame = pd.DataFrame(make_multiview(200, n_features=(6,), random_state=0)[0]["view_0"])
    frame.columns = list("abcdef")
    model = DALMC(3, random_state=0).fit(frame, out=tmp_path / "out")
    assert list(model.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]], out=tmp_path / "labels.npy")


def test_too_few_columns_for_cluster_qr_are_refused_before_a_row_is_read(folder, monkeypatch):
    file = open_views(folder)
    monkeypatch.setattr(npy.NpyView, "read_into", None)
    with pytest.raises(ValueError, match="needs n_anchors >= n_clusters"):
        DALMC(K, n_anchors=2, assignment="cluster_qr").fit(file)


@pytest.mark.parametrize("noise", [4.0, 6.0])
def test_many_overlapping_samples_in_single_precision_get_the_same_labels(
    tmp_path, noise, monkeypatch
):
    """Where K-means has many solutions that are as good, rounding must not decide."""
    monkeypatch.setattr(schema, "CACHED_BLOCK", 50_000)
    monkeypatch.setattr(disk_source, "PART", 400_000)
    views, y = make_multiview(
        45_000, n_clusters=6, n_features=(8, 9), noise=noise, separation=3.0, random_state=1
    )
    views = {name: view.astype(np.float32) for name, view in views.items()}
    file = open_views(write_npy(tmp_path / "many", views, y))
    on_disk = DALMC(6, random_state=0, n_init=4).fit(file)
    in_memory = DALMC(6, random_state=0, n_init=4).fit(views)
    assert adjusted_rand_score(in_memory.labels_, y) < 0.6
    assert adjusted_rand_score(on_disk.labels_, in_memory.labels_) >= 0.999
