"""Checks of one view: a numeric 2-D matrix, finite but for the rows of samples that lack it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from anchorview._utils.memory import require_memory
from anchorview._utils.typing import Array, Matrix
from anchorview.views.alignment import require_numeric_columns
from anchorview.views.schema import describe_view
from anchorview.views.stored_view import StoredView


def is_dask_array(view: Any) -> bool:
    """Whether a view is a dask array."""
    return hasattr(view, "__dask_graph__") and hasattr(view, "chunks")


def read_whole(view: Any) -> Array:
    """All rows of a view that is on disk or in Dask, if they fit into memory."""
    require_memory(
        float(view.nbytes),
        f"Reading a view of {view.shape[0]} samples and {view.shape[1]} features",
        "Use DALMC, which reads such views part by part, or fewer samples.",
    )
    return np.asarray(view)


def as_matrix(view: Any, description: str) -> Matrix:
    """One view as a 2-D numeric array or CSR matrix, copied only if it has to be.

    None (no sample has the view) and views on disk are returned as they are.
    """
    if view is None or isinstance(view, StoredView):
        return view
    if sparse.issparse(view):
        matrix: Matrix = view.tocsr()
    elif isinstance(view, pd.DataFrame):
        matrix = frame_values(view, description)
    elif isinstance(view, np.ma.MaskedArray):
        raise ValueError(
            f"{description} is a masked array, whose mask would be lost. Fill the rows of samples "
            "without this view with NaN: view.astype(float).filled(np.nan)."
        )
    elif is_dask_array(view):
        matrix = read_whole(view)
    else:
        _require_array_like(view, description)
        matrix = np.asarray(view)
    if matrix.dtype.kind == "f" and matrix.dtype.itemsize > 8:
        matrix = matrix.astype(np.float64)
    if matrix.dtype.kind == "O":
        matrix = _from_objects(matrix, description)
    if matrix.dtype.kind == "c":
        raise ValueError(f"{description} is complex. Complex data not supported.")
    if matrix.dtype.kind not in "buif":
        raise ValueError(
            f"{description} is not numeric (dtype {matrix.dtype}); encode its columns as numbers."
        )
    if matrix.ndim != 2:
        raise ValueError(
            f"{description} has {matrix.ndim} dimension(s); Expected 2D array with one row per "
            f"sample, got one of shape {matrix.shape}. Reshape your data, e.g. with "
            "view.reshape(-1, 1) for one feature."
        )
    for size, unit, minimum in zip(matrix.shape, ("sample", "feature"), (2, 1), strict=True):
        if size == 0:
            raise ValueError(
                f"{description} is empty: Found array with 0 {unit}(s) (shape={matrix.shape}) "
                f"while a minimum of {minimum} is required."
            )
    return matrix


ACCEPTED_INSTEAD = {
    "MuData": " A MuData object holds several views: pass it alone, or its modalities.",
    "MultiViewData": " MultiViewData holds several views: pass it alone, or a dict of its views.",
    "ViewFile": " A ViewFile holds several views: pass it alone, or its views.",
}
"""Advice by name of a type that is no view, but known."""


def _require_array_like(view: Any, description: str) -> None:
    """Raise if NumPy would have to read an unknown object element by element."""
    if hasattr(view, "__array__"):
        return
    found = type(view).__name__
    if isinstance(view, list | tuple):
        unknown = [own.__name__ for own in _element_types(view) if not _is_known(own)]
        if not unknown:
            return
        found = f"{found} with elements of type {min(unknown)}"
    raise TypeError(
        f"{description} is of type {found}, which cannot be read as a matrix. A view is a 2-D "
        "NumPy array, pandas DataFrame, scipy.sparse matrix or AnnData object with one row per "
        f"sample, or a view on disk or in Dask.{ACCEPTED_INSTEAD.get(found, '')}"
    )


def _element_types(items: Any) -> set[type]:
    """Types of the elements of nested lists and tuples."""
    types = set(map(type, items))
    if any(issubclass(own, list | tuple) for own in types):
        nested = (item for item in items if isinstance(item, list | tuple))
        types = types.union(*map(_element_types, nested))
    return types


def _is_known(cls: type) -> bool:
    """Whether NumPy takes an element of this type for a scalar, or knows how to read it."""
    known = issubclass(cls, list | tuple | str | bytes) or hasattr(cls, "__array__")
    return known or not (hasattr(cls, "__getitem__") or hasattr(cls, "__iter__"))


def frame_values(frame: pd.DataFrame, description: str) -> Array:
    """Values of a frame; raises if a column is not numeric."""
    require_numeric_columns(frame, description)
    nullable = any(pd.api.types.is_extension_array_dtype(dtype) for dtype in frame.dtypes)
    return frame.to_numpy(dtype=np.float64, na_value=np.nan) if nullable else frame.to_numpy()


def _from_objects(matrix: Array, description: str) -> Array:
    try:
        return matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        for position in np.ndindex(matrix.shape):
            try:
                float(matrix[position])
            except (TypeError, ValueError):
                axes = zip(("row", "column"), position, strict=False)
                where = ", ".join(f"{axis} {i}" for axis, i in axes)
                # scikit-learn's checks look for the wording "argument must be ...".
                raise type(error)(
                    f"{description}: {where} is {matrix[position]!r}, but every argument must be a "
                    "string or a number that can be read as float; encode or drop it."
                ) from error
        raise


def common_length(matrices: Sequence[Any], names: Sequence[str]) -> int:
    """Number of samples, the same in every view that is not None."""
    present = [(p, matrix) for p, matrix in enumerate(matrices) if matrix is not None]
    if not present:
        raise ValueError("There are no views: all are None.")
    first, expected = present[0]
    for p, matrix in present[1:]:
        if matrix.shape[0] != expected.shape[0]:
            raise ValueError(
                f"{describe_view(first, names[first])} has {expected.shape[0]} samples, but "
                f"{describe_view(p, names[p])} has {matrix.shape[0]}. All views must describe the "
                "same samples, one row each (a list is a list of views, not of samples)."
            )
    return int(expected.shape[0])


def availability(given: Any, n: int, names: Sequence[str]) -> Array:
    """Which views each sample has, (n, n_views); all of them if nothing is given."""
    available = np.ones((n, len(names)), bool) if given is None else np.array(given, dtype=bool)
    if available.shape != (n, len(names)):
        raise ValueError(
            f"available has shape {available.shape}, but there are {n} samples in {len(names)} "
            "views: it needs one row per sample and one column per view."
        )
    return available


def none_if_complete(available: Array) -> Array | None:
    """Availability, or None if every sample has every view."""
    return None if available.all() else available


def finite_rows(
    view: Matrix,
    available: Array,
    description: str,
    ids: "pd.Index[Any] | None",
    first_row: int,
) -> Array:
    """Which rows are not missing, i.e. not all NaN; any other value that is not finite raises.

    Rows that `available` says are missing are ignored. Messages count rows from `first_row`.
    """
    entries = view.data if sparse.issparse(view) else view
    every_row = np.ones(view.shape[0], bool)
    if entries.dtype.kind != "f":
        return every_row
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum proves that all entries are finite, several times faster than isfinite.
        if np.isfinite(np.sum(entries)):
            return every_row
    bad = ~np.isfinite(entries)
    if sparse.issparse(view):
        present = every_row
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
        whole = "A sample without this view has NaN in the whole row; otherwise impute the value, "
        remedy = whole if kind == "NaN" else "Replace the value, "
        raise ValueError(
            f"{description} contains {kind} at row {first_row + row}{sample}, column {column}: "
            f"Input contains {kind}. {remedy}or drop the row or column."
        )
    return present


def require_a_view(available: Array, ids: "pd.Index[Any] | None", first_row: int = 0) -> None:
    """Raise if a sample has no view; the message counts rows from `first_row`."""
    rows = np.flatnonzero(~available.any(axis=1))
    if len(rows):
        row = int(rows[0])
        sample = "" if ids is None else f" ({ids[row]!r})"
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        raise ValueError(
            f"Sample {first_row + row}{sample}{more} has no view at all: every row is missing "
            "(NaN). Drop it."
        )
