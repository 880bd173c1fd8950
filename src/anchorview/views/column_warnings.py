"""Warnings about columns that are probably not features: sample ids and class labels."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.text import quoted

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
    if frame.shape[1] and _are_ids(frame.iloc[:, 0]):
        warnings.warn(
            f"{view}: the first column, {quoted(frame.columns[0])}, has a different integer in "
            "every row, like sample ids, but is used as a feature. If these are ids, make them "
            "the index, by which samples are aligned: frame.set_index(...).",
            UserWarning,
            stacklevel=2,
        )
    numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
    warn_about_names(frame.columns[numeric], view)


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
