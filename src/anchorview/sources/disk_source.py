"""Samples that are not in memory: sources that process them part by part, and views on disk.

Views on disk are read part by part while other parts are processed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from copy import copy
from dataclasses import replace
from functools import cached_property, partial, reduce
from itertools import zip_longest
from math import lcm
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import gen_batches

from anchorview._utils.atomic_files import atomic_write_binary, require_writable
from anchorview._utils.errors import DataFileError
from anchorview._utils.memory import require_memory
from anchorview._utils.progress import report_progress
from anchorview._utils.threads import ThreadBuffer, n_cores, parallel_map, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.centers import EmbeddedRows
from anchorview.datasets.formats.arrays import LABELS, from_memmap, open_npy, write_npy_header
from anchorview.sources.results_folder import (
    EMBEDDING,
    require_results_folder,
    result_path,
    writing_results,
)
from anchorview.views.alignment import different_ids
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
    Records,
    Result,
    RowFunction,
    RowSource,
    merge_both,
    of_known_samples,
    rows_per_block,
)
from anchorview.views.stored_view import StoredView

PART = 32 * 2**20
"""Bytes of a part, if memory allows it. Of 8 to 32 MB, tried on 2,000,000 x 512 float32 values in
``.npy`` files on two cores, the fastest."""

PRODUCTS_PER_PART = 4
"""Minimum size of a part, in sizes of its Gram matrix: adding up the matrices of smaller parts
would cost as much as reading."""

INDEX_BYTES = 8
"""Maximum size of the column index of an entry of a sparse view."""

COPIES = 4
"""Memory of a part while it is read, converted, checked and scaled, in sizes of the part."""


def workers() -> int:
    """Number of parts in process at a time: one per core, and one that is being read."""
    return n_cores() + 1


def in_whole_blocks(rows: int, step: int, block: int) -> int:
    """Number of rows as a multiple of `step` and, if that is not more, of rows of a block."""
    both = lcm(step, block)
    step = both if both <= rows else step
    return max(1, rows // step) * step


class PartSource(RowSource, ABC):
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

    @abstractmethod
    def with_room(self, products: float, n_columns: int) -> Self:
        """Source whose passes leave room for products of a part, in bytes, and for a result."""

    @abstractmethod
    def pass_memory(self) -> float:
        """Bytes that a pass over the samples needs beyond them."""

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


class DiskSource(PartSource):
    """Views that are read in parts, since some are on disk or results are to be written there.

    A view is a StoredView, an array, a CSR matrix, a table or None; `budget` is how many bytes may
    be used.
    """

    _products = 0.0
    """Bytes of the products of a part, for which a fit needs room."""
    _result = 0.0
    """Bytes of the result that stays in memory."""

    def __init__(self, views: NamedViews, budget: float) -> None:
        self.set_schema(views, views.views)
        has = views.available
        has = None if has is None else availability(has, len(self), self.names)
        self.views = replace(views, available=has)
        self._stored = [view for view in views.views if isinstance(view, StoredView)]
        self.budget = budget

    @cached_property
    def sample_ids(self) -> "pd.Index[Any] | None":  # type: ignore[override]
        """Ids of the samples: given apart from the views, or else read from the first with ids."""
        if self.views.sample_ids is not None:
            return self.views.sample_ids
        all_rows = slice(len(self))
        return next((ids for v in self._stored if (ids := v.ids(all_rows)) is not None), None)

    def _part(self, rows: slice, buffers: Iterable[ThreadBuffer | None] = ()) -> MultiViewData:
        """Read some samples, into buffers if given, and prepare them."""
        matrices = [
            view.read(rows, buffer)
            if isinstance(view, StoredView)
            else (None if view is None else view[rows])
            for view, buffer in zip_longest(self.views.views, buffers)
        ]
        has = None if self.views.available is None else self.views.available[rows]
        views = replace(self.views, views=matrices, available=has, sample_ids=None)
        if not self.complete:
            require_same_ids(self._stored, rows)
        return self.prepared_part(views, rows.start)

    def _part_rows(self, result: float) -> int:
        """Number of rows of a part: as many as are useful, if the budget allows it.

        `result` are the bytes of what is collected meanwhile.
        """
        useful = max(PART, PRODUCTS_PER_PART * self._products)
        budget = self.budget - result
        allowed = (budget - self._gram_memory) / (COPIES * workers())
        row_bytes = self._row_bytes
        step = max(getattr(view, "row_step", 1) for view in self.views.views)
        least = max(getattr(view, "least_step", 1) for view in self.views.views)
        least = min(least, len(self))
        require_memory(
            self._gram_memory + COPIES * workers() * least * row_bytes,
            f"Reading the views, whose rows have to be read {least} at a time,",
            "Raise memory_limit, or store the views in smaller chunks with datasets.convert.",
            budget,
        )
        if min(step, len(self)) * row_bytes > allowed:
            step = least
        rows = int(min(useful, allowed) // row_bytes)
        return in_whole_blocks(rows, step, self.rows_per_block)

    @property
    def _row_bytes(self) -> int:
        views = [view for view in self.views.views if view is not None]
        return max(1, sum(_row_bytes(view, self.dtype.itemsize) for view in views))

    def with_room(self, products: float, n_columns: int) -> Self:
        source = copy(self)
        source._products = products
        source._result = self._result_bytes((len(self), n_columns), self.dtype) if n_columns else 0
        return source

    def pass_memory(self) -> float:
        """Bytes that a pass needs: results, products, and the parts in process."""
        rows = min(self._part_rows(self._result), len(self))
        return self._result + self._gram_memory + COPIES * workers() * rows * self._row_bytes

    def _result_bytes(self, shape: tuple[int, ...], dtype: Any) -> float:
        """Bytes of a result in memory and of its labels; raises if they are too many."""
        needed = float(np.prod(shape)) * np.dtype(dtype).itemsize + 4.0 * len(self)
        advice = "Write it to disk with out=, or raise memory_limit."
        require_memory(needed, f"The result for {len(self)} samples", advice, self.budget)
        return needed

    @property
    def _gram_memory(self) -> float:
        """Bytes of the products: of the parts in process or waiting, the sum, the factor."""
        return self._products * (2 * workers() + 4)

    def reduce_as_is(
        self, function: PartFunction[Result], merge: Merge[Result], stage: str
    ) -> Result:
        with closing(self._over_parts(function, stage)) as results:
            return reduce(merge, results)

    def for_each_part(self, function: PartFunction[None], stage: str) -> None:
        for rows in gen_batches(len(self), self._part_rows(self._result)):
            function(self._part(rows))
            report_progress(stage, rows.stop, len(self))

    def _over_parts(
        self, function: Callable[[MultiViewData], Result], stage: str, result: float | None = None
    ) -> Generator[Result]:
        """Yield the results of all parts in order; `result` are the bytes that collect them."""
        part_rows = self._part_rows(self._result if result is None else result)
        buffers = [ThreadBuffer() for _ in self.names]

        def work(rows: slice) -> Result:
            with without_nested_threads():
                return function(self._part(rows, buffers))

        parts = list(gen_batches(len(self), part_rows))
        for rows, found in parallel_map(work, parts, workers()):
            report_progress(stage, rows.stop, len(self))
            yield found

    def map_rows(
        self, function: RowFunction, width: int | None, dtype: Any, stage: str, out: Path | None
    ) -> Any:
        shape = (len(self),) if width is None else (len(self), width)
        function = partial(of_known_samples, function, width, dtype)
        if out is None:
            blocks = self._over_parts(function, stage, self._result_bytes(shape, dtype))
            return CollectedRows(shape, dtype).filled(blocks)
        if out.resolve() in self._files:
            raise ValueError(f"{out} is one of the views. Give another name.")
        require_writable(out)
        with atomic_write_binary(out) as (stream,):
            CollectedRows(shape, dtype, stream).filled(self._over_parts(function, stage))
        return np.load(out, mmap_mode="r")

    def map_fields(
        self, records: Records[Result], fields: Sequence[str], out: Path | None
    ) -> tuple[dict[str, Any], Result]:
        dtype = records.dtype
        kept = None if out is not None else self._result_bytes((len(self),), dtype)
        with self._results(out, fields) as streams:
            rows = {
                name: CollectedRows((len(self), *dtype[name].shape), dtype[name].base, stream)
                for name, stream in streams.items()
            }

            def summarized(block: Array) -> Result:
                for name, collected in rows.items():
                    collected.append(block[name])
                return records.summary(block)

            function = partial(of_known_samples, records.function, None, dtype)
            with closing(self._over_parts(function, "labeling", kept)) as blocks:
                total = reduce(records.merge, map(summarized, blocks))
        return {name: _result(out, name, rows[name].array) for name in fields}, total

    def _results(
        self, out: Path | None, names: Sequence[str]
    ) -> AbstractContextManager[Mapping[str, BinaryIO | None]]:
        """Streams of the files of results in a folder; None for results in memory."""
        if out is None:
            return nullcontext(dict.fromkeys(names))
        return writing_results(out, self.sample_ids, len(self), names)

    @contextmanager
    def embed(self, function: RowFunction, width: int, out: Path | None) -> Iterator["DiskRows"]:
        """Embed all samples, into memory or into files in the folder `out`."""
        with self._results(out, (EMBEDDING, LABELS)) as streams:
            stream, blocks = streams[EMBEDDING], self._over_parts(function, "embedding")
            rows = CollectedRows((len(self), width), self.dtype, stream).filled(blocks)
            stored = rows if stream is None else open_npy(Path(stream.name))
            results = DiskRows(stored, self.sample_weight, streams[LABELS])
            yield results
        results.embedding = _result(out, EMBEDDING, results.embedding)
        results.labels = _result(out, LABELS, results.labels)

    def require_output_folder(self, out: Path) -> None:
        """Raise if results cannot be written to a folder, or it is the folder of the views."""
        if any(path.parent == out.resolve() for path in self._files):
            raise ValueError(
                f"{out} is the folder of the views: results would replace files there, or be taken "
                "for views. Give another folder."
            )
        require_results_folder(out)

    @property
    def _files(self) -> list[Path]:
        return [view.path.resolve() for view in self._stored]

    def read(self) -> MultiViewData:
        """All samples, read; raises if they do not fit."""
        require_memory(
            float(sum(view.nbytes for view in self._stored)),
            f"Reading {self!r}",
            "Use DALMC with solver='compressed', which reads them part by part.",
            self.budget,
        )
        data = self._part(slice(0, len(self)))
        data.sample_ids = self.sample_ids if data.sample_ids is None else data.sample_ids
        return data


class DiskRows(EmbeddedRows):
    """The embedding and the labels, in memory or in files."""

    def __init__(self, rows: Any, weights: Array | None, labels_file: BinaryIO | None) -> None:
        super().__init__(rows, weights)
        self._labels_file = labels_file

    def label(self, function: Callable[[Array], Array]) -> None:
        """Label all rows by a function of a block of rows."""
        blocks = self.over_blocks(lambda rows, *_: function(rows))
        self.labels = CollectedRows(self.shape[:1], np.int32, self._labels_file).filled(blocks)


def view_on_disk(view: Any) -> Any:
    """Return a memory map as a view that is read from its file, anything else as it is."""
    stored = from_memmap(view) if isinstance(view, np.memmap) else None
    return view if stored is None else stored


def require_same_ids(views: Iterable[StoredView], rows: slice) -> None:
    """Raise if files with sample ids do not have the same ids in these rows."""
    with_ids = [(f"{view.path}", ids) for view in views if (ids := view.ids(rows)) is not None]
    if with_ids and (problem := different_ids(with_ids, rows.start)):
        raise DataFileError(
            f"{problem}. Tables that are read in parts need the same samples in the same order; "
            "datasets.convert aligns them."
        )


class CollectedRows:
    """Rows that come in blocks, in memory or written one after the other to an ``.npy`` file."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, stream: BinaryIO | None = None) -> None:
        self.stream, self.dtype, self.n = stream, np.dtype(dtype), 0
        self.array = np.empty(shape, dtype) if stream is None else None
        if stream is not None:
            write_npy_header(stream, shape, self.dtype)

    def append(self, block: Array) -> None:
        """Add some rows."""
        if self.array is not None:
            self.array[self.n : self.n + len(block)] = block
            self.n += len(block)
        elif self.stream is not None:
            self.stream.write(np.ascontiguousarray(block, self.dtype).data)

    def filled(self, blocks: Generator[Array]) -> Array | None:
        """Rows of all blocks as an array; None if they are written to a stream."""
        with closing(blocks):
            for block in blocks:
                self.append(block)
        if self.stream is not None:
            self.stream.flush()
        return self.array


def _result(out: Path | None, name: str, in_memory: Any) -> Any:
    """Return a result as a memory map of its file in the folder `out`, if there is one."""
    return in_memory if out is None else np.load(result_path(out, name), mmap_mode="r")


def _row_bytes(view: Any, itemsize: int) -> int:
    """Bytes of a row while it is processed; of a sparse view, of the entries and their columns."""
    # Integers and half precision are converted before they are processed.
    size = max(getattr(view, "cell_bytes", view.dtype.itemsize), itemsize)
    stored = getattr(view, "n_stored", None) if not sparse.issparse(view) else view.nnz
    if stored is None:
        return int(view.shape[1] * size)
    return int(-(-stored * (size + INDEX_BYTES) // view.shape[0]))
