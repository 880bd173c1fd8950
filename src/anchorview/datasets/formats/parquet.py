"""Parquet tables, read whole or by row groups. Needs pyarrow."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.errors import DataFileError, optional_import
from anchorview._utils.typing import Array
from anchorview.datasets.file_contents import (
    DEFAULT_OPTIONS,
    ReadOptions,
    data_file_errors,
    require_free_memory,
)
from anchorview.datasets.formats.table_checks import (
    Outline,
    checked_ids,
    missing_id_error,
    not_numeric_error,
    require_content,
)
from anchorview.views.stored_view import StoredView
from anchorview.views.table_columns import column_names

BATCH_BYTES = 16 * 2**20
SEVERAL_LEVELS = "the index has several levels. Keep one, the sample id."


@dataclass(frozen=True, eq=False)
class ParquetView(StoredView):
    """A table with a column of sample ids; all others are features."""

    id_source: str | range | None
    """The column of the ids, the ids if they are a range, or None without ids."""
    left_out: tuple[str, ...]
    """Columns that are not features: ids, and the index of a stored DataFrame."""
    group_starts: tuple[int, ...]
    """Rows at which the row groups start, followed by the number of rows."""

    def batches(self) -> Iterator[Array]:
        """Read all rows in order, some at a time; cheaper than slices of large row groups."""
        start = 0
        batches = self._batches(list(range(len(self.group_starts) - 1)))
        while True:
            batch = self._guarded(lambda *_: next(batches, None), start, len(self))
            if batch is None:
                break
            yield batch
            start += len(batch)
        if start != len(self):
            raise self._unreadable(start, len(self), "they are not there")

    def _read(self, start: int, stop: int) -> Array:
        groups = self._groups(start, stop)
        first = self.group_starts[groups[0]]
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        done = 0
        for batch in self._batches(groups):
            part = batch[max(0, start - first) : max(0, stop - first)]
            rows[done : done + len(part)] = part
            done += len(part)
            first += len(batch)
            if first >= stop:
                break
        return rows[:done]

    def _groups(self, start: int, stop: int) -> list[int]:
        """Row groups that cover some rows."""
        starts = self.group_starts
        return [g for g in range(len(starts) - 1) if starts[g] < stop and starts[g + 1] > start]

    def _batches(self, groups: list[int]) -> Iterator[Array]:
        file = _open(self.path)
        rows = max(1, BATCH_BYTES // (8 * self.shape[1]))
        for batch in file.iter_batches(rows, row_groups=groups):
            columns = zip(batch.schema.names, batch.columns, strict=True)
            features = [column for name, column in columns if name not in self.left_out]
            values = np.empty((batch.num_rows, len(features)), self.dtype)
            for j, column in enumerate(features):
                values[:, j] = _numbers(column)
            yield values

    def require_ids(self, options: ReadOptions) -> None:
        """Raise if ids are missing or repeated, or cannot be ids; uses little memory for them."""
        if not isinstance(self.id_source, str):
            return
        compute = optional_import("pyarrow.compute", "Parquet files", "parquet")
        with data_file_errors(self.path):
            ids = _open(self.path).read(columns=[self.id_source]).column(0)
            distinct = compute.count_distinct(ids, mode="only_valid").as_py()
            if distinct < len(self) or _numpy_type(ids.type).kind == "f":
                checked_ids(pd.Index(ids.to_pandas()), options)

    def _read_ids(self, start: int, stop: int) -> "pd.Index[Any] | None":
        if self.id_source is None:
            return None
        if isinstance(self.id_source, range):
            return pd.Index(np.array(self.id_source[start:stop], dtype=np.int64))
        groups = self._groups(start, stop)
        if not groups:
            return pd.Index([], dtype=np.int64)
        table = _open(self.path).read_row_groups(groups, columns=[self.id_source])
        first = self.group_starts[groups[0]]
        column = table.column(self.id_source).slice(start - first, stop - start)
        missing = np.flatnonzero(column.is_null().to_numpy())
        if len(missing):
            with data_file_errors(self.path):
                raise missing_id_error(start + int(missing[0]))
        ids = pd.Index(column.to_pandas())
        integers = ids.dtype.kind in "iu"
        return ids.astype(np.int64) if integers else pd.Index([str(sample) for sample in ids])


def _open(path: Path) -> Any:
    parquet = optional_import("pyarrow.parquet", "Parquet files", "parquet")
    return parquet.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)


def _numbers(column: Any) -> Array:
    """Values of a column; NaN for nulls."""
    if column.null_count and _numpy_type(column.type).kind != "f":
        column = column.cast("float64")
    return column.to_numpy(zero_copy_only=False)


def _numpy_type(arrow_type: Any) -> "np.dtype[Any]":
    """Type of a column in NumPy; object for anything but plain numbers."""
    try:
        return np.dtype(arrow_type.to_pandas_dtype())
    except NotImplementedError:
        return np.dtype(object)


def parquet_view(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> ParquetView:
    """Open a table as a view.

    By default, the sample id is the index of the stored DataFrame, or the first column if that
    index is only row numbers. The index is never a feature.
    """
    with data_file_errors(path):
        file = _open(path)
        metadata = file.metadata
        index = _stored_index(file.schema_arrow)
        id_source = _id_source(file.schema_arrow, index, options)
        left_out = tuple(name for name in (index, id_source) if isinstance(name, str))
        features = [name for name in file.schema_arrow.names if name not in left_out]
        require_content(metadata.num_rows, len(features))
        sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        return ParquetView(
            path,
            (metadata.num_rows, len(features)),
            _common_type(file, left_out),
            id_source,
            left_out,
            tuple(accumulate(sizes, initial=0)),
            row_step=max(sizes),
            feature_names=column_names(pd.Index(features)),
        )


def parquet_outline(path: Path, options: ReadOptions) -> Outline:
    """Read only the sample ids, the names of the features and their type."""
    view = parquet_view(path, options)
    ids = view.ids(slice(None))
    names = range(view.shape[1]) if view.feature_names is None else view.feature_names
    return pd.RangeIndex(len(view)) if ids is None else ids, list(names), view.dtype


def parquet_blocks(path: Path, options: ReadOptions, n_rows: int) -> Iterator[Array]:
    """Read the values in order, by batches whatever `n_rows` is."""
    return parquet_view(path, options).batches()


def read_parquet(path: Path, options: ReadOptions, *, text: bool = False) -> pd.DataFrame:
    """Read a table with the sample ids as its index; the types are those of the file."""
    metadata = _open(path).metadata
    # All values as 8 bytes, in Arrow's memory and in that of pandas.
    require_free_memory(16.0 * metadata.num_rows * metadata.num_columns, "reading the table")
    table = pd.read_parquet(path, engine="pyarrow")
    if isinstance(table.index, pd.MultiIndex):
        raise DataFileError(SEVERAL_LEVELS)
    if options.id_column is True:
        only_numbered = isinstance(table.index, pd.RangeIndex) and table.index.name is None
        return table.set_index(table.columns[0]) if only_numbered and table.shape[1] else table
    if not options.has_ids:
        return table.reset_index(drop=True)
    if options.id_column == table.index.name:
        return table
    options.id_position(list(table.columns))
    return table.set_index(str(options.id_column))


def _stored_index(schema: Any) -> str | range | None:
    """Return the column of the index of a stored DataFrame, or its range if that has a name."""
    indices = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    if len(indices) > 1:
        raise DataFileError(SEVERAL_LEVELS)
    for index in indices:
        if isinstance(index, str):
            return index
        if index["name"] is not None:
            return range(index["start"], index["stop"], index["step"])
    return None


def _id_source(schema: Any, index: str | range | None, options: ReadOptions) -> str | range | None:
    """Return the column of the ids, or the range of ids; None without ids."""
    if not options.has_ids:
        return None
    if options.id_column is True:
        return index if index is not None else (*schema.names, range(0))[0]
    return schema.names[options.id_position(schema.names)]


def _common_type(file: Any, left_out: tuple[str, ...]) -> "np.dtype[Any]":
    """Type that holds the values of all features, and NaN if some may be missing."""
    types: list[np.dtype[Any]] = []
    for position, column in enumerate(file.schema_arrow):
        if column.name in left_out:
            continue
        dtype = _numpy_type(column.type)
        if dtype.kind not in "biuf":
            raise not_numeric_error(column.name, _first_value(file, column.name))
        nullable = dtype.kind != "f" and _may_have_nulls(file.metadata, position)
        types.append(np.dtype(np.float64) if nullable else dtype)
    return np.result_type(*types)


def _may_have_nulls(metadata: Any, column: int) -> bool:
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    statistics = (group.column(column).statistics for group in groups)
    return any(s is None or not s.has_null_count or s.null_count for s in statistics)


def _first_value(file: Any, column: str) -> list[Any]:
    batches = file.iter_batches(1000, columns=[column])
    values = (value for batch in batches for value in batch.column(column).to_pylist())
    return list(islice((value for value in values if value is not None), 1))
