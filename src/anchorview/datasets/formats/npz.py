"""NumPy archives, read without ever unpickling objects."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview.datasets.file_arrays import views_among
from anchorview.datasets.file_contents import ReadOptions, require_free_memory
from anchorview.datasets.formats.npy import read_npy_header
from anchorview.views.stored_view import ViewFile


def read_npz(path: Path, options: ReadOptions) -> ViewFile:
    """Read all matrices of an archive as views."""
    with path.open("rb") as stream:
        # Otherwise the error about a single array or a pickle with this suffix would be less clear.
        if stream.read(2) != b"PK":
            raise DataFileError("not an .npz archive. Save the views with numpy.savez.")
    with zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        require_free_memory(sum(_declared_size(archive, m) for m in members), "reading the arrays")
        arrays = {info.filename[: -len(".npy")]: _read(archive, info) for info in members}
    return views_among(dict(arrays), path, options.labels, matlab=False)


def _declared_size(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """Number of bytes of an array in memory, of which the archive must have as many."""
    with archive.open(info) as stream:
        try:
            shape, _, dtype, start = read_npy_header(stream)
        except ValueError as error:
            raise _unreadable(info, error) from error
    if dtype.hasobject:
        raise _unreadable(info, "Object arrays cannot be loaded")
    size = dtype.itemsize
    for length in shape:
        size *= length
    if not 0 <= size <= info.file_size - start:
        raise _unreadable(info, f"{size} bytes declared, but {info.file_size - start} stored")
    return size


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(info) as stream:
        try:
            return np.lib.format.read_array(stream, allow_pickle=False)
        except ValueError as error:
            raise _unreadable(info, error) from error


def _unreadable(info: zipfile.ZipInfo, reason: object) -> DataFileError:
    name, details = info.filename[: -len(".npy")], " ".join(str(reason).split())
    return DataFileError(
        f"array {name!r} cannot be read ({details}). Save it again as a plain numeric array; "
        "pickled objects are never loaded."
    )
