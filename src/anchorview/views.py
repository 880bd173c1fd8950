"""The door: views in any form become :class:`MultiViewData`, or an error that says what to do."""

from collections.abc import Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from anchorview._typing import Array, Matrix

SINGLE_PRECISION = {"float16", "float32", "int8", "uint8", "int16", "uint16", "bool"}
"""Types whose values float32 holds exactly; blocks of them are multiplied in float32."""

CACHED_BLOCK = 4 * 2**20
"""Bytes of a row block that stays in the cache while it is scaled."""

LARGEST_BLOCK = 64 * 2**20
"""Most bytes of a row block, however many features there are."""


class MultiViewData:
    """The same samples in several views: validated, aligned, with names.

    Views are kept as they come (integers, half precision, sparse, memory maps); only row blocks of
    them are converted. The container has ``len``, ``shape`` and ``[rows]``, so that scikit-learn's
    ``train_test_split``, ``cross_val_score`` and ``GridSearchCV`` can split it, which a bare list
    of views (to them, a list of samples) cannot be.

    Parameters
    ----------
    X : list, tuple or dict of views, a single view, or MultiViewData
        A view is a 2-D array, DataFrame or scipy.sparse matrix with one row a sample. Keys of a
        dict are the names of the views. DataFrames are aligned by their index.

    Attributes
    ----------
    views : tuple of (n, d_p) arrays or CSR matrices
    names : tuple of str
    sample_ids : pandas.Index or None
        Index of the DataFrames, if there are any.
    feature_names : tuple of pandas.Index or None
        Columns of each view that is a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview import MultiViewData
    >>> data = MultiViewData({"text": np.eye(4, 3), "image": np.arange(8.0).reshape(4, 2)})
    >>> data
    MultiViewData(4 samples, text: 3 features, image: 2 features)
    >>> data[[0, 2]].shape
    (2, 5)
    """

    def __init__(self, X: Any) -> None:
        if isinstance(X, MultiViewData):
            self._set(X.views, X.names, X.sample_ids, X.feature_names)
            return
        names, given = _split_into_views(X)
        labels = [_label(p, name) for p, name in enumerate(names)]
        sample_ids, given = _align(given, labels)
        views = tuple(_as_matrix(view, label) for view, label in zip(given, labels, strict=True))
        _require_equal_lengths(views, labels)
        for view, label in zip(views, labels, strict=True):
            _require_finite(view, label, sample_ids)
        feature_names = tuple(v.columns if isinstance(v, pd.DataFrame) else None for v in given)
        self._set(views, names, sample_ids, feature_names)

    def _set(
        self,
        views: tuple[Matrix, ...],
        names: tuple[str, ...],
        sample_ids: "pd.Index[Any] | None",
        feature_names: tuple[Any, ...],
    ) -> None:
        self.views = views
        self.names = names
        self.sample_ids = sample_ids
        self.feature_names = feature_names

    def __len__(self) -> int:
        return int(self.views[0].shape[0])

    def __repr__(self) -> str:
        widths = ", ".join(
            f"{name}: {view.shape[1]} features"
            for name, view in zip(self.names, self.views, strict=True)
        )
        return f"MultiViewData({len(self)} samples, {widths})"

    def __getitem__(self, rows: Any) -> "MultiViewData":
        """Return the same views of some samples; ``data[rows, ...]`` is allowed, as for arrays."""
        if isinstance(rows, tuple):
            rows, *rest = rows
            if any(axis is not Ellipsis and axis != slice(None) for axis in rest):
                raise IndexError("MultiViewData can be indexed by samples only: data[rows].")
        if not isinstance(rows, slice):
            rows = np.atleast_1d(rows)
        part = object.__new__(MultiViewData)
        ids = None if self.sample_ids is None else self.sample_ids[rows]
        part._set(tuple(v[rows] for v in self.views), self.names, ids, self.feature_names)
        return part

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples, and of features over all views."""
        return len(self), sum(self.n_features_per_view)

    @property
    def n_features_per_view(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return tuple(int(view.shape[1]) for view in self.views)

    @property
    def dtype(self) -> "np.dtype[Any]":
        """Precision in which row blocks are multiplied: float32 if every view fits in it."""
        single = all(view.dtype.name in SINGLE_PRECISION for view in self.views)
        return np.dtype(np.float32 if single else np.float64)

    def label(self, p: int) -> str:
        """Return how messages name a view: by position and name."""
        return _label(p, self.names[p])

    def blocks(self, block_rows: int | None = None) -> Iterator[slice]:
        """Row ranges that cover all samples, each small enough to be worked on densely."""
        n, width = self.shape
        if block_rows is None:
            row_bytes = width * self.dtype.itemsize
            # Twice as many rows as features make adding up a Gram block cheap beside making it.
            wanted = max(CACHED_BLOCK // row_bytes, 2 * width)
            block_rows = max(1, min(wanted, LARGEST_BLOCK // row_bytes))
        for start in range(0, n, block_rows):
            yield slice(start, min(start + block_rows, n))

    def matched_to(
        self, names: tuple[str, ...], widths: tuple[int, ...], estimator: str
    ) -> "MultiViewData":
        """Views in the order that a fitted estimator knows: by name if named, else by position."""
        unnamed = tuple(f"view_{p}" for p in range(len(self.names)))
        data = self
        if len(self.names) != len(names):
            raise ValueError(
                f"Got {len(self.names)} view(s) {list(self.names)}, but {estimator} is expecting "
                f"{len(names)} views {list(names)}."
            )
        if self.names not in (names, unnamed):
            unknown = [name for name in self.names if name not in names]
            if unknown:
                raise ValueError(
                    f"View {unknown[0]!r} is unknown: {estimator} was fitted on {list(names)}."
                )
            order = [self.names.index(name) for name in names]
            data = object.__new__(MultiViewData)
            features = tuple(self.feature_names[p] for p in order)
            data._set(tuple(self.views[p] for p in order), names, self.sample_ids, features)
        for p, (width, expected) in enumerate(zip(data.n_features_per_view, widths, strict=True)):
            if width != expected:
                # With one view the message is scikit-learn's own.
                subject = data.label(p) if len(names) > 1 else "X"
                raise ValueError(
                    f"{subject} has {width} features, but {estimator} is expecting {expected} "
                    "features as input."
                )
        return data

    def require_varied(self) -> None:
        """Raise if all samples look the same in some view."""
        for p, view in enumerate(self.views):
            if _is_constant(view):
                raise ValueError(
                    f"{self.label(p)} is constant: every sample has the same values. "
                    "Leave this view out."
                )


def dense_rows(view: Matrix, rows: slice) -> Array:
    """Rows of a view as a dense array of the view's own type."""
    block = view[rows]
    return block.toarray() if sparse.issparse(block) else block


