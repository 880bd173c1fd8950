"""Views in HDF5 and Zarr files, read block by block; each needs a package of its own."""

import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from anchorview._typing import Array
from anchorview.files import MissingPackageError
from anchorview.stored import StoredView


def package(name: str, files: str, extra: str) -> Any:
    """Import an optional package.

    Parameters
    ----------
    name : str
        The module.
    files : str
        What messages call the files that need it.
    extra : str
        The extra of anchorview that brings it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            f'{files} need {name.partition(".")[0]}: pip install "anchorview[{extra}]".'
        ) from error


def _h5py() -> Any:
    return package("h5py", "HDF5 files", "hdf5")


def _zarr() -> Any:
    return package("zarr", "Zarr stores", "zarr")


@dataclass(frozen=True, eq=False)
class Hdf5View(StoredView):
    """A dataset in an HDF5 file, with samples as its rows or its columns."""

    key: str
    in_columns: bool

    @property
    def T(self) -> "Hdf5View":
        """The view with samples and features exchanged."""
        return open_hdf5(self.path, self.key, not self.in_columns)

    def _read(self, start: int, stop: int) -> Array:
        # Opened for each read: an open file can be neither pickled nor taken into a fork.
        with _h5py().File(self.path, "r") as file:
            node = file[self.key]
            if len(self) != node.shape[self.in_columns]:
                raise ValueError(f"the dataset {self.key!r} now has the shape {node.shape}")
            return node[:, start:stop].T if self.in_columns else node[start:stop]


def hdf5_view(path: Path, node: Any, in_columns: bool) -> Hdf5View:
    """View of an open 2-D numeric dataset."""
    shape = node.shape[::-1] if in_columns else node.shape
    step = node.chunks[in_columns] if node.chunks else 1
    dtype = node.dtype.newbyteorder("=")
    return Hdf5View(path, shape, dtype, node.name, in_columns, row_step=step)


def open_hdf5(path: Path, key: str, in_columns: bool = False) -> Hdf5View:
    """Open a 2-D numeric dataset as a view."""
    with _h5py().File(path, "r") as file:
        return hdf5_view(path, file[key], in_columns)


def read_hdf5(path: Path, key: str) -> Array:
    """Read a whole dataset; text as strings."""
    h5py = _h5py()
    with h5py.File(path, "r") as file:
        node = file[key]
        if h5py.check_string_dtype(node.dtype) is not None:
            return np.asarray(node.asstr()[()], dtype=str)
        return np.asarray(node[()])


def hdf5_datasets(path: Path) -> "dict[str, tuple[tuple[int, ...], np.dtype[Any]]]":
    """Shape and type of all datasets, in groups too, by their names."""
    h5py = _h5py()
    names: list[str] = []
    with h5py.File(path, "r") as file:
        file.visit(names.append)
        nodes = {name: file[name] for name in names}
        return {
            name: (node.shape, node.dtype)
            for name, node in nodes.items()
            # A dataset may be empty in the sense that it has no shape at all.
            if isinstance(node, h5py.Dataset) and node.shape is not None
        }


@dataclass(frozen=True, eq=False)
class ZarrView(StoredView):
    """An array in a Zarr store in a folder."""

    key: str

    def _read(self, start: int, stop: int) -> Array:
        node = _zarr().open_array(str(self.path), path=self.key, mode="r")
        if node.shape != self.shape:
            raise ValueError(f"the array {self.key!r} now has the shape {node.shape}")
        return np.asarray(node[start:stop])


def zarr_view(path: Path, node: Any) -> ZarrView:
    """View of an open 2-D numeric array."""
    dtype = node.dtype.newbyteorder("=")
    return ZarrView(path, node.shape, dtype, node.path, row_step=node.chunks[0])


def zarr_arrays(path: Path) -> list[tuple[str, Any]]:
    """List all arrays, in groups too, with their names."""
    zarr = _zarr()
    with warnings.catch_warnings():
        # Files of others in the folder are none of our business.
        warnings.filterwarnings("ignore", message=".*not recognized as a component")
        group = zarr.open_group(str(path), mode="r")
        members = group.members(max_depth=None)
    return [(name, node) for name, node in members if isinstance(node, zarr.Array)]


def read_zarr(node: Any) -> Array:
    """Read a whole array; text as strings."""
    values = np.asarray(node[...])
    return np.array(values.tolist(), dtype=str) if values.dtype.kind in "TO" else values
