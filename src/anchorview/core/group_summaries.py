"""Sums that represent groups of samples exactly, and the factorization that makes rows of them."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from anchorview._utils.progress import report_progress
from anchorview._utils.scratch import scratch
from anchorview._utils.symmetric import MIN_TILED, add_products, cholesky_rows, mirror_upper
from anchorview._utils.threads import map_blocks, parallel_map
from anchorview._utils.typing import Array
from anchorview.core.scale import ViewScaling, scaled_block, sparse_block, stays_sparse
from anchorview.views.container import MultiViewData, RowBlock
from anchorview.views.schema import CACHED_BLOCK

RANK_TOLERANCE = {"float32": 1e-6, "float64": 1e-12}
"""Share of a feature's (or sample's) squared norm, not explained by the others, that may be
rounding of products in this precision."""


class GroupSummary(NamedTuple):
    """Sums over samples with the same available views: ``X'X``, or the rows if these are few."""

    views: tuple[int, ...]
    matrix: Array
    is_gram: bool

    def rows(self, tolerance: float) -> Array:
        """Pseudo-samples that represent the group; they may use the memory of the matrix."""
        return cholesky_rows(self.matrix, tolerance) if self.is_gram else self.matrix

    def feature_squares(self) -> Array:
        """Squared length of each feature."""
        if self.is_gram:
            return np.diag(self.matrix)
        return np.einsum("ij,ij->j", self.matrix, self.matrix)

    def block(self, features: slice) -> Array:
        """Products of some features."""
        if self.is_gram:
            return self.matrix[features, features]
        return self.matrix[:, features].T @ self.matrix[:, features]

    def merged(self, other: "GroupSummary") -> "GroupSummary":
        """Summary of both sets of samples. Few rows stay rows: their product would lose digits."""
        both_rows = not (self.is_gram or other.is_gram)
        if both_rows and len(self.matrix) + len(other.matrix) <= self.matrix.shape[1]:
            return GroupSummary(self.views, np.vstack([self.matrix, other.matrix]), False)
        return GroupSummary(self.views, self._gram() + other._gram(), True)

    def _gram(self) -> Array:
        return self.matrix if self.is_gram else self.matrix.T @ self.matrix


Summaries = dict[tuple[int, ...], GroupSummary]
"""Summaries by the views that the samples of a group have."""


def merge_summaries(a: Summaries, b: Summaries) -> Summaries:
    """Summaries of two sets of samples together, in an order that does not depend on the sets."""
    merged = a | {views: a[views].merged(own) if views in a else own for views, own in b.items()}
    return {views: merged[views] for views in sorted(merged, key=lambda v: (-len(v), v))}


def summarize_groups(data: MultiViewData, scalings: tuple[ViewScaling, ...]) -> Summaries:
    """Summaries of all groups, in one pass: ``X'X`` where a group has more samples than features.

    Blocks are multiplied in the precision of the data and added up in float64: blocks of few
    features by one thread each, those of many in tiles, which keeps one matrix of products only.
    """
    widths = [sum(data.n_features_per_view[p] for p in group.views) for group in data.groups]
    large = [group.size > width for group, width in zip(data.groups, widths, strict=True)]

    def in_tiles(block: RowBlock) -> bool:
        wide = large[block.group] and widths[block.group] > MIN_TILED
        return wide and not stays_sparse(data, scalings, block)

    def work(block: RowBlock) -> Array:
        if large[block.group] and stays_sparse(data, scalings, block):
            few = sparse_block(data, scalings, block)
            return (few.T @ few).toarray()
        scaled = scaled_block(data, scalings, block)
        return scaled.T @ scaled if large[block.group] else scaled.astype(np.float64)

    sums = [np.zeros((d, d)) if gram else None for d, gram in zip(widths, large, strict=True)]
    rows: list[list[Array]] = [[] for _ in data.groups]
    blocks = list(data.blocks())
    _add_in_tiles(sums, data, scalings, [block for block in blocks if in_tiles(block)])
    others = [block for block in blocks if not in_tiles(block)]
    for block, part in map_blocks(work, others, "compressing"):
        total = sums[block.group]
        if total is None:
            rows[block.group].append(part)
        else:
            total += part
    return {
        group.views: GroupSummary(
            group.views, np.vstack(few) if total is None else total, total is not None
        )
        for group, total, few in zip(data.groups, sums, rows, strict=True)
    }


def _add_in_tiles(
    sums: list[Array | None],
    data: MultiViewData,
    scalings: tuple[ViewScaling, ...],
    blocks: list[RowBlock],
) -> None:
    """Add the products of blocks to the sums of their groups; all threads work on one block."""
    total = sum(block.size for block in blocks)
    done = 0
    for block in blocks:
        G = sums[block.group]
        assert G is not None
        add_products(G, _scaled_in_threads(data, scalings, block))
        done += block.size
        report_progress("compressing", done, total)
    for group in {block.group for block in blocks}:
        G = sums[group]
        assert G is not None
        mirror_upper(G)


def _scaled_in_threads(
    data: MultiViewData, scalings: tuple[ViewScaling, ...], block: RowBlock
) -> Array:
    """Scaled rows of a block, valid until the next block is scaled."""
    width = sum(data.n_features_per_view[p] for p in block.views)
    scaled = scratch("block of scaled rows", (block.size, width), data.dtype)
    step = max(1, CACHED_BLOCK // (width * data.dtype.itemsize))

    def work(part: slice) -> None:
        scaled_block(data, scalings, block.part(part), out=scaled[part])

    for _ in parallel_map(work, list(gen_batches(block.size, step))):
        pass
    return scaled
