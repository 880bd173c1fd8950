"""Folders with one table a view: CSV or Parquet, samples as rows, told apart by their ids."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError, MissingPackageError
from anchorview._utils.text import one_line
from anchorview.datasets.file_contents import is_label_name, named_target, natural
from anchorview.datasets.formats.parquet import parquet_view
from anchorview.views.modality import spread_dense
from anchorview.views.view_file import Target, View

SUFFIXES = (".csv", ".parquet")

# Without leading zeros, and short enough for 64 bits.
WHOLE_ID = re.compile(r"0|-?[1-9][0-9]{0,17}")
WHOLE_CLASS = re.compile(rf"({WHOLE_ID.pattern})(\.0*)?")

#: How pandas reads text as it is.
PLAIN: dict[str, Any] = {"dtype": str, "na_filter": False, "encoding": "utf-8-sig"}


def read_folder(
    folder: Path,
) -> "tuple[dict[str, View], Target, pd.Index[Any], NDArray[np.bool_]]":
    """Read views, labels, sample ids and availability."""
    files, label_file = table_files(folder)
    tables = {name: _view(path) for name, path in files.items()}
    indices = [table.index for table in tables.values()]
    ids = indices[0].append(indices[1:]).unique()
    target = None if label_file is None else labels_of(label_file, ids)
    rows = [index.get_indexer(ids) for index in indices]
    available = np.column_stack([of_view >= 0 for of_view in rows])
    ids = whole_if_all(ids)
    views: dict[str, View] = {
        name: pd.DataFrame(
            spread_dense(table.to_numpy(), of_view), index=ids, columns=table.columns, copy=False
        )
        for (name, table), of_view in zip(tables.items(), rows, strict=True)
    }
    return views, None if target is None else target.set_axis(ids), ids, available


def table_files(folder: Path) -> tuple[dict[str, Path], Path | None]:
    """Files of the views by name, and the file of the labels if there is one."""
    files = files_by_name(folder, SUFFIXES)
    label_name = one_of_labels(list(files))
    label_file = None if label_name is None else files.pop(label_name)
    if not files:
        raise DataFileError(
            "no views inside. Store each view as a .csv or .parquet file of its own, with the "
            "sample ids as the first column."
        )
    return files, label_file


def one_of_labels(names: list[str]) -> str | None:
    """Find the one name of labels, the last part counting; None if there is none."""
    found = [name for name in names if is_label_name(name.rpartition("/")[2])]
    if len(found) > 1:
        raise DataFileError(f"several files are named like labels: {', '.join(found)}. Keep one.")
    return found[0] if found else None


def labels_of(path: Path, ids: "pd.Index[Any]") -> "pd.Series[Any]":
    """Read the labels of exactly these samples, whose ids are strings."""
    return named_target(_classes(path), ids, path.name)


def whole_if_all(ids: "pd.Index[Any]") -> "pd.Index[Any]":
    """Make ids integers if all of all views are whole numbers."""
    # Over all views at once, or the same sample would be 7 in one and "7" in another.
    return ids.astype(np.int64) if all(WHOLE_ID.fullmatch(sample) for sample in ids) else ids


def files_by_name(folder: Path, suffixes: tuple[str, ...]) -> dict[str, Path]:
    """Files with some endings, by their names without them, in natural order."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir(), key=lambda path: natural(path.stem)):
        if path.suffix.lower() in suffixes and not path.name.startswith("."):
            if path.stem in files:
                raise DataFileError(
                    f"{files[path.stem].name} and {path.name} have the same name. Keep one."
                )
            files[path.stem] = path
    return files


def _view(path: Path) -> pd.DataFrame:
    """Read one view as numbers of one type, by sample ids that are strings."""
    table = _table(path)
    values = _numbers(path, table)
    return pd.DataFrame(values, index=table.index, columns=table.columns, copy=False)


def _numbers(path: Path, table: pd.DataFrame) -> NDArray[Any]:
    """Numbers of one type that holds those of all columns."""
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
    return table.to_numpy(common, na_value=np.nan) if nullable else table.to_numpy(common)


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
    with _parsing(path):
        table = _csv(path, text) if path.suffix.lower() == ".csv" else _parquet(path)
    _require_content(path, *table.shape)
    table.index = checked_ids(path, table.index)
    return table


