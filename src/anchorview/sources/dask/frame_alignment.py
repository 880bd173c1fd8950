"""Alignment of dask dataframes by index."""

from collections.abc import Sequence
from operator import add
from typing import Any, TypeAlias

import dask
import numpy as np
import pandas as pd
from dask.delayed import Delayed

from anchorview._utils.text import quoted
from anchorview.sources.dask.part_graph import PartGraph, new_name, reporting
from anchorview.views.alignment import nothing_shared_message, require_unique_ids, union_of_ids
from anchorview.views.row_source import working_precision

Ids: TypeAlias = "pd.Index[Any]"


def aligned(
    frames: Sequence[Any], descriptions: Sequence[str]
) -> tuple[list[list[Delayed]], tuple[int, ...]]:
    """Align frames with known divisions; a sample that a frame lacks becomes a row of NaN.

    Returns the partitions of each frame, divided at the same ids, and the number of samples in
    them. `descriptions` are how messages name the frames.
    """
    cuts = _common_divisions(frames, descriptions)
    names = tuple(descriptions)
    # Divided by ids, these partitions do not depend on the columns that are read.
    lengths = _lengths_if_shared(_divided([frame[[]] for frame in frames], cuts), names)
    align = dask.delayed(_aligned, pure=False, nout=len(frames))
    partitions = [list(align(names, *inputs)) for inputs in _divided(frames, cuts)]
    return [list(of_frame) for of_frame in zip(*partitions, strict=True)], lengths


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


def _divided(frames: Sequence[Any], cuts: list[Any]) -> list[tuple[Delayed, ...]]:
    """Partitions between two cuts in all frames."""
    divided = [frame.repartition(divisions=cuts, force=True).to_delayed() for frame in frames]
    return list(zip(*divided, strict=True))


def _lengths_if_shared(
    partitions: Sequence[tuple[Delayed, ...]], descriptions: tuple[str, ...]
) -> tuple[int, ...]:
    """Number of samples of each partition; raises if a frame shares no sample with another."""
    name = new_name("ids")
    arguments = [(descriptions,)] * len(partitions)
    with reporting("aligning", name, len(partitions)):
        counted = PartGraph(partitions).reduced(_shared_ids, arguments, add, name)
    lengths, shares, examples = zip(*counted, strict=True)
    for p, shares_any in enumerate(np.any(shares, axis=0)):
        if not shares_any:
            other = 0 if p else 1
            p_id, other_id = (
                next((ids[q] for ids in examples if ids[q] is not None), None) for q in (p, other)
            )
            raise ValueError(
                nothing_shared_message(descriptions[p], p_id, descriptions[other], other_id)
            )
    return lengths


def _shared_ids(descriptions: tuple[str, ...], *frames: pd.DataFrame) -> tuple[Any, ...]:
    """Number of samples, which frames share one with another, and an id of each, or None."""
    ids = _union(descriptions, frames)
    counts = sum(ids.isin(frame.index).astype(int) for frame in frames)
    twice = ids[np.asarray(counts) > 1]
    shares = [bool(frame.index.isin(twice).any()) for frame in frames]
    examples = [next(iter(frame.index[:1].tolist()), None) for frame in frames]
    return ((len(ids), shares, examples),)


def _union(descriptions: tuple[str, ...], frames: Sequence[pd.DataFrame]) -> Ids:
    for frame, description in zip(frames, descriptions, strict=True):
        require_unique_ids(frame.index, description)
    return union_of_ids([frame.index for frame in frames])


def _aligned(descriptions: tuple[str, ...], *frames: pd.DataFrame) -> list[pd.DataFrame]:
    ids = _union(descriptions, frames)
    return [frame if frame.index.equals(ids) else _reindexed(frame, ids) for frame in frames]


def _reindexed(frame: pd.DataFrame, ids: Ids) -> pd.DataFrame:
    dtypes = list(frame.dtypes)
    # pandas would convert small integers beside NaN to float64, in some parts only.
    if all(isinstance(dtype, np.dtype) and dtype.kind in "bui" for dtype in dtypes):
        frame = frame.astype(working_precision(dtypes))
    return frame.reindex(ids)
