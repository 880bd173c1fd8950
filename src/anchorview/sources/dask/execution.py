"""Execution of task graphs on the scheduler that the user has chosen."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
from dask.base import get_scheduler
from dask.callbacks import Callback
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from distributed import Client, as_completed, futures_of

from anchorview._utils.progress import report_progress
from anchorview.sources.dask.task_graph import Graph, PartGraph, add_tree


def has_workers() -> bool:
    """Whether tasks run on a cluster, whose workers can keep results."""
    return isinstance(getattr(get_scheduler(), "__self__", None), Client)


def layer(name: str, graph: Graph) -> HighLevelGraph:
    """Graph in the form that Dask collections use."""
    return HighLevelGraph.from_collections(name, graph, dependencies=())


def reduced(
    parts: PartGraph,
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    merge: Callable[[Any, Any], Any],
    name: str,
) -> Any:
    """Compute ``function(*arguments, *inputs)`` of all parts, merged in order.

    The tasks of the parts have the keys ``(name, i)``.
    """
    keys = [(name, i) for i in range(len(arguments))]
    graph = parts.mapped(function, arguments, keys)
    last = add_tree(graph, keys, merge, name)
    (result,) = dask.compute(Delayed(last, layer(name, graph), layer=name), traverse=False)
    return result


def kept(array: Any, stage: str) -> Any:
    """Compute an array and keep it where the scheduler has it; errors are raised here."""
    count = array.numblocks[0]
    with reporting(stage, array.name, count):
        array = array.persist()
        if futures := futures_of(array):
            for done, future in enumerate(as_completed(futures), 1):
                if future.status != "finished":
                    future.result()
                report_progress(stage, done, count)
    return array


@contextmanager
def reporting(stage: str, name: str, count: int) -> Iterator[None]:
    """Report how many of the `count` tasks with a name are finished.

    Only schedulers of this process report single tasks; a cluster has its dashboard.
    """
    report_progress(stage, 0, count)
    with _Reports(stage, name, count):
        yield
    report_progress(stage, count, count)


class _Reports(Callback):
    """Dask callback that reports finished tasks with a name."""

    def __init__(self, stage: str, name: str, count: int) -> None:
        super().__init__()
        self.stage, self.name, self.count = stage, name, count
        self.done = 0

    def _posttask(self, key: Any, *_: Any) -> None:
        if isinstance(key, tuple) and key[0] == self.name:
            self.done += 1
            report_progress(self.stage, self.done, self.count)
