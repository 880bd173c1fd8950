"""Views that stay on disk, opened by reading no more than headers, labels and ids."""

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError, MissingPackageError
from anchorview.datasets.file_contents import naming_file
from anchorview.datasets.formats.hdf5 import hdf5_datasets, open_hdf5, read_hdf5
from anchorview.datasets.formats.npy import npy_header, open_npy
from anchorview.datasets.formats.parquet import parquet_view
from anchorview.datasets.formats.table_folders import (
    checked_ids,
    files_by_name,
    labels_of,
    one_of_labels,
    table_files,
)
from anchorview.datasets.formats.zarr import read_zarr, zarr_arrays, zarr_view
from anchorview.datasets.unread_arrays import Item, told_apart
from anchorview.datasets.variables import matlab_views, sort_out
from anchorview.views.view_file import Target, View, ViewFile

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
HDF5_SUFFIXES = (".h5", ".hdf5")
ZARR_MARKS = ("zarr.json", ".zgroup", ".zattrs")
SAMPLE_IDS = "sample_ids"


def open_views(path: str | os.PathLike[str]) -> ViewFile:
    """Open views that stay on disk: their rows are read block by block when they are needed.

    Views are

    - in a folder of ``.npy`` files: each 2-D numeric file, by its name without the ending, in
      natural order; the vector ``sample_ids.npy`` has the sample ids, whole numbers or strings;
    - in ``.h5`` and ``.hdf5``, and in a Zarr store: all 2-D numeric datasets, in groups too, by
      their names within the file, in natural order;
    - in ``.mat`` of MATLAB 7.3: the matrices that :func:`read_views` takes;
    - in a folder of ``.parquet`` files only: each file. All must have the same samples in the same
      order; their ids are read with the rows.

    Samples are rows; only in ``.mat`` they may be columns. Labels and availability have the names
    that :func:`read_views` knows; the latter is samples x views, of zeros and ones.

    Parameters
    ----------
    path : str or path-like
        A file or folder of these kinds. HDF5 needs ``pip install "anchorview[hdf5]"``, Zarr
        ``"anchorview[zarr]"``, Parquet ``"anchorview[parquet]"``. :func:`convert` makes a folder
        of ``.npy`` files of anything else that :func:`read_views` reads.

    Returns
    -------
    ViewFile
        With views of :class:`anchorview.views.stored_view.StoredView`.

    Raises
    ------
    DataFileError
        If there is no such file, it is too short or damaged, or of another kind.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "text.npy", np.arange(8.0).reshape(4, 2))
    ...     np.save(Path(folder) / "image.npy", np.ones((4, 3), dtype=np.float32))
    ...     np.save(Path(folder) / "labels.npy", [0, 0, 1, 1])
    ...     data = open_views(folder)
    ...     data.views["text"][1:3]
    array([[2., 3.],
           [4., 5.]])
    >>> {name: view.shape for name, view in data.views.items()}
    {'image': (4, 3), 'text': (4, 2)}
    >>> data.target
    array([0, 0, 1, 1])
    """
    path = Path(path).absolute()
    with naming_file(path):
        if not path.exists():
            raise DataFileError("no such file. Check the path.")
        opener = _opener(path)
        if opener is None:
            raise DataFileError(
                "cannot stay on disk. A folder of .npy files can, and .h5, .hdf5, a Zarr store, "
                "a .mat file of MATLAB 7.3 and a folder of .parquet files. "
                "`anchorview convert DATA FOLDER` makes a folder of .npy files."
            )
        return opener(path)


def stays_on_disk(path: str | os.PathLike[str]) -> bool:
    """Whether a path is of a kind that :func:`open_views` takes; it may fail there still."""
    return _opener(Path(path)) is not None


def holds_tables(path: Path) -> bool:
    """Whether a path is a folder whose views are tables, or of no kind at all."""
    return path.is_dir() and _opener(path) in (None, _open_parquet)


def loaded(path: Path) -> ViewFile | None:
    """Read views of the kinds that are there to stay on disk; None for any other kind."""
    opener = _opener(path)
    if opener is None or opener in (_open_matlab, _open_parquet):
        return None
    file = opener(path)
    views: dict[str, View] = {}
    for name, view in file.views.items():
        values = np.asarray(view)
        named = file.sample_ids is not None
        views[name] = pd.DataFrame(values, file.sample_ids, copy=False) if named else values
    return ViewFile(views, file.target, path, file.sample_ids, file.available)


def is_hdf5(path: Path) -> bool:
    """Whether a file starts as HDF5 does, after the header of 512 bytes that MATLAB puts first."""
    with path.open("rb") as stream:
        start = stream.read(512 + len(HDF5_SIGNATURE))
    return start.startswith(HDF5_SIGNATURE) or start[512:] == HDF5_SIGNATURE


