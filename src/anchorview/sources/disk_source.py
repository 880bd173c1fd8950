"""Views on disk, read part by part while other parts are processed."""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property, reduce
from math import lcm
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from scipy import sparse

from anchorview._utils.atomic_files import atomic_write_binary, require_writable
from anchorview._utils.errors import DataFileError
from anchorview._utils.memory import require_memory
from anchorview._utils.progress import report_progress
from anchorview._utils.text import format_bytes, quoted
from anchorview._utils.threads import ThreadBuffer, n_cores, parallel_map, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.blockwise_kmeans import LocalRows
from anchorview.core.cost_model import Plan, PlanRequest, plan_in_passes
from anchorview.datasets.formats.npy import from_memmap, open_npy, write_npy_header
from anchorview.datasets.formats.npy_folder import LABELS
from anchorview.sources.part_source import PartSource, placed_part
from anchorview.sources.results_folder import (
    EMBEDDING,
    require_results_folder,
    result_path,
    writing_results,
)
from anchorview.views.container import (
    MultiViewData,
    container_of_checked,
    container_of_rows,
)
from anchorview.views.input_grammar import NamedViews
from anchorview.views.matrix_checks import availability, common_length
from anchorview.views.row_source import Merge, PartFunction, Result, working_precision
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

_parts: defaultdict[int, ThreadBuffer] = defaultdict(ThreadBuffer)
"""Memory of the dense views of a part, by position."""


def workers() -> int:
    """Number of parts in process at a time: one per core, and one that is being read."""
    return n_cores() + 1


