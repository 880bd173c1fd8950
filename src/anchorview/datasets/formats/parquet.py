"""Views in Parquet files, read by row groups. Needs pyarrow."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.errors import DataFileError
from anchorview._utils.optional_imports import optional_import
from anchorview._utils.text import one_line
from anchorview._utils.typing import Array
from anchorview.views.stored_view import StoredView

BATCH_BYTES = 16 * 2**20


@dataclass(frozen=True, eq=False)
class ParquetView(StoredView):
    """A table with a column of sample ids; all others are features."""

    id_column: str | None
    """The column of the ids; None if they are consecutive numbers."""
    id_range: tuple[int, int]
    """First id and step of ids that are consecutive numbers."""
    group_starts: tuple[int, ...]
    """Rows at which the row groups start, and their number in all."""

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

    def all_ids(self) -> "pd.Index[Any]":
        """Read the ids of all samples."""
        ids: pd.Index[Any] = self._guarded(self._read_ids, 0, len(self))
        return ids

    def _read(self, start: int, stop: int) -> Array:
        groups = self._groups(start, stop)
        first = self.group_starts[groups[0]]
        found = np.empty((stop - start, self.shape[1]), self.dtype)
        done = 0
        for batch in self._batches(groups):
            part = batch[max(0, start - first) : max(0, stop - first)]
            found[done : done + len(part)] = part
            done += len(part)
            first += len(batch)
            if first >= stop:
                break
        return found[:done]

    def _groups(self, start: int, stop: int) -> list[int]:
        """Row groups that cover some rows."""
        starts = self.group_starts
        return [g for g in range(len(starts) - 1) if starts[g] < stop and starts[g + 1] > start]

    def _batches(self, groups: list[int]) -> Iterator[Array]:
        file = open_parquet(self.path)
        rows = max(1, BATCH_BYTES // (8 * self.shape[1]))
        for batch in file.iter_batches(rows, row_groups=groups):
            columns = zip(batch.schema.names, batch.columns, strict=True)
            features = [column for name, column in columns if name != self.id_column]
            values = np.empty((batch.num_rows, len(features)), self.dtype)
            for j, column in enumerate(features):
                values[:, j] = _numbers(column)
            yield values

    def _read_ids(self, start: int, stop: int) -> "pd.Index[Any]":
        if self.id_column is None:
            first, step = self.id_range
            return pd.Index(np.arange(first + start * step, first + stop * step, step))
        groups = self._groups(start, stop)
        if not groups:
            return pd.Index([], dtype=np.int64)
        table = open_parquet(self.path).read_row_groups(groups, columns=[self.id_column])
        first = self.group_starts[groups[0]]
        column = table.column(self.id_column).slice(start - first, stop - start)
        nameless = np.flatnonzero(column.is_null().to_numpy())
        if len(nameless):
            raise DataFileError(
                f"{self.path}: row {start + nameless[0] + 1} has no sample id. Add it."
            )
        ids = pd.Index(column.to_pandas())
        whole = ids.dtype.kind in "iu"
        return ids.astype(np.int64) if whole else pd.Index([str(sample) for sample in ids])


def open_parquet(path: Path) -> Any:
    """Open a file as a ``pyarrow.parquet.ParquetFile``."""
    parquet = optional_import("pyarrow.parquet", f"{path.name}: Parquet files", "parquet")
    return parquet.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)


def _numbers(column: Any) -> Array:
    """Numbers of a column; NaN where there are none."""
    if column.null_count and _number_type(column.type).kind != "f":
        column = column.cast("float64")
    return column.to_numpy(zero_copy_only=False)


def _number_type(kind: Any) -> "np.dtype[Any]":
    """Type of a column in NumPy; object for what is not plain numbers."""
    try:
        return np.dtype(kind.to_pandas_dtype())
    except NotImplementedError:
        return np.dtype(object)


def parquet_view(path: Path) -> ParquetView:
    """Open a table as a view.

    The id is the index of the DataFrame that was stored, or the first column if there is no index
    but the row numbers.
    """
    try:
        file = open_parquet(path)
        id_column, id_range = _id_place(path, file.schema_arrow)
    except (DataFileError, MemoryError):
        raise
    # The parser answers a damaged file with nearly any type of exception.
    except Exception as error:
        raise DataFileError(
            f"{path}: cannot be read as .parquet ({type(error).__name__}: {one_line(error)}). The "
            "file is truncated, damaged or of another format: copy or export it again."
        ) from error
    metadata = file.metadata
    names = [name for name in file.schema_arrow.names if name != id_column]
    if not (metadata.num_rows and names):
        raise DataFileError(
            f"{path}: {metadata.num_rows} samples and {len(names)} columns after the id. At least "
            "one row and column are needed."
        )
    rows = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
    return ParquetView(
        path,
        (metadata.num_rows, len(names)),
        _common_type(path, file, id_column),
        id_column,
        id_range,
        tuple(accumulate(rows, initial=0)),
        row_step=max(rows),
    )


def _id_place(path: Path, schema: Any) -> tuple[str | None, tuple[int, int]]:
    """Column of the ids, or first id and step of consecutive numbers."""
    noted = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    if len(noted) > 1:
        raise DataFileError(f"{path}: the index has several levels. Keep one, the sample id.")
    for index in noted:
        if isinstance(index, str):
            return index, (0, 1)
        if index["name"] is not None:
            return None, (index["start"], index["step"])
    return schema.names[0] if schema.names else None, (0, 1)


def _common_type(path: Path, file: Any, id_column: str | None) -> "np.dtype[Any]":
    """Type that holds the values of all features, and NaN if some may be missing."""
    types: list[np.dtype[Any]] = []
    for position, column in enumerate(file.schema_arrow):
        if column.name == id_column:
            continue
        kind = _number_type(column.type)
        if kind.kind not in "biuf":
            raise _not_numeric(path, file, column)
        gaps = kind.kind != "f" and _may_have_gaps(file.metadata, position)
        types.append(np.dtype(np.float64) if gaps else kind)
    return np.result_type(*types)


def _may_have_gaps(metadata: Any, column: int) -> bool:
    for group in range(metadata.num_row_groups):
        known = metadata.row_group(group).column(column).statistics
        if known is None or not known.has_null_count or known.null_count:
            return True
    return False


def _not_numeric(path: Path, file: Any, column: Any) -> DataFileError:
    for batch in file.iter_batches(1000, columns=[column.name]):
        values = [value for value in batch.column(column.name).to_pylist() if value is not None]
        if values:
            found = f"it holds {str(values[0])!r}"
            break
    else:
        found = "it is empty"
    return DataFileError(
        f"{path}: the column {column.name!r} is not numeric: {found}. Encode it as numbers or drop "
        "it."
    )
