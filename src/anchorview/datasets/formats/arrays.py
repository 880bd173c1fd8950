"""Arrays in files: NumPy, MATLAB, HDF5, also of AnnData and MuData objects, and Zarr stores.

NumPy's may be in folders and archives, and mapped to memory; objects are never unpickled. SciPy
reads MATLAB's versions 4 to 7. Version 7.3 is HDF5: MATLAB writes arrays transposed, cells as
arrays of references, sparse matrices as groups of the three vectors of their compressed columns,
and its types as attributes.
"""

import json
import os
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import io, sparse

from anchorview._utils.errors import DataFileError, optional_import
from anchorview._utils.memory import require_memory
from anchorview._utils.stores import in_store
from anchorview._utils.text import one_line
from anchorview._utils.threads import ThreadBuffer
from anchorview._utils.typing import Array
from anchorview.datasets.file_contents import (
    OtherArray,
    ReadOptions,
    Variables,
    by_precedence,
    data_file_errors,
    is_label_name,
    labels_by_id,
    opened_views,
    require_regular_file,
    views_among,
)
from anchorview.datasets.formats.table_files import files_by_name
from anchorview.views.anndata_matrices import parse_selection
from anchorview.views.input_grammar import views_of_modalities
from anchorview.views.stored_anndata import StoredCells, modality_names, view_of_dataset
from anchorview.views.stored_view import StoredView, Target, View, ViewFile

ROWS_COMPARED = 64
"""Number of rows in which a memory map is compared with the file."""

LABELS = "labels"
SAMPLE_IDS = "sample_ids"
FEATURE_NAMES = "feature_names.json"

RESULT_VECTORS, LEVEL_LABELS = ("confidence", "second_labels"), "level_labels"
"""What a fit writes beside the embedding and the labels: vectors, and labels at other numbers of
clusters, a column each. They are no views."""

ZARR_METADATA = ("zarr.json", ".zgroup", ".zattrs")
"""Files that mark a Zarr store; every store has one of them."""
HDF5_SIGNATURE, HDF5_START = b"\x89HDF\r\n\x1a\n", 512
"""What HDF5 begins with, and the bytes that MATLAB writes before it."""


