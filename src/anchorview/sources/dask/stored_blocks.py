"""Views on disk as dask arrays whose blocks are read by the workers."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import lcm
from typing import Any, TypeAlias

import dask.array as da
import numpy as np

from anchorview._utils.typing import Array
from anchorview.datasets.conversion import with_nan
from anchorview.sources.dask.dask_input import useful_bytes
from anchorview.sources.disk_source import require_same_ids, view_on_disk
from anchorview.views.input_grammar import parse
from anchorview.views.matrix_checks import availability, common_length
from anchorview.views.row_source import rows_per_block, working_precision
from anchorview.views.stored_view import StoredView, ViewFile

ViewOnDisk: TypeAlias = "StoredView | np.memmap[Any, Any]"

PART = 64 * 2**20
"""Bytes of a block of all views together, unless the Gram matrix is large in comparison."""


def dask_views(
    views: ViewFile | Mapping[str, ViewOnDisk] | Sequence[ViewOnDisk],
    part_rows: int | None = None,
) -> Any:
    """Views on disk as dask arrays whose blocks the workers read themselves.

    All workers must find the files under the same paths. ``dask.array.from_array`` of a memory map
    would send the data with the graph instead.

    Parameters
    ----------
    views : ViewFile, or dict, list or tuple of StoredView or numpy.memmap
        As returned by :func:`anchorview.open_views`, with the same samples in the same order.
        Rows of samples that lack a view become NaN; sample ids are not kept.
    part_rows : int, default=None
        Number of rows of a block, rounded up to a multiple that can be read efficiently. If None,
        such that the blocks of all views together have about 64 MB.

    Returns
    -------
    dict or list of dask arrays
        With the same row chunks.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from anchorview.datasets.formats.npy import open_npy
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "text.npy", np.arange(12.0).reshape(4, 3))
    ...     views = dask_views({"text": open_npy(Path(folder) / "text.npy")}, part_rows=2)
    ...     views["text"].chunks, views["text"][3].compute()
    (((2, 2), (3,)), array([ 9., 10., 11.]))
    """
    given = parse(views)
    names = given.names
    stored = [
        _required_on_disk(view, description)
        for view, description in zip(given.views, given.descriptions, strict=True)
    ]
    n = common_length(stored, names)
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


def _required_on_disk(view: Any, description: str) -> StoredView:
    stored = view_on_disk(view)
    if isinstance(stored, StoredView):
        return stored
    raise TypeError(
        f"{description} is not on disk ({type(view).__name__}), or its rows do not follow each "
        "other in a file. Wrap an array with dask.array.from_array, with the chunks of the others; "
        "save a memory map with numpy.save, and open the folder with open_views."
    )


def _part_rows(views: Sequence[StoredView], wanted: int | None) -> int:
    step = max(view.row_step for view in views)
    if wanted is None:
        row_bytes = sum(view.shape[1] * view.dtype.itemsize for view in views)
        width = sum(view.shape[1] for view in views)
        wanted = max(1, int(useful_bytes(width, PART) // row_bytes))
        blocks = rows_per_block(width, working_precision(view.dtype for view in views))
        step = lcm(step, blocks) if lcm(step, blocks) <= wanted else step
        return max(1, wanted // step) * step
    if wanted < 1:
        raise ValueError(f"part_rows={wanted}: a part needs at least one row.")
    return -(-wanted // step) * step


def _array(view: StoredView, first: list[StoredView], n: int, rows: int, has: Array | None) -> Any:
    """Array of a view in blocks of `rows` rows; `first` is the first view with sample ids."""
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


def _read_block(
    view: StoredView,
    first: list[StoredView],
    rows: int,
    *has: Array,
    block_id: tuple[int, ...],
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
