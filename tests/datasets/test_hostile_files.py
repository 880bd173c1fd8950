"""Files that declare too much, point to other files, or are not files at all."""

import os
import shutil
import struct
import zlib

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from anchorview._utils.text import format_bytes
from anchorview.datasets import convert, file_contents, read_views
from anchorview.datasets.formats import npy as npy_format
from helpers import mutated_data
from helpers.view_files import (
    LABELS,
    TALL,
    WIDE,
    error_of,
    frame,
    save_matlab5,
    save_matlab73,
    write_hdf5,
    write_npy_folder,
    write_tables,
)

BIG = np.zeros((2000, 500))
IDS = [f"s{i}" for i in range(2000)]


# Sizes that files declare.


def write_compressed_table(folder):
    folder.mkdir()
    frame(BIG, IDS).to_csv(folder / "x.csv.gz")
    return folder


LARGE = {
    "npz": lambda path: np.savez_compressed(path / "a.npz", a=BIG) or path / "a.npz",
    "mat": lambda path: save_matlab5(path / "a.mat", {"X1": BIG}, do_compression=True),
    "mat 7.3": lambda path: save_matlab73(path / "a.mat", {"X1": BIG}),
    "sparse mat": lambda path: save_matlab5(path / "a.mat", {"X1": sparse.csc_array((10**8, 3))}),
    "sparse mat 7.3": lambda path: save_matlab73(
        path / "a.mat", {"X1": sparse.csc_array((10**8, 3))}
    ),
    "parquet": lambda path: write_tables(path / "a", x_parquet=frame(BIG, IDS)),
    "csv": lambda path: write_tables(path / "a", x_csv=frame(BIG, IDS).to_csv()),
    "csv.gz": lambda path: write_compressed_table(path / "a"),
    "npy": lambda path: write_npy_folder(path / "a", x=BIG),
    "hdf5": lambda path: write_hdf5(path / "a.h5", x=BIG),
    "h5mu": mutated_data.WRITERS["h5mu"],
    "hdf5 labels": lambda path: write_hdf5(path / "a.h5", x=TALL, y=np.zeros(10**6, int)),
}


@pytest.mark.parametrize("write", LARGE.values(), ids=LARGE)
def test_arrays_that_do_not_fit_into_memory(write, tmp_path, set_constants):
    path = write(tmp_path)
    free = 1e3 if path.suffix == ".h5mu" else 1e6
    set_constants(file_contents, free_memory=lambda: free)
    message = error_of(path)
    assert "of memory, but " in message
    assert f"{format_bytes(free)} are free" in message


def test_compressed_element_with_a_wrong_size(tmp_path):
    path = save_matlab5(tmp_path / "a.mat", {"X1": WIDE}, do_compression=True)
    content = bytearray(path.read_bytes())
    element = bytearray(zlib.decompress(bytes(content[136:])))
    for size in (2**32 - 8, len(element), 8, 0):
        element[4:8] = struct.pack("<I", size)
        packed = zlib.compress(bytes(element))
        path.write_bytes(content[:128] + struct.pack("<II", 15, len(packed)) + packed)
        error_of(path)


@pytest.mark.parametrize("dimension", [-1, -12, -(2**31)])
def test_negative_dimensions_in_matlab(tmp_path, dimension):
    path = save_matlab5(tmp_path / "a.mat", {"X1": WIDE})
    shape = struct.pack("<ii", *WIDE.shape)
    content = path.read_bytes()
    assert content.count(shape) == 1
    path.write_bytes(content.replace(shape, struct.pack("<ii", dimension, WIDE.shape[1])))
    assert "impossible shape" in error_of(path)


# Data in other files.


def external_link(file, other):
    file["b"] = h5py.ExternalLink(other, "x")


def external_storage(file, other):
    where = [(str(other), 0, WIDE.nbytes)]
    file.create_dataset("b", WIDE.shape, WIDE.dtype, external=where)


def virtual_dataset(file, other):
    layout = h5py.VirtualLayout(WIDE.shape, WIDE.dtype)
    layout[:] = h5py.VirtualSource(str(other), "x", WIDE.shape)
    file.create_virtual_dataset("b", layout)