def matlab73() -> ModuleType:
    """Import the reader of MATLAB 7.3 files, which needs h5py."""
    try:
        return import_module("anchorview.datasets.formats.matlab73")
    except ImportError as error:
        raise MissingPackageError(
            'MATLAB 7.3 files need h5py: pip install "anchorview[hdf5]", or save the '
            "file with -v7 in MATLAB."
        ) from error


def _opener(path: Path) -> Callable[[Path], ViewFile] | None:
    suffix = path.suffix.lower()
    if path.is_dir():
        if suffix == ".zarr" or any((path / mark).exists() for mark in ZARR_MARKS):
            return _open_zarr
        endings = {Path(name).suffix.lower() for name in os.listdir(path) if name[0] != "."}
        if ".npy" in endings:
            return _open_npy_folder
        return _open_parquet if ".parquet" in endings and ".csv" not in endings else None
    if suffix in HDF5_SUFFIXES:
        return _open_hdf5
    return _open_matlab if suffix == ".mat" and path.is_file() and is_hdf5(path) else None


def _open_npy_folder(folder: Path) -> ViewFile:
    files = files_by_name(folder, (".npy", ".csv", ".parquet"))
    for file in files.values():
        if file.suffix.lower() != ".npy":
            raise DataFileError(f"holds .npy files and the table {file.name}. Keep one kind.")
    items = {}
    for name, file in files.items():
        shape, _, dtype, _ = npy_header(file)
        items[name] = Item(shape, dtype, partial(_read_npy, file), partial(open_npy, file))
    ids = _sample_ids(items.pop(SAMPLE_IDS)) if SAMPLE_IDS in items else None
    label_name = one_of_labels(list(items))
    for name, item in items.items():
        if not item.is_matrix and name != label_name:
            raise DataFileError(
                f"{name}.npy holds {item}. A view is a 2-D numeric array, labels are a vector in "
                f"labels.npy, and sample ids one in {SAMPLE_IDS}.npy. Correct it, or take it away."
            )
    views, target, available = told_apart(items)
    if ids is None:
        return ViewFile(views, target, folder, None, available)
    n_samples = next(iter(views.values())).shape[0]
    if len(ids) != n_samples:
        raise DataFileError(
            f"{SAMPLE_IDS}.npy has {len(ids)} ids, but the views have {n_samples} samples. Store "
            "one id per sample."
        )
    named: Target = None if target is None else pd.Series(target, index=ids)
    return ViewFile(views, named, folder, ids, available)


def _read_npy(file: Path) -> NDArray[Any]:
    with naming_file(file):
        if npy_header(file)[2].hasobject:
            raise DataFileError(
                "holds Python objects, which are not loaded. Store whole numbers or strings."
            )
        return np.load(file, allow_pickle=False)


def _sample_ids(item: Item) -> "pd.Index[Any]":
    if len(item.shape) != 1 or item.dtype.kind not in "iuU":
        raise DataFileError(
            f"{SAMPLE_IDS}.npy holds {item}. Store one vector of whole numbers or strings."
        )
    values = item.read()
    ids = pd.Index(values.tolist()) if item.dtype.kind == "U" else pd.Index(values.astype(np.int64))
    repeated = ids[ids.duplicated()]
    if len(repeated):
        raise DataFileError(
            f"{SAMPLE_IDS}.npy has the id {repeated[0]} more than once. Keep one row a sample."
        )
    return ids


def _open_hdf5(path: Path) -> ViewFile:
    items = {
        name: Item(shape, dtype, partial(read_hdf5, path, name), partial(open_hdf5, path, name))
        for name, (shape, dtype) in hdf5_datasets(path).items()
    }
    views, target, available = told_apart(items)
    return ViewFile(views, target, path, None, available)


def _open_zarr(path: Path) -> ViewFile:
    items = {
        name: Item(node.shape, node.dtype, partial(read_zarr, node), partial(zarr_view, path, node))
        for name, node in zarr_arrays(path)
    }
    views, target, available = told_apart(items)
    return ViewFile(views, target, path, None, available)


def _open_matlab(path: Path) -> ViewFile:
    views, target, available = sort_out(matlab73().open_matlab73(path), matlab_views)
    return ViewFile(views, target, path, None, available)


def _open_parquet(folder: Path) -> ViewFile:
    files, label_file = table_files(folder)
    views = {name: parquet_view(file) for name, file in files.items()}
    first, n_samples = next((name, len(view)) for name, view in views.items())
    for name, view in views.items():
        if len(view) != n_samples:
            raise DataFileError(
                f"{files[first].name} has {n_samples} samples, but {files[name].name} has "
                f"{len(view)}. Tables that stay on disk need the same samples in the same order; "
                "`anchorview convert DATA FOLDER` matches them by their ids."
            )
    target = None
    if label_file is not None:
        ids = checked_ids(files[first], views[first].all_ids())
        # Without the ids: those come with the rows of the views.
        target = labels_of(label_file, ids).to_numpy()
    return ViewFile(dict(views), target, folder)
