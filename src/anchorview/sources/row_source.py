"""The interface of a source: samples in memory, on disk or in Dask, processed part by part."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from anchorview._utils.memory import require_memory
from anchorview._utils.typing import Array
from anchorview.core.blockwise_kmeans import EmbeddedRows
from anchorview.core.cost_model import Plan, PlanRequest
from anchorview.sources.view_scan import ViewScan, merge_with_scan, with_scan
from anchorview.views.container import MultiViewData
from anchorview.views.fitted_views import FittedViews
from anchorview.views.parts import Parts, Result
from anchorview.views.sample_design import SampleDesign

if TYPE_CHECKING:
    import numpy as np


PartFunction = Callable[[MultiViewData], Result]
Merge = Callable[[Result, Result], Result]


@dataclass(frozen=True, eq=False)
class Steps:
    """Two functions of a part, one after the other; can be pickled."""

    first: PartFunction[MultiViewData]
    second: PartFunction[MultiViewData]

    def __call__(self, part: MultiViewData) -> MultiViewData:
        """The part after both."""
        return self.second(self.first(part))


class LabeledRows(EmbeddedRows, Protocol):
    """The embedding of all samples, and their labels once :meth:`label` was called."""

    def label(self, function: Callable[[Array], Array]) -> None:
        """Label all rows by a function of a block of rows."""

    embedding: Any
    """The embedding in the form that the source returns; complete after the context."""
    labels: Any
    """The labels, likewise."""


class RowSource(Parts):
    """Views whose samples are processed in parts, each a container in memory."""

    sample_ids: "pd.Index[Any] | None" = None
    budget: float
    """Bytes that this process may use."""
    data: MultiViewData | None = None
    """All samples, if they are in memory."""
    complete: bool = False
    """Whether the first pass found all views for all samples; later passes then skip the checks."""
    nan_cells: bool = False
    """Whether single values may be NaN, until a function for `prepare_parts` imputes them."""
    design: SampleDesign | None = None
    """Batch and covariates of each sample; parts have those of their samples."""
    _prepare: PartFunction[MultiViewData] | None = None
    _scanned: bool = False
    _patterns: frozenset[tuple[int, ...]] = frozenset()
    """Patterns of available views that the first pass has found."""
    _compresses: bool = False

    def prepare_parts(self, function: PartFunction[MultiViewData]) -> None:
        """From now on, replace every part, as prepared so far, by a function of it first."""
        self._prepare = function if self._prepare is None else Steps(self._prepare, function)

    def __repr__(self) -> str:
        widths = zip(self.names, self.n_features_per_view, strict=True)
        views = ", ".join(f"{name}: {width} features" for name, width in widths)
        return f"{type(self).__name__}({len(self)} samples, {views})"

    def reduce(self, function: PartFunction[Result], merge: Merge[Result], stage: str) -> Result:
        """``function`` of all parts, merged in order; the first pass checks the views as well."""
        if self._scanned:
            return self._reduce(function, merge, stage)
        scan, result = self._reduce(
            partial(with_scan, function), partial(merge_with_scan, merge), stage
        )
        self._require_fittable(scan)
        self._patterns = scan.patterns
        if self._compresses:
            self._require_pattern_memory()
        self.complete = scan.patterns == {tuple(range(len(self.names)))}
        self._scanned = True
        return result

    def reduce_as_is(
        self, function: PartFunction[Result], merge: Merge[Result], stage: str
    ) -> Result:
        """``function`` of all parts, merged in order; views may be missing or constant."""
        return self._reduce(function, merge, stage)

    def _require_fittable(self, scan: ViewScan) -> None:
        """Raise if a view is missing, constant or too small to be squared."""
        for p in range(len(self.names)):
            if p not in scan.constant_rows:
                raise ValueError(self.missing_message(p))
            if scan.constant_rows[p] is not None:
                raise ValueError(self.constant_message(p))
            if p in scan.tiny:
                raise ValueError(self.underflow_message(p))

    def require_compressible(self) -> None:
        """Raise, now or after the first pass, if Gram matrices of all patterns need too much.

        Only a fit that adds up such matrices needs them.
        """
        self._compresses = True
        if self._patterns:
            self._require_pattern_memory()

    def _require_pattern_memory(self) -> None:
        widths = self.n_features_per_view
        squares = [sum(widths[p] for p in views) ** 2 for views in self._patterns]
        # The Gram matrices of all patterns, the one being added, and the pseudo-samples.
        require_memory(
            8.0 * (2 * sum(squares) + max(squares)),
            f"Compressing {len(squares)} patterns of missing views",
            "Raise memory_limit, or reduce the number of features or of patterns.",
            self.budget,
        )

    def require_like(self, fitted: FittedViews) -> None:
        """Raise unless the views are those that an estimator was fitted on, or some of them."""
        for p, own in enumerate(fitted.positions_in(self)):
            if own is not None and (width := self.n_features_per_view[own]):
                fitted.column_order(p, width, self.feature_names[own])

    @abstractmethod
    def plan(self, request: PlanRequest) -> Plan:
        """Plan of a fit; raises if it needs more memory than it may use."""

    @abstractmethod
    def _reduce(self, function: PartFunction[Result], merge: Merge[Result], stage: str) -> Result:
        """``function`` of all parts, merged in order."""

    @abstractmethod
    def map_rows(
        self,
        function: PartFunction[Array],
        width: int | None,
        dtype: Any,
        stage: str,
        out: Path | None,
    ) -> Any:
        """Rows that a function computes of the samples, with `width` columns (None: a vector).

        They are returned in the form of the source, or as a memory map of the file `out`.
        """

    @abstractmethod
    def map_fields(
        self,
        function: PartFunction[Array],
        dtype: "np.dtype[Any]",
        fields: Sequence[str],
        summary: Callable[[Array], Result],
        merge: Merge[Result],
        stage: str,
        out: Path | None,
    ) -> tuple[dict[str, Any], Result]:
        """Several results per sample in one pass, and a summary of them.

        `function` returns one record of type `dtype` per sample. The `fields` of the records are
        returned by name, each in the form of the source or as a memory map of a file in the folder
        `out`; and the summaries of the records of all parts, merged in order.
        """

    @abstractmethod
    def embed(
        self, function: PartFunction[Array], width: int, out: Path | None
    ) -> AbstractContextManager[LabeledRows]:
        """Embed all samples; files in the folder `out` are replaced at the end of the context."""

    @abstractmethod
    def require_output_folder(self, out: Path) -> None:
        """Raise if results cannot be written to a folder, or would replace the views."""

    @abstractmethod
    def read(self) -> MultiViewData:
        """All samples, in memory; raises if they do not fit."""


def ids_in_memory(source: RowSource) -> "pd.Index[Any] | None":
    """Ids of all samples of a source, computed if they are in Dask."""
    ids: Any = source.sample_ids
    return pd.Index(ids.compute()) if hasattr(ids, "compute") else ids
