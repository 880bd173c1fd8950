"""Truncation of wide views to their leading directions, with a bound of what that can change.

A view ``X`` (n x d) is replaced by ``X V V'`` with orthonormal columns of ``V`` (d x r) that nearly
span its r leading right singular vectors. They come from random directions by a few steps
``V = orth(X'X V)``, each one pass over the parts; sparse views are never made dense.

For the rest ``E = X - X V V'`` and any representation ``H`` with m orthonormal columns, the
residual of the view changes by

    ||E'H||^2 <= min(||E||^2, m sigma^2),    sigma the largest singular value of E.

The weights add up to 1, so the objective changes by at most half of the largest of these bounds,
each divided by the importance of the view, for every state of the optimization and therefore for
its minimum.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import add
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.linalg import eigh, qr

from anchorview._utils.linalg import is_sparse
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
from anchorview.core.cost_model import (
    OVERSAMPLING,
    POWER_STEPS,
    Truncation,
    directions_per_view,
)
from anchorview.core.scale import ViewScaling, times_roots, with_unit_norms
from anchorview.core.scaled_view import SparseScaledView
from anchorview.views.container import MultiViewData, RowBlock
from anchorview.views.row_source import RowSource, merge_both

MAX_DOUBLINGS = 2
"""How often the number of directions is doubled if the bound is above the tolerance."""

SAFETY = 2.0
"""Factor of the estimated largest squared singular value that is left out."""

TOLERANCE = 0.01
"""Bound of the change of the objective, as a share of its alignment term, that is tolerated."""

Bases = dict[int, Array]
"""Orthonormal directions (columns) of truncated views, by the position of the view."""

Result = TypeVar("Result")

_rows = ThreadBuffer()


def compress_truncated(
    parts: RowSource,
    scalings: tuple[ViewScaling, ...],
    n_components: Sequence[int],
    alignment: float,
    *,
    unit_norm: bool,
    importance: Array,
) -> tuple[Problem, Truncation]:
    """Problem with few pseudo-samples and, of wide views, few directions.

    `alignment` is the largest possible value of the alignment term of the objective.
    """
    counts = directions_per_view(parts, n_components)
    tolerance = TOLERANCE * alignment
    directions: Bases = {}
    for doublings in range(MAX_DOUBLINGS + 1):
        directions = _leading_subspaces(parts, scalings, counts, directions)
        sums = _summarized(parts, scalings, directions)
        truncation = _judged(sums, n_components, tolerance, importance, unit_norm=unit_norm)
        enough = truncation.bound <= tolerance or doublings == MAX_DOUBLINGS
        if enough or _expected_bound(sums, truncation.bound) > tolerance:
            break
        widths = parts.n_features_per_view
        counts = {p: min(2 * count, widths[p] // 2) for p, count in counts.items()}
    final = with_unit_norms(parts, scalings, sums.squared_norms, unit_norm=unit_norm)
    norms = [scaling.norm if unit_norm else 1.0 for scaling in final]
    views, available = pseudo_samples(
        list(sums.summaries.values()), sums.widths, norms, parts.dtype
    )
    squares = np.array(sums.squared_norms) / np.square(norms)
    left_out = tuple((squares * truncation.left_out).tolist())
    back = tuple(Directions(directions[p]) if p in directions else None for p in range(len(views)))
    return Problem(views, available, final, back, parts.dtype, left_out), truncation


def _leading_subspaces(
    parts: RowSource, scalings: tuple[ViewScaling, ...], counts: dict[int, int], known: Bases
) -> Bases:
    """Orthonormal directions of the views that have a count; starts from those that are known."""
    random = np.random.default_rng(0)
    starts = {}
    for p, count in counts.items():
        start = random.standard_normal((parts.n_features_per_view[p], count))
        if p in known:
            start[:, : known[p].shape[1]] = known[p]
        starts[p] = orthonormal(start)

    def multiply(bases: Bases) -> Bases:
        work = partial(_power_steps, scalings=scalings, bases=bases)
        return parts.reduce(work, _added, "truncating")

    return iterated_subspaces(multiply, starts, POWER_STEPS)


def iterated_subspaces(multiply: Callable[[Bases], Bases], bases: Bases, steps: int) -> Bases:
    """Directions that nearly span leading right singular vectors, if `multiply` is ``X'X V``."""
    for step in range(steps):
        report_progress("truncating", step, steps)
        bases = {p: orthonormal(product) for p, product in multiply(bases).items()}
    return bases


def orthonormal(columns: Array) -> Array:
    """Orthonormal columns that span the same space."""
    return np.asarray(qr(columns, mode="economic", check_finite=False)[0])


def _power_steps(part: MultiViewData, scalings: tuple[ViewScaling, ...], bases: Bases) -> Bases:
    """``X'X V`` of the rows of a part, for each view with directions."""
    return {p: _power_step(part, p, scalings[p], V) for p, V in bases.items()}


def _added(a: Bases, b: Bases) -> Bases:
    return {p: a[p] + b[p] for p in a}


