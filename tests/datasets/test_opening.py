"""Files and folders opened as views that stay on disk."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from scipy import sparse

from anchorview import MultiViewData, read_views
from anchorview.datasets import open_views, stays_on_disk
from anchorview.views.stored_view import StoredView
from helpers.view_files import (
    AVAILABLE,
    LABELS,
    TALL,
    WIDE,
    frame,
    save_matlab73,
    write_hdf5,
    write_npy_folder,
    write_tables,
    write_zarr,
)

IDS = [f"s{i}" for i in range(12)]

WRITERS = {
    "npy": (write_npy_folder, "data"),
    "hdf5": (write_hdf5, "data.H5"),
    "long hdf5": (write_hdf5, "data.hdf5"),
    "zarr": (write_zarr, "data.zarr"),
    "zarr without suffix": (write_zarr, "data"),
}


@pytest.fixture(params=WRITERS.values(), ids=WRITERS)
def write(request, tmp_path):
    writer, name = request.param
    return lambda **arrays: writer(tmp_path / name, **arrays)


def assert_views(data, **expected):
    assert list(data.views) == list(expected)
    for name, array in expected.items():
        view = data.views[name]
        assert isinstance(view, StoredView)
        assert view.dtype == array.dtype
        np.testing.assert_array_equal(view[2:9], array[2:9])
        np.testing.assert_array_equal(view[:], array)


def test_views_labels_and_availability(write, tmp_path, monkeypatch):
    path = write(view_10=TALL, view_9=WIDE, Y=LABELS.astype(float), Available=AVAILABLE)
    assert stays_on_disk(path)
    monkeypatch.chdir(tmp_path)
    data = open_views(path.name)
    # Relative paths become absolute.
    monkeypatch.chdir("/")
    assert data.path == path
    assert_views(data, view_9=WIDE, view_10=TALL)
    np.testing.assert_array_equal(data.target, LABELS)
    assert data.target.dtype == np.int64
    np.testing.assert_array_equal(data.available, AVAILABLE)
    assert data.sample_ids is None


def test_reading_into_memory(write):
    incomplete = WIDE.copy()
    incomplete[6], incomplete[7] = np.nan, 0
    path = write(a=TALL, b=incomplete, labels=LABELS, mask=AVAILABLE.astype(np.uint8))
    expected = AVAILABLE.copy()
    expected[6, 1] = False
    data = read_views(path)
    assert type(data.views["a"]) is np.ndarray
    np.testing.assert_array_equal(data.views["a"], TALL)
    np.testing.assert_array_equal(data.views["b"], incomplete)
    np.testing.assert_array_equal(data.target, LABELS)
    np.testing.assert_array_equal(data.available, expected)
    expected[7, 1] = False
    expected[:, 0] &= TALL.any(axis=1)
    np.testing.assert_array_equal(read_views(path, zero_rows_missing=True).available, expected)


@pytest.mark.parametrize("ids", [np.arange(12)[::-1], np.array(IDS)], ids=["integers", "strings"])
def test_sample_ids(tmp_path, ids):
    path = write_npy_folder(tmp_path, a=TALL, b=WIDE, y=LABELS, sample_ids=ids)
    data = open_views(path)
    assert data.sample_ids.tolist() == ids.tolist()
    assert data.target.index.equals(data.sample_ids)
    read = read_views(path)
    assert MultiViewData(read.views).sample_ids.tolist() == ids.tolist()
    assert read.target.tolist() == LABELS.tolist()


@pytest.mark.parametrize("reader", [open_views, read_views])
def test_other_files_are_named(tmp_path, reader):
    write_npy_folder(tmp_path, a=TALL)
    (tmp_path / "readme.txt").write_text("hello")
    (tmp_path / ".b.npy").write_text("hello")
    (tmp_path / "labels.csv").write_text("id,c\na,1\n")
    with pytest.warns(UserWarning, match=r"not read: 'labels\.csv', 'readme\.txt'"):
        assert list(reader(tmp_path).views) == ["a"]


def test_matlab73_stays_on_disk_but_for_sparse_views(tmp_path):
    variables = {"X": [TALL.T, WIDE.T], "Y": LABELS[:, None], "ind": AVAILABLE.T.astype(float)}
    path = save_matlab73(tmp_path / "data.mat", variables)
    assert stays_on_disk(path)
    data = open_views(path)
    assert_views(data, view_0=TALL, view_1=WIDE)
    np.testing.assert_array_equal(data.target, LABELS)
    np.testing.assert_array_equal(data.available, AVAILABLE)
    path = save_matlab73(tmp_path / "data.mat", {"X": [TALL, sparse.csr_array(WIDE)]})
    views = open_views(path).views
    assert isinstance(views["view_0"], StoredView)
    assert abs(views["view_1"] - sparse.csr_array(WIDE)).max() == 0


def test_parquet_folder(tmp_path):
    labels = pd.DataFrame({"class": LABELS[::-1]}, index=IDS[::-1])
    tables = {"a_parquet": frame(TALL, IDS), "b_parquet": frame(WIDE, IDS)}
    write_tables(tmp_path, **tables, labels_parquet=labels)
    assert stays_on_disk(tmp_path)
    data = open_views(tmp_path)
    assert_views(data, a=TALL, b=WIDE)
    np.testing.assert_array_equal(data.target, LABELS)
    assert data.sample_ids is None
    assert data.views["b"].ids(slice(3, 5)).tolist() == IDS[3:5]


def bytes_read():
    return int(Path("/proc/self/io").read_text().split()[1])


def write_h5ad(path, x):
    cells = [f"s{i}" for i in range(len(x))]
    AnnData(x, obs=pd.DataFrame({"y": "a"}, index=cells)).write_h5ad(path)
    return path


def write_parquet(path, x):
    return write_tables(path, a_parquet=frame(x, pd.RangeIndex(len(x), name="id")))


LARGE = {
    "npy": (write_npy_folder, "data", 8000),
    "hdf5": (write_hdf5, "data.h5", 8000),
    "zarr": (write_zarr, "data.zarr", 8000),
    "h5ad": (write_h5ad, "data.h5ad", 1000),
    "parquet": (write_parquet, "tables", 16_000),
}


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="only Linux counts what is read")
@pytest.mark.parametrize(("writer", "name", "n_rows"), LARGE.values(), ids=LARGE)
def test_opening_reads_less_than_one_percent(writer, name, n_rows, tmp_path):
    (tmp_path / "small").mkdir()
    # Imports what the format needs.
    open_views(writer(tmp_path / "small" / name, x=WIDE))
    path = writer(
        tmp_path / name, x=np.random.default_rng(0).normal(size=(n_rows, 4_000_000 // n_rows))
    )
    before = bytes_read()
    open_views(path)
    assert bytes_read() - before < 8 * 4_000_000 / 100
