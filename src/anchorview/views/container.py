"""The container of views that all stages work on, and its blocks of rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from anchorview._utils.typing import Array, Matrix
from anchorview.views.input_grammar import (
    describe_view,
    none_if_complete,
    read_input,
    require_a_view,
)
from anchorview.views.view_file import ViewFile

SINGLE_PRECISION = {"float16", "float32", "int8", "uint8", "int16", "uint16", "bool"}
"""Types whose values float32 holds exactly; blocks of them are multiplied in float32."""

CACHED_BLOCK = 4 * 2**20
"""Bytes of a row block that stays in the cache while it is scaled."""

LARGEST_BLOCK = 64 * 2**20
"""Most bytes of a row block, however many features there are."""


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some rows that have the same views available, small enough to be worked on densely."""

    rows: slice | Array
    size: int
    views: tuple[int, ...]
    """Positions of the available views."""
    group: int
    """Position of the availability pattern in :attr:`MultiViewData.groups`."""


@dataclass(frozen=True, eq=False)
class Group:
    """The samples with one pattern of available views."""

    rows: slice | Array
    size: int
    views: tuple[int, ...]


class ViewsSchema(ABC):
    """What is known of the views without looking at a sample: names, widths, number of rows."""

    names: tuple[str, ...]
    named: bool
    """Whether the names were given; otherwise they are ``view_0``, ``view_1``..."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of samples."""

    @property
    @abstractmethod
    def n_features_per_view(self) -> tuple[int, ...]:
        """Number of features of each view."""

    @property
    @abstractmethod
    def dtype(self) -> "np.dtype[Any]":
        """Precision in which row blocks are multiplied: float32 if every view fits in it."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples, and of features over all views."""
        return len(self), sum(self.n_features_per_view)

    @property
    def rows_per_block(self) -> int:
        """Rows that are scaled and multiplied together."""
        return rows_per_block(self.shape[1], self.dtype)

    def describe_view(self, p: int) -> str:
        """Return how messages name a view: by position and name."""
        return describe_view(p, self.names[p])

    def positions_of(self, names: tuple[str, ...], estimator: str) -> list[int | None]:
        """Own positions of the views that a fitted estimator knows; None for one left out.

        They go by name if named, else by position.
        """
        if self.named:
            unknown = [name for name in self.names if name not in names]
            if unknown:
                raise ValueError(
                    f"View {unknown[0]!r} is unknown: {estimator} was fitted on {list(names)}."
                )
            return [self.names.index(name) if name in self.names else None for name in names]
        if len(self.names) != len(names):
            raise ValueError(
                f"Got {len(self.names)} view(s), but {estimator} is expecting {len(names)} views "
                f"{list(names)}. Pass None for a view that no sample has, or a dict of the others."
            )
        return list(range(len(names)))


def require_width(p: int, names: tuple[str, ...], width: int, expected: int, by: str) -> None:
    """Raise if a view does not have as many features as the estimator `by` was fitted on."""
    if width != expected:
        # With one view the message is scikit-learn's own.
        subject = describe_view(p, names[p]) if len(names) > 1 else "X"
        raise ValueError(
            f"{subject} has {width} features, but {by} is expecting {expected} features as input."
        )


