"""Parquet tables, read whole or by row groups. Needs pyarrow."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
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
    NO_VIEW,
    as_category,
    missing_id_error,
    require_content,
    rows_in_block,
    view_values,
)
from anchorview.views.stored_view import StoredView
from anchorview.views.table_columns import NUMERIC, TableView, column_names, describe_kinds

BATCH_BYTES = 16 * 2**20

EXAMINED_BYTES = 2**20
"""Size of the first rows, from which the types of the columns follow."""

KINDS = {
    nw.Boolean: "boolean",
    nw.Categorical: "category",
    nw.Date: "date",
    nw.Datetime: "date",
    nw.String: "text",
}
"""Kinds of columns that are no numbers, by their types in narwhals."""


@dataclass(frozen=True, eq=False)
class ParquetView(StoredView):
    """A table with a column of sample ids; all others are features."""

    id_source: str | range | None
    """The column of the ids, the ids if they are a range, or None without ids."""
    columns: tuple[str, ...]
    """The features, i.e. neither ids nor the index of a stored DataFrame."""
    categories: list[str]
    """Columns that are made categories."""
    group_starts: tuple[int, ...]
    """Rows at which the row groups start, followed by the number of rows."""

    def _read(self, start: int, stop: int) -> Any:
        groups = self._groups(start, stop)
        first = self.group_starts[groups[0]]
        if self.kinds:
            table = _open(self.path).read_row_groups(groups, columns=list(self.columns))
            frame = _frame(table.slice(start - first, stop - start))
            for name in self.categories:
                frame[name] = as_category(frame[name])
            return TableView(frame, str(self.path), self.kinds)
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        done = 0
        for batch in self.batches(groups):
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

    def batches(self, groups: list[int] | None = None) -> Iterator[Array]:
        """Read row groups, or all rows; cheaper than slices of large row groups."""
        file = _open(self.path)
        n_rows = max(1, BATCH_BYTES // (8 * self.shape[1]))
        for batch in file.iter_batches(n_rows, row_groups=groups, columns=list(self.columns)):
            values = view_values(_frame(batch), self.path)
            assert values is not None
            yield values.astype(self.dtype, copy=False)

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

    @property
    def description(self) -> str:
        """How many columns of each kind there are."""
        return describe_kinds(self.kinds)


def _frame(table: Any) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, date_as_object=False)
    return frame


def _open(path: Path) -> Any:
    parquet = optional_import("pyarrow.parquet", "Parquet files", "parquet")
    return parquet.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)


def parquet_features(path: Path, options: ReadOptions) -> list[str]:
    """Names of the columns that are neither ids nor the index of a stored DataFrame."""
    schema = _open(path).schema_arrow
    left_out = _places_of_ids(schema, options)[1]
    return [name for name in schema.names if name not in left_out]


def parquet_view(path: Path, options: ReadOptions = DEFAULT_OPTIONS, name: str = "") -> ParquetView:
    """Open a table as a view with a name.

    By default, the sample id is the index of the stored DataFrame, or the first column if that
    index is only row numbers. The index is never a feature.
    """
    with data_file_errors(path):
        file = _open(path)
        metadata = file.metadata
        id_source, _ = _places_of_ids(file.schema_arrow, options)
        features = parquet_features(path, options)
        dropped, categories = options.dropped(name, features), options.categories(name, features)
        features = [name for name in features if name not in dropped]
        require_content(metadata.num_rows, len(features))
        kinds = _kinds(file.schema_arrow, features, categories)
        is_table = not set(kinds) <= NUMERIC
        sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        largest = sizes.index(max(sizes))
        return ParquetView(
            path,
            (metadata.num_rows, len(features)),
            TableView.dtype if is_table else _common_type(file, path, features, largest),
            id_source,
            tuple(features),
            categories,
            tuple(accumulate(sizes, initial=0)),
            row_step=max(sizes),
            feature_names=column_names(pd.Index(features)),
            kinds=kinds if is_table else (),
        )


def _kinds(schema: Any, features: list[str], categories: list[str]) -> tuple[str, ...]:
    """What the columns are; raises if one can be no feature."""
    types = nw.from_native(schema.empty_table()).schema
    kinds = []
    for name in features:
        kind = "category" if name in categories else KINDS.get(type(types[name]))
        # The type of a column without any value is unknown.
        if kind is None and not (types[name].is_numeric() or types[name] == nw.Unknown):
            raise DataFileError(
                f"column {name!r} is of type {schema.field(name).type}, which is neither a number, "
                f"a category, a text nor a date. Convert or drop it. {NO_VIEW}"
            )
        kinds.append(kind or "number")
    return tuple(kinds)


def parquet_frames(
    path: Path, options: ReadOptions, block_bytes: int | None = None, *, text: bool = False
) -> Iterator[pd.DataFrame]:
    """Read a table with the sample ids as its index, in blocks or whole; all types are kept."""
    file = _open(path)
    n_rows, n_columns = file.metadata.num_rows, file.metadata.num_columns
    if block_bytes is None:
        # All values as 8 bytes, in blocks and together.
        require_free_memory(16.0 * n_rows * n_columns, "reading the table")
    ids, left_out = _places_of_ids(file.schema_arrow, options)
    require_content(n_rows, n_columns - len(left_out))
    start = 0
    for batch in file.iter_batches(rows_in_block(block_bytes, n_columns)):
        table = _frame(batch)
        rows = range(start, start + len(table))
        start = rows.stop
        index = table[ids] if isinstance(ids, str) else ids[rows.start : start] if ids else rows
        yield table.drop(columns=list(left_out)).set_axis(pd.Index(index))


def _places_of_ids(schema: Any, options: ReadOptions) -> tuple[str | range | None, tuple[str, ...]]:
    """Return the column of the ids, or the range that they are, and the columns of no features."""
    indices = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    if len(indices) > 1:
        raise DataFileError("the index has several levels. Keep one, the sample id.")
    index: str | range | None = None
    for stored in indices:
        if isinstance(stored, str):
            index = stored
        elif stored["name"] is not None:
            index = range(stored["start"], stored["stop"], stored["step"])
    ids: str | range | None = None
    if options.id_column is True:
        ids = index if index is not None else (*schema.names, range(0))[0]
    elif options.has_ids:
        ids = schema.names[options.id_position(schema.names)]
    return ids, tuple(name for name in {index, ids} if isinstance(name, str))


def _common_type(file: Any, path: Path, features: list[str], group: int) -> "np.dtype[Any]":
    """Type that holds the values of all features in a row group, and NaN if some may be missing."""
    n_rows = max(1, EXAMINED_BYTES // (8 * len(features)))
    batch = next(file.iter_batches(n_rows, row_groups=[group], columns=features))
    table = _frame(batch)
    common: Any = getattr(view_values(table, path), "dtype", None)
    positions = [j for j, name in enumerate(file.schema_arrow.names) if name in features]
    nullable = any(
        dtype.kind != "f" and _may_have_nulls(file.metadata, j)
        for j, dtype in zip(positions, table.dtypes, strict=True)
    )
    return np.result_type(common, np.float64) if nullable else common


def _may_have_nulls(metadata: Any, column: int) -> bool:
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    statistics = (group.column(column).statistics for group in groups)
    return any(s is None or not s.has_null_count or s.null_count for s in statistics)
