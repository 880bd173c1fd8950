"""Dask dataframes whose samples are matched by index labels."""

from collections.abc import Hashable, Sequence
from operator import add, getitem
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from dask._task_spec import Task, TaskRef

from anchorview.sources.dask.execution import computed, reporting
from anchorview.sources.dask.task_graph import Graph, PartGraph, add_tree, new_name
from anchorview.views.alignment import (
    nothing_shared_message,
    require_unique_ids,
    union_of_ids,
)
from anchorview.views.schema import working_precision


def partitions(frame: Any) -> tuple[Graph, list[Hashable]]:
    """Tasks of a dask dataframe, and the keys of its partitions."""
    delayed = frame.to_delayed()
    return dict(delayed[0].dask), [partition.key for partition in delayed]


def lengths_of(graph: Graph, keys: Sequence[Hashable]) -> tuple[int, ...]:
    """Rows of some partitions, by the very tasks that make them.

    Dask may put partitions together, and not the same ones if it need not read all columns.
    """
    name = new_name("lengths")
    own = [(name, i) for i in range(len(keys))]
    tasks = PartGraph(graph, [[key] for key in keys]).mapped(_length, [()] * len(keys), own)
    last = add_tree(tasks, own, add, name)
    lengths: tuple[int, ...] = computed(tasks, last, name)
    return lengths


def _length(frame: pd.DataFrame) -> tuple[int]:
    return (len(frame),)


class Aligned(NamedTuple):
    """Frames cut at the same labels, with all samples of all of them."""

    graph: Graph
    keys: list[list[Hashable]]
    """Of the partitions of each frame."""
    lengths: tuple[int, ...]
    """Samples of each partition, the same for all frames."""


def aligned(frames: Sequence[Any], labels: Sequence[str]) -> Aligned:
    """Align frames with known divisions; a sample that one lacks is a row of NaN in it.

    Parameters
    ----------
    frames : sequence of dask dataframes
    labels : sequence of str
        How messages name them.
    """
    cuts = _common_divisions(frames, labels)
    names = tuple(labels)
    # Cut by labels, these partitions are the same whichever columns are read.
    indices = [frame[[]].repartition(divisions=cuts, force=True) for frame in frames]
    lengths = _met(indices, names)
    cut = [frame.repartition(divisions=cuts, force=True) for frame in frames]
    graph, sources = _together(cut)
    name = new_name("aligned")
    keys: list[list[Hashable]] = [[] for _ in frames]
    for i, inputs in enumerate(sources):
        graph[name, i] = Task((name, i), _aligned, names, *map(TaskRef, inputs))
        for p, own in enumerate(keys):
            key = (f"frame-{name}", i, p)
            graph[key] = Task(key, getitem, TaskRef((name, i)), p)
            own.append(key)
    return Aligned(graph, keys, lengths)


def _common_divisions(frames: Sequence[Any], labels: Sequence[str]) -> list[Any]:
    try:
        cuts = sorted(set().union(*(frame.divisions for frame in frames)))
    except TypeError:
        examples = ", ".join(
            f"{label} has labels like {frame.divisions[0]!r}"
            for frame, label in zip(frames, labels, strict=True)
        )
        raise ValueError(
            f"The labels cannot be compared: {examples}. Samples are aligned by index; bring the "
            "labels to one form."
        ) from None
    return cuts if len(cuts) > 1 else 2 * cuts


def _together(frames: Sequence[Any]) -> tuple[Graph, list[list[Hashable]]]:
    """Tasks of all frames, and for each partition its keys in the frames."""
    graph: Graph = {}
    keys = []
    for frame in frames:
        tasks, own = partitions(frame)
        graph.update(tasks)
        keys.append(own)
    return graph, [list(inputs) for inputs in zip(*keys, strict=True)]


class _Meeting(NamedTuple):
    sizes: tuple[int, ...]
    shared: Any
    """Which frames have a sample that another frame has too."""
    examples: tuple[Any, ...]
    """A label of each frame, or None."""

    def merged(self, other: "_Meeting") -> "_Meeting":
        examples = zip(self.examples, other.examples, strict=True)
        return _Meeting(
            self.sizes + other.sizes,
            self.shared | other.shared,
            tuple(b if a is None else a for a, b in examples),
        )


def _met(indices: Sequence[Any], labels: tuple[str, ...]) -> tuple[int, ...]:
    """Samples of each partition of all frames, raising if a frame has none that another has."""
    graph, inputs = _together(indices)
    name = new_name("labels")
    keys = [(name, i) for i in range(len(inputs))]
    tasks = PartGraph(graph, inputs).mapped(_meeting, [(labels,)] * len(inputs), keys)
    last = add_tree(tasks, keys, _Meeting.merged, name)
    with reporting("aligning", name, len(keys)):
        met: _Meeting = computed(tasks, last, name)
    for p, shares in enumerate(met.shared):
        if not shares:
            other = 0 if p else 1
            raise ValueError(
                nothing_shared_message(
                    labels[p], met.examples[p], labels[other], met.examples[other]
                )
            )
    return met.sizes


def _meeting(labels: tuple[str, ...], *frames: pd.DataFrame) -> _Meeting:
    ids = _union(labels, frames)
    counts = sum(ids.isin(frame.index).astype(int) for frame in frames)
    twice = ids[np.asarray(counts) > 1]
    return _Meeting(
        (len(ids),),
        np.array([bool(frame.index.isin(twice).any()) for frame in frames]),
        tuple(next(iter(frame.index[:1].tolist()), None) for frame in frames),
    )


def _union(labels: tuple[str, ...], frames: Sequence[pd.DataFrame]) -> "pd.Index[Any]":
    for frame, label in zip(frames, labels, strict=True):
        require_unique_ids(frame.index, label)
    return union_of_ids([frame.index for frame in frames])


def _aligned(labels: tuple[str, ...], *frames: pd.DataFrame) -> list[pd.DataFrame]:
    ids = _union(labels, frames)
    return [frame if frame.index.equals(ids) else _reindexed(frame, ids) for frame in frames]


def _reindexed(frame: pd.DataFrame, ids: "pd.Index[Any]") -> pd.DataFrame:
    dtypes = list(frame.dtypes)
    # Left to pandas, small integers would become float64 beside NaN, in some parts only.
    if all(isinstance(dtype, np.dtype) and dtype.kind in "bui" for dtype in dtypes):
        frame = frame.astype(working_precision(dtypes))
    return frame.reindex(ids)
