"""MATLAB 7.3 files: HDF5 with MATLAB's own conventions. Needs h5py.

MATLAB writes arrays transposed, cells as arrays of references, sparse matrices as groups of the
three vectors of their compressed columns, and its own types as attributes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anchorview._utils.errors import MissingPackageError
from anchorview._utils.optional_imports import optional_import
from anchorview.datasets.file_arrays import (
    Variables,
    is_availability_name,
    matlab_views,
    views_among,
)
from anchorview.datasets.file_contents import is_label_name
from anchorview.datasets.formats.hdf5 import view_of_dataset
from anchorview.datasets.formats.matlab5 import checked_csc
from anchorview.views.view_file import ViewFile

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


def read_matlab73(path: Path) -> ViewFile:
    """Read the variables and select the views by MATLAB conventions."""
    return views_among(_variables(path, _in_memory), path, matlab_views)


def open_matlab73(path: Path) -> ViewFile:
    """Open matrices as views on disk; class labels, availability and sparse matrices are read."""

    def on_disk(node: Any) -> object:
        return view_of_dataset(path, node, in_columns=True) if node.ndim == 2 else None

    return views_among(_variables(path, on_disk), path, matlab_views)


def _variables(path: Path, matrix: Callable[[Any], object]) -> Variables:
    """Return arrays, sparse matrices and cells (as lists); None for anything else."""
    h5py = _h5py()
    variables: Variables = {}
    with h5py.File(path, "r") as file:
        # "#refs#" and "#subsystem#" are MATLAB's own storage, not variables.
        for name in (name for name in file if not name.startswith("#")):
            read = is_label_name(name) or is_availability_name(name)
            convert, node = (_in_memory if read else matrix), file[name]
            if isinstance(node, h5py.Dataset) and h5py.check_ref_dtype(node.dtype):
                cells = (file[reference] for reference in node[()].ravel())
                variables[name] = [_value(cell, convert) for cell in cells]
            else:
                variables[name] = _value(node, convert)
    return variables


def _value(node: Any, convert: Callable[[Any], object]) -> object:
    if isinstance(node, _h5py().Group):
        return _sparse(node) if "MATLAB_sparse" in node.attrs else None
    # An empty array is stored as its shape, and text as character codes: neither is a matrix.
    if "MATLAB_empty" in node.attrs or node.attrs.get("MATLAB_class") == b"char":
        return None
    return convert(node) if node.dtype.kind in "biuf" else None


def _in_memory(node: Any) -> object:
    return np.asarray(node[()]).T


def _sparse(group: Any) -> object:
    starts = group["jc"][()].astype(np.int64)
    # MATLAB omits the vectors of a matrix without entries.
    values = group["data"][()] if "data" in group else np.empty(0)
    rows = group["ir"][()].astype(np.int64) if "ir" in group else np.empty(0, dtype=np.int64)
    return checked_csc(values, rows, starts, (int(group.attrs["MATLAB_sparse"]), len(starts) - 1))
