"""Folders with one table per view, in CSV, TSV or Parquet; samples are matched by their ids."""

import re
import warnings
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
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
from anchorview.datasets.formats.csv import csv_features, csv_frames, typed_columns
from anchorview.datasets.formats.parquet import parquet_features, parquet_frames, parquet_view
from anchorview.datasets.formats.table_checks import (
    all_numbers,
    checked_ids,
    require_content,
    table_view,
    union_of_samples,
)
from anchorview.views.alignment import reindex_rows
from anchorview.views.stored_view import View, ViewFile
from anchorview.views.table_columns import concatenated

# Without leading zeros, and short enough for 64 bits.
INTEGER_ID = re.compile(r"0|-?[1-9][0-9]{0,17}")
INTEGER_LABEL = re.compile(rf"({INTEGER_ID.pattern})(\.0*)?")

CSV_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
TABLE_SUFFIXES = (*CSV_SUFFIXES, ".parquet")


def read_table_folder(folder: Path, options: ReadOptions) -> ViewFile:
    """Read the tables and align them to the union of their samples."""
    files, label_file = table_files(folder, options)
    tables, columns = {}, []
    for name, path in files.items():
        table = read_table(path, options, name)
        if options.labels in table:
            columns.append(table.pop(str(options.labels)))
        with data_file_errors(path):
            require_content(*table.shape)
            view = table_view(table, path, options.named("categorical", name, table))
        tables[name] = view.frame
        if view.is_numeric:
            tables[name] = pd.DataFrame(view.values(), table.index, table.columns, copy=False)
    ids = union_of_samples({files[name].name: t.index for name, t in tables.items()}, options)
    if columns:
        labels = _integers_from_text(reduce(pd.Series.combine_first, columns))
        target: Any = labels_by_id(labels, ids, f"the column {options.labels!r}")
    else:
        target = read_labels(label_file, ids, options)
    sample_ids = integers_if_all(ids)
    views: dict[str, View] = {}
    available = np.ones((len(ids), len(tables)), dtype=bool)
    for p, (name, table) in enumerate(tables.items()):
        rows = table.index.get_indexer(ids)
        available[:, p] = rows >= 0
        index = ids if sample_ids is None else sample_ids
        views[name] = _reindexed(table, rows).set_axis(index)
    if target is not None:
        target = target.to_numpy() if sample_ids is None else target.set_axis(sample_ids)
    return ViewFile(views, target, folder, sample_ids, available)


def _reindexed(table: pd.DataFrame, rows: NDArray[np.intp]) -> pd.DataFrame:
    if not all_numbers(table):
        return table.set_axis(range(len(table))).reindex(rows)
    return pd.DataFrame(reindex_rows(table.to_numpy(), rows), columns=table.columns, copy=False)


def open_parquet_folder(folder: Path, options: ReadOptions) -> ViewFile:
    """Open tables that have the same samples in the same order."""
    files, label_file = table_files(folder, options)
    views = {name: parquet_view(file, options, name) for name, file in files.items()}
    first, n_samples = next((name, len(view)) for name, view in views.items())
    for name, view in views.items():
        if len(view) != n_samples:
            raise DataFileError(
                f"{files[first].name} has {n_samples} samples, but {files[name].name} has "
                f"{len(view)}. Tables that stay on disk need the same samples in the same order; "
                "anchorview.datasets.convert matches them by their ids."
            )
    # Ids of the other tables are compared with these when the rows are read.
    ids = views[first].ids(slice(None))
    with data_file_errors(files[first]):
        ids = checked_ids(pd.RangeIndex(n_samples) if ids is None else ids, options)
    target = read_labels(label_file, ids, options)
    # Without ids: they are read with the rows of the views.
    return ViewFile(dict(views), None if target is None else target.to_numpy(), folder)


