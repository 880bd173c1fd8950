"""Files and folders opened as views that stay on disk."""

import os

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import io, sparse
from test_reading import save_matlab73

import anchorview
from anchorview import MultiViewData, read_views
from anchorview.datasets import DataFileError, open_views
from anchorview.datasets.opening import stays_on_disk
from anchorview.views.stored_view import StoredView

RNG = np.random.default_rng(1)
TALL = RNG.integers(0, 9, size=(12, 5)).astype(np.uint8)
WIDE = RNG.normal(size=(12, 20)).astype(np.float32)
LABELS = np.repeat([3, 1, 2], 4)
HAS = np.ones((12, 2), dtype=bool)
HAS[3, 0] = HAS[7, 1] = False
IDS = [f"s{i}" for i in range(12)]


def npy_folder(path, **arrays):
    path.mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)
    return path


def hdf5(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name.replace("__", "/")] = array
    return path


def zarr_store(path, **arrays):
    group = zarr.open_group(str(path), mode="w")
    for name, array in arrays.items():
        group.create_array(name.replace("__", "/"), data=np.asarray(array))
    return path


def parquet_folder(path, **tables):
    path.mkdir(exist_ok=True)
    for name, table in tables.items():
        table.to_parquet(path / f"{name}.parquet")
    return path


def frame(array, ids=IDS):
    return pd.DataFrame(array, index=ids, columns=[f"f{j}" for j in range(array.shape[1])])


SAVERS = {
    "npy": (npy_folder, "data"),
    "hdf5": (hdf5, "data.H5"),
    "long hdf5": (hdf5, "data.hdf5"),
    "zarr": (zarr_store, "data.zarr"),
    "zarr of any name": (zarr_store, "data"),
}


@pytest.fixture(params=SAVERS.values(), ids=SAVERS)
def save(request, tmp_path):
    saver, name = request.param
    return lambda **arrays: saver(tmp_path / name, **arrays)


def assert_views(data, **expected):
    assert list(data.views) == list(expected)
    for name, array in expected.items():
        view = data.views[name]
        assert isinstance(view, StoredView)
        assert view.dtype == array.dtype
        np.testing.assert_array_equal(view[2:9], array[2:9])
        np.testing.assert_array_equal(view[:], array)


def error_of(path, reader=open_views):
    with pytest.raises(DataFileError) as caught:
        reader(path)
    message = str(caught.value)
    assert message.count(str(path)) == 1
    assert "\n" not in message
    return message


# Arrays in folders, HDF5 and Zarr.


def test_views_labels_and_availability(save):
    path = save(view_10=TALL, view_9=WIDE, Y=LABELS.astype(float), Available=HAS)
    assert stays_on_disk(path)
    data = open_views(str(path))
    assert data.path == path
    assert_views(data, view_9=WIDE, view_10=TALL)
    np.testing.assert_array_equal(data.target, LABELS)
    assert data.target.dtype == np.int64
    np.testing.assert_array_equal(data.available, HAS)
    assert data.sample_ids is None


def test_reading_them_into_memory(save):
    zeros = WIDE.copy()
    zeros[4], zeros[5] = np.nan, 0
    path = save(a=TALL, b=zeros, labels=LABELS, mask=HAS.astype(np.uint8))
    expected = HAS.copy()
    expected[4, 1] = False
    data = read_views(path)
    assert type(data.views["a"]) is np.ndarray
    np.testing.assert_array_equal(data.views["a"], TALL)
    np.testing.assert_array_equal(data.views["b"], zeros)
    np.testing.assert_array_equal(data.target, LABELS)
    np.testing.assert_array_equal(data.available, expected)
    expected[5, 1] = False
    expected[:, 0] &= TALL.any(axis=1)
    np.testing.assert_array_equal(read_views(path, zero_rows_missing=True).available, expected)