class DiskSource(PartSource):
    """Views that are read in parts, since some are on disk or results are to be written there.

    A view is a StoredView, an array, a CSR matrix or None; `budget` is how many bytes may be used.
    """

    def __init__(self, views: NamedViews, budget: float, nan_cells: bool = False) -> None:
        self.views = dict(zip(views.names, views.views, strict=True))
        self.names, self.named, self.feature_names = views.names, views.named, views.feature_names
        self.n = common_length(views.views, self.names)
        self.n_features_per_view = tuple(0 if v is None else int(v.shape[1]) for v in views.views)
        self.shape = self.n, sum(self.n_features_per_view)
        self.dtype = working_precision(v.dtype for v in views.views if v is not None)
        has = views.available
        self.available = None if has is None else availability(has, self.n, self.names)
        self._given_ids = views.sample_ids
        self.nan_cells = nan_cells
        self.budget = budget
        self._reserved = 0.0
        self._product_bytes = 0.0
        """Bytes of the products of a part, which are known once a fit is planned."""

    def __len__(self) -> int:
        return self.n

    @cached_property
    def sample_ids(self) -> "pd.Index[Any] | None":  # type: ignore[override]
        """Ids of the samples: given apart from the views, or else read from the first with ids."""
        if self._given_ids is not None:
            return self._given_ids
        stored = _stored(self.views.values())
        return next((ids for v in stored if (ids := v.ids(slice(self.n))) is not None), None)

    def _passing_part(self, rows: slice) -> MultiViewData:
        """Read some samples into memory that is used again for the next part."""
        views = dict(self.views)
        for p, (name, view) in enumerate(self.views.items()):
            if isinstance(view, StoredView) and not view.is_sparse:
                shape = (rows.stop - rows.start, view.shape[1])
                views[name] = _parts[p].array(shape, view.dtype)
                view.read_into(views[name], rows.start)
            elif view is not None:
                views[name] = view[rows]
        return self._part(rows, views)

    def _part(self, rows: slice, views: dict[str, Any]) -> MultiViewData:
        if self.complete:
            matrices = tuple(views.values())
            part = container_of_checked(
                matrices, self.names, self.named, None, None, self.feature_names
            )
        else:
            require_same_ids(self.views.values(), rows)
            part = self._checked_part(rows, views)
        return placed_part(part, rows.start, self.design, self._prepare)

    def _checked_part(self, rows: slice, views: dict[str, Any]) -> MultiViewData:
        available = None if self.available is None else self.available[rows]
        return container_of_rows(
            views, self.named, self.feature_names, available, rows.start, self.nan_cells
        )

    def _require_finite(self, rows: slice) -> None:
        """Raise if values are not finite that were so when the first pass checked them."""
        views = {name: None if view is None else view[rows] for name, view in self.views.items()}
        self._checked_part(rows, views)

    @property
    def slices(self) -> list[slice]:
        """Rows of all parts."""
        rows = self.part_rows
        return [slice(start, min(start + rows, self.n)) for start in range(0, self.n, rows)]

    @property
    def part_rows(self) -> int:
        """Number of rows of a part: as many as are useful, if the budget allows it."""
        useful = max(PART, PRODUCTS_PER_PART * self._product_bytes)
        budget = self.budget - self._reserved
        allowed = (budget - self._gram_memory) / (COPIES * workers())
        step = max(getattr(view, "row_step", 1) for view in self.views.values())
        minimum = min(step, self.n) * self._row_bytes
        if allowed < minimum:
            needed = self._gram_memory + COPIES * workers() * minimum
            raise MemoryError(
                f"Reading {self!r} needs {format_bytes(needed)}, as {min(step, self.n)} rows have "
                f"to be read at a time, but {format_bytes(budget)} may be used. Raise "
                "memory_limit, or store the views in smaller chunks with datasets.convert."
            )
        rows = int(min(useful, allowed) // self._row_bytes)
        whole_blocks = lcm(step, self.rows_per_block)
        step = whole_blocks if whole_blocks <= rows else step
        return max(1, rows // step) * step

    @property
    def _row_bytes(self) -> int:
        views = [view for view in self.views.values() if view is not None]
        return max(1, sum(_row_bytes(view, self.dtype.itemsize) for view in views))

    def plan(self, request: PlanRequest) -> Plan:
        """Plan of a fit in passes; raises if it needs more memory than it may use."""
        if request.keeps_embedding:
            self._reserve((self.n, request.n_anchors), self.dtype)
        planned, self._product_bytes = plan_in_passes(self, request)
        self._compresses = planned.route == "compressed"
        rows = min(self.part_rows, self.n)
        passing = self._gram_memory + COPIES * workers() * rows * self._row_bytes
        return replace(planned, memory={planned.route: self._reserved + passing})

    def _reserve(self, shape: tuple[int, ...], dtype: Any) -> None:
        """Reserve memory for a result and its labels, in place of what was reserved before."""
        needed = float(np.prod(shape)) * np.dtype(dtype).itemsize + 4.0 * self.n
        if needed > self.budget:
            raise MemoryError(
                f"The result for {self.n} samples needs {format_bytes(needed)}, but "
                f"{format_bytes(self.budget)} may be used. Write it to disk with out=, or raise "
                "memory_limit."
            )
        self._reserved = needed

    @property
    def _gram_memory(self) -> float:
        """Bytes of the products: of the parts in process or waiting, the sum, the factor."""
        return self._product_bytes * (2 * workers() + 4)

    def reduce_as_is(
        self, function: PartFunction[Result], merge: Merge[Result], stage: str
    ) -> Result:
        """``function`` of all parts, merged in order."""
        with closing(self._over_parts(function, stage)) as results:
            return reduce(merge, results)

    def _over_parts(
        self, function: Callable[[MultiViewData], Result], stage: str
    ) -> Generator[Result]:
        def work(rows: slice) -> Result:
            with without_nested_threads():
                result = function(self._passing_part(rows))
            if isinstance(result, np.ndarray) and not _is_finite(result):
                self._require_finite(rows)
            return result

        for rows, result in parallel_map(work, self.slices, workers()):
            report_progress(stage, rows.stop, self.n)
            yield result

    def map_rows(
        self,
        function: PartFunction[Array],
        width: int | None,
        dtype: Any,
        stage: str,
        out: Path | None,
    ) -> Array:
        """Rows that a function computes of the samples: an array, or a memory map of the file."""
        shape = (self.n,) if width is None else (self.n, width)
        if out is None:
            self._reserve(shape, dtype)
            return _filled_array(self._over_parts(function, stage), shape, np.dtype(dtype))
        if out.resolve() in self._files:
            raise ValueError(f"{out} is one of the views. Give another name.")
        require_writable(out)
        with atomic_write_binary(out) as (stream,):
            _write_npy(stream, self._over_parts(function, stage), shape, np.dtype(dtype))
        return np.load(out, mmap_mode="r")

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
        """Fields of the records that a function computes of the samples, and their summary."""
        shapes = {name: (self.n, *dtype[name].shape) for name in fields}
        total: list[Result] = []

        def blocks() -> Generator[Array]:
            with closing(self._over_parts(function, stage)) as parts:
                for records in parts:
                    of_part = summary(records)
                    total[:] = [merge(total[0], of_part) if total else of_part]
                    yield records

        if out is None:
            self._reserve((self.n,), dtype)
            arrays = {name: np.empty(shapes[name], dtype[name].base) for name in fields}
            start = 0
            for records in blocks():
                for name, array in arrays.items():
                    array[start : start + len(records)] = records[name]
                start += len(records)
            return arrays, total[0]
        with writing_results(out, self.sample_ids, self.n, fields) as streams:
            for name, stream in streams.items():
                write_npy_header(stream, shapes[name], dtype[name].base)
            for records in blocks():
                for name, stream in streams.items():
                    stream.write(np.ascontiguousarray(records[name], dtype[name].base).data)
            for stream in streams.values():
                stream.flush()
        maps = {name: np.load(result_path(out, name), mmap_mode="r") for name in fields}
        return maps, total[0]

    @contextmanager
    def embed(
        self, function: PartFunction[Array], width: int, out: Path | None
    ) -> Iterator["DiskRows"]:
        """Embed all samples, into memory or into files in the folder `out`."""
        shape = (self.n, width)
        blocks = self._over_parts(function, "embedding")
        if out is None:
            yield DiskRows(_filled_array(blocks, shape, self.dtype), None)
            return
        names = (EMBEDDING, LABELS)
        with writing_results(out, self.sample_ids, self.n, names) as streams:
            _write_npy(streams[EMBEDDING], blocks, shape, self.dtype)
            results = DiskRows(open_npy(Path(streams[EMBEDDING].name)), streams[LABELS])
            yield results
        results.embedding, results.labels = (
            np.load(result_path(out, name), mmap_mode="r") for name in names
        )

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
        return [view.path.resolve() for view in _stored(self.views.values())]

    def read(self) -> MultiViewData:
        """All samples, read; raises if they do not fit."""
        require_memory(
            float(sum(view.nbytes for view in _stored(self.views.values()))),
            f"Reading {self!r}",
            "Use DALMC with solver='compressed', which reads them part by part.",
            self.budget,
        )
        whole = {name: None if v is None else v[: self.n] for name, v in self.views.items()}
        data = self._part(slice(0, self.n), whole)
        data.sample_ids = self.sample_ids if data.sample_ids is None else data.sample_ids
        return data


class DiskRows(LocalRows):
    """The embedding and the labels, in memory or in files."""

    def __init__(self, rows: Array | StoredView, labels_file: BinaryIO | None) -> None:
        super().__init__(rows)
        self._labels_file = labels_file

    def label(self, function: Callable[[Array], Array]) -> None:
        """Label all rows by a function of a block of rows."""
        blocks = self.over_blocks(lambda rows, _: function(rows))
        shape, dtype = self.shape[:1], np.dtype(np.int32)
        if self._labels_file is None:
            self.labels = _filled_array(blocks, shape, dtype)
        else:
            _write_npy(self._labels_file, blocks, shape, dtype)


def view_on_disk(view: Any) -> Any:
    """Return a memory map as a view that is read from its file, anything else as it is."""
    stored = from_memmap(view) if isinstance(view, np.memmap) else None
    return view if stored is None else stored


def _stored(views: Iterable[Any]) -> list[StoredView]:
    return [view for view in views if isinstance(view, StoredView)]


def require_same_ids(views: Iterable[Any], rows: slice) -> None:
    """Raise if files with sample ids do not have the same ids in these rows."""
    with_ids = [(view, ids) for view in _stored(views) if (ids := view.ids(rows)) is not None]
    for view, ids in with_ids[1:]:
        first, expected = with_ids[0]
        differ = np.flatnonzero(np.asarray(ids != expected))
        if len(differ):
            i = int(differ[0])
            raise DataFileError(
                f"row {rows.start + i} is the sample {quoted(ids[i])} in {view.path} but "
                f"{quoted(expected[i])} in {first.path}. Tables that are read in parts need the "
                "same samples in the same order; datasets.convert aligns them."
            )


def _filled_array(
    blocks: Generator[Array], shape: tuple[int, ...], dtype: "np.dtype[Any]"
) -> Array:
    whole = np.empty(shape, dtype)
    start = 0
    with closing(blocks):
        for block in blocks:
            whole[start : start + len(block)] = block
            start += len(block)
    return whole


def _write_npy(
    stream: BinaryIO, blocks: Generator[Array], shape: tuple[int, ...], dtype: "np.dtype[Any]"
) -> None:
    """Write blocks of rows, one after the other, as an ``.npy`` file."""
    write_npy_header(stream, shape, dtype)
    with closing(blocks):
        for block in blocks:
            stream.write(np.ascontiguousarray(block, dtype).data)
    stream.flush()


def _row_bytes(view: Any, itemsize: int) -> int:
    """Bytes of a row while it is processed; of a sparse view, of the entries and their columns."""
    # Integers and half precision are converted before they are processed.
    size = max(view.dtype.itemsize, itemsize)
    if not (sparse.issparse(view) or getattr(view, "is_sparse", False)):
        return int(view.shape[1] * size)
    stored = view.n_stored if isinstance(view, StoredView) else view.nnz  # type: ignore[attr-defined]
    return int(-(-stored * (size + INDEX_BYTES) // view.shape[0]))


def _is_finite(rows: Array) -> bool:
    """Whether all values of an array, or of the fields of records, are finite."""
    if rows.dtype.names is not None:
        return all(_is_finite(rows[name]) for name in rows.dtype.names)
    return bool(np.isfinite(np.sum(rows)))
