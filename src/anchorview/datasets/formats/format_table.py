"""The table of file formats: one entry per format, from which reading and opening follow."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from anchorview.datasets.formats.h5mu import read_h5mu
from anchorview.datasets.formats.hdf5 import open_hdf5
from anchorview.datasets.formats.matlab5 import read_matlab5
from anchorview.datasets.formats.matlab73 import is_matlab73, open_matlab73, read_matlab73
from anchorview.datasets.formats.npy_folder import open_npy_folder
from anchorview.datasets.formats.npz import read_npz
from anchorview.datasets.formats.table_folder import (
    TABLE_FORMATS,
    is_parquet_folder,
    open_parquet_folder,
    read_table_folder,
)
from anchorview.datasets.formats.zarr import is_zarr, open_zarr
from anchorview.views.view_file import View, ViewFile


@dataclass(frozen=True)
class Format:
    """A file or folder format of multi-view data.

    Attributes
    ----------
    name : str
        What messages call it.
    suffixes : tuple of str
        Suffixes, in lower case, of what `kind` says.
    read : callable
        Reads all views into memory.
    open : callable or None
        Opens the views, whose rows are then read by slices; None if the format does not allow it.
    kind : {"file", "store", "folder"}
        A file, a folder that is a store with a suffix of its own, or a folder of files with these
        suffixes, one per view.
    recognizes : callable or None
        Whether a path of this kind has the format, if that does not follow from the suffixes.
    by_id : bool
        Whether views may have different samples, which are matched by their ids.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], ViewFile]
    open: Callable[[Path], ViewFile] | None = None
    kind: Literal["file", "store", "folder"] = "file"
    recognizes: Callable[[Path], bool] | None = None
    by_id: bool = False

    def matches(self, path: Path) -> bool:
        """Whether a path has this format."""
        if path.is_dir() == (self.kind == "file"):
            return False
        if self.recognizes is not None:
            return self.recognizes(path)
        if self.kind == "folder":
            names = (name.lower() for name in os.listdir(path) if not name.startswith("."))
            return any(name.endswith(self.suffixes) for name in names)
        return path.suffix.lower() in self.suffixes


def _all_rows(open_views: Callable[[Path], ViewFile]) -> Callable[[Path], ViewFile]:
    """Return the reader that reads all rows of the views that a function opens."""

    def read(path: Path) -> ViewFile:
        opened = open_views(path)
        ids = opened.sample_ids
        views: dict[str, View] = {}
        for name, view in opened.views.items():
            values = np.asarray(view)
            views[name] = values if ids is None else pd.DataFrame(values, ids, copy=False)
        return replace(opened, views=views)

    return read


# The first format that matches counts.
FORMATS = (
    Format(".npz file", (".npz",), read_npz),
    Format(".mat file of MATLAB 7.3", (".mat",), read_matlab73, open_matlab73, "file", is_matlab73),
    Format(".mat file of MATLAB 5 to 7", (".mat",), read_matlab5),
    Format(".h5 or .hdf5 file", (".h5", ".hdf5"), _all_rows(open_hdf5), open_hdf5),
    Format(".h5mu file", (".h5mu",), read_h5mu),
    Format("Zarr store", (".zarr",), _all_rows(open_zarr), open_zarr, "store", is_zarr),
    Format(
        "folder of .npy files", (".npy",), _all_rows(open_npy_folder), open_npy_folder, "folder"
    ),
    Format(
        "folder of .parquet files",
        (".parquet",),
        read_table_folder,
        open_parquet_folder,
        "folder",
        is_parquet_folder,
        by_id=True,
    ),
    Format(
        f"folder of {' or '.join(TABLE_FORMATS)} files",
        tuple(TABLE_FORMATS),
        read_table_folder,
        kind="folder",
        by_id=True,
    ),
)


def _suffixes_of(kind: str) -> tuple[str, ...]:
    every = (suffix for entry in FORMATS if entry.kind == kind for suffix in entry.suffixes)
    return tuple(dict.fromkeys(every))


FILE_SUFFIXES = _suffixes_of("file")
"""Suffixes of files with several views."""

STORE_SUFFIXES = _suffixes_of("store")
"""Suffixes of folders that are stores."""

MEMBER_SUFFIXES = _suffixes_of("folder")
"""Suffixes of files with one view, which are read as a folder."""


def find_format(path: Path) -> Format | None:
    """Return the format of a path; None if it has none of the formats in the table."""
    return next((entry for entry in FORMATS if entry.matches(path)), None)
