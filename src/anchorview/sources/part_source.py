"""Samples that are not in memory: sources that read and process them part by part."""

from abc import abstractmethod
from contextlib import AbstractContextManager
from copy import copy
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

from anchorview._utils.memory import require_memory
from anchorview.core.centers import EmbeddedRows
from anchorview.views.container import (
    MultiViewData,
    ViewScan,
    availability,
    concatenate_samples,
    container_of_checked,
    container_of_views,
)
from anchorview.views.input_grammar import NamedViews
from anchorview.views.row_source import (
    Features,
    Merge,
    PartFunction,
    Result,
    RowFunction,
    RowSource,
    merge_both,
    rows_per_block,
)


class PartSource(RowSource):
    """Views on disk or in Dask; samples are processed in parts."""

    in_parts = True
    budget: float
    """Bytes that this process may use."""
    complete: bool = False
    """Whether all samples have all views, known after the first pass: then no more checks."""
    _preparations: tuple[PartFunction[MultiViewData], ...] = ()
    """Functions of a part that replace it, one after the other."""
    _patterns: frozenset[tuple[int, ...]] = frozenset()
    """Patterns of available views, known after the first pass."""

    def prepared(
        self, function: PartFunction[MultiViewData], features: Features | None = None
    ) -> Self:
        """Source in which every part, as prepared so far, is replaced by a function of it."""
        source = copy(self)
        source._preparations = (*self._preparations, function)
        if features is not None:
            source.n_features_per_view, source.feature_names, source.dtype = features
            source.shape = len(self), sum(source.n_features_per_view)
            source.rows_per_block = rows_per_block(source.shape[1], source.dtype)
        return source

    def first_rows(self, count: int) -> MultiViewData:
        return self.reduce_as_is(partial(_first_rows, count), partial(_fewer, count), "reading")

    def prepared_part(self, views: NamedViews, first_row: int) -> MultiViewData:
        """Part of the source, checked in the first pass, with the design of its samples."""
        if self.complete:
            part = container_of_checked(views)
        else:
            part = container_of_views(views, first_row=first_row)
        rows = slice(first_row, first_row + len(part))
        part.design = None if self.design is None else self.design[rows]
        part.sample_weight = None if self.sample_weight is None else self.sample_weight[rows]
        part.first_row = first_row
        for function in self._preparations:
            part = function(part)
            part.first_row = first_row
        return part

    def __repr__(self) -> str:
        widths = zip(self.names, self.n_features_per_view, strict=True)
        views = ", ".join(f"{name}: {width} features" for name, width in widths)
        return f"{type(self).__name__}({len(self)} samples, {views})"

    def reduce(self, function: PartFunction[Result], merge: Merge[Result], stage: str) -> Result:
        """``function`` of all parts, merged in order; the first pass checks the views as well."""
        if self._patterns:
            return self.reduce_as_is(function, merge, stage)
        scan, result = self.reduce_as_is(
            partial(ViewScan.beside, function), partial(merge_both, ViewScan.merged, merge), stage
        )
        scan.require_fittable(self)
        self._patterns = scan.patterns
        self.complete = scan.patterns == {tuple(range(len(self.names)))}
        return result

    def require_pattern_memory(self) -> None:
        """Raise if Gram matrices of all patterns of views that were found need too much memory."""
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


def _first_rows(count: int, part: MultiViewData) -> MultiViewData:
    has = availability(part.available, len(part), part.names)
    rows = np.unique(np.concatenate([np.flatnonzero(column)[:count] for column in has.T]))
    return part[rows]


def _fewer(count: int, a: MultiViewData, b: MultiViewData) -> MultiViewData:
    return _first_rows(count, concatenate_samples(a, b))
