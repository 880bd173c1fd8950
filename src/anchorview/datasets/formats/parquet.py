"""Parquet tables, read whole or by row groups. Needs pyarrow."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.errors import DataFileError, optional_import
from anchorview._utils.memory import require_memory
from anchorview._utils.stores import in_store, open_store_file
from anchorview.datasets.file_contents import ReadOptions, data_file_errors
from anchorview.datasets.formats.table import Table, require_content, rows_in_block, table_view
from anchorview.views.stored_view import StoredView
from anchorview.views.table_columns import TableView, column_names

EXAMINED_ROWS = 1000
"""Rows from which the types of columns follow that the schema does not tell."""


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
        rows = self._rows(start, stop, list(self.columns))
        view = table_view(_frame(rows), str(self.path), self.categories)
        return view if self.kinds else view.values()

    @property
    def least_step(self) -> int:
        """Number of rows that have to be read at a time: a row group can be read in slices."""
        return 1

    def _rows(self, start: int, stop: int, columns: list[str]) -> Any:
        """Read some columns of at least one row, from the row groups that cover it."""
        starts = self.group_starts
        groups = [g for g in range(len(starts) - 1) if starts[g] < stop and starts[g + 1] > start]
        first, last = starts[groups[0]], starts[groups[-1] + 1]
        # Of a row group that is too large to be read whole, a few columns are read at a time.
        share = max(1, len(columns) * (stop - start) // (last - first))
        file, found = _open(self.path), []
        for some in (columns[j : j + share] for j in range(0, len(columns), share)):
            table = file.read_row_groups(groups, columns=some).slice(start - first, stop - start)
            # A slice alone would keep the whole row group.
            found += (table if share == len(columns) else table.take(np.arange(len(table)))).columns
        return table.from_arrays(found, columns)

    def _read_ids(self, start: int, stop: int) -> "pd.Index[Any] | None":
        if self.id_source is None:
            return None
        if isinstance(self.id_source, range):
            return pd.Index(np.array(self.id_source[start:stop], dtype=np.int64))
        if start == stop:
            return pd.Index([], dtype=np.int64)
        column = self._rows(start, stop, [self.id_source]).column(self.id_source)
        missing = np.flatnonzero(column.is_null().to_numpy())
        if len(missing):
            row = start + int(missing[0]) + 1
            raise DataFileError(f"{self.path}: row {row} has no sample id. Add it.")
        ids = pd.Index(column.to_pandas())
        integers = ids.dtype.kind in "iu"
        return ids.astype(np.int64) if integers else pd.Index([str(sample) for sample in ids])


def _frame(table: Any) -> pd.DataFrame:
    """Table in pandas, in which a column of texts is one even if all of them are missing."""
    texts = dict.fromkeys(("string", "large_string"), pd.StringDtype("python"))
    frame: pd.DataFrame = table.to_pandas(
        ignore_metadata=True, date_as_object=False, types_mapper=lambda kind: texts.get(str(kind))
    )
    return frame


def _open(path: Path) -> Any:
    parquet = optional_import("pyarrow.parquet", "Parquet files", "parquet")
    remote = in_store(path)
    return parquet.ParquetFile(
        open_store_file(path) if remote else path,
        # Columns that are next to each other are requested together.
        pre_buffer=remote,
        page_checksum_verification=True,
    )


class ParquetTable(Table):
    """A Parquet file."""

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return list(_open(self.path).schema_arrow.names)

    @property
    def features(self) -> list[str]:
        """Names of the columns that are neither ids nor the index of a stored DataFrame."""
        schema = _open(self.path).schema_arrow
        left_out = _places_of_ids(schema, self.options)[1]
        return [name for name in schema.names if name not in left_out]

    def _frames(self, view: str | None, block_bytes: int | None) -> Iterator[pd.DataFrame]:
        file = _open(self.path)
        n_rows, n_columns = file.metadata.num_rows, file.metadata.num_columns
        if block_bytes is None:
            # All values as 8 bytes, in blocks and together.
            require_memory(16.0 * n_rows * n_columns, "Reading the table")
        ids, left_out = _places_of_ids(file.schema_arrow, self.options)
        require_content(n_rows, n_columns - len(left_out))
        start = 0
        for batch in file.iter_batches(rows_in_block(block_bytes, n_columns)):
            table = _frame(batch)
            rows = range(start, start + len(table))
            start = rows.stop
            index = table[ids] if isinstance(ids, str) else ids[rows.start : start] if ids else rows
            yield table.drop(columns=list(left_out)).set_axis(pd.Index(index))


def parquet_view(path: Path, options: ReadOptions, name: str) -> ParquetView:
    """Open a table as a view with a name."""
    with data_file_errors(path):
        file = _open(path)
        metadata = file.metadata
        id_source, left_out = _places_of_ids(file.schema_arrow, options)
        names = file.schema_arrow.names
        unused = {*left_out, *options.named("drop", name, names)}
        features = [feature for feature in names if feature not in unused]
        categories = options.named("categorical", name, features)
        require_content(metadata.num_rows, len(features))
        sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        view = table_view(_typed_frame(file, features), str(path), categories)
        return ParquetView(
            path,
            (metadata.num_rows, len(features)),
            _common_type(file, view) if view.is_numeric else view.dtype,
            id_source,
            tuple(features),
            categories,
            tuple(accumulate(sizes, initial=0)),
            row_step=max(sizes),
            feature_names=column_names(pd.Index(features)),
            kinds=() if view.is_numeric else view.kinds,
        )


def _places_of_ids(schema: Any, options: ReadOptions) -> tuple[str | range | None, tuple[str, ...]]:
    """Return the column of the ids, or the range that they are, and the columns of no features.

    By default, the id is the index of the stored DataFrame or, if that has row numbers only, the
    first column. The index is never a feature.
    """
    names = pd.Index(schema.names)
    if not names.is_unique:
        repeated = names[names.duplicated()][0]
        raise DataFileError(f"column {repeated!r} occurs more than once. Use different names.")
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


def _typed_frame(file: Any, columns: list[str]) -> pd.DataFrame:
    """Frame with the types of some columns, and with rows only if there are Python objects."""
    frame = _frame(file.schema_arrow.empty_table().select(columns))
    if any(map(pd.api.types.is_object_dtype, frame.dtypes)):
        frame = _frame(next(file.iter_batches(EXAMINED_ROWS, columns=columns)))
    return frame


def _common_type(file: Any, view: TableView) -> "np.dtype[Any]":
    """Common type of the values of all features (at least one), and of NaN if some may lack."""
    common = view.values().dtype
    features = dict(view.frame.dtypes)
    nullable = any(
        name in features and features[name].kind != "f" and _may_have_nulls(file.metadata, j)
        for j, name in enumerate(file.schema_arrow.names)
    )
    return np.result_type(common, np.float64) if nullable else common


def _may_have_nulls(metadata: Any, column: int) -> bool:
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    statistics = (group.column(column).statistics for group in groups)
    return any(s is None or not s.has_null_count or s.null_count for s in statistics)
