"""Views in HDF5 files, read by slices. Needs h5py."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from anchorview._utils.optional_imports import optional_import
from anchorview._utils.typing import Array
from anchorview.datasets.file_arrays import UnreadArray, open_arrays
from anchorview.views.stored_view import StoredView
from anchorview.views.view_file import ViewFile


def _h5py() -> Any:
    return optional_import("h5py", "HDF5 files", "hdf5")


@dataclass(frozen=True, eq=False)
class Hdf5View(StoredView):
    """A dataset in an HDF5 file, with samples as its rows or its columns."""

    key: str
    in_columns: bool

    @property
    def T(self) -> "Hdf5View":
        """The view with samples and features exchanged."""
        return open_dataset(self.path, self.key, not self.in_columns)

    def _read(self, start: int, stop: int) -> Array:
        # Opened for each read: an open file can neither be pickled nor survive a fork.
        with _h5py().File(self.path, "r") as file:
            node = file[self.key]
            if len(self) != node.shape[self.in_columns]:
                raise ValueError(f"the dataset {self.key!r} now has the shape {node.shape}")
            return node[:, start:stop].T if self.in_columns else node[start:stop]


def view_of_dataset(path: Path, node: Any, in_columns: bool) -> Hdf5View:
    """Return the view of an open 2-D numeric dataset."""
    shape = node.shape[::-1] if in_columns else node.shape
    step = node.chunks[in_columns] if node.chunks else 1
    dtype = node.dtype.newbyteorder("=")
    return Hdf5View(path, shape, dtype, node.name, in_columns, row_step=step)


def open_dataset(path: Path, key: str, in_columns: bool = False) -> Hdf5View:
    """Open a 2-D numeric dataset as a view."""
    with _h5py().File(path, "r") as file:
        return view_of_dataset(path, file[key], in_columns)


def _read_dataset(path: Path, key: str) -> Array:
    """Read a whole dataset; text as strings."""
    h5py = _h5py()
    with h5py.File(path, "r") as file:
        node = file[key]
        if h5py.check_string_dtype(node.dtype) is not None:
            return np.asarray(node.asstr()[()], dtype=str)
        return np.asarray(node[()])


def open_hdf5(path: Path) -> ViewFile:
    """Open the datasets of a file, including those in groups."""
    h5py = _h5py()
    names: list[str] = []
    arrays = {}
    with h5py.File(path, "r") as file:
        file.visit(names.append)
        for name in names:
            node = file[name]
            # A dataset may be empty in the sense that it has no shape at all.
            if isinstance(node, h5py.Dataset) and node.shape is not None:
                read, opener = partial(_read_dataset, path, name), partial(open_dataset, path, name)
                arrays[name] = UnreadArray(node.shape, node.dtype, read, opener)
    return open_arrays(path, arrays)
