"""Files in the format of ``.npy``, written row by row in any order."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Rows of a file: consecutive, or any.
Places: TypeAlias = "range | NDArray[np.intp]"

FILLED_BYTES = 2**20


class NpyWriter:
    """Writes rows of an array to their places.

    It does not use a memory map: on a full disk that ends the process instead of raising.
    """

    def __init__(self, stream: BinaryIO, shape: tuple[int, int], dtype: "np.dtype[Any]") -> None:
        self._stream = stream
        self._dtype = dtype
        self._width = shape[1]
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False}
        np.lib.format.write_array_header_1_0(stream, {**header, "shape": shape})
        self._start = stream.tell()

    def put(self, places: Places, values: NDArray[Any]) -> None:
        """Write each row of `values` to its place."""
        rows = np.asarray(places)
        # Tables are mostly in the same order, so there are few runs.
        ends = [*(np.flatnonzero(np.diff(rows) != 1) + 1).tolist(), len(rows)]
        begin = 0
        for end in ends:
            self._seek(int(rows[begin]))
            self._stream.write(np.ascontiguousarray(values[begin:end], self._dtype).data)
            begin = end

    def fill(self, which: "NDArray[np.bool_]", value: float) -> None:
        """Write the same value everywhere in some rows."""
        rows = np.flatnonzero(which)
        if not len(rows):
            return
        n_rows = max(1, FILLED_BYTES // (self._width * self._dtype.itemsize))
        block = np.full((n_rows, self._width), value, self._dtype)
        for start in range(0, len(rows), n_rows):
            part = rows[start : start + n_rows]
            self.put(part, block[: len(part)])

    def _seek(self, row: int) -> None:
        self._stream.seek(self._start + row * self._width * self._dtype.itemsize)


@contextmanager
def writing_npy(path: Path, shape: tuple[int, int], dtype: "np.dtype[Any]") -> Iterator[NpyWriter]:
    """Make a file; it is on the disk when the block ends."""
    with path.open("wb") as stream:
        yield NpyWriter(stream, shape, dtype)
        _sync(stream)


def save_npy(path: Path, array: NDArray[Any]) -> None:
    """Write an array as a whole."""
    with path.open("wb") as stream:
        np.lib.format.write_array(stream, array, allow_pickle=False)
        _sync(stream)


def _sync(stream: BinaryIO) -> None:
    stream.flush()
    # A disk may report that it is full only now.
    os.fsync(stream.fileno())
