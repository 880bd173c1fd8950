"""Embeddings of any samples by all candidates, block by block.

Families with the same scaling share the scaled rows of a block, and the candidates of a family
share the search for the nearest landmarks. All further steps up to the embedding are linear: the
norms of views and the factors of landmarks are part of the maps of the candidates.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from anchorview._utils.threads import for_blocks
from anchorview._utils.typing import Array
from anchorview.core.embed import REPLAYED_ROWS, ROWS_FOR_A_MAP, Pattern
from anchorview.core.scale import ViewScaling, scaled_block
from anchorview.estimators.auto.candidates import Candidate, FittedFamily
from anchorview.estimators.auto.landmarks import Lift
from anchorview.estimators.auto.settings import Family
from anchorview.views.container import Group, MultiViewData, RowBlock
from anchorview.views.schema import CACHED_BLOCK

MIN_BLOCK = 256
"""Minimum number of rows of a block: products with all landmarks are slow for fewer rows."""

Families = Mapping[Family, FittedFamily]
WriteEmbeddings = Callable[[slice | Array, Sequence[Array]], None]


def for_candidate_embeddings(
    function: WriteEmbeddings,
    families: Families,
    candidates: Sequence[Candidate],
    data: MultiViewData,
) -> None:
    """Call ``function(rows, embeddings)`` for blocks of rows that together are all samples.

    There is one embedding per candidate, in order. None is ever held as a whole.
    """
    groups = data.groups
    mapped = [g for g, group in enumerate(groups) if _has_maps(group, candidates, data)]
    stages = {g: _stages(families, candidates, groups[g].views, data) for g in mapped}

    def work(block: RowBlock) -> None:
        found: dict[int, Array] = {}
        for stage in stages[block.group]:
            found |= stage.embeddings(data, block)
        function(block.rows, [found[c] for c in range(len(candidates))])

    width = max(data.shape[1], sum(candidate.embedder.n_anchors for candidate in candidates))
    step = max(MIN_BLOCK, CACHED_BLOCK // (data.dtype.itemsize * width))
    for_blocks(work, (block for block in data.blocks(step) if block.group in stages), "labeling")
    others = [np.asarray(group.rows) for g, group in enumerate(groups) if g not in stages]
    if others:
        _replay(function, families, candidates, data, np.concatenate(others))


def _has_maps(group: Group, candidates: Sequence[Candidate], data: MultiViewData) -> bool:
    """Whether maps are computed for a group; others are replayed through the traces."""
    frequent = group.size >= ROWS_FOR_A_MAP or len(group.views) == len(data.views)
    return frequent or all(candidate.embedder.trace is None for candidate in candidates)


def _replay(
    function: WriteEmbeddings,
    families: Families,
    candidates: Sequence[Candidate],
    data: MultiViewData,
    rows: Array,
) -> None:
    """Embed samples with rare patterns of views, many patterns at a time."""
    for start in range(0, len(rows), REPLAYED_ROWS):
        chosen = rows[start : start + REPLAYED_ROWS]
        some = data[chosen]
        used = {candidate.setting.family for candidate in candidates}
        views = {family: families[family].transform(some) for family in used}
        function(chosen, [c.embedder(views[c.setting.family]) for c in candidates])


@dataclass(frozen=True)
class _Member:
    """Candidates with the same lift, or without."""

    lift: Lift | None
    positions: list[int]
    """Positions of the candidates."""
    maps: Array
    """Maps of the candidates side by side, from the scaled or lifted views of a block."""
    ends: Array
    """Last columns of the candidates but the last one."""

    def embeddings(self, scaled: Array, views: Pattern, widths: Sequence[int]) -> dict[int, Array]:
        """Embeddings by position, of the scaled rows of a block that has some views."""
        rows = scaled if self.lift is None else _lifted_rows(self.lift, scaled, views, widths)
        parts = np.split(rows @ self.maps, self.ends, axis=1)
        return dict(zip(self.positions, parts, strict=True))


@dataclass(frozen=True)
class _Stage:
    """Candidates that take the same scaled rows."""

    scalings: tuple[ViewScaling, ...]
    members: list[_Member]

    def embeddings(self, data: MultiViewData, block: RowBlock) -> dict[int, Array]:
        """Embeddings of a block by the positions of the candidates."""
        scaled = scaled_block(data, self.scalings, block)
        widths = [data.n_features_per_view[p] for p in block.views]
        found: dict[int, Array] = {}
        for member in self.members:
            found |= member.embeddings(scaled, block.views, widths)
        return found


def _stages(
    families: Families, candidates: Sequence[Candidate], views: Pattern, data: MultiViewData
) -> list[_Stage]:
    """Stages for samples that have some views."""
    by_family: dict[Family, list[int]] = {}
    for c, candidate in enumerate(candidates):
        by_family.setdefault(candidate.setting.family, []).append(c)
    stages: list[_Stage] = []
    for family, positions in by_family.items():
        fitted = families[family]
        maps = [_map(candidates[c], fitted, views).astype(data.dtype) for c in positions]
        ends = np.cumsum([W.shape[1] for W in maps])[:-1]
        member = _Member(fitted.lift, positions, np.hstack(maps), ends)
        scalings = fitted.scalings if fitted.lift is None else fitted.lift.scalings
        scalings = tuple(replace(scaling, norm=1.0) for scaling in scalings)
        shared = (stage for stage in stages if _equal(stage.scalings, scalings))
        stage = next(shared, None)
        if stage is None:
            stages.append(_Stage(scalings, [member]))
        else:
            stage.members.append(member)
    return stages


def _map(candidate: Candidate, fitted: FittedFamily, views: Pattern) -> Array:
    """Map from the scaled views, not divided by norms, or from weights on landmarks."""
    factors = []
    for p in views:
        width = candidate.embedder.widths[p]
        own = np.ones(width) if fitted.lift is None else fitted.lift.views[p].column_factors
        factors.append(own / candidate.embedder.scalings[p].norm)
    return np.concatenate(factors)[:, None] * candidate.embedder.map_from(views)


def _equal(a: Sequence[ViewScaling], b: Sequence[ViewScaling]) -> bool:
    return all(
        (one.unit_first, one.unit_last) == (other.unit_first, other.unit_last)
        and _same(one.center, other.center)
        and _same(one.deviation, other.deviation)
        for one, other in zip(a, b, strict=True)
    )


def _same(a: Array | None, b: Array | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)


def _lifted_rows(
    lift: Lift, scaled: Array, views: Pattern, widths: Sequence[int]
) -> sparse.csr_array:
    """Weights of scaled rows on the landmarks of some views, side by side."""
    parts = np.split(scaled, np.cumsum(widths)[:-1], axis=1)
    columns, weights = [], []
    first = 0
    for p, rows in zip(views, parts, strict=True):
        near, own = lift.views[p].nearest(rows)
        columns.append(near + first)
        weights.append(own)
        first += len(lift.views[p].landmarks)
    indices, values = np.hstack(columns), np.hstack(weights)
    starts = np.arange(0, values.size + 1, values.shape[1])
    return sparse.csr_array((values.ravel(), indices.ravel(), starts), shape=(len(scaled), first))
