"""Truncation of wide views to their leading directions, with a bound of what that can change.

A view ``X`` (n x d) is replaced by ``X V V'`` with orthonormal columns of ``V`` (d x r) that nearly
span its r leading right singular vectors. They come from random directions by a few steps
``V = orth(X'X V)``, each one pass over the parts; sparse views are never made dense.

For the rest ``E = X - X V V'`` and any representation ``H`` with m orthonormal columns, the
residual of the view changes by

    ||E'H||^2 <= min(||E||^2, m sigma^2),    sigma the largest singular value of E.

The weights add up to 1, so the objective changes by at most half of the largest of these bounds,
for every state of the optimization and therefore for its minimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, qr

from anchorview._utils.progress import report_progress
from anchorview._utils.threads import ThreadBuffer, map_blocks
from anchorview._utils.typing import Array
from anchorview.core.compress import (
    Directions,
    Problem,
    Summaries,
    merge_summaries,
    pseudo_samples,
    summarize_groups,
)
from anchorview.core.scale import ViewScaling, with_unit_norms
from anchorview.core.scaled_view import SparseScaledView
from anchorview.views.container import MultiViewData, RowBlock
from anchorview.views.low_rank_sum import is_sparse
from anchorview.views.row_source import RowSource

WIDE = 512
"""Minimum number of features of a view that is truncated."""

MIN_DIRECTIONS, DIRECTIONS_PER_COMPONENT = 32, 2
"""Number of directions of a view: the second number times its components, at least the first."""

OVERSAMPLING = 16
"""Number of further directions. They also tell how large what is left out can be."""

POWER_STEPS = 3
"""Number of steps by which the directions are found."""

MAX_DOUBLINGS = 2
"""How often the number of directions is doubled if the bound is above the tolerance."""

SAFETY = 2.0
"""Factor of the estimated largest squared singular value that is left out."""

TOLERANCE = 0.01
"""Bound of the change of the objective, as a share of its alignment term, that is tolerated."""

_rows = ThreadBuffer()


@dataclass(frozen=True)
class Truncation:
    """What was left out of the views."""

    n_directions: tuple[int, ...]
    """Number of directions of each view; that of its features if it was not truncated."""
    left_out: tuple[float, ...]
    """Share of the squared norm of each view that was left out."""
    bound: float
    """Maximum change of the objective."""
    tolerance: float
    """The bound up to which directions were added."""

    def __str__(self) -> str:
        shares = ", ".join(f"{share:.1%}" for share in self.left_out)
        reached = "below" if self.bound <= self.tolerance else "not below"
        return (
            f"{list(self.n_directions)} directions, {shares} of the squared norms left out, which "
            f"changes the objective by at most {self.bound:.2g} ({reached} the tolerance of "
            f"{self.tolerance:.2g})"
        )


def compress_truncated(
    parts: RowSource,
    scalings: tuple[ViewScaling, ...],
    n_components: Sequence[int],
    alignment: float,
    *,
    unit_norm: bool,
) -> tuple[Problem, Truncation]:
    """Problem with few pseudo-samples and, of wide views, few directions.

    `alignment` is the largest possible value of the alignment term of the objective.
    """
    counts = directions_per_view(parts, n_components)
    tolerance = TOLERANCE * alignment
    directions: tuple[Array | None, ...] = (None,) * len(counts)
    for doublings in range(MAX_DOUBLINGS + 1):
        directions = _leading_subspaces(parts, scalings, counts, directions)
        sums = _summarized(parts, scalings, directions)
        truncation = _judged(sums, n_components, tolerance, unit_norm=unit_norm)
        enough = truncation.bound <= tolerance or doublings == MAX_DOUBLINGS
        if enough or _expected_bound(sums, truncation.bound) > tolerance:
            break
        limits = zip(counts, parts.n_features_per_view, strict=True)
        counts = [None if count is None else min(2 * count, d // 2) for count, d in limits]
    normed = with_unit_norms(parts, scalings, sums.squared_norms)
    norms = [scaling.norm if unit_norm else 1.0 for scaling in normed]
    groups = list(sums.summaries.values())
    views, available = pseudo_samples(groups, sums.widths, norms, parts.dtype)
    squares = np.array(sums.squared_norms) / np.square(norms)
    left_out = tuple((squares * truncation.left_out).tolist())
    back = tuple(None if V is None else Directions(V) for V in directions)
    final = normed if unit_norm else scalings
    return Problem(views, available, final, back, parts.dtype, left_out), truncation


def directions_per_view(parts: RowSource, n_components: Sequence[int]) -> list[int | None]:
    """Number of directions of each view at first; None for views that are not truncated."""
    counts: list[int | None] = []
    for d, m in zip(parts.n_features_per_view, n_components, strict=True):
        count = max(MIN_DIRECTIONS, DIRECTIONS_PER_COMPONENT * m) + OVERSAMPLING
        counts.append(count if d >= WIDE and 2 * count < min(d, len(parts)) else None)
    return counts


def _leading_subspaces(
    parts: RowSource,
    scalings: tuple[ViewScaling, ...],
    counts: Sequence[int | None],
    known: tuple[Array | None, ...],
) -> tuple[Array | None, ...]:
    """Orthonormal directions of the views that have a count; starts from those that are known."""
    random = np.random.default_rng(0)
    bases: list[Array | None] = []
    for count, d, V in zip(counts, parts.n_features_per_view, known, strict=True):
        if count is None:
            bases.append(None)
            continue
        start = random.standard_normal((d, count))
        if V is not None:
            start[:, : V.shape[1]] = V
        bases.append(_orthonormal(start))
    for step in range(POWER_STEPS):
        report_progress("truncating", step, POWER_STEPS)
        products = parts.reduce(
            partial(_power_step, scalings=scalings, bases=bases), _added, "truncating"
        )
        bases = [None if product is None else _orthonormal(product) for product in products]
    return tuple(bases)


def _orthonormal(columns: Array) -> Array:
    return np.asarray(qr(columns, mode="economic", check_finite=False)[0])


def _power_step(
    part: MultiViewData, scalings: tuple[ViewScaling, ...], bases: Sequence[Array | None]
) -> list[Array | None]:
    """``X'X V`` of the rows of a part, for each view with directions."""
    return [
        None if V is None else _squared_times(part, p, scalings[p], V) for p, V in enumerate(bases)
    ]


