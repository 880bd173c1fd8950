"""Columns of tables: their names, their values as numbers, and those that are no features.

narwhals reads tables of polars, pyarrow and other libraries. Their columns have names, as in
pandas, but their rows have no ids: they are matched by position.
"""

import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.exceptions import DuplicateError
from pandas.api.types import union_categoricals
from scipy import sparse

from anchorview._utils.errors import errors_of
from anchorview._utils.linalg import LowRankSum
from anchorview._utils.text import one_line, quoted
from anchorview._utils.typing import Array, FeatureNames
from anchorview.views.stored_view import StoredView

LABEL_COLUMNS = {"label", "labels", "target", "targets", "class", "classes", "y"}
"""Names, in lower case, under which tables hold class labels."""

ID_COLUMNS = {"id", "ids", "index", "key", "sample", "subject", "patient", "cell", "unnamed: 0"}
"""Names, in lower case, under which tables hold sample ids."""

NUMERIC = {"number", "boolean"}
"""Kinds of columns that are numbers."""

TEXTS = ("text",)
"""Kinds of the columns of a view of texts."""

OBJECTS = {"string": "text", "boolean": "boolean", "date": "date", "datetime": "date"}
"""Kinds of columns of Python objects, by the type that pandas infers."""

CATEGORICAL = {"boolean": "category", "text": "category"}
"""Kinds of columns that are encoded as categories."""

MIN_ROWS = 10
"""Minimum number of rows in which distinct integers are no coincidence."""

EXACT = 2**53
"""Largest integer up to which floating-point numbers hold all integers."""

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


def frame_values(frame: pd.DataFrame, view: str) -> "Array | TableView":
    """Values of a frame: a matrix, or a table if a column is no number or single cells are missing.

    Raises if a column can be neither.
    """
    table = TableView(frame, view)
    if table.is_numeric:
        values = table.values()
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros((1, 1), bool)
        # A row of NaN is a sample without the view.
        if not missing.any() or (missing.any(axis=1) == missing.all(axis=1)).all():
            return values
    return table


class TableView:
    """A table as a view, until a transformer makes numbers of it: rows are taken by position.

    Columns are numbers, categories, texts or dates.
    """

    dtype = np.dtype(np.float32)
    """Type of the numbers that are made of it by default."""
    ndim = 2

    def __init__(self, frame: pd.DataFrame, view: str, kinds: tuple[str, ...] = ()) -> None:
        self.frame, self._view = frame, view
        with errors_of(view):
            self.kinds = kinds or tuple(column_kind(column) for _, column in frame.items())
        """What each column is: number, boolean, category, text or date."""
        self.shape = frame.shape
        self.is_numeric = set(self.kinds) <= NUMERIC
        """Whether all columns are numbers; single numbers may be missing."""

    @property
    def nbytes(self) -> int:
        """Number of bytes in memory."""
        return int(self.frame.memory_usage(index=False).sum())

    def __getitem__(self, key: Any) -> "TableView":
        """Return some rows or, by ``[:, columns]``, columns in another order."""
        if isinstance(key, tuple):
            columns = np.asarray(key[1])
            kinds = tuple(self.kinds[j] for j in columns.tolist())
            return TableView(self.frame.iloc[:, columns], self._view, kinds)
        return TableView(self.frame.iloc[key], self._view, self.kinds)

    def toarray(self) -> Array:
        """Values of a table of numbers; of others, numbers and days of dates, and NaN elsewhere."""
        if self.is_numeric:
            return self.values()
        values = np.full(self.shape, np.nan)
        for j, kind in enumerate(self.kinds):
            if kind in ("number", "date"):
                values[:, j] = coded_column(self.frame.iloc[:, j], kind)[0]
        return values

    def values(self) -> Array:
        """Values of a table of numbers; raises if a column is something else."""
        for column, kind in zip(self.frame.columns, self.kinds, strict=True):
            if kind not in NUMERIC:
                raise ValueError(
                    f"{self._view}: column {column!r} is a {kind}, not numeric. Drop it, or encode "
                    "it, for example by anchorview.preprocessing.TableEncoder."
                )
        dtypes = self.frame.dtypes
        if any(pd.api.types.is_extension_array_dtype(t) or t.kind == "O" for t in dtypes):
            return np.column_stack([_numbers(column) for _, column in self.frame.items()])
        # pandas would make objects of booleans beside numbers.
        return self.frame.to_numpy(np.result_type(*dtypes) if len(dtypes) else None)

    def has_values(self) -> Array:
        """Which rows have any value; raises if a number is infinite."""
        for column, kind in zip(self.frame.columns, self.kinds, strict=True):
            if kind == "number" and np.isinf(_numbers(self.frame[column])).any():
                raise ValueError(
                    f"{self._view} contains infinity in column {column!r}. Replace the values, or "
                    "drop the rows or the column."
                )
        return np.asarray(~self.frame.isna().to_numpy().all(axis=1))

    @staticmethod
    def stacked(parts: "Sequence[TableView]") -> "TableView":
        """Rows of several tables with the same columns."""
        frame = concatenated([part.frame for part in parts]).reset_index(drop=True)
        return TableView(frame, parts[0]._view)


