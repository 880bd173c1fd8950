"""Files that declare too much, change, or are not files at all."""

import os
import shutil
import struct

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from anchorview.datasets import convert, file_contents
from anchorview.datasets.formats import npy as npy_format
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


LARGE = {
    "npz": lambda path: np.savez_compressed(path / "a.npz", a=BIG) or path / "a.npz",
    "mat": lambda path: save_matlab5(path / "a.mat", {"X1": BIG}, do_compression=True),
    "sparse mat 7.3": lambda path: save_matlab73(
        path / "a.mat", {"X1": sparse.csc_array((10**8, 3))}
    ),
    "parquet": lambda path: write_tables(path / "a", x_parquet=frame(BIG, IDS)),
    "csv": lambda path: write_tables(path / "a", x_csv=frame(BIG, IDS).to_csv()),
    "hdf5 labels": lambda path: write_hdf5(path / "a.h5", x=TALL, y=np.zeros(10**6, int)),
}


@pytest.mark.parametrize("write", LARGE.values(), ids=LARGE)
def test_arrays_that_do_not_fit_into_memory(write, tmp_path, set_constants):
    path = write(tmp_path)
    set_constants(file_contents, free_memory=lambda: 1e6)
    assert "1.0 MB are free" in error_of(path)


@pytest.mark.parametrize("dimension", [-1, -12, -(2**31)])
def test_negative_dimensions_in_matlab(tmp_path, dimension):
    path = save_matlab5(tmp_path / "a.mat", {"X1": WIDE})
    shape = struct.pack("<ii", *WIDE.shape)
    content = path.read_bytes()
    assert content.count(shape) == 1
    path.write_bytes(content.replace(shape, struct.pack("<ii", dimension, WIDE.shape[1])))
    error_of(path)


# What is not a file, or may not be read.


@pytest.mark.parametrize("name", ["a.npz", "folder/a.csv"])
def test_pipes_are_refused(tmp_path, name):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / name)
    path = tmp_path / name
    assert "pipe" in error_of(path if path.suffix == ".npz" else path.parent)


def test_files_without_permission(tmp_path, monkeypatch):
    # Permissions do not stop an administrator, who may run the tests.
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(tmp_path / "a.npy"))

    write_npy_folder(tmp_path, a=TALL, labels=LABELS)
    monkeypatch.setattr(npy_format, "read_npy_header", refuse)
    message = error_of(tmp_path)
    assert "a.npy" in message
    assert "permission denied" in message
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
    assert f"a.{suffix}" in message
    assert "changed" in message
