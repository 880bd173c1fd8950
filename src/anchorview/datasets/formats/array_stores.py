"""Views in MATLAB files, in HDF5 files, also of AnnData and MuData objects, and in Zarr stores.

SciPy reads MATLAB's versions 4 to 7. Version 7.3 is HDF5: MATLAB writes arrays transposed, cells as
arrays of references, sparse matrices as groups of the three vectors of their compressed columns,
and its types as attributes.
"""

import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, sparse

from anchorview._utils.errors import DataFileError, optional_import
from anchorview._utils.stores import in_store
from anchorview._utils.typing import Array
from anchorview.datasets.file_contents import (
    OtherArray,
    ReadOptions,
    Variables,
    by_precedence,
    is_label_name,
    labels_by_id,
    opened_views,
    views_among,
)
from anchorview.views.anndata_matrices import parse_selection
from anchorview.views.input_grammar import views_of_modalities
from anchorview.views.matrix_checks import none_if_complete
from anchorview.views.stored_anndata import StoredCells, modality_names, view_of_dataset
from anchorview.views.stored_view import StoredView, Target, ViewFile

ZARR_METADATA = ("zarr.json", ".zgroup", ".zattrs")
"""Files that mark a Zarr store; every store has one of them."""
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
HDF5_START = 512
"""Bytes that MATLAB writes before the signature."""


def read_matlab5(path: Path, options: ReadOptions) -> ViewFile:
    """Read the variables and select the views by MATLAB conventions."""
    with warnings.catch_warnings():
        # SciPy would take the real part to give numbers their types in MATLAB.
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            contents = io.loadmat(path, mat_dtype=True)
        except np.exceptions.ComplexWarning:
            contents = io.loadmat(path)
    variables = {n: _value(value) for n, value in contents.items() if not n.startswith("__")}
    return views_among(variables, path, options.labels, matlab=True)


def _value(value: Any) -> object:
    """An array, a sparse matrix or a list of cells; None for texts, structs and objects."""
    if sparse.issparse(value):
        return _checked(sparse.csc_array(value))
    if not isinstance(value, np.ndarray) or value.dtype.kind in "USV":
        return None
    if value.dtype.kind == "O":
        return [_value(cell) for cell in value.ravel(order="F")]
    return value if _is_matrix(value.shape, value.dtype) else _other(value.shape, value.dtype)


def _is_matrix(shape: tuple[int, ...], dtype: "np.dtype[Any]") -> bool:
    return len(shape) < 3 and dtype.kind in "biuf"


def _other(shape: tuple[int, ...], dtype: "np.dtype[Any]") -> OtherArray | None:
    """An array that cannot be a view; None for scalars and vectors, which are parameters."""
    # MATLAB 7.3 stores complex numbers as pairs with the names real and imag.
    kind = "complex" if dtype.kind == "c" or dtype.names else dtype
    return OtherArray(shape, kind) if len(shape) > 2 or min(shape, default=1) > 1 else None


def _checked(matrix: "sparse.csc_array[Any]") -> "sparse.csc_array[Any]":
    # With an index out of bounds, later conversions would write out of bounds.
    matrix.check_format(full_check=True)
    return matrix


def is_hdf5(path: Path) -> bool:
    """Whether a file is in HDF5, with or without MATLAB's header."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        start = stream.read(HDF5_START + len(HDF5_SIGNATURE))
    return start.startswith(HDF5_SIGNATURE) or start[HDF5_START:] == HDF5_SIGNATURE


def open_matlab73(path: Path, options: ReadOptions) -> ViewFile:
    """Open the matrices that are views by MATLAB conventions; labels and sparse ones are read."""
    h5py = optional_import("h5py", "MATLAB 7.3 files, unless saved with -v7,", "hdf5")
    variables: Variables = {}
    with h5py.File(path, "r") as file:
        # "#refs#" and "#subsystem#" are MATLAB's storage, not variables.
        for name in (name for name in file if not name.startswith("#")):
            is_label, node = is_label_name(name, options.labels), file[name]
            if isinstance(node, h5py.Dataset) and h5py.check_ref_dtype(node.dtype):
                cells = (file[reference] for reference in node[()].ravel())
                variables[name] = [_node_value(cell, is_label) for cell in cells]
            else:
                variables[name] = _node_value(node, is_label)
    return views_among(variables, path, options.labels, matlab=True)


def _node_value(node: Any, is_label: bool) -> object:
    if not hasattr(node, "shape"):
        return _sparse(node) if "MATLAB_sparse" in node.attrs else None
    # An empty array is stored as its shape, and text as character codes: neither is a matrix.
    if "MATLAB_empty" in node.attrs or node.attrs.get("MATLAB_class") in (b"char", "char"):
        return None
    if _is_matrix(node.shape, node.dtype):
        return np.asarray(node[()]).T if is_label else view_of_dataset(node, in_columns=True)
    return _other(node.shape[::-1], node.dtype)


def _sparse(group: Any) -> object:
    starts = group["jc"][()].astype(np.int64)
    # MATLAB omits the vectors of a matrix without entries.
    values = group["data"][()] if "data" in group else np.empty(0)
    rows = group["ir"][()].astype(np.int64) if "ir" in group else np.empty(0, np.int64)
    shape = int(group.attrs["MATLAB_sparse"]), len(starts) - 1
    return _checked(sparse.csc_array((values, rows, starts), shape=shape))


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
