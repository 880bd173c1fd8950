"""Which input is read in parts, and the source that reads it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from anchorview._utils.memory import memory_budget
from anchorview.core.row_source import RowSource
from anchorview.datasets.formats.npy import from_memmap
from anchorview.sources.disk_source import StreamedViews
from anchorview.views.container import MultiViewData
from anchorview.views.input_grammar import aligned_matrices
from anchorview.views.stored_view import StoredView
from anchorview.views.view_file import ViewFile


def source_of(
    X: Any, memory_limit: float | str | None = None, *, always: bool = False
) -> RowSource | None:
    """Source of the samples if some view is on disk or in Dask, else None.

    Parameters
    ----------
    X : views in any form that estimators take
    memory_limit : float, str or None
        Bytes that may be used.
    always : bool
        Whether samples in memory get a source too, since their results are not to be.
    """
    source = _source_of(X, memory_limit)
    if source is None and always:
        return _of_memory(MultiViewData(X), memory_limit)
    return source


def _source_of(X: Any, memory_limit: float | str | None) -> RowSource | None:
    if isinstance(X, RowSource):
        return X
    available, ids = None, None
    if isinstance(X, ViewFile):
        X, available, ids = X.views, X.available, X.sample_ids
    if isinstance(X, MultiViewData):
        return None
    several = isinstance(X, list | tuple)
    items = list(X.values()) if isinstance(X, Mapping) else list(X) if several else [X]
    if any(hasattr(view, "__dask_graph__") for view in items):
        from anchorview.distributed import DaskViews

        return DaskViews(X, memory_budget(memory_limit))
    stored = [on_disk(view) for view in items]
    if not any(isinstance(view, StoredView) for view in stored):
        return None
    views = dict(zip(X, stored, strict=True)) if isinstance(X, Mapping) else stored
    names, named, matrices, own_ids = aligned_matrices(views)
    return StreamedViews(
        dict(zip(names, matrices, strict=True)),
        named,
        available,
        ids if own_ids is None else own_ids,
        memory_budget(memory_limit),
    )


def _of_memory(data: MultiViewData, memory_limit: float | str | None) -> RowSource:
    views: dict[str, Any] = dict(zip(data.names, data.views, strict=True))
    if data.available is not None:
        absent = np.flatnonzero(~data.available.any(axis=0))
        views |= {data.names[p]: None for p in absent}
    budget = memory_budget(memory_limit)
    return StreamedViews(views, data.named, data.available, data.sample_ids, budget)


def on_disk(view: Any) -> Any:
    """Return a memory map as a view that is read from its file, anything else as it is."""
    found = from_memmap(view) if isinstance(view, np.memmap) else None
    return view if found is None else found