def _squared_times(part: MultiViewData, p: int, scaling: ViewScaling, V: Array) -> Array:
    if is_sparse(part.views[p]):
        X = SparseScaledView.of(part, p, scaling)
        return np.asarray(X.T @ (X @ V.astype(X.dtype)), dtype=np.float64)
    columns = V.astype(part.dtype)

    def work(block: RowBlock) -> Array:
        rows = _scaled_rows(part, p, scaling, block)
        return np.asarray(rows.T @ (rows @ columns))

    total = np.zeros(V.shape)
    for _, product in map_blocks(work, _blocks_with(part, p), "truncating"):
        total += product
    return total


def _scaled_rows(part: MultiViewData, p: int, scaling: ViewScaling, block: RowBlock) -> Array:
    """Scaled rows of a dense view, valid until the next block."""
    rows = part.views[p][block.rows]
    return scaling.apply(rows, _rows.array(rows.shape, part.dtype))


def _blocks_with(part: MultiViewData, p: int) -> list[RowBlock]:
    return [block for block in part.blocks() if p in block.views]


def _added(a: list[Array | None], b: list[Array | None]) -> list[Array | None]:
    return [
        None if one is None or other is None else one + other
        for one, other in zip(a, b, strict=True)
    ]


class _Sums(NamedTuple):
    summaries: Summaries
    """In coordinates of the directions, of views that are scaled but not divided by norms."""
    squared_norms: tuple[float, ...]
    """Of the views before truncation."""
    widths: tuple[int, ...]
    """Number of directions or features of each view."""
    spectra: dict[int, Array]
    """Squared singular values in the directions, ascending, of the views that have directions."""


