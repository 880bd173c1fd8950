"""MATLAB files. Those of versions 5 to 7 are read in pure Python; version 7.3 needs h5py.

SciPy's reader is compiled code that trusts the type numbers in the file: one flipped byte can
crash the interpreter. This reader supports numeric arrays and cells, which is all that views need,
and a damaged file can only make it raise.

Files of version 7.3 are HDF5, in which MATLAB writes arrays transposed, cells as arrays of
references, sparse matrices as groups of the three vectors of their compressed columns, and its
types as attributes.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.errors import optional_import
from anchorview._utils.typing import Array
from anchorview.datasets.file_contents import (
    ReadOptions,
    Variables,
    is_label_name,
    other_array,
    require_free_memory,
    views_among,
)
from anchorview.views.stored_anndata import view_of_dataset
from anchorview.views.stored_view import ViewFile

#: Types in which numbers are stored, by the type number of the element.
STORED_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
STORED_TYPES |= {12: "i8", 13: "u8"}
MATRIX, COMPRESSED = 14, 15

#: Types that the numbers have in MATLAB, by the class number of the array.
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4"}
CLASSES |= {14: "i8", 15: "u8"}
CELL, SPARSE, OPAQUE = 1, 5, 17
LOGICAL, COMPLEX = 0x200, 0x800

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
HDF5_START = 512
"""Bytes that MATLAB writes before the signature."""

HEADER_LENGTH = 128
BYTE_ORDERS = {b"IM": "<", b"MI": ">"}


def read_matlab5(path: Path, options: ReadOptions) -> ViewFile:
    """Read the variables and select the views by MATLAB conventions."""
    return views_among(_read_variables(path), path, options.labels, matlab=True)


def _read_variables(path: Path) -> Variables:
    """Return arrays, sparse matrices and cells (as lists); None for anything else."""
    require_free_memory(path.stat().st_size, "reading the file")
    data = memoryview(path.read_bytes())
    order = BYTE_ORDERS.get(bytes(data[HEADER_LENGTH - 2 : HEADER_LENGTH]))
    if order is None:
        raise ValueError("no header of a MATLAB 5 to 7.3 file")
    variables: Variables = {}
    for kind, content in _elements(data[HEADER_LENGTH:], order):
        if kind == COMPRESSED:
            [(kind, content)] = _elements(_decompressed(content, order), order)
        if kind != MATRIX:
            raise ValueError(f"element of unknown type {kind}")
        name, value = _array(content, order)
        # MATLAB appends its internal storage as a variable without a name.
        if name:
            variables[name] = value
    return variables


def _decompressed(content: memoryview, order: str) -> memoryview:
    """Unpack an element, of as many bytes as its tag declares and the memory has."""
    stream = zlib.decompressobj()
    tag = stream.decompress(content, 8)
    _, size = struct.unpack(f"{order}II", tag)
    require_free_memory(2 * size, f"an array of {size} bytes, compressed to {len(content)},")
    # One byte more would be a second element, which is refused.
    return memoryview(tag + stream.decompress(stream.unconsumed_tail, size + 1))


def checked_csc(
    values: NDArray[Any], rows: NDArray[Any], starts: NDArray[Any], shape: tuple[int, int]
) -> "sparse.csc_array[Any]":
    """Make a sparse matrix from the compressed columns of a file, which may be damaged."""
    # Conversion to rows needs a few numbers per row, even if nearly all rows are empty.
    needed = 32.0 * sum(shape) + 4.0 * (values.nbytes + rows.nbytes)
    require_free_memory(needed, f"a sparse matrix of {shape[0]} x {shape[1]} values")
    matrix = sparse.csc_array((values, rows, starts), shape=shape)
    # With an index out of bounds, later conversions would write out of bounds.
    matrix.check_format(full_check=True)
    return matrix


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield the type and content of each element."""
    position = 0
    while position < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, position)
        start, end = position + 8, position + 8 + size
        if kind >> 16:
            # Up to four bytes of content are packed into the second half of the tag.
            kind, size = kind & 0xFFFF, kind >> 16
            start, end = position + 4, position + 4 + size
            position += 8
        else:
            position = end if kind == COMPRESSED else end + -size % 8
        if end > min(len(data), position):
            raise ValueError(f"an element of {size} bytes exceeds its place")
        yield kind, data[start:end]