def test_views_without_anything_else(save):
    data = open_views(save(a=TALL))
    assert (data.target, data.available, data.sample_ids) == (None, None, None)


def test_views_that_are_only_named_like_a_mask(save):
    assert_views(open_views(save(index=WIDE, b=TALL)), b=TALL, index=WIDE)


def test_only_view_may_be_named_like_a_mask(save):
    assert_views(open_views(save(mask=TALL)), mask=TALL)


@pytest.mark.parametrize("mask", [HAS[:, :1], HAS[:5], HAS.T, HAS * 2], ids=range(4))
def test_mask_that_does_not_fit(save, mask):
    assert "'mask' is named like an index of which" in error_of(save(a=TALL, b=WIDE, mask=mask))


def test_two_masks(save):
    message = error_of(save(a=TALL, b=WIDE, mask=HAS, available=HAS))
    assert "'available' and 'mask' all look like an index" in message


def test_views_with_other_numbers_of_samples(save):
    message = error_of(save(a=TALL, b=WIDE, c=WIDE[:11]))
    assert "'a' has 12 samples, but 'c' has 11" in message


@pytest.mark.parametrize("labels", [LABELS + 0.5, np.eye(12), np.empty(0)], ids=range(3))
def test_what_cannot_be_labels(save, labels):
    assert "'y' is named like labels but is not one vector" in error_of(save(a=TALL, y=labels))


def test_labels_of_others(save):
    assert "11 labels do not fit the 12 samples" in error_of(save(a=TALL, y=LABELS[:11]))


def test_several_labels(save):
    assert "named like labels" in error_of(save(a=TALL, y=LABELS, gt=LABELS))


def test_no_views(save):
    assert "no views inside, only 'y'" in error_of(save(y=LABELS))


@pytest.mark.parametrize("saver", [hdf5, zarr_store])
def test_names_within_groups(saver, tmp_path):
    path = saver(
        tmp_path / "a.zarr" if saver is zarr_store else tmp_path / "a.h5",
        rna__x=WIDE,
        protein__x=TALL,
        obs__labels=LABELS,
        note=np.ones(3),
        cube=np.ones((2, 2, 2)),
    )
    data = open_views(path)
    assert_views(data, **{"protein/x": TALL, "rna/x": WIDE})
    np.testing.assert_array_equal(data.target, LABELS)


def test_labels_as_strings(tmp_path):
    names = np.array(["cat", "dog", "kéa"])[LABELS - 1]
    any_length = names.astype(np.dtypes.StringDType())
    for path in (
        npy_folder(tmp_path / "a", v=TALL, y=names),
        zarr_store(tmp_path / "b", v=TALL, y=any_length),
    ):
        target = open_views(path).target
        assert target.dtype.kind == "U"
        np.testing.assert_array_equal(target, names)
    path = hdf5(tmp_path / "c.h5", v=TALL)
    with h5py.File(path, "a") as file:
        file.create_dataset("y", data=names.astype(object), dtype=h5py.string_dtype())
    target = open_views(path).target
    assert target.dtype.kind == "U"
    np.testing.assert_array_equal(target, names)


def test_nothing_but_headers_is_read(tmp_path, monkeypatch):
    path = npy_folder(tmp_path / "a", v=TALL, w=WIDE)
    calls = []
    for name in ("fromfile", "memmap", "load"):
        monkeypatch.setattr(np, name, lambda *_, name=name, **__: calls.append(name))
    assert len(open_views(path).views) == 2
    assert calls == []


def test_open_views_is_at_the_top():
    assert anchorview.open_views is open_views


# Folders of .npy files.