def _label(p: int, name: str) -> str:
    return f"view {p}" if name == f"view_{p}" else f"view {p} ('{name}')"


def _split_into_views(X: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Names and views of any accepted form of input."""
    # Sparse comes first: a dok_array is a Mapping.
    if sparse.issparse(X) or isinstance(X, (np.ndarray, pd.DataFrame)):
        return ("view_0",), [X]
    if isinstance(X, Mapping):
        names, views = tuple(str(name) for name in X), list(X.values())
        if len(set(names)) < len(names):
            raise ValueError(f"Two views have the same name among {list(names)}.")
    elif isinstance(X, (list, tuple)):
        views = [X] if X and all(_is_row(item) for item in X) else list(X)
        names = tuple(f"view_{p}" for p in range(len(views)))
    elif hasattr(X, "__array__"):
        return ("view_0",), [np.asarray(X)]
    else:
        raise TypeError(
            "Views must be a list, tuple or dict of 2-D arrays, DataFrames or scipy.sparse "
            f"matrices, or one of these; got {type(X).__name__}."
        )
    if not views:
        raise ValueError("There are no views: got an empty " + type(X).__name__ + ".")
    return names, views


def _is_row(item: Any) -> bool:
    """Whether an element of a list is a row of one nested-list view, not a view."""
    if isinstance(item, (list, tuple)):
        return not any(isinstance(entry, (list, tuple, np.ndarray)) for entry in item)
    return isinstance(item, (Number, str))


def _align(views: list[Any], labels: Sequence[str]) -> tuple["pd.Index[Any] | None", list[Any]]:
    """Bring DataFrames to the order of the first one's index."""
    frames = [p for p, view in enumerate(views) if isinstance(view, pd.DataFrame)]
    if not frames:
        return None, views
    for p in frames:
        repeated = views[p].index[views[p].index.duplicated()]
        if len(repeated):
            raise ValueError(
                f"{labels[p]} has the index label {repeated[0]!r} more than once; samples are "
                "aligned by index, so labels must be unique."
            )
    ids = views[frames[0]].index
    aligned = list(views)
    for p in frames[1:]:
        other = views[p].index
        if len(other) != len(ids) or not ids.isin(other).all():
            first, second = labels[frames[0]], labels[p]
            lacking, owner = (ids.difference(other), second)
            if not len(lacking):
                lacking, owner = (other.difference(ids), first)
            raise ValueError(
                f"{first} and {second} have different index labels: {lacking[0]!r} is not in "
                f"{owner}. Keep the samples that all views have, e.g. with "
                "frame.loc[common_index]."
            )
        if not other.equals(ids):
            if len(frames) < len(views):
                raise ValueError(
                    f"The index of {labels[p]} is ordered unlike that of {labels[frames[0]]}, and "
                    "views without an index cannot follow. Reorder it, or give all views an index."
                )
            aligned[p] = views[p].loc[ids]
    return ids, aligned


def _as_matrix(view: Any, label: str) -> Matrix:
    """One view as a 2-D numeric array or CSR matrix, not copied if it can be helped."""
    if sparse.issparse(view):
        matrix: Matrix = view.tocsr()
    elif isinstance(view, pd.DataFrame):
        matrix = _frame_values(view, label)
    else:
        matrix = np.asarray(view)
    if matrix.dtype.kind == "O":
        matrix = _from_objects(matrix, label)
    if matrix.dtype.kind == "c":
        raise ValueError(f"{label} is complex. Complex data not supported.")
    if matrix.dtype.kind not in "buif":
        raise ValueError(
            f"{label} is not numeric (dtype {matrix.dtype}); encode its columns as numbers."
        )
    if matrix.ndim != 2:
        raise ValueError(
            f"{label} has {matrix.ndim} dimension(s); Expected 2D array with one row a sample, "
            "got one of shape "
            f"{matrix.shape}. Reshape your data, e.g. with view.reshape(-1, 1) for one feature."
        )
    n, d = matrix.shape
    if n == 0:
        raise ValueError(
            f"{label} is empty: Found array with 0 sample(s) (shape={matrix.shape}) while a "
            "minimum of 2 is required."
        )
    if d == 0:
        raise ValueError(
            f"{label} is empty: 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is "
            "required."
        )
    return matrix


def _frame_values(frame: pd.DataFrame, label: str) -> Array:
    for column, dtype in zip(frame.columns, frame.dtypes, strict=True):
        objects = isinstance(dtype, np.dtype) and dtype.kind == "O"
        if not (objects or pd.api.types.is_numeric_dtype(dtype)):
            raise ValueError(
                f"{label}: column {column!r} is not numeric (dtype {dtype}); encode it as numbers "
                "or drop it."
            )
    nullable = any(pd.api.types.is_extension_array_dtype(dtype) for dtype in frame.dtypes)
    return frame.to_numpy(dtype=np.float64, na_value=np.nan) if nullable else frame.to_numpy()


def _from_objects(matrix: Array, label: str) -> Array:
    try:
        return matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        for position in np.ndindex(matrix.shape):
            try:
                float(matrix[position])
            except (TypeError, ValueError):
                where = ", ".join(
                    f"{axis} {i}" for axis, i in zip(("row", "column"), position, strict=False)
                )
                # The wording "argument must be ..." is what scikit-learn's own checks look for.
                raise type(error)(
                    f"{label}: {where} is {matrix[position]!r}, but every argument must be a "
                    "string or a number that can be read as float; encode or drop it."
                ) from error
        raise


def _require_equal_lengths(views: Sequence[Matrix], labels: Sequence[str]) -> None:
    for view, label in zip(views, labels, strict=True):
        if view.shape[0] != views[0].shape[0]:
            raise ValueError(
                f"{labels[0]} has {views[0].shape[0]} samples, but {label} has {view.shape[0]}. "
                "All views must describe the same samples, one row each (a list is a list of "
                "views, not of samples)."
            )


def _require_finite(view: Matrix, label: str, ids: "pd.Index[Any] | None") -> None:
    entries = view.data if sparse.issparse(view) else view
    if entries.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum proves all entries finite, and is several times cheaper than looking.
        if np.isfinite(np.sum(entries)):
            return
    bad = ~np.isfinite(entries)
    if not bad.any():
        return
    if sparse.issparse(view):
        first = int(np.flatnonzero(bad)[0])
        row = int(np.searchsorted(view.indptr, first, side="right")) - 1
        column, value = int(view.indices[first]), entries[first]
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
        value = entries[row, column]
    kind = "NaN" if np.isnan(value) else "infinity"
    sample = "" if ids is None else f" (sample {ids[row]!r})"
    raise ValueError(
        f"{label} contains {kind} at row {row}{sample}, column {column}: Input contains {kind}; "
        "impute the value, or drop the row or column."
    )


def _is_constant(view: Matrix) -> bool:
    n = view.shape[0]
    first = dense_rows(view, slice(0, 1))
    # Doubling steps end at once on ordinary data and never densify a sparse view as a whole.
    start, stop = 0, 64
    while start < n:
        stop = min(stop, start + max(1, LARGEST_BLOCK // (8 * view.shape[1])))
        if (dense_rows(view, slice(start, stop)) != first).any():
            return False
        start, stop = stop, 2 * stop
    return True
