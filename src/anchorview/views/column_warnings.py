"""Warnings about columns that are probably not features: sample ids and class labels."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.text import quoted
from anchorview._utils.typing import Array

LABEL_COLUMNS = {"label", "labels", "target", "targets", "class", "classes", "y"}
"""Names, in lower case, under which tables hold class labels."""

ID_COLUMNS = {"id", "ids", "index", "key", "sample", "subject", "patient", "cell", "unnamed: 0"}
"""Names, in lower case, under which tables hold sample ids."""

MIN_ROWS = 10
"""Minimum number of rows in which distinct integers are no coincidence."""

ID_RANGE = 2
"""Distinct integers are taken for ids if their range is below this multiple of their number;
counts of as many different values have a larger one."""


def warn_about_frame(frame: pd.DataFrame, view: str) -> None:
    """Warn if the first column is probably sample ids, or a column class labels."""
    if frame.shape[1]:
        _warn_about_ids(frame.iloc[:, 0], view, "frame.set_index(...)")
    numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
    warn_about_names(frame.columns[numeric], view)


def warn_about_table(values: Array, columns: Sequence[str], view: str) -> None:
    """Warn as about a frame, for a table that has no index."""
    if columns:
        first = pd.Series(values[:, 0], name=columns[0])
        _warn_about_ids(first, view, "table.to_pandas().set_index(...)")
    warn_about_names(columns, view)


def warn_about_names(columns: Iterable[Any], view: str) -> None:
    """Warn if a numeric column is named like class labels."""
    names = {str(name).lower(): name for name in columns}
    # Beside x, y is a coordinate.
    found = sorted(names.keys() & LABEL_COLUMNS - ({"y"} if "x" in names else set()))
    if found:
        warnings.warn(
            f"{view}: column {quoted(names[found[0]])} is named like class labels, but is used as "
            "a feature. Drop it if it holds labels.",
            UserWarning,
            stacklevel=2,
        )


def _warn_about_ids(first: "pd.Series[Any]", view: str, advice: str) -> None:
    if _are_ids(first):
        warnings.warn(
            f"{view}: the first column, {quoted(first.name)}, has a different integer in every "
            "row, like sample ids, but is used as a feature. If these are ids, make them the "
            f"index, by which samples are aligned: {advice}.",
            UserWarning,
            stacklevel=2,
        )


def _are_ids(column: "pd.Series[Any]") -> bool:
    """Whether values are distinct integers that are sorted, dense, or named like ids."""
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    if not numeric or pd.api.types.is_bool_dtype(column.dtype) or len(column) < MIN_ROWS:
        return False
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if not (np.isfinite(values).all() and (values == np.rint(values)).all() and column.is_unique):
        return False
    name = str(column.name).lower()
    dense = np.ptp(values) < ID_RANGE * len(values)
    named = name in ID_COLUMNS or name.endswith(("_id", " id", ".id", "-id"))
    return bool(column.is_monotonic_increasing or column.is_monotonic_decreasing or dense or named)
