"""Views in ``.npy`` files, also mapped to memory, folders of such files, and ``.npz`` archives.

Objects are never unpickled.
"""

import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview._utils.memory import require_memory
from anchorview._utils.text import one_line
from anchorview._utils.threads import ThreadBuffer
from anchorview._utils.typing import Array
from anchorview.datasets.file_contents import (
    OtherArray,
    ReadOptions,
    Variables,
    data_file_errors,
    opened_views,
    require_regular_file,
    views_among,
)
from anchorview.datasets.formats.table_files import files_by_name
from anchorview.views.stored_view import StoredView, Target, View, ViewFile

ROWS_COMPARED = 64
"""Number of rows in which a memory map is compared with the file."""

LABELS = "labels"
SAMPLE_IDS = "sample_ids"
FEATURE_NAMES = "feature_names.json"

RESULT_VECTORS, LEVEL_LABELS = ("confidence", "second_labels"), "level_labels"
"""What a fit writes beside the embedding and the labels: vectors, and labels at other numbers of
clusters, a column each. They are no views."""


@dataclass(frozen=True, eq=False)
class NpyView(StoredView):
    """An array in an uncompressed file, such as ``.npy``, whose numbers start at `offset`.

    They are stored in column-major order if `fortran`, and in the byte order of the file.
    """

    offset: int
    stored: "np.dtype[Any]"
    fortran: bool

    def _read(self, start: int, stop: int) -> Array:
        return self._read_into(None, start, stop)

    def _read_into(self, buffer: ThreadBuffer | None, start: int, stop: int) -> Array:
        n_rows, (n, width) = stop - start, self.shape
        # In column-major order, the columns one after the other.
        shape = (width, n_rows) if self.fortran else (n_rows, width)
        values = (np.empty if buffer is None else buffer.array)(shape, self.stored)
        places = [j * n + start for j in range(width)] if self.fortran else [start * width]
        # Not by a memory map: its pages would count as memory of the process.
        with self.path.open("rb") as stream:
            for place, part in zip(places, values if self.fortran else [values], strict=True):
                stream.seek(self.offset + place * self.stored.itemsize)
                n_read = stream.readinto(part) // self.stored.itemsize
        # Of a truncated file, what the last part has of it.
        return values[:, :n_read].T if self.fortran else values[: n_read // width]


def write_npy_header(stream: IO[bytes], shape: tuple[int, ...], dtype: "np.dtype[Any]") -> None:
    """Write the header of an array; its rows follow."""
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(stream, header)


def _described(path: Path) -> Any:
    """Read the header of a file; an array that is no view has another shape or type."""
    with data_file_errors(path):
        require_regular_file(path)
        with path.open("rb") as stream:
            lib = np.lib.format
            is_short = lib.read_magic(stream) == (1, 0)
            # Version 3 differs only in the encoding of field names, and a view has no fields.
            read = lib.read_array_header_1_0 if is_short else lib.read_array_header_2_0
            shape, fortran, dtype = read(stream)
            # A single row or column is in both orders.
            fortran = fortran and min(shape, default=0) > 1
            native = dtype.newbyteorder("=")
            return NpyView(path, cast(Any, shape), native, stream.tell(), dtype, fortran)


def open_npy(path: str | os.PathLike[str]) -> NpyView:
    """Open a ``.npy`` file with a view: one row per sample, one column per feature."""
    return _checked(_described(Path(path)))


def _checked(view: NpyView) -> NpyView:
    path, shape, dtype = view.path, view.shape, view.stored
    if len(shape) != 2 or dtype.kind not in "biuf" or 0 in shape:
        raise DataFileError(
            f"{path}: holds {' x '.join(map(str, shape)) or 'one'} {dtype} values, not a view. "
            "Store a 2-D numeric array, samples x features."
        )
    n_samples, width = shape
    n_values = (path.stat().st_size - view.offset) // dtype.itemsize
    if n_values < n_samples * width:
        # In column-major order, the last column is the first to lack rows.
        row = max(0, n_values - (width - 1) * n_samples) if view.fortran else n_values // width
        raise DataFileError(
            f"{path}: the header promises {n_samples} x {width} {dtype} values, but the file is "
            f"too short: rows from {row} on are missing. Copy it again."
        )
    return view


def from_memmap(array: "np.memmap[Any, Any]") -> StoredView | None:
    """View of the file under a memory map or consecutive rows of one; None if it has no longer."""
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    is_mapped = isinstance(root, np.memmap) and root.base is not None and root.mode != "c"
    is_matrix = array.ndim == 2 and array.dtype.kind in "biuf" and array.size > 0
    in_rows = array.flags.c_contiguous
    if not (is_mapped and root.filename and is_matrix and (in_rows or array.flags.f_contiguous)):
        return None
    if root.mode != "r":
        root.flush()
    # A slice has the offset of the whole map; only its address shows where it starts.
    offset = root.offset + array.ctypes.data - root.ctypes.data
    dtype = array.dtype.newbyteorder("=")
    view = NpyView(Path(root.filename), array.shape, dtype, offset, array.dtype, not in_rows)
    # The file may have been truncated, or replaced by another one, while the map has the old one.
    starts = np.unique(np.linspace(0, len(view) - 1, ROWS_COMPARED).astype(int)).tolist()
    rows = [slice(start, start + 1) for start in starts]
    with suppress(DataFileError):
        same = all(view[r].tobytes() == array[r].astype(dtype).tobytes() for r in rows)
        return view if same else None
    return None


def read_npz(path: Path, options: ReadOptions) -> ViewFile:
    """Read all matrices of an archive as views."""
    arrays: Variables = {}
    # numpy.load leaves a file open that it opened itself and cannot read.
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        require_memory(sum(m.file_size for m in archive.zip.infolist()), "Reading the arrays")
        for name in archive.files:
            try:
                array = archive[name]
            except ValueError as error:
                raise DataFileError(
                    f"array {name!r} cannot be read ({one_line(error)}). Save it again as a plain "
                    "numeric array; pickled objects are never loaded."
                ) from error
            # Members that are not arrays are bytes.
            if isinstance(array, np.ndarray):
                arrays[name] = array
    return views_among(arrays, path, options.labels)


def open_npy_folder(folder: Path, options: ReadOptions) -> ViewFile:
    """Open the files of a folder."""
    files = files_by_name(folder, (".npy",), (FEATURE_NAMES,))
    ids = _sample_ids(files.pop(SAMPLE_IDS)) if SAMPLE_IDS in files else None
    headers = {name: _described(file) for name, file in files.items()}
    for name in RESULT_VECTORS:
        if name in headers and len(headers[name].shape) == 1:
            del headers[name]
    # Labels of other levels have the type of labels, and views of integers hardly this name.
    if LEVEL_LABELS in headers and headers[LEVEL_LABELS].dtype == np.int32:
        del headers[LEVEL_LABELS]
    opened = opened_views(headers, folder, options.labels, _read_whole, _checked)
    opened = replace(opened, views=_with_feature_names(opened.views, folder / FEATURE_NAMES))
    if ids is None:
        return opened
    n_samples = next(iter(opened.views.values())).shape[0]
    if len(ids) != n_samples:
        raise DataFileError(
            f"{SAMPLE_IDS}.npy has {len(ids)} ids, but the views have {n_samples} samples. Store "
            "one id per sample."
        )
    target: Target = None if opened.target is None else pd.Series(opened.target, index=ids)
    return replace(opened, target=target, sample_ids=ids)


def _with_feature_names(views: dict[str, View], file: Path) -> dict[str, View]:
    """Views with the feature names in a file of the folder, if there is one."""
    if not file.exists():
        return views
    named: dict[str, Any] = dict(views)
    with data_file_errors(file):
        stored = json.loads(file.read_bytes())
        for name in views.keys() & stored.keys():
            view, features = named[name], stored[name]
            are_names = isinstance(features, list) and all(isinstance(f, str) for f in features)
            if not are_names or len(features) != view.shape[1]:
                raise DataFileError(
                    f"must have a list of {view.shape[1]} names for the view {name!r}. Correct or "
                    "remove it."
                )
            named[name] = replace(view, feature_names=np.array(features, dtype=object))
    return named


def _read_whole(view: NpyView) -> NDArray[Any]:
    with data_file_errors(view.path):
        return np.load(view.path, allow_pickle=False)


def _sample_ids(file: Path) -> "pd.Index[Any]":
    with data_file_errors(file):
        header = _described(file)
        if len(header.shape) != 1 or header.dtype.kind not in "iuU":
            other = OtherArray(header.shape, header.dtype)
            raise DataFileError(f"holds {other}. Store one vector of integers or strings.")
        values = _read_whole(header)
        ids = pd.Index(values.tolist() if values.dtype.kind == "U" else values.astype(np.int64))
        if repeated := ids[ids.duplicated()].tolist():
            raise DataFileError(
                f"the sample id {repeated[0]!r} occurs more than once. Keep one row per sample."
            )
        return ids


def without_objects(values: Any) -> NDArray[Any]:
    """Convert to int64 or strings, which are stored without pickling."""
    array = np.asarray(values)
    return array.astype(np.int64) if array.dtype.kind in "iu" else np.asarray(list(map(str, array)))
