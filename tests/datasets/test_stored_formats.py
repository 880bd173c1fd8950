"""Views on disk: every format returns the stored rows, or an error that names the missing ones."""

import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet as pq

from anchorview._utils.errors import DataFileError
from anchorview.datasets.file_contents import ReadOptions
from anchorview.datasets.formats.arrays import from_memmap, open_hdf5, open_npy, open_zarr
from anchorview.datasets.formats.parquet import parquet_view
from anchorview.views.stored_view import StoredView

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(47, 5)).astype(np.float32)
N = len(NUMBERS)


def npy(folder, array=NUMBERS):
    np.save(folder / "a.npy", array)
    return open_npy(folder / "a.npy")


def mapped(folder):
    NUMBERS.tofile(folder / "a.bin")
    return from_memmap(np.memmap(folder / "a.bin", np.float32, "r", shape=NUMBERS.shape))


def hdf5(folder, **options):
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("group/x", data=NUMBERS, **options)
    return open_hdf5(folder / "a.h5", ReadOptions()).views["group/x"]


def zarr_store(folder):
    group = zarr.open_group(str(folder / "a.zarr"), mode="w")
    array = group.create_array("x", shape=NUMBERS.shape, chunks=(8, 5), dtype="f4")
    array[:] = NUMBERS
    return open_zarr(folder / "a.zarr", ReadOptions()).views["x"]


def parquet(folder, rows=8):
    frame = pd.DataFrame(NUMBERS, columns=list("abcde"), index=[f"s{i}" for i in range(N)])
    frame.to_parquet(folder / "a.parquet", row_group_size=rows)
    return parquet_view(folder / "a.parquet", ReadOptions(), "")


fortran = partial(npy, array=np.asfortranarray(NUMBERS))
chunked_hdf5 = partial(hdf5, chunks=(8, 2), compression="gzip")
SAVERS = {
    "npy": npy,
    "fortran": fortran,
    "big endian, fortran": partial(npy, array=np.asfortranarray(NUMBERS.astype(">f4"))),
    "mapped": mapped,
    "chunked hdf5": chunked_hdf5,
    "zarr": zarr_store,
    "parquet": parquet,
}


