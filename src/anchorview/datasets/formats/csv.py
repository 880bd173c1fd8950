"""CSV and TSV tables, compressed or not: sample ids in one column, features in the others.

The header has the names of the columns.
"""

import csv
import gzip
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview._utils.text import one_line
from anchorview.datasets.file_contents import ReadOptions, require_free_memory
from anchorview.datasets.formats.table_checks import Outline, not_numeric_error, numeric_values

AS_TEXT: dict[str, Any] = {"dtype": str, "na_filter": False}
"""Options with which pandas returns all fields as they are."""

FIELDS_PARSED = 2**20
"""Number of fields that are parsed at a time when only the ids are kept."""

ROWS_COMPARED = 20
"""Number of rows with which the header is compared."""

ID_NAME = re.compile(
    r"|(.*[ _.-])?(id|index|key|name|sample|cell|barcode|patient|subject|object)s?|unnamed: 0"
)
"""Names, in lower case, that headers have for sample ids; rows of data do not start with them."""


def read_csv(path: Path, options: ReadOptions, *, text: bool = False) -> pd.DataFrame:
    """Read a table with the sample ids as its index; if `text`, its values as strings."""
    _require_memory(path)
    header = _header(path, options)
    table: pd.DataFrame = _read(path, options, dtype=str if text else None)
    position = options.id_position(header)
    if not text:
        _require_no_codes(path, options, position)
    if position is None:
        return table
    ids = _ids(path, options, position, len(header))
    table = table.drop(columns=table.columns[position]).set_axis(ids)
    return table if options.header else table.set_axis(range(table.shape[1]), axis=1)


def csv_outline(path: Path, options: ReadOptions) -> Outline:
    """Read only the sample ids, the names of the features and their type."""
    if _is_compressed(path):
        _require_memory(path)
    header = _header(path, options)
    position = options.id_position(header)
    ids = _ids(path, options, position or 0, len(header))
    features = [name for j, name in enumerate(header) if j != position]
    return pd.RangeIndex(len(ids)) if position is None else ids, features, np.dtype(np.float64)


def csv_blocks(path: Path, options: ReadOptions, n_rows: int) -> Iterator[NDArray[Any]]:
    """Read the values in order, `n_rows` rows at a time."""
    header = _header(path, options)
    position = options.id_position(header)
    _require_no_codes(path, options, position)
    # Some versions of pandas drop the excess fields of the first row of a block. With a column of
    # their own they are noticed.
    how = {"names": [*range(len(header)), "excess"], "skiprows": int(options.header)}
    done = 0
    with _read(path, ReadOptions(header=False), chunksize=n_rows, **how) as reader:
        while (table := _strict(next, reader, None)) is not None:
            longer = np.flatnonzero(table.pop("excess").notna())
            if len(longer):
                raise DataFileError(
                    f"row {done + longer[0] + 1} has more fields than the "
                    f"{'header' if options.header else 'first row'}. Correct it."
                )
            done += len(table)
            features = table if position is None else table.drop(columns=position)
            names = [name for j, name in enumerate(header) if j != position]
            yield numeric_values(features.set_axis(names, axis=1))


def _require_no_codes(path: Path, options: ReadOptions, id_position: int | None) -> None:
    """Raise if a feature has integers with leading zeros, which pandas would drop."""
    start = _separator(path).encode() if id_position == 0 else b"(?:^|[,\t])"
    code = re.compile(start + b'"?0[0-9]')
    with _opened(path, "rb") as stream:
        if not any(map(code.search, stream)):
            return
    table = _read(path, options, **AS_TEXT)
    for position, (column, texts) in enumerate(table.items()):
        codes = texts[texts.str.fullmatch("0[0-9]+")]
        if len(codes) and position != id_position and column != options.labels:
            raise not_numeric_error(str(column), [codes.iloc[0]])


def _header(path: Path, options: ReadOptions) -> list[Any]:
    """Names of the columns, or their numbers if there is no header."""
    first, *rows = _strict(_first_rows, path) or [[]]
    if not first:
        raise DataFileError("the file is empty. Export the table again.")
    if not options.header:
        return list(range(len(first)))
    if options.has_ids:
        _require_header(first, rows)
    elif _are_numbers(first) and first != _default_names(first):
        raise _header_error("all numbers")
    return first


def _first_rows(path: Path) -> list[list[str]]:
    with _opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
        rows = (row for row in csv.reader(stream, delimiter=_separator(path)) if row)
        return list(islice(rows, 1 + ROWS_COMPARED))