def table_files(folder: Path, options: ReadOptions) -> tuple[dict[str, Path], Path | None]:
    """Files of the views by name, and the file of the class labels if there is one."""
    files = files_by_name(folder, TABLE_SUFFIXES)
    if not (options.header or any(map(is_csv, files.values()))):
        raise DataFileError(
            "header=False is for CSV files; Parquet files always have names of columns."
        )
    label_names = [name for name in files if is_label_name(name, options.labels)]
    if len(label_names) > 1:
        raise DataFileError(f"several names of class labels: {', '.join(label_names)}. Keep one.")
    label_file = files.pop(label_names[0]) if label_names else None
    if options.views is not None:
        by_file = files | {path.name: path for path in files.values()}
        if unknown := [file for file in options.views.values() if file not in by_file]:
            raise DataFileError(
                f"views= names the table {unknown[0]!r}, which is not there. The tables are "
                f"{listed(list(files))}."
            )
        files = {name: by_file[file] for name, file in options.views.items()}
    if not files:
        raise DataFileError(
            f"no views inside. Store each view in a {' or '.join(TABLE_SUFFIXES)} file of its own, "
            "with the sample ids in the first column."
        )
    if options.drop or options.categorical:
        features = {}
        for name, path in files.items():
            with data_file_errors(path):
                features[name] = (csv_features if is_csv(path) else parquet_features)(path, options)
        options.require_columns(features)
    return files, label_file


def is_csv(path: Path) -> bool:
    """Whether a table is a CSV or TSV file."""
    return path.name.lower().endswith(CSV_SUFFIXES)


def files_by_name(
    folder: Path, suffixes: tuple[str, ...], others: tuple[str, ...] = ()
) -> dict[str, Path]:
    """Files with some suffixes, by their names without suffix, in natural order.

    Warns of files that are not read, apart from hidden ones and `others`.
    """
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
        message = f"{folder}: files that are not read: {listed(unread)}."
        warnings.warn(message, UserWarning, stacklevel=2)
    return {name: files[name] for name in sorted(files, key=natural)}


def read_blocks(
    path: Path, options: ReadOptions, name: str | None, block_bytes: int | None = None
) -> Iterator[pd.DataFrame]:
    """Read the table of a view with the sample ids as its index, in blocks or whole.

    Without a name, it has class labels, which are read as text.
    """
    frames = csv_frames if is_csv(path) else parquet_frames
    with data_file_errors(path):
        for frame in frames(path, options, block_bytes, text=name is None):
            table = frame
            if name is not None:
                table = frame.drop(columns=options.named("drop", name, frame))
                if is_csv(path):
                    categories = options.named("categorical", name, table)
                    table = typed_columns(table, [*categories, options.labels])
            yield table


def read_table(path: Path, options: ReadOptions, name: str | None = None) -> pd.DataFrame:
    """Read a table, indexed by sample ids that are strings."""
    table = concatenated(list(read_blocks(path, options, name)))
    with data_file_errors(path):
        return table.set_axis(checked_ids(table.index, options))


def read_labels(
    path: Path | None, ids: "pd.Index[Any]", options: ReadOptions
) -> "pd.Series[Any] | None":
    """Read the class labels of exactly these samples, whose ids are strings or row numbers."""
    if path is None:
        if options.labels is not None:
            raise labels_not_there_error(options.labels)
        return None
    with data_file_errors(path):
        table = read_table(path, options)
        name = options.labels
        if not (name is None or name in table or path.name.startswith(f"{name}.")):
            raise labels_not_there_error(name)
        if name not in table and table.shape[1] != 1:
            raise DataFileError(
                f"class labels need {'an id and one other' if options.has_ids else 'one'} column, "
                f"but there are {table.shape[1]}. Drop the others."
            )
        if not options.has_ids and len(table) != len(ids):
            raise DataFileError(
                f"{len(table)} class labels, but the views have {len(ids)} rows. Store one label "
                "per row."
            )
    labels = _integers_from_text(table[name] if name in table else table.iloc[:, 0])
    return labels_by_id(labels, ids, path.name)


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
