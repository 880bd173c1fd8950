"""Fits on files of every format that is read in parts, compared with fits in memory."""

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, make_multiview, open_views
from anchorview._utils.errors import DataFileError
from anchorview.sources import disk_source
from anchorview.views import row_source
from anchorview.views.stored_view import StoredView
from helpers.data import folder_contents
from helpers.view_files import write_npy_folder, write_view_tables

N, K = 1500, 4
CHUNK = 100


@pytest.fixture(scope="module")
def views_and_y():
    views, y = make_multiview(N, n_clusters=K, n_features=(9, 14), missing=0.2, random_state=0)
    return {name: view.astype(np.float32) for name, view in views.items()}, y


@pytest.fixture(autouse=True)
def small_parts(set_constants):
    """Several parts, of a few chunks each."""
    set_constants(disk_source, PART=30_000, PRODUCTS_PER_PART=0)


def write_npy(path, views, y):
    return write_npy_folder(path, **views, labels=y)


def write_hdf5(path, views, y, rows=CHUNK):
    path = path.with_suffix(".h5")
    with h5py.File(path, "w") as file:
        for name, view in views.items():
            file.create_dataset(name, data=view, chunks=(rows, view.shape[1]), compression="gzip")
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
        group.create_array(name, data=view, chunks=(CHUNK, view.shape[1]))
    group.create_array("y", data=y)
    return path


def write_parquet(path, views, y):
    ids = write_view_tables(path, views, "parquet", row_group_size=CHUNK)
    pd.DataFrame({"y": y}, index=ids).to_parquet(path / "labels.parquet")
    return path


WRITERS = [write_npy, write_hdf5, write_matlab, write_zarr, write_parquet]


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_every_format_gives_the_result_of_memory(tmp_path, views_and_y, write):
    views, y = views_and_y
    file = open_views(write(tmp_path / "data", views, y))
    reference = DALMC(K, random_state=0).fit(list(views.values()))
    model = DALMC(K, random_state=0, memory_limit="20MB").fit(file, out=tmp_path / "out")
    found, expected = (m.embedding_ @ m.embedding_.T for m in (model, reference))
    assert np.abs(found - expected).max() < 1e-3 * np.abs(expected).max()
    assert adjusted_rand_score(model.labels_, reference.labels_) == 1
    assert (np.asarray(file.target) == y).all()
    assert (model.predict(file) == model.labels_).all()


@pytest.mark.parametrize("write", [write_npy, write_hdf5])
def test_each_of_three_passes_reads_every_row_once(tmp_path, views_and_y, write, monkeypatch):
    views, y = views_and_y
    file = open_views(write(tmp_path / "data", views, y))
    rows, original = [], StoredView.read

    def counted(view, part, buffer=None):
        rows.extend(range(part.start, part.stop))
        return original(view, part, buffer)

    monkeypatch.setattr(StoredView, "read", counted)
    DALMC(K, random_state=0).fit(file)
    assert (np.bincount(rows, minlength=N) == 3 * len(views)).all()


def test_chunks_larger_than_the_limit_raise(tmp_path, views_and_y):
    path = write_hdf5(tmp_path / "whole", *views_and_y, rows=N)
    message = "1500 .*datasets.convert"
    with pytest.raises(MemoryError, match=message):
        DALMC(K, memory_limit="200kB").fit(open_views(path))


def test_error_for_tables_with_different_samples_has_row(tmp_path, views_and_y):
    path = write_parquet(tmp_path / "data", *views_and_y)
    table = path / "view_1.parquet"
    frame = pd.read_parquet(table)
    frame.index = frame.index.where(frame.index != "s777", "other")
    frame.to_parquet(table, row_group_size=CHUNK)
    with pytest.raises(DataFileError, match=r"row 777 is the sample 'other' in .*view_1.parquet"):
        DALMC(K).fit(open_views(path).views)


def test_row_groups_larger_than_the_limit_are_read_in_slices(tmp_path, views_and_y):
    views, _ = views_and_y
    write_view_tables(tmp_path, views, "parquet", row_group_size=N)
    model = DALMC(K, random_state=0, memory_limit="1MB").fit(open_views(tmp_path))
    expected = DALMC(K, random_state=0).fit(views).labels_
    assert adjusted_rand_score(model.labels_, expected) == 1


def test_values_of_unavailable_rows_are_ignored(tmp_path, views_and_y):
    views, y = views_and_y
    path = write_npy(tmp_path / "data", {n: np.nan_to_num(v, nan=9) for n, v in views.items()}, y)
    has = np.column_stack([~np.isnan(view).any(axis=1) for view in views.values()])
    np.save(path / "available.npy", has)
    model = DALMC(K, random_state=0).fit(open_views(path))
    assert adjusted_rand_score(model.labels_, DALMC(K, random_state=0).fit(views).labels_) == 1


@pytest.fixture
def folder(tmp_path, views_and_y):
    return write_npy(tmp_path / "data", *views_and_y)


def test_results_never_replace_input_files(folder):
    before = folder_contents(folder)
    file = open_views(folder)
    model = DALMC(K, random_state=0)
    with pytest.raises(ValueError, match="is the folder of the views"):
        model.fit(file, out=folder)
    model.fit(file)
    for method in (model.predict, model.transform):
        with pytest.raises(ValueError, match="is one of the views"):
            method(file, out=folder / "view_0.npy")
    assert folder_contents(folder) == before


def test_overlapping_clusters_in_single_precision_get_the_same_labels(tmp_path, set_constants):
    """K-means has many solutions of similar inertia here; rounding must not choose among them."""
    set_constants(row_source, CACHED_BLOCK=50_000)
    set_constants(disk_source, PART=400_000)
    views, y = make_multiview(
        45_000, n_clusters=6, n_features=(8, 9), noise=6.0, separation=3.0, random_state=1
    )
    views = {name: view.astype(np.float32) for name, view in views.items()}
    file = open_views(write_npy(tmp_path / "many", views, y))
    on_disk = DALMC(6, random_state=0, n_init=4).fit(file)
    in_memory = DALMC(6, random_state=0, n_init=4).fit(views)
    assert adjusted_rand_score(in_memory.labels_, y) < 0.6
    assert adjusted_rand_score(on_disk.labels_, in_memory.labels_) >= 0.999