@contextmanager
def _parsing(path: Path) -> Iterator[None]:
    try:
        yield
    except (DataFileError, MemoryError):
        raise
    # The parsers answer a damaged file with nearly any type of exception.
    except Exception as error:
        raise DataFileError(
            f"{path.name}: cannot be read as {path.suffix.lower()} ({type(error).__name__}: "
            f"{one_line(error)}). The file is damaged or of another format: export it again."
        ) from error


def _require_content(path: Path, n_samples: int, n_columns: int) -> None:
    if not (n_samples and n_columns):
        raise DataFileError(
            f"{path.name}: {n_samples} samples and {n_columns} columns after the id. A header, "
            "the ids, and at least one row and column are needed, separated by commas in CSV."
        )


def checked_ids(path: Path, ids: "pd.Index[Any]") -> "pd.Index[Any]":
    """Ids as unique strings."""
    nameless = np.flatnonzero(ids.isna() | (ids == ""))
    if len(nameless):
        raise DataFileError(f"{path.name}: row {nameless[0] + 1} has no sample id. Add it.")
    ids = pd.Index([str(sample) for sample in ids])
    repeated = ids[ids.duplicated()]
    if len(repeated):
        raise DataFileError(
            f"{path.name}: the sample id {repeated[0]!r} is there more than once. Keep one row a "
            "sample."
        )
    return ids


def outline(path: Path) -> "tuple[pd.Index[Any], int, np.dtype[Any]]":
    """Read no more of a view than its sample ids, its number of features and their type."""
    if path.suffix.lower() != ".csv":
        view = parquet_view(path)
        return checked_ids(path, view.all_ids()), view.shape[1], view.dtype
    with _parsing(path):
        ids, width = _csv_ids(path), len(_csv_header(path)) - 1
    _require_content(path, len(ids), width)
    return checked_ids(path, ids), width, np.dtype(np.float64)


def parts(path: Path, n_rows: int) -> Iterator[NDArray[Any]]:
    """Read the numbers of a view in order, about so many rows at a time."""
    if path.suffix.lower() != ".csv":
        yield from parquet_view(path).batches()
        return
    header = _csv_header(path)
    # Some versions of pandas drop the fields that are too many from the first row of a chunk. With
    # a name of their own they are seen.
    how = {"names": [*range(len(header)), "too many"], "header": None, "skiprows": 1}
    done = 0
    with _parsing(path), _read_csv(path, chunksize=n_rows, **how) as reader:
        while (table := _strictly(next, reader, None)) is not None:
            longer = np.flatnonzero(table.pop("too many").notna())
            if len(longer):
                raise DataFileError(
                    f"{path.name}: row {done + longer[0] + 1} has more fields than the header. "
                    "Correct it."
                )
            done += len(table)
            yield _numbers(path, table.set_axis(header, axis=1).iloc[:, 1:])


def _csv(path: Path, text: bool) -> pd.DataFrame:
    _csv_header(path)
    table: pd.DataFrame = _read_csv(path, dtype=str if text else None)
    return table.iloc[:, 1:].set_axis(_csv_ids(path))


def _csv_header(path: Path) -> list[str]:
    header = pd.read_csv(path, header=None, nrows=1, **PLAIN).iloc[0].tolist()
    if all(_is_number(name) for name in header):
        raise DataFileError(
            f"{path.name}: the first row is all numbers, but has to be a header with the names "
            "of the columns. Add one."
        )
    return header


def _csv_ids(path: Path) -> "pd.Index[Any]":
    # On their own, because pandas takes ids such as NA for gaps and 0012 for a number.
    return pd.Index(pd.read_csv(path, usecols=[0], index_col=False, **PLAIN).iloc[:, 0])


def _read_csv(path: Path, **how: Any) -> Any:
    fixed = {"index_col": False, "low_memory": False, "encoding": "utf-8-sig"}
    return _strictly(pd.read_csv, path, **fixed, **how)


def _strictly(read: Callable[..., Any], *args: Any, **how: Any) -> Any:
    with warnings.catch_warnings():
        # pandas only warns when it drops the fields for which there is no header.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return read(*args, **how)


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
