"""Views in Dask as a source of rows, and the tasks that combine their blocks to parts."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import Context
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, Self

import dask.array as da
import numpy as np
import pandas as pd
from dask.delayed import Delayed
from distributed import futures_of

from anchorview._utils.memory import memory_budget, require_memory
from anchorview._utils.progress import report_progress
from anchorview._utils.threads import n_cores, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.centers import EmbeddedRows, RowsFunction
from anchorview.sources.dask.dask_input import (
    SMALL_PART,
    checked_view,
    id_type,
    part_bounds,
    table_kinds,
    useful_bytes,
    view_blocks,
)
from anchorview.sources.dask.part_graph import (
    FAN_IN,
    PartGraph,
    has_workers,
    kept,
    new_name,
    reporting,
)
from anchorview.sources.disk_source import PartSource
from anchorview.views.alignment import different_ids
from anchorview.views.container import MultiViewData, concatenate_samples
from anchorview.views.input_grammar import NamedViews
from anchorview.views.matrix_checks import as_matrix, require_same_length
from anchorview.views.row_source import (
    Merge,
    PartFunction,
    Records,
    Result,
    RowFunction,
    of_known_samples,
)
from anchorview.views.sample_design import ids_in_memory
from anchorview.views.table_columns import TableView, stacked

SHARE_OF_BUDGET = 0.25
"""Share of the memory budget that the embedding may take in this process."""

MAX_BLOCKS = 1000
"""Maximum number of blocks of the embedding. Every K-means iteration has a task per block, and with
more blocks the scheduler would dominate the time."""


class DaskSource(PartSource):
    """Views that are dask arrays or dask dataframes.

    Tasks run on the scheduler the user has chosen: threads or processes of this machine, or the
    workers of an active ``distributed.Client``. Only sums and small matrices are returned.

    Dataframes with known divisions are aligned by index, as pandas DataFrames are, and the union of
    their samples is taken. With unknown divisions, or beside arrays, rows are matched by position,
    and frames must have equal indices. None is a view that no sample has. Unknown lengths are
    computed immediately.
    """

    keeps_results = False
    sample_ids: Any = None
    """A dask array, if there are frames."""
    _products = 0.0
    """Bytes of the products of the parts in process."""

    def __init__(self, given: NamedViews, budget: float) -> None:
        views = list(map(checked_view, given.views, given.descriptions))
        shown, blocks = view_blocks(replace(given, views=views))
        self.budget = budget
        require_same_length(shown, given.names)
        self.set_schema(given, shown)
        self.table_kinds = table_kinds(views)
        self._stored = self.n_features_per_view, self.feature_names
        """Features of the blocks, before preparations."""
        row_bytes = [0 if view is None else view.shape[1] * view.dtype.itemsize for view in shown]
        self._row_bytes = sum(row_bytes)
        largest = blocks[int(np.argmax(row_bytes))]
        useful = useful_bytes(self.shape[1], SMALL_PART)
        bounds = part_bounds(largest.lengths, self._row_bytes, useful)
        parts = list(zip(*(of_view.cut_at(bounds) for of_view in blocks), strict=True))
        arguments = [
            (start, stop, tuple(map(len, part)))
            for (start, stop), part in zip(pairwise(bounds), parts, strict=True)
        ]
        futures = futures_of([view for view in views if view is not None])
        self._parts = PartGraph([list(chain(*part)) for part in parts], arguments, futures)
        if (id_dtype := id_type(views)) is not None:
            self.sample_ids = self._rows(_sample_ids_of, None, id_dtype, "ids")

    def with_room(self, products: float, n_columns: int) -> Self:
        source = copy(self)
        # Without workers, parts are processed in this process.
        source._products = products * (2 * FAN_IN + 2 * n_cores())
        advice = "Reduce the number of features."
        require_memory(source._products, f"Clustering {self!r}", advice)
        return source

    def pass_memory(self) -> float:
        """Bytes of the products that are added up in this process."""
        return self._products

    def reduce_as_is(
        self, function: PartFunction[Result], merge: Merge[Result], stage: str
    ) -> Result:
        name = new_name(stage)
        work = partial(_apply_to_part, self._reader(), function, None)
        with reporting(stage, name, len(self._parts.arguments)):
            result: Result = self._parts.reduced(work, merge, name)
        return result

    def for_each_part(self, function: PartFunction[None], stage: str) -> None:
        name = new_name(stage)
        keys = [(name, i) for i in range(len(self._parts.arguments))]
        work = partial(_apply_to_part, self._reader(), _same, None)
        graph = self._parts.mapped(work, keys)
        for done, key in enumerate(keys, 1):
            function(Delayed(key, graph, layer=name).compute())
            report_progress(stage, done, len(keys))

    def _reader(self) -> "DaskSource":
        """Return a copy with which workers combine blocks: as it is now, without the graph."""
        reader = copy(self)
        for name in ("_parts", "sample_ids"):
            vars(reader).pop(name, None)
        return reader

    def map_rows(
        self, function: RowFunction, width: int | None, dtype: Any, stage: str, out: Path | None
    ) -> Any:
        """Rows that a function computes of the samples: a dask array, not computed yet."""
        self.require_output_folder(out)
        return self._rows(function, width, dtype, stage)

    def _rows(self, function: RowFunction, width: int | None, dtype: Any, stage: str) -> Any:
        function = partial(of_known_samples, function, width, dtype)
        rows = tuple(stop - start for start, stop, _ in self._parts.arguments)
        chunks = (rows,) if width is None else (rows, (width,))
        name = new_name(stage)
        keys = [(name, i) if width is None else (name, i, 0) for i in range(len(rows))]
        work = partial(_apply_to_part, self._reader(), function, dtype)
        graph = self._parts.mapped(work, keys)
        return da.Array(graph, name, chunks, meta=np.empty((0,) * len(chunks), dtype))

    def map_fields(
        self, records: Records[Result], fields: Sequence[str], out: Path | None
    ) -> tuple[dict[str, Any], Result]:
        rows = self._rows(records.function, None, records.dtype, "labeling")
        rows = kept(rows, "labeling") if _can_be_kept(rows) else rows
        no_arguments = [()] * rows.numblocks[0]
        total: Result = reduce_blocks(rows, records.summary, no_arguments, records.merge)
        contiguous = {name: rows[name].map_blocks(np.ascontiguousarray) for name in fields}
        return contiguous, total

    def embed(
        self, function: RowFunction, width: int, out: Path | None
    ) -> "AbstractContextManager[DaskRows]":
        """Embed all samples; the embedding and the labels are dask arrays."""
        rows = self._rows(function, width, self.dtype, "embedding")
        return nullcontext(DaskRows(rows, self.sample_weight))

    def require_output_folder(self, out: Path | None) -> None:
        """Raise, as results are dask arrays."""
        if out is not None:
            raise ValueError(
                "out= cannot be used with views in Dask: the results are dask arrays. Store them "
                "with their to_zarr method, or with dask.array.to_npy_stack."
            )

    def read(self) -> MultiViewData:
        """All samples, computed; raises if they do not fit."""
        require_memory(
            # While the parts are combined, they exist twice.
            2.0 * len(self) * self._row_bytes,
            f"Computing {self!r}",
            "Use DALMC with solver='compressed', which processes them part by part.",
        )
        data = self.reduce_as_is(_same, concatenate_samples, "reading")
        data.sample_ids = ids_in_memory(self)
        return data

    def part(self, start: int, stop: int, counts: tuple[int, ...], *blocks: Any) -> MultiViewData:
        """Container of the samples from `start` to `stop`; `counts` are the blocks per view."""
        pieces = iter(blocks)
        views: list[Any] = [
            self._stacked(p, list(islice(pieces, count)), start, stop) if count else None
            for p, count in enumerate(counts)
        ]
        ids = None if self.complete else self._common_ids(views, start)
        for p, view in enumerate(views):
            views[p] = as_matrix(view, self.describe_view(p))
            # The collection says that these are numbers; NaN is refused.
            if isinstance(views[p], TableView) and p not in self.table_kinds:
                views[p] = views[p].values()
        features = self._stored[1]
        return self.prepared_part(
            NamedViews(self.names, self.named, views, None, ids, features), start
        )

    def _stacked(self, p: int, pieces: Sequence[Any], start: int, stop: int) -> Any:
        n_rows, width = sum(piece.shape[0] for piece in pieces), self._stored[0][p]
        if n_rows != stop - start or {piece.shape[1:] for piece in pieces} != {(width,)}:
            shapes = " and ".join(str(piece.shape) for piece in pieces)
            raise ValueError(
                f"{self.describe_view(p)}: rows {start} to {stop - 1} came in blocks of "
                f"shape {shapes}, but the collection says {stop - start} rows of {width} "
                "features. Correct the chunks, or call compute_chunk_sizes."
            )
        return stacked(pieces)

    def _common_ids(self, views: list[Any], start: int) -> "pd.Index[Any] | None":
        """Sample ids; raises if the frames do not have the same."""
        frames = [(p, v) for p, v in enumerate(views) if isinstance(v, pd.DataFrame)]
        if problem := different_ids([(self.describe_view(p), v.index) for p, v in frames], start):
            raise ValueError(
                f"{problem}. Frames with unknown divisions are matched by position: call set_index "
                "on all of them, so that divisions are known and they are aligned."
            )
        return frames[0][1].index if frames else None


def _same(part: MultiViewData) -> MultiViewData:
    return part


def _one_task(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function on one core, without progress reports."""
    with without_nested_threads():
        # In a new context, its progress is not reported as that of all tasks.
        return Context().run(function, *arguments)


