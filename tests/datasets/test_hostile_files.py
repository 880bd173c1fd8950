"""Files that declare too much, change, or are not files at all."""

import os

import numpy as np
import pytest

from anchorview._utils import memory
from helpers.view_files import error_of, frame, write_tables

BIG = np.zeros((2000, 500))
IDS = [f"s{i}" for i in range(2000)]

LARGE = {
    "npz": lambda path: np.savez_compressed(path / "a.npz", a=BIG) or path / "a.npz",
    "parquet": lambda path: write_tables(path / "a", x_parquet=frame(BIG, IDS)),
    "csv": lambda path: write_tables(path / "a", x_csv=frame(BIG, IDS).to_csv()),
}


@pytest.mark.parametrize("write", LARGE.values(), ids=LARGE)
def test_arrays_that_do_not_fit_into_memory(write, tmp_path, set_constants):
    path = write(tmp_path)
    set_constants(memory, free_memory=lambda: 1e6)
    assert "but 1.0 MB may be used" in error_of(path)


@pytest.mark.parametrize("name", ["a.npz", "folder/a.csv"])
def test_pipes_are_refused(tmp_path, name):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / name)
    path = tmp_path / name
    assert "pipe" in error_of(path if path.suffix == ".npz" else path.parent)