def describe_kinds(kinds: Sequence[str], levels: str = "") -> str:
    """How many columns of each kind there are; `levels` follows categories."""
    kinds = [CATEGORICAL.get(kind, kind) for kind in kinds]
    plurals = {"number": "numbers", "category": "categories", "date": "dates"}
    counts = {kind: kinds.count(kind) for kind in plurals}
    return ", ".join(
        f"{n} {plurals[kind] if n > 1 else kind}{levels * (kind == 'category')}"
        for kind, n in counts.items()
        if n
    )


def concatenated(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Rows of frames with the same columns; categories are those of all."""
    frames = [frame.copy(deep=False) for frame in frames]
    for j in range(frames[0].shape[1]):
        columns = [frame.iloc[:, j] for frame in frames]
        if all(isinstance(column.dtype, pd.CategoricalDtype) for column in columns):
            categories = union_categoricals(columns, ignore_order=True).categories
            for frame, column in zip(frames, columns, strict=True):
                renamed: Any = column.cat.set_categories(categories, ordered=False)
                frame.isetitem(j, renamed)
    return pd.concat(frames)


def stacked(parts: Sequence[Any]) -> Any:
    """Rows of several views with the same columns, in a view of their type."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], pd.DataFrame):
        return concatenated(parts)
    if isinstance(parts[0], LowRankSum | TableView):
        return parts[0].stacked(parts)
    return (
        sparse.vstack(parts, format="csr") if any(map(sparse.issparse, parts)) else np.vstack(parts)
    )


def column_kind(column: "pd.Series[Any]") -> str:
    """What a column is: number, boolean, category, text or date; raises if it is none of these."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "date"
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c":
        require_exact(column)
        return "number"
    if not pd.api.types.is_object_dtype(dtype):
        # Of pandas or Arrow.
        if pd.api.types.is_string_dtype(dtype):
            return "text"
        raise ValueError(
            f"column {column.name!r} is of type {dtype}, which is neither a number, a category, a "
            "text nor a date. Convert or drop it."
        )
    inferred = pd.api.types.infer_dtype(column)
    if inferred in OBJECTS:
        return OBJECTS[inferred]
    known = column.dropna()
    object_values(known.to_numpy()[:, None], [column.name])
    require_exact(known)
    return "number"


def require_exact(column: "pd.Series[Any]") -> None:
    """Raise if integers are so large that different ones become the same floating-point number."""
    if pd.api.types.infer_dtype(column) != "integer":
        return
    known = column.dropna()
    if known.empty:
        return
    largest = max(int(known.max()), -int(known.min()))
    if largest > EXACT and known.astype(np.float64).nunique() < known.nunique():
        raise ValueError(
            f"column {quoted(column.name)} holds integers such as {largest}, which differ in "
            "digits that floating-point numbers do not have. Drop the column if these are ids, "
            "make it a category, or subtract a constant."
        )


def level_texts(levels: Iterable[Any]) -> list[str]:
    """Levels as texts, by which they are compared: 1, 1.0 and "1" are the same level."""
    values = levels.tolist() if hasattr(levels, "tolist") else levels
    whole = [isinstance(x, float | np.floating) and x.is_integer() for x in values]
    return [str(int(x) if i else x) for x, i in zip(values, whole, strict=True)]


def coded_column(column: "pd.Series[Any]", kind: str) -> "tuple[Array, pd.Index[Any] | None]":
    """Numbers of a column, NaN where it is missing: days of dates, codes of categories and texts.

    Returns these and the levels of categories, as texts.
    """
    if kind == "number":
        return _numbers(column), None
    if kind == "date":
        column = pd.to_datetime(column)
        epoch = pd.Timestamp(0, tz=getattr(column.dtype, "tz", None))
        return ((column - epoch) / pd.Timedelta(days=1)).to_numpy(np.float64, na_value=np.nan), None
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, values = column.cat.codes.to_numpy(), column.cat.categories
    else:
        codes, values = pd.factorize(column, sort=True)
    positions, levels = pd.factorize(np.array(level_texts(values), dtype=object))
    return np.where(codes < 0, np.nan, np.append(positions, 0)[codes]), pd.Index(levels)


def _numbers(column: "pd.Series[Any]") -> Array:
    # NumPy warns about signaling NaN, which damaged files may hold.
    with np.errstate(invalid="ignore"):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)


def object_values(matrix: Array, columns: Any) -> Array:
    """Numbers in an array of Python objects.

    Raises at the first that is none; a text, which may be a code such as '02139', never is.
    """
    # NumPy takes an array with one element for a number.
    if not any(isinstance(value, str | list | np.ndarray) for value in matrix.flat):
        with suppress(TypeError, ValueError):
            return matrix.astype(np.float64)
    for (row, *column), value in np.ndenumerate(matrix):
        is_text = isinstance(value, str)
        if not (is_text or isinstance(value, list | np.ndarray)):
            with suppress(TypeError, ValueError):
                float(value)
                continue
        name = "".join(str(quoted(i if columns is None else columns[i])) for i in column)
        place = f"column {name} is not numeric: row {row}" if column else f"row {row}"
        # scikit-learn's checks look for "argument must be a string or a number".
        raise (ValueError if is_text else TypeError)(
            f"{place} holds {'the text ' * is_text}{quoted(value)}, which is not a number. Convert "
            "the column if it holds numbers (astype(float) in pandas), or encode or drop it"
            f"{'' if is_text else ' (the argument must be a string or a number)'}."
        )
    return matrix.astype(np.float64)


def named_columns(
    view: Any, names: FeatureNames | None, description: str
) -> tuple[Any, FeatureNames | None]:
    """A view and the names of its columns: those given, or else those of the view.

    Tables of polars and others become arrays, in which a missing value is NaN, or tables if a
    column is not numeric. Warns about columns that are probably sample ids or class labels.
    """
    # ``_meta`` of a dask dataframe is the empty frame with its columns.
    frame = getattr(view, "_meta", view)
    if isinstance(frame, pd.DataFrame):
        _warn(frame, description, "frame.set_index(...)")
    if isinstance(view, StoredView) and view.feature_names is not None:
        _warn(pd.DataFrame(columns=view.feature_names), description)
    if isinstance(frame, pd.DataFrame) or isinstance(view, StoredView):
        return view, feature_names_of(view) if names is None else names
    try:
        table = nw.from_native(view, eager_only=True, pass_through=True)
        if not isinstance(table, nw.DataFrame):
            return view, names
        frame = pandas_frame(table)
    except DuplicateError as error:
        raise ValueError(
            f"{description}: columns must have different names: {one_line(error)}."
        ) from error
    _warn(frame, description, "table.to_pandas().set_index(...)")
    return frame_values(frame, description), np.array(frame.columns, dtype=object)


def pandas_frame(table: Any) -> pd.DataFrame:
    """Table of any library in pandas; raises if it is none."""
    if isinstance(table, pd.DataFrame):
        return table
    columns = nw.from_native(table, eager_only=True)
    return pd.DataFrame({name: _pandas_column(columns[name]) for name in columns.columns})


def _pandas_column(column: Any) -> "pd.Series[Any]":
    """Column of another library's table in pandas, without its optional dependencies."""
    is_number = column.dtype.is_numeric() or column.dtype == nw.Boolean
    if is_number and not column.is_null().any():
        return pd.Series(column.to_numpy())
    # Large integers beside missing values would lose digits as floating-point numbers.
    dtype = "category" if isinstance(column.dtype, nw.Categorical | nw.Enum) else None
    return pd.Series(column.to_list(), dtype=object if is_number else dtype)


def _warn(table: pd.DataFrame, view: str, advice: str = "") -> None:
    """Warn if the first column, if there is one, is like ids, or a name like that of labels."""
    names = {str(name).lower(): name for name in table.columns}
    messages = []
    # Beside x, y is a coordinate.
    for label in sorted(names.keys() & LABEL_COLUMNS - ({"y"} if "x" in names else set()))[:1]:
        messages.append(
            f"column {quoted(names[label])} is named like class labels, but is used as a feature. "
            "Drop it if it holds labels."
        )
    if table.shape[1] and _are_ids(first := table.iloc[:, 0]):
        messages.append(
            f"the first column, {quoted(first.name)}, has a different integer in every row, like "
            "sample ids, but is used as a feature. If these are ids, make them the index, by which "
            f"samples are aligned: {advice}."
        )
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
