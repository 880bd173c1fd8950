"""Stage 2, compress: an exact problem with few pseudo-samples in place of all samples.

With the scaled views side by side, ``X = Q R`` with orthonormal columns of ``Q`` (n x r): the
optimization on the r pseudo-samples ``R`` takes the same steps as on the n samples ``X``, so its
trace holds for both. ``R'R = X'X`` needs one pass over row blocks, and ``Q`` is never formed.
Where samples lack views, this is done for each group of samples with the same views.

A view with more features than samples is compressed from the other side: ``X_p = L_p U_p'`` with
orthonormal columns of ``U_p``, computed from ``X_p X_p'``.

The chunks of samples given to `partial_fit` are added up in :class:`RunningSums`.
"""

from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from anchorview._utils.linalg import cholesky_rows, gram, is_sparse, pivoted_cholesky_rows, times
from anchorview._utils.moments import CrossMoments, Moments
from anchorview._utils.threads import map_blocks
from anchorview._utils.typing import Array, Matrix
from anchorview.core.scale import (
    ViewMoments,
    ViewScaling,
    merged_by_key,
    scalings_of,
    with_unit_norms,
)
from anchorview.core.scaled_view import ALL_ROWS, ScaledBlock, scaled_views
from anchorview.views.container import MultiViewData, RowBlock, concatenate_samples
from anchorview.views.row_source import RowSource

Route = Literal["compressed", "left", "direct", "truncated"]
EXACT_ROUTES: tuple[Route, ...] = ("compressed", "left", "direct")

RANK_TOLERANCE = {"float32": 1e-6, "float64": 1e-12}
"""Share of a feature's (or sample's) squared norm, not explained by other features, that may be
rounding of products in this precision."""

WIDE_GRAM = 2048
"""Number of dense features above which the threads of BLAS multiply one block after the other."""


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

    def features(self, widths: Sequence[int]) -> dict[int, slice]:
        """Which features are those of which view."""
        ends = np.cumsum([0, *(widths[p] for p in self.views)]).tolist()
        slices = (slice(*pair) for pair in pairwise(ends))
        return dict(zip(self.views, slices, strict=True))

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
        return GroupSummary(self.views, self.block(ALL_ROWS) + other.block(ALL_ROWS), True)


Summaries = dict[tuple[int, ...], GroupSummary]
"""Summaries by the views that the samples of a group have."""


def merge_summaries(a: Summaries, b: Summaries) -> Summaries:
    """Summaries of two sets of samples together, in an order that does not depend on the sets."""
    merged = merged_by_key(a, b)
    return {views: merged[views] for views in sorted(merged, key=lambda v: (-len(v), v))}


def summarize_groups(data: MultiViewData, scalings: tuple[ViewScaling, ...]) -> Summaries:
    """Summaries of all groups, in one pass: ``X'X`` where a group has more samples than features.

    Blocks are multiplied in the precision of the data and added up in float64: blocks of few
    features by one thread each, those of many one by one, as their products take much memory.
    """
    widths = [sum(data.n_features_per_view[p] for p in group.views) for group in data.groups]
    large = [group.size > width for group, width in zip(data.groups, widths, strict=True)]

    def work(block: RowBlock) -> Array:
        scaled = ScaledBlock(data, scalings, block)
        return scaled.gram() if large[block.group] else scaled.toarray().astype(np.float64)

    sums = {g: np.zeros((d, d)) for g, d in enumerate(widths) if large[g]}
    rows: dict[int, list[Array]] = {g: [] for g in range(len(widths)) if not large[g]}
    one_by_one = max(widths, default=0) > WIDE_GRAM and not any(map(is_sparse, data.views))
    threads = 1 if one_by_one else None
    for block, part in map_blocks(work, data.blocks(), "compressing", threads):
        if large[block.group]:
            sums[block.group] += part
        else:
            rows[block.group].append(part)
    matrices = sums | {g: np.vstack(blocks_of_group) for g, blocks_of_group in rows.items()}
    return {
        group.views: GroupSummary(group.views, matrices[g], large[g])
        for g, group in enumerate(data.groups)
    }


class Problem(NamedTuple):
    """Scaled views to solve on, and how coefficients of them become coefficients of features."""

    views: tuple[Matrix, ...]
    available: Array | None
    """Which rows of which view are available; None if all are."""
    scalings: tuple[ViewScaling, ...]
    """How the views were scaled, including their norms."""
    back: "tuple[CompressedFeatures | Directions | None, ...]"
    """How features of a view were compressed; None if they were not."""
    dtype: "np.dtype[Any]"
    """Precision in which products of samples were computed."""
    left_out: tuple[float, ...] | None = None
    """Squared norm of what a truncation left out of each view."""
    grams: tuple[Array, ...] | None = None
    """Products of all pairs of features of each view, if they are known."""

    def in_features(self, coefficients: Sequence[Array]) -> list[Array]:
        """Turn coefficients of each view's coordinates into coefficients of its features."""
        return [
            C if way is None else way.expand(C)
            for C, way in zip(coefficients, self.back, strict=True)
        ]


