"""Conversion: the folder holds what the source holds, or is not created."""

import shutil
from collections import namedtuple
from functools import partial

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from anchorview import read_views
from anchorview._utils.errors import OutputFileError
from anchorview._utils.progress import listen_to_progress
from anchorview.datasets import conversion, convert, open_views
from helpers.view_files import (
    AVAILABLE,
    LABELS,
    TALL,
    WIDE,
    save_matlab5,
    save_matlab73,
    write_hdf5,
    write_npy_folder,
    write_tables,
)

RNG = np.random.default_rng(2)


@pytest.fixture
def block_bytes(set_constants):
    return lambda size: set_constants(conversion, BLOCK_BYTES=size)


def assert_read_the_same(source, folder, **options):
    """Check that the folder gives, opened and read, what the source gives when it is read."""
    expected, opened, read = read_views(source, **options), open_views(folder), read_views(folder)
    assert set(opened.views) == set(expected.views)
    order = [list(expected.views).index(name) for name in opened.views]
    for p, name in zip(order, opened.views, strict=True):
        view = expected.views[name]
        values = view.toarray() if sparse.issparse(view) else np.array(view)
        if expected.available is not None and not expected.available[:, p].all():
            values = values.astype(float)
            values[~expected.available[:, p]] = np.nan
        np.testing.assert_array_equal(opened.views[name][:], values)
    available = None if expected.available is None else expected.available[:, order]
    np.testing.assert_array_equal(read.available, available)
    for found in (opened, read):
        np.testing.assert_array_equal(found.target, expected.target)
        np.testing.assert_array_equal(found.sample_ids, expected.sample_ids)


def rows_converted(path, folder):
    """Convert, and return the number of rows of each block."""
    done = [0]
    with listen_to_progress(lambda _, count, __: done.append(count)):
        convert(path, folder)
    return np.diff(done)


def assert_nothing_left(folder):
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


ZEROS = TALL * (np.arange(12) != 5)[:, None]
"""Row 5 is zero, which may mean that it is missing."""


def save_npz(path):
    np.savez(path, a=ZEROS, b=WIDE, y=LABELS, available=AVAILABLE)
    return path


def save_string_labels(path):
    np.savez(path, a=ZEROS, b=WIDE.astype(">f8"), y=np.array(["u", "v", "w"])[LABELS - 1])


def save_hdf5(path):
    write_hdf5(path, a=ZEROS, y=LABELS, mask=AVAILABLE)
    with h5py.File(path, "a") as file:
        file.create_dataset("b", data=WIDE, chunks=(5, 3))


CELLS = {"X": [ZEROS, WIDE, sparse.csr_array(WIDE > 1)], "Y": LABELS[:, None]}
COLUMNS = {"X": [ZEROS.T, WIDE.T], "Y": LABELS[:, None], "mask": AVAILABLE.astype(float)}
SAVERS = {
    "npz": (save_npz, "data.npz"),
    "string labels": (save_string_labels, "data.npz"),
    "mat": (partial(save_matlab5, variables=CELLS), "data.mat"),
    "mat 7.3": (partial(save_matlab73, variables=COLUMNS), "data.mat"),
    "hdf5": (save_hdf5, "data.h5"),
}


@pytest.mark.parametrize("size", [60, 2**20])
@pytest.mark.parametrize(("save", "name"), SAVERS.values(), ids=SAVERS)
def test_arrays(tmp_path, block_bytes, save, name, size):
    block_bytes(size)
    save(tmp_path / name)
    folder = convert(str(tmp_path / name), str(tmp_path / "new"))
    assert folder == tmp_path / "new"
    assert_read_the_same(tmp_path / name, folder)
    marked = convert(tmp_path / name, tmp_path / "marked", zero_rows_missing=True)
    assert_read_the_same(tmp_path / name, marked, zero_rows_missing=True)
    assert not any(np.load(file).dtype.hasobject for file in folder.iterdir())
    assert_nothing_left(tmp_path)


