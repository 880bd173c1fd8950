"""Folders with one table a view: CSV or Parquet, samples as rows, told apart by their ids."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._modality import spread_dense
from anchorview.datasets._viewfile import (
    DataFileError,
    MissingPackageError,
    Target,
    View,
    is_label_name,
    named_target,
    natural,
    one_line,
)

SUFFIXES = (".csv", ".parquet")

# Without leading zeros, and short enough for 64 bits.
WHOLE_ID = re.compile(r"0|-?[1-9][0-9]{0,17}")
WHOLE_CLASS = re.compile(rf"({WHOLE_ID.pattern})(\.0*)?")


def read_folder(
    folder: Path,
) -> "tuple[dict[str, View], Target, pd.Index[Any], NDArray[np.bool_]]":
    """Read views, labels, sample ids and availability."""
    files = _files_by_name(folder)
    label_names = [name for name in files if is_label_name(name)]
    if len(label_names) > 1:
        raise DataFileError(
            f"several files are named like labels: {', '.join(label_names)}. Keep one."
        )
    tables = {name: _view(files[name]) for name in files if name not in label_names}
    if not tables:
        raise DataFileError(
            "no views inside. Store each view as a .csv or .parquet file of its own, with the "
            "sample ids as the first column."
        )
    indices = [table.index for table in tables.values()]
    ids = indices[0].append(indices[1:]).unique()
    target = None
    for name in label_names:
        classes = _classes(files[name])
        target = named_target(classes, ids, files[name].name)
    rows = [index.get_indexer(ids) for index in indices]
    available = np.column_stack([of_view >= 0 for of_view in rows])
    # Over all views at once, or the same sample would be 7 in one and "7" in another.
    if all(WHOLE_ID.fullmatch(sample) for sample in ids):
        ids = ids.astype(np.int64)
    views: dict[str, View] = {
        name: pd.DataFrame(
            spread_dense(table.to_numpy(), of_view), index=ids, columns=table.columns, copy=False
        )
        for (name, table), of_view in zip(tables.items(), rows, strict=True)
    }
    return views, None if target is None else target.set_axis(ids), ids, available


def _files_by_name(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir(), key=lambda path: natural(path.stem)):
        if path.suffix.lower() in SUFFIXES and not path.name.startswith("."):
            if path.stem in files:
                raise DataFileError(
                    f"{files[path.stem].name} and {path.name} have the same name. Keep one."
                )
            files[path.stem] = path
    return files


def _view(path: Path) -> pd.DataFrame:
    """Read one view as numbers of one type, by sample ids that are strings."""
    table = _table(path)
    for position, dtype in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype) or getattr(dtype, "kind", "") == "c":
            column, text = str(table.columns[position]), _first_text(table.iloc[:, position])
            raise DataFileError(
                f"{path.name}: the column {column!r} is not numeric: it holds {text!r}. Encode it "
                "as numbers or drop it."
            )
    types = [d if isinstance(d, np.dtype) else np.dtype(np.float64) for d in table.dtypes]
    common = np.result_type(*types)
    nullable = any(not isinstance(dtype, np.dtype) for dtype in table.dtypes)
    values = table.to_numpy(common, na_value=np.nan) if nullable else table.to_numpy(common)
    return pd.DataFrame(values, index=table.index, columns=table.columns, copy=False)


def _first_text(column: "pd.Series[Any]") -> str:
    """Find the value to blame: the first that is not a number, if there are numbers too."""
    values = column.dropna().astype(str)
    texts = values[pd.to_numeric(values, errors="coerce").isna()]
    return str(next(iter([*texts[:1], *values[:1]]), ""))


def _classes(path: Path) -> "pd.Series[Any]":
    """Read labels by sample ids that are strings."""
    table = _table(path, text=True)
    if table.shape[1] != 1:
        raise DataFileError(
            f"{path.name}: labels need an id and one column, but there are {table.shape[1]} "
            "columns after the id. Drop the others."
        )
    classes: pd.Series[Any] = table.iloc[:, 0]
    texts = [value for value in classes.dropna() if isinstance(value, str)]
    if texts and all(WHOLE_CLASS.fullmatch(text) for text in texts):
        return pd.to_numeric(classes)
    return classes


def _table(path: Path, *, text: bool = False) -> pd.DataFrame:
    """Read a table with unique strings as its index, features (if `text`, in CSV, as strings)."""
    suffix = path.suffix.lower()
    try:
        table = _csv(path, text) if suffix == ".csv" else _parquet(path)
    except (DataFileError, MemoryError):
        raise
    # The parsers answer a damaged file with nearly any type of exception.
    except Exception as error:
        raise DataFileError(
            f"{path.name}: cannot be read as {suffix} ({type(error).__name__}: {one_line(error)}). "
            "The file is damaged or of another format: export it again."
        ) from error
    if 0 in table.shape:
        raise DataFileError(
            f"{path.name}: {table.shape[0]} samples and {table.shape[1]} columns after the id. "
            "A header, the ids, and at least one row and column are needed, separated by commas "
            "in CSV."
        )
    nameless = np.flatnonzero(table.index.isna() | (table.index == ""))
    if len(nameless):
        raise DataFileError(f"{path.name}: row {nameless[0] + 1} has no sample id. Add it.")
    table.index = pd.Index([str(sample) for sample in table.index])
    repeated = table.index[table.index.duplicated()]
    if len(repeated):
        raise DataFileError(
            f"{path.name}: the sample id {repeated[0]!r} is there more than once. Keep one row a "
            "sample."
        )
    return table


def _csv(path: Path, text: bool) -> pd.DataFrame:
    plain: dict[str, Any] = {"dtype": str, "na_filter": False, "encoding": "utf-8-sig"}
    header = pd.read_csv(path, header=None, nrows=1, **plain).iloc[0]
    if all(_is_number(name) for name in header):
        raise DataFileError(
            f"{path.name}: the first row is all numbers, but has to be a header with the names "
            "of the columns. Add one."
        )
    with warnings.catch_warnings():
        # pandas only warns when it drops the fields for which there is no header.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        table = pd.read_csv(
            path,
            dtype=str if text else None,
            index_col=False,
            low_memory=False,
            encoding="utf-8-sig",
        )
    # On their own, because pandas takes ids such as NA for gaps and 0012 for a number.
    ids = pd.read_csv(path, usecols=[0], index_col=False, **plain).iloc[:, 0]
    return table.iloc[:, 1:].set_axis(pd.Index(ids))


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _parquet(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_parquet(path, engine="pyarrow")
    except ImportError as error:
        raise MissingPackageError(
            f'{path.name}: Parquet files need pyarrow: pip install "anchorview[parquet]".'
        ) from error
    if isinstance(table.index, pd.MultiIndex):
        raise DataFileError(f"{path.name}: the index has several levels. Keep one, the sample id.")
    if isinstance(table.index, pd.RangeIndex) and table.index.name is None and table.shape[1]:
        return table.set_index(table.columns[0])
    return table
