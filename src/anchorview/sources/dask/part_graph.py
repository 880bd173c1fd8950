"""Task graphs in which one task reads all views of a part, their execution, and its scheduler.

Dask fuses chains of tasks, but not several chains with a common successor. The tasks that read the
views of the same rows would then run on different workers, and data would be transferred.
"""

import warnings
from asyncio import CancelledError as TaskCancelled
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import reduce
from operator import call
from typing import Any
from uuid import uuid4

import dask
from dask.base import get_scheduler
from dask.callbacks import Callback
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import DataNode, GraphNode, Task, TaskRef
from distributed import Client, KilledWorker, as_completed, futures_of
from distributed.comm.core import CommClosedError

from anchorview._utils.errors import ClusterLostError
from anchorview._utils.progress import report_progress

FAN_IN = 4
"""Number of results that a task of a tree merges; one worker holds all of them at a time."""

PATIENCE = "10s"
"""How long to wait for an answer of the scheduler."""

WORKER_PATIENCE = 60.0
"""How long to wait for the first worker, in seconds."""

Dependencies = Mapping[Hashable, set[Hashable]]


def new_name(stage: str) -> str:
    """Return a unique name for tasks."""
    return f"{stage}-{uuid4().hex}"


class PartGraph:
    """The tasks of the blocks of each part, arranged so that one task reads all of them.

    Functions get the `arguments` of a part before its blocks. `futures` are data on workers that
    the blocks need; they stay there as long as these exist.
    """

    def __init__(
        self,
        parts: Sequence[Sequence[Delayed]],
        arguments: Sequence[tuple[Any, ...]],
        futures: Sequence[Any] = (),
    ) -> None:
        self.arguments = arguments
        graphs = {id(block.dask): block.dask for part in parts for block in part}
        merged = HighLevelGraph.merge(*graphs.values())
        graph = merged.to_dict()
        dependencies = merged.get_all_dependencies()
        self._inputs = [[block.key for block in part] for part in parts]
        # What is no task object, such as a future or a tuple of an old graph, cannot be fused.
        unfused = [key for key, node in graph.items() if not isinstance(node, GraphNode)]
        data = {key for key, node in graph.items() if isinstance(node, DataNode)}
        shared = _shared_tasks(dependencies, self._inputs, data)
        shared |= set(_ancestors(dependencies, unfused, stop=shared))
        self.shared = {key: graph[key] for key in shared} | {f.key: f for f in futures}
        self._fused = [
            [graph[key] for key in _ancestors(dependencies, keys, stop=shared)]
            for keys in self._inputs
        ]

    def mapped(
        self, function: Callable[..., Any], keys: Sequence[tuple[Any, ...]]
    ) -> HighLevelGraph:
        """Tasks ``function(*arguments, *blocks)``, one for each part, under keys of one name."""
        # As a separate task, the function is sent to each worker once and not with each task.
        name = new_name("function")
        graph: dict[Hashable, Any] = {**self.shared, name: DataNode(name, function)}
        parts = zip(keys, self.arguments, self._inputs, self._fused, strict=True)
        for key, given, inputs, fused in parts:
            task = Task(key, call, TaskRef(name), *given, *map(TaskRef, inputs))
            graph[key] = Task.fuse(*fused, task) if fused else task
        return HighLevelGraph.from_collections(keys[0][0], graph, dependencies=())

    def reduced(
        self, function: Callable[..., Any], merge: Callable[[Any, Any], Any], name: str
    ) -> Any:
        """Compute ``function(*arguments, *blocks)`` of all parts, merged in order."""
        keys = [(name, i) for i in range(len(self.arguments))]
        graph = self.mapped(function, keys)
        results = [Delayed(key, graph, layer=name) for key in keys]
        merged = dask.delayed(_merged, pure=False)
        while len(results) > 1:
            groups = range(0, len(results), FAN_IN)
            results = [merged(merge, *results[start : start + FAN_IN]) for start in groups]
        (result,) = dask.compute(*results, traverse=False)
        return result


def _merged(merge: Callable[[Any, Any], Any], *results: Any) -> Any:
    return reduce(merge, results)


def _shared_tasks(
    dependencies: Dependencies, inputs: Iterable[Iterable[Hashable]], data: set[Hashable]
) -> set[Hashable]:
    """Tasks that are not fused: those that several parts need, and pieces cut from them."""
    owner: dict[Hashable, int] = {}
    shared: set[Hashable] = set()
    for part, keys in enumerate(inputs):
        todo = list(keys)
        while todo:
            key = todo.pop()
            if key not in dependencies or key in shared or owner.get(key) == part:
                continue
            if key in owner:
                shared.add(key)
            owner[key] = part
            todo.extend(dependencies[key])
    # If a block is cut where it is, only the piece is transferred. Data of the graph itself, such
    # as the name of a file, are not blocks.
    blocks = shared - data
    pieces = [key for key in owner if not blocks.isdisjoint(dependencies[key])]
    return shared | set(_ancestors(dependencies, pieces, stop=shared))


def _ancestors(
    dependencies: Dependencies, keys: Iterable[Hashable], stop: set[Hashable]
) -> list[Hashable]:
    """Tasks and all their ancestors, without those in `stop`."""
    ancestors: dict[Hashable, None] = {}
    todo = list(keys)
    while todo:
        key = todo.pop()
        if key in dependencies and key not in ancestors and key not in stop:
            ancestors[key] = None
            todo.extend(dependencies[key])
    return list(ancestors)


def has_workers() -> bool:
    """Whether tasks run on a cluster with workers that can keep results."""
    return isinstance(getattr(get_scheduler(), "__self__", None), Client)


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
    done = 0

    def report(key: Any, *_: Any) -> None:
        nonlocal done
        if isinstance(key, tuple) and key[0] == name:
            done += 1
            report_progress(stage, done, count)

    report_progress(stage, 0, count)
    with Callback(posttask=report):
        yield
    report_progress(stage, count, count)


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Compute on the workers of a scheduler inside the block.

    Waits for the first worker. Raises a ConnectionError if the scheduler does not answer, has no
    workers, or is lost inside the block.

    Parameters
    ----------
    address : str
        Such as ``"tcp://host:8786"``.
    """
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConnectionError(
            f"{address}: no Dask scheduler answers. Check the address, and that 'dask scheduler' "
            "is running."
        ) from error
    with client:
        _wait_for_workers(client, address)
        try:
            yield client
        except (CancelledError, TaskCancelled, CommClosedError) as error:
            raise ClusterLostError(
                f"{address}: the connection to the Dask scheduler was lost. Check its log, start "
                "it again, and repeat the fit."
            ) from error
        except KilledWorker as error:
            raise ClusterLostError(
                f"{address}: workers were lost again and again, probably because their memory did "
                "not suffice. Check their logs; give them more memory, or use smaller chunks."
            ) from error


def _wait_for_workers(client: Client, address: str) -> None:
    if client.scheduler_info()["workers"]:
        return
    warnings.warn(
        f"{address}: the Dask scheduler has no workers yet; waiting {WORKER_PATIENCE:g} s for the "
        "first.",
        stacklevel=4,
    )
    try:
        client.wait_for_workers(1, timeout=WORKER_PATIENCE)
    except TimeoutError:
        raise ClusterLostError(
            f"{address}: the Dask scheduler has no workers. Start some with 'dask worker "
            f"{address}'."
        ) from None