@pytest.mark.parametrize("ids", [np.arange(12)[::-1], np.array(IDS)], ids=["numbers", "strings"])
def test_sample_ids(tmp_path, ids):
    path = npy_folder(tmp_path, a=TALL, b=WIDE, y=LABELS, sample_ids=ids)
    data = open_views(path)
    assert data.sample_ids.tolist() == ids.tolist()
    assert data.target.index.equals(data.sample_ids)
    read = read_views(path)
    assert MultiViewData(read.views).sample_ids.tolist() == ids.tolist()
    assert read.target.tolist() == LABELS.tolist()


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.arange(11), "sample_ids.npy has 11 ids, but the views have 12"),
        (np.arange(12) // 2, "sample_ids.npy has the id 0 more than once"),
        (np.arange(12.0), "sample_ids.npy holds 12 float64 values"),
        (np.ones((12, 1), int), "sample_ids.npy holds 12 x 1 int64 values"),
    ],
)
def test_wrong_sample_ids(tmp_path, ids, message):
    assert message in error_of(npy_folder(tmp_path, a=TALL, sample_ids=ids))


@pytest.mark.parametrize(
    "array",
    [np.ones(12), np.array(IDS), TALL * 1j, np.ones((2, 2, 2)), np.ones((0, 2))],
    ids=range(5),
)
def test_other_arrays_in_a_folder(tmp_path, array):
    assert "extra.npy holds " in error_of(npy_folder(tmp_path, a=TALL, extra=array))


def test_other_files_are_passed_over_but_not_tables(tmp_path):
    npy_folder(tmp_path, a=TALL)
    (tmp_path / "readme.txt").write_text("hello")
    (tmp_path / ".b.npy").write_text("hello")
    assert list(open_views(tmp_path).views) == ["a"]
    (tmp_path / "labels.csv").write_text("id,c\na,1\n")
    assert "holds .npy files and the table labels.csv" in error_of(tmp_path)
    assert "holds .npy files and the table labels.csv" in error_of(tmp_path, read_views)


def test_short_file_in_a_folder(tmp_path):
    npy_folder(tmp_path, a=TALL, b=WIDE)
    os.truncate(tmp_path / "b.npy", (tmp_path / "b.npy").stat().st_size - 1)
    assert "b.npy: the header promises 12 x 20 float32" in error_of(tmp_path)
    assert "rows from 11 on are missing" in error_of(tmp_path, read_views)


def test_labels_that_are_a_pickle(tmp_path):
    npy_folder(tmp_path, a=TALL)
    np.save(tmp_path / "y.npy", np.array(IDS, dtype=object), allow_pickle=True)
    assert f"{tmp_path / 'y.npy'}: holds Python objects" in error_of(tmp_path)


def test_labels_cut_short(tmp_path):
    npy_folder(tmp_path, a=TALL, y=LABELS)
    os.truncate(tmp_path / "y.npy", (tmp_path / "y.npy").stat().st_size - 1)
    assert f"{tmp_path / 'y.npy'}: cannot be read as .npy" in error_of(tmp_path)


def test_names_of_fields_in_any_alphabet(tmp_path):
    npy_folder(tmp_path, a=TALL)
    with (tmp_path / "b.npy").open("wb") as stream:
        np.lib.format.write_array(stream, np.ones(3, [("größe\u0416", float)]), version=(3, 0))
    assert "b.npy holds 3 " in error_of(tmp_path)


def test_relative_paths_become_absolute(save, tmp_path, monkeypatch):
    path = save(a=TALL)
    monkeypatch.chdir(tmp_path)
    data = open_views(path.name)
    monkeypatch.chdir("/")
    assert data.path == path
    assert_views(data, a=TALL)