@pytest.mark.parametrize("suffix", [".h5", ".mat", ".h5mu"])
@pytest.mark.parametrize("add", [external_link, external_storage, virtual_dataset])
def test_data_in_other_files_are_refused(tmp_path, add, suffix):
    other = write_hdf5(tmp_path / "other.h5", x=WIDE)
    path = write_hdf5(tmp_path / f"a{suffix}", group__a=WIDE)
    with h5py.File(path, "a") as file:
        add(file["group"], other)
    message = error_of(path)
    assert "'group/b' is in another file" in message


def test_strings_that_hdf5_would_read_forever(tmp_path):
    path = write_hdf5(tmp_path / "a.h5", x=WIDE)
    with h5py.File(path, "a") as file:
        file.create_dataset("y", data=list("aabbccddeeff"), dtype=h5py.string_dtype())
    assert list(read_views(path).target[:2]) == ["a", "a"]
    content = bytearray(path.read_bytes())
    second = content.index(b"GCOL") + 16 + 24
    content[second : second + 16] = bytes(16)
    path.write_bytes(content)
    assert "strings in the HDF5 file are damaged" in error_of(path)


@pytest.mark.parametrize("place", ["dataset", "attribute"])
def test_sequences_of_variable_length_are_refused(tmp_path, place):
    """A damaged type of a string looks like one, and reading it ends the process."""
    path = mutated_data.WRITERS["h5mu"](tmp_path)
    with h5py.File(path, "a") as file:
        if place == "dataset":
            file.create_dataset("uns/odd", (2,), dtype=h5py.vlen_dtype(np.int32))
        else:
            values = np.empty(1, dtype=object)
            values[0] = np.arange(3, dtype=np.int32)
            file["uns"].attrs.create("odd", values, dtype=h5py.vlen_dtype(np.int32))
    assert "has sequences of variable length" in error_of(path)
    labels = write_hdf5(tmp_path / "a.h5", x=TALL)
    with h5py.File(labels, "a") as file:
        file.create_dataset("y", (12,), dtype=h5py.vlen_dtype(np.int32))
    assert "'y' has sequences of variable length" in error_of(labels)


# What is not a file, or may not be read.


@pytest.mark.parametrize("name", ["a.npz", "a.mat", "a.h5", "a.h5mu", "a.txt"])
def test_pipes_are_refused(tmp_path, name):
    os.mkfifo(tmp_path / name)
    assert "it is a pipe, a socket or a device" in error_of(tmp_path / name)


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.npy", "labels.csv"])
def test_pipes_in_folders_are_refused(tmp_path, name):
    if name.endswith(".npy"):
        write_npy_folder(tmp_path, a=TALL)
    else:
        write_tables(tmp_path, a_csv="id,x\na,1\nb,2\n")
    os.mkfifo(tmp_path / name)
    assert f"{name}: cannot be read: it is a pipe" in error_of(tmp_path)


def test_files_without_permission(tmp_path, monkeypatch):
    # Permissions do not stop an administrator, who may run the tests.
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(tmp_path / "a.npy"))

    write_npy_folder(tmp_path, a=TALL, labels=LABELS)
    monkeypatch.setattr(npy_format, "read_npy_header", refuse)
    message = error_of(tmp_path)
    assert "a.npy: cannot be read: permission denied" in message
    assert "damaged" not in message
    monkeypatch.setattr(os, "listdir", refuse)
    assert "permission denied" in error_of(tmp_path)


# Files that change.


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_table_that_changes_during_a_conversion(tmp_path, suffix, monkeypatch):
    path = tmp_path / "tables"
    table = pd.DataFrame({"x": np.arange(5.0)}, index=list("abcde"))
    write_tables(path, **{f"a_{suffix}": table.to_csv() if suffix == "csv" else table})
    usage = shutil.disk_usage

    def usage_after_a_change(folder):
        other = write_tables(tmp_path / "t", **{f"a_{suffix}": table[::-1].to_csv()})
        (other / f"a.{suffix}").replace(path / f"a.{suffix}")
        return usage(folder)

    monkeypatch.setattr(shutil, "disk_usage", usage_after_a_change)
    message = error_of(path, lambda path: convert(path, tmp_path / "new"))
    assert f"a.{suffix}: it cannot be read: the file has changed since it was opened" in message
