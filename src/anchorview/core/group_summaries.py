"""Sums that represent groups of samples exactly, and the factorization that makes rows of them."""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf

from anchorview._utils.threads import map_blocks
from anchorview._utils.typing import Array
from anchorview.core.scale import ViewScaling, scaled_block, sparse_block
from anchorview.views.container import MultiViewData, RowBlock

RANK_TOLERANCE = {"float32": 1e-6, "float64": 1e-12}
"""Share of a feature's (or sample's) squared norm, not explained by the others, that may be
rounding of products in this precision."""


def pivoted_cholesky(G: Array, tolerance: float) -> tuple[Array, Array]:
    """Factor ``G = L L'`` of a positive semidefinite matrix, with as many columns as its rank.

    Returns ``L`` and the pivots; ``L[pivots]`` is lower triangular. The rank is judged on
    correlations, so the units of features do not matter.
    """
    scale = np.sqrt(np.diag(G))
    scale[scale == 0] = 1
    correlations = np.asfortranarray(G / scale / scale[:, None])
    factor, order, rank, _ = dpstrf(correlations, lower=1, tol=tolerance, overwrite_a=1)
    pivots = order - 1
    L = np.empty((len(G), rank))
    L[pivots] = np.tril(factor)[:, :rank]
    return L * scale[:, None], pivots[:rank]


class GroupSummary(NamedTuple):
    """Sums over samples with the same available views: ``X'X``, or the rows if these are few."""

    views: tuple[int, ...]
    matrix: Array
    is_gram: bool

    def rows(self, tolerance: float) -> Array:
        """Pseudo-samples that represent the group."""
        return pivoted_cholesky(self.matrix, tolerance)[0].T if self.is_gram else self.matrix

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

    Blocks are multiplied in the precision of the data and added up in float64.
    """
    widths = [sum(data.n_features_per_view[p] for p in group.views) for group in data.groups]
    large = [group.size > width for group, width in zip(data.groups, widths, strict=True)]

    def work(block: RowBlock) -> Array:
        if large[block.group] and (few := sparse_block(data, scalings, block)) is not None:
            return (few.T @ few).toarray()
        scaled = scaled_block(data, scalings, block)
        return scaled.T @ scaled if large[block.group] else scaled.astype(np.float64)

    sums = [np.zeros((d, d)) if gram else None for d, gram in zip(widths, large, strict=True)]
    rows: list[list[Array]] = [[] for _ in data.groups]
    for block, part in map_blocks(work, data.blocks(), "compressing"):
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
