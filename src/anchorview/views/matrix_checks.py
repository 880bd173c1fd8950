"""Checks of one view: a numeric 2-D matrix, finite but for the rows of samples that lack it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from anchorview._utils.errors import errors_of
from anchorview._utils.linalg import canonical_csr
from anchorview._utils.memory import require_memory
from anchorview._utils.text import describe_view, quoted
from anchorview._utils.typing import Array, Matrix
from anchorview.views.stored_view import StoredView
from anchorview.views.table_columns import TableView, frame_values, object_values

if TYPE_CHECKING:
    from anchorview.views.container import MultiViewData


def read_whole(view: Any) -> Matrix:
    """All rows of a view that is on disk or in Dask, if they fit into memory."""
    require_memory(
        float(view.nbytes),
        f"Reading a view of {view.shape[0]} samples and {view.shape[1]} features",
        "Use DALMC, which reads such views part by part, or fewer samples.",
    )
    return view[:] if isinstance(view, StoredView) else np.asarray(view)


def as_matrix(view: Any, description: str) -> Matrix:
    """One view as a 2-D numeric array or CSR matrix, copied only if it has to be.

    None (no sample has the view), views on disk, memory maps and tables are returned as they are.
    """
    if view is None or isinstance(view, StoredView | TableView):
        return view
    if sparse.issparse(view):
        matrix: Matrix = canonical_csr(view)
    elif isinstance(view, pd.DataFrame):
        matrix = frame_values(view, description)
        if isinstance(matrix, TableView):
            return matrix
    elif isinstance(view, np.ma.MaskedArray):
        raise ValueError(
            f"{description} is a masked array, whose mask would be lost. Fill the rows of samples "
            "without this view with NaN: view.astype(float).filled(np.nan)."
        )
    elif hasattr(view, "__dask_graph__") and hasattr(view, "chunks"):
        matrix = read_whole(view)
    else:
        _require_array_like(view, description)
        matrix = view if isinstance(view, np.memmap) else np.asarray(view)
    if matrix.dtype.kind == "f" and matrix.dtype.itemsize > 8:
        matrix = matrix.astype(np.float64)
    if matrix.dtype.kind == "O":
        with errors_of(description):
            matrix = object_values(matrix, getattr(view, "columns", None))
    if matrix.dtype.kind == "c":
        raise ValueError(f"{description} is complex. Complex data not supported.")
    if matrix.dtype.kind not in "buif":
        raise ValueError(
            f"{description} is not numeric (dtype {matrix.dtype}); encode its columns as numbers."
        )
    if matrix.ndim != 2:
        if matrix.ndim < 3:
            advice = "Reshape your data, e.g. with view.reshape(-1, 1) for one feature."
        else:
            advice = (
                "If views are stacked along the first axis, pass list(array); if the features of a "
                "sample have several axes, view.reshape(len(view), -1)."
            )
        raise ValueError(
            f"{description} has shape {matrix.shape}. Expected 2D array with one row per sample, "
            f"got {matrix.ndim}D array instead. {advice}"
        )
    for size, unit, minimum in zip(matrix.shape, ("sample", "feature"), (2, 1), strict=True):
        if size == 0:
            raise ValueError(
                f"{description} is empty: Found array with 0 {unit}(s) (shape={matrix.shape}) "
                f"while a minimum of {minimum} is required."
            )
    return matrix


def _require_array_like(view: Any, description: str) -> None:
    """Raise if NumPy would have to read an unknown object element by element."""
    if not (isinstance(view, list | tuple) or hasattr(view, "__array__")):
        raise TypeError(
            f"{description} is of type {type(view).__name__}, which cannot be read as a matrix. A "
            "view is a 2-D NumPy array, DataFrame, scipy.sparse matrix or AnnData object with one "
            "row per sample, or a view on disk or in Dask. Objects that hold several views are "
            "passed alone."
        )


def require_same_length(matrices: Sequence[Any], names: Sequence[str]) -> None:
    """Raise if all views are None, or the others do not have the same number of samples."""
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


def finite_rows(data: "MultiViewData", p: int, nan_cells: bool = False) -> Array | None:
    """Which rows of a view are not missing, i.e. not all NaN; None if no value of it is NaN.

    Any other value that is not finite, or too large to be squared, raises; with `nan_cells`, NaN
    does not. Rows of samples without the view are ignored.
    """
    view = data.views[p]
    if isinstance(view, TableView):
        return view.has_values()
    entries = view.data if sparse.issparse(view) else view
    if entries.dtype.kind != "f":
        return None
    # A finite sum of squares proves that all entries are finite and not too large, several times
    # faster than isfinite.
    axes = "i,i->" if entries.ndim == 1 else "ij,ij->"
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.einsum(axes, entries, entries)):
            return None
    is_sparse = sparse.issparse(view)
    present = np.ones(len(data), bool) if is_sparse else ~np.isnan(view).all(axis=1)
    # In float64, so that values of single precision are never too large.
    largest = np.sqrt(np.finfo(np.float64).max / view.shape[1])
    wrong = np.abs(entries) > largest if nan_cells else ~(np.abs(entries) <= largest)
    available = data.has_view(p)
    if is_sparse:
        row_of = np.repeat(np.arange(len(data)), np.diff(view.indptr))
        wrong &= available[row_of]
        positions = np.column_stack([row_of[wrong], view.indices[wrong]])
    else:
        wrong &= (present & available)[:, None]
        positions = np.argwhere(wrong)
    if len(positions):
        row, column = positions[0].tolist()
        rows = f"rows {data.first_row} to {data.first_row + len(data) - 1}"
        problem = _bad_values(positions, entries[wrong], data.cell(p, row, column), rows)
        raise ValueError(f"{data.describe_view(p)} {problem}")
    return present


def sample_at(row: int, ids: "pd.Index[Any] | None", first_row: int = 0) -> str:
    """How messages name a sample."""
    return f"row {first_row + row}{'' if ids is None else f' (sample {quoted(ids[row])})'}"


def _bad_values(positions: Array, values: Array, where: str, rows: str) -> str:
    """What is wrong with values at some positions of a view, the first of them, and what to do."""
    if np.isfinite(values[0]):
        return (
            f"has {values[0]:.3g} at {where}, which is too large to be squared: rescale the view."
        )
    is_nan = np.isnan(values)
    kind = "NaN" if is_nan[0] else "infinity"
    alike = positions[is_nan if is_nan[0] else np.isinf(values)]
    n_columns = len(np.unique(alike[:, 1]))
    # scikit-learn's checks look for "Input contains".
    message = (
        f"contains {kind} at {where}. Input contains {kind} in {len(alike)} cell(s) of {n_columns} "
        f"column(s) in {rows}. "
    )
    if kind == "infinity":
        return message + "Replace the values, or drop the rows or columns."
    return message + (
        "Fit DALMC or AutoDALMC with preprocess='impute-mean' to fill such cells, fill "
        "them beforehand, for example by sklearn.impute.SimpleImputer, or drop the rows or "
        "columns. A sample without this view has NaN in the whole row."
    )
