"""The table of file formats: one entry per format, from which reading and opening follow."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from anchorview._utils.typing import FeatureNames
from anchorview.datasets.file_contents import ReadOptions, require_free_memory
from anchorview.datasets.formats.annotated_files import (
    open_h5ad,
    open_h5mu,
    read_h5ad,
    read_h5mu,
)
from anchorview.datasets.formats.hdf5 import open_hdf5
from anchorview.datasets.formats.matlab5 import read_matlab5
from anchorview.datasets.formats.matlab73 import is_hdf5, open_matlab73, read_matlab73
from anchorview.datasets.formats.npy import read_npz
from anchorview.datasets.formats.npy_folder import open_npy_folder
from anchorview.datasets.formats.table_folder import (
    CSV_SUFFIXES,
    open_parquet_folder,
    read_table_folder,
)
from anchorview.datasets.formats.zarr import METADATA_FILES, open_zarr
from anchorview.views.stored_view import StoredView, View, ViewFile
from anchorview.views.table_columns import feature_names_of


@dataclass(frozen=True)
class Format:
    """A file or folder format of multi-view data."""

    name: str
    suffixes: tuple[str, ...]
    """In lower case; of the files in the folder if the kind is "folder"."""
    read: Callable[[Path, ReadOptions], ViewFile]
    """Reads all views of a path into memory."""
    open: Callable[[Path, ReadOptions], ViewFile] | None = None
    """Opens the views, whose rows are then read by slices; None if the format cannot do that."""
    kind: Literal["file", "store", "folder"] = "file"
    """A file, a folder with a suffix of its own, or a folder with one file per view."""
    requires: Callable[[Path], bool] | None = None
    """Condition on the contents, in addition to the suffix."""
    markers: tuple[str, ...] = ()
    """Names of files by which a store without a suffix is recognized."""
    by_id: bool = False
    """Whether views may have different samples, which are matched by their ids."""
    selects: bool = False
    """Whether it has several matrices per view, of which ``ReadOptions.views`` selects one."""

    def matches(self, path: Path) -> bool:
        """Whether a path has this format."""
        if path.is_dir() == (self.kind == "file"):
            return False
        if self.kind == "folder":
            names = (name.lower() for name in os.listdir(path) if not name.startswith("."))
            return any(name.endswith(self.suffixes) for name in names)
        if any((path / name).exists() for name in self.markers):
            return True
        fits = path.suffix.lower() in self.suffixes
        return fits if self.requires is None else fits and self.requires(path)


def _all_rows(
    open_views: Callable[[Path, ReadOptions], ViewFile],
) -> Callable[[Path, ReadOptions], ViewFile]:
    """Return the reader that reads all rows of the views that a function opens."""

    def read(path: Path, options: ReadOptions) -> ViewFile:
        opened = open_views(path, options)
        stored = [view for view in opened.views.values() if isinstance(view, StoredView)]
        require_free_memory(float(sum(view.nbytes for view in stored)), "reading the views")
        ids = opened.sample_ids
        views: dict[str, View] = {}
        features: dict[str, FeatureNames] = {}
        for name, view in opened.views.items():
            values, names = np.asarray(view), feature_names_of(view)
            views[name] = values if ids is None else pd.DataFrame(values, ids, names, copy=False)
            if names is not None:
                features[name] = names
        return replace(opened, views=views, feature_names=features)

    return read


# The first format that matches counts.
FORMATS = (
    Format(".npz file", (".npz",), read_npz),
    Format(".mat file of MATLAB 7.3", (".mat",), read_matlab73, open_matlab73, requires=is_hdf5),
    Format(".mat file of MATLAB 5 to 7", (".mat",), read_matlab5),
    Format(".h5 or .hdf5 file", (".h5", ".hdf5"), _all_rows(open_hdf5), open_hdf5),
    Format(".h5mu file", (".h5mu",), read_h5mu, open_h5mu, selects=True),
    Format(".h5ad file", (".h5ad",), read_h5ad, open_h5ad, selects=True),
    Format(
        "Zarr store", (".zarr",), _all_rows(open_zarr), open_zarr, "store", markers=METADATA_FILES
    ),
    Format(
        "folder of .npy files", (".npy",), _all_rows(open_npy_folder), open_npy_folder, "folder"
    ),
    # Tables that are all in Parquet can stay on disk.
    Format(
        "folder of .csv, .tsv or .parquet files",
        CSV_SUFFIXES,
        read_table_folder,
        None,
        "folder",
        by_id=True,
    ),
    Format(
        "folder of .parquet files",
        (".parquet",),
        read_table_folder,
        open_parquet_folder,
        "folder",
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
