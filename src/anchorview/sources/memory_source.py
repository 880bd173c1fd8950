"""Samples in memory: a source with one part."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from anchorview._utils.typing import Array
from anchorview.core.blockwise_kmeans import LocalRows
from anchorview.core.cost_model import Plan, PlanRequest, plan
from anchorview.sources.row_source import Merge, PartFunction, RowSource
from anchorview.views.container import MultiViewData
from anchorview.views.fitted_views import FittedViews
from anchorview.views.parts import Result
from anchorview.views.sample_design import SampleDesign


class MemorySource(RowSource):
    """All samples as one part."""

    data: MultiViewData
    _scanned = True

    def __init__(self, data: MultiViewData) -> None:
        self.data = data
        self.names, self.named = data.names, data.named
        self.sample_ids, self.feature_names = data.sample_ids, data.feature_names

    @property
    def design(self) -> SampleDesign | None:
        """Batch and covariates of each sample."""
        return self.data.design

    @design.setter
    def design(self, design: SampleDesign | None) -> None:
        # A copy, as the container may be that of the user.
        self.data = copy(self.data)
        self.data.design = design

    def prepare_parts(self, function: PartFunction[MultiViewData]) -> None:
        """Replace the samples by a function of them."""
        self.data = function(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return repr(self.data)

    @property
    def n_features_per_view(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return self.data.n_features_per_view

    @property
    def dtype(self) -> "np.dtype[Any]":
        """Precision in which row blocks are multiplied."""
        return self.data.dtype

    def require_like(self, fitted: FittedViews) -> None:
        """Raise unless the views are those that an estimator was fitted on, or some of them."""
        # A view that no sample has may have any width.
        self.data.matched_to(fitted)

    def plan(self, request: PlanRequest) -> Plan:
        """Plan of a fit by the cost model."""
        return plan(
            self.data,
            request.n_components,
            request.n_anchors,
            request.max_iter,
            request.routes,
            request.memory_limit,
        )

    def _reduce(self, function: PartFunction[Result], merge: Merge[Result], stage: str) -> Result:
        return function(self.data)

    def map_rows(
        self,
        function: PartFunction[Array],
        width: int | None,
        dtype: Any,
        stage: str,
        out: Path | None,
    ) -> Array:
        """Rows that a function computes of the samples."""
        return function(self.data)

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
        """Fields of the records that a function computes of the samples, and a summary."""
        records = function(self.data)
        return {name: np.ascontiguousarray(records[name]) for name in fields}, summary(records)

    @contextmanager
    def embed(
        self, function: PartFunction[Array], width: int, out: Path | None
    ) -> "Iterator[MemoryRows]":
        """Embed all samples."""
        yield MemoryRows(function(self.data))

    def require_output_folder(self, out: Path) -> None:
        """Raise: results that go to files are written by a source that reads in parts."""
        raise ValueError(
            "out= writes results part by part, which needs data that are read in parts: use "
            "solver='compressed', give more samples than features, or do not pass out=."
        )

    def read(self) -> MultiViewData:
        """All samples."""
        return self.data


class MemoryRows(LocalRows):
    """The embedding and the labels as arrays."""

    def __init__(self, embedding: Array) -> None:
        super().__init__(embedding)
        self.embedding = embedding

    def label(self, function: Callable[[Array], Array]) -> None:
        """Label all rows."""
        self.labels = function(self.embedding)