@dataclass(frozen=True, eq=False)
class NpyView(StoredView):
    """An array in an uncompressed file, such as ``.npy``, whose numbers start at `offset`.

    They are stored in column-major order if `fortran`, and in the byte order of the file.
    """

    offset: int
    stored: "np.dtype[Any]"
    fortran: bool

    def _read(self, start: int, stop: int) -> Array:
        return self._read_into(None, start, stop)

    def _read_into(self, buffer: ThreadBuffer | None, start: int, stop: int) -> Array:
        n_rows, (n, width) = stop - start, self.shape
        # In column-major order, the columns one after the other.
        shape = (width, n_rows) if self.fortran else (n_rows, width)
        values = (np.empty if buffer is None else buffer.array)(shape, self.stored)
        places = [j * n + start for j in range(width)] if self.fortran else [start * width]
        # Not by a memory map: its pages would count as memory of the process.
        with self.path.open("rb") as stream:
            for place, part in zip(places, values if self.fortran else [values], strict=True):
                stream.seek(self.offset + place * self.stored.itemsize)
                n_read = stream.readinto(part) // self.stored.itemsize
        # Of a truncated file, what the last part has of it.
        return values[:, :n_read].T if self.fortran else values[: n_read // width]


def write_npy_header(stream: IO[bytes], shape: tuple[int, ...], dtype: "np.dtype[Any]") -> None:
    """Write the header of an array; its rows follow."""
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(stream, header)


def _described(path: Path) -> Any:
    """Read the header of a file; an array that is no view has another shape or type."""
    with data_file_errors(path):
        require_regular_file(path)
        with path.open("rb") as stream:
            lib = np.lib.format
            is_short = lib.read_magic(stream) == (1, 0)
            # Version 3 differs only in the encoding of field names, and a view has no fields.
            read = lib.read_array_header_1_0 if is_short else lib.read_array_header_2_0
            shape, fortran, dtype = read(stream)
            # A single row or column is in both orders.
            fortran = fortran and min(shape, default=0) > 1
            native = dtype.newbyteorder("=")
            return NpyView(path, cast(Any, shape), native, stream.tell(), dtype, fortran)


def open_npy(path: str | os.PathLike[str]) -> NpyView:
    """Open a ``.npy`` file with a view: one row per sample, one column per feature."""
    return _checked_view(_described(Path(path)))


def _checked_view(view: NpyView) -> NpyView:
    path, shape, dtype = view.path, view.shape, view.stored
    if len(shape) != 2 or dtype.kind not in "biuf" or 0 in shape:
        raise DataFileError(
            f"{path}: holds {OtherArray(shape, dtype)}, not a view. Store a 2-D numeric array, "
            "samples x features."
        )
    n_samples, width = shape
    n_values = (path.stat().st_size - view.offset) // dtype.itemsize
    if n_values < n_samples * width:
        # In column-major order, the last column is the first to lack rows.
        row = max(0, n_values - (width - 1) * n_samples) if view.fortran else n_values // width
        raise DataFileError(
            f"{path}: the header promises {n_samples} x {width} {dtype} values, but the file is "
            f"too short: rows from {row} on are missing. Copy it again."
        )
    return view


def from_memmap(array: "np.memmap[Any, Any]") -> StoredView | None:
    """View of the file under a memory map or consecutive rows of one; None if it has no longer."""
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    is_mapped = isinstance(root, np.memmap) and root.base is not None and root.mode != "c"
    is_matrix = array.ndim == 2 and array.dtype.kind in "biuf" and array.size > 0
    in_rows = array.flags.c_contiguous
    if not (is_mapped and root.filename and is_matrix and (in_rows or array.flags.f_contiguous)):
        return None
    if root.mode != "r":
        root.flush()
    # A slice has the offset of the whole map; only its address shows where it starts.
    offset = root.offset + array.ctypes.data - root.ctypes.data
    dtype = array.dtype.newbyteorder("=")
    view = NpyView(Path(root.filename), array.shape, dtype, offset, array.dtype, not in_rows)
    # The file may have been truncated, or replaced by another one, while the map has the old one.
    starts = np.unique(np.linspace(0, len(view) - 1, ROWS_COMPARED).astype(int)).tolist()
    rows = [slice(start, start + 1) for start in starts]
    with suppress(DataFileError):
        same = all(view[r].tobytes() == array[r].astype(dtype).tobytes() for r in rows)
        return view if same else None
    return None


def read_npz(path: Path, options: ReadOptions) -> ViewFile:
    """Read all matrices of an archive as views."""
    arrays: Variables = {}
    # numpy.load leaves a file open that it opened itself and cannot read.
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        require_memory(sum(m.file_size for m in archive.zip.infolist()), "Reading the arrays")
        for name in archive.files:
            try:
                array = archive[name]
            except ValueError as error:
                raise DataFileError(
                    f"array {name!r} cannot be read ({one_line(error)}). Save it again as a plain "
                    "numeric array; pickled objects are never loaded."
                ) from error
            # Members that are not arrays are bytes.
            if isinstance(array, np.ndarray):
                arrays[name] = array
    return views_among(arrays, path, options.labels)


def open_npy_folder(folder: Path, options: ReadOptions) -> ViewFile:
    """Open the files of a folder."""
    files = files_by_name(folder, (".npy",), (FEATURE_NAMES,))
    ids = _sample_ids(files.pop(SAMPLE_IDS)) if SAMPLE_IDS in files else None
    headers = {name: _described(file) for name, file in files.items()}
    for name in RESULT_VECTORS:
        if name in headers and len(headers[name].shape) == 1:
            del headers[name]
    # Labels of other levels have the type of labels, and views of integers hardly this name.
    if LEVEL_LABELS in headers and headers[LEVEL_LABELS].dtype == np.int32:
        del headers[LEVEL_LABELS]
    opened = opened_views(headers, folder, options.labels, _read_whole, _checked_view)
    opened = replace(opened, views=_with_feature_names(opened.views, folder / FEATURE_NAMES))
    if ids is None:
        return opened
    n_samples = next(iter(opened.views.values())).shape[0]
    if len(ids) != n_samples:
        raise DataFileError(
            f"{SAMPLE_IDS}.npy has {len(ids)} ids, but the views have {n_samples} samples. Store "
            "one id per sample."
        )
    target: Target = None if opened.target is None else pd.Series(opened.target, index=ids)
    return replace(opened, target=target, sample_ids=ids)


def _with_feature_names(views: dict[str, View], file: Path) -> dict[str, View]:
    """Views with the feature names in a file of the folder, if there is one."""
    if not file.exists():
        return views
    named: dict[str, Any] = dict(views)
    with data_file_errors(file):
        stored = json.loads(file.read_bytes())
        for name in views.keys() & stored.keys():
            view, features = named[name], stored[name]
            are_names = isinstance(features, list) and all(isinstance(f, str) for f in features)
            if not are_names or len(features) != view.shape[1]:
                raise DataFileError(
                    f"must have a list of {view.shape[1]} names for the view {name!r}. Correct or "
                    "remove it."
                )
            named[name] = replace(view, feature_names=np.array(features, dtype=object))
    return named


def _read_whole(view: NpyView) -> NDArray[Any]:
    with data_file_errors(view.path):
        return np.load(view.path, allow_pickle=False)


def _sample_ids(file: Path) -> "pd.Index[Any]":
    with data_file_errors(file):
        array = _described(file)
        if len(array.shape) != 1 or array.dtype.kind not in "iuU":
            other = OtherArray(array.shape, array.dtype)
            raise DataFileError(f"holds {other}. Store one vector of integers or strings.")
        values = _read_whole(array)
        ids = pd.Index(values.tolist() if values.dtype.kind == "U" else values.astype(np.int64))
        if repeated := ids[ids.duplicated()].tolist():
            raise DataFileError(
                f"the sample id {repeated[0]!r} occurs more than once. Keep one row per sample."
            )
        return ids


def without_objects(values: Any) -> NDArray[Any]:
    """Convert to int64 or strings, which are stored without pickling."""
    array = np.asarray(values)
    return array.astype(np.int64) if array.dtype.kind in "iu" else np.asarray(list(map(str, array)))


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
        # An empty dataset may have no shape at all; groups have none.
        arrays = {n: node for n, node in nodes.items() if getattr(node, "shape", None) is not None}
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
    available = None if found.available.all() else found.available
    return ViewFile(views, target, path, ids, available, features, options.views)
