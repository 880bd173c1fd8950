"""Embeddings of any samples by all candidates, block by block.

Families whose scalings begin with the same steps share the rows after these, which are multiplied
once by the maps of all of them. The candidates of a family share the search for the nearest
landmarks. All further steps up to the embedding are linear: the norms of views and the factors of
landmarks are part of the maps of the candidates.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from anchorview._utils.threads import for_blocks
from anchorview._utils.typing import Array, Matrix
from anchorview.core.embed import REPLAYED_ROWS, ROWS_FOR_A_MAP, Pattern
from anchorview.core.scale import ViewScaling
from anchorview.estimators.auto.candidates import Candidate, FittedFamily
from anchorview.estimators.auto.landmarks import Lift
from anchorview.estimators.auto.settings import Family
from anchorview.estimators.auto.view_products import ViewProducts, same_first_steps
from anchorview.views.container import Group, MultiViewData, RowBlock
from anchorview.views.low_rank_sum import has_few_entries

BLOCK_BYTES = 16 * 2**20
"""Size of the rows of a block. It hardly matters if nothing else runs; beside other programs,
blocks of a quarter take a third longer."""

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

    width = max(
        sum(_width(data, families, p) for p in range(len(data.views))),
        sum(candidate.embedder.n_anchors for candidate in candidates),
    )
    step = max(MIN_BLOCK, int(BLOCK_BYTES // (data.dtype.itemsize * width)))
    for_blocks(work, (block for block in data.blocks(step) if block.group in stages), "labeling")
    others = [np.asarray(group.rows) for g, group in enumerate(groups) if g not in stages]
    if others:
        _replay(function, families, candidates, data, np.concatenate(others))


def _width(data: MultiViewData, families: Families, p: int) -> float:
    """Number of values of a row of a view, or of entries if it stays sparse, and their columns."""
    view = data.views[p]
    lifts = [family.lift for family in families.values() if family.lift is not None]
    if has_few_entries(view) and all(lift.views[p].directions is not None for lift in lifts):
        return 2 * view.nnz / max(1, len(data))
    return float(view.shape[1])


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


@dataclass(frozen=True, eq=False)
class _Member:
    """Candidates of a family, for samples that have some views."""

    scalings: tuple[ViewScaling, ...]
    """Scalings of all views as they are, before a lift."""
    lift: Lift | None
    positions: list[int]
    """Positions of the candidates."""
    maps: Array
    """Maps of the candidates side by side, from the scaled views or from weights on landmarks."""
    ends: Array
    """Last columns of the candidates but the last one."""

    def split(self, embeddings: Array) -> dict[int, Array]:
        """Embeddings by position, of those side by side."""
        return dict(zip(self.positions, np.split(embeddings, self.ends, axis=1), strict=True))


@dataclass(frozen=True, eq=False)
class _Stage:
    """Families whose scalings share their first steps, for samples that have some views."""

    members: list[_Member]
    products: list[ViewProducts]
    """By view."""
    columns: list[list[slice]]
    """Columns of the products that each member has, by view."""

    @classmethod
    def of(cls, members: list[_Member], views: Pattern, data: MultiViewData) -> Self:
        """Stage of some families."""
        widths = [data.n_features_per_view[p] for p in views]
        starts = np.cumsum([0, *widths])
        products, columns = [], []
        for v, p in enumerate(views):
            maps = []
            for member in members:
                W = member.maps[starts[v] : starts[v + 1]]
                if member.lift is not None:
                    found = member.lift.views[p].directions
                    W = np.empty((widths[v], 0)) if found is None else found
                maps.append((member.scalings[p], W))
            product, places = ViewProducts.of(maps, data.dtype)
            products.append(product)
            columns.append(places)
        return cls(members, products, columns)

    def embeddings(self, data: MultiViewData, block: RowBlock) -> dict[int, Array]:
        """Embeddings of a block by the positions of the candidates."""
        sums: list[Array | None] = [None] * len(self.members)
        near: list[list[tuple[Array, Array]]] = [[] for _ in self.members]
        for p, product, columns in zip(block.views, self.products, self.columns, strict=True):
            rows = data.views[p][block.rows]
            found = product(rows)
            for m, (member, own) in enumerate(zip(self.members, columns, strict=True)):
                if member.lift is not None:
                    near[m].append(_nearest(member.lift, p, rows, found[:, own]))
                elif sums[m] is None:
                    sums[m] = found[:, own]
                else:
                    sums[m] += found[:, own]
        embeddings: dict[int, Array] = {}
        for member, total, landmarks in zip(self.members, sums, near, strict=True):
            if member.lift is not None:
                counts = [len(member.lift.views[p].landmarks) for p in block.views]
                total = _weights(landmarks, counts) @ member.maps
            assert total is not None
            embeddings |= member.split(total)
        return embeddings


def _nearest(lift: Lift, p: int, rows: Matrix, projected: Array) -> tuple[Array, Array]:
    """Nearest landmarks of rows in a view, and weights on them; `projected` is empty if unused."""
    own = lift.views[p]
    if own.directions is None:
        return own.nearest(rows, slice(None), lift.scalings[p], projected.dtype)
    return own.nearest_of_projected(projected)


def _weights(found: Sequence[tuple[Array, Array]], counts: Sequence[int]) -> sparse.csr_array:
    """Weights on the landmarks of several views, of which there are `counts`, side by side."""
    starts = np.cumsum([0, *counts])
    columns = [near + start for (near, _), start in zip(found, starts[:-1], strict=True)]
    indices, values = np.hstack(columns), np.hstack([weights for _, weights in found])
    ends = np.arange(0, values.size + 1, values.shape[1])
    shape = (len(values), int(starts[-1]))
    return sparse.csr_array((values.ravel(), indices.ravel(), ends), shape=shape)


def _stages(
    families: Families, candidates: Sequence[Candidate], views: Pattern, data: MultiViewData
) -> list[_Stage]:
    """Stages for samples that have some views."""
    by_family: dict[Family, list[int]] = {}
    for c, candidate in enumerate(candidates):
        by_family.setdefault(candidate.setting.family, []).append(c)
    grouped: list[list[_Member]] = []
    for family, positions in by_family.items():
        fitted = families[family]
        maps = [_map(candidates[c], fitted, views) for c in positions]
        ends = np.cumsum([W.shape[1] for W in maps])[:-1]
        scalings = fitted.scalings if fitted.lift is None else fitted.lift.scalings
        stacked = np.hstack(maps).astype(data.dtype)
        member = _Member(scalings, fitted.lift, positions, stacked, ends)
        for members in grouped:
            if same_first_steps(members[0].scalings, scalings):
                members.append(member)
                break
        else:
            grouped.append([member])
    return [_Stage.of(members, views, data) for members in grouped]


def _map(candidate: Candidate, fitted: FittedFamily, views: Pattern) -> Array:
    """Map from the scaled views, not divided by norms, or from weights on landmarks."""
    factors = []
    for p in views:
        width = candidate.embedder.widths[p]
        own = np.ones(width) if fitted.lift is None else fitted.lift.views[p].column_factors
        factors.append(own / candidate.embedder.scalings[p].norm)
    return np.concatenate(factors)[:, None] * candidate.embedder.map_from(views)
