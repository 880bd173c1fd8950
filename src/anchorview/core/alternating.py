"""The alternating optimization of DALMC, on plain matrices.

Samples are rows here, so a view is ``X_p`` (n x d_p), its representation ``H_p`` (n x m_p), its
basis ``Z_p`` (d_p x m_p), its anchors ``A_p`` (m_p x l), and the anchor graph is ``S`` (n x l)::

    min  sum_p 1/2 (a_p^2 / w_p) (||X_p - H_p Z_p'||^2 + floor_p)  -  beta * sum_p w_p <H_p, S A_p'>
    s.t. H_p'H_p = I,  S'S = I,  A_p orthonormal (columns or rows),  sum a = 1,  a >= 0

``w_p`` is the importance that the user gives a view, 1 by default as in the paper. It counts like
``w_p`` copies of the view, which share the weight ``a_p``.

``floor_p``, a share of ``||X_p||^2``, prevents a view that is reproduced well by its basis (or
completely, if its rank is small) from getting all the weight. It is a constant of the objective, so
every step is still an exact minimizer and the objective never increases.

One iteration makes these steps, in the order of the paper. ``polar(M) = U V'`` for the thin SVD
``M = U diag(s) V'``. The equation numbers are ours: they follow the order in which the paper's
optimization section derives the updates, and may differ from the printed ones.

========  ========================================================  =======================
Equation  Step                                                      Method
========  ========================================================  =======================
(9)       subproblem of ``H_p``: maximize ``<H_p, B_p>`` over       ``representation_step``
          ``H_p'H_p = I``,
          ``B_p = a_p^2 / w_p X_p Z_p + beta w_p S A_p'``
(10)      its solution, ``H_p = polar(B_p)``                        ``representation_step``
(11)      ``Z_p = X_p'H_p``                                         ``representation_step``
(12)      ``S = polar(sum_p w_p H_p A_p)``                          ``graph_step``
(13)      ``A_p = polar(H_p'S)``                                    ``anchor_step``
(14)      subproblem of ``a``: minimize ``sum_p a_p^2 r_p / w_p``,  ``weight_step``
          ``r_p = ||X_p - H_p Z_p'||^2 + floor_p``
(15)      its solution, ``a_p = (w_p/r_p) / sum_q (w_q/r_q)``       ``weight_step``
========  ========================================================  =======================

Samples may lack views. The residual is then over available rows only, and the missing rows of a
view are completed by the model, ``H_p Z_p'``, after every iteration. This is a majorization, so the
objective still never increases.

Every start lies in the column space of the views and every step stays in it, so ``S`` is linear in
the data. The :class:`Trace` of the steps embeds new samples, and it maps a solution of compressed
data back to all samples.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from scipy.linalg import eigh, svd

from anchorview._utils.linalg import (
    MatrixOperator,
    leading_directions,
    polar,
    polar_and_norm,
    squared_norm,
    times,
)
from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array, Matrix


class CompletedView(MatrixOperator):
    """``X`` where a sample has the view, ``F Y'`` in the missing rows, which are zero in ``X``."""

    def __init__(self, X: Matrix, missing: Array) -> None:
        super().__init__(dtype=X.dtype, shape=X.shape)
        self.X = X
        self.missing = missing
        self.squared_norm = squared_norm(X)
        self.fill(np.zeros((len(missing), 1)), np.zeros((X.shape[1], 1)))

    def fill(self, F: Array, Y: Array) -> None:
        """Set the missing rows to ``F Y'``."""
        self.F = F
        self.Y = Y

    def fill_by_regression(self, S: Array) -> None:
        """Predict the missing rows by least-squares regression of the available rows on `S`."""
        observed = np.delete(S, self.missing, axis=0)
        self.fill(S[self.missing], times(self.X.T, S) @ np.linalg.pinv(observed.T @ observed))

    def residual(self, H: Array, Z: Array) -> float:
        """``||X - H Z'||^2`` over the samples that have the view."""
        lacking = H[self.missing]
        observed = np.eye(H.shape[1]) - lacking.T @ lacking
        cross = np.sum(times(self.X.T, H) * Z)
        return float(self.squared_norm - 2 * cross + np.sum(observed * (Z.T @ Z)))

    def _matmat(self, M: Array) -> Array:
        product = np.array(self.X @ M)
        product[self.missing] += self.F @ (self.Y.T @ M)
        return product

    def _rmatmat(self, M: Array) -> Array:
        return self.X.T @ M + self.Y @ (self.F.T @ M[self.missing])


