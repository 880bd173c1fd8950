"""Views in ``.npy`` files and under memory maps, read by slices."""

import mmap
import os
from dataclasses import dataclass
from functools import partial
from io import RawIOBase
from pathlib import Path
from typing import Any

import numpy as np

from anchorview._utils.errors import DataFileError
from anchorview._utils.text import one_line
from anchorview._utils.typing import Array
from anchorview.views.stored_view import StoredView

READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    # It differs only in the encoding of names of fields, and a view has none.
    (3, 0): np.lib.format.read_array_header_2_0,
}

ROWS_COMPARED = 64
"""Rows by which a memory map is compared with a file of its name."""


@dataclass(frozen=True, eq=False)
class NpyView(StoredView):
    """An array in an uncompressed file, such as ``.npy``."""

    offset: int
    """Where in the file the numbers start."""
    stored: "np.dtype[Any]"
    """The type in the file, in the file's byte order."""
    fortran: bool

    def _read(self, start: int, stop: int) -> Array:
        width = self.shape[1]
        # Pages of a memory map would count as memory of the process.
        if self.fortran:
            block = np.empty((stop - start, width), self.dtype)
            self._fill_columns(block, start, stop)
            return block
        position = self.offset + start * width * self.stored.itemsize
        found = np.fromfile(self.path, self.stored, (stop - start) * width, offset=position)
        return found[: len(found) // width * width].reshape(-1, width)

    def read_into(self, out: Array, start: int) -> None:
        """Read as many rows as `out` has, from row `start` on."""
        plain = self.stored == self.dtype == out.dtype and out.flags.c_contiguous
        if self.fortran or not plain:
            super().read_into(out, start)
        else:
            self._guarded(partial(self._fill_rows, out), start, start + len(out))

    def _fill_rows(self, out: Array, start: int, stop: int) -> None:
        row_bytes = self.shape[1] * self.stored.itemsize
        with self.path.open("rb", buffering=0) as stream:
            found = _fill(stream, self.offset + start * row_bytes, out) // row_bytes
        if found < len(out):
            raise self._unreadable(start, stop, f"found only {found} of them")

    def _fill_columns(self, out: Array, start: int, stop: int) -> None:
        size = self.stored.itemsize
        column = np.empty(stop - start, self.stored)
        with self.path.open("rb", buffering=0) as stream:
            for j in range(self.shape[1]):
                position = self.offset + (j * len(self) + start) * size
                found = _fill(stream, position, column) // size
                if found < len(column):
                    raise self._unreadable(start, stop, f"found only {found} of them")
                out[:, j] = column


def _fill(stream: RawIOBase, position: int, out: Array) -> int:
    """Read a contiguous array from a place in a file; returns how many bytes there were."""
    stream.seek(position)
    buffer = out.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(buffer) and (count := stream.readinto(buffer[done:])):
        done += count
    return done


def npy_header(path: Path) -> "tuple[tuple[int, ...], bool, np.dtype[Any], int]":
    """Read shape, whether columns come first, type, and where the numbers start."""
    try:
        with path.open("rb") as stream:
            version = np.lib.format.read_magic(stream)
            if version not in READERS:
                number = ".".join(map(str, version))
                raise ValueError(f"version {number} of the format is not supported")
            shape, fortran, dtype = READERS[version](stream)
            return shape, fortran, dtype, stream.tell()
    except FileNotFoundError:
        raise DataFileError(f"{path}: no such file. Check the path.") from None
    except (OSError, ValueError) as error:
        raise DataFileError(
            f"{path}: the header of an .npy file cannot be read ({type(error).__name__}: "
            f"{one_line(error)}). The file is damaged or of another format: save it again with "
            "numpy.save."
        ) from error


def open_npy(path: str | os.PathLike[str]) -> NpyView:
    """Open a ``.npy`` file with a view: one row a sample, one column a feature.

    Raises
    ------
    DataFileError
        If there is no such file, it is shorter than its header says, or does not hold numbers in
        rows and columns.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "text.npy", np.arange(12.0).reshape(4, 3))
    ...     view = open_npy(Path(folder) / "text.npy")
    ...     view[1:3]
    array([[3., 4., 5.],
           [6., 7., 8.]])
    """
    path = Path(path)
    shape, fortran, dtype, offset = npy_header(path)
    if len(shape) != 2 or dtype.kind not in "biuf" or 0 in shape:
        raise DataFileError(
            f"{path}: holds {' x '.join(map(str, shape)) or 'one'} {dtype} values, not a view. "
            "Store a 2-D numeric array, samples x features."
        )
    _require_length(path, shape, dtype, offset, fortran)
    # A single row or column is in both orders at once.
    columns_first = fortran and min(shape) > 1
    return NpyView(path, shape, dtype.newbyteorder("="), offset, dtype, columns_first)


def _require_length(
    path: Path, shape: tuple[int, ...], dtype: "np.dtype[Any]", offset: int, fortran: bool
) -> None:
    n_samples, width = shape
    found = path.stat().st_size - offset
    if found >= n_samples * width * dtype.itemsize:
        return
    values = found // dtype.itemsize
    # Column by column, the last column is the first to lack rows.
    row = max(0, values - (width - 1) * n_samples) if fortran else values // width
    raise DataFileError(
        f"{path}: the header promises {n_samples} x {width} {dtype} values, but the file is too "
        f"short: rows from {row} on are missing. Copy it again."
    )


def from_memmap(array: "np.memmap[Any, Any]") -> StoredView | None:
    """Read the file under a memory map in place of the map.

    Parameters
    ----------
    array : numpy.memmap
        A map, or a slice of consecutive rows of one.

    Returns
    -------
    StoredView or None
        None if the rows are not consecutive in a file, or the file no longer holds them.
    """
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.base is None or root.mode == "c":
        return None
    if root.filename is None or array.ndim != 2 or array.dtype.kind not in "biuf":
        return None
    in_rows = array.flags.c_contiguous
    if array.size == 0 or not (in_rows or array.flags.f_contiguous):
        return None
    if root.mode != "r":
        root.flush()
    # A slice has the offset of the whole map; only the addresses tell where it starts.
    offset = root.offset + _address(array) - _address(root)
    n_samples, width = array.shape
    view = NpyView(
        Path(root.filename),
        (n_samples, width),
        array.dtype.newbyteorder("="),
        offset,
        array.dtype,
        not in_rows,
    )
    same = _is_map_of(array, view.path)
    if same is None:
        return view if _holds_rows_of(view, array, ROWS_COMPARED) else None
    # Even the mapped file may have been cut short.
    return view if same and _holds_rows_of(view, array, 2) else None


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _is_map_of(array: Array, path: Path) -> bool | None:
    """Whether the file is still the mapped one, not another of its name; None if none can tell."""
    try:
        # Some file systems have other numbers in the list of maps than os.stat gives, so the file
        # is looked up in that list too.
        with (
            path.open("rb") as stream,
            mmap.mmap(stream.fileno(), 1, access=mmap.ACCESS_READ) as other,
        ):
            now = _mapped_file(_address(np.frombuffer(other, np.uint8)))
    except (OSError, ValueError):
        return False
    mapped = _mapped_file(_address(array))
    return None if mapped is None or now is None else mapped == now


def _mapped_file(address: int) -> tuple[str, str] | None:
    """Device and inode of the file that is mapped to an address; None if the system keeps it."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            for line in maps:
                # Only the path, which comes last, may contain blanks or odd characters.
                addresses, _, _, device, inode = line.split(None, 5)[:5]
                start, end = (int(part, 16) for part in addresses.split(b"-"))
                if start <= address < end:
                    return (device.decode(), inode.decode()) if int(inode) else None
    except (OSError, ValueError):
        pass
    return None


def _holds_rows_of(view: NpyView, array: Array, count: int) -> bool:
    """Whether some rows in the file, spread from the first to the last, are those of an array."""
    rows = np.unique(np.linspace(0, len(view) - 1, count).astype(int)).tolist()
    try:
        return all(
            view[row : row + 1].tobytes() == array[row : row + 1].astype(view.dtype).tobytes()
            for row in rows
        )
    except DataFileError:
        return False
