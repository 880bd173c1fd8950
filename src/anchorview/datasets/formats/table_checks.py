"""Checks of the sample ids and columns of tables, in all formats."""

from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview.datasets.file_contents import ReadOptions
from anchorview.views.alignment import nothing_shared_message

Outline: TypeAlias = "tuple[pd.Index[Any], list[Any], np.dtype[Any]]"
"""Sample ids of a table, or a RangeIndex without them, its columns of features, and their type."""

NO_IDS = "pass id_column=False to match rows by position"


def require_content(n_samples: int, n_features: int) -> None:
    """Raise if a table has no rows, or no columns apart from the sample ids."""
    if not (n_samples and n_features):
        raise DataFileError(
            f"{n_samples} samples and {n_features} columns after the id. A table needs sample ids "
            "and at least one row and one other column; a CSV file needs a header and commas "
            "between the fields."
        )


def missing_id_error(row: int) -> DataFileError:
    """Error about a row, counted from zero, without a sample id."""
    return DataFileError(f"row {row + 1} has no sample id. Add it.")


def checked_ids(ids: "pd.Index[Any]", options: ReadOptions) -> "pd.Index[Any]":
    """Convert sample ids to strings, which must be unique; without ids, return row numbers."""
    if not options.has_ids:
        return pd.RangeIndex(len(ids))
    missing = np.flatnonzero(ids.isna() | (ids == ""))
    if len(missing):
        raise missing_id_error(int(missing[0]))
    if options.id_column is True:
        _require_no_fractions(ids)
    texts = pd.Index([str(sample) for sample in ids])
    repeated = texts[texts.duplicated()].tolist()
    if repeated:
        raise DataFileError(
            f"the sample id {repeated[0]!r} occurs more than once. Keep one row per sample; if the "
            f"first column is not the sample id, {NO_IDS}."
        )
    return texts


def _require_no_fractions(ids: "pd.Index[Any]") -> None:
    """Raise if the ids are measurements: numbers, and not all of them integers."""
    numbers = pd.to_numeric(pd.Series(ids), errors="coerce").astype(np.float64)
    fractions = np.flatnonzero(numbers % 1 != 0)
    if numbers.notna().all() and len(fractions):
        raise DataFileError(
            f"the first column holds numbers such as {ids[fractions[0]]}, which are not sample "
            f"ids. Write the ids as the first column, or {NO_IDS}."
        )


def require_common_samples(ids: "dict[str, pd.Index[Any]]", options: ReadOptions) -> None:
    """Raise if a table, given by its file name, shares no sample with another one.

    Ids that differ only in blanks, or as 1 and 1.0 do, are refused too: they mean one sample.
    """
    if not options.has_ids:
        _require_same_length(ids)
        return
    alone = set(ids) if len(ids) > 1 else set()
    for (file, sample_ids), (other, other_ids) in combinations(ids.items(), 2):
        if sample_ids.equals(other_ids):
            alone -= {file, other}
            continue
        shared = sample_ids.isin(other_ids)
        _require_same_spelling(
            file, sample_ids[~shared], other, other_ids[~other_ids.isin(sample_ids)]
        )
        if shared.any():
            alone -= {file, other}
    for file in ids:
        if file in alone:
            other = next(name for name in ids if name != file)
            message = nothing_shared_message(file, ids[file][0], other, ids[other][0])
            raise DataFileError(f"{message} If the tables have no ids, {NO_IDS}.")


def _require_same_spelling(
    file: str, sample_ids: "pd.Index[Any]", other: str, other_ids: "pd.Index[Any]"
) -> None:
    for spelled, difference in ((str.strip, "blanks"), (_without_fraction, "'.0'")):
        originals = {spelled(sample): sample for sample in other_ids}
        for sample in sample_ids:
            if (alike := originals.get(spelled(sample))) is not None:
                raise DataFileError(
                    f"the sample id {sample!r} in {file} is {alike!r} in {other}: the ids differ "
                    f"only by {difference}. Write them the same in all tables."
                )


def _without_fraction(sample: str) -> str:
    whole, _, fraction = sample.strip().partition(".")
    is_integer = whole.removeprefix("-").isdigit() and not fraction.strip("0")
    return whole if is_integer else sample.strip()


def _require_same_length(ids: "dict[str, pd.Index[Any]]") -> None:
    if len({len(of_file) for of_file in ids.values()}) > 1:
        raise DataFileError(
            "without sample ids rows are matched by position, but the tables differ in their "
            f"number of rows: {', '.join(f'{file} {len(i)}' for file, i in ids.items())}. Add ids, "
            "or the missing rows."
        )


def numeric_values(table: pd.DataFrame) -> NDArray[Any]:
    """Values of a table in one type that holds those of all columns.

    This is the only place where columns of tables become numbers.
    """
    types: list[Any] = []
    for name, column in table.items():
        dtype: Any = column.dtype
        if dtype.kind == "O" and pd.api.types.infer_dtype(column, skipna=True) == "boolean":
            # Booleans of which some are missing.
            dtype = np.dtype(np.float64)
        elif not pd.api.types.is_numeric_dtype(dtype) or dtype.kind == "c":
            values = column.dropna().astype(str)
            # If only some values are not numbers, the message shows the first of them.
            texts = values[pd.to_numeric(values, errors="coerce").isna()]
            raise not_numeric_error(str(name), [*texts[:1], *values[:1]])
        types.append(dtype)
    return table.to_numpy(np.result_type(*types))


def not_numeric_error(column: str, examples: list[Any]) -> DataFileError:
    """Error about a column that is not numeric, with the first of the examples, if any."""
    content = f"it holds {str(examples[0])!r}" if examples else "it is empty"
    return DataFileError(
        f"the column {column!r} is not numeric: {content}. Write it as numbers "
        "without leading zeros, encode it or drop it. If the table is not a view, "
        "leave it out: give the name and the file of each view with views=."
    )