@dataclass(frozen=True)
class Start:
    """The start: ``s = sum_p x_p E_p / sum_p w_p`` over available views; a missing
    ``x_p = s Y_p'``; ``h_p = x_p K_p``."""  # noqa: D209

    to_graph: tuple[Array, ...]
    """E_p, d_p x l."""
    fill: tuple[Array, ...]
    """Y_p, d_p x l."""
    to_representation: tuple[Array, ...]
    """K_p, d_p x m_p."""
    importance: Array
    """w."""


@dataclass(frozen=True)
class Step:
    """One iteration: ``h_p = (b_p^2 x_p Z_p + beta s C_p') M_p``, a missing ``x_p = h_p Z_p'`` of
    before; ``s = sum_p h_p C_p T``."""  # noqa: D209

    weights: Array
    """b, with b_p^2 = a_p^2 / w_p."""
    bases: tuple[Array, ...]
    """Z_p, d_p x m_p."""
    anchors: tuple[Array, ...]
    """C_p = w_p A_p, m_p x l."""
    to_representation: tuple[Array, ...]
    """M_p, m_p x m_p."""
    to_graph: Array
    """T, l x l."""


@dataclass(frozen=True)
class Trace:
    """The start and all steps of an optimization."""

    beta: float
    start: Start
    steps: tuple[Step, ...]

    @property
    def nbytes(self) -> int:
        """Number of bytes of all matrices."""
        start = self.start
        matrices = [*start.to_graph, *start.fill, *start.to_representation]
        for step in self.steps:
            matrices += [*step.bases, *step.anchors, *step.to_representation, step.to_graph]
        return sum(matrix.nbytes for matrix in matrices)


Init = Literal["gcca", "random", "identity"]

Convert = Callable[[Sequence[Array]], Sequence[Array]]
"""Coefficients of each view, in other coordinates."""

RESIDUAL_FLOOR = 0.01
"""Default share of a view's squared norm that always counts as unexplained."""

COMPLETE_FLOOR = 0.5
"""The same for a view whose basis explains everything because it has as many columns as the view
has rank. That is no evidence, so the share is neutral."""

ROUNDING = 1e-12
"""Share of a view's squared norm below which a residual is rounding."""

GCCA_RIDGE = 0.01
"""Ridge of the GCCA start, relative to a view's leading squared singular value. It prefers strong
directions among those that are equally correlated, such as all directions of a single view."""

INDEPENDENT = 1e-6
"""Minimum ratio of squared singular values of independent representations."""

LARGEST_CONDITION = 1e11
"""Maximum condition number of a matrix before its polar factor becomes a representation. Above it,
columns of the embedding are orthonormal to less than six digits."""


@dataclass(frozen=True)
class Solution:
    """Result of the optimization; letters as in the docstring of the module."""

    graph: Array
    """S, n x l."""
    bases: tuple[Array, ...]
    """Z_p, d_p x m_p."""
    anchors: tuple[Array, ...]
    """A_p, m_p x l."""
    weights: Array
    """a, one per view."""
    weight_history: Array
    """a after every iteration, n_iter x n_views."""
    objective: Array
    """The objective after every iteration."""
    converged: bool
    """Whether the last change of the objective was below the tolerance."""
    trace: Trace | None
    """How any sample is embedded; None for the ablations."""


