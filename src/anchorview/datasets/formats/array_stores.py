"""Views in HDF5 files, also of AnnData and MuData objects, and in Zarr stores, read by slices."""

import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from anchorview._utils.errors import DataFileError, optional_import
from anchorview._utils.stores import in_store
from anchorview._utils.typing import Array
from anchorview.datasets.file_contents import (
    ReadOptions,
    by_precedence,
    labels_by_id,
    opened_views,
)
from anchorview.views.anndata_matrices import parse_selection
from anchorview.views.input_grammar import views_of_modalities
from anchorview.views.matrix_checks import none_if_complete
from anchorview.views.stored_anndata import StoredCells, modality_names, view_of_dataset
from anchorview.views.stored_view import StoredView, Target, ViewFile

ZARR_METADATA = ("zarr.json", ".zgroup", ".zattrs")
"""Files that mark a Zarr store; every store has one of them."""


def _read_dataset(node: Any) -> Array:
    """Read a whole dataset; text as strings."""
    # Objects are texts of any length.
    return np.asarray(node.asstr()[()], dtype=str) if node.dtype.kind in "OS" else node[()]


def open_hdf5(path: Path, options: ReadOptions) -> ViewFile:
    """Open the datasets of a file, including those in groups."""
    h5py = optional_import("h5py", "HDF5 files", "hdf5")
    nodes: dict[str, Any] = {}
    with h5py.File(path, "r") as file:
        file.visititems(nodes.__setitem__)
        # A dataset may be empty in the sense that it has no shape at all.
        arrays = {
            name: node
            for name, node in nodes.items()
            if isinstance(node, h5py.Dataset) and node.shape is not None
        }
        return opened_views(arrays, path, options.labels, _read_dataset, view_of_dataset)


def _zarr() -> Any:
    return optional_import("zarr", "Zarr stores", "zarr")


def _store(path: Path) -> Any:
    """Store of Zarr in a folder, or in an object store with its options."""
    if not in_store(path):
        return str(path)
    place: Any = path
    options = dict(place.storage_options)
    return _zarr().storage.FsspecStore.from_url(str(path), storage_options=options, read_only=True)


@dataclass(frozen=True, eq=False)
class ZarrView(StoredView):
    """An array in a Zarr store in a folder."""

    key: str

    def _read(self, start: int, stop: int) -> Array:
        node = _zarr().open_array(_store(self.path), path=self.key, mode="r")
        if node.shape != self.shape:
            raise ValueError(f"the array {self.key!r} now has the shape {node.shape}")
        return np.asarray(node[start:stop])


def open_zarr(path: Path, options: ReadOptions) -> ViewFile:
    """Open the arrays of a store, including those in groups."""
    zarr = _zarr()
    with warnings.catch_warnings():
        # Other files in the folder are not our concern.
        warnings.filterwarnings("ignore", message=".*not recognized as a component")
        members = zarr.open_group(_store(path), mode="r").members(max_depth=None)

    def view_of_array(node: Any) -> ZarrView:
        dtype = node.dtype.newbyteorder("=")
        return ZarrView(path, node.shape, dtype, node.path, row_step=node.chunks[0])

    nodes = {name: node for name, node in members if isinstance(node, zarr.Array)}
    return opened_views(nodes, path, options.labels, _read_array, view_of_array)


def _read_array(node: Any) -> Array:
    """Read a whole array; text as strings."""
    values = np.asarray(node[...])
    return np.array(values.tolist(), dtype=str) if values.dtype.kind in "TO" else values


def open_annotated(path: Path, options: ReadOptions) -> ViewFile:
    """Open the modalities of a MuData file, or matrices of an AnnData file; by default ``X``."""
    for package in ("h5py", "anndata"):
        optional_import(package, "Files of AnnData and MuData", "mudata")
    whole = StoredCells(path)
    ids = whole.obs_names
    try:
        choices = None if options.views is None else parse_selection(options.views)
        if path.suffix.lower() == ".h5ad":
            cells = dict.fromkeys(choices or ["view_0"], whole)
        else:
            cells = {name: StoredCells(path, f"/mod/{name}") for name in modality_names(path)}
        found = views_of_modalities(whole, cells, choices)
    except ValueError as error:
        raise DataFileError(str(error)) from error
    target: Target = None
    for name in by_precedence(whole.obs_columns, options.labels)[:1]:
        target = labels_by_id(whole.obs_column(name), ids, f"the column {name!r} of obs")
    by_name = partial(zip, found.names, strict=True)
    views, features = dict(by_name(found.views)), dict(by_name(found.feature_names))
    assert found.available is not None
    available = none_if_complete(found.available)
    return ViewFile(views, target, path, ids, available, features, options.views)
