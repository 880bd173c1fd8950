"""Checks that tables in all formats share: sample ids and numeric columns."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError


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


def several_levels_error() -> DataFileError:
    """Error about a table with several columns of ids."""
    return DataFileError("the index has several levels. Keep one, the sample id.")


def ids_as_strings(ids: "pd.Index[Any]") -> "pd.Index[Any]":
    """Convert sample ids to strings, which must be unique."""
    missing = np.flatnonzero(ids.isna() | (ids == ""))
    if len(missing):
        raise missing_id_error(int(missing[0]))
    return unique_ids(pd.Index([str(sample) for sample in ids]))


def unique_ids(ids: "pd.Index[Any]") -> "pd.Index[Any]":
    """Return sample ids as they are; raise if one occurs more than once."""
    repeated = ids[ids.duplicated()].tolist()
    if repeated:
        raise DataFileError(
            f"the sample id {repeated[0]!r} occurs more than once. Keep one row per sample."
        )
    return ids


def numeric_values(table: pd.DataFrame) -> NDArray[Any]:
    """Values of a table in one type that holds those of all columns."""
    for position, dtype in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype) or getattr(dtype, "kind", "") == "c":
            values = table.iloc[:, position].dropna().astype(str)
            # If only some values are not numbers, the message shows the first of them.
            texts = values[pd.to_numeric(values, errors="coerce").isna()]
            raise not_numeric_error(str(table.columns[position]), [*texts[:1], *values[:1]])
    types = [d if isinstance(d, np.dtype) else np.dtype(np.float64) for d in table.dtypes]
    common = np.result_type(*types)
    nullable = not all(isinstance(dtype, np.dtype) for dtype in table.dtypes)
    return table.to_numpy(common, na_value=np.nan) if nullable else table.to_numpy(common)


def not_numeric_error(column: str, examples: list[Any]) -> DataFileError:
    """Error about a column that is not numeric, with the first of the examples, if any."""
    found = f"it holds {str(examples[0])!r}" if examples else "it is empty"
    return DataFileError(
        f"the column {column!r} is not numeric: {found}. Encode it as numbers or drop it."
    )
