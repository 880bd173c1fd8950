"""Stage 3, solve: sizes within what the data allow, a start, and the optimization."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from anchorview._utils.linalg import rank_and_directions
from anchorview._utils.threads import single_threaded_blas
from anchorview._utils.typing import Array
from anchorview.core.ablations import BoxGraphSolver, SampledAnchorsSolver
from anchorview.core.alternating import (
    RESIDUAL_FLOOR,
    AlternatingSolver,
    Init,
    Solution,
    plain_directions,
)
from anchorview.core.compress import Problem
from anchorview.core.leading_rows import without_zero_rows
from anchorview.core.sizes import Sizes, rank_tolerance
from anchorview.views.schema import ViewsSchema

SMALL_PROBLEM = 2**22
"""Number of entries of all views up to which one thread solves. Products of such views are too
short to gain from several threads, which wait for each other if other programs use the cores."""

VARIANTS: dict[str, type[AlternatingSolver]] = {
    "dalmc": AlternatingSolver,
    "sampled-anchors": SampledAnchorsSolver,
    "box-graph": BoxGraphSolver,
}


@dataclass(frozen=True)
class SolverSettings:
    """Settings of the optimization, as the user gave them."""

    sizes: Sizes
    beta: float
    max_iter: int
    tol: float
    variant: str = "dalmc"
    init: Init = "gcca"
    residual_floor: float = RESIDUAL_FLOOR


class Spectra(NamedTuple):
    """Ranks and leading singular vectors of a problem's views, shared by several solutions."""

    ranks: list[int]
    directions: list[tuple[Array, Array]]
    """Leading right singular vectors (columns) and singular values of each view."""


def leading_spectra(
    problem: Problem, n_components: int | Sequence[int], n_directions: int = 0
) -> Spectra:
    """Spectra for solutions with at most `n_components` components per view.

    Each view has at least `n_directions` directions, if its rank allows it.
    """
    tolerance = rank_tolerance(problem.dtype)
    counts = np.broadcast_to(n_components, len(problem.views)).tolist()
    products = problem.grams or (None,) * len(problem.views)
    found = [
        rank_and_directions(X, max(2 * count, n_directions), max(count, n_directions), tolerance, G)
        for X, count, G in zip(problem.views, counts, products, strict=True)
    ]
    return Spectra([rank for rank, _, _ in found], [(D, s) for _, D, s in found])


def solve(
    problem: Problem,
    schema: ViewsSchema,
    settings: SolverSettings,
    seed: int = 0,
    spectra: Spectra | None = None,
) -> tuple[Solution, list[int]]:
    """Solve a problem; returns the solution and the number of components of each view.

    `seed` is that of the random start; `spectra`, if known already, have at least as many
    directions as components.
    """
    entries = sum(X.shape[0] * X.shape[1] for X in problem.views)
    with single_threaded_blas() if entries <= SMALL_PROBLEM else nullcontext():
        if spectra is None and settings.init == "gcca" and problem.available is None:
            spectra = leading_spectra(problem, settings.sizes.wanted(schema))
        return _solved(problem, schema, settings, seed, spectra)


def _solved(
    problem: Problem,
    schema: ViewsSchema,
    settings: SolverSettings,
    seed: int,
    spectra: Spectra | None,
) -> tuple[Solution, list[int]]:
    """:func:`solve` with known spectra, if the start needs them."""
    sizes = settings.sizes
    ranks = None if spectra is None else spectra.ranks
    n_anchors, components, complete = sizes.resolve(problem.views, schema, problem.dtype, ranks)
    views = problem.views
    if settings.variant == "dalmc" and problem.available is None:
        views = tuple(without_zero_rows(views))
    solution = VARIANTS[settings.variant](
        views,
        n_anchors,
        components,
        beta=settings.beta,
        init=settings.init,
        seed=seed,
        directions=_start_directions(problem, schema, settings.init, components, seed),
        available=problem.available,
        complete=complete,
        spectra=None if spectra is None else spectra.directions,
        left_out=problem.left_out,
        residual_floor=settings.residual_floor,
    ).run(settings.max_iter, settings.tol)
    found = solution.graph.shape[1]
    if sizes.n_anchors is not None and sizes.n_anchors > found:
        raise ValueError(
            f"n_anchors={sizes.n_anchors} is larger than the views allow: they have {found} "
            "independent directions together."
        )
    return solution, components


def _start_directions(
    problem: Problem, schema: ViewsSchema, init: Init, components: Sequence[int], seed: int
) -> list[Array] | None:
    """Directions of a start that is defined on features, in the coordinates of the problem."""
    if init == "gcca" or not any(problem.back):
        return None
    directions = plain_directions(init, schema.n_features_per_view, components, seed)
    return [
        D if way is None else way.contract(D)
        for D, way in zip(directions, problem.back, strict=True)
    ]
