"""The container of views in memory that all stages process, and its blocks of rows."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from anchorview._utils.text import capitalized
from anchorview._utils.typing import Array, FeatureNames, Matrix
from anchorview.views.anndata_matrices import AnnotatedData, ViewSelection
from anchorview.views.input_grammar import NamedViews, ViewLike, parse
from anchorview.views.matrix_checks import finite_rows, read_whole, sample_at
from anchorview.views.row_source import LARGEST_BLOCK, PartFunction, Result, RowSource
from anchorview.views.sample_design import set_design, set_weights, stacked_design
from anchorview.views.stored_view import StoredView, ViewFile
from anchorview.views.table_columns import TableView, describe_kinds, stacked

COUNTED_ROWS, MIN_COUNTED, MIN_ZEROS, LARGE_COUNT = 500, 50, 0.05, 50
"""Rows that are looked at for counts; the features that these have at least, zeros per positive
count, and the largest count over the median one. Simulated cells have at least 0.15 zeros and a
ratio of 240; of 74 views of images, texts, omics and tables none has all of this."""


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Samples with the same available views: a group of all, or few enough to become dense."""

    rows: slice | Array
    size: int
    views: tuple[int, ...]
    """Positions of the available views."""
    group: int
    """Position of the group in :attr:`MultiViewData.groups`."""
    weights: Array | None = None
    """Weights of the samples of a block, if they have any."""