def _summarized(
    parts: RowSource, scalings: tuple[ViewScaling, ...], directions: tuple[Array | None, ...]
) -> _Sums:
    """Sums over the samples in the directions, and the squared norms of the views."""
    summaries, squares = parts.reduce(
        partial(_part_sums, scalings=scalings, directions=directions), _merged, "compressing"
    )
    pairs = zip(directions, parts.n_features_per_view, strict=True)
    widths = tuple(d if V is None else V.shape[1] for V, d in pairs)
    grams = {p: np.zeros((r, r)) for p, r in enumerate(widths) if directions[p] is not None}
    for group in summaries.values():
        ends = np.cumsum([widths[p] for p in group.views])
        for p, end in zip(group.views, ends, strict=True):
            if p in grams:
                grams[p] += group.block(slice(end - widths[p], end))
    spectra = {p: eigh(G, eigvals_only=True) for p, G in grams.items()}
    return _Sums(summaries, tuple(squares.tolist()), widths, spectra)


def _part_sums(
    part: MultiViewData,
    scalings: tuple[ViewScaling, ...],
    directions: tuple[Array | None, ...],
) -> tuple[Summaries, Array]:
    projected, squares = [], []
    for p, V in enumerate(directions):
        rows, square = _projected(part, p, scalings[p], V)
        projected.append(rows)
        squares.append(square)
    views = dict(zip(part.names, projected, strict=True))
    truncated = MultiViewData(views, available=part.available)
    plain = tuple(ViewScaling() for _ in projected)
    return summarize_groups(truncated, plain), np.array(squares)


def _merged(a: tuple[Summaries, Array], b: tuple[Summaries, Array]) -> tuple[Summaries, Array]:
    return merge_summaries(a[0], b[0]), add(a[1], b[1])


def _projected(
    part: MultiViewData, p: int, scaling: ViewScaling, V: Array | None
) -> tuple[Array, float]:
    """Scaled rows of a view in the directions, and the squared norm of the view."""
    width = part.n_features_per_view[p] if V is None else V.shape[1]
    rows = np.zeros((len(part), width), dtype=part.dtype)
    if is_sparse(part.views[p]):
        X = SparseScaledView.of(part, p, scaling)
        rows[:] = X.toarray() if V is None else X @ V.astype(X.dtype)
        return rows, X.squared_norm
    columns = None if V is None else V.astype(part.dtype)

    def work(block: RowBlock) -> float:
        scaled = _scaled_rows(part, p, scaling, block)
        rows[block.rows] = scaled if columns is None else scaled @ columns
        return float(np.einsum("ij,ij->i", scaled, scaled).sum(dtype=np.float64))

    squares = [square for _, square in map_blocks(work, _blocks_with(part, p), "compressing")]
    return rows, float(np.sum(squares))


def _judged(
    sums: _Sums, n_components: Sequence[int], tolerance: float, *, unit_norm: bool
) -> Truncation:
    """Bound of the change of the objective by what the directions leave out."""
    left_out, bounds = [0.0] * len(sums.widths), [0.0]
    for p, squares in sums.spectra.items():
        total = sums.squared_norms[p]
        left_out[p] = max(0.0, 1 - float(squares.sum()) / total)
        bound = min(left_out[p], n_components[p] * SAFETY * _largest_left_out(squares) / total)
        bounds.append(bound if unit_norm else bound * total)
    return Truncation(sums.widths, tuple(left_out), max(bounds) / 2, tolerance)


def _largest_left_out(squares: Array) -> float:
    """Estimate of the largest squared singular value that is left out.

    Those of the additional directions are nearly as large.
    """
    return float(squares[OVERSAMPLING - 1])


def _expected_bound(sums: _Sums, bound: float) -> float:
    """Bound with twice as many directions, if the spectra go on as from half as many."""
    ratios = [0.0]
    for squares in sums.spectra.values():
        half = (len(squares) - OVERSAMPLING) // 2
        ratios.append(_largest_left_out(squares) / float(squares[-half]))
    return bound * max(ratios)
