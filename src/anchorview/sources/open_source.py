"""The one function that chooses the source: memory, disk or Dask."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from anchorview._utils.errors import optional_import
from anchorview._utils.memory import memory_budget
from anchorview.sources.disk_source import DiskSource, PartSource, view_on_disk
from anchorview.views.anndata_matrices import ViewSelection
from anchorview.views.container import MultiViewData, container_of_views
from anchorview.views.input_grammar import Join, parse, selection_like_fit
from anchorview.views.row_source import RowSource
from anchorview.views.stored_view import StoredView


def open_source(
    X: Any,
    memory_limit: float | str | None = None,
    *,
    selection: ViewSelection | None = None,
    selection_of_fit: ViewSelection | None = None,
    join: Join | None = "outer",
    write_results: bool = False,
) -> RowSource:
    """Source of the samples, from views in any form that estimators take.

    `selection` and `join` are those of :func:`~anchorview.views.input_grammar.parse`; of what was
    selected for a fit, new samples may lack some. With `write_results`, samples in memory are
    processed in parts too: results need not fit into memory.
    """
    if selection_of_fit is not None:
        selection = selection_like_fit(X, selection_of_fit)
    if isinstance(X, RowSource) and selection is None and join != "inner":
        if isinstance(X, PartSource):
            return copy(X)
        data = MultiViewData(X)
    else:
        views = parse(X, selection, join)
        if views.in_dask:
            dask_source = optional_import(
                "anchorview.sources.dask.dask_source", "Views in Dask", "dask"
            )
            source: PartSource = dask_source.DaskSource(views, memory_budget(memory_limit))
            return source
        if any(isinstance(view, StoredView | np.memmap) for view in views.views):
            views = replace(views, views=list(map(view_on_disk, views.views)))
        if any(isinstance(view, StoredView) for view in views.views):
            return DiskSource(views, memory_budget(memory_limit))
        data = container_of_views(views)
    if not write_results:
        return data
    views = data.contents
    for p in range(len(views.views)):
        views.views[p] = views.views[p] if data.has_view(p).any() else None
    in_parts = DiskSource(views, memory_budget(memory_limit))
    in_parts.design, in_parts.sample_weight = data.design, data.sample_weight
    in_parts.selection = data.selection
    return in_parts
