"""Columns of tables: their names, their values as numbers, and those that are no features.

narwhals reads tables of polars, pyarrow and other libraries. Their columns have names, as in
pandas, but their rows have no ids: they are matched by position.
"""

import warnings
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.exceptions import DuplicateError

from anchorview._utils.text import one_line, quoted
from anchorview._utils.typing import Array, FeatureNames
from anchorview.views.stored_view import StoredView

LABEL_COLUMNS = {"label", "labels", "target", "targets", "class", "classes", "y"}
"""Names, in lower case, under which tables hold class labels."""

ID_COLUMNS = {"id", "ids", "index", "key", "sample", "subject", "patient", "cell", "unnamed: 0"}
"""Names, in lower case, under which tables hold sample ids."""

MIN_ROWS = 10
"""Minimum number of rows in which distinct integers are no coincidence."""

ID_RANGE = 2
"""Distinct integers are taken for ids if their range is below this multiple of their number;
counts of as many different values have a larger one."""


def column_names(columns: "pd.Index[Any]") -> FeatureNames | None:
    """Column labels of a DataFrame as strings; None for the default labels 0, 1, 2..."""
    if columns.dtype.kind in "iu" and np.array_equal(columns, np.arange(len(columns))):
        return None
    return np.array([str(label) for label in columns], dtype=object)


def feature_names_of(view: Any) -> FeatureNames | None:
    """Feature names of a view of any type; None if it has none."""
    frame = getattr(view, "_meta", view)
    if isinstance(frame, pd.DataFrame):
        return column_names(frame.columns)
    return view.feature_names if isinstance(view, StoredView) else None


def require_numeric_columns(frame: pd.DataFrame, view: str) -> None:
    """Raise if a column is neither numeric nor of Python objects, which are converted later."""
    for column, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if not (pd.api.types.is_object_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype)):
            raise ValueError(_not_numeric(view, column, dtype))


def _not_numeric(view: str, column: Any, dtype: Any) -> str:
    """Message for a column of text, dates or categories."""
    return (
        f"{view}: column {column!r} is not numeric (dtype {dtype}); encode it as numbers or drop "
        "it."
    )


def frame_values(frame: pd.DataFrame, view: str) -> Array:
    """Values of a frame; raises if a column is not numeric."""
    require_numeric_columns(frame, view)
    nullable = any(pd.api.types.is_extension_array_dtype(dtype) for dtype in frame.dtypes)
    return frame.to_numpy(dtype=np.float64, na_value=np.nan) if nullable else frame.to_numpy()


def object_values(matrix: Array, view: str, columns: Any) -> Array:
    """Numbers in an array of Python objects.

    Raises at the first that is none; a text, which may be a code such as '02139', never is.
    """
    if not any(isinstance(value, str) for value in matrix.flat):
        with suppress(TypeError, ValueError):
            return matrix.astype(np.float64)
    for (row, *column), value in np.ndenumerate(matrix):
        try:
            if isinstance(value, str):
                raise ValueError("a text is not converted: it may be a code")
            float(value)
        except (TypeError, ValueError) as error:
            name = "".join(str(quoted(i if columns is None else columns[i])) for i in column)
            place = f"column {name} is not numeric: row {row}" if column else f"row {row}"
            text = "the text " if isinstance(value, str) else ""
            # scikit-learn's checks look for the reason, "argument must be ...".
            raise type(error)(
                f"{view}: {place} holds {text}{quoted(value)}, which is not a number. Convert the "
                "column if it holds numbers (astype(float) in pandas), or encode or drop it "
                f"({one_line(error)})."
            ) from error
    return matrix.astype(np.float64)


def named_columns(
    view: Any, names: FeatureNames | None, description: str
) -> tuple[Any, FeatureNames | None]:
    """A view and the names of its columns: those given, or else its own.

    Tables of polars and others become arrays: a missing value is NaN, and a column that is not
    numeric raises. Warns about columns that are probably sample ids or class labels.
    """
    # ``_meta`` of a dask dataframe is the empty frame with its columns.
    frame = getattr(view, "_meta", view)
    if isinstance(frame, pd.DataFrame):
        first = [frame.iloc[:, 0]] if frame.shape[1] else []
        numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
        _warn(first, frame.columns[numeric], description, "frame.set_index(...)")
    if isinstance(view, StoredView) and view.feature_names is not None:
        _warn([], view.feature_names, description)
    if isinstance(frame, pd.DataFrame) or isinstance(view, StoredView):
        return view, feature_names_of(view) if names is None else names
    try:
        table = nw.from_native(view, eager_only=True, pass_through=True)
        if not isinstance(table, nw.DataFrame):
            return view, names
        schema = table.schema
    except DuplicateError as error:
        raise ValueError(
            f"{description}: columns must have different names: {one_line(error)}."
        ) from error
    for column, dtype in schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise ValueError(_not_numeric(description, column, dtype))
    values = table.to_numpy()
    if values.dtype.kind == "O":
        values = table.select(nw.all().cast(nw.Float64)).to_numpy()
    first = [pd.Series(values[:, 0], name=name) for name in table.columns[:1]]
    _warn(first, table.columns, description, "table.to_pandas().set_index(...)")
    return values, np.array(table.columns, dtype=object)


def _warn(
    first: "list[pd.Series[Any]]", columns: Iterable[Any], view: str, advice: str = ""
) -> None:
    """Warn if the first column, if there is one, is like ids, or a name like that of labels."""
    names = {str(name).lower(): name for name in columns}
    # Beside x, y is a coordinate.
    labels = sorted(names.keys() & LABEL_COLUMNS - ({"y"} if "x" in names else set()))
    messages = [
        f"column {quoted(names[label])} is named like class labels, but is used as a feature. Drop "
        "it if it holds labels."
        for label in labels[:1]
    ] + [
        f"the first column, {quoted(column.name)}, has a different integer in every row, like "
        "sample ids, but is used as a feature. If these are ids, make them the index, by which "
        f"samples are aligned: {advice}."
        for column in first
        if _are_ids(column)
    ]
    for message in messages:
        warnings.warn(f"{view}: {message}", UserWarning, stacklevel=2)


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
