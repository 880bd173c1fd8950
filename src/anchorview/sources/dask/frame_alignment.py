"""Alignment of dask dataframes by index."""

from collections.abc import Hashable, Sequence
from operator import add, getitem
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from dask._task_spec import Task, TaskRef

from anchorview._utils.text import quoted
from anchorview.sources.dask.execution import reduced, reporting
from anchorview.sources.dask.task_graph import Graph, PartGraph, new_name
from anchorview.views.alignment import (
    nothing_shared_message,
    require_unique_ids,
    union_of_ids,
)
from anchorview.views.row_source import working_precision


def partitions(frame: Any) -> tuple[Graph, list[Hashable]]:
    """Tasks of a dask dataframe, and the keys of its partitions."""
    delayed = frame.to_delayed()
    return dict(delayed[0].dask), [partition.key for partition in delayed]


def lengths_of(graph: Graph, keys: Sequence[Hashable]) -> tuple[int, ...]:
    """Number of rows of partitions, computed by the tasks that compute the partitions.

    Dask may combine partitions, and others if it does not read all columns.
    """
    parts = PartGraph(graph, [[key] for key in keys])
    lengths: tuple[int, ...] = reduced(parts, _length, [()] * len(keys), add, new_name("lengths"))
    return lengths


def _length(frame: pd.DataFrame) -> tuple[int]:
    return (len(frame),)


class AlignedFrames(NamedTuple):
    """Frames divided at the same ids, with the union of their samples."""

    graph: Graph
    keys: list[list[Hashable]]
    """Keys of the partitions of each frame."""
    lengths: tuple[int, ...]
    """Number of samples of each partition, the same for all frames."""


def aligned(frames: Sequence[Any], descriptions: Sequence[str]) -> AlignedFrames:
    """Align frames with known divisions; a sample that a frame lacks becomes a row of NaN.

    `descriptions` are how messages name the frames.
    """
    cuts = _common_divisions(frames, descriptions)
    names = tuple(descriptions)
    # Divided by ids, these partitions do not depend on the columns that are read.
    indices = [frame[[]].repartition(divisions=cuts, force=True) for frame in frames]
    lengths = _lengths_if_shared(indices, names)
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
    return AlignedFrames(graph, keys, lengths)


def _common_divisions(frames: Sequence[Any], descriptions: Sequence[str]) -> list[Any]:
    try:
        cuts = sorted(set().union(*(frame.divisions for frame in frames)))
    except TypeError:
        examples = ", ".join(
            f"{description} has ids like {quoted(frame.divisions[0])}"
            for frame, description in zip(frames, descriptions, strict=True)
        )
        raise ValueError(
            f"The sample ids cannot be compared: {examples}. Samples are aligned by index; "
            "convert the ids to one type."
        ) from None
    return cuts if len(cuts) > 1 else 2 * cuts


def _together(frames: Sequence[Any]) -> tuple[Graph, list[list[Hashable]]]:
    """Tasks of all frames, and the keys of each partition in all frames."""
    graph: Graph = {}
    keys = []
    for frame in frames:
        tasks, own = partitions(frame)
        graph.update(tasks)
        keys.append(own)
    return graph, [list(inputs) for inputs in zip(*keys, strict=True)]


class _SharedIds(NamedTuple):
    sizes: tuple[int, ...]
    shared: Any
    """Which frames share a sample with another frame."""
    examples: tuple[Any, ...]
    """An id of each frame, or None."""

    def merged(self, other: "_SharedIds") -> "_SharedIds":
        examples = zip(self.examples, other.examples, strict=True)
        return _SharedIds(
            self.sizes + other.sizes,
            self.shared | other.shared,
            tuple(b if a is None else a for a, b in examples),
        )


def _lengths_if_shared(indices: Sequence[Any], descriptions: tuple[str, ...]) -> tuple[int, ...]:
    """Number of samples of each partition; raises if a frame shares no sample with another."""
    graph, inputs = _together(indices)
    name = new_name("ids")
    arguments = [(descriptions,)] * len(inputs)
    with reporting("aligning", name, len(inputs)):
        shared: _SharedIds = reduced(
            PartGraph(graph, inputs), _shared_ids, arguments, _SharedIds.merged, name
        )
    for p, shares in enumerate(shared.shared):
        if not shares:
            other = 0 if p else 1
            raise ValueError(
                nothing_shared_message(
                    descriptions[p], shared.examples[p], descriptions[other], shared.examples[other]
                )
            )
    return shared.sizes


def _shared_ids(descriptions: tuple[str, ...], *frames: pd.DataFrame) -> _SharedIds:
    ids = _union(descriptions, frames)
    counts = sum(ids.isin(frame.index).astype(int) for frame in frames)
    twice = ids[np.asarray(counts) > 1]
    return _SharedIds(
        (len(ids),),
        np.array([bool(frame.index.isin(twice).any()) for frame in frames]),
        tuple(next(iter(frame.index[:1].tolist()), None) for frame in frames),
    )


def _union(descriptions: tuple[str, ...], frames: Sequence[pd.DataFrame]) -> "pd.Index[Any]":
    for frame, description in zip(frames, descriptions, strict=True):
        require_unique_ids(frame.index, description)
    return union_of_ids([frame.index for frame in frames])


def _aligned(descriptions: tuple[str, ...], *frames: pd.DataFrame) -> list[pd.DataFrame]:
    ids = _union(descriptions, frames)
    return [frame if frame.index.equals(ids) else _reindexed(frame, ids) for frame in frames]


def _reindexed(frame: pd.DataFrame, ids: "pd.Index[Any]") -> pd.DataFrame:
    dtypes = list(frame.dtypes)
    # pandas would convert small integers beside NaN to float64, in some parts only.
    if all(isinstance(dtype, np.dtype) and dtype.kind in "bui" for dtype in dtypes):
        frame = frame.astype(working_precision(dtypes))
    return frame.reindex(ids)
