"""MATLAB 5 to 7 files, read in Python alone.

SciPy's reader is compiled code that trusts the type numbers in the file: one flipped byte can
crash the interpreter. This one takes the numeric arrays and cells, which is all that views need,
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

#: Numbers as they are stored, by the type of the element.
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
STORED |= {12: "i8", 13: "u8"}
MATRIX, COMPRESSED = 14, 15

#: Numbers as MATLAB shows them, by the class of the array.
SHOWN = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4"}
SHOWN |= {14: "i8", 15: "u8"}
CELL, SPARSE, OPAQUE = 1, 5, 17
LOGICAL, COMPLEX = 0x200, 0x800

HEADER_LENGTH = 128
BYTE_ORDERS = {b"IM": "<", b"MI": ">"}


def read_matlab(path: Path) -> dict[str, object]:
    """Read all variables: arrays, sparse matrices and cells (as lists); None for anything else."""
    data = memoryview(path.read_bytes())
    order = BYTE_ORDERS.get(bytes(data[HEADER_LENGTH - 2 : HEADER_LENGTH]))
    if order is None:
        raise ValueError("no header of a MATLAB 5 to 7.3 file")
    variables = {}
    for kind, content in _elements(data[HEADER_LENGTH:], order):
        if kind == COMPRESSED:
            unpacked = memoryview(zlib.decompress(content))
            [(kind, content)] = _elements(unpacked, order)
        if kind != MATRIX:
            raise ValueError(f"element of unknown type {kind}")
        name, value = _array(content, order)
        # MATLAB appends its own storage as a variable without a name.
        if name:
            variables[name] = value
    return variables


def checked_csc(
    values: NDArray[Any], rows: NDArray[Any], starts: NDArray[Any], shape: tuple[int, int]
) -> "sparse.csc_array[Any]":
    """Make a sparse matrix of a file's compressed columns, which may be wrong."""
    matrix = sparse.csc_array((values, rows, starts), shape=shape)
    # An index out of bounds would make later conversions write into foreign memory.
    matrix.check_format(full_check=True)
    return matrix


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Walk over the elements, each a type, a size and a content; yield type and content."""
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
            raise ValueError(f"an element of {size} bytes does not fit into its place")
        yield kind, data[start:end]


def _array(data: memoryview, order: str) -> tuple[str, object]:
    """Read one array: its name, empty within a cell, and its value."""
    if not data:
        return "", None
    (_, header), *elements = _elements(data, order)
    (flags,) = struct.unpack_from(f"{order}I", header)
    kind = flags & 0xFF
    if kind == OPAQUE:
        return "", None
    (_, dimensions), (_, name), *content = elements
    shape = tuple(np.frombuffer(dimensions, f"{order}i4").tolist())
    return bytes(name).decode("latin-1"), _value(flags, shape, content, order)


def _value(
    flags: int, shape: tuple[int, ...], content: list[tuple[int, memoryview]], order: str
) -> object:
    kind = flags & 0xFF
    if kind == CELL:
        if len(content) != prod(shape):
            raise ValueError(f"a cell array of shape {shape} holds {len(content)} items")
        return [_array(item, order)[1] for _, item in content]
    if flags & COMPLEX or (kind != SPARSE and kind not in SHOWN):
        return None
    shown = "?" if flags & LOGICAL else SHOWN.get(kind, "f8")
    if kind == SPARSE:
        (rows, starts), (values_kind, values) = _numbers(content[:2], order), content[2]
        count = int(starts[-1])
        # MATLAB declares the single bytes of a logical sparse matrix to be doubles.
        if flags & LOGICAL and len(values) != count * 8:
            values_kind = 2
        (numbers,) = _numbers([(values_kind, values)], order)
        n_rows, n_columns = shape
        return checked_csc(numbers[:count].astype(shown), rows[:count], starts, (n_rows, n_columns))
    (numbers,) = _numbers(content, order)
    return numbers.astype(shown).reshape(shape, order="F")


def _numbers(content: list[tuple[int, memoryview]], order: str) -> list[NDArray[Any]]:
    return [np.frombuffer(item, order + STORED[stored]) for stored, item in content]
