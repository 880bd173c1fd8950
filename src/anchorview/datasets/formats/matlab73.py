"""MATLAB 7.3 files: HDF5, with MATLAB's own conventions on top. Needs h5py.

MATLAB writes arrays transposed, cells as arrays of references, sparse matrices as groups of the
three vectors of their compressed columns, and notes its own types in attributes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from anchorview.datasets.file_contents import is_label_name
from anchorview.datasets.formats.hdf5 import hdf5_view
from anchorview.datasets.formats.matlab5 import checked_csc
from anchorview.datasets.variables import is_mask_name


def read_matlab73(path: Path) -> dict[str, object]:
    """Read all variables: arrays, sparse matrices and cells (as lists); None for anything else."""
    with h5py.File(path, "r") as file:
        return {name: _value(file, name, _in_memory) for name in _names(file)}


def open_matlab73(path: Path) -> dict[str, object]:
    """Open matrices and cells of them as views on disk; read what is labels, a mask or sparse."""

    def on_disk(node: Any) -> object:
        return hdf5_view(path, node, in_columns=True) if node.ndim == 2 else None

    with h5py.File(path, "r") as file:
        return {
            name: _value(
                file, name, _in_memory if is_label_name(name) or is_mask_name(name) else on_disk
            )
            for name in _names(file)
        }


def _names(file: Any) -> list[str]:
    # "#refs#" and "#subsystem#" are MATLAB's own storage, not variables.
    return [name for name in file if not name.startswith("#")]


def _in_memory(node: Any) -> object:
    return np.asarray(node[()]).T


def _value(file: Any, name: str, numbers: Callable[[Any], object]) -> object:
    node = file[name]
    if isinstance(node, h5py.Dataset) and h5py.check_ref_dtype(node.dtype):
        return [_matrix(file[reference], numbers) for reference in node[()].ravel()]
    return _matrix(node, numbers)


def _matrix(node: Any, numbers: Callable[[Any], object]) -> object:
    if isinstance(node, h5py.Group):
        return _sparse(node) if "MATLAB_sparse" in node.attrs else None
    # An empty array is stored as its shape, and text as character codes: neither is a matrix.
    if "MATLAB_empty" in node.attrs or node.attrs.get("MATLAB_class") == b"char":
        return None
    return numbers(node) if node.dtype.kind in "biuf" else None


def _sparse(group: Any) -> object:
    starts = group["jc"][()].astype(np.int64)
    # MATLAB leaves out the vectors of a matrix without entries.
    values = group["data"][()] if "data" in group else np.empty(0)
    rows = group["ir"][()].astype(np.int64) if "ir" in group else np.empty(0, dtype=np.int64)
    return checked_csc(values, rows, starts, (int(group.attrs["MATLAB_sparse"]), len(starts) - 1))
