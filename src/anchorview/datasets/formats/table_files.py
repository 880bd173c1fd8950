"""Tables in files: folders with a file per view, single files, workbooks with a sheet per view.

Samples are matched by their ids.
"""

import re
import warnings
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.errors import DataFileError, optional_import
from anchorview._utils.text import listed
from anchorview.datasets.file_contents import (
    ReadOptions,
    data_file_errors,
    is_label_name,
    labels_by_id,
    labels_not_there_error,
    natural,
    require_regular_file,
)
from anchorview.datasets.formats.csv import CsvTable
from anchorview.datasets.formats.parquet import ParquetTable, parquet_view
from anchorview.datasets.formats.table import (
    CODE,
    Table,
    all_numbers,
    checked_ids,
    require_content,
    table_view,
    union_of_samples,
    warn_of_detected,
)
from anchorview.views.input_grammar import divided_file
from anchorview.views.stored_view import View, ViewFile

# Without leading zeros, and short enough for 64 bits.
INTEGER_ID = re.compile(r"0|-?[1-9][0-9]{0,17}")
INTEGER_LABEL = re.compile(rf"({INTEGER_ID.pattern})(\.0*)?")

EXCEL_SUFFIX = ".xlsx"
CSV_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
TABLE_SUFFIXES = (*CSV_SUFFIXES, ".parquet", EXCEL_SUFFIX)


def read_tables(path: Path, options: ReadOptions) -> ViewFile:
    """Read the tables of a folder or a file and align them to the union of their samples."""
    tables, label_table = tables_of(path, options)
    frames, columns = {}, []
    for name, table in tables.items():
        frame = table.read(name)
        if options.labels in frame:
            columns.append(frame.pop(str(options.labels)))
        with table.errors():
            require_content(*frame.shape)
            view = table_view(frame, table.subject, options.named("categorical", name, frame))
        frames[name] = view.frame
        if view.is_numeric:
            frames[name] = pd.DataFrame(view.values(), frame.index, frame.columns, copy=False)
    ids = union_of_samples({tables[name].title: f.index for name, f in frames.items()}, options)
    if columns:
        labels = _integers_from_text(reduce(pd.Series.combine_first, columns))
        target: Any = labels_by_id(labels, ids, f"the column {options.labels!r}")
    else:
        target = read_labels(label_table, ids, options)
    warn_of_detected([*tables.values(), label_table])
    sample_ids = integers_if_all(ids)
    index = ids if sample_ids is None else sample_ids
    views: dict[str, View] = {n: _aligned(f, ids).set_axis(index) for n, f in frames.items()}
    available = np.column_stack([ids.isin(frame.index) for frame in frames.values()])
    if target is not None:
        target = target.to_numpy() if sample_ids is None else target.set_axis(sample_ids)
    file = ViewFile(views, target, path, sample_ids, available)
    return divided_file(file, options.views) if _divides(tables, options) else file


def _divides(tables: Mapping[str, Table], options: ReadOptions) -> bool:
    """Whether `views` divides the columns of the only table, instead of naming tables."""
    titles = {title for name, table in tables.items() for title in (name, table.name, table.title)}
    given = () if options.views is None else options.views.values()
    return len(tables) == 1 and not all(isinstance(x, str) and x in titles for x in given)


def _aligned(table: pd.DataFrame, ids: "pd.Index[Any]") -> pd.DataFrame:
    """Rows of these samples; without a row, all cells are missing."""
    if table.index.equals(ids):
        return table
    if all_numbers(table) and not ids.isin(table.index).all():
        table = table.astype(np.result_type(np.float16, *table.dtypes))
    return table.reindex(ids)


