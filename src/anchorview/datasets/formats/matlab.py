"""MATLAB files: versions 4 to 7 by SciPy, and 7.3, which is HDF5, by h5py.

In version 7.3, MATLAB writes arrays transposed, cells as arrays of references, sparse matrices as
groups of the three vectors of their compressed columns, and its types as attributes.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, sparse

from anchorview._utils.errors import optional_import
from anchorview.datasets.file_contents import (
    OtherArray,
    ReadOptions,
    Variables,
    is_label_name,
    views_among,
)
from anchorview.views.stored_anndata import view_of_dataset
from anchorview.views.stored_view import ViewFile

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