@pytest.fixture(params=SAVERS.values(), ids=SAVERS)
def view(request, tmp_path):
    return request.param(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(ends=st.tuples(*[st.none() | st.integers(-N - 3, N + 3)] * 2))
def test_any_slice(view, ends):
    found = view[slice(*ends)]
    assert (type(found), found.dtype) == (np.ndarray, np.float32)
    assert found.flags.c_contiguous
    assert found.flags.writeable
    np.testing.assert_array_equal(found, NUMBERS[slice(*ends)])


def test_attributes_and_conversion_to_an_array(view):
    assert isinstance(view, StoredView)
    assert (view.shape, view.dtype, view.ndim, len(view)) == (NUMBERS.shape, np.float32, 2, N)
    assert view.dtype.isnative
    assert view.nbytes == NUMBERS.nbytes
    np.testing.assert_array_equal(np.asarray(view), NUMBERS)
    assert np.asarray(view, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="without a copy"):
        np.array(view, copy=False)


def test_reading_from_many_threads(view):
    starts = list(range(N)) * 4
    with ThreadPoolExecutor(8) as pool:
        blocks = list(pool.map(lambda start: view[start : start + 5], starts))
    for start, block in zip(starts, blocks, strict=True):
        np.testing.assert_array_equal(block, NUMBERS[start : start + 5])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", ">i4", "u8", "f2", ">f8", "g"])
def test_npy_number_types(tmp_path, dtype, order):
    array = (NUMBERS * 5).astype(dtype, order=order)
    view = npy(tmp_path, array)
    assert view.dtype == array.dtype.newbyteorder("=")
    assert view[:].dtype.isnative
    np.testing.assert_array_equal(view[3:8], array[3:8])


@pytest.mark.parametrize("offset", [0, 1, 6, mmap.ALLOCATIONGRANULARITY, 3 * 4096 + 20])
@pytest.mark.parametrize("mode", ["r", "r+"])
def test_slices_of_memory_maps(tmp_path, offset, mode):
    (tmp_path / "a.bin").write_bytes(bytes(offset) + NUMBERS.tobytes() + b"end")
    whole = np.memmap(tmp_path / "a.bin", np.float32, mode, offset, NUMBERS.shape)
    for part, rows in ((whole, slice(None)), (whole[7:30], slice(7, 30)), (whole[7:][2:9][1:], 0)):
        expected = NUMBERS[rows] if rows else NUMBERS[10:16]
        view = from_memmap(part)
        assert view.path == tmp_path / "a.bin"
        np.testing.assert_array_equal(view[:], expected)
        np.testing.assert_array_equal(view[2:4], expected[2:4])


def test_ids_of_slices_and_nulls_of_parquet(tmp_path):
    assert npy(tmp_path).ids(slice(0, 3)) is None
    view = parquet(tmp_path)
    for rows in (slice(None), slice(7, 9), slice(16, 24), slice(40, None), slice(3, 3)):
        assert list(view.ids(rows)) == [f"s{i}" for i in range(N)][rows]
    columns = {
        "id": ["a", "b", "c"],
        "i": pd.array([1, None, 3], "Int64"),
        "b": pd.array([True, False, None], "boolean"),
        "f": pd.array([0.5, None, 1.5], "Float32"),
    }
    pd.DataFrame(columns).to_parquet(tmp_path / "a.parquet")
    found = parquet_view(tmp_path / "a.parquet", ReadOptions(), "")[:]
    np.testing.assert_array_equal(found, [[1, 1, 0.5], [np.nan, 0, np.nan], [3, np.nan, 1.5]])


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_file_shorter_than_its_header_says(tmp_path, order):
    path = npy(tmp_path, np.asarray(NUMBERS, order=order)).path
    os.truncate(path, path.stat().st_size - 10)
    row = N - 1 if order == "C" else N - 3
    with pytest.raises(DataFileError, match=rf"a\.npy: .* rows from {row}"):
        open_npy(path)


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def append(path):
    with path.open("ab") as stream:
        stream.write(bytes(8))


def touch(path):
    now = path.stat()
    os.utime(path, ns=(now.st_atime_ns, now.st_mtime_ns + 1000))


def replace_by_a_copy(path):
    """Another file of the same size and time."""
    now, other = path.stat(), path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(now.st_atime_ns, now.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("save", [npy, parquet])
@pytest.mark.parametrize("change", [truncate, append, touch, replace_by_a_copy])
def test_changed_files_are_not_read(save, change, tmp_path):
    view = save(tmp_path)
    change(view.path)
    with pytest.raises(DataFileError, match=r"a\.\w+: rows 40 to 46 .*changed"):
        view[40:47]


def overwrite(path, position, count):
    with path.open("r+b") as stream:
        stream.seek(position)
        stream.write(b"\xff" * count)


def damaged_hdf5(folder):
    view = chunked_hdf5(folder)
    with h5py.File(view.path) as file:
        chunk = file["group/x"].id.get_chunk_info(6)
    overwrite(view.path, chunk.byte_offset + chunk.size // 2, 8)
    return open_hdf5(view.path, ReadOptions()).views["group/x"]


def damaged_parquet(folder):
    view = parquet(folder)
    group = pq.ParquetFile(view.path).metadata.row_group(2)
    overwrite(view.path, group.column(0).data_page_offset, 12)
    return parquet_view(view.path, ReadOptions(), "")


@pytest.mark.parametrize("save", [damaged_hdf5, damaged_parquet])
def test_damaged_third_chunk(save, tmp_path):
    view = save(tmp_path)
    np.testing.assert_array_equal(view[:16], NUMBERS[:16])
    with pytest.raises(DataFileError, match=r"a\.\w+: rows 15 to 17"):
        view[15:18]
