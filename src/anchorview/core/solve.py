"""Stage 3, solve: importance of views, sizes within what the data allow, and the optimization.

The steps of the optimization, by the numbers of their equations, are in ``alternating``.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from anchorview._utils.linalg import (
    MatrixOperator,
    polar,
    rank_and_directions,
    rank_up_to,
    squared_norm,
)
from anchorview._utils.text import quoted
from anchorview._utils.threads import single_threaded_blas
from anchorview._utils.typing import Array, Matrix
from anchorview.core.alternating import (
    RESIDUAL_FLOOR,
    AlternatingSolver,
    Init,
    Solution,
    plain_directions,
)
from anchorview.core.compress import RANK_TOLERANCE, Problem
from anchorview.views.row_source import RowSource

ViewImportance = Mapping[str, float] | None
"""Importance of views by name, 1 for those that are not named; None if all count the same."""

LARGEST_IMPORTANCE = 1e9
"""With larger differences, rounding hides all other views."""


def importance_of_views(given: ViewImportance, names: Sequence[str]) -> Array:
    """Importance of each view, relative to the mean over the views; raises if it is not valid."""
    values: Mapping[str, Any] = given or {}
    for name, value in values.items():
        if name not in names:
            raise ValueError(
                f"view_importance names the view {quoted(name)}, but the views are {list(names)}."
            )
        number = isinstance(value, Real) and not isinstance(value, bool)
        if number and value == 0:
            raise ValueError(
                f"view_importance of {quoted(name)} is 0: leave the view out of the data instead."
            )
        if not (number and 1 / LARGEST_IMPORTANCE <= value <= LARGEST_IMPORTANCE):
            raise ValueError(
                f"view_importance of {quoted(name)} is {value!r}, but must be a positive number, "
                f"from {1 / LARGEST_IMPORTANCE:g} to {LARGEST_IMPORTANCE:g}."
            )
    return relative(np.array([float(values.get(name, 1)) for name in names]))


def relative(importance: Array) -> Array:
    """Importance relative to the mean, by which a common factor does not matter."""
    # Divided by the largest first: the sum of huge numbers is not one.
    shares = importance / importance.max()
    return np.asarray(shares / shares.mean())


@dataclass(frozen=True)
class Sizes:
    """The requested sizes; None leaves the choice to the defaults."""

    n_clusters: int
    n_anchors: int | None = None
    n_components: int | Sequence[int] | None = None
    default_anchors: int | None = None
    """Number of anchors if `n_anchors` is None, as far as the views allow; default `n_clusters`."""

    @property
    def per_view(self) -> list[int] | None:
        """Number of components given for each view, which is used exactly."""
        if self.n_components is None or np.ndim(self.n_components) == 0:
            return None
        given = np.asarray(self.n_components)
        if given.dtype.kind not in "iu":
            raise ValueError(f"n_components={self.n_components!r} must be whole numbers.")
        return given.tolist()

    @property
    def shared(self) -> int:
        """Number of components requested for every view, as far as its rank allows."""
        return 2 * self.n_clusters if self.n_components is None else int(self.n_components)  # type: ignore[arg-type]

    def wanted(self, schema: RowSource) -> list[int]:
        """Number of components of each view before its rank is known."""
        if (given := self.per_view) is not None:
            return given
        return [min(self.shared, d) for d in schema.n_features_per_view]

    def require_possible(self, schema: RowSource) -> None:
        """Raise if data of this shape cannot have these sizes."""
        n, widths = schema.shape[0], schema.n_features_per_view
        if n < self.n_clusters:
            raise ValueError(f"n_samples={n} should be >= n_clusters={self.n_clusters}.")
        wanted = self.wanted(schema)
        if self.per_view is not None:
            if len(wanted) != len(widths):
                raise ValueError(
                    f"n_components has {len(wanted)} entries for {len(schema.names)} views; "
                    "give one number, or one per view."
                )
            for p, (m, d) in enumerate(zip(wanted, widths, strict=True)):
                if not 1 <= m <= min(n, d):
                    raise ValueError(
                        f"n_components={m} for {schema.describe_view(p)} must be between 1 and "
                        f"{min(n, d)}, the smaller of its {n} samples and {d} features."
                    )
        elif self.n_components is not None:
            maximum = min(n, max(widths))
            if self.shared > maximum:
                raise ValueError(
                    f"n_components={self.shared} is larger than any view allows: at most "
                    f"{maximum}, the smaller of the samples and the features of the widest view."
                )
        if self.n_anchors is not None and self.n_anchors > min(schema.shape):
            raise ValueError(
                f"n_anchors={self.n_anchors} is larger than the data allow: at most "
                f"{min(schema.shape)}, the smaller of the samples and the features of all views."
            )

    def resolve(
        self,
        matrices: Sequence[Matrix],
        schema: RowSource,
        dtype: "np.dtype[Any]",
        ranks: Sequence[int] | None = None,
    ) -> tuple[int, list[int], list[bool]]:
        """Number of anchors, components of each view, and whether these reproduce the view.

        `matrices` are the scaled (compressed) views, with products in the precision `dtype`;
        `ranks` their ranks up to twice the components, if known already.
        """
        wanted = self.wanted(schema)
        if ranks is None:
            tolerance = rank_tolerance(dtype)
            ranks = [rank_up_to(X, 2 * m, tolerance) for X, m in zip(matrices, wanted, strict=True)]
        components = []
        for p, (m, rank) in enumerate(zip(wanted, ranks, strict=True)):
            if self.per_view is None:
                # A representation that reproduces its view says nothing about how well the view
                # fits. A single view cannot gain weight by that, and may keep two components.
                minimum = 2 if len(matrices) == 1 else 1
                m = min(m, max(rank // 2, min(rank, minimum)))
            elif m > rank:
                raise ValueError(
                    f"n_components={m} for {schema.describe_view(p)} is larger than its rank "
                    f"{rank}."
                )
            components.append(int(m))
        complete = [m == rank for m, rank in zip(components, ranks, strict=True)]
        maximum = sum(components)
        if self.n_anchors is not None and self.n_anchors > maximum:
            raise ValueError(
                f"n_anchors={self.n_anchors} is larger than the views allow: their components add "
                f"up to {maximum} ({components})."
            )
        default = min(self.default_anchors or self.n_clusters, maximum)
        return self.n_anchors or default, components, complete


def rank_tolerance(dtype: "np.dtype[Any]") -> float:
    """Share of the largest singular value that may be rounding of products in `dtype`."""
    return float(np.sqrt(RANK_TOLERANCE[dtype.name]))


SMALL_PROBLEM = 2**22
"""Number of entries of all views up to which one thread solves. Products of such views are too
short to gain from several threads, which wait for each other if other programs use the cores."""


class SampledAnchorsSolver(AlternatingSolver):
    """Ablation 1 of the paper: anchors sampled from the data, ``A_p = H_p'C`` with ``C'C = I``.

    The alignment ``<H_p, S C'H_p>`` is quadratic in ``H_p``. Its symmetric part, shifted by
    ``c = -lambda_min`` to be positive semidefinite (a constant, as ``H_p'H_p = I``), is convex, so
    its tangent at the present ``H_p`` bounds it from below and the objective stays monotone. No
    n x n matrix is formed: ``S C'`` has rank l and its spectrum is that of a 2l x 2l matrix.
    """

    def pull(self, p: int) -> Array:
        """Tangent of the shifted alignment: ``w (S C'H + C S'H + 2 c H)``."""
        H = self.H[p]
        tangent = self.S @ (self.C.T @ H) + self.C @ (self.S.T @ H) + 2 * self.shift * H
        return np.asarray(self.w[p] * tangent)

    def graph_step(self) -> None:
        """``S = polar(sum_p w_p H_p H_p'C)``."""
        self.A = [H.T @ self.C for H in self.H]
        self.S, _ = polar(self._graph_target())

    def anchor_step(self) -> None:
        """``C = polar(sum_p w_p H_p H_p'S)`` and ``A_p = H_p'C``."""
        pairs = list(zip(self.w, self.H, strict=True))
        self.C, _ = polar(reduce(np.add, (H @ (w * (H.T @ self.S)) for w, H in pairs)))
        self.A = [H.T @ self.C for H in self.H]
        self.alignment = sum(
            w * float(np.sum((H.T @ self.S) * A)) for (w, H), A in zip(pairs, self.A, strict=True)
        )
        E = self.S.T @ self.C
        eye = np.eye(len(E))
        symmetric_part = 0.5 * np.linalg.eigvals(np.block([[E.T, eye], [eye, E]])).real
        self.shift = max(0.0, -float(symmetric_part.min()))


class BoxGraphSolver(AlternatingSolver):
    """Ablation 2 of the paper: ``0 <= S <= 1`` in place of ``S'S = I``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.graph_step()
        self.anchor_step()

    def graph_step(self) -> None:
        """Linear on a box: ``S = 1`` where ``sum_p H_p A_p > 0``, else 0."""
        self.S = (self._graph_target() > 0).astype(np.float64)


VARIANTS: dict[str, type[AlternatingSolver]] = {
    "dalmc": AlternatingSolver,
    "sampled-anchors": SampledAnchorsSolver,
    "box-graph": BoxGraphSolver,
}
"""The ablations have no out-of-sample map, and the second depends on rotations of the samples: both
run on the data as they are."""


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
    importance: Array | None = None


class Spectra(NamedTuple):
    """Ranks and leading singular vectors of a problem's views, shared by several solutions."""

    ranks: list[int]
    directions: list[tuple[Array, Array]]
    """Leading right singular vectors (columns) and singular values of each view."""


def leading_spectra(problem: Problem, n_components: int | Sequence[int]) -> Spectra:
    """Spectra for solutions with at most `n_components` components per view."""
    tolerance = rank_tolerance(problem.dtype)
    counts = np.broadcast_to(n_components, len(problem.views)).tolist()
    products = problem.grams or (None,) * len(problem.views)
    spectra = [
        rank_and_directions(X, 2 * count, count, tolerance, G)
        for X, count, G in zip(problem.views, counts, products, strict=True)
    ]
    return Spectra([rank for rank, _, _ in spectra], [(D, s) for _, D, s in spectra])


def solve(
    problem: Problem,
    schema: RowSource,
    settings: SolverSettings,
    seed: int = 0,
    spectra: Spectra | None = None,
) -> tuple[Solution, list[int]]:
    """Solve a problem; returns the solution and the number of components of each view.

    `seed` is that of the random start; `spectra`, if known already, have at least as many
    directions as components.
    """
    sizes = settings.sizes
    entries = sum(X.shape[0] * X.shape[1] for X in problem.views)
    with single_threaded_blas() if entries <= SMALL_PROBLEM else nullcontext():
        if spectra is None and settings.init == "gcca" and problem.available is None:
            spectra = leading_spectra(problem, sizes.wanted(schema))
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
            importance=settings.importance,
            # Entries of a box depend on the signs.
            in_features=None if settings.variant == "box-graph" else problem.in_features,
        ).run(settings.max_iter, settings.tol)
    n_anchors = solution.graph.shape[1]
    if sizes.n_anchors is not None and sizes.n_anchors > n_anchors:
        raise ValueError(
            f"n_anchors={sizes.n_anchors} is larger than the views allow: they have {n_anchors} "
            "independent directions together."
        )
    return solution, components


def _start_directions(
    problem: Problem, schema: RowSource, init: Init, components: Sequence[int], seed: int
) -> list[Array] | None:
    """Directions of a start that is defined on features, in the coordinates of the problem."""
    if init == "gcca" or not any(problem.back):
        return None
    directions = plain_directions(init, schema.n_features_per_view, components, seed)
    return [
        D if way is None else way.contract(D)
        for D, way in zip(directions, problem.back, strict=True)
    ]


ZERO_SHARE, LARGE_VIEW = 0.2, 2**16
"""Minimum share of zero rows, and number of entries, for which products without them pay: a tenth
of the time before K-means for four views with 128 to 784 features."""


class LeadingRows(MatrixOperator):
    """A dense matrix with zeros in all but the first rows."""

    def __init__(self, X: Array, n_rows: int) -> None:
        super().__init__(dtype=X.dtype, shape=X.shape)
        self.rows = X[:n_rows]
        self.squared_norm = squared_norm(self.rows)

    def _matmat(self, M: Array) -> Array:
        product = np.zeros((self.shape[0], M.shape[1]), self.dtype)
        np.matmul(self.rows, M, out=product[: len(self.rows)])
        return product

    def _rmatmat(self, M: Array) -> Array:
        product: Array = self.rows.T @ M[: len(self.rows)]
        return product


def without_zero_rows(views: Sequence[Matrix]) -> list[Matrix]:
    """The views, large ones with many zero rows at the end as operators that leave them out."""
    operators = list(views)
    for p, X in enumerate(views):
        if isinstance(X, np.ndarray) and X.size >= LARGE_VIEW:
            n_rows = int(np.flatnonzero(X.any(axis=1)).max(initial=-1)) + 1
            if len(X) - n_rows >= ZERO_SHARE * len(X):
                operators[p] = LeadingRows(X, n_rows)
    return operators