class MultiViewData(RowSource):
    """The same samples in several views: validated, aligned and named.

    Views keep their type (integers, half precision, sparse, memory maps); only row blocks of them
    are converted. The container has ``len``, ``shape`` and ``[rows]``, so scikit-learn's
    ``train_test_split``, ``cross_val_score`` and ``GridSearchCV`` can split it. They cannot split a
    list of views, which they take for a list of samples. Square views of
    :class:`~anchorview.preprocessing.Similarity` are split by rows and columns: ``data[rows]`` has
    all columns, of which a fit uses those of its samples, so that `predict` takes all other rows.

    A sample may lack views: its row in such a view is all NaN, its id is missing
    in a DataFrame, or `available` says so. Single values may be NaN if an estimator imputes them.

    Parameters
    ----------
    X : list, tuple or dict of views, a single view, a MuData object, ViewFile or MultiViewData
        A view is a 2-D array, DataFrame, scipy.sparse matrix or AnnData object with one row per
        sample. Keys of a dict are the names of the views. pandas DataFrames are aligned by index
        and AnnData objects by ``obs_names``, and the union of their samples is taken. Tables of
        polars and pyarrow have named columns, but are matched by position. None is a view that no
        sample has.
    available : array (n, n_views) of bool, optional
        Which views each sample has, in addition to what `X` itself says. Values of `X` for a view
        that the sample does not have are ignored.
    views : dict, optional
        As for :meth:`anchorview.DALMC.fit`: matrices of AnnData objects, or columns of one table.
    batch, covariates, sample_weight : optional
        Batch, covariates and weight of each sample, as for :meth:`anchorview.DALMC.fit`. They stay
        with the samples, so that functions that take views only, such as those of
        :mod:`anchorview.inspection`, know them.

    Attributes
    ----------
    views : tuple of (n, d_p) arrays or CSR matrices
    names : tuple of str
    named : bool
        Whether the names were given; otherwise they are ``view_0``, ``view_1``...
    available : array (n, n_views) of bool, or None if every sample has every view
    sample_ids : pandas.Index or None
        Ids of the samples, if they have any.
    feature_names : tuple of arrays of str or None
        Names of the features of each view, if it has any.
    design : SampleDesign or None
        Batch and covariates of each sample, if they are known.
    sample_weight : array (n,) or None
        Weight of each sample, if they have any.

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

    views: tuple[Matrix, ...]
    available: Array | None
    sample_ids: "pd.Index[Any] | None"
    feature_names: tuple[FeatureNames | None, ...]
    first_row: int = 0
    """Position of the first sample in the source that this is a part of."""
    whole: tuple[Array, int] | None = None
    """Positions of the samples among those that ``[rows]`` selected them from, and the number of
    these, which are the columns of a square view."""
    finite: bool = False
    """Whether the views were just found to have finite values only."""

    def __init__(
        self,
        X: "ViewsLike",
        *,
        available: ArrayLike | None = None,
        views: ViewSelection | None = None,
        batch: Any = None,
        covariates: Any = None,
        sample_weight: Any = None,
    ) -> None:
        if isinstance(X, MultiViewData):
            if available is not None or views is not None:
                raise ValueError(
                    "available= and views= cannot be given with MultiViewData, which knows them."
                )
            data = X._replaced(first_row=0)
        else:
            data = container_of_views(parse(X, views, join=None), available)
            # The values may be changed before they are processed.
            data.finite = False
        vars(self).update(vars(data))
        if batch is not None or covariates is not None:
            set_design(self, X, batch, covariates)
        if sample_weight is not None:
            set_weights(self, X, sample_weight)

    @property
    def contents(self) -> NamedViews:
        """The views and what is known about them, as the input grammar gives them."""
        has, ids = self.available, self.sample_ids
        return NamedViews(self.names, self.named, list(self.views), has, ids, self.feature_names)

    @property
    def _observed(self) -> list[int]:
        """Number of samples that have each view."""
        return [int(self.has_view(p).sum()) for p in range(len(self.views))]

    def _repr_html_(self) -> str:
        kinds = [f"{v.dtype}{' sparse' * sparse.issparse(v)}" for v in self.views]
        about = {"view": self.names, "features": self.n_features_per_view, "type": kinds}
        table = pd.DataFrame({**about, "samples": self._observed})
        rows = table.to_html(index=False, border=0, escape=True)
        return f"<p>MultiViewData: {len(self)} samples in {len(self.views)} views</p>{rows}"

    def __repr__(self) -> str:
        parts = []
        for name, view, observed in zip(self.names, self.views, self._observed, strict=True):
            is_table = isinstance(view, TableView)
            features = describe_kinds(view.kinds) if is_table else f"{view.shape[1]} features"
            some = "" if observed == len(self) else f" of {observed} samples"
            parts.append(f"{name}: {features}{some}")
        return f"MultiViewData({len(self)} samples, {', '.join(parts)})"

    def __getitem__(self, rows: Any) -> "MultiViewData":
        """Return the same views for some samples; ``data[rows, ...]`` works as for arrays."""
        if isinstance(rows, tuple):
            rows, *rest = rows
            if any(axis is not Ellipsis and axis != slice(None) for axis in rest):
                raise IndexError("MultiViewData can be indexed by samples only: data[rows].")
        if not isinstance(rows, slice):
            rows = np.atleast_1d(rows)
            rows = rows.astype(int) if rows.size == 0 else rows
        n = len(self)
        if isinstance(rows, slice):
            positions = np.arange(*rows.indices(n))
        else:
            positions = np.flatnonzero(rows) if rows.dtype == bool else rows % max(n, 1)
        whole = (positions, n) if self.whole is None else (self.whole[0][positions], self.whole[1])
        per_sample = {
            name: None if (values := getattr(self, name)) is None else values[rows]
            for name in ("available", "sample_ids", "design", "sample_weight")
        }
        views = [view[rows] for view in self.views]
        return self._replaced(views=views, first_row=0, whole=whole, **per_sample)

    def weights(self, rows: Any) -> Array | None:
        """Weights of some samples; None if they have none."""
        return None if self.sample_weight is None else self.sample_weight[rows]

    def _replaced(self, **changes: Any) -> "MultiViewData":
        """Return a container with other contents, design or first row, known to be valid."""
        own = ("design", "sample_weight", "first_row", "whole")
        known = {name: changes.pop(name, getattr(self, name)) for name in own}
        data = container_of_checked(replace(self.contents, **changes))
        vars(data).update(known)
        return data

    @cached_property
    def groups(self) -> list[RowBlock]:
        """Samples grouped by the views that they have, largest group first."""
        n, n_views = self.shape[0], len(self.views)
        if not n:
            return []
        if self.available is None:
            return [RowBlock(slice(0, n), n, tuple(range(n_views)), 0)]
        patterns, member = np.unique(self.available, axis=0, return_inverse=True)
        order = np.argsort(member.ravel(), kind="stable")
        sizes = np.bincount(member.ravel(), minlength=len(patterns))
        rows = np.split(order, np.cumsum(sizes)[:-1])
        return [
            RowBlock(rows[i], len(rows[i]), tuple(np.flatnonzero(patterns[i]).tolist()), group)
            for group, i in enumerate(np.argsort(-sizes, kind="stable"))
        ]

    def blocks(self, block_rows: int | None = None) -> Iterator[RowBlock]:
        """Blocks of rows that cover all samples; a block is part of one group."""
        step = self.rows_per_block if block_rows is None else block_rows
        for group in self.groups:
            for start in range(0, group.size, step):
                part = slice(start, min(start + step, group.size))
                rows = part if isinstance(group.rows, slice) else group.rows[part]
                size, weights = part.stop - start, self.weights(rows)
                yield RowBlock(rows, size, group.views, group.group, weights)

    def stored_blocks(self) -> Iterator[RowBlock]:
        """Blocks for work that keeps sparse rows sparse: they may have more rows."""
        if not any(map(sparse.issparse, self.views)):
            return self.blocks()
        row_bytes = self.dtype.itemsize * sum(
            v.nnz / max(1, len(self)) * 4 if sparse.issparse(v) else v.shape[1] for v in self.views
        )
        return self.blocks(max(self.rows_per_block, int(LARGEST_BLOCK // max(1, row_bytes))))

    def with_views(self, positions: Sequence[int]) -> "MultiViewData":
        """Return the same samples with some of the views; a sample may lack all of them."""
        available = None if self.available is None else self.available[:, list(positions)]
        return self._replaced(
            views=[self.views[p] for p in positions],
            available=available,
            names=tuple(self.names[p] for p in positions),
            feature_names=tuple(self.feature_names[p] for p in positions),
        )

    def _set_available(self, has: Array | None) -> None:
        self.available = None if has is None or has.all() else has
        known = None if self.available is None else np.asarray(self.available.any(axis=1))
        self.known_samples = None if known is None or known.all() else known

    def has_view(self, p: int) -> Array:
        """Which samples have the view at a position."""
        return np.ones(len(self), bool) if self.available is None else self.available[:, p]

    def rows_with(self, p: int) -> Array:
        """Positions of the samples that have a view."""
        return np.flatnonzero(self.has_view(p))

    def sample_at(self, row: int) -> str:
        """How messages name a sample."""
        return sample_at(row, self.sample_ids, self.first_row)

    def cell(self, p: int, row: int, column: int) -> str:
        """How messages name a cell: by position and, if they are known, sample id and feature."""
        features = self.feature_names[p]
        feature = f"{column}" if features is None else f"{column} ({features[column]!r})"
        return f"{self.sample_at(row)}, column {feature}"

    def with_known_samples(self) -> "MultiViewData":
        """The samples that have a view, identified by their positions if they have no ids."""
        return self if self.known_samples is None else self.selected(self.known_samples)

    def selected(self, chosen: Array) -> "MultiViewData":
        """The samples where `chosen` is True, identified by their positions without ids."""
        data = self[chosen]
        if data.sample_ids is None:
            data.sample_ids = pd.Index(self.first_row + np.flatnonzero(chosen))
        return data

    def require_fittable(self) -> None:
        """Raise if no sample has a view, or all samples are equal in it."""
        ViewScan.of(self).require_fittable(self)

    def require_a_view(self) -> None:
        """Raise if a sample has no view."""
        if self.known_samples is None:
            return
        rows = np.flatnonzero(~self.known_samples)
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        raise ValueError(
            f"{capitalized(self.sample_at(int(rows[0])))}{more} has no view at all: "
            "every row is missing (NaN). Drop it, or read the views into memory to fit DALMC or "
            "AutoDALMC, which give such samples the label -1."
        )

    def _shared_row(self, p: int) -> Array | None:
        """Row that all samples with a view share; None if they differ."""
        view, rows = self.views[p], self.rows_with(p)
        first = dense_rows(view, rows[:1])
        # Doubling steps end at once on ordinary data, and no sparse view becomes dense as a whole.
        start, step, largest = 0, 64, max(1, LARGEST_BLOCK // (8 * view.shape[1]))
        while start < len(rows):
            step = min(step, largest)
            if (dense_rows(view, rows[start : start + step]) != first).any():
                return None
            start, step = start + step, 2 * step
        return first[0].copy()

    def _holds_raw_counts(self, p: int) -> bool:
        """Whether a view looks like counts of reads or molecules, by at most `COUNTED_ROWS` rows.

        These are many features, nearly all of them small and some zero, and a few very large.
        """
        if self.n_features_per_view[p] < MIN_COUNTED or self.views[p].dtype.kind not in "uif":
            return False
        rows = self.rows_with(p)
        values = self.views[p][rows[:: max(1, len(rows) // COUNTED_ROWS)]]
        entries = values.data if sparse.issparse(values) else np.asarray(values).ravel()
        # Found at once in most views, unlike the median.
        if not entries.size or entries.min() < 0 or (entries != np.rint(entries)).any():
            return False
        positive = entries[entries > 0]
        n_zeros = values.shape[0] * values.shape[1] - len(positive)
        return bool(
            len(positive)
            and n_zeros >= MIN_ZEROS * len(positive)
            and positive.max() > max(255, LARGE_COUNT * np.median(positive))
        )


class ViewScan(NamedTuple):
    """Patterns of available views, and the row that all samples of a constant view share."""

    patterns: frozenset[tuple[int, ...]]
    constant_rows: dict[int, Array | None]
    """By position of the view; None if the view is not constant."""
    counts: frozenset[int]
    """Positions of views that look like raw counts in the first part."""

    @classmethod
    def of(cls, part: MultiViewData) -> "ViewScan":
        """Scan a part; raises if a value is NaN."""
        without_nan(part)
        part.require_a_view()
        patterns = frozenset(group.views for group in part.groups)
        present = sorted(frozenset().union(*patterns))
        return cls(
            patterns,
            {p: part._shared_row(p) for p in present},
            frozenset(p for p in present if part._holds_raw_counts(p)),
        )

    @classmethod
    def beside(
        cls, function: PartFunction[Result], part: MultiViewData
    ) -> tuple["ViewScan", Result]:
        """Scan a part, and what a function finds in it."""
        return cls.of(part), function(part)

    def merged(self, other: "ViewScan") -> "ViewScan":
        """Scan of both parts."""
        constant_rows = self.constant_rows | other.constant_rows
        for p in self.constant_rows.keys() & other.constant_rows.keys():
            row, other_row = self.constant_rows[p], other.constant_rows[p]
            if row is None or other_row is None or (row != other_row).any():
                constant_rows[p] = None
        return ViewScan(self.patterns | other.patterns, constant_rows, self.counts)

    def require_fittable(self, source: RowSource) -> None:
        """Raise if a view is missing or constant; warn if views hold raw counts."""
        for p in range(len(source.names)):
            if p not in self.constant_rows:
                raise ValueError(source.problem("missing", p))
            if self.constant_rows[p] is not None:
                raise ValueError(source.problem("constant", p))
        if source.hints_at_counts and self.counts:
            names = ", ".join(map(source.describe_view, sorted(self.counts)))
            warnings.warn(
                f"{names}: the values look like raw counts. These are usually normalized: pass "
                "preprocess='lognorm' (RNA), 'clr' (proteins) or 'tfidf' (peaks), by view in a "
                "dict, or preprocess={} to use them as they are.",
                stacklevel=2,
            )


Views: TypeAlias = "Sequence[ViewLike] | Mapping[str, ViewLike]"
ViewsLike: TypeAlias = "ViewLike | Views | ViewFile | AnnotatedData | MultiViewData"
"""What ``fit`` takes: a view, a list or dict of views, a file of views, MuData, or a container."""


def container_of_checked(contents: NamedViews) -> MultiViewData:
    """Container of matrices that are known to be valid, without checking them again."""
    data: MultiViewData = object.__new__(MultiViewData)
    data.views, data.sample_ids = tuple(contents.views), contents.sample_ids
    data._set_available(contents.available)
    data.set_schema(contents, contents.views)
    return data


def container_of_views(
    views: NamedViews, given: ArrayLike | None = None, *, first_row: int = 0
) -> MultiViewData:
    """Container of views that were parsed; single values may be NaN.

    `given` is the argument `available`. Messages count rows from `first_row`.
    """
    views = views.aligned() if views.in_dask else views
    n = next(int(view.shape[0]) for view in views.views if view is not None)
    has = availability(given, n, views.names) & availability(views.available, n, views.names)
    has &= [view is not None for view in views.views]
    data = container_of_checked(replace(views, views=[_in_memory(v, n) for v in views.views]))
    data.available, data.first_row, data.finite = has, first_row, True
    for p in range(len(data.views)):
        present = finite_rows(data, p, nan_cells=True)
        if present is not None:
            has[:, p] &= present
            data.finite = False
    data._set_available(has)
    return data


def availability(given: Any, n: int, names: Sequence[str]) -> Array:
    """Which views each sample has, (n, n_views); all of them if nothing is given."""
    available = np.ones((n, len(names)), bool) if given is None else np.array(given, dtype=bool)
    if available.shape != (n, len(names)):
        raise ValueError(
            f"available has shape {available.shape}, but there are {n} samples in {len(names)} "
            "views: it needs one row per sample and one column per view."
        )
    return available


def _in_memory(view: Any, n: int) -> Matrix:
    """View of `n` samples as it is processed; a view that no sample has is empty."""
    if view is None:
        return sparse.csr_array((n, 1), dtype=np.float32)
    if isinstance(view, StoredView):
        return read_whole(view)
    # A memory map is processed as a plain array: its slices are cheaper.
    return np.asarray(view) if isinstance(view, np.memmap) else view


def container_with_views(
    data: MultiViewData,
    views: tuple[Matrix, ...],
    feature_names: tuple[FeatureNames | None, ...] | None = None,
    nan_cells: bool = False,
) -> MultiViewData:
    """Return the same samples with other values, without NaN unless `nan_cells`."""
    names = data.feature_names if feature_names is None else feature_names
    data = data._replaced(views=list(views), feature_names=names)
    return data if nan_cells else without_nan(data)


def without_nan(data: MultiViewData) -> MultiViewData:
    """Return the samples; raises if a value is NaN, which no step has imputed."""
    for p in () if data.finite else range(len(data.views)):
        has, present = data.has_view(p), finite_rows(data, p)
        if present is not None and not present[has].all():
            row = data.first_row + int(np.flatnonzero(has & ~present)[0])
            raise ValueError(f"{data.describe_view(p)} is NaN in all features at row {row}.")
    return data


def concatenate_samples(*parts: MultiViewData) -> MultiViewData:
    """Samples of containers with the same views, in this order."""
    first = parts[0]
    weights = [part.sample_weight for part in parts if part.sample_weight is not None]
    views = list(map(stacked, zip(*(part.views for part in parts), strict=True)))
    has = [availability(data.available, len(data), data.names) for data in parts]
    return first._replaced(
        views=views,
        available=np.vstack(has),
        sample_ids=None,
        design=stacked_design([part.design for part in parts]),
        sample_weight=np.concatenate(weights) if weights else None,
        first_row=0,
        whole=None,
    )


def dense_rows(view: Matrix, rows: slice | Array) -> Array:
    """Rows of a view as a dense array of the type of the view."""
    block = view[rows]
    return block if isinstance(block, np.ndarray) else block.toarray()
