"""Folders with one table per view, in CSV or Parquet; samples are matched by their ids."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview.datasets.file_contents import (
    data_file_errors,
    labels_by_id,
    natural,
    single_label_name,
)
from anchorview.datasets.formats.csv import csv_blocks, csv_outline, read_csv
from anchorview.datasets.formats.parquet import (
    parquet_blocks,
    parquet_outline,
    parquet_view,
    read_parquet,
)
from anchorview.datasets.formats.table_checks import ids_as_strings, numeric_values, require_content
from anchorview.views.alignment import reindex_rows, union_of_ids
from anchorview.views.view_file import View, ViewFile

# Without leading zeros, and short enough for 64 bits.
INTEGER_ID = re.compile(r"0|-?[1-9][0-9]{0,17}")
INTEGER_LABEL = re.compile(rf"({INTEGER_ID.pattern})(\.0*)?")

Outline: TypeAlias = "tuple[pd.Index[Any], int, np.dtype[Any]]"
"""Sample ids of a table, its number of features, and their type."""


class TableFormat(NamedTuple):
    """How tables of one format are read."""

    read: Callable[..., pd.DataFrame]
    """Reads a table indexed by sample id; with the option `text`, its values as strings."""
    outline: Callable[[Path], Outline]
    blocks: Callable[[Path, int], Iterator[NDArray[Any]]]
    """Reads the values in order, about as many rows at a time as asked for."""


TABLE_FORMATS = {
    ".csv": TableFormat(read_csv, csv_outline, csv_blocks),
    ".parquet": TableFormat(read_parquet, parquet_outline, parquet_blocks),
}


def read_table_folder(folder: Path) -> ViewFile:
    """Read the tables and align them to the union of their samples."""
    files, label_file = table_files(folder)
    tables = {name: _read_view(path) for name, path in files.items()}
    ids = union_of_ids([table.index for table in tables.values()])
    target = None if label_file is None else read_labels(label_file, ids)
    rows = {name: table.index.get_indexer(ids) for name, table in tables.items()}
    available = np.column_stack([of_view >= 0 for of_view in rows.values()])
    ids = integers_if_all(ids)
    views: dict[str, View] = {}
    for name, table in tables.items():
        values = reindex_rows(table.to_numpy(), rows[name])
        views[name] = pd.DataFrame(values, index=ids, columns=table.columns, copy=False)
    return ViewFile(views, None if target is None else target.set_axis(ids), folder, ids, available)


def open_parquet_folder(folder: Path) -> ViewFile:
    """Open tables that have the same samples in the same order."""
    files, label_file = table_files(folder)
    views = {name: parquet_view(file) for name, file in files.items()}
    first, n_samples = next((name, len(view)) for name, view in views.items())
    for name, view in views.items():
        if len(view) != n_samples:
            raise DataFileError(
                f"{files[first].name} has {n_samples} samples, but {files[name].name} has "
                f"{len(view)}. Tables that stay on disk need the same samples in the same order; "
                "anchorview.datasets.convert matches them by their ids."
            )
    target = None
    if label_file is not None:
        # Without ids: they are read with the rows of the views.
        target = read_labels(label_file, table_outline(files[first])[0]).to_numpy()
    return ViewFile(dict(views), target, folder)


def table_files(folder: Path) -> tuple[dict[str, Path], Path | None]:
    """Files of the views by name, and the file of the class labels if there is one."""
    files = files_by_name(folder, tuple(TABLE_FORMATS))
    label_name = single_label_name(files)
    label_file = None if label_name is None else files.pop(label_name)
    if not files:
        raise DataFileError(
            f"no views inside. Store each view in a {' or '.join(TABLE_FORMATS)} file of its own, "
            "with the sample ids in the first column."
        )
    return files, label_file


def files_by_name(folder: Path, suffixes: tuple[str, ...]) -> dict[str, Path]:
    """Files with some suffixes, by their names without suffix, in natural order."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir(), key=lambda path: natural(path.stem)):
        if path.suffix.lower() in suffixes and not path.name.startswith("."):
            if path.stem in files:
                raise DataFileError(
                    f"{files[path.stem].name} and {path.name} have the same name. Keep one."
                )
            files[path.stem] = path
    return files


def table_outline(path: Path) -> Outline:
    """Read only the sample ids of a table, its number of features and their type."""
    with data_file_errors(path):
        ids, n_features, dtype = TABLE_FORMATS[path.suffix.lower()].outline(path)
        require_content(len(ids), n_features)
        return ids_as_strings(ids), n_features, dtype


def table_blocks(path: Path, n_rows: int) -> Iterator[NDArray[Any]]:
    """Read the values of a table in order, about `n_rows` rows at a time."""
    with data_file_errors(path):
        yield from TABLE_FORMATS[path.suffix.lower()].blocks(path, n_rows)


def read_labels(path: Path, ids: "pd.Index[Any]") -> "pd.Series[Any]":
    """Read the class labels of exactly these samples, whose ids are strings."""
    with data_file_errors(path):
        table = _read_table(path, text=True)
        if table.shape[1] != 1:
            raise DataFileError(
                f"class labels need an id and one other column, but there are {table.shape[1]}. "
                "Drop the others."
            )
    labels: pd.Series[Any] = table.iloc[:, 0]
    texts = [value for value in labels.dropna() if isinstance(value, str)]
    if texts and all(INTEGER_LABEL.fullmatch(text) for text in texts):
        labels = pd.to_numeric(labels)
    return labels_by_id(labels, ids, path.name)


def integers_if_all(ids: "pd.Index[Any]") -> "pd.Index[Any]":
    """Convert ids to integers if those of all views are integers."""
    # For all views at once, or the same sample would be 7 in one and "7" in another.
    return ids.astype(np.int64) if all(INTEGER_ID.fullmatch(sample) for sample in ids) else ids


def _read_view(path: Path) -> pd.DataFrame:
    """Read a table as numbers of one type, indexed by sample ids that are strings."""
    with data_file_errors(path):
        table = _read_table(path)
        values = numeric_values(table)
    return pd.DataFrame(values, index=table.index, columns=table.columns, copy=False)


def _read_table(path: Path, *, text: bool = False) -> pd.DataFrame:
    table = TABLE_FORMATS[path.suffix.lower()].read(path, text=text)
    require_content(*table.shape)
    return table.set_axis(ids_as_strings(table.index))