def _is_compressed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def _separator(path: Path) -> str:
    return "\t" if path.name.lower().endswith((".tsv", ".tsv.gz")) else ","


def _opened(path: Path, mode: str, **how: Any) -> Any:
    return gzip.open(path, mode, **how) if _is_compressed(path) else path.open(mode, **how)


def _require_memory(path: Path) -> None:
    """Raise if the text of a table does not fit into memory; a small compressed file may not."""
    if not _is_compressed(path):
        require_free_memory(path.stat().st_size, "reading the table")
        return
    size = 0
    with _opened(path, "rb") as stream:
        while block := stream.read(2**24):
            size += len(block)
            require_free_memory(size, "reading the table")


def _require_header(first: list[str], rows: list[list[str]]) -> None:
    """Raise if the first row is a sample, or if there is no column of sample ids."""
    if first == _default_names(first):
        raise DataFileError(
            f"the header is {', '.join(first[:3])}, ..., as pandas writes it for columns without "
            "names, so that there are no sample ids. Write them as the first column, or pass "
            "id_column=False to match rows by position."
        )
    # The header of an exported frame is empty above its index.
    if first[0].strip() and _are_numbers(first):
        raise _header_error("all numbers")
    if not _are_numbers(first[1:]):
        return
    # Numbers may be the names of features, such as wavelengths or gene ids. They are in order, or
    # at least integers, and differ.
    names = [float(field) for field in first[1:] if field.strip()]
    fractions = any(name % 1 for name in names) and names not in (
        sorted(names),
        sorted(names, reverse=True),
    )
    ids = {_pattern(row[0]) for row in rows}
    like_ids = _pattern(first[0]) in ids and not ID_NAME.fullmatch(first[0].strip().lower())
    if like_ids or fractions or len(set(names)) < len(names):
        raise _header_error(
            f"{first[0]!r} and numbers, like the rows below it",
            " If it is a header, name its first column 'id'." if like_ids else "",
        )


def _header_error(content: str, more: str = "") -> DataFileError:
    return DataFileError(
        f"the first row is {content}, but must be a header with the names of the columns. Add one, "
        f"or pass header=False if the first row is a sample.{more}"
    )


def _default_names(fields: list[str]) -> list[str]:
    """Header that pandas writes for columns without names."""
    return list(map(str, range(len(fields))))


def _are_numbers(fields: list[str]) -> bool:
    """Whether all fields are numbers or empty, but not all are empty."""
    given = [field for field in fields if field.strip()]
    try:
        return bool(list(map(float, given)))
    except ValueError:
        return False


def _pattern(field: str) -> str:
    """Kinds of characters in their order: 's12' and 't3' have the same pattern."""
    field = re.sub(r"[0-9]+", "0", field.strip())
    return re.sub(r"[A-Z]+", "A", re.sub(r"[^\W\dA-Z_]+", "a", field))


def _ids(path: Path, options: ReadOptions, position: int, n_columns: int) -> "pd.Index[Any]":
    # Read apart from the values, as pandas takes ids such as NA for missing and 0012 for a number;
    # and in blocks, as it parses all columns of the rows that it reads at a time.
    how = {"usecols": [position], "chunksize": max(1, FIELDS_PARSED // n_columns), **AS_TEXT}
    ids: list[str] = []
    with _read(path, options, **how) as reader:
        while (block := _strict(next, reader, None)) is not None:
            ids.extend(block.iloc[:, 0])
    return pd.Index(ids, dtype=object)


def _read(path: Path, options: ReadOptions, **how: Any) -> Any:
    fixed = {"index_col": False, "low_memory": False, "encoding": "utf-8-sig"}
    how |= {"sep": _separator(path), "header": 0 if options.header else None}
    return _strict(pd.read_csv, path, **fixed, **how)


def _strict(read: Callable[..., Any], *args: Any, **how: Any) -> Any:
    try:
        with warnings.catch_warnings():
            # pandas only warns when it drops fields beyond the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return read(*args, **how)
    except pd.errors.EmptyDataError:
        raise DataFileError("the file is empty. Export the table again.") from None
    except pd.errors.ParserWarning:
        raise DataFileError(
            "a row has more fields than the header. Give every column a name, and quote fields "
            "that contain separators."
        ) from None
    except (pd.errors.ParserError, csv.Error) as error:
        raise DataFileError(
            f"not a table in CSV ({one_line(error)}). All rows need the same number of fields; "
            "quote fields that contain separators."
        ) from None
    except UnicodeDecodeError as error:
        raise DataFileError(f"not text in UTF-8 ({error}). Export the table again.") from None