def _power_step(part: MultiViewData, p: int, scaling: ViewScaling, V: Array) -> Array:
    if is_sparse(part.views[p]):
        X = SparseScaledView.of(part, p, scaling)
        return np.asarray(X.T @ (X @ V.astype(X.dtype)), dtype=np.float64)
    columns, total = V.astype(part.dtype), np.zeros(V.shape)
    for _, product in _over_rows(
        lambda rows: rows.T @ (rows @ columns), part, p, scaling, "truncating"
    ):
        total += product
    return total


def _over_rows(
    work: Callable[[Array], Result], part: MultiViewData, p: int, scaling: ViewScaling, stage: str
) -> Iterator[tuple[RowBlock, Result]]:
    """Yield blocks and a function of their scaled rows, which are valid until the next block."""

    def scaled(block: RowBlock) -> Result:
        rows = part.views[p][block.rows]
        scaled = scaling.apply(rows, _rows.array(rows.shape, part.dtype))
        return work(times_roots(scaled, block.weights))

    return map_blocks(scaled, [block for block in part.blocks() if p in block.views], stage)


class _Sums(NamedTuple):
    summaries: Summaries
    """In coordinates of the directions, of views that are scaled but not divided by norms."""
    squared_norms: tuple[float, ...]
    """Of the views before truncation."""
    widths: tuple[int, ...]
    """Number of directions or features of each view."""
    spectra: dict[int, Array]
    """Squared singular values in the directions, ascending, of the views that have directions."""


def _summarized(parts: RowSource, scalings: tuple[ViewScaling, ...], directions: Bases) -> _Sums:
    """Sums over the samples in the directions, and the squared norms of the views."""
    work = partial(_part_sums, scalings=scalings, directions=directions)
    merge = partial(merge_both, merge_summaries, add)
    summaries, squares = parts.reduce(work, merge, "compressing")
    widths = tuple(
        directions[p].shape[1] if p in directions else d
        for p, d in enumerate(parts.n_features_per_view)
    )
    grams = {p: np.zeros((widths[p], widths[p])) for p in directions}
    for group in summaries.values():
        for p, features in group.features(widths).items():
            if p in grams:
                grams[p] += group.block(features)
    spectra = {p: eigh(G, eigvals_only=True) for p, G in grams.items()}
    return _Sums(summaries, tuple(squares.tolist()), widths, spectra)


def _part_sums(
    part: MultiViewData, scalings: tuple[ViewScaling, ...], directions: Bases
) -> tuple[Summaries, Array]:
    projected = [
        _projected(part, p, scaling, directions.get(p)) for p, scaling in enumerate(scalings)
    ]
    views = {name: rows for name, (rows, _) in zip(part.names, projected, strict=True)}
    truncated = MultiViewData(views, available=part.available)
    plain = (ViewScaling(),) * len(views)
    return summarize_groups(truncated, plain), np.array([square for _, square in projected])


def _projected(
    part: MultiViewData, p: int, scaling: ViewScaling, V: Array | None
) -> tuple[Array, float]:
    """Scaled rows of a view in the directions, and the squared norm of the view."""
    width = part.n_features_per_view[p] if V is None else V.shape[1]
    projected = np.zeros((len(part), width), dtype=part.dtype)
    if is_sparse(part.views[p]):
        X = SparseScaledView.of(part, p, scaling)
        projected[:] = X.toarray() if V is None else X @ V.astype(X.dtype)
        return projected, X.squared_norm
    columns = None if V is None else V.astype(part.dtype)

    def work(rows: Array) -> tuple[Array, float]:
        square = float(np.einsum("ij,ij->i", rows, rows).sum(dtype=np.float64))
        return rows.copy() if columns is None else rows @ columns, square

    squares = []
    for block, (rows, square) in _over_rows(work, part, p, scaling, "compressing"):
        projected[block.rows] = rows
        squares.append(square)
    return projected, float(np.sum(squares))


def _judged(
    sums: _Sums,
    n_components: Sequence[int],
    tolerance: float,
    importance: Array,
    *,
    unit_norm: bool,
) -> Truncation:
    """Bound of the change of the objective by what the directions leave out."""
    left_out, bounds = [0.0] * len(sums.widths), [0.0]
    for p, squares in sums.spectra.items():
        total = sums.squared_norms[p]
        left_out[p] = max(0.0, 1 - float(squares.sum()) / total)
        # The largest one that is left out is nearly that of the additional directions.
        largest = float(squares[OVERSAMPLING - 1])
        bound = min(left_out[p], n_components[p] * SAFETY * largest / total)
        bounds.append((bound if unit_norm else bound * total) / importance[p])
    return Truncation(sums.widths, tuple(left_out), max(bounds) / 2, tolerance)


def _expected_bound(sums: _Sums, bound: float) -> float:
    """Bound with twice as many directions, if the spectra go on as from half as many."""
    ratios = [0.0]
    for squares in sums.spectra.values():
        half = (len(squares) - OVERSAMPLING) // 2
        ratios.append(float(squares[OVERSAMPLING - 1]) / float(squares[-half]))
    return bound * max(ratios)