@pytest.mark.parametrize("chunks", [(1000, 1), (7, 4)])
def test_arrays_are_never_read_whole(tmp_path, block_bytes, chunks):
    block_bytes(1600)
    values = RNG.normal(size=(1000, 4))
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file.create_dataset("a", data=values, chunks=chunks, compression="gzip")
    sizes = rows_converted(tmp_path / "data.h5", tmp_path / "new")
    np.testing.assert_array_equal(np.load(tmp_path / "new" / "a.npy"), values)
    # Whole chunks, if they are small enough.
    assert max(sizes) == (49 if chunks[0] == 7 else 50)
    assert sum(sizes) == 1000


INTS = pd.Index([7, 5, 3], name="id")
NULLABLE = {"x": pd.array([1, None, 3], "Int64"), "y": [True, False, True]}
TABLES = {
    "different samples, missing values, ids like numbers": {
        "a_csv": "id,x,y\n0012,1,2.5\nNA,3,\nc,,\n",
        "b_csv": "id,z\nc,7\n12,8\n0012,0\n",
    },
    "integer ids": {"a_csv": "id,x\n3,1\n1,2\n2,0.5\n4,1e-3\n", "b_csv": "id,y\n2,1\n3,2\n"},
    "zeros": {"a_csv": "id,x,y\na,0,0\nb,1,0\nc,1e3,-0.5\n"},
    "string labels": {
        "a_csv": "id,x\na,1\nb,2\nc,3\n",
        "labels_csv": "id,k\nc,z\na,x\nb,01\nnobody,q\n",
    },
    "both formats": {
        "a_parquet": pd.DataFrame({"x": [1.5, 2, 3]}, index=INTS),
        "b_csv": "id,z\n5,1\n7,2\n3,0\n",
        "c_parquet": pd.DataFrame({"id": [3, 8], "x": np.float32([1, 2]), "y": [3, 4]}),
        "y_parquet": pd.DataFrame({"id": [8, 7, 5, 3], "k": [7, 8, 9, 9]}),
    },
    "nullable": {"a_parquet": pd.DataFrame(NULLABLE, index=["u", "v", "w"])},
}


@pytest.mark.parametrize("size", [1, 40, 2**20])
@pytest.mark.parametrize("files", TABLES.values(), ids=TABLES)
def test_tables(tmp_path, block_bytes, files, size):
    block_bytes(size)
    source = write_tables(tmp_path / "source", **files)
    assert_read_the_same(source, convert(source, tmp_path / "new"))
    marked = convert(source, tmp_path / "marked", zero_rows_missing=True)
    assert_read_the_same(source, marked, zero_rows_missing=True)


@pytest.mark.parametrize("name", ["new", "new/mine.txt"])
def test_existing_files_are_not_touched(tmp_path, name):
    existing = tmp_path / name
    existing.parent.mkdir(exist_ok=True)
    existing.write_text("mine")
    # The source does not exist either: nothing is read first.
    with pytest.raises(OutputFileError, match="new: already exists"):
        convert(tmp_path / "none.npz", tmp_path / "new")
    assert existing.read_text() == "mine"


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), RuntimeError("bug")])
def test_interrupted(tmp_path, problem):
    path = save_npz(tmp_path / "data.npz")
    (tmp_path / "new").mkdir()

    def interrupt(_, done, __):
        assert any(path.name.startswith(".anchorview-") for path in tmp_path.iterdir())
        if done > 12:
            raise problem

    with pytest.raises(type(problem)), listen_to_progress(interrupt):
        convert(path, tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []
    assert_nothing_left(tmp_path)


def test_disks_that_are_full_or_fill_up(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    source = write_npy_folder(tmp_path / "source", a=np.ones((2000, 10)))
    # Writes beyond this file size fail as writes to a full disk do.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OutputFileError, match="File too large"):
            convert(source, tmp_path / "new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert {path.name for path in tmp_path.iterdir()} == {"source"}
    # Too little is free to begin with.
    np.savez(tmp_path / "data.npz", a=np.ones((1000, 1000)))
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**7, 3 * 10**6, 7 * 10**6))
    with pytest.raises(OutputFileError, match=r"7\.0 MB free"):
        convert(tmp_path / "data.npz", tmp_path / "new")
    assert {path.name for path in tmp_path.iterdir()} == {"source", "data.npz"}
