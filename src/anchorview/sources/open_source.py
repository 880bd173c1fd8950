"""The one function that chooses the source: memory, disk or Dask."""

from dataclasses import replace
from typing import Any

import numpy as np

from anchorview._utils.memory import memory_budget
from anchorview._utils.optional_imports import optional_import
from anchorview.sources.disk_source import DiskSource, view_on_disk
from anchorview.sources.memory_source import MemorySource
from anchorview.sources.row_source import RowSource
from anchorview.views.container import MultiViewData, container_with_nan
from anchorview.views.input_grammar import named_views
from anchorview.views.stored_view import StoredView


def open_source(
    X: Any,
    memory_limit: float | str | None = None,
    *,
    write_results: bool = False,
    nan_cells: bool = False,
) -> RowSource:
    """Source of the samples, from views in any form that estimators take.

    With `write_results`, samples in memory are processed in parts too, so that their results, which
    are written to files, need not fit into memory. With `nan_cells`, single values may be NaN.
    """
    if isinstance(X, RowSource):
        return X
    if not isinstance(X, MultiViewData):
        views = named_views(X)
        if any(hasattr(view, "__dask_graph__") for view in views.views):
            dask_source = optional_import(
                "anchorview.sources.dask.dask_source", "Views in Dask", "dask"
            )
            source: RowSource = dask_source.DaskSource(X, memory_budget(memory_limit))
            source.nan_cells = nan_cells
            return source
        on_disk = [view_on_disk(view) for view in views.views]
        if any(isinstance(view, StoredView) for view in on_disk):
            matrices, ids = replace(views, views=on_disk).aligned()
            by_name = dict(zip(views.names, matrices, strict=True))
            budget = memory_budget(memory_limit)
            return DiskSource(
                by_name, views.named, views.available, ids, budget, views.feature_names, nan_cells
            )
    data = container_with_nan(X) if nan_cells else MultiViewData(X)
    if not write_results:
        return MemorySource(data)
    by_name = dict(zip(data.names, data.views, strict=True))
    if data.available is not None:
        absent = np.flatnonzero(~data.available.any(axis=0))
        by_name |= {data.names[p]: None for p in absent}
    budget = memory_budget(memory_limit)
    in_parts = DiskSource(
        by_name,
        data.named,
        data.available,
        data.sample_ids,
        budget,
        data.feature_names,
        nan_cells,
    )
    in_parts.design = data.design
    return in_parts
