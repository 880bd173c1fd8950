"""The door: views in any form become aligned matrices, or an error that says what to do."""

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from anchorview._utils.memory import require_memory
from anchorview._utils.typing import Array, Matrix
from anchorview.views.mudata_views import is_mudata, views_from_mudata
from anchorview.views.stored_view import StoredView


def read_input(
    X: Any, given: Any, first_row: int = 0
) -> "tuple[tuple[Matrix, ...], tuple[str, ...], bool, Array | None, pd.Index[Any] | None]":
    """Views, names, whether these were given, availability (None if complete), sample ids.

    Messages count rows from `first_row`.
    """
    sample_names = None
    if is_mudata(X):
        sample_names = X.obs_names
        X, present = views_from_mudata(X)
        given = present if given is None else present & np.asarray(given, bool)
    names, named, matrices, sample_ids = aligned_matrices(X)
    # Sparse views have no index of their own.
    sample_ids = sample_names if sample_ids is None else sample_ids
    matrices = [_loaded(m) if isinstance(m, StoredView) else m for m in matrices]
    n = common_length(matrices, names)
    available = availability(given, n, names)
    for p, (matrix, name) in enumerate(zip(matrices, names, strict=True)):
        if matrix is None:
            available[:, p] = False
        else:
            label = describe_view(p, name)
            available[:, p] &= _finite_rows(matrix, available[:, p], label, sample_ids, first_row)
    require_a_view(available, sample_ids, first_row)
    empty = sparse.csr_array((n, 1), dtype=np.float32)
    views = tuple(empty if matrix is None else matrix for matrix in matrices)
    return views, names, named, none_if_complete(available), sample_ids


def aligned_matrices(
    X: Any,
) -> "tuple[tuple[str, ...], bool, list[Any], pd.Index[Any] | None]":
    """Names, whether they were given, views as matrices with the same order of samples, their ids.

    Views on disk stay there, and None stays None.
    """
    names, raw = _split_into_views(X)
    # Dask dataframes tell their size only once they are computed.
    raw = [view.compute() if _is_dask_frame(view) else view for view in raw]
    labels = [describe_view(p, name) for p, name in enumerate(names)]
    sample_ids, aligned = _align(raw, labels)
    matrices = [
        view if view is None or isinstance(view, StoredView) else _as_matrix(view, label)
        for view, label in zip(aligned, labels, strict=True)
    ]
    named = isinstance(X, Mapping) and not sparse.issparse(X)
    return names, named, matrices, sample_ids


def _loaded(view: Any) -> Any:
    """All of a view that is on disk or in Dask, if it fits into memory."""
    require_memory(
        float(view.nbytes),
        f"Reading a view of {view.shape[0]} samples and {view.shape[1]} features",
        "Use DALMC, which reads such views part by part, or fewer samples.",
    )
    return np.asarray(view)


def availability(given: Any, n: int, names: Sequence[str]) -> Array:
    """Which views each sample has, by what is given, if anything."""
    available = np.ones((n, len(names)), bool) if given is None else np.array(given, dtype=bool)
    if available.shape != (n, len(names)):
        raise ValueError(
            f"available has shape {available.shape}, but there are {n} samples in {len(names)} "
            "views: it needs one row a sample and one column a view."
        )
    return available


def none_if_complete(available: Array) -> Array | None:
    """Availability, or None if it is complete."""
    return None if available.all() else available


def describe_view(p: int, name: str) -> str:
    """Return how messages name a view: by position and, if it has one, name."""
    return f"view {p}" if name == f"view_{p}" else f"view {p} ('{name}')"


