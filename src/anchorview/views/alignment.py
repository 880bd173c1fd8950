"""Alignment of samples by id: the union of the ids of all views, in order of first appearance."""

import unicodedata
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.text import quoted
from anchorview.views.stored_anndata import select_stored
from anchorview.views.stored_view import StoredView

# In quotes: older SciPy's sparse arrays take no type parameters at run time.
DenseOrCsr: TypeAlias = "NDArray[Any] | sparse.csr_array[Any]"


def require_unique_ids(ids: "pd.Index[Any]", view: str) -> None:
    """Raise if a sample id occurs more than once in a view."""
    repeated = ids[ids.duplicated()].tolist()
    if repeated:
        raise ValueError(
            f"{view} has the sample id {repeated[0]!r} more than once in its index. Samples are "
            "aligned by index, so ids must be unique."
        )


def union_of_ids(indices: "Sequence[pd.Index[Any]]") -> "pd.Index[Any]":
    """Ids of all views, in order of first appearance."""
    ids = indices[0]
    for index in indices[1:]:
        if not index.equals(ids):
            ids = ids.append(index[~index.isin(ids)])
    return ids


def nothing_shared_message(view: str, example: Any, other: str, other_example: Any) -> str:
    """Message for a view that shares no sample id with any other view."""
    return (
        f"{view} shares no sample with another view: its ids are like {quoted(example)}, those of "
        f"{other} like {quoted(other_example)}. Samples are aligned by index; use the same ids "
        "in all views."
    )


SPELLINGS: dict[str, Callable[[str], str]] = {
    "their type": str,
    "blanks at the ends": str.strip,
    "case": str.casefold,
    "leading zeros": lambda sample: sample.lstrip("0"),
    "the Unicode form (NFC or NFD)": lambda sample: unicodedata.normalize("NFC", sample),
}
"""Differences between ids of the same samples, and what removes them."""


def warn_if_few_shared(ids: "Sequence[pd.Index[Any]]", descriptions: Sequence[str]) -> None:
    """Warn about a view that shares fewer than half of its ids, or of theirs, with each other."""
    if all(of_view is ids[0] or of_view.equals(ids[0]) for of_view in ids):
        return
    shared = np.array([[int(a.isin(b).sum()) for b in ids] for a in ids])
    if (few := few_shared(shared)) is not None:
        p, q = few
        only_p, only_q = ids[p][~ids[p].isin(ids[q])], ids[q][~ids[q].isin(ids[p])]
        warnings.warn(
            few_shared_message(
                (descriptions[p], descriptions[q]),
                int(shared[p, q]),
                (only_p[0], only_q[0]),
                _spelling_difference(only_p, only_q),
            ),
            UserWarning,
            stacklevel=2,
        )


def few_shared(shared: NDArray[Any]) -> tuple[int, int] | None:
    """View that shares fewer than half of the ids of the smaller view with each other, and one.

    `shared` has the number of ids that two views share; its diagonal is the sizes of the views.
    """
    sizes = shared.diagonal()
    shares = shared / np.maximum(np.minimum.outer(sizes, sizes), 1)
    np.fill_diagonal(shares, -1)
    few = (shares.max(axis=1) < 0.5) & (sizes > 0)
    if len(sizes) < 2 or not few.any():
        return None
    p = int(few.argmax())
    return p, int(shares[p].argmax())


def few_shared_message(
    views: tuple[str, str], n_shared: int, examples: tuple[Any, Any], difference: str = ""
) -> str:
    """Message for a view that shares few ids with another; `difference` says what would match."""
    return (
        f"{views[0]} and {views[1]} share only {n_shared} sample ids: others are like "
        f"{quoted(examples[0])} and {quoted(examples[1])}. {difference}Samples are aligned by id; "
        "if these do lack views, pass join='outer' to fit, or join='inner' to use only those that "
        "have all."
    )