class AlternatingSolver:
    """The alternating optimization: its state, and one method per step.

    Parameters
    ----------
    views : sequence of matrices (n, d_p)
        Scaled views: arrays, sparse matrices or linear operators. Products with them are computed
        in their precision, everything else in float64.
    n_anchors : int
        l, at most the sum of `n_components`. The GCCA start uses fewer if the representations have
        fewer independent directions together.
    n_components : sequence of int
        m_p, at most the rank of the view.
    beta, init, seed
        As in :class:`~anchorview.DALMC`; `seed` is that of the random start.
    directions : sequence of arrays (d_p, m_p), optional
        Directions of the initialization, for views in other coordinates than the features.
    available : array (n, n_views) of bool, optional
        Which samples have which view; rows of samples that lack a view are zero in it.
    complete : sequence of bool, optional
        Which views have no more rank than components.
    spectra : sequence of pairs of arrays, optional
        At least `n_components` leading right singular vectors (columns) and singular values of
        each view, if they are known already; not used if rows of views are missing.
    left_out : sequence of float, optional
        Squared norm of what a truncation left out of each view: it is never explained.
    residual_floor : float
        Share of a view's squared norm that always counts as unexplained. Without it, a view that
        is reproduced completely has no finite weight, which raises an error.
    importance : array (n_views,), optional
        w_p, positive; 1 by default.
    in_features : callable, optional
        Turns coefficients of each view's coordinates into those of its features, by which the
        signs of the columns of S are chosen. If None, they are as they come.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview.core.alternating import AlternatingSolver
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.standard_normal((30, 6)), rng.standard_normal((30, 5))]
    >>> solution = AlternatingSolver(X, n_anchors=2, n_components=[3, 2]).run()
    >>> np.allclose(solution.graph.T @ solution.graph, np.eye(2))
    True
    """

    def __init__(
        self,
        views: Sequence[Matrix],
        n_anchors: int,
        n_components: Sequence[int],
        *,
        beta: float = 0.1,
        init: Init = "gcca",
        seed: int = 0,
        directions: Sequence[Array] | None = None,
        available: Array | None = None,
        complete: Sequence[bool] | None = None,
        spectra: Sequence[tuple[Array, Array]] | None = None,
        left_out: Sequence[float] | None = None,
        residual_floor: float = RESIDUAL_FLOOR,
        importance: Array | None = None,
        in_features: Convert | None = None,
    ) -> None:
        self.beta, self.init, self.n_components = beta, init, n_components
        self.views = list(views)
        self.w = np.ones(len(views)) if importance is None else importance
        counted = np.full(views[0].shape[0], self.w.sum())
        if available is not None:
            spectra, counted = None, available @ self.w
            self.views = [
                X if has.all() else CompletedView(X, np.flatnonzero(~has))
                for X, has in zip(views, available.T, strict=True)
            ]
        self.left_out = np.zeros(len(views)) if left_out is None else np.asarray(left_out)
        self.squared_norms = np.array([squared_norm(X) for X in views]) + self.left_out
        self.floors = residual_floor * self.squared_norms
        if complete is not None and residual_floor > 0:
            self.floors[list(complete)] *= max(1.0, COMPLETE_FLOOR / residual_floor)
        if init != "gcca" and directions is None:
            directions = plain_directions(init, [X.shape[1] for X in views], n_components, seed)
        self.directions, self.spectra = directions, spectra
        self.start(n_anchors, seed, 1 / counted, in_features)
        self.Z = [times(X.T, H) for X, H in zip(self.views, self.H, strict=True)]
        self.steps: list[Step] = []
        self.fill_step()
        self.anchor_step()
        self.weight_step()

    def run(self, max_iter: int = 50, tol: float = 1e-4) -> Solution:
        """Iterate until the relative change of the objective is below `tol`, up to `max_iter`."""
        objective, weights = [self.objective()], [self.a]
        converged = False
        while not converged and len(objective) <= max_iter:
            self.representation_step()
            self.fill_step()
            self.graph_step()
            self.anchor_step()
            self.weight_step()
            objective.append(self.objective())
            weights.append(self.a)
            converged = abs(objective[-2] - objective[-1]) < tol * abs(objective[-1])
            report_progress("solving", len(objective) - 1, max_iter)
        return Solution(
            graph=self.S,
            bases=tuple(self.Z),
            anchors=tuple(self.A),
            weights=self.a,
            weight_history=np.array(weights[1:]),
            objective=np.array(objective[1:]),
            converged=converged,
            # The ablations record no steps.
            trace=Trace(self.beta, self.first, tuple(self.steps)) if self.steps else None,
        )

    def objective(self) -> float:
        """Value of the objective at the current state."""
        return float(0.5 * (self.a**2 / self.w) @ self.residuals - self.beta * self.alignment)

    def start(
        self, n_anchors: int, seed: int, row_weights: Array, in_features: Convert | None
    ) -> None:
        """``H_p = polar(X_p D_p)`` and ``S = polar(sum_p w_p H_p N_p)``, and maps to rows of them.

        Rows are weighted by the inverse importance of the views that a sample has. The largest
        coefficient of a feature in a column of ``S`` is positive. Missing rows are then predicted
        by regression on ``S``, and the ``H_p`` computed again.
        """
        H, K, strengths = self._represented()
        N = self._mixing(H, strengths, n_anchors, seed, row_weights)
        mixed = reduce(np.add, (h @ mixing for h, mixing in zip(H, N, strict=True)))
        S, T = polar(row_weights[:, None] * mixed)
        _require_independent(T, "the anchor graph", "n_anchors", self.init)
        to_graph = tuple(k @ (mixing @ T) for k, mixing in zip(K, N, strict=True))
        if in_features is not None:
            coefficients = np.vstack(in_features(to_graph))
            largest = np.abs(coefficients).argmax(axis=0)
            signs = np.sign(coefficients[largest, np.arange(len(largest))])
            S, to_graph = S * signs, tuple(E * signs for E in to_graph)
        incomplete = [X for X in self.views if isinstance(X, CompletedView)]
        for X in incomplete:
            X.fill_by_regression(S)
        fill = tuple(X.Y if isinstance(X, CompletedView) else times(X.T, S) for X in self.views)
        if incomplete:
            H, K, _ = self._represented()
        self.H, self.S, self.first = H, S, Start(to_graph, fill, tuple(K), self.w)

    def _represented(self) -> tuple[list[Array], list[Array], list[Array]]:
        """First representations, maps to them, and for "gcca" the strengths of their columns."""
        H, K, strengths = [], [], []
        for p, (X, m) in enumerate(zip(self.views, self.n_components, strict=True)):
            if self.directions is None:
                known = self.spectra[p] if self.spectra else leading_directions(X, m)
                D, s = (part[..., :m] for part in known)
                strengths.append(np.sqrt(self.w[p] * s**2 / (s**2 + GCCA_RIDGE * s[0] ** 2)))
            else:
                D = self.directions[p]
            if self.init == "identity":
                D = _with_independent_images(X, D)
            factor, M = polar(times(X, D))
            _require_independent(M, f"view {p}", "n_components", self.init)
            H.append(factor)
            K.append(D @ M)
        return H, K, strengths

    def _mixing(
        self, H: list[Array], strengths: list[Array], n_anchors: int, seed: int, row_weights: Array
    ) -> list[Array]:
        """The ``N_p``, times ``w_p``, by which the first representations are mixed."""
        components = self.n_components
        ends = np.cumsum(components)[:-1]
        if self.init == "gcca":
            # MAXVAR generalized CCA: leading left singular vectors of the stacked, weighted H_p.
            stacked = np.hstack([h * s for h, s in zip(H, strengths, strict=True)])
            stacked *= np.sqrt(row_weights)[:, None]
            squares, U = eigh(stacked.T @ stacked)
            independent = int(np.sum(squares > INDEPENDENT * squares[-1]))
            U = U[:, -min(n_anchors, independent) :]
            return np.split(np.concatenate(strengths)[:, None] * U, ends)
        if self.init == "random":
            rng = np.random.default_rng(seed + 1)
            N = [rng.standard_normal((m, n_anchors)) for m in components]
        elif max(components) >= n_anchors:
            N = [np.eye(m, n_anchors) for m in components]
        else:
            # No view has enough components for all anchors: each begins where the last one ended.
            return np.split(np.eye(sum(components), n_anchors), ends)
        return [w * mixing for w, mixing in zip(self.w, N, strict=True)]

    def representation_step(self) -> None:
        """``H_p = polar(a_p^2 / w_p X_p Z_p + beta w_p S A_p')``, then ``Z_p = X_p'H_p``."""
        anchors = tuple(w * A for w, A in zip(self.w, self.A, strict=True))
        self.used = (self.a / np.sqrt(self.w), tuple(self.Z), anchors)
        self.M: list[Array] = []
        for p, X in enumerate(self.views):
            share = self.a[p] ** 2 / self.w[p]
            B = share * times(X, self.Z[p]) + self.beta * self.pull(p)  # Eq. (9)
            self.H[p], M = polar(B)  # Eq. (10)
            _require_balanced(B, M, p, self.beta)
            self.Z[p] = times(X.T, self.H[p])  # Eq. (11)
            self.M.append(M)

    def pull(self, p: int) -> Array:
        """Gradient of the alignment with respect to ``H_p``: ``w_p S A_p'``."""
        return np.asarray(self.S @ (self.w[p] * self.A[p].T))

    def fill_step(self) -> None:
        """Missing rows of ``X_p`` become those of ``H_p Z_p'``."""
        for X, H, Z in zip(self.views, self.H, self.Z, strict=True):
            if isinstance(X, CompletedView):
                X.fill(H[X.missing], Z)

    def graph_step(self) -> None:
        """``S = polar(sum_p w_p H_p A_p)``."""
        self.S, T = polar(self._graph_target())  # Eq. (12)
        self.steps.append(Step(*self.used, tuple(self.M), T))

    def _graph_target(self) -> Array:
        parts = zip(self.w, self.H, self.A, strict=True)
        return reduce(np.add, (H @ (w * A) for w, H, A in parts))

    def anchor_step(self) -> None:
        """``A_p = polar(H_p'S)``; its alignment is ``w_p`` times the sum of the singular values."""
        factors = [polar_and_norm(H.T @ self.S) for H in self.H]  # Eq. (13)
        self.A = [A for A, _ in factors]
        self.alignment = sum(w * norm for w, (_, norm) in zip(self.w, factors, strict=True))

    def weight_step(self) -> None:
        """``a_p`` proportional to ``w_p/r_p``, ``r_p = ||X_p - H_p Z_p'||^2 + floor_p``.

        Where no row is missing, the first part is ``||X_p||^2 - ||Z_p||^2``.
        """
        unexplained = [
            X.residual(H, Z) + rest if isinstance(X, CompletedView) else norm - np.sum(Z**2)
            for X, H, Z, norm, rest in zip(
                self.views, self.H, self.Z, self.squared_norms, self.left_out, strict=True
            )
        ]
        self.residuals = np.maximum(unexplained, 0) + self.floors  # r_p of Eq. (14)
        if len(self.views) == 1:
            self.a = np.ones(1)
            return
        for p, (residual, norm) in enumerate(zip(self.residuals, self.squared_norms, strict=True)):
            if residual <= ROUNDING * norm:
                raise ValueError(
                    f"View {p} is reproduced completely by its {self.Z[p].shape[1]} components, so "
                    "it would get all the weight. Use residual_floor > 0, or fewer n_components."
                )
        inverse = self.w / self.residuals
        self.a = inverse / inverse.sum()  # Eq. (15)