def _apply_to_part(
    reader: DaskSource, function: Callable[[MultiViewData], Any], dtype: Any, *blocks: Any
) -> Any:
    """Result of a function of a part, converted to `dtype` unless that is None."""
    result = _one_task(function, reader.part(*blocks))
    return result if dtype is None else result.astype(dtype, copy=False)


def _sample_ids_of(part: MultiViewData) -> Array:
    return np.asarray(part.sample_ids, dtype=object)


class DaskRows(EmbeddedRows):
    """The embedding, with all columns in one chunk, and its labels as dask arrays.

    The workers keep both. Without workers, this process keeps them if they are small; otherwise the
    samples are embedded again whenever the embedding is needed.
    """

    def __init__(self, embedding: Any, weights: Array | None) -> None:
        if embedding.numblocks[0] > MAX_BLOCKS:
            embedding = embedding.rechunk({0: -(-embedding.shape[0] // MAX_BLOCKS)})
        self._keeps = _can_be_kept(embedding)
        super().__init__(kept(embedding, "embedding") if self._keeps else embedding, weights)

    def reduce(
        self, function: RowsFunction[Result], merge: Callable[[Result, Result], Result]
    ) -> Result:
        """Function of all blocks of rows, merged."""
        ends = pairwise(np.cumsum((0, *self.embedding.chunks[0])).tolist())
        arguments = [(start, self.weights_of(slice(start, stop))) for start, stop in ends]
        work = partial(_of_rows_last, function)
        result: Result = reduce_blocks(self.embedding, work, arguments, merge)
        return result

    def label(self, function: Callable[[Array], Array]) -> None:
        """Label all rows by a function of a block of rows."""
        labels = self.embedding.map_blocks(
            partial(_labels, function),
            name=new_name("labels"),
            drop_axis=1,
            dtype=np.int32,
            meta=np.empty(0, np.int32),
        )
        self.labels = kept(labels, "labeling") if self._keeps else labels


def _of_rows_last(
    function: RowsFunction[Result], first_row: int, weights: Array | None, rows: Array
) -> Result:
    return function(rows, first_row, weights)


def _labels(function: Callable[[Array], Array], rows: Array) -> Array:
    labels: Array = _one_task(function, rows)
    return labels.astype(np.int32, copy=False)


def reduce_blocks(
    array: Any,
    function: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    merge: Callable[[Result, Result], Result],
) -> Result:
    """``function(*arguments, block)`` of all blocks of rows of an array, merged in order."""
    blocks = array.to_delayed(optimize_graph=False).reshape(-1, 1).tolist()
    work = partial(_one_task, function)
    result: Result = PartGraph(blocks, arguments).reduced(work, merge, new_name("rows"))
    return result


def _can_be_kept(array: Any) -> bool:
    """Whether workers can keep an array, or it is small enough for this process."""
    return has_workers() or array.nbytes <= SHARE_OF_BUDGET * memory_budget(None)
