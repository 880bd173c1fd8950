"""Input of views in Dask: checked, aligned by index, with known lengths, as blocks of rows.

Views on disk become dask arrays with blocks that the workers read.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple, TypeAlias

import dask
import dask.array as da
import numpy as np
import pandas as pd
from dask.delayed import Delayed
from scipy import sparse

from anchorview._utils.text import quoted
from anchorview._utils.typing import Array
from anchorview.datasets.conversion import with_nan
from anchorview.sources.dask.part_graph import PartGraph, new_name, reporting
from anchorview.sources.disk_source import (
    PRODUCTS_PER_PART,
    in_whole_blocks,
    require_same_ids,
    view_on_disk,
)
from anchorview.views.alignment import (
    require_shared_ids,
    require_unique_ids,
    union_of_ids,
    warn_if_few_shared,
)
from anchorview.views.container import availability
from anchorview.views.input_grammar import NamedViews, parse
from anchorview.views.matrix_checks import as_matrix, require_same_length
from anchorview.views.row_source import rows_per_block, working_precision
from anchorview.views.stored_view import StoredView, ViewFile
from anchorview.views.table_columns import TableView, frame_values

SMALL_PART = 16 * 2**20
"""Parts of fewer bytes are combined, since each costs a task and its result."""

LARGEST_PART = 512 * 2**20
"""Maximum number of bytes of combined parts, however many features there are: a worker holds
several times as much in memory."""

FILE_PART = 64 * 2**20
"""Bytes of a block of views on disk, unless the Gram matrix is large in comparison."""

ViewOnDisk: TypeAlias = "StoredView | np.memmap[Any, Any]"


class Blocks(NamedTuple):
    """Blocks of rows of a view; none for a view that is None."""

    delayed: Sequence[Delayed] = ()
    lengths: tuple[int, ...] = ()

    def cut_at(self, bounds: Sequence[int]) -> list[list[Delayed]]:
        """Blocks of each part: whole ones, or rows cut from them by tasks."""
        starts = np.cumsum((0, *self.lengths)).tolist()
        parts: list[list[Delayed]] = [[] for _ in bounds[1:]]
        for part, (first, last) in zip(parts, pairwise(bounds), strict=True):
            # From the block with the first row on; a block may extend beyond the part.
            stop = min(bisect_left(starts, last), len(self.delayed))
            for j in range(bisect_right(starts, first) - 1, stop):
                begin, end = max(first, starts[j]) - starts[j], min(last, starts[j + 1]) - starts[j]
                if end - begin == self.lengths[j]:
                    part.append(self.delayed[j])
                else:
                    part.append(dask.delayed(_cut, pure=False)(self.delayed[j], begin, end))
        return parts


def _cut(block: Any, begin: int, end: int) -> Any:
    # A copy, so that a piece that is sent or kept does not keep the whole block alive.
    rows = block.iloc if isinstance(block, pd.DataFrame) else block
    return rows[begin:end].copy()


def useful_bytes(width: int, minimum: float) -> float:
    """Number of bytes of samples with `width` features that is worth a task."""
    return max(minimum, min(PRODUCTS_PER_PART * 8.0 * width**2, LARGEST_PART))


def part_bounds(lengths: Sequence[int], row_bytes: float, useful: float) -> list[int]:
    """First rows of the parts, and the end: those of the blocks, with small blocks combined.

    Examples
    --------
    >>> part_bounds([10, 10, 10, 50, 10], row_bytes=1, useful=20)
    [0, 20, 80, 90]
    """
    bounds = [0]
    ends = np.cumsum(lengths).tolist()
    for end in ends:
        if (end - bounds[-1]) * row_bytes >= useful:
            bounds.append(end)
    return bounds if bounds[-1] == ends[-1] else [*bounds, ends[-1]]


def view_blocks(given: NamedViews) -> tuple[list[Array | None], list[Blocks]]:
    """Empty arrays of the shapes and types of views that were checked, and their blocks."""
    blocks = _frame_blocks(given)
    shown = [
        None if view is None else as_matrix(_shown(view, description, blocks.get(p)), description)
        for p, (view, description) in enumerate(zip(given.views, given.descriptions, strict=True))
    ]
    arrays = {p: v.rechunk({1: -1}) for p, v in enumerate(given.views) if isinstance(v, da.Array)}
    # Optimized together, views that come from the same blocks read these once.
    for p, array in zip(arrays, dask.optimize(*arrays.values()), strict=True):
        blocks[p] = Blocks(array.to_delayed(optimize_graph=False).ravel().tolist(), array.chunks[0])
    return shown, [blocks.get(p, Blocks()) for p in range(len(given.views))]


def id_type(views: Sequence[Any]) -> "np.dtype[Any] | None":
    """Common type of the sample ids; None if no view is a dataframe."""
    dtypes = [view._meta.index.dtype for view in views if _is_frame(view)]
    if not dtypes:
        return None
    whole = all(isinstance(dtype, np.dtype) and dtype.kind in "iu" for dtype in dtypes)
    # Of signed and unsigned integers, it is a float.
    common = np.result_type(*dtypes) if whole else np.dtype(float)
    return common if common.kind in "iu" else np.dtype(object)


def _is_frame(view: Any) -> bool:
    return dask.is_dask_collection(view) and isinstance(getattr(view, "_meta", None), pd.DataFrame)


def table_kinds(views: Sequence[Any]) -> dict[int, tuple[str, ...]]:
    """Kinds of the columns of dataframes with others than numbers."""
    frames = {p: view._meta_nonempty for p, view in enumerate(views) if _is_frame(view)}
    tables = {p: TableView(frame, "") for p, frame in frames.items()}
    return {p: table.kinds for p, table in tables.items() if not table.is_numeric}


def checked_view(view: Any, description: str) -> Any:
    """Return a view, with known lengths if it is an array; raise if it is not in Dask."""
    if view is None or _is_frame(view):
        return view
    if isinstance(view, da.Array):
        if not (isinstance(view._meta, np.ndarray) or sparse.issparse(view._meta)):
            raise TypeError(
                f"{description} has blocks of {type(view._meta).__name__}, not NumPy arrays or "
                "scipy.sparse matrices. Convert them with map_blocks."
            )
        return view if not np.isnan(view.shape).any() else view.copy().compute_chunk_sizes()
    raise TypeError(
        f"{description} is of type {type(view).__name__}, but another view is in Dask. Give all "
        "views as dask arrays or dataframes with one row per sample: those in memory with "
        "dask.array.from_array, those on disk with anchorview.distributed.dask_views."
    )


def _frame_blocks(given: NamedViews) -> dict[int, Blocks]:
    """Blocks of dataframes, which are aligned by index if that is known of all views."""
    frames = {p: view for p, view in enumerate(given.views) if _is_frame(view)}
    names = tuple(given.descriptions[p] for p in frames)
    for frame, name in zip(frames.values(), names, strict=True):
        frame_values(frame._meta_nonempty, name)
    n_views = sum(view is not None for view in given.views)
    known = all(frame.known_divisions for frame in frames.values())
    if known and n_views == len(frames) > 1:
        aligned = _aligned(list(frames.values()), names, given.expects_shared_ids)
        return dict(zip(frames, aligned, strict=True))
    blocks = {}
    for p, frame in frames.items():
        # Lengths of these partitions: Dask may combine others if it does not read all columns.
        partitions = frame.to_delayed()
        lengths = dask.compute(*(dask.delayed(len)(partition) for partition in partitions))
        blocks[p] = Blocks(partitions, lengths)
    return blocks


def _shown(view: Any, description: str, blocks: Blocks | None) -> Array:
    """Return an array with the shape and type of a view that takes no memory."""
    if blocks is None:
        shape, dtype = view.shape, view.dtype
    else:
        shape = (sum(blocks.lengths), len(view.columns))
        dtype = frame_values(view._meta_nonempty, description).dtype
    if dtype.kind == "O" or (dtype.kind == "f" and dtype.itemsize > 8):
        dtype = np.dtype(np.float64)
    return np.broadcast_to(np.zeros((), dtype), shape)


def _aligned(
    frames: Sequence[Any], names: tuple[str, ...], expects_shared_ids: bool
) -> list[Blocks]:
    """Frames with known divisions, aligned; a sample that a frame lacks becomes a row of NaN."""
    try:
        cuts = sorted(set().union(*(frame.divisions for frame in frames)))
    except TypeError:
        examples = ", ".join(
            f"{name} has ids like {quoted(frame.divisions[0])}"
            for frame, name in zip(frames, names, strict=True)
        )
        raise ValueError(
            f"The sample ids cannot be compared: {examples}. Samples are aligned by index; "
            "convert the ids to one type."
        ) from None
    cuts = cuts if len(cuts) > 1 else 2 * cuts
    # Divided by ids, these partitions do not depend on the columns that are read.
    ids = _divided([frame[[]] for frame in frames], cuts)
    stage = new_name("ids")
    with reporting("aligning", stage, len(ids)):
        counted = PartGraph(ids, [(names,)] * len(ids)).reduced(_shared_ids, add, stage)
    lengths, counts, ids_of_parts = zip(*counted, strict=True)
    shared = np.sum(counts, axis=0)
    examples_of = [
        next((x for x in ids if x is not None), None) for ids in zip(*ids_of_parts, strict=True)
    ]
    require_shared_ids(shared, names, examples_of)
    if expects_shared_ids:
        warn_if_few_shared(shared, names, lambda p, q: (examples_of[p], examples_of[q]))
    align = dask.delayed(_aligned_parts, pure=False, nout=len(frames))
    partitions = [list(align(names, *inputs)) for inputs in _divided(frames, cuts)]
    return [Blocks(of_frame, lengths) for of_frame in zip(*partitions, strict=True)]


def _divided(frames: Sequence[Any], cuts: list[Any]) -> list[tuple[Delayed, ...]]:
    """Partitions between two cuts in all frames."""
    divided = [frame.repartition(divisions=cuts, force=True).to_delayed() for frame in frames]
    return list(zip(*divided, strict=True))


def _shared_ids(descriptions: tuple[str, ...], *frames: pd.DataFrame) -> tuple[Any, ...]:
    """Number of samples, how many of them two frames share, and an id of each frame, or None."""
    ids = _union(descriptions, frames)
    has = np.array([ids.isin(frame.index) for frame in frames], dtype=int)
    examples = [next(iter(frame.index[:1].tolist()), None) for frame in frames]
    return ((len(ids), has @ has.T, examples),)


def _union(descriptions: tuple[str, ...], frames: Sequence[pd.DataFrame]) -> "pd.Index[Any]":
    for frame, description in zip(frames, descriptions, strict=True):
        require_unique_ids(frame.index, description)
    return union_of_ids([frame.index for frame in frames])


def _aligned_parts(descriptions: tuple[str, ...], *frames: pd.DataFrame) -> list[pd.DataFrame]:
    ids = _union(descriptions, frames)
    aligned = []
    for frame in frames:
        if not frame.index.equals(ids):
            # pandas would convert small integers beside NaN to float64, in some parts only.
            if all(isinstance(dtype, np.dtype) and dtype.kind in "bui" for dtype in frame.dtypes):
                frame = frame.astype(working_precision(frame.dtypes))
            frame = frame.reindex(ids)
        aligned.append(frame)
    return aligned


def dask_views(
    views: ViewFile | Mapping[str, ViewOnDisk] | Sequence[ViewOnDisk], part_rows: int | None = None
) -> Any:
    """Views on disk as dask arrays, or dataframes, with blocks that the workers read.

    All workers must find the files under the same paths. ``dask.array.from_array`` of a memory map
    would send the data with the graph instead.

    Parameters
    ----------
    views : ViewFile, or dict, list or tuple of StoredView or numpy.memmap
        As returned by :func:`anchorview.open_views`, with the same samples in the same order.
        Rows of samples that lack a view become NaN; sample ids are kept in dataframes only.
    part_rows : int, default=None
        Number of rows of a block, rounded up to a multiple that can be read efficiently. If None,
        such that the blocks of all views together have about 64 MB.

    Returns
    -------
    dict or list of dask arrays
        With the same row chunks. Tables with columns other than numbers are dataframes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from anchorview.datasets.formats.arrays import open_npy
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "text.npy", np.arange(12.0).reshape(4, 3))
    ...     views = dask_views({"text": open_npy(Path(folder) / "text.npy")}, part_rows=2)
    ...     views["text"].chunks, views["text"][3].compute()
    (((2, 2), (3,)), array([ 9., 10., 11.]))
    """
    given = parse(views)
    names = given.names
    stored: list[StoredView] = list(map(view_on_disk, given.views))
    for view, description in zip(stored, given.descriptions, strict=True):
        if not isinstance(view, StoredView):
            raise TypeError(
                f"{description} is not on disk ({type(view).__name__}), or its rows do not follow "
                "each other in a file. Wrap an array with dask.array.from_array, with the chunks "
                "of the others; save a memory map with numpy.save, and open the folder with "
                "open_views."
            )
    require_same_length(stored, names)
    n = stored[0].shape[0]
    rows = _part_rows(stored, part_rows)
    has = None if given.available is None else availability(given.available, n, names)
    for p, view in enumerate(stored):
        if has is not None and view.is_sparse and not has[:, p].all():
            lacking = int((~has[:, p]).sum())
            raise ValueError(
                f"{given.descriptions[p]} is sparse, and {lacking} samples lack it, which blocks "
                "of a dask array cannot say. Fit without Dask, or with join='inner'."
            )
    by_name = [view for view in stored if view.ids(slice(0, 1)) is not None]
    arrays = [
        _array(view, by_name[:1], n, rows, None if has is None else has[:, p])
        for p, view in enumerate(stored)
    ]
    return dict(zip(names, arrays, strict=True)) if given.named else arrays


def _part_rows(views: Sequence[StoredView], wanted: int | None) -> int:
    step = max(view.row_step for view in views)
    if wanted is None:
        row_bytes = sum(view.shape[1] * view.cell_bytes for view in views)
        width = sum(view.shape[1] for view in views)
        block = rows_per_block(width, working_precision(view.dtype for view in views))
        return in_whole_blocks(int(useful_bytes(width, FILE_PART) // row_bytes), step, block)
    if wanted < 1:
        raise ValueError(f"part_rows={wanted}: a part needs at least one row.")
    return -(-wanted // step) * step


def _array(view: StoredView, first: list[StoredView], n: int, rows: int, has: Array | None) -> Any:
    """Array or dataframe of a view in blocks of `rows` rows.

    `first` is the first view with sample ids.
    """
    if view.kinds:
        import dask.dataframe as dd

        read = partial(_read_frame, view, first, rows)
        return dd.from_map(read, range(0, n, rows), meta=read(0).iloc[:0])
    lengths = tuple(min(rows, n - start) for start in range(0, n, rows))
    dtype, masks = view.dtype, []
    if has is not None and not has.all():
        dtype = with_nan(view.dtype)
        masks = [da.from_array(has[:, None], chunks=(lengths, (1,)))]
    return da.map_blocks(
        partial(_read_block, view, first, rows),
        *masks,
        chunks=(lengths, (view.shape[1],)),
        dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )


def _read_frame(view: StoredView, first: list[StoredView], rows: int, start: int) -> pd.DataFrame:
    """Read a block of a table, with the sample ids or the numbers of rows as its index."""
    part = slice(start, min(start + rows, len(view)))
    require_same_ids([*first, view], part)
    ids = view.ids(part)
    frame: pd.DataFrame = view[part].frame
    return frame.set_axis(range(part.start, part.stop) if ids is None else ids)


def _read_block(
    view: StoredView, first: list[StoredView], rows: int, *has: Array, block_id: tuple[int, ...]
) -> Array:
    """Read a block; rows of samples that lack the view become NaN."""
    start = block_id[0] * rows
    part = slice(start, min(start + rows, len(view)))
    if view not in first:
        require_same_ids([*first, view], part)
    block = view[part]
    if has:
        block = block.astype(with_nan(view.dtype), copy=False)
        block[~has[0][:, 0]] = np.nan
    return block
