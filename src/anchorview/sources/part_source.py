"""Samples that are not in memory: sources that read and process them part by part."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from anchorview._utils.memory import require_memory
from anchorview._utils.typing import Array
from anchorview.core.blockwise_kmeans import EmbeddedRows
from anchorview.views.container import MultiViewData, concatenate_samples, dense_rows, without_nan
from anchorview.views.fitted_views import FittedViews
from anchorview.views.matrix_checks import availability, require_a_view
from anchorview.views.row_source import Merge, PartFunction, Result, RowFunction, RowSource


class PartSource(RowSource):
    """Views on disk or in Dask, whose samples are processed in parts."""

    in_parts = True
    budget: float
    """Bytes that this process may use."""
    complete: bool = False
    """Whether all samples have all views, known after the first pass: then no more checks."""
    _preparations: tuple[PartFunction[MultiViewData], ...] = ()
    """Functions of a part that replace it, one after the other."""
    _patterns: frozenset[tuple[int, ...]] = frozenset()
    """Patterns of available views, known after the first pass."""

    def prepared(self, function: PartFunction[MultiViewData]) -> Self:
        """Source in which every part, as prepared so far, is replaced by a function of it."""
        source = copy(self)
        source._preparations = (*self._preparations, function)
        return source

    def with_features(self, widths: tuple[int, ...], names: tuple[Any, ...], dtype: Any) -> Self:
        """Source whose prepared views have other features."""
        source = copy(self)
        source.n_features_per_view, source.feature_names, source.dtype = widths, names, dtype
        source.shape = len(self), sum(widths)
        return source

    @abstractmethod
    def for_each_part(self, function: PartFunction[None], stage: str) -> None:
        """Call a function with all parts, one after the other, in this process."""

    def first_rows(self, count: int) -> MultiViewData:
        """Some of the first samples in which each view occurs, if it does."""
        return self.reduce_as_is(partial(_first_rows, count), partial(_fewer, count), "reading")

    def placed(self, part: MultiViewData, first_row: int) -> MultiViewData:
        """Part of the source, prepared; it knows where it begins and the design of its samples."""
        part.design = None if self.design is None else self.design[first_row:][: len(part)]
        part.first_row = first_row
        for function in self._preparations:
            part = function(part)
            part.first_row = first_row
        return part

    def matched_to(self, fitted: FittedViews) -> Self:
        """Source with views and features in the order in which an estimator was fitted."""
        fitted.require_match(self)
        return self.prepared(partial(MultiViewData.matched_to, fitted=fitted))

    def __repr__(self) -> str:
        widths = zip(self.names, self.n_features_per_view, strict=True)
        views = ", ".join(f"{name}: {width} features" for name, width in widths)
        return f"{type(self).__name__}({len(self)} samples, {views})"

    def reduce(self, function: PartFunction[Result], merge: Merge[Result], stage: str) -> Result:
        """``function`` of all parts, merged in order; the first pass checks the views as well."""
        if self._patterns:
            return self.reduce_as_is(function, merge, stage)
        scan, result = self.reduce_as_is(
            partial(_with_scan, function), partial(_merge_with_scan, merge), stage
        )
        scan.require_fittable(self)
        self._patterns = scan.patterns
        self.complete = scan.patterns == {tuple(range(len(self.names)))}
        return result

    def require_pattern_memory(self) -> None:
        """Raise if Gram matrices of all patterns that were found need too much memory."""
        widths = self.n_features_per_view
        squares = [sum(widths[p] for p in views) ** 2 for views in self._patterns]
        # The Gram matrices of all patterns, the one being added, and the pseudo-samples.
        require_memory(
            8.0 * (2 * sum(squares) + max(squares, default=0)),
            f"Compressing {len(squares)} patterns of missing views",
            "Raise memory_limit, or reduce the number of features or of patterns.",
            self.budget,
        )

    @abstractmethod
    def embed(
        self, function: RowFunction, width: int, out: Path | None
    ) -> AbstractContextManager[EmbeddedRows]:
        """Embed all samples; files in the folder `out` are replaced at the end of the context."""


def embed(
    source: RowSource, function: RowFunction, width: int, out: Path | None
) -> AbstractContextManager[EmbeddedRows]:
    """Embed all samples of a source, in memory or in parts."""
    if isinstance(source, PartSource):
        return source.embed(function, width, out)
    return nullcontext(EmbeddedRows(function(source.read())))


def _first_rows(count: int, part: MultiViewData) -> MultiViewData:
    has = availability(part.available, len(part), part.names)
    rows = np.unique(np.concatenate([np.flatnonzero(column)[:count] for column in has.T]))
    return part[rows]


def _fewer(count: int, a: MultiViewData, b: MultiViewData) -> MultiViewData:
    return _first_rows(count, concatenate_samples(a, b))


class ViewScan(NamedTuple):
    """Patterns of available views, and the row that all samples of a constant view share."""

    patterns: frozenset[tuple[int, ...]]
    constant_rows: dict[int, Array | None]
    """By position of the view; None if the view is not constant."""
    squarable: frozenset[int]
    """Positions of views with values that are not too small to be squared."""
    counts: frozenset[int]
    """Positions of views that look like raw counts in the first part."""

    @classmethod
    def of(cls, part: MultiViewData) -> "ViewScan":
        """Scan a part; raises if a value is NaN."""
        without_nan(part)
        if part.available is not None:
            require_a_view(part.available, part.sample_ids, part.first_row)
        patterns = frozenset(group.views for group in part.groups)
        constant_rows: dict[int, Array | None] = {}
        for p in sorted({p for views in patterns for p in views}):
            if part.is_informative(p):
                constant_rows[p] = None
            else:
                first = 0 if part.available is None else int(part.available[:, p].argmax())
                constant_rows[p] = dense_rows(part.views[p], slice(first, first + 1))[0].copy()
        squarable = frozenset(p for p in constant_rows if not part.is_tiny(p))
        counts = frozenset(p for p in constant_rows if part.holds_raw_counts(p))
        return cls(patterns, constant_rows, squarable, counts)

    def merged(self, other: "ViewScan") -> "ViewScan":
        """Scan of both parts."""
        constant_rows = self.constant_rows | other.constant_rows
        for p in self.constant_rows.keys() & other.constant_rows.keys():
            row, other_row = self.constant_rows[p], other.constant_rows[p]
            if row is None or other_row is None or (row != other_row).any():
                constant_rows[p] = None
        patterns, squarable = self.patterns | other.patterns, self.squarable | other.squarable
        return ViewScan(patterns, constant_rows, squarable, self.counts)

    def require_fittable(self, source: RowSource) -> None:
        """Raise if a view is missing, constant or too small; warn if views hold raw counts."""
        for p in range(len(source.names)):
            if p not in self.constant_rows:
                raise ValueError(source.problem("missing", p))
            if self.constant_rows[p] is not None:
                raise ValueError(source.problem("constant", p))
            if p not in self.squarable:
                raise ValueError(source.problem("underflow", p))
        if source.hints_at_counts and self.counts:
            names = ", ".join(map(source.describe_view, sorted(self.counts)))
            warnings.warn(
                f"{names}: the values look like raw counts. These are usually normalized: pass "
                "preprocess='lognorm' (RNA), 'clr' (proteins) or 'tfidf' (peaks), by view in a "
                "dict, or preprocess={} to use them as they are.",
                stacklevel=2,
            )


def require_fittable(source: RowSource) -> None:
    """Raise if no sample has a view, all samples are equal in it, or its values are tiny.

    Samples that are read in parts are checked in the first pass.
    """
    if not source.in_parts:
        ViewScan.of(source.read()).require_fittable(source)


Scanned = tuple[ViewScan, Result]
"""Scan and result of the same part or parts."""


def _with_scan(function: Callable[[MultiViewData], Result], part: MultiViewData) -> Scanned[Result]:
    return ViewScan.of(part), function(part)


def _merge_with_scan(
    merge: Callable[[Result, Result], Result], a: Scanned[Result], b: Scanned[Result]
) -> Scanned[Result]:
    return a[0].merged(b[0]), merge(a[1], b[1])
