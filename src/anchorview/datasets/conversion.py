"""Any data set made a folder of ``.npy`` files, which can stay on disk, block by block."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.atomic_files import atomic_folder
from anchorview._utils.errors import DataFileError, OutputFileError
from anchorview._utils.progress import report_progress
from anchorview._utils.text import format_bytes
from anchorview._utils.typing import Matrix
from anchorview.datasets.file_contents import naming_file
from anchorview.datasets.formats.npy_writer import Places, save_npy, writing_npy
from anchorview.datasets.formats.table_folders import (
    labels_of,
    outline,
    parts,
    table_files,
    whole_if_all,
)
from anchorview.datasets.opening import SAMPLE_IDS, holds_tables, open_views, stays_on_disk
from anchorview.datasets.reading import read_views
from anchorview.views.container import working_precision
from anchorview.views.stored_view import StoredView
from anchorview.views.view_file import Target, ViewFile

BLOCK_BYTES = 64 * 2**20
LABELS = "labels"

Flags: TypeAlias = "NDArray[np.bool_]"


def convert(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    zero_rows_missing: bool = False,
    dtype: str | None = None,
) -> Path:
    r"""Write views, and labels and sample ids if there are any, to a new folder of ``.npy`` files.

    :func:`open_views` opens the folder, and the views can stay on disk. What can stay on disk
    already, and tables in CSV and Parquet, are converted block by block, so they may be larger
    than memory; anything else is read as a whole first.

    Parameters
    ----------
    path : str or path-like
        What :func:`read_views` or :func:`open_views` takes. Samples of tables are matched by
        their ids, as :func:`read_views` does.
    folder : str or path-like
        The folder to make, with a file for each view, ``labels.npy`` and ``sample_ids.npy``. It
        appears under its name only once it is complete.
    zero_rows_missing : bool, default=False
        Whether a sample does not have a view in which its row is all zero.
    dtype : {"float32", "float64"}, optional
        Type of the numbers. By default views keep theirs, but those from CSV are float64, and
        integers become floats where samples are missing: their rows are NaN.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    DataFileError
        If the data cannot be read.
    OutputFileError
        If the folder exists already, cannot be written, or the disk has no room for it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from anchorview.datasets import convert, open_views
    >>> with TemporaryDirectory() as home:
    ...     tables = Path(home) / "tables"
    ...     tables.mkdir()
    ...     _ = (tables / "image.csv").write_text("id,width,height\na,4,3\nb,2,1\n")
    ...     _ = (tables / "text.csv").write_text("id,words\nb,120\nc,80\n")
    ...     data = open_views(convert(tables, Path(home) / "arrays"))
    ...     data.views["image"][:]
    array([[ 4.,  3.],
           [ 2.,  1.],
           [nan, nan]])
    >>> list(data.sample_ids)
    ['a', 'b', 'c']
    """
    path, folder = Path(path).absolute(), Path(folder)
    if dtype not in (None, "float32", "float64"):
        raise ValueError(f"dtype must be 'float32', 'float64' or None; got {dtype!r}.")
    with atomic_folder(folder) as part:
        with naming_file(path):
            data = _tables(path) if holds_tables(path) else _arrays(path)
            files = _file_names(list(data.sources))
            for source in data.sources.values() if zero_rows_missing else ():
                _find_zero_rows(source)
        types = [_type_of(source, dtype) for source in data.sources.values()]
        _require_room(folder, data, types)
        if data.target is not None:
            save_npy(part / f"{LABELS}.npy", _plain(data.target))
        if data.sample_ids is not None:
            save_npy(part / f"{SAMPLE_IDS}.npy", _plain(data.sample_ids))
        done, total = 0, sum(len(source.places) for source in data.sources.values())
        for name, source, kind in zip(files, data.sources.values(), types, strict=True):
            shape = (len(source.lacking), source.width)
            with writing_npy(part / f"{name}.npy", shape, kind) as writer:
                for places, values in _reading(path, source, kind):
                    writer.put(places, values)
                    done += len(places)
                    report_progress("converting", done, total)
                writer.fill(source.unplaced, np.nan)
    return folder


@dataclass(frozen=True, eq=False)
class _Source:
    """A view to be converted."""

    name: str
    width: int
    dtype: "np.dtype[Any]"
    places: Places
    """The rows that its rows become."""
    lacking: Flags
    """Which samples do not have the view."""
    unplaced: Flags
    """Which of them it has no row for."""
    blocks: Callable[[], Iterator[NDArray[Any]]]
    """Reads it from the start."""

    def placed(self) -> Iterator[tuple[Places, NDArray[Any]]]:
        """Read it from the start, with the rows that its rows become."""
        start = 0
        for values in self.blocks():
            yield self.places[start : start + len(values)], values
            start += len(values)
        if start != len(self.places):
            raise DataFileError(
                f"{self.name} has {len(self.places)} ids, but {start} rows. It has changed "
                "meanwhile, or is damaged: export it again."
            )


@dataclass(frozen=True, eq=False)
class _Data:
    sources: dict[str, _Source]
    target: Target
    sample_ids: "pd.Index[Any] | None"


def _tables(folder: Path) -> _Data:
    """Outline a folder of tables whose samples are matched by their ids."""
    files, label_file = table_files(folder)
    outlines = {name: outline(file) for name, file in files.items()}
    indices = [ids for ids, _, _ in outlines.values()]
    ids = indices[0].append(indices[1:]).unique()
    target = None if label_file is None else labels_of(label_file, ids)
    sources = {}
    for name, (own, width, dtype) in outlines.items():
        places = ids.get_indexer(own)
        unplaced = np.ones(len(ids), dtype=bool)
        unplaced[places] = False
        blocks = _parts(files[name], max(1, BLOCK_BYTES // (8 * width)))
        sources[name] = _Source(
            files[name].name, width, dtype, places, unplaced.copy(), unplaced, blocks
        )
    return _Data(sources, target, whole_if_all(ids))


def _parts(file: Path, n_rows: int) -> Callable[[], Iterator[NDArray[Any]]]:
    return lambda: parts(file, n_rows)


def _arrays(path: Path) -> _Data:
    """Open or read arrays whose samples are in the same order."""
    file: ViewFile = open_views(path) if stays_on_disk(path) else read_views(path)
    sources = {}
    for p, (name, view) in enumerate(file.views.items()):
        n_samples, width = view.shape
        none = np.zeros(n_samples, dtype=bool)
        lacking = none.copy() if file.available is None else ~file.available[:, p]
        numbers = view.to_numpy() if isinstance(view, pd.DataFrame) else view
        sources[name] = _Source(
            name, width, numbers.dtype, range(n_samples), lacking, none, _blocks(numbers)
        )
    return _Data(sources, file.target, file.sample_ids)


def _blocks(view: Matrix) -> Callable[[], Iterator[NDArray[Any]]]:
    n_samples, width = view.shape
    n_rows = max(1, BLOCK_BYTES // (width * view.dtype.itemsize))
    if isinstance(view, StoredView) and view.row_step <= n_rows:
        # Chunks are read as a whole anyway. Of larger ones, several side by side would be too much.
        n_rows -= n_rows % view.row_step

    def blocks() -> Iterator[NDArray[Any]]:
        for start in range(0, n_samples, n_rows):
            block = view[start : start + n_rows]
            yield block.toarray() if sparse.issparse(block) else block

    return blocks


def _find_zero_rows(source: _Source) -> None:
    for places, values in source.placed():
        source.lacking[np.asarray(places)[~values.astype(bool).any(axis=1)]] = True


def _type_of(source: _Source, wanted: str | None) -> "np.dtype[Any]":
    """Type in which a view is written: with NaN if samples lack it."""
    if wanted is not None:
        return np.dtype(wanted)
    return with_nan(source.dtype) if source.lacking.any() else source.dtype


def with_nan(dtype: "np.dtype[Any]") -> "np.dtype[Any]":
    """Type that has NaN and the values of another type."""
    return dtype if dtype.kind == "f" else working_precision([dtype])


def _reading(
    path: Path, source: _Source, kind: "np.dtype[Any]"
) -> Iterator[tuple[Places, NDArray[Any]]]:
    """Read a view as it is to be written."""
    with naming_file(path):
        for places, values in source.placed():
            lacking = source.lacking[np.asarray(places)]
            try:
                with np.errstate(over="raise"):
                    numbers = values.astype(kind, copy=bool(lacking.any()))
            except FloatingPointError:
                raise DataFileError(
                    f"{source.name} holds numbers that are too large for {kind}. Keep their type."
                ) from None
            if lacking.any():
                numbers[lacking] = np.nan
            yield places, numbers


def _file_names(names: list[str]) -> list[str]:
    """Names of files for views of any names."""
    taken = {LABELS: "the labels", SAMPLE_IDS: "the sample ids"}
    files = [re.sub(r"[^\w.\- ]|^\.", "_", name) for name in names]
    for name, file in zip(names, files, strict=True):
        # Some file systems do not tell capital letters from small ones.
        key = file.lower()
        if key in taken:
            raise DataFileError(
                f"the view {name!r} would become {file}.npy, which is for {taken[key]}. Rename it."
            )
        taken[key] = f"the view {name!r}"
    return files


def _plain(values: Any) -> NDArray[Any]:
    """Whole numbers or strings, never objects."""
    array = np.asarray(values)
    return array.astype(np.int64) if array.dtype.kind in "iu" else np.asarray(list(map(str, array)))


def _require_room(folder: Path, data: _Data, types: "list[np.dtype[Any]]") -> None:
    needed = sum(
        len(source.lacking) * source.width * kind.itemsize
        for source, kind in zip(data.sources.values(), types, strict=True)
    )
    free = shutil.disk_usage(folder.absolute().parent).free
    if needed > free:
        raise OutputFileError(
            f"{folder}: needs {format_bytes(needed)}, but the disk has {format_bytes(free)} free. Free "
            "some, or give another place."
        )
