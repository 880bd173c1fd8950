"""CSV and TSV tables, compressed or not: sample ids in one column, features in the others.

The header has the names of the columns.
"""

import csv
import gzip
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from anchorview._utils.errors import DataFileError
from anchorview.datasets.file_contents import ReadOptions, require_free_memory
from anchorview.datasets.formats.table_checks import require_content, rows_in_block

ID_NAME = re.compile(
    r"|(.*[ _.-])?(id|index|key|name|sample|cell|barcode|patient|subject|object|gene)s?|unnamed: 0"
)
"""Names, in lower case, that headers have for sample ids; rows of data do not start with them."""

CODE = re.compile("0[0-9]+")
DATE = r"\d{4}-\d{2}-\d{2}([T ][\d:.]+)?"


def csv_frames(
    path: Path, options: ReadOptions, block_bytes: int | None = None, *, text: bool = False
) -> Iterator[pd.DataFrame]:
    """Read a table with the sample ids as its index, in blocks or whole.

    If `text`, the values are strings, as class labels always are.
    """
    if block_bytes is None:
        _require_memory(path)
    names = _column_names(path, options)
    position = options.id_position(names)
    features = csv_features(path, options)
    as_text = {j for j, name in enumerate(names) if text or name == options.labels}
    if not text:
        as_text |= _code_columns(path, options, {position, *as_text}) & set(range(len(names)))
    as_text -= {position}
    how: dict[str, Any] = {
        # pandas may drop fields beyond the header. With a column of their own they are noticed.
        "names": [*range(len(names)), "excess"],
        "dtype": dict.fromkeys(as_text, str),
        # Otherwise pandas takes ids such as NA for missing and 0012 for a number.
        "converters": {} if position is None else {position: str},
        "chunksize": rows_in_block(block_bytes, len(features)),
    }
    done = 0
    with _opened(path) as stream:
        if options.header:
            next(_rows(path, stream))
        reader = pd.read_csv(
            stream, sep=_separator(path), index_col=False, low_memory=False, header=None, **how
        )
        while (table := _next(reader)) is not None:
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
            require_content(*table.shape)
            yield table.set_axis(features, axis=1)


def csv_features(path: Path, options: ReadOptions) -> list[Any]:
    """Names of the columns apart from the sample ids, or their numbers if there is no header."""
    names = _column_names(path, options)
    position = options.id_position(names)
    features = [name for j, name in enumerate(names) if j != position]
    return features if options.header else list(range(len(features)))


def _next(reader: Any) -> pd.DataFrame | None:
    with warnings.catch_warnings():
        # pandas only warns when it drops fields beyond the header.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return next(reader, None)


def _code_columns(path: Path, options: ReadOptions, left_out: set[int | None]) -> set[int]:
    """Positions of columns with integers with leading zeros, which pandas would drop."""
    start = _separator(path) if 0 in left_out else "(?:^|[,\t])"
    code = re.compile(start + '"?0[0-9]')
    columns: set[int] = set()
    with _opened(path) as stream:
        if any(map(code.search, stream)):
            stream.seek(0)
            for row in islice(_rows(path, stream), int(options.header), None):
                columns.update(j for j, x in enumerate(row) if CODE.fullmatch(x))
    return columns


def typed_columns(table: pd.DataFrame, left_out: list[Any]) -> pd.DataFrame:
    """Table with dates in place of their texts.

    Raises if most values of a column of text are numbers, as the others are probably errors.
    """
    table = table.copy(deep=False)
    for name in table.columns.difference(left_out, sort=False):
        texts = table[name].dropna()
        if pd.api.types.infer_dtype(texts) != "string":
            continue
        others = texts[pd.to_numeric(texts, errors="coerce").isna()]
        if 0 < 2 * len(others) < len(texts):
            raise DataFileError(
                f"the column {name!r} is not numeric: it holds {others.iloc[0]!r} (sample "
                f"{str(others.index[0])!r}). Correct the value, leave it empty if it is missing, "
                "or read the column as a category with categorical=."
            )
        if texts.str.fullmatch(DATE).all():
            dates = pd.to_datetime(table[name], format="ISO8601", errors="coerce")
            if dates.count() == len(texts):
                table[name] = dates
    return table


def _column_names(path: Path, options: ReadOptions) -> list[Any]:
    """Names of the columns, or their numbers if there is no header."""
    with _opened(path) as stream:
        first = next(_rows(path, stream), None)
    if first is None:
        raise DataFileError("the file is empty. Export the table again.")
    if not options.header:
        return list(range(len(first)))
    _require_header(first, options)
    # pandas makes names different, and gives one to columns without.
    with _opened(path) as stream:
        return list(pd.read_csv(stream, sep=_separator(path), nrows=0, index_col=False).columns)


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


def _require_header(first: list[str], options: ReadOptions) -> None:
    """Raise if the first row is a sample, or if there is no column of sample ids."""
    if options.has_ids:
        # Numbers may be the names of features, such as wavelengths, beside that of the ids.
        is_sample = _are_numbers(first[1:]) and not ID_NAME.fullmatch(first[0].strip().lower())
    else:
        # pandas writes the names 0, 1, 2, ... for columns without.
        is_sample = _are_numbers(first) and first != list(map(str, range(len(first))))
    if is_sample:
        raise DataFileError(
            f"the first row is {', '.join(first[:3])}, ..., like a sample, but must be a header "
            "with the names of the columns. Add one, or pass header=False if it is a sample. If "
            "it is a header, name the column of the sample ids 'id', or pass id_column=False to "
            "match rows by position."
        )


def _are_numbers(fields: list[str]) -> bool:
    """Whether all fields are numbers or empty, but not all are empty."""
    given = [field for field in fields if field.strip()]
    try:
        return bool(list(map(float, given)))
    except ValueError:
        return False