def _split_into_views(X: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Names and views of any accepted form of input."""
    # Sparse comes first: a dok_array is a Mapping.
    if sparse.issparse(X) or isinstance(X, (np.ndarray, pd.DataFrame, StoredView)):
        return ("view_0",), [X]
    if isinstance(X, Mapping):
        names, views = tuple(str(name) for name in X), list(X.values())
        if len(set(names)) < len(names):
            raise ValueError(f"Two views have the same name among {list(names)}.")
    elif isinstance(X, (list, tuple)):
        views = [X] if X and all(_is_row(item) for item in X) else list(X)
        names = tuple(f"view_{p}" for p in range(len(views)))
    elif hasattr(X, "__array__"):
        return ("view_0",), [X]
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


def _align(views: list[Any], labels: Sequence[str]) -> "tuple[pd.Index[Any] | None, list[Any]]":
    """Bring DataFrames to the union of their samples, in order of first appearance."""
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
    for p in frames[1:]:
        if not views[p].index.equals(ids):
            if any(view is not None and q not in frames for q, view in enumerate(views)):
                raise ValueError(
                    f"{labels[p]} and {labels[frames[0]]} have different index labels or another "
                    "order of them, and views without an index cannot follow. Reorder them, or "
                    "give all views an index."
                )
            ids = ids.append(views[p].index[~views[p].index.isin(ids)])
    for p in frames:
        own = views[p].index
        others = [views[q].index for q in frames if q != p]
        if others and not any(own.isin(other).any() for other in others):
            raise ValueError(
                f"{labels[p]} shares no sample with another view: its labels are like {own[0]!r}, "
                f"those of {labels[frames[0] if p != frames[0] else frames[1]]} like "
                f"{others[0][0]!r}. Samples are aligned by index; bring the labels to one form."
            )
    aligned = list(views)
    for p in frames:
        if not views[p].index.equals(ids):
            aligned[p] = _numeric_frame(views[p], labels[p]).reindex(ids)
    return ids, aligned


def _as_matrix(view: Any, label: str) -> Matrix:
    """One view as a 2-D numeric array or CSR matrix, not copied if it can be helped."""
    if sparse.issparse(view):
        matrix: Matrix = view.tocsr()
    elif isinstance(view, pd.DataFrame):
        matrix = frame_values(view, label)
    elif isinstance(view, np.ma.MaskedArray):
        raise ValueError(
            f"{label} is a masked array, whose mask would be lost. Fill the rows of samples "
            "without this view with NaN: view.astype(float).filled(np.nan)."
        )
    else:
        matrix = _loaded(view) if _is_dask_array(view) else np.asarray(view)
    if matrix.dtype.kind == "f" and matrix.dtype.itemsize > 8:
        matrix = matrix.astype(np.float64)
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


def _is_dask_array(view: Any) -> bool:
    return hasattr(view, "__dask_graph__") and hasattr(view, "chunks")


def _is_dask_frame(view: Any) -> bool:
    return hasattr(view, "__dask_graph__") and hasattr(view, "divisions")


def _numeric_frame(frame: pd.DataFrame, label: str) -> pd.DataFrame:
    for column, dtype in zip(frame.columns, frame.dtypes, strict=True):
        objects = isinstance(dtype, np.dtype) and dtype.kind == "O"
        if not (objects or pd.api.types.is_numeric_dtype(dtype)):
            raise ValueError(
                f"{label}: column {column!r} is not numeric (dtype {dtype}); encode it as numbers "
                "or drop it."
            )
    return frame


def frame_values(frame: pd.DataFrame, label: str) -> Array:
    """Values of a frame, raising if a column is not numeric."""
    dtypes = _numeric_frame(frame, label).dtypes
    nullable = any(pd.api.types.is_extension_array_dtype(dtype) for dtype in dtypes)
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


def common_length(matrices: Sequence[Any], names: Sequence[str]) -> int:
    """Number of samples, the same in every view that is not None."""
    labels = [describe_view(p, name) for p, name in enumerate(names)]
    present = [(m, label) for m, label in zip(matrices, labels, strict=True) if m is not None]
    if not present:
        raise ValueError("There are no views: all are None.")
    first, first_label = present[0]
    for matrix, label in present[1:]:
        if matrix.shape[0] != first.shape[0]:
            raise ValueError(
                f"{first_label} has {first.shape[0]} samples, but {label} has {matrix.shape[0]}. "
                "All views must describe the same samples, one row each (a list is a list of "
                "views, not of samples)."
            )
    return int(first.shape[0])


def _finite_rows(
    view: Matrix, available: Array, label: str, ids: "pd.Index[Any] | None", first_row: int
) -> Array:
    """Rows that are not missing, i.e. all NaN; anything else that is not finite is an error."""
    entries = view.data if sparse.issparse(view) else view
    everything = np.ones(view.shape[0], bool)
    if entries.dtype.kind != "f":
        return everything
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum proves all entries finite, and is several times cheaper than looking.
        if np.isfinite(np.sum(entries)):
            return everything
    bad = ~np.isfinite(entries)
    if sparse.issparse(view):
        present = everything
        rows = np.repeat(np.arange(view.shape[0]), np.diff(view.indptr))
        bad &= available[rows]
        first = int(np.argmax(bad))
        row, column = int(rows[first]), int(view.indices[first])
    else:
        present = ~np.isnan(view).all(axis=1)
        bad &= (present & available)[:, None]
        row, column = (int(i) for i in np.unravel_index(np.argmax(bad), bad.shape))
    if bad.any():
        kind = "NaN" if np.isnan(view[row, column]) else "infinity"
        sample = "" if ids is None else f" (sample {ids[row]!r})"
        remedy = (
            "A sample without this view has NaN in the whole row; otherwise impute the value, "
            "or drop the row or column."
            if kind == "NaN"
            else "Replace the value, or drop the row or column."
        )
        raise ValueError(
            f"{label} contains {kind} at row {first_row + row}{sample}, column {column}: Input "
            f"contains {kind}. {remedy}"
        )
    return present


def require_a_view(available: Array, ids: "pd.Index[Any] | None", first_row: int = 0) -> None:
    """Raise if a sample has no view; the message counts rows from `first_row`."""
    nowhere = np.flatnonzero(~available.any(axis=1))
    if len(nowhere):
        row = int(nowhere[0])
        sample = "" if ids is None else f" ({ids[row]!r})"
        more = f" and {len(nowhere) - 1} more" if len(nowhere) > 1 else ""
        raise ValueError(
            f"Sample {first_row + row}{sample}{more} has no view at all: every row is missing "
            "(NaN). Drop it."
        )
