"""Input of views in Dask: checked, with known lengths, as tasks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
import pandas as pd
from scipy import sparse

from anchorview._utils.typing import Array, FeatureNames
from anchorview.sources.dask.chunks import NOTHING, Chunks, array_chunks
from anchorview.sources.dask.frame_alignment import aligned, lengths_of, partitions
from anchorview.sources.dask.task_graph import Graph
from anchorview.views.input_grammar import parse
from anchorview.views.matrix_checks import as_matrix, common_length, frame_values
from anchorview.views.stored_view import StoredView


class DaskInput(NamedTuple):
    """Views as blocks of rows; a view that is None has no type, features or blocks."""

    names: tuple[str, ...]
    named: bool
    feature_names: tuple[FeatureNames | None, ...]
    n_samples: int
    widths: tuple[int, ...]
    dtypes: "tuple[np.dtype[Any] | None, ...]"
    chunks: list[Chunks]
    graph: Graph
    id_dtype: "np.dtype[Any] | None"
    """Type of the sample ids; None if there are none."""


def read_dask_input(X: Any) -> DaskInput:
    """Check views in Dask, and compute their lengths where these are unknown."""
    given = parse(X)
    descriptions = given.descriptions
    views = [_checked(view, d) for view, d in zip(given.views, descriptions, strict=True)]
    frames = [p for p, view in enumerate(views) if _is_frame(view)]
    graph, chunks = _frame_chunks(views, descriptions, frames)
    arrays = [p for p, view in enumerate(views) if isinstance(view, da.Array)]
    shown = [
        None if view is None else as_matrix(_shown(view, description, chunks.get(p)), description)
        for p, (view, description) in enumerate(zip(views, descriptions, strict=True))
    ]
    n = common_length(shown, given.names)
    # Optimized together, views that come from the same blocks read these once.
    optimized = dict(zip(arrays, dask.optimize(*(views[p] for p in arrays)), strict=True))
    for p, array in optimized.items():
        graph.update(array.dask)
        chunks[p] = array_chunks(array, graph)
    return DaskInput(
        given.names,
        given.named,
        given.feature_names,
        n,
        tuple(0 if view is None else view.shape[1] for view in shown),
        tuple(None if view is None else view.dtype for view in shown),
        [chunks.get(p, NOTHING) for p in range(len(views))],
        graph,
        _id_type([views[p]._meta.index.dtype for p in frames]),
    )


def _id_type(dtypes: Sequence[Any]) -> "np.dtype[Any] | None":
    """Common type of the sample ids of frames with indices of some types."""
    if not dtypes:
        return None
    whole = all(isinstance(dtype, np.dtype) and dtype.kind in "iu" for dtype in dtypes)
    common = np.result_type(*dtypes) if whole else np.dtype(object)
    return common if common.kind in "iu" else np.dtype(object)


def _is_frame(view: Any) -> bool:
    return dask.is_dask_collection(view) and isinstance(getattr(view, "_meta", None), pd.DataFrame)


def _checked(view: Any, description: str) -> Any:
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
    if dask.is_dask_collection(view):
        raise TypeError(
            f"{description} is a {type(view).__name__}. Give a dask array or a dask dataframe with "
            "one row per sample."
        )
    if isinstance(view, StoredView | np.memmap):
        raise TypeError(
            f"{description} is on disk, but another view is in Dask. Open it with "
            "anchorview.distributed.dask_views."
        )
    raise TypeError(
        f"{description} is in memory ({type(view).__name__}), but another view is in Dask. Wrap it "
        "with dask.array.from_array, or compute the other."
    )


def _frame_chunks(
    views: Sequence[Any], descriptions: Sequence[str], frames: Sequence[int]
) -> tuple[Graph, dict[int, Chunks]]:
    """Tasks of the dataframes, and the chunks of each."""
    for p in frames:
        frame_values(views[p]._meta, descriptions[p])
    only_frames = all(view is None or p in frames for p, view in enumerate(views))
    if len(frames) > 1 and only_frames and all(views[p].known_divisions for p in frames):
        found = aligned([views[p] for p in frames], [descriptions[p] for p in frames])
        keys = zip(frames, found.keys, strict=True)
        return found.graph, {p: Chunks(own, found.lengths) for p, own in keys}
    graph: Graph = {}
    chunks = {}
    for p in frames:
        tasks, own = partitions(views[p])
        graph.update(tasks)
        chunks[p] = Chunks(own, lengths_of(tasks, own))
    return graph, chunks


def _shown(view: Any, description: str, chunks: Chunks | None) -> Array:
    """Return an array of the shape and type of a view that takes no memory."""
    if chunks is None:
        shape, dtype = view.shape, view.dtype
    else:
        shape = (sum(chunks.lengths), len(view.columns))
        dtype = frame_values(view._meta, description).dtype
    if dtype.kind == "O" or (dtype.kind == "f" and dtype.itemsize > 8):
        dtype = np.dtype(np.float64)
    return np.broadcast_to(np.zeros((), dtype), shape)
