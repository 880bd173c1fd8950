"""Tasks on parts: blocks of all views are combined to a container, and a function applied."""

from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from anchorview._utils.text import describe_view
from anchorview._utils.threads import without_nested_threads
from anchorview._utils.typing import Array, FeatureNames
from anchorview.views.container import MultiViewData, container_of_checked, container_of_rows
from anchorview.views.matrix_checks import as_matrix, frame_values
from anchorview.views.sample_design import SampleDesign


@dataclass(frozen=True)
class PartReader:
    """Combines the blocks of a part into a container."""

    names: tuple[str, ...]
    named: bool
    """Whether the names were given by the user."""
    feature_names: tuple[FeatureNames | None, ...]
    widths: tuple[int, ...]
    """Features of each view; 0 for one that is None."""
    complete: bool
    """Whether all values are known to be available and finite."""
    nan_cells: bool = False
    """Whether single values may be NaN."""
    prepare: Callable[[MultiViewData], MultiViewData] | None = None
    """What is done with the container first."""
    design: SampleDesign | None = None
    """Batch and covariates of all samples."""

    def __call__(self, start: int, *arguments: Any) -> MultiViewData:
        """Container of some samples; the arguments are those of `_container`."""
        part = self._container(start, *arguments)
        if self.design is not None:
            part.design = self.design[start : start + len(part)]
        part.first_row = start
        part = part if self.prepare is None else self.prepare(part)
        part.first_row = start
        return part

    def _container(
        self, start: int, stop: int, counts: tuple[int, ...], *blocks: Any
    ) -> MultiViewData:
        """Container of the samples from `start` to `stop`; `counts` are the blocks per view."""
        views: dict[str, Any] = {}
        used = 0
        for p, (name, count) in enumerate(zip(self.names, counts, strict=True)):
            pieces = blocks[used : used + count]
            used += count
            views[name] = self._stacked(p, pieces, start, stop) if count else None
        described = [describe_view(p, name) for p, name in enumerate(self.names)]
        if self.complete:
            # Matrices of the types that the blocks have, whatever the collection says.
            matrices = tuple(map(as_matrix, views.values(), described))
            return container_of_checked(
                matrices, self.names, self.named, None, None, self.feature_names
            )
        ids = self._common_ids(views, start)
        identified = ids is None or ids.is_unique
        for name, description in () if identified else zip(self.names, described, strict=True):
            # Each partition may count its index from 0; such ids do not identify samples.
            if isinstance(views[name], pd.DataFrame):
                views[name] = frame_values(views[name], description)
        part = container_of_rows(views, self.named, self.feature_names, None, start, self.nan_cells)
        if not identified:
            part.sample_ids = ids
        return part

    def _stacked(self, p: int, pieces: Sequence[Any], start: int, stop: int) -> Any:
        n_rows = sum(piece.shape[0] for piece in pieces)
        widths = {piece.shape[1:] for piece in pieces}
        if n_rows != stop - start or widths != {(self.widths[p],)}:
            shapes = " and ".join(str(piece.shape) for piece in pieces)
            raise ValueError(
                f"{describe_view(p, self.names[p])}: rows {start} to {stop - 1} came in blocks of "
                f"shape {shapes}, but the collection says {stop - start} rows of {self.widths[p]} "
                "features. Correct the chunks, or call compute_chunk_sizes."
            )
        if len(pieces) == 1:
            return pieces[0]
        if isinstance(pieces[0], pd.DataFrame):
            return pd.concat(pieces)
        if any(sparse.issparse(piece) for piece in pieces):
            return sparse.vstack(pieces, format="csr")
        return np.concatenate(pieces)

    def _common_ids(self, views: dict[str, Any], start: int) -> "pd.Index[Any] | None":
        """Sample ids; raises if the frames do not have the same."""
        frames = [(p, v) for p, v in enumerate(views.values()) if isinstance(v, pd.DataFrame)]
        if not frames:
            return None
        first, expected = frames[0][0], frames[0][1].index
        for p, frame in frames[1:]:
            differ = np.flatnonzero(np.asarray(frame.index != expected))
            if len(differ):
                i = int(differ[0])
                a, b = (index[[i]].tolist()[0] for index in (frame.index, expected))
                raise ValueError(
                    f"{describe_view(p, self.names[p])} has the id {a!r} at row {start + i}, but "
                    f"{describe_view(first, self.names[first])} has {b!r}. Frames with unknown "
                    "divisions are matched by position: call set_index on all of them, so that "
                    "divisions are known and they are aligned."
                )
        return expected


def one_task(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function on one core, without progress reports."""
    with without_nested_threads():
        # In a new context, its progress is not reported as that of all tasks.
        return Context().run(function, *arguments)


def apply_to_part(
    reader: PartReader, function: Callable[[MultiViewData], Any], dtype: Any, *blocks: Any
) -> Any:
    """Result of a function of a part, converted to `dtype` unless that is None."""
    result = one_task(function, reader(*blocks))
    return result if dtype is None else result.astype(dtype, copy=False)


def sample_ids_of(part: MultiViewData) -> Array:
    """Sample ids of a part."""
    return np.asarray(part.sample_ids, dtype=object)