def compress(
    parts: RowSource, scalings: tuple[ViewScaling, ...], route: Route, *, unit_norm: bool
) -> Problem:
    """Problem to solve: compressed samples, compressed features, or the data as they are.

    Compressing samples takes one pass over the parts; the other routes need all samples in memory.
    """
    if route == "compressed":
        summaries = parts.reduce(
            partial(summarize_groups, scalings=scalings), merge_summaries, "compressing"
        )
        return problem_from_summaries(
            parts, list(summaries.values()), scalings, unit_norm=unit_norm, dtype=parts.dtype
        )
    assert isinstance(parts, MultiViewData)
    left = route == "left"
    dtype = np.dtype(np.float64) if left else None
    matrices, scalings = scaled_views(parts, scalings, unit_norm=unit_norm, dtype=dtype)
    back = tuple(
        CompressedFeatures.of(X, parts.dtype) if left and X.shape[1] > X.shape[0] else None
        for X in matrices
    )
    views = tuple(
        X if way is None else way.coordinates for X, way in zip(matrices, back, strict=True)
    )
    return Problem(views, parts.available, scalings, back, parts.dtype)


@dataclass(frozen=True)
class CompressedFeatures:
    """A view with more features than samples, in coordinates ``L`` of its row space."""

    view: Matrix
    coordinates: Array
    pivots: Array

    @classmethod
    def of(cls, X: Matrix, dtype: "np.dtype[Any]") -> "CompressedFeatures":
        """Compress a scaled view, and keep it in the precision of the data."""
        products = np.ascontiguousarray(gram(X.T))
        R, pivots = pivoted_cholesky_rows(products, RANK_TOLERANCE["float64"])
        kept = X.astype(dtype, copy=False) if isinstance(X, np.ndarray) else X
        return cls(kept, R.T, pivots)

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


@dataclass(frozen=True)
class Directions:
    """Orthonormal directions (columns) to which a view was truncated."""

    V: Array

    def contract(self, D: Array) -> Array:
        """Coefficients of the directions for coefficients of the features."""
        return self.V.T @ D

    def expand(self, C: Array) -> Array:
        """Coefficients of the features for coefficients of the directions."""
        return self.V @ C


def problem_from_summaries(
    schema: RowSource,
    groups: Sequence[GroupSummary],
    scalings: tuple[ViewScaling, ...],
    *,
    unit_norm: bool,
    dtype: "np.dtype[Any]",
) -> Problem:
    """Views of pseudo-samples that represent all samples.

    `dtype` is the precision in which the summaries were computed. Their matrices are overwritten.
    """
    widths = schema.n_features_per_view
    squared_norms = np.zeros(len(widths))
    for group in groups:
        squares = group.feature_squares()
        for p, features in group.features(widths).items():
            squared_norms[p] += squares[features].sum()
    scalings = with_unit_norms(schema, scalings, squared_norms.tolist(), unit_norm=unit_norm)
    norms = [scaling.norm if unit_norm else 1.0 for scaling in scalings]
    grams = _view_products(groups, widths, norms)
    views, available = pseudo_samples(groups, widths, norms, dtype)
    return Problem(views, available, scalings, (None,) * len(views), dtype, grams=grams)


def _view_products(
    groups: Sequence[GroupSummary], widths: Sequence[int], norms: Sequence[float]
) -> tuple[Array, ...] | None:
    """Products of the features of each view divided by norms, if the summaries have them."""
    group = groups[0]
    if len(groups) > 1 or len(group.views) < len(widths) or not group.is_gram:
        return None
    blocks = map(group.block, group.features(widths).values())
    return tuple(block / norm**2 for block, norm in zip(blocks, norms, strict=True))


