"""MATLAB 5 to 7 files, read in pure Python.

SciPy's reader is compiled code that trusts the type numbers in the file: one flipped byte can
crash the interpreter. This reader supports numeric arrays and cells, which is all that views need,
and a damaged file can only make it raise.
"""

import struct
import zlib
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from anchorview.datasets.file_arrays import Variables, other_array, views_among
from anchorview.datasets.file_contents import ReadOptions, require_free_memory
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

HEADER_LENGTH = 128
BYTE_ORDERS = {b"IM": "<", b"MI": ">"}


def read_matlab5(path: Path, options: ReadOptions) -> ViewFile:
    """Read the variables and select the views by MATLAB conventions."""
    return views_among(_variables(path), path, options.labels, matlab=True)


def _variables(path: Path) -> Variables:
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
