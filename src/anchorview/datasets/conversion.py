"""Conversion of any data set to a folder of ``.npy`` files, block by block."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.atomic_files import atomic_folder
from anchorview._utils.errors import DataFileError, OutputFileError
from anchorview._utils.progress import report_progress
from anchorview._utils.text import format_bytes
from anchorview._utils.typing import FeatureNames, Matrix
from anchorview.datasets.file_contents import ReadOptions, data_file_errors
from anchorview.datasets.formats.arrays import (
    FEATURE_NAMES,
    LABELS,
    SAMPLE_IDS,
    without_objects,
    write_npy_header,
)
from anchorview.datasets.formats.table import (
    Table,
    checked_ids,
    table_view,
    union_of_samples,
    warn_of_detected,
)
from anchorview.datasets.formats.table_files import integers_if_all, read_labels, tables_of
from anchorview.datasets.reading import existing_format, open_views, read_views, stays_on_disk
from anchorview.views.anndata_matrices import ViewSelection
from anchorview.views.row_source import working_precision
from anchorview.views.stored_view import FileVersion, StoredView, Target, require_unchanged
from anchorview.views.table_columns import column_names, feature_names_of

BLOCK_BYTES = 64 * 2**20
"""Size of the blocks in which views are read and written."""


def convert(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    zero_rows_missing: bool = False,
    dtype: str | None = None,
    id_column: str | bool = True,
    header: bool = True,
    csv: Mapping[str, Any] | None = None,
    views: ViewSelection | None = None,
    drop: Sequence[str] = (),
) -> Path:
    r"""Write views, with class labels and sample ids if any, to a new folder of ``.npy`` files.

    :func:`open_views` opens the folder, and the views can stay on disk. Formats that can stay on
    disk already, and tables in CSV and Parquet, are converted in blocks, so they may be larger
    than memory; anything else is read whole first.

    Parameters
    ----------
    path : str or path-like
        Anything that :func:`read_views` or :func:`open_views` accepts. Samples of tables are
        matched by their ids, as in :func:`read_views`.
    folder : str or path-like
        The folder to create, with one file per view, ``labels.npy``, ``sample_ids.npy`` and
        ``feature_names.json``. It appears under its name only once it is complete.
    zero_rows_missing : bool, default=False
        Whether a row of zeros means that the sample lacks the view.
    dtype : {"float32", "float64"}, optional
        Type of the numbers. By default views keep their type, except that integers become floats
        if samples are missing, whose rows are NaN.
    id_column : str or bool, default=True
        Column with the sample ids of tables, as in :func:`read_views`.
    header : bool, default=True
        Whether CSV files have a header, as in :func:`read_views`.
    csv : dict, default=None
        How CSV files are written, as in :func:`read_views`.
    views : dict of str to str, default=None
        Matrices or tables that are views, as in :func:`read_views`.
    drop : sequence of str, default=()
        Columns of tables that are left out, as in :func:`read_views`. All others must be numbers.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    DataFileError
        If the data cannot be read.
    OutputFileError
        If the folder exists already or cannot be written, or the disk has too little space.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from anchorview.datasets import convert, open_views
    >>> with TemporaryDirectory() as parent:
    ...     tables = Path(parent) / "tables"
    ...     tables.mkdir()
    ...     _ = (tables / "image.csv").write_text("id,width,height\na,4,3\nb,2,1\n")
    ...     _ = (tables / "text.csv").write_text("id,words\nb,120\nc,80\n")
    ...     data = open_views(convert(tables, Path(parent) / "arrays"))
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
        with data_file_errors(path):
            options = ReadOptions(None, id_column, header, csv, views, drop=tuple(drop))
            prepare = _tables if existing_format(path, options).by_id else _arrays
            sources, target, sample_ids = prepare(path, options)
            names = _file_names([view.name for view in sources])
            for view in sources if zero_rows_missing else ():
                for rows, block in view.blocks():
                    view.missing[rows[~block.astype(bool).any(axis=1)]] = True
        # Rows of samples that lack a view are NaN.
        kept = (with_nan(view.dtype) if view.missing.any() else view.dtype for view in sources)
        types = [np.dtype(dtype) if dtype else own for own in kept]
        sizes = (len(view.missing) * view.n_features for view in sources)
        needed = sum(n * kind.itemsize for n, kind in zip(sizes, types, strict=True))
        free = shutil.disk_usage(folder.absolute().parent).free
        if needed > free:
            raise OutputFileError(
                f"{folder}: needs {format_bytes(needed)}, but the disk has {format_bytes(free)} "
                "free. Free some space, or choose another disk."
            )
        for name, values in ((LABELS, target), (SAMPLE_IDS, sample_ids)):
            if values is not None:
                np.save(part / f"{name}.npy", without_objects(values), allow_pickle=False)
        named = zip(names, (view.feature_names for view in sources), strict=True)
        if features := {name: f.tolist() for name, f in named if f is not None}:
            (part / FEATURE_NAMES).write_text(json.dumps(features), encoding="utf-8")
        done, total = 0, sum(len(view.missing) for view in sources)
        for name, view, kind in zip(names, sources, types, strict=True):
            with (part / f"{name}.npy").open("wb") as stream:
                for n_rows in _write_view(stream, view, kind, path):
                    done += n_rows
                    report_progress("converting", done, total)
    return folder


