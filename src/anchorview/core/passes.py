"""The small problem of samples that come in parts: one pass, or two if the scaling needs it.

Every pass is a function of a part, which makes few numbers of it, and a way to merge these.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anchorview._utils.memory import require_memory
from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment
from anchorview.core.compress import (
    SmallProblem,
    Summaries,
    merged_summaries,
    small_problem,
    summarize_groups,
)
from anchorview.core.embed import Embedder
from anchorview.core.row_source import RowSource
from anchorview.core.scale import (
    ViewMoments,
    ViewScaling,
    merged_moments,
    needs_moments,
    scalings_from,
    view_moments,
)
from anchorview.views.container import MultiViewData, constant_message, dense_rows, missing_message

Patterns = frozenset[tuple[int, ...]]
"""The sets of views that some sample has."""


class _Sight(NamedTuple):
    """What samples have: patterns of views, and views in which all look the same, by their row."""

    patterns: Patterns
    constant: dict[int, Array | None]

    @classmethod
    def of(cls, part: MultiViewData) -> "_Sight":
        patterns = frozenset(group.views for group in part.groups)
        constant: dict[int, Array | None] = {}
        for p in {p for views in patterns for p in views}:
            if part.is_informative(p):
                constant[p] = None
            else:
                first = 0 if part.available is None else int(part.available[:, p].argmax())
                constant[p] = dense_rows(part.views[p], slice(first, first + 1))[0].copy()
        return cls(patterns, constant)

    def merged(self, other: "_Sight") -> "_Sight":
        constant = self.constant | other.constant
        for p in self.constant.keys() & other.constant.keys():
            own, others = self.constant[p], other.constant[p]
            if own is None or others is None or (own != others).any():
                constant[p] = None
        return _Sight(self.patterns | other.patterns, constant)


class _Look(NamedTuple):
    sight: _Sight
    moments: ViewMoments

    def merged(self, other: "_Look") -> "_Look":
        moments = merged_moments(self.moments, other.moments)
        return _Look(self.sight.merged(other.sight), moments)


def _look(part: MultiViewData, method: str) -> _Look:
    return _Look(_Sight.of(part), view_moments(part, method))


class _Sums(NamedTuple):
    sight: _Sight | None
    summaries: Summaries

    def merged(self, other: "_Sums") -> "_Sums":
        sight = self.sight.merged(other.sight) if self.sight and other.sight else None
        return _Sums(sight, merged_summaries(self.summaries, other.summaries))


def _sums(part: MultiViewData, scalings: tuple[ViewScaling, ...], first_pass: bool) -> _Sums:
    summaries = {group.views: group for group in summarize_groups(part, scalings)}
    return _Sums(_Sight.of(part) if first_pass else None, summaries)


def pose_problem_in_passes(source: RowSource, method: str, *, unit_norm: bool) -> SmallProblem:
    """Scale and compress all samples of a source."""
    moments: ViewMoments = {}
    looks_first = needs_moments(method)
    if looks_first:
        look = source.reduce(partial(_look, method=method), _Look.merged, "scaling")
        _heed(look.sight, source)
        moments = look.moments
    scalings = scalings_from(moments, source, method)
    work = partial(_sums, scalings=scalings, first_pass=not looks_first)
    sight, summaries = source.reduce(work, _Sums.merged, "compressing")
    if sight is not None:
        _heed(sight, source)
    # In an order of its own, whichever part met a pattern first.
    groups = [summaries[views] for views in sorted(summaries, key=lambda v: (-len(v), v))]
    return small_problem(source, groups, scalings, unit_norm=unit_norm, dtype=source.dtype)


def _heed(sight: _Sight, source: RowSource) -> None:
    """Learn from the first pass which views there are; raise if these cannot be clustered."""
    for p in range(len(source.names)):
        if p not in sight.constant:
            raise ValueError(missing_message(source, p))
        if sight.constant[p] is not None:
            raise ValueError(constant_message(source, p))
    source.complete = sight.patterns == {tuple(range(len(source.names)))}
    widths = source.n_features_per_view
    squares = [sum(widths[p] for p in views) ** 2 for views in sight.patterns]
    # The sums, one that is being added, and the pseudo-samples that are made of them.
    needed = 8.0 * (2 * sum(squares) + max(squares))
    require_memory(
        needed,
        f"Compressing {len(squares)} patterns of missing views",
        "Raise memory_limit, or reduce the number of features or of patterns.",
        source.budget,
    )


@dataclass(frozen=True, eq=False)
class Carrier:
    """Brings samples to what a fitted model makes of them: embeddings, or labels by an assignment.

    It holds what workers need of the model, and no more.
    """

    names: tuple[str, ...]
    widths: tuple[int, ...]
    estimator: str
    embedder: Embedder
    assignment: Assignment | None

    def __call__(self, part: MultiViewData) -> Array:
        """Embeddings or labels of some samples."""
        embedding = self.embedder(part.matched_to(self.names, self.widths, self.estimator))
        return embedding if self.assignment is None else self.assignment(embedding)

    def bring(self, source: RowSource, out: Path | None) -> Any:
        """Embeddings or labels of all samples, in the source's form or in the file `out`."""
        source.require_like(self.names, self.widths, self.estimator)
        if self.assignment is not None:
            return source.mapped(self, None, np.int32, "labeling", out)
        return source.mapped(self, self.embedder.trace.n_anchors, source.dtype, "embedding", out)