def open_parquet(path: Path, options: ReadOptions) -> ViewFile:
    """Open tables that have the same samples in the same order."""
    tables, label_table = tables_of(path, options)
    views = {name: parquet_view(table.path, options, name) for name, table in tables.items()}
    first, n_samples = next((name, len(view)) for name, view in views.items())
    for name, view in views.items():
        if len(view) != n_samples:
            raise DataFileError(
                f"{tables[first].title} has {n_samples} samples, but {tables[name].title} has "
                f"{len(view)}. Tables that stay on disk need the same samples in the same order; "
                "anchorview.datasets.convert matches them by their ids."
            )
    # Ids of the other tables are compared with these when the rows are read.
    ids = views[first].ids(slice(None))
    with tables[first].errors():
        ids = checked_ids(pd.RangeIndex(n_samples) if ids is None else ids, options)
    target = read_labels(label_table, ids, options)
    # Without ids: they are read with the rows of the views.
    file = ViewFile(dict(views), None if target is None else target.to_numpy(), path)
    return divided_file(file, options.views) if _divides(tables, options) else file


def tables_of(path: Path, options: ReadOptions) -> tuple[dict[str, Table], Table | None]:
    """Tables of a folder or a file that are views, by name, and that of the class labels if any."""
    tables: dict[str, Table] = {}
    files = files_by_name(path, TABLE_SUFFIXES) if path.is_dir() else {path.name: path}
    for name, file in files.items():
        of_file = _tables_of_file(file, options)
        if len(of_file) == 1 and path.is_dir():
            tables[name] = next(iter(of_file.values()))
        else:
            prefix = f"{name}." if path.is_dir() else ""
            tables |= {f"{prefix}{sheet}": table for sheet, table in of_file.items()}
    parquet_only = all(isinstance(table, ParquetTable) for table in tables.values())
    if parquet_only and not (options.header and options.csv is None):
        given = "csv=" if options.header else "header=False"
        raise DataFileError(f"{given} is for CSV files, but there are none. Leave it out.")
    label_names = [name for name in tables if is_label_name(name, options.labels)]
    if len(label_names) > 1:
        raise DataFileError(f"several names of class labels: {', '.join(label_names)}. Keep one.")
    # A single file may have any name.
    has_labels = label_names and (path.is_dir() or len(tables) > 1)
    label_table = tables.pop(label_names[0]) if has_labels else None
    if options.views is not None and not _divides(tables, options):
        by_title = tables | {table.title: table for table in tables.values()}
        if unknown := [title for title in options.views.values() if title not in by_title]:
            raise DataFileError(
                f"views= names the table {unknown[0]!r}, which is not there. The tables are "
                f"{listed(list(tables))}."
            )
        tables = {name: by_title[title] for name, title in options.views.items()}
    if not tables:
        raise DataFileError(
            f"no views inside. Store each view in a {' or '.join(TABLE_SUFFIXES)} file of its own, "
            "with the sample ids in the first column."
        )
    if options.drop or options.categorical:
        features = {}
        for name, table in tables.items():
            with table.errors():
                features[name] = table.features
        options.require_columns(features)
    return tables, label_table


def _tables_of_file(path: Path, options: ReadOptions) -> dict[str, Table]:
    """Tables of a file by name: one, or the sheets of a workbook."""
    if path.name.lower().endswith(EXCEL_SUFFIX):
        with data_file_errors(path):
            return dict(sheets_of(path, options))
    suffix = next(s for s in TABLE_SUFFIXES if path.name.lower().endswith(s))
    kind = CsvTable if suffix in CSV_SUFFIXES else ParquetTable
    name = path.name[: -len(suffix)]
    return {name: kind(path, name, options)}


class SheetTable(Table):
    """A sheet of a workbook."""

    def __init__(self, path: Path, name: str, options: ReadOptions, cells: pd.DataFrame) -> None:
        super().__init__(path, name, options)
        self.title, self.subject = f"{path.name}, sheet {name!r}", f"{path}: sheet {name!r}"
        self._cells = cells.dropna(how="all", ignore_index=True)

    @property
    def columns(self) -> list[Any]:
        """Names of all columns."""
        return list(self._cells.columns)

    def _frames(self, view: str | None, block_bytes: int | None) -> Iterator[pd.DataFrame]:
        position = self.options.id_position(self.columns)
        cells = self._cells if view is None else self._cells.infer_objects()
        frame = cells if position is None else cells.set_index(self.columns[position])
        frame = frame.set_axis(self.features, axis=1)
        for name, column in frame.items() if view is not None else ():
            texts = column.reset_index(drop=True)
            is_text = pd.api.types.infer_dtype(texts) == "string"
            if is_text and not texts.str.fullmatch(CODE).any():
                self.converted(str(name), texts, pd.to_numeric(texts, errors="coerce"), "numbers")
        yield frame