def pseudo_samples(
    groups: Sequence[GroupSummary],
    widths: Sequence[int],
    norms: Sequence[float],
    dtype: "np.dtype[Any]",
) -> tuple[tuple[Array, ...], Array | None]:
    """Views divided by norms, and which rows of which view are available; None if all are."""
    rows = [group.rows(RANK_TOLERANCE[dtype.name]) for group in groups]
    if len(rows) == 1 and len(groups[0].views) == len(widths):
        views = tuple(rows[0][:, features] for features in groups[0].features(widths).values())
        for view, norm in zip(views, norms, strict=True):
            view /= norm
        return views, None
    total = sum(map(len, rows))
    views = tuple(np.zeros((total, width)) for width in widths)
    available = np.zeros((total, len(views)), bool)
    start = 0
    for group, group_rows in zip(groups, rows, strict=True):
        stop = start + len(group_rows)
        for p, features in group.features(widths).items():
            np.divide(group_rows[:, features], norms[p], out=views[p][start:stop])
            available[start:stop, p] = True
        start = stop
    return views, None if available.all() else available


CHUNK_SCALINGS = ("unit-center", "zscore", "unit", "none")
"""Scalings that are affine in the rows of a chunk. Rows cannot be normalized after a
standardization by means and deviations that change with every chunk."""

KEPT_SAMPLES = 20_000
"""Number of samples, drawn uniformly from all chunks, on which K-means is run."""


class RunningSums:
    """Moments of all chunks so far by the views that samples have, and a random sample of rows."""

    def __init__(self, first: MultiViewData, scaling: str, seed: int) -> None:
        self.scaling = scaling
        self.dtype = first.dtype
        self.moments: dict[tuple[int, ...], CrossMoments] = {}
        self.random = np.random.RandomState(seed)
        self.sample = first[:0]
        self.keys = np.empty(0)

    def __len__(self) -> int:
        return sum(int(moments.weight) for moments in self.moments.values())

    def with_chunk(self, chunk: MultiViewData) -> "RunningSums":
        """Return the sums including a chunk; these sums stay unchanged, also if it fails."""
        grown = copy(self)
        grown.random = deepcopy(self.random)
        # The coarsest precision of any chunk is that of the sums.
        grown.dtype = min(self.dtype, chunk.dtype)
        plain = ViewScaling(unit_first=self.scaling in ("unit", "unit-center"))
        scalings = (plain,) * len(chunk.views)

        def work(block: RowBlock) -> CrossMoments:
            rows = ScaledBlock(chunk, scalings, block).toarray()
            mean = rows.mean(axis=0, dtype=np.float64)
            rows -= mean.astype(rows.dtype)
            with np.errstate(over="ignore", invalid="ignore"):
                return CrossMoments(len(rows), mean, mean, (rows.T @ rows).astype(np.float64))

        for block, moments in map_blocks(work, chunk.blocks(), "compressing"):
            grown.moments = merged_by_key(grown.moments, {block.views: moments})
        grown._draw(chunk)
        return grown

    def _draw(self, chunk: MultiViewData) -> None:
        """Keep the samples with the smallest random keys: a uniform sample of all chunks."""
        keys = np.concatenate([self.keys, self.random.random_sample(len(chunk))])
        pool = concatenate_samples(self.sample, chunk)
        if len(keys) > KEPT_SAMPLES:
            kept = np.sort(np.argpartition(keys, KEPT_SAMPLES)[:KEPT_SAMPLES])
            keys, pool = keys[kept], pool[kept]
        self.keys, self.sample = keys, pool

    def problem(self, data: MultiViewData, *, unit_norm: bool) -> Problem:
        """Problem of all chunks together; `data` has the names and widths of the views."""
        widths = data.n_features_per_view
        by_view: ViewMoments = {}
        for views, joint in self.moments.items():
            ends = np.cumsum([widths[p] for p in views])[:-1]
            pairs = np.split(joint.left, ends), np.split(np.diag(joint.products), ends)
            parts = zip(views, *pairs, strict=True)
            known = {p: Moments(joint.weight, mean, squares) for p, mean, squares in parts}
            by_view = merged_by_key(by_view, known)
        scalings = scalings_of(data, self.scaling, by_view, self.dtype)
        summaries = [
            GroupSummary(
                views, _scaled_gram(joint, [(widths[p], scalings[p]) for p in views]), True
            )
            for views, joint in self.moments.items()
        ]
        return problem_from_summaries(
            data, summaries, scalings, unit_norm=unit_norm, dtype=self.dtype
        )


def _scaled_gram(joint: CrossMoments, views: list[tuple[int, ViewScaling]]) -> Array:
    """Gram matrix of rows that are centered and divided by deviations, by width and scaling."""
    centers = [np.zeros(d) if of.center is None else of.center for d, of in views]
    divisors = [np.ones(d) if of.deviation is None else of.deviation for d, of in views]
    move, divisor = joint.left - np.concatenate(centers), np.concatenate(divisors)
    gram = joint.products + np.outer(joint.weight * move, move)
    return np.asarray(gram / divisor / divisor[:, None])