# MATLAB 7.3.


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"X": [TALL, WIDE], "Y": LABELS[:, None]}, id="cell"),
        pytest.param({"X": [TALL.T, WIDE.T], "Y": LABELS[:, None]}, id="cell, transposed"),
        pytest.param({"X1": TALL, "X2": WIDE, "graph": np.ones((12, 12))}, id="numbered"),
        pytest.param({"X1": TALL.T, "X2": WIDE.T, "gt": LABELS[None]}, id="numbered, transposed"),
        pytest.param({"a": TALL, "b": WIDE, "k": np.ones((1, 1)), "note": "text"}, id="named"),
        pytest.param({"X": [TALL, WIDE], "ind": HAS.T.astype(float)}, id="mask"),
    ],
)
def test_matlab73_is_opened_as_it_is_read(tmp_path, variables):
    path = tmp_path / "data.mat"
    save_matlab73(path, variables)
    assert stays_on_disk(path)
    opened, read = open_views(path), read_views(path)
    assert_views(opened, **read.views)
    np.testing.assert_array_equal(next(iter(opened.views.values()))[:], TALL)
    np.testing.assert_array_equal(opened.target, read.target)
    np.testing.assert_array_equal(opened.available, read.available)


def test_sparse_views_of_matlab73_are_read(tmp_path):
    save_matlab73(tmp_path / "data.mat", {"X": [TALL, sparse.csr_array(WIDE)]})
    data = open_views(tmp_path / "data.mat")
    assert isinstance(data.views["view_0"], StoredView)
    assert abs(data.views["view_1"] - sparse.csr_array(WIDE)).max() == 0


# Parquet.


def test_parquet_folder(tmp_path):
    labels = pd.DataFrame({"class": LABELS[::-1]}, index=IDS[::-1])
    parquet_folder(tmp_path, a=frame(TALL), b=frame(WIDE), labels=labels)
    assert stays_on_disk(tmp_path)
    data = open_views(tmp_path)
    assert_views(data, a=TALL, b=WIDE)
    np.testing.assert_array_equal(data.target, LABELS)
    assert data.sample_ids is None
    assert data.views["b"].ids(slice(3, 5)).tolist() == IDS[3:5]


def test_parquet_labels_of_other_samples(tmp_path):
    labels = pd.DataFrame({"class": LABELS}, index=["other", *IDS[1:]])
    parquet_folder(tmp_path, a=frame(TALL), labels=labels)
    assert "labels.parquet has no class for the sample 's0'" in error_of(tmp_path)


def test_parquet_with_other_samples(tmp_path):
    parquet_folder(tmp_path, a=frame(TALL), b=frame(WIDE[:11], IDS[:11]))
    message = error_of(tmp_path)
    assert "a.parquet has 12 samples, but b.parquet has 11" in message
    assert "anchorview convert" in message


def test_truncated_parquet(tmp_path):
    parquet_folder(tmp_path, a=frame(TALL))
    os.truncate(tmp_path / "a.parquet", 100)
    assert "a.parquet: cannot be read as .parquet" in error_of(tmp_path)


# Anything else.


def test_what_cannot_stay_on_disk(tmp_path):
    np.savez(tmp_path / "data.npz", a=TALL)
    io.savemat(tmp_path / "data.mat", {"X1": TALL})
    np.save(tmp_path / "data.npy", TALL)
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "a.csv").write_text("id,x\na,1\n")
    parquet_folder(tables, b=frame(TALL))
    (tmp_path / "empty").mkdir()
    for name in ("data.npz", "data.mat", "data.npy", "tables", "empty"):
        assert not stays_on_disk(tmp_path / name)
        assert "`anchorview convert DATA FOLDER`" in error_of(tmp_path / name)


@pytest.mark.parametrize("name", ["data.h5", "data.zarr", "data.mat", "folder", "data.xyz"])
def test_no_such_path(tmp_path, name):
    assert "no such file" in error_of(tmp_path / name)


@pytest.mark.parametrize("reader", [open_views, read_views])
def test_damaged_files(tmp_path, reader):
    path = hdf5(tmp_path / "data.h5", a=TALL)
    path.write_bytes(path.read_bytes()[:300])
    assert "cannot be read as .h5" in error_of(path, reader)
    path = zarr_store(tmp_path / "data.zarr", a=TALL)
    (path / "zarr.json").write_text("{")
    assert "cannot be read as .zarr" in error_of(path, reader)
