"""Stage 2, compress: an exact problem with few pseudo-samples in place of all samples.

With the scaled views side by side, ``X = Q R`` with orthonormal columns of ``Q`` (n x r): the
optimization on the r pseudo-samples ``R`` takes the same steps as on the n samples ``X``, so its
trace holds for both. ``R'R = X'X`` needs one pass over row blocks, and ``Q`` is never formed.
Where samples lack views, this is done for each group of samples with the same views.

A view with more features than samples is compressed from the other side: ``X_p = L_p U_p'`` with
orthonormal columns of ``U_p``, found from ``X_p X_p'``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from anchorview._utils.linalg import gram, times
from anchorview._utils.typing import Array, Matrix
from anchorview.core.cost_model import Route
from anchorview.core.group_summaries import (
    RANK_TOLERANCE,
    GroupSummary,
    merge_summaries,
    pivoted_cholesky,
    summarize_groups,
)
from anchorview.core.scale import ViewScaling, scaled_views, with_unit_norms
from anchorview.views.container import MultiViewData, concatenate_samples
from anchorview.views.matrix_checks import none_if_complete
from anchorview.views.parts import Parts
from anchorview.views.schema import ViewsSchema


class Problem(NamedTuple):
    """Scaled views to solve on, and how coefficients of them become coefficients of features."""

    views: tuple[Matrix, ...]
    available: Array | None
    """Which rows of which view are available; None if all are."""
    scalings: tuple[ViewScaling, ...]
    """How the views were scaled, including their norms."""
    back: "tuple[CompressedFeatures | None, ...]"
    """Views whose features were compressed; None for the others."""
    dtype: "np.dtype[Any]"
    """Precision in which products of samples were computed."""

    def in_features(self, coefficients: Sequence[Array]) -> list[Array]:
        """Turn coefficients of each view's coordinates into coefficients of its features."""
        return [
            C if way is None else way.expand(C)
            for C, way in zip(coefficients, self.back, strict=True)
        ]


def compress(
    parts: Parts, scalings: tuple[ViewScaling, ...], route: Route, *, unit_norm: bool
) -> Problem:
    """Problem to solve: compressed samples, compressed features, or the data as they are.

    Compressing samples takes one pass over the parts; the other routes need all samples in memory.
    """
    if route == "compressed":
        summaries = parts.reduce(
            partial(summarize_groups, scalings=scalings), merge_summaries, "compressing"
        )
        return problem_from_summaries(
            parts, summaries.values(), scalings, unit_norm=unit_norm, dtype=parts.dtype
        )
    data = parts.reduce(_same, concatenate_samples, "reading")
    left = route == "left"
    dtype = np.dtype(np.float64) if left else None
    matrices, scalings = scaled_views(data, scalings, unit_norm=unit_norm, dtype=dtype)
    back = tuple(
        CompressedFeatures.of(X) if left and X.shape[1] > X.shape[0] else None for X in matrices
    )
    views = tuple(
        X if way is None else way.coordinates for X, way in zip(matrices, back, strict=True)
    )
    return Problem(views, data.available, scalings, back, data.dtype)


def _same(part: MultiViewData) -> MultiViewData:
    return part


@dataclass(frozen=True)
class CompressedFeatures:
    """A view with more features than samples, in coordinates ``L`` of its row space."""

    view: Matrix
    coordinates: Array
    pivots: Array

    @classmethod
    def of(cls, X: Matrix) -> "CompressedFeatures":
        """Compress a scaled view."""
        return cls(X, *pivoted_cholesky(gram(X.T), RANK_TOLERANCE["float64"]))

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


def problem_from_summaries(
    schema: ViewsSchema,
    summaries: Iterable[GroupSummary],
    scalings: tuple[ViewScaling, ...],
    *,
    unit_norm: bool,
    dtype: "np.dtype[Any]",
) -> Problem:
    """Views of pseudo-samples that represent all samples.

    `dtype` is the precision in which the summaries were computed.
    """
    widths = schema.n_features_per_view
    squares = np.zeros(len(widths))
    groups = list(summaries)
    for group in groups:
        parts = _split_views(group, group.feature_squares(), widths)
        squares[list(group.views)] += [part.sum() for part in parts]
    normed = with_unit_norms(schema, scalings, squares.tolist())
    norms = [scaling.norm if unit_norm else 1.0 for scaling in normed]

    tolerance = RANK_TOLERANCE[dtype.name]
    rows = [group.rows(tolerance) for group in groups]
    total = sum(map(len, rows))
    views = tuple(np.zeros((total, width)) for width in widths)
    available = np.zeros((total, len(views)), bool)
    start = 0
    for group, part in zip(groups, rows, strict=True):
        stop = start + len(part)
        for p, columns in zip(group.views, _split_views(group, part, widths), strict=True):
            views[p][start:stop] = columns / norms[p]
        available[start:stop, list(group.views)] = True
        start = stop
    final = normed if unit_norm else scalings
    return Problem(views, none_if_complete(available), final, (None,) * len(views), dtype)


def _split_views(group: GroupSummary, columns: Array, widths: tuple[int, ...]) -> list[Array]:
    """Last axis, over the features of a group's views, split by view."""
    ends = np.cumsum([widths[p] for p in group.views])
    return np.split(columns, ends[:-1], axis=-1)
