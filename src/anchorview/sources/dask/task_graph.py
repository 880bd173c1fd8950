"""Task graphs in which one task reads all views of a part.

Dask fuses chains of tasks, but not several chains with a common successor. The tasks that read the
views of the same rows would then run on different workers, and data would be transferred.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import reduce
from operator import call
from typing import Any
from uuid import uuid4

# Private: Dask has no public way to fuse the reading of several views into one task.
from dask._task_spec import DataNode, Task, TaskRef, convert_legacy_graph

Graph = dict[Hashable, Any]

FAN_IN = 4
"""Number of results that a task of a tree merges; one worker holds all of them at a time."""


def new_name(stage: str) -> str:
    """Return a unique name for tasks."""
    return f"{stage}-{uuid4().hex}"


class PartGraph:
    """The tasks of a graph, arranged so that one task reads all blocks (`inputs`) of a part."""

    def __init__(self, graph: Mapping[Any, Any], inputs: Sequence[list[Hashable]]) -> None:
        nodes = convert_legacy_graph(graph)
        kept = _shared_tasks(nodes, inputs)
        self.inputs = inputs
        # Data that workers hold already stay there as long as their futures exist.
        self.kept: Graph = {key: node for key, node in graph.items() if key not in nodes}
        self.kept.update((key, nodes[key]) for key in kept)
        self.own = [[nodes[key] for key in _ancestors(nodes, keys, stop=kept)] for keys in inputs]

    def mapped(
        self,
        function: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        keys: Sequence[Hashable],
    ) -> Graph:
        """Tasks ``function(*arguments, *inputs)``, one for each part, under some keys."""
        # As a task of its own, the function is sent to each worker once and not with each task.
        shared = new_name("function")
        graph: Graph = {**self.kept, shared: DataNode(shared, function)}
        for key, given, inputs, own in zip(keys, arguments, self.inputs, self.own, strict=True):
            task = Task(key, call, TaskRef(shared), *given, *map(TaskRef, inputs))
            graph[key] = Task.fuse(*own, task) if own else task
        return graph


def add_tree(
    graph: Graph, keys: Sequence[Hashable], merge: Callable[[Any, Any], Any], name: str
) -> Hashable:
    """Add tasks that merge results in order; returns the key of the last task."""
    level = 0
    while len(keys) > 1:
        groups = [keys[start : start + FAN_IN] for start in range(0, len(keys), FAN_IN)]
        keys = [(f"merged-{name}", level, i) for i in range(len(groups))]
        for key, group in zip(keys, groups, strict=True):
            graph[key] = Task(key, _merged, merge, *map(TaskRef, group))
        level += 1
    return keys[0]


def _merged(merge: Callable[[Any, Any], Any], *results: Any) -> Any:
    return reduce(merge, results)


def _shared_tasks(nodes: Mapping[Any, Any], inputs: Iterable[Iterable[Hashable]]) -> set[Hashable]:
    """Tasks that are not fused: those that several parts need, and pieces cut from them."""
    owner: dict[Hashable, int] = {}
    shared: set[Hashable] = set()
    for part, keys in enumerate(inputs):
        todo = list(keys)
        while todo:
            key = todo.pop()
            if key not in nodes or key in shared or owner.get(key) == part:
                continue
            if key in owner:
                shared.add(key)
            owner[key] = part
            todo.extend(nodes[key].dependencies)
    # If a block is cut where it is, only the piece is transferred. Data of the graph itself, such
    # as the name of a file, are not blocks.
    blocks = {key for key in shared if not isinstance(nodes[key], DataNode)}
    pieces = [key for key in owner if not blocks.isdisjoint(nodes[key].dependencies)]
    return shared | set(_ancestors(nodes, pieces, stop=shared))


def _ancestors(
    nodes: Mapping[Any, Any], keys: Iterable[Hashable], stop: set[Hashable]
) -> list[Hashable]:
    """Tasks and all their ancestors, without those in `stop`."""
    found: dict[Hashable, None] = {}
    todo = list(keys)
    while todo:
        key = todo.pop()
        if key in nodes and key not in found and key not in stop:
            found[key] = None
            todo.extend(nodes[key].dependencies)
    return list(found)
