"""Alignment of samples by id: the union of the ids of all views, in order of first appearance."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.text import capitalized, listed, quoted
from anchorview.views.stored_anndata import rows_or_zeros, select_stored
from anchorview.views.stored_view import StoredView

NOTHING, FEW = np.finfo(float).tiny, 0.5
"""Shares of the ids of the smaller of two views below which they share nothing, or few."""


def require_unique_ids(ids: "pd.Index[Any]", view: str) -> None:
    """Raise if a sample id occurs more than once in a view."""
    repeated = ids[ids.duplicated()].tolist()
    if repeated:
        raise ValueError(
            f"{view} has the sample id {repeated[0]!r} more than once in its index. Samples are "
            "aligned by index, so ids must be unique (of AnnData, call obs_names_make_unique())."
        )


def different_ids(views: "Sequence[tuple[str, pd.Index[Any]]]", first_row: int) -> str:
    """First row in which named views have different ids; empty if there is none."""
    for name, ids in views[1:]:
        first, expected = views[0]
        for i in np.flatnonzero(np.asarray(ids != expected))[:1]:
            row = f"row {first_row + i} is the sample"
            return f"{row} {quoted(ids[i])} in {name} but {quoted(expected[i])} in {first}"
    return ""


def union_of_ids(indices: "Sequence[pd.Index[Any]]") -> "pd.Index[Any]":
    """Ids of all views, in order of first appearance."""
    ids = indices[0]
    for index in indices[1:]:
        if not index.equals(ids):
            ids = ids.append(index[~index.isin(ids)])
    return ids


def least_shared(shared: NDArray[Any], share: float) -> tuple[int, int] | None:
    """View that shares less than a share of ids with all others, and the most similar of these.

    `shared` has the number of ids that two views share; its diagonal is the sizes of the views.
    """
    sizes = shared.diagonal()
    shares = shared / np.maximum(np.minimum.outer(sizes, sizes), 1)
    np.fill_diagonal(shares, -1)
    few = (shares.max(axis=1) < share) & (sizes > 0)
    if len(sizes) < 2 or not few.any():
        return None
    p = int(few.argmax())
    return p, int(shares[p].argmax())


def require_shared_ids(
    shared: NDArray[Any], descriptions: Sequence[str], examples: Sequence[Any]
) -> None:
    """Raise if a view shares no id with another view; `examples` has an id of each view."""
    if (pair := least_shared(shared, NOTHING)) is not None:
        p, q = pair
        raise ValueError(
            f"{descriptions[p]} shares no sample with another view: its ids are like "
            f"{quoted(examples[p])}, those of {descriptions[q]} like {quoted(examples[q])}. "
            "Samples are aligned by index; use the same ids in all views."
        )


def warn_if_few_shared(
    shared: NDArray[Any],
    descriptions: Sequence[str],
    examples: Callable[[int, int], tuple[Any, Any]],
) -> None:
    """Warn about a view that shares few ids with all other views, by the smaller of two views.

    `examples` is as `unshared_ids`, for two positions.
    """
    if (pair := least_shared(shared, FEW)) is not None:
        p, q = pair
        a, b = examples(p, q)
        warnings.warn(
            f"{descriptions[p]} and {descriptions[q]} share only {shared[p, q]} sample ids: the "
            f"rest are like {quoted(a)} and {quoted(b)}. Samples are aligned by id: write ids of a "
            "sample alike, in type, case, blanks and leading zeros. If samples do lack views, pass "
            "join='outer' to fit, or join='inner' to use only those that have all.",
            stacklevel=2,
        )


def unshared_ids(a: "pd.Index[Any]", b: "pd.Index[Any]") -> tuple[Any, Any]:
    """First ids that only one of two views has."""
    return a[~a.isin(b)][0], b[~b.isin(a)][0]


def align_frames(
    views: Sequence[Any], descriptions: Sequence[str], expects_shared_ids: bool = False
) -> "tuple[pd.Index[Any] | None, list[Any]]":
    """Bring DataFrames to the union of their samples; a sample a view lacks becomes a NaN row.

    Returns the sample ids (None if no view is a DataFrame) and the views. Views of other types have
    no ids, so they are accepted with DataFrames only if these have the same ids in the same order.
    With `expects_shared_ids`, a warning names frames that share few ids.
    """
    aligned = list(views)
    frames = [p for p, view in enumerate(views) if isinstance(view, pd.DataFrame)]
    if not frames:
        return None, aligned
    indices, names = [views[p].index for p in frames], [descriptions[p] for p in frames]
    for index, name in zip(indices, names, strict=True):
        require_unique_ids(index, name)
    other = [
        name for index, name in zip(indices, names, strict=True) if not index.equals(indices[0])
    ]
    if not other:
        return indices[0], aligned
    if any(view is not None and p not in frames for p, view in enumerate(views)):
        raise ValueError(
            f"{other[0]} and {names[0]} have different ids in their index, or in another order, "
            "and views without an index cannot be aligned. Reorder them, or give all views an "
            "index."
        )
    shared = np.array([[int(a.isin(b).sum()) for b in indices] for a in indices])
    require_shared_ids(shared, names, [next(iter(index), None) for index in indices])
    if expects_shared_ids:
        warn_if_few_shared(shared, names, lambda p, q: unshared_ids(indices[p], indices[q]))
    ids = union_of_ids(indices)
    for p, index in zip(frames, indices, strict=True):
        if not index.equals(ids):
            aligned[p] = views[p].reindex(ids)
    return ids, aligned


def reindex_rows(matrix: Any, rows: NDArray[np.intp]) -> Any:
    """Take rows of a matrix in memory or on disk; -1 marks a sample that the matrix lacks.

    Such a row is NaN in an array, which becomes the smallest float type that holds its values,
    empty in a CSR matrix, and zero in a view that stays on disk. A matrix that has all rows in
    order is returned as it is.
    """
    if np.array_equal(rows, np.arange(matrix.shape[0])):
        return matrix
    if isinstance(matrix, StoredView):
        return select_stored(matrix, rows)
    present = rows >= 0
    if present.all():
        return matrix[rows]
    if isinstance(matrix, np.ndarray):
        filled = np.full((len(rows), matrix.shape[1]), np.nan, np.result_type(matrix, np.float16))
        filled[present] = matrix[rows[present]]
        return filled
    return rows_or_zeros(matrix, rows)


NamedSamples = tuple["pd.Index[Any] | None", int, str]
"""Ids of samples, their number, and what to call them in messages."""


def matched_rows(
    samples: NamedSamples, others: NamedSamples, *, partial: bool = False
) -> NDArray[np.intp]:
    """Row of each sample among others: by id if both have ids, else by position.

    With `partial`, some samples may lack a row, which is then -1. The default index of a Series,
    0, 1, 2..., is no id if the ids on the other side are no integers.
    """
    (ids, count, name), (other_ids, other_count, other_name) = samples, others
    if ids is None or other_ids is None or not _are_comparable(ids, other_ids):
        if count != other_count:
            raise ValueError(
                f"There are {count} samples in {name}, but {other_count} in {other_name}. Without "
                "sample ids in both, they are matched by position: give the same samples in both."
            )
        return np.arange(count)
    if ids.equals(other_ids):
        return np.arange(count)
    require_unique_ids(ids, capitalized(name))
    require_unique_ids(other_ids, capitalized(other_name))
    rows = other_ids.get_indexer(ids)
    unknown = ids[rows < 0].tolist()
    if unknown and (not partial or len(unknown) == count):
        raise ValueError(
            f"{len(unknown)} of {count} samples in {name} are not in {other_name}: "
            f"{listed(unknown)}. It has ids such as {quoted(next(iter(other_ids), None))}. Leave "
            f"these samples out of {name}, or add them to {other_name}."
        )
    return rows


def _are_comparable(a: "pd.Index[Any]", b: "pd.Index[Any]") -> bool:
    integers = all(pd.api.types.is_integer_dtype(index.dtype) for index in (a, b))
    return integers or not any(
        isinstance(index, pd.RangeIndex) and index.equals(pd.RangeIndex(len(index)))
        for index in (a, b)
    )