def sheets_of(path: Path, options: ReadOptions) -> dict[str, SheetTable]:
    """Sheets of a workbook that are not empty, by name."""
    optional_import("python_calamine", "Excel files", "excel")
    sheets = pd.read_excel(
        path,
        sheet_name=None,
        header=0 if options.header else None,
        engine="calamine",
        # Cells keep their types, so that a text such as 0012 stays one.
        dtype=object,
        keep_default_na=False,
        na_values=[""],
    )
    return {
        str(name): SheetTable(path, str(name), options, cells)
        for name, cells in sheets.items()
        if len(cells.columns)
    }


def read_table(path: Path, options: ReadOptions, view: str | None = None) -> pd.DataFrame:
    """Read the first table of a file; without the name of a view, values are texts."""
    with data_file_errors(path):
        table = next(iter(_tables_of_file(path, options).values()))
        frame = table.read(view)
    warn_of_detected([table])
    return frame


def files_by_name(
    folder: Path, suffixes: tuple[str, ...], others: tuple[str, ...] = ()
) -> dict[str, Path]:
    """Files by their names without suffix, in natural order; warns of any but `others`."""
    files: dict[str, Path] = {}
    unread: list[str] = []
    for path in sorted(folder.iterdir(), key=lambda path: natural(path.name)):
        suffix = next((s for s in suffixes if path.name.lower().endswith(s)), None)
        if path.name.startswith(".") or path.name in others:
            continue
        if suffix is None:
            unread.append(path.name)
            continue
        name = path.name[: -len(suffix)]
        if name in files:
            raise DataFileError(f"{files[name].name} and {path.name} have the same name. Keep one.")
        require_regular_file(path)
        files[name] = path
    if unread:
        warnings.warn(f"{folder}: files that are not read: {listed(unread)}.", stacklevel=2)
    return {name: files[name] for name in sorted(files, key=natural)}


def read_labels(
    table: Table | None, ids: "pd.Index[Any]", options: ReadOptions
) -> "pd.Series[Any] | None":
    """Read the class labels of exactly these samples, by ids that are strings or row numbers."""
    name = options.labels
    if table is None:
        if name is not None:
            raise labels_not_there_error(name)
        return None
    with table.errors():
        frame = table.read()
        is_named = name is None or f".{name}".endswith(f".{table.name}")
        if name is not None and not is_named and name not in frame:
            raise labels_not_there_error(name)
        if name not in frame and frame.shape[1] != 1:
            raise DataFileError(
                f"class labels need {'an id and one other' if options.has_ids else 'one'} column, "
                f"but there are {frame.shape[1]}. Drop the others."
            )
        if not options.has_ids and len(frame) != len(ids):
            raise DataFileError(
                f"{len(frame)} class labels, but the views have {len(ids)} rows. Store one label "
                "per row."
            )
    labels = _integers_from_text(frame[name] if name in frame else frame.iloc[:, 0])
    return labels_by_id(labels, ids, table.title)


def _integers_from_text(labels: "pd.Series[Any]") -> "pd.Series[Any]":
    texts = [value for value in labels.dropna() if isinstance(value, str)]
    if texts and all(INTEGER_LABEL.fullmatch(text) for text in texts):
        return pd.to_numeric(labels)
    return labels


def integers_if_all(ids: "pd.Index[Any]") -> "pd.Index[Any] | None":
    """Convert ids to integers if those of all views are integers; None for row numbers."""
    if isinstance(ids, pd.RangeIndex):
        return None
    # For all views at once, or the same sample would be 7 in one and "7" in another.
    return ids.astype(np.int64) if all(INTEGER_ID.fullmatch(sample) for sample in ids) else ids
