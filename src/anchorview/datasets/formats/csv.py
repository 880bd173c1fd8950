"""CSV tables: a header, sample ids in the first column, features in the others."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview.datasets.formats.table_checks import numeric_values

AS_TEXT: dict[str, Any] = {"dtype": str, "na_filter": False, "encoding": "utf-8-sig"}
"""Options with which pandas returns all fields as they are."""


def read_csv(path: Path, *, text: bool = False) -> pd.DataFrame:
    """Read a table with the sample ids as its index; if `text`, its values as strings."""
    _header(path)
    table: pd.DataFrame = _read(path, dtype=str if text else None)
    return table.iloc[:, 1:].set_axis(_ids(path))


def csv_outline(path: Path) -> "tuple[pd.Index[Any], int, np.dtype[Any]]":
    """Read only the sample ids, the number of features and their type."""
    return _ids(path), len(_header(path)) - 1, np.dtype(np.float64)


def csv_blocks(path: Path, n_rows: int) -> Iterator[NDArray[Any]]:
    """Read the values in order, `n_rows` rows at a time."""
    header = _header(path)
    # Some versions of pandas drop the excess fields of the first row of a block. With a column of
    # their own they are noticed.
    how = {"names": [*range(len(header)), "excess"], "header": None, "skiprows": 1}
    done = 0
    with _read(path, chunksize=n_rows, **how) as reader:
        while (table := _strict(next, reader, None)) is not None:
            longer = np.flatnonzero(table.pop("excess").notna())
            if len(longer):
                raise DataFileError(
                    f"row {done + longer[0] + 1} has more fields than the header. Correct it."
                )
            done += len(table)
            yield numeric_values(table.set_axis(header, axis=1).iloc[:, 1:])


def _header(path: Path) -> list[str]:
    header = pd.read_csv(path, header=None, nrows=1, **AS_TEXT).iloc[0].tolist()
    try:
        list(map(float, header))
    except ValueError:
        return header
    raise DataFileError(
        "the first row is all numbers, but must be a header with the names of the columns. Add one."
    )


def _ids(path: Path) -> "pd.Index[Any]":
    # Read apart from the values, as pandas takes ids such as NA for missing and 0012 for a number.
    return pd.Index(pd.read_csv(path, usecols=[0], index_col=False, **AS_TEXT).iloc[:, 0])


def _read(path: Path, **how: Any) -> Any:
    fixed = {"index_col": False, "low_memory": False, "encoding": "utf-8-sig"}
    return _strict(pd.read_csv, path, **fixed, **how)


def _strict(read: Callable[..., Any], *args: Any, **how: Any) -> Any:
    with warnings.catch_warnings():
        # pandas only warns when it drops fields beyond the header.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return read(*args, **how)
