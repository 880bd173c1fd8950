"""Graphs in which all reading for one part of the samples is one task.

Dask puts chains of tasks together, but not several chains that meet. Tasks that read the views of
the same rows would then run on different workers, and the data would travel.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any
from uuid import uuid4

# Private, as dask has no public way to put the reading of several views into one task.
from dask._task_spec import DataNode, Task, TaskRef, convert_legacy_graph

Graph = dict[Hashable, Any]

FAN_IN = 4
"""Results that a task of a tree merges; all of them are in one worker's memory at a time."""


def new_name(stage: str) -> str:
    """Return a name for tasks that no others have."""
    return f"{stage}-{uuid4().hex}"


class PartGraph:
    """What is needed to read the parts, arranged so that each is read by one task.

    Parameters
    ----------
    graph : mapping
        Of all tasks.
    inputs : sequence of lists of keys
        The blocks that each part is made of.
    """

    def __init__(self, graph: Mapping[Any, Any], inputs: Sequence[list[Hashable]]) -> None:
        nodes = convert_legacy_graph(graph)
        kept = _not_one_parts_own(nodes, inputs)
        self.inputs = inputs
        # Data that are on workers already stay there for as long as their futures are held.
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
        # On its own, the function goes to each worker once and not with each task.
        shared = new_name("function")
        graph: Graph = {**self.kept, shared: DataNode(shared, function)}
        for key, given, inputs, own in zip(keys, arguments, self.inputs, self.own, strict=True):
            task = Task(key, _call, TaskRef(shared), *given, *map(TaskRef, inputs))
            graph[key] = Task.fuse(*own, task) if own else task
        return graph


def add_tree(
    graph: Graph, keys: Sequence[Hashable], merge: Callable[[Any, Any], Any], name: str
) -> Hashable:
    """Add tasks that merge some results in their order; returns the key of the last one."""
    level = 0
    while len(keys) > 1:
        groups = [keys[start : start + FAN_IN] for start in range(0, len(keys), FAN_IN)]
        keys = [(f"merged-{name}", level, i) for i in range(len(groups))]
        for key, group in zip(keys, groups, strict=True):
            graph[key] = Task(key, _merged, merge, *map(TaskRef, group))
        level += 1
    return keys[0]


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def _merged(merge: Callable[[Any, Any], Any], *results: Any) -> Any:
    return reduce(merge, results)


def _not_one_parts_own(
    nodes: Mapping[Any, Any], inputs: Iterable[Iterable[Hashable]]
) -> set[Hashable]:
    """Tasks that stay tasks of their own: several parts need them, or what they cut from others."""
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
    # Cut where the block is, a piece of it travels and not the whole block. Data of the graph
    # itself, such as the name of a file, are no such block.
    blocks = {key for key in shared if not isinstance(nodes[key], DataNode)}
    pieces = [key for key in owner if not blocks.isdisjoint(nodes[key].dependencies)]
    return shared | set(_ancestors(nodes, pieces, stop=shared))


def _ancestors(
    nodes: Mapping[Any, Any], keys: Iterable[Hashable], stop: set[Hashable]
) -> list[Hashable]:
    """These tasks and all that they need, except some."""
    found: dict[Hashable, None] = {}
    todo = list(keys)
    while todo:
        key = todo.pop()
        if key in nodes and key not in found and key not in stop:
            found[key] = None
            todo.extend(nodes[key].dependencies)
    return list(found)
