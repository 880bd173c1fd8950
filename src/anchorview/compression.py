"""Exact compression: a small problem with the same optimum.

With the scaled views side by side, ``X = Q R`` with orthonormal columns of ``Q`` (n x r): the
optimisation on the r pseudo-samples ``R`` makes the same steps as on the n samples ``X``, so its
trace holds for both. ``R'R = X'X`` needs one pass over row blocks, and ``Q`` is never formed.
Where samples lack views, this is done for each group of samples with the same views.

A view with more features than samples is compressed from the other side: ``X_p = L_p U_p'`` with
orthonormal columns of ``U_p``, found from ``X_p X_p'``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from anchorview import linalg
from anchorview._typing import Array, Matrix
from anchorview.blocks import map_blocks
from anchorview.linalg import times
from anchorview.scaling import ViewScaling, scaled_block, with_unit_norms
from anchorview.views import Group, MultiViewData, RowBlock

RANK_TOLERANCE = {"float32": 1e-6, "float64": 1e-12}
"""Share of a feature's (or sample's) squared length, unexplained by the others, that rounding of
the products in this precision can fake."""


class SmallProblem(NamedTuple):
    """Scaled views to solve on, which rows of them are there, and the finished scalings."""

    views: tuple[Matrix, ...]
    available: Array | None
    scalings: tuple[ViewScaling, ...]


def compresses(data: MultiViewData, group: Group) -> bool:
    """Whether a group has more samples than features, so that its Gram matrix is smaller."""
    return group.size > sum(data.n_features_per_view[p] for p in group.views)


def group_summaries(
    data: MultiViewData, scalings: tuple[ViewScaling, ...], block_rows: int | None = None
) -> list[Array]:
    """``X'X`` of each group that compresses, the scaled rows of the others; in float64.

    Blocks are multiplied in the data's precision.
    """
    small = [not compresses(data, group) for group in data.groups]

    def work(block: RowBlock) -> Array:
        scaled = scaled_block(data, scalings, block)
        return scaled if small[block.group] else scaled.T @ scaled

    rows: list[list[Array]] = [[] for _ in small]
    sums: list[Array | float] = [0.0 for _ in small]
    for block, part in map_blocks(work, data.blocks(block_rows), "compressing"):
        if small[block.group]:
            rows[block.group].append(part.astype(np.float64))
        else:
            sums[block.group] += part.astype(np.float64)
    return [np.vstack(rows[g]) if small[g] else np.asarray(sums[g]) for g in range(len(small))]


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


def compress_samples(
    data: MultiViewData,
    scalings: tuple[ViewScaling, ...],
    *,
    unit_norm: bool,
    block_rows: int | None = None,
) -> SmallProblem:
    """Views of pseudo-samples that stand for all samples."""
    summaries = group_summaries(data, scalings, block_rows)
    grams = [compresses(data, group) for group in data.groups]
    tolerance = RANK_TOLERANCE[data.dtype.name]
    squares = np.zeros(len(data.views))
    for group, summary, is_gram in zip(data.groups, summaries, grams, strict=True):
        per_feature = np.diag(summary) if is_gram else np.einsum("ij,ij->j", summary, summary)
        squares[list(group.views)] += [np.sum(p) for p in split_views(data, group, per_feature)]
    normed = with_unit_norms(data, scalings, squares.tolist())
    norms = [scaling.norm if unit_norm else 1.0 for scaling in normed]
    rows = [
        pivoted_cholesky(summary, tolerance)[0].T if is_gram else summary
        for summary, is_gram in zip(summaries, grams, strict=True)
    ]

    total = sum(map(len, rows))
    views = tuple(np.zeros((total, d)) for d in data.n_features_per_view)
    available = np.zeros((total, len(views)), bool)
    start = 0
    for group, part in zip(data.groups, rows, strict=True):
        stop = start + len(part)
        for p, columns in zip(group.views, split_views(data, group, part), strict=True):
            views[p][start:stop] = columns / norms[p]
        available[start:stop, list(group.views)] = True
        start = stop
    complete = data.available is None
    return SmallProblem(views, None if complete else available, normed if unit_norm else scalings)


def split_views(data: MultiViewData, group: Group, columns: Array) -> list[Array]:
    """Last axis, over the features of a group's views, split by view."""
    widths = [data.n_features_per_view[p] for p in group.views]
    return np.split(columns, np.cumsum(widths)[:-1], axis=-1)


@dataclass(frozen=True)
class CompressedFeatures:
    """A view with more features than samples in coordinates ``L`` of its row space."""

    view: Matrix
    coordinates: Array
    pivots: Array

    def contract(self, D: Array) -> Array:
        """Coefficients of the coordinates for coefficients of the features: ``U'D``."""
        product = times(self.view, D)[self.pivots]
        return solve_triangular(self.coordinates[self.pivots], product, lower=True)

    def expand(self, W: Array) -> Array:
        """Coefficients of the features for coefficients of the coordinates: ``U W``.

        ``U' = L[pivots]^-1 X[pivots]``, so ``U W = X' M`` with M zero outside the pivots.
        """
        M = np.zeros((self.view.shape[0], W.shape[1]))
        M[self.pivots] = solve_triangular(self.coordinates[self.pivots], W, trans="T", lower=True)
        return times(self.view.T, M)


def compress_features(X: Matrix) -> CompressedFeatures:
    """Compress a scaled view with more features than samples."""
    L, pivots = pivoted_cholesky(linalg.gram(X.T), RANK_TOLERANCE["float64"])
    return CompressedFeatures(X, L, pivots)
