"""Records of the samples in a dask array: their fields as arrays, and a summary of all."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from anchorview._utils.typing import Array
from anchorview.sources.dask.execution import reduced
from anchorview.sources.dask.part_reader import one_task
from anchorview.sources.dask.task_graph import PartGraph, new_name
from anchorview.views.row_source import Result


def summarized(
    records: Any, summary: Callable[[Array], Result], merge: Callable[[Result, Result], Result]
) -> Result:
    """``summary`` of all blocks of records, merged in order."""
    keys = [[key] for key in records.__dask_keys__()]
    parts = PartGraph(dict(records.dask), keys)
    nothing: list[tuple[Any, ...]] = [()] * len(keys)
    result: Result = reduced(parts, partial(one_task, summary), nothing, merge, new_name("summary"))
    return result


def field_of(records: Any, name: str) -> Any:
    """Field of all records as a dask array, with the values of a record in one chunk."""
    own = records.dtype[name]
    return records.map_blocks(
        partial(_field, name),
        name=new_name(name),
        dtype=own.base,
        new_axis=list(range(1, 1 + own.ndim)) or None,
        chunks=(records.chunks[0], *((width,) for width in own.shape)),
        meta=np.empty((0,) * (1 + own.ndim), own.base),
    )


def _field(name: str, records: Array) -> Array:
    return np.ascontiguousarray(records[name])