def rows_per_block(width: int, dtype: "np.dtype[Any]") -> int:
    """Rows of so many features that are scaled and multiplied together.

    In single precision their number changes the last digits: parts that begin at multiples of it
    give what the whole gives.
    """
    row_bytes = width * dtype.itemsize
    # Twice as many rows as features make adding up a Gram block cheap beside making it.
    wanted = max(CACHED_BLOCK // row_bytes, 2 * width)
    return int(max(1, min(wanted, LARGEST_BLOCK // row_bytes)))


def working_precision(dtypes: Iterable["np.dtype[Any]"]) -> "np.dtype[Any]":
    """Precision in which row blocks of views of these types are multiplied."""
    single = all(dtype.name in SINGLE_PRECISION for dtype in dtypes)
    return np.dtype(np.float32 if single else np.float64)


class MultiViewData(ViewsSchema):
    """The same samples in several views: validated, aligned, with names.

    Views are kept as they come (integers, half precision, sparse, memory maps); only row blocks of
    them are converted. The container has ``len``, ``shape`` and ``[rows]``, so that scikit-learn's
    ``train_test_split``, ``cross_val_score`` and ``GridSearchCV`` can split it, which a bare list
    of views (to them, a list of samples) cannot be.

    A sample may lack some views (but not all): its row in such a view is all NaN, or a DataFrame
    does not have its label, or `available` says so.

    Parameters
    ----------
    X : list, tuple or dict of views, a single view, a MuData object, ViewFile or MultiViewData
        A view is a 2-D array, DataFrame or scipy.sparse matrix with one row a sample. Keys of a
        dict are the names of the views. DataFrames are aligned by their index, and the union of
        their samples is taken. None stands for a view that no sample has.
    available : array (n, n_views) of bool, optional
        Which views each sample has, on top of what `X` itself says; what `X` holds elsewhere is
        not looked at.

    Attributes
    ----------
    views : tuple of (n, d_p) arrays or CSR matrices
    names : tuple of str
    named : bool
        Whether the names were given; otherwise they are ``view_0``, ``view_1``...
    available : array (n, n_views) of bool, or None if every sample has every view
    sample_ids : pandas.Index or None
        Labels of the samples, if there are any.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview import MultiViewData
    >>> data = MultiViewData({"text": np.eye(4, 3), "image": np.arange(8.0).reshape(4, 2)})
    >>> data
    MultiViewData(4 samples, text: 3 features, image: 2 features)
    >>> data[[0, 2]].shape
    (2, 5)
    >>> image = np.array([[1.0, 2.0], [np.nan, np.nan], [3.0, 5.0], [4.0, 4.0]])
    >>> MultiViewData({"text": np.eye(4, 3), "image": image})
    MultiViewData(4 samples, text: 3 features, image: 2 features of 3 samples)
    """

    def __init__(self, X: Any, *, available: Any = None) -> None:
        if isinstance(X, ViewFile) and available is None:
            views, names, named, has, ids = read_input(X.views, X.available)
            self._set(views, names, named, has, X.sample_ids if ids is None else ids)
        elif not isinstance(X, MultiViewData):
            self._set(*read_input(X, available))
        elif available is None:
            self._set(X.views, X.names, X.named, X.available, X.sample_ids)
        else:
            raise ValueError("MultiViewData says itself what is available; give it the views.")

    def _set(
        self,
        views: tuple[Matrix, ...],
        names: tuple[str, ...],
        named: bool,
        available: Array | None,
        sample_ids: "pd.Index[Any] | None",
    ) -> "MultiViewData":
        self.views = views
        self.names = names
        self.named = named
        self.available = available
        self.sample_ids = sample_ids
        return self

    def __len__(self) -> int:
        return int(self.views[0].shape[0])

    def __repr__(self) -> str:
        parts = []
        for p, (name, width) in enumerate(zip(self.names, self.n_features_per_view, strict=True)):
            observed = len(self) if self.available is None else int(self.available[:, p].sum())
            some = "" if observed == len(self) else f" of {observed} samples"
            parts.append(f"{name}: {width} features{some}")
        return f"MultiViewData({len(self)} samples, {', '.join(parts)})"

    def __getitem__(self, rows: Any) -> "MultiViewData":
        """Return the same views of some samples; ``data[rows, ...]`` is allowed, as for arrays."""
        if isinstance(rows, tuple):
            rows, *rest = rows
            if any(axis is not Ellipsis and axis != slice(None) for axis in rest):
                raise IndexError("MultiViewData can be indexed by samples only: data[rows].")
        if not isinstance(rows, slice):
            rows = np.atleast_1d(rows)
            rows = rows.astype(int) if rows.size == 0 else rows
        return _new(
            tuple(view[rows] for view in self.views),
            self.names,
            self.named,
            None if self.available is None else none_if_complete(self.available[rows]),
            None if self.sample_ids is None else self.sample_ids[rows],
        )

    @property
    def n_features_per_view(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return tuple(int(view.shape[1]) for view in self.views)

    @property
    def dtype(self) -> "np.dtype[Any]":
        """Precision in which row blocks are multiplied: float32 if every view fits in it."""
        return working_precision(view.dtype for view in self.views)

    @cached_property
    def groups(self) -> list[Group]:
        """Samples by the pattern of views that they have, largest group first."""
        if self.available is None:
            return [Group(slice(0, len(self)), len(self), tuple(range(len(self.views))))]
        patterns, member = np.unique(self.available, axis=0, return_inverse=True)
        order = np.argsort(member.ravel(), kind="stable")
        sizes = np.bincount(member.ravel(), minlength=len(patterns))
        rows = np.split(order, np.cumsum(sizes)[:-1])
        groups = [
            Group(part, len(part), tuple(int(p) for p in np.flatnonzero(pattern)))
            for part, pattern in zip(rows, patterns, strict=True)
        ]
        return sorted(groups, key=lambda group: -group.size)

    def blocks(self, block_rows: int | None = None) -> Iterator[RowBlock]:
        """Blocks of rows, each of one group, that cover all samples."""
        if block_rows is None:
            block_rows = self.rows_per_block
        for position, group in enumerate(self.groups):
            for start in range(0, group.size, block_rows):
                stop = min(start + block_rows, group.size)
                part = slice(start, stop)
                rows = part if isinstance(group.rows, slice) else group.rows[part]
                yield RowBlock(rows, stop - start, group.views, position)

    def matched_to(
        self, names: tuple[str, ...], widths: tuple[int, ...], estimator: str
    ) -> "MultiViewData":
        """Views in the order that a fitted estimator knows: by name if named, else by position.

        A named view may be left out, and is then a view that no sample has.
        """
        n = len(self)
        views: list[Matrix] = []
        columns: list[Array] = []
        for p, own in enumerate(self.positions_of(names, estimator)):
            expected = widths[p]
            has = np.zeros(n, bool) if own is None else self._has(own)
            if own is not None and has.any():
                require_width(p, names, self.views[own].shape[1], expected, estimator)
            absent = sparse.csr_array((n, expected), dtype=np.float32)
            views.append(self.views[own] if own is not None and has.any() else absent)
            columns.append(has)
        available = np.column_stack(columns)
        require_a_view(available, self.sample_ids)
        return _new(tuple(views), names, self.named, none_if_complete(available), self.sample_ids)

    def _has(self, p: int) -> Array:
        return np.ones(len(self), bool) if self.available is None else self.available[:, p]

    def is_informative(self, p: int) -> bool:
        """Whether some samples have a view and do not all look the same in it."""
        has = self._has(p)
        rows = slice(0, len(self)) if has.all() else np.flatnonzero(has)
        return bool(has.any()) and not _is_constant(self.views[p], rows)

    def require_fittable(self) -> None:
        """Raise if no sample has some view, or all samples look the same in it."""
        for p in range(len(self.views)):
            if not self._has(p).any():
                raise ValueError(missing_message(self, p))
            if not self.is_informative(p):
                raise ValueError(constant_message(self, p))


def missing_message(data: ViewsSchema, p: int) -> str:
    """Tell that no sample has a view."""
    return f"{data.describe_view(p)} is missing for all samples. Leave it out."


def constant_message(data: ViewsSchema, p: int) -> str:
    """Tell that all samples look the same in a view."""
    return f"{data.describe_view(p)} is constant: every sample has the same values. Leave this view out."


def _new(*parts: Any) -> MultiViewData:
    """Container of parts that are known to be valid."""
    data: MultiViewData = object.__new__(MultiViewData)
    return data._set(*parts)


def container_of_rows(
    views: Mapping[str, Any], named: bool, available: Array | None, first_row: int
) -> MultiViewData:
    """Container of some consecutive samples; messages count rows from the first one's."""
    matrices, names, _, has, ids = read_input(views, available, first_row)
    return _new(matrices, names, named, has, ids)


def container_of_checked_rows(views: Mapping[str, Array], named: bool) -> MultiViewData:
    """Container of some samples that are known to have finite values in every view."""
    return _new(tuple(views.values()), tuple(views), named, None, None)


def concatenate_samples(first: MultiViewData, second: MultiViewData) -> MultiViewData:
    """Samples of two containers with the same views, one after the other."""
    views = tuple(
        sparse.vstack([a, b], format="csr")
        if sparse.issparse(a) or sparse.issparse(b)
        else np.vstack([a, b])
        for a, b in zip(first.views, second.views, strict=True)
    )
    has = [
        np.ones((len(d), len(d.views)), bool) if d.available is None else d.available
        for d in (first, second)
    ]
    return _new(views, first.names, first.named, none_if_complete(np.vstack(has)), None)


def dense_rows(view: Matrix, rows: slice | Array) -> Array:
    """Rows of a view as a dense array of the view's own type."""
    block = view[rows]
    return block.toarray() if sparse.issparse(block) else block


def _is_constant(view: Matrix, rows: slice | Array) -> bool:
    indices = np.arange(view.shape[0])[rows]
    first = dense_rows(view, indices[:1])
    # Doubling steps end at once on ordinary data and never densify a sparse view as a whole.
    start, stop = 0, 64
    while start < len(indices):
        stop = min(stop, start + max(1, LARGEST_BLOCK // (8 * view.shape[1])))
        if (dense_rows(view, indices[start:stop]) != first).any():
            return False
        start, stop = stop, 2 * stop
    return True