def _array(data: memoryview, order: str) -> tuple[str, object]:
    """Return the name of an array, empty within a cell, and its value."""
    if not data:
        return "", None
    (_, header), *elements = _elements(data, order)
    (flags,) = struct.unpack_from(f"{order}I", header)
    kind = flags & 0xFF
    if kind == OPAQUE:
        return "", None
    (_, dimensions), (_, name), *content = elements
    shape = tuple(np.frombuffer(dimensions, f"{order}i4").tolist())
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError(f"an array of the impossible shape {shape}")
    return bytes(name).decode("latin-1"), _value(flags, shape, content, order)


def _value(
    flags: int, shape: tuple[int, ...], content: list[tuple[int, memoryview]], order: str
) -> object:
    kind = flags & 0xFF
    if kind == CELL:
        if len(content) != prod(shape):
            raise ValueError(f"a cell array of shape {shape} holds {len(content)} items")
        return [_array(item, order)[1] for _, item in content]
    if kind != SPARSE and kind not in CLASSES:
        return None
    if flags & COMPLEX:
        return other_array(shape, "complex")
    if len(shape) > 2:
        return other_array(shape, CLASSES.get(kind, "sparse"))
    dtype = "?" if flags & LOGICAL else CLASSES.get(kind, "f8")
    if kind == SPARSE:
        (rows, starts), (values_kind, values) = _numbers(content[:2], order), content[2]
        count = int(starts[-1])
        # MATLAB declares the single bytes of a logical sparse matrix to be doubles.
        if flags & LOGICAL and len(values) != count * 8:
            values_kind = 2
        (numbers,) = _numbers([(values_kind, values)], order)
        n_rows, n_columns = shape
        return checked_csc(numbers[:count].astype(dtype), rows[:count], starts, (n_rows, n_columns))
    (numbers,) = _numbers(content, order)
    require_free_memory(
        2.0 * numbers.size * np.dtype(dtype).itemsize, f"an array of {numbers.size} values"
    )
    return numbers.astype(dtype).reshape(shape, order="F")


def _numbers(content: list[tuple[int, memoryview]], order: str) -> list[NDArray[Any]]:
    return [np.frombuffer(item, order + STORED_TYPES[stored]) for stored, item in content]


def _h5py() -> Any:
    return optional_import("h5py", "MATLAB 7.3 files, unless saved with -v7,", "hdf5")


def is_hdf5(path: Path) -> bool:
    """Whether a file is in HDF5, with or without MATLAB's header."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        start = stream.read(HDF5_START + len(HDF5_SIGNATURE))
    return start.startswith(HDF5_SIGNATURE) or start[HDF5_START:] == HDF5_SIGNATURE


def open_matlab73(path: Path, options: ReadOptions) -> ViewFile:
    """Open the matrices that are views by MATLAB conventions; labels and sparse ones are read."""
    h5py = _h5py()
    variables: Variables = {}
    with h5py.File(path, "r") as file:
        # "#refs#" and "#subsystem#" are MATLAB's storage, not variables.
        for name in (name for name in file if not name.startswith("#")):
            is_label = is_label_name(name, options.labels)
            on_disk = partial(view_of_dataset, in_columns=True)
            convert, node = (_in_memory if is_label else on_disk), file[name]
            if isinstance(node, h5py.Dataset) and h5py.check_ref_dtype(node.dtype):
                cells = (file[reference] for reference in _read_node(node).ravel())
                variables[name] = [_node_value(cell, convert) for cell in cells]
            else:
                variables[name] = _node_value(node, convert)
    return views_among(variables, path, options.labels, matlab=True)


def _node_value(node: Any, convert: Callable[[Any], object]) -> object:
    if isinstance(node, _h5py().Group):
        return _sparse(node) if "MATLAB_sparse" in node.attrs else None
    # An empty array is stored as its shape, and text as character codes: neither is a matrix.
    if "MATLAB_empty" in node.attrs or node.attrs.get("MATLAB_class") in (b"char", "char"):
        return None
    # MATLAB stores complex numbers as pairs with the names real and imag.
    if node.dtype.kind == "c" or node.dtype.names == ("real", "imag"):
        return other_array(node.shape[::-1], "complex") if node.ndim > 1 else None
    if node.dtype.kind not in "biuf":
        return None
    return convert(node) if node.ndim < 3 else other_array(node.shape[::-1], str(node.dtype))


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
