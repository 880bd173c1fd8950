"""Exact compression: a small problem with the same optimum.

With the scaled views side by side, ``X = Q R`` with orthonormal columns of ``Q`` (n x r): the
optimization on the r pseudo-samples ``R`` makes the same steps as on the n samples ``X``, so its
trace holds for both. ``R'R = X'X`` needs one pass over row blocks, and ``Q`` is never formed.
Where samples lack views, this is done for each group of samples with the same views.

A view with more features than samples is compressed from the other side: ``X_p = L_p U_p'`` with
orthonormal columns of ``U_p``, found from ``X_p X_p'``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from anchorview._utils.linalg import gram, times
from anchorview._utils.threads import map_blocks
from anchorview._utils.typing import Array, Matrix
from anchorview.core.cost_model import Route
from anchorview.core.scale import (
    ViewScaling,
    scaled_block,
    scaled_views,
    sparse_block,
    with_unit_norms,
)
from anchorview.views.container import MultiViewData, RowBlock, ViewsSchema
from anchorview.views.input_grammar import none_if_complete

RANK_TOLERANCE = {"float32": 1e-6, "float64": 1e-12}
"""Share of a feature's (or sample's) squared length, unexplained by the others, that rounding of
the products in this precision can fake."""


class GroupSummary(NamedTuple):
    """What the samples of one availability pattern contribute: ``X'X``, or their few rows."""

    views: tuple[int, ...]
    matrix: Array
    is_gram: bool

    def rows(self, tolerance: float) -> Array:
        """Pseudo-samples that stand for the group."""
        return pivoted_cholesky(self.matrix, tolerance)[0].T if self.is_gram else self.matrix

    def feature_squares(self) -> Array:
        """Squared length of each feature."""
        if self.is_gram:
            return np.diag(self.matrix)
        return np.einsum("ij,ij->j", self.matrix, self.matrix)

    def merged(self, other: "GroupSummary") -> "GroupSummary":
        """What both contribute: few rows stay rows, as their product would lose digits."""
        few = not (self.is_gram or other.is_gram)
        if few and len(self.matrix) + len(other.matrix) <= self.matrix.shape[1]:
            return GroupSummary(self.views, np.vstack([self.matrix, other.matrix]), False)
        return GroupSummary(self.views, self._gram() + other._gram(), True)

    def _gram(self) -> Array:
        return self.matrix if self.is_gram else self.matrix.T @ self.matrix


def summarize_groups(
    data: MultiViewData, scalings: tuple[ViewScaling, ...], block_rows: int | None = None
) -> list[GroupSummary]:
    """Summaries of all groups, in one pass: ``X'X`` where a group has more samples than features.

    Blocks are multiplied in the data's precision, sums are in float64.
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
    for block, part in map_blocks(work, data.blocks(block_rows), "compressing"):
        total = sums[block.group]
        if total is None:
            rows[block.group].append(part)
        else:
            total += part
    return [
        GroupSummary(group.views, np.vstack(few) if total is None else total, total is not None)
        for group, total, few in zip(data.groups, sums, rows, strict=True)
    ]


Summaries = dict[tuple[int, ...], GroupSummary]
"""Summaries by the views that a group has."""


def merged_summaries(a: Summaries, b: Summaries) -> Summaries:
    """Summaries of two sets of samples together."""
    return a | {views: a[views].merged(own) if views in a else own for views, own in b.items()}


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
    L, pivots = pivoted_cholesky(gram(X.T), RANK_TOLERANCE["float64"])
    return CompressedFeatures(X, L, pivots)


class SmallProblem(NamedTuple):
    """Scaled views to solve on, and what leads back from them."""

    views: tuple[Matrix, ...]
    available: Array | None
    """Which rows of which view are there; None if all."""
    scalings: tuple[ViewScaling, ...]
    """How the views were scaled, norms included."""
    back: tuple[CompressedFeatures | None, ...]
    """Views whose coordinates are compressed features."""
    dtype: "np.dtype[Any]"
    """Precision in which products of the samples were made."""

    def in_features(self, coefficients: Sequence[Array]) -> list[Array]:
        """Turn coefficients of each view's coordinates into coefficients of its features."""
        return [
            C if way is None else way.expand(C)
            for C, way in zip(coefficients, self.back, strict=True)
        ]


def pose_problem(
    data: MultiViewData, scalings: tuple[ViewScaling, ...], route: Route, *, unit_norm: bool
) -> SmallProblem:
    """Pose the problem in the form to solve: compressed samples, compressed features, or as is."""
    if route == "compressed":
        summaries = summarize_groups(data, scalings)
        return small_problem(data, summaries, scalings, unit_norm=unit_norm, dtype=data.dtype)
    left = route == "left"
    dtype = np.dtype(np.float64) if left else None
    matrices, scalings = scaled_views(data, scalings, unit_norm=unit_norm, dtype=dtype)
    back = tuple(
        compress_features(X) if left and X.shape[1] > X.shape[0] else None for X in matrices
    )
    views = tuple(
        X if way is None else way.coordinates for X, way in zip(matrices, back, strict=True)
    )
    return SmallProblem(views, data.available, scalings, back, data.dtype)


def small_problem(
    data: ViewsSchema,
    summaries: Sequence[GroupSummary],
    scalings: tuple[ViewScaling, ...],
    *,
    unit_norm: bool,
    dtype: "np.dtype[Any]",
) -> SmallProblem:
    """Views of pseudo-samples that stand for all samples.

    `data` tells names and widths, `dtype` the precision in which the summaries were made.
    """
    widths = data.n_features_per_view
    squares = np.zeros(len(widths))
    for group in summaries:
        parts = _split_views(group, group.feature_squares(), widths)
        squares[list(group.views)] += [part.sum() for part in parts]
    normed = with_unit_norms(data, scalings, squares.tolist())
    norms = [scaling.norm if unit_norm else 1.0 for scaling in normed]

    tolerance = RANK_TOLERANCE[dtype.name]
    rows = [group.rows(tolerance) for group in summaries]
    total = sum(map(len, rows))
    views = tuple(np.zeros((total, width)) for width in widths)
    available = np.zeros((total, len(views)), bool)
    start = 0
    for group, part in zip(summaries, rows, strict=True):
        stop = start + len(part)
        for p, columns in zip(group.views, _split_views(group, part, widths), strict=True):
            views[p][start:stop] = columns / norms[p]
        available[start:stop, list(group.views)] = True
        start = stop
    final = normed if unit_norm else scalings
    return SmallProblem(views, none_if_complete(available), final, (None,) * len(views), dtype)


def _split_views(group: GroupSummary, columns: Array, widths: tuple[int, ...]) -> list[Array]:
    """Last axis, over the features of a group's views, split by view."""
    ends = np.cumsum([widths[p] for p in group.views])
    return np.split(columns, ends[:-1], axis=-1)
