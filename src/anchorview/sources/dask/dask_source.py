"""Views in Dask as a source of rows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd

from anchorview._utils.memory import memory_budget, require_memory
from anchorview._utils.threads import n_cores
from anchorview._utils.typing import Array
from anchorview.core.cost_model import Plan, PlanRequest, plan_in_passes
from anchorview.sources.dask.chunks import SMALL_PART, part_bounds, pieces, useful_bytes
from anchorview.sources.dask.dask_input import read_dask_input
from anchorview.sources.dask.dask_records import field_of, summarized
from anchorview.sources.dask.dask_rows import DaskRows, kept_if_small
from anchorview.sources.dask.execution import layer, reduced, reporting
from anchorview.sources.dask.part_reader import PartReader, apply_to_part, sample_ids_of
from anchorview.sources.dask.task_graph import FAN_IN, PartGraph, new_name
from anchorview.sources.part_source import PartSource
from anchorview.views.container import MultiViewData, concatenate_samples
from anchorview.views.row_source import Merge, PartFunction, Result, working_precision


class DaskSource(PartSource):
    """Views that are dask arrays or dask dataframes.

    Tasks run on the scheduler the user has chosen: threads or processes of this machine, or the
    workers of an active ``distributed.Client``. Only sums and small matrices are returned.

    Parameters
    ----------
    X : dict, list or tuple of dask arrays and dask dataframes, or one of them
        Dataframes with known divisions are aligned by index, as pandas DataFrames are, and the
        union of their samples is taken. With unknown divisions, or beside arrays, rows are matched
        by position, and frames must have equal indices. None is a view that no sample has.
        Unknown lengths are computed immediately.
    budget : float, optional
        Bytes that this process may use.

    Attributes
    ----------
    bounds : list of int
        First rows of the parts, and the end.
    sample_ids : dask array (n,) or None
        Sample ids, if there are frames; not computed.

    Examples
    --------
    >>> import dask.array as da
    >>> from anchorview.sources.dask.dask_source import DaskSource
    >>> text = da.ones((1000, 20), chunks=(100, 20))
    >>> DaskSource({"text": text, "image": da.zeros((1000, 5), chunks=(250, 5))})
    DaskSource(1000 samples, text: 20 features, image: 5 features)
    """

    sample_ids: Any = None

    def __init__(self, X: Any, budget: float | None = None) -> None:
        found = read_dask_input(X)
        self.budget = memory_budget(budget)
        self.names, self.named, self.n = found.names, found.named, found.n_samples
        self.feature_names = found.feature_names
        self.n_features_per_view = found.widths
        self.shape = found.n_samples, sum(found.widths)
        self.dtype = working_precision(dtype for dtype in found.dtypes if dtype is not None)
        row_bytes = [
            0 if dtype is None else width * dtype.itemsize
            for width, dtype in zip(found.widths, found.dtypes, strict=True)
        ]
        self._row_bytes = sum(row_bytes)
        widest = found.chunks[int(np.argmax(row_bytes))]
        useful = useful_bytes(sum(found.widths), SMALL_PART)
        self.bounds = part_bounds(widest.lengths, self._row_bytes, useful)
        blocks = [pieces(own, self.bounds, found.graph) for own in found.chunks]
        parts = list(zip(*blocks, strict=True))
        self._parts = PartGraph(found.graph, [list(chain(*part)) for part in parts])
        self._arguments = [
            (start, stop, tuple(len(own) for own in part))
            for (start, stop), part in zip(pairwise(self.bounds), parts, strict=True)
        ]
        if found.id_dtype is not None:
            self.sample_ids = self._rows(sample_ids_of, None, found.id_dtype, "ids")

    def __len__(self) -> int:
        return self.n

    def plan(self, request: PlanRequest) -> Plan:
        """Plan of a fit in passes; raises if this process needs more memory than is free."""
        # Without workers, parts are processed in this process.
        planned, product_bytes = plan_in_passes(self, request)
        self._compresses = planned.route == "compressed"
        needed = product_bytes * (2 * FAN_IN + 2 * n_cores())
        require_memory(needed, f"Clustering {self!r}", "Reduce the number of features.")
        return replace(planned, memory={planned.route: needed})

    def reduce_as_is(
        self, function: PartFunction[Result], merge: Merge[Result], stage: str
    ) -> Result:
        """``function`` of all parts, merged in order."""
        name = new_name(stage)
        work = partial(apply_to_part, self._reader, function, None)
        with reporting(stage, name, len(self._arguments)):
            result: Result = reduced(self._parts, work, self._arguments, merge, name)
        return result

    @property
    def _reader(self) -> PartReader:
        return PartReader(
            self.names,
            self.named,
            self.feature_names,
            self.n_features_per_view,
            self.complete,
            self.nan_cells,
            self._prepare,
            self.design,
        )

    def map_rows(
        self,
        function: PartFunction[Array],
        width: int | None,
        dtype: Any,
        stage: str,
        out: Path | None,
    ) -> Any:
        """Rows that a function computes of the samples: a dask array, not computed yet."""
        _refuse(out)
        return self._rows(function, width, dtype, stage)

    def _rows(
        self, function: PartFunction[Array], width: int | None, dtype: Any, stage: str
    ) -> Any:
        rows = tuple(stop - start for start, stop in pairwise(self.bounds))
        chunks = (rows,) if width is None else (rows, (width,))
        name = new_name(stage)
        keys = [(name, i) if width is None else (name, i, 0) for i in range(len(rows))]
        work = partial(apply_to_part, self._reader, function, dtype)
        graph = self._parts.mapped(work, self._arguments, keys)
        return da.Array(layer(name, graph), name, chunks, meta=np.empty((0,) * len(chunks), dtype))

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
        """Fields of the records that a function computes, as dask arrays, and their summary."""
        _refuse(out)
        records = kept_if_small(self._rows(function, None, dtype, stage), stage)
        total: Result = summarized(records, summary, merge)
        return {name: field_of(records, name) for name in fields}, total

    @contextmanager
    def embed(
        self, function: PartFunction[Array], width: int, out: Path | None
    ) -> Iterator[DaskRows]:
        """Embed all samples; the embedding and the labels are dask arrays."""
        _refuse(out)
        yield DaskRows(self._rows(function, width, self.dtype, "embedding"))

    def require_output_folder(self, out: Path) -> None:
        """Raise, as results are dask arrays."""
        _refuse(out)

    def read(self) -> MultiViewData:
        """All samples, computed; raises if they do not fit."""
        require_memory(
            # While the parts are combined, they exist twice.
            2.0 * self.n * self._row_bytes,
            f"Computing {self!r}",
            "Use DALMC with solver='compressed', which processes them part by part.",
        )
        data = self.reduce_as_is(_same, concatenate_samples, "reading")
        if self.sample_ids is not None:
            data.sample_ids = pd.Index(self.sample_ids.compute())
        return data


def _same(part: MultiViewData) -> MultiViewData:
    return part


def _refuse(out: Path | None) -> None:
    if out is not None:
        raise ValueError(
            "out= cannot be used with views in Dask: the results are dask arrays. Store them with "
            "their to_zarr method, or with dask.array.to_npy_stack."
        )
