"""MATLAB 7.3 files: HDF5 with MATLAB's conventions. Needs h5py.

MATLAB writes arrays transposed, cells as arrays of references, sparse matrices as groups of the
three vectors of their compressed columns, and its types as attributes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anchorview._utils.errors import MissingPackageError
from anchorview._utils.optional_imports import optional_import
from anchorview._utils.typing import Array
from anchorview.datasets.file_arrays import (
    Variables,
    is_availability_name,
    other_array,
    views_among,
)
from anchorview.datasets.file_contents import ReadOptions, is_label_name, require_free_memory
from anchorview.datasets.formats.hdf5 import (
    require_own_data,
    require_sound_strings,
    view_of_dataset,
)
from anchorview.datasets.formats.matlab5 import checked_csc
from anchorview.views.stored_view import ViewFile

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
MATLAB_HEADER = 512
"""Bytes that MATLAB writes before the signature."""


def _h5py() -> Any:
    try:
        return optional_import("h5py", "MATLAB 7.3 files", "hdf5")
    except MissingPackageError as error:
        raise MissingPackageError(f"{error} Or save the file with -v7 in MATLAB.") from error


def is_hdf5(path: Path) -> bool:
    """Whether a file is in HDF5, with or without MATLAB's header."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        start = stream.read(MATLAB_HEADER + len(HDF5_SIGNATURE))
    return start.startswith(HDF5_SIGNATURE) or start[MATLAB_HEADER:] == HDF5_SIGNATURE


def read_matlab73(path: Path, options: ReadOptions) -> ViewFile:
    """Read the variables and select the views by MATLAB conventions."""
    variables = _variables(path, _in_memory, options.labels)
    return views_among(variables, path, options.labels, matlab=True)


def open_matlab73(path: Path, options: ReadOptions) -> ViewFile:
    """Open matrices as views on disk; class labels, availability and sparse matrices are read."""

    def on_disk(node: Any) -> object:
        return view_of_dataset(path, node, in_columns=True)

    variables = _variables(path, on_disk, options.labels)
    return views_among(variables, path, options.labels, matlab=True)


def _variables(path: Path, matrix: Callable[[Any], object], labels: str | None) -> Variables:
    """Return arrays, sparse matrices and cells (as lists); None for anything else."""
    h5py = _h5py()
    variables: Variables = {}
    with h5py.File(path, "r") as file:
        require_own_data(file)
        # "#refs#" and "#subsystem#" are MATLAB's storage, not variables.
        for name in (name for name in file if not name.startswith("#")):
            read = is_label_name(name, labels) or is_availability_name(name)
            convert, node = (_in_memory if read else matrix), file[name]
            if isinstance(node, h5py.Dataset) and h5py.check_ref_dtype(node.dtype):
                cells = (file[reference] for reference in _read_node(node).ravel())
                variables[name] = [_value(cell, convert) for cell in cells]
            else:
                variables[name] = _value(node, convert)
    return variables


def _value(node: Any, convert: Callable[[Any], object]) -> object:
    if isinstance(node, _h5py().Group):
        return _sparse(node) if "MATLAB_sparse" in node.attrs else None
    # An empty array is stored as its shape, and text as character codes: neither is a matrix.
    if "MATLAB_empty" in node.attrs or _matlab_class(node) == b"char":
        return None
    # MATLAB stores complex numbers as pairs with the names real and imag.
    if node.dtype.kind == "c" or node.dtype.names == ("real", "imag"):
        return other_array(node.shape[::-1], "complex") if node.ndim > 1 else None
    if node.dtype.kind not in "biuf":
        return None
    return convert(node) if node.ndim < 3 else other_array(node.shape[::-1], str(node.dtype))


def _matlab_class(node: Any) -> object:
    if "MATLAB_class" not in node.attrs:
        return None
    # Other programs than MATLAB may write strings of variable length.
    dtype = node.attrs.get_id("MATLAB_class").dtype
    if dtype.kind == "O" and _h5py().check_string_dtype(dtype) is None:
        return None
    if dtype.kind == "O":
        require_sound_strings(Path(node.file.filename))
    kind = node.attrs["MATLAB_class"]
    return kind.encode() if isinstance(kind, str) else kind


def _in_memory(node: Any) -> object:
    return _read_node(node).T


def _read_node(node: Any) -> Array:
    """Read a dataset, if what it declares fits into memory."""
    require_free_memory(
        float(np.prod(node.shape, dtype=float)) * node.dtype.itemsize, f"the array {node.name!r}"
    )
    return np.asarray(node[()])


def _sparse(group: Any) -> object:
    starts = _read_node(group["jc"]).astype(np.int64)
    # MATLAB omits the vectors of a matrix without entries.
    values = _read_node(group["data"]) if "data" in group else np.empty(0)
    rows = _read_node(group["ir"]).astype(np.int64) if "ir" in group else np.empty(0, np.int64)
    return checked_csc(values, rows, starts, (int(group.attrs["MATLAB_sparse"]), len(starts) - 1))