@dataclass(frozen=True, eq=False)
class _ViewSource:
    """A view to be converted; `read` reads all rows in order, in blocks."""

    name: str
    n_features: int
    feature_names: FeatureNames | None
    dtype: "np.dtype[Any]"
    read: Callable[[], Iterator[NDArray[Any] | pd.DataFrame]]
    rows: NDArray[np.intp]
    """Position in the output of each row of the source."""
    missing: NDArray[np.bool_]
    """Which samples lack the view."""

    def blocks(self) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
        """Read all rows in blocks, with their positions in the output; then those it lacks."""
        start = 0
        for block in self.read():
            yield self.rows[start : start + len(block)], np.asarray(block)
            start += len(block)
        if start != len(self.rows):
            raise DataFileError(
                f"{self.name} has {len(self.rows)} ids, but {start} rows. It was changed during "
                "the conversion, or is damaged: export it again."
            )
        absent = np.setdiff1d(np.arange(len(self.missing)), self.rows)
        step = max(1, BLOCK_BYTES // (8 * self.n_features))
        for rows in (absent[i : i + step] for i in range(0, len(absent), step)):
            yield rows, np.zeros((len(rows), self.n_features))


_Data: TypeAlias = "tuple[list[_ViewSource], Target, pd.Index[Any] | None]"


def _tables(path: Path, options: ReadOptions) -> _Data:
    """Prepare tables; samples are matched by their ids."""
    tables, label_table = tables_of(path, options)
    outlines, ids_of = [], []
    for name, table in tables.items():
        read = partial(_numeric_blocks, table, name, FileVersion.of(table.path))
        parts = [(block.index, block.columns, block.to_numpy().dtype) for block in read()]
        indices, (columns, *_), types = zip(*parts, strict=True)
        with table.errors():
            ids_of.append(checked_ids(indices[0].append(list(indices[1:])), options))
        outlines.append((name, len(columns), column_names(columns), np.result_type(*types), read))
    titles = (table.title for table in tables.values())
    ids = union_of_samples(dict(zip(titles, ids_of, strict=True)), options)
    views = [
        _ViewSource(*outline, rows=ids.get_indexer(own), missing=~ids.isin(own))
        for outline, own in zip(outlines, ids_of, strict=True)
    ]
    target = read_labels(label_table, ids, options)
    warn_of_detected([*tables.values(), label_table])
    return views, target, integers_if_all(ids)


def _numeric_blocks(table: Table, name: str, version: FileVersion | None) -> Iterator[pd.DataFrame]:
    """Read a table, which must have this version, in blocks of numbers of one type."""
    with table.errors():
        require_unchanged(table.path, version)
        for block in table.blocks(name, BLOCK_BYTES):
            values = table_view(block, table.subject, numbers=True).values()
            yield pd.DataFrame(values, block.index, block.columns, copy=False)
            require_unchanged(table.path, version)


def _arrays(path: Path, options: ReadOptions) -> _Data:
    """Open or read arrays with samples in the same order."""
    file = (open_views if stays_on_disk(path) else read_views)(path, views=options.views)
    views = []
    for p, (name, view) in enumerate(file.views.items()):
        n_samples, width = view.shape
        missing = np.zeros(n_samples, bool) if file.available is None else ~file.available[:, p]
        matrix = view.to_numpy() if isinstance(view, pd.DataFrame) else view
        read = partial(_row_blocks, matrix)
        features = file.feature_names.get(name, feature_names_of(view))
        rows = np.arange(n_samples)
        views.append(_ViewSource(name, width, features, matrix.dtype, read, rows, missing))
    return views, file.target, file.sample_ids


def _row_blocks(matrix: Matrix) -> Iterator[NDArray[Any]]:
    n_samples, width = matrix.shape
    n_rows = max(1, BLOCK_BYTES // (width * matrix.dtype.itemsize))
    if isinstance(matrix, StoredView) and matrix.row_step <= n_rows:
        # Chunks are read whole anyway. Larger chunks are not: a row of them may exceed memory.
        n_rows -= n_rows % matrix.row_step
    for start in range(0, n_samples, n_rows):
        block = matrix[start : start + n_rows]
        yield block.toarray() if sparse.issparse(block) else block


def _write_view(
    stream: BinaryIO, view: _ViewSource, dtype: "np.dtype[Any]", path: Path
) -> Iterator[int]:
    """Write the rows of a view to their positions; yields the numbers of rows that were written."""
    # Not by a memory map: on a full disk, that ends the process instead of raising.
    row_bytes = view.n_features * dtype.itemsize
    write_npy_header(stream, (len(view.missing), view.n_features), dtype)
    offset = stream.tell()
    for rows, values in _converted_blocks(path, view, dtype):
        # Tables mostly have the same order, so there are few runs of consecutive rows.
        ends = [*(np.flatnonzero(np.diff(rows) != 1) + 1).tolist(), len(rows)]
        for begin, end in pairwise([0, *ends]):
            stream.seek(offset + int(rows[begin]) * row_bytes)
            stream.write(np.ascontiguousarray(values[begin:end], dtype).data)
        yield len(rows)


def _converted_blocks(
    path: Path, view: _ViewSource, dtype: "np.dtype[Any]"
) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
    """Read a view in blocks as they are to be written: rows of samples without it are NaN."""
    with data_file_errors(path):
        for rows, block in view.blocks():
            missing = view.missing[rows]
            try:
                with np.errstate(over="raise"):
                    values = block.astype(dtype, copy=bool(missing.any()))
            except FloatingPointError:
                raise DataFileError(
                    f"{view.name} holds numbers that are too large for {dtype}. Keep their type."
                ) from None
            if missing.any():
                values[missing] = np.nan
            yield rows, values


def with_nan(dtype: "np.dtype[Any]") -> "np.dtype[Any]":
    """Return the float type for NaN and the values of another type."""
    return dtype if dtype.kind == "f" else working_precision([dtype])


def _file_names(names: list[str]) -> list[str]:
    """Return valid and distinct file names for views of any names."""
    taken = {LABELS: "the class labels", SAMPLE_IDS: "the sample ids"}
    files = [re.sub(r"[^\w.\- ]|^\.", "_", name) for name in names]
    for name, file in zip(names, files, strict=True):
        # Some file systems are not case-sensitive.
        key = file.lower()
        if key in taken:
            raise DataFileError(
                f"the view {name!r} would become {file}.npy, which is for {taken[key]}. Rename it."
            )
        taken[key] = f"the view {name!r}"
    return files