def _spelling_difference(a: "pd.Index[Any]", b: "pd.Index[Any]") -> str:
    """Sentence with the spelling by which most ids would match; empty if none would."""
    best: list[tuple[Any, Any]] = []
    by = ""
    for difference, spelled in SPELLINGS.items():
        known = {spelled(str(sample)): sample for sample in b}
        pairs = [(x, known[key]) for x in a if (key := spelled(str(x))) in known]
        if len(pairs) > len(best):
            best, by = pairs, difference
    if not best:
        return ""
    x, y = map(quoted, best[0])
    return f"{len(best)} ids, such as {x} and {y}, differ only in {by}: write them the same. "


def align_frames(
    views: Sequence[Any], descriptions: Sequence[str]
) -> "tuple[pd.Index[Any] | None, list[Any]]":
    """Bring DataFrames to the union of their samples; a sample a view lacks becomes a NaN row.

    Returns the sample ids (None if no view is a DataFrame) and the views. Views of other types have
    no ids, so they are accepted with DataFrames only if these have the same ids in the same order.
    """
    aligned = list(views)
    frames = [p for p, view in enumerate(views) if isinstance(view, pd.DataFrame)]
    if not frames:
        return None, aligned
    indices = [views[p].index for p in frames]
    for p, index in zip(frames, indices, strict=True):
        require_unique_ids(index, descriptions[p])
    without_ids = any(view is not None and p not in frames for p, view in enumerate(views))
    for p, index in zip(frames, indices, strict=True):
        if without_ids and not index.equals(indices[0]):
            raise ValueError(
                f"{descriptions[p]} and {descriptions[frames[0]]} have different ids in their "
                "index, or in another order, and views without an index cannot be aligned. Reorder "
                "them, or give all views an index."
            )
    for f, (p, index) in enumerate(zip(frames, indices, strict=True)):
        others = indices[:f] + indices[f + 1 :]
        if others and not any(index.isin(other).any() for other in others):
            other = frames[0] if f else frames[1]
            raise ValueError(
                nothing_shared_message(descriptions[p], index[0], descriptions[other], others[0][0])
            )
    ids = union_of_ids(indices)
    for p, index in zip(frames, indices, strict=True):
        if not index.equals(ids):
            require_numeric_columns(views[p], descriptions[p])
            aligned[p] = views[p].reindex(ids)
    return ids, aligned


def require_numeric_columns(frame: pd.DataFrame, view: str) -> None:
    """Raise if a column is neither numeric nor of Python objects, which are converted later."""
    for column, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if not (pd.api.types.is_object_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype)):
            raise ValueError(not_numeric_message(view, column, dtype))


def not_numeric_message(view: str, column: Any, dtype: Any) -> str:
    """Message for a column of text, dates or categories."""
    return (
        f"{view}: column {column!r} is not numeric (dtype {dtype}); encode it as numbers or drop "
        "it."
    )


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
    present = np.flatnonzero(rows >= 0)
    taken = matrix[rows[present]]
    if len(present) == len(rows):
        return taken
    shape = (len(rows), matrix.shape[1])
    if isinstance(taken, np.ndarray):
        filled = np.full(shape, np.nan, np.result_type(matrix, np.float16))
        filled[present] = taken
        return filled
    row_lengths = np.zeros(len(rows) + 1, dtype=taken.indptr.dtype)
    row_lengths[present + 1] = np.diff(taken.indptr)
    return sparse.csr_array((taken.data, taken.indices, np.cumsum(row_lengths)), shape=shape)


def require_known_ids(values: "pd.Index[Any]", ids: "pd.Index[Any]", what: str) -> None:
    """Raise if values by sample id are of none of the samples."""
    if not values.isin(ids).any():
        raise ValueError(
            f"{what} has no value for any of the samples: its index has ids such as "
            f"{quoted(values[0])}, and the samples {quoted(ids[0])}. Index it by sample id, or "
            "pass an array in the order of the samples."
        )


def matched_by_id(a: "pd.Index[Any]", b: "pd.Index[Any]") -> bool:
    """Whether samples with these indices are matched by id, not by position.

    The default index of a Series, 0, 1, 2..., is no id if the ids on the other side are no
    integers.
    """
    counted = isinstance(a, pd.RangeIndex) or isinstance(b, pd.RangeIndex)
    return not counted or all(pd.api.types.is_integer_dtype(index.dtype) for index in (a, b))
