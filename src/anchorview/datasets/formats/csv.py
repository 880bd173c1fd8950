"""CSV and TSV tables, compressed or not: sample ids in one column, features in the others.

The header has the names of the columns.
"""

import csv
import gzip
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview.datasets.file_contents import ReadOptions, require_free_memory
from anchorview.datasets.formats.table_checks import Outline, not_numeric_error, numeric_values

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
    (table,) = _frames(path, options, sys.maxsize, text=text)
    return table


def csv_outline(path: Path, options: ReadOptions) -> Outline:
    """Read only the sample ids, the names of the features and their type."""
    names = _column_names(path, options)
    position = options.id_position(names)
    # In blocks, as pandas parses all columns of the rows that it reads at a time.
    n_rows = max(1, FIELDS_PARSED // len(names))
    columns = {"names": range(len(names)), "usecols": [position or 0]}
    blocks = _blocks(path, options, n_rows, position or 0, **columns)
    ids = pd.Index([sample for block in blocks for sample in block.iloc[:, 0]], dtype=object)
    features = _features(names, position, options)
    return pd.RangeIndex(len(ids)) if position is None else ids, features, np.dtype(np.float64)


def csv_blocks(path: Path, options: ReadOptions, n_rows: int) -> Iterator[NDArray[Any]]:
    """Read the values in order, `n_rows` rows at a time."""
    return map(numeric_values, _frames(path, options, n_rows))


def _frames(
    path: Path, options: ReadOptions, n_rows: int, *, text: bool = False
) -> Iterator[pd.DataFrame]:
    """Read a table with the sample ids as its index, `n_rows` rows at a time."""
    names = _column_names(path, options)
    position = options.id_position(names)
    labels = [j for j, name in enumerate(names) if name == options.labels]
    if not text:
        _require_no_codes(path, options, names, {position, *labels})
    as_text = set(range(len(names)) if text else labels) - {position}
    # pandas may drop fields beyond the header. With a column of their own they are noticed.
    columns = {"names": [*range(len(names)), "excess"], "dtype": dict.fromkeys(as_text, str)}
    done = 0
    for table in _blocks(path, options, n_rows, position, **columns):
        longer = np.flatnonzero(table.pop("excess").notna())
        if len(longer):
            raise DataFileError(
                f"row {done + longer[0] + 1} has more fields than the "
                f"{'header' if options.header else 'first row'}. Give every column a name, and "
                "quote fields that contain separators."
            )
        done += len(table)
        if position is not None:
            table = table.set_index(position)
        yield table.set_axis(_features(names, position, options), axis=1)


def _blocks(
    path: Path, options: ReadOptions, n_rows: int, id_position: int | None, **how: Any
) -> Iterator[pd.DataFrame]:
    """Read a table with the numbers of the columns as their names."""
    how |= {"sep": _separator(path), "index_col": False, "low_memory": False, "header": None}
    if id_position is not None:
        # Otherwise pandas takes ids such as NA for missing and 0012 for a number.
        how["converters"] = {id_position: str}
    with _opened(path) as stream:
        if options.header:
            next(_rows(path, stream))
        with pd.read_csv(stream, chunksize=n_rows, **how) as reader:
            yield from reader


def _require_no_codes(
    path: Path, options: ReadOptions, names: list[Any], left_out: set[int | None]
) -> None:
    """Raise if a feature has integers with leading zeros, which pandas would drop."""
    start = _separator(path) if 0 in left_out else "(?:^|[,\t])"
    code = re.compile(start + '"?0[0-9]')
    with _opened(path) as stream:
        if not any(map(code.search, stream)):
            return
        stream.seek(0)
        for row in islice(_rows(path, stream), int(options.header), None):
            for j, field in enumerate(row[: len(names)]):
                if j not in left_out and re.fullmatch("0[0-9]+", field):
                    raise not_numeric_error(str(names[j]), [field])


def _column_names(path: Path, options: ReadOptions) -> list[Any]:
    """Names of the columns, or their numbers if there is no header."""
    with _opened(path) as stream:
        rows = list(islice(_rows(path, stream), 1 + ROWS_COMPARED))
    if not rows:
        raise DataFileError("the file is empty. Export the table again.")
    if not options.header:
        return list(range(len(rows[0])))
    _require_header(rows[0], rows[1:], options)
    # pandas makes names different, and gives one to columns without.
    with _opened(path) as stream:
        return list(pd.read_csv(stream, sep=_separator(path), nrows=0, index_col=False).columns)


def _features(names: list[Any], id_position: int | None, options: ReadOptions) -> list[Any]:
    features = [name for j, name in enumerate(names) if j != id_position]
    return features if options.header else list(range(len(features)))


def _opened(path: Path, mode: str = "rt") -> Any:
    how: dict[str, Any] = {"encoding": "utf-8-sig", "newline": ""} if mode == "rt" else {}
    return gzip.open(path, mode, **how) if _is_compressed(path) else path.open(mode, **how)


def _rows(path: Path, stream: IO[str]) -> Iterator[list[str]]:
    """Fields of the lines that are not blank."""
    return filter(None, csv.reader(stream, delimiter=_separator(path)))


def _is_compressed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def _separator(path: Path) -> str:
    return "\t" if path.name.lower().endswith((".tsv", ".tsv.gz")) else ","


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


def _require_header(first: list[str], rows: list[list[str]], options: ReadOptions) -> None:
    """Raise if the first row is a sample, or if there is no column of sample ids."""
    is_numbered = first == list(map(str, range(len(first))))
    if is_numbered and options.has_ids:
        raise DataFileError(
            f"the header is {', '.join(first[:3])}, ..., as pandas writes it for columns without "
            "names, so that there are no sample ids. Write them as the first column, or pass "
            "id_column=False to match rows by position."
        )
    # The header of an exported frame is empty above its index.
    above_index = options.has_ids and not first[0].strip()
    content = more = ""
    if _are_numbers(first) and not (is_numbered or above_index):
        content = "all numbers"
    elif options.has_ids and _are_numbers(first[1:]):
        # Numbers may be the names of features, such as wavelengths or gene ids. They are in order,
        # or at least integers, and differ.
        names = [float(field) for field in first[1:] if field.strip()]
        in_order = names in (sorted(names), sorted(names, reverse=True))
        fractions = not in_order and any(name % 1 for name in names)
        ids = {_pattern(row[0]) for row in rows}
        like_ids = _pattern(first[0]) in ids and not ID_NAME.fullmatch(first[0].strip().lower())
        if like_ids or fractions or len(set(names)) < len(names):
            content = f"{first[0]!r} and numbers, like the rows below it"
            more = " If it is a header, name its first column 'id'." if like_ids else ""
    if content:
        raise DataFileError(
            f"the first row is {content}, but must be a header with the names of the columns. Add "
            f"one, or pass header=False if the first row is a sample.{more}"
        )


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