def plain_directions(
    init: Init, widths: Sequence[int], n_components: Sequence[int], seed: int
) -> list[Array]:
    """Directions ``D_p`` of the random and identity starts for views with these features."""
    sizes = list(zip(widths, n_components, strict=True))
    if init == "identity":
        return [np.eye(d, m) for d, m in sizes]
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((d, m)) for d, m in sizes]


def _with_independent_images(X: Matrix, D: Array) -> Array:
    """The directions, replaced if constant or dependent features give their images a lower rank.

    Leading singular vectors of `X` replace what is lacking: what they add to the images of `D`.
    """
    U, s, Vt = svd(times(X, D), full_matrices=False)
    kept = s > INDEPENDENT * s[0]
    if kept.all():
        return D
    B = D @ (Vt[kept].T / s[kept])
    V, _ = leading_directions(X, len(s))
    V = V - B @ (U[:, kept].T @ times(X, V))
    _, s, Vt = svd(times(X, V), full_matrices=False)
    lacking = int(np.sum(~kept))
    return np.hstack([B, V @ (Vt[:lacking].T / s[:lacking])])


def _require_balanced(B: Array, M: Array, p: int, beta: float) -> None:
    """Raise if a large `beta` leaves no digits of a view in ``B``, with polar factor ``B M``."""
    # The product of the norms is a bound of the condition number that takes no time.
    if np.linalg.norm(B) * np.linalg.norm(M) > LARGEST_CONDITION:
        inverse = np.abs(eigh(M, eigvals_only=True))
        if not inverse.max() < LARGEST_CONDITION * inverse.min():
            raise ValueError(
                f"beta={beta:g} is too large for the scale of view {p}: its share of the "
                "representation is lost in rounding. Use a smaller beta, unit_norm=True, or "
                "n_components of at most n_anchors."
            )


def _require_independent(M: Array, subject: str, parameter: str, init: Init) -> None:
    """Raise if a polar factor is that of a rank-deficient matrix, as it leaves the data's span."""
    inverse = eigh(M, eigvals_only=True)
    if not inverse[-1] * INDEPENDENT < inverse[0]:
        raise ValueError(
            f"{subject} does not have {len(M)} independent directions from init='{init}': "
            f"use a smaller {parameter}" + ("." if init == "gcca" else " or init='gcca'.")
        )
