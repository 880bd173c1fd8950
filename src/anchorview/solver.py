"""The alternating optimisation of DALMC, on plain matrices.

Samples are rows here, so a view is ``X_p`` (n x d_p), its representation ``H_p`` (n x m_p), its
basis ``Z_p`` (d_p x m_p), its anchors ``A_p`` (m_p x l), and the anchor graph is ``S`` (n x l)::

    min  sum_p 1/2 a_p^2 (||X_p - H_p Z_p'||^2 + floor_p)  -  beta * sum_p <H_p, S A_p'>
    s.t. H_p'H_p = I,  S'S = I,  A_p orthonormal (columns or rows),  sum a = 1,  a >= 0

``floor_p = RESIDUAL_FLOOR * ||X_p||^2`` keeps a view that its basis reproduces completely from
drawing all the weight. It is a constant inside the objective, so every step stays an exact
minimiser and the objective never increases.

Every start lies in the column space of the views and every step stays in it, so ``S`` is linear in
the data, ``S = sum_p X_p W_p``, and the maps ``W_p`` follow from the steps themselves. They embed
new samples, and they carry a solution found on compressed data back to all samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from scipy.linalg import eigh

from anchorview._typing import Array, Matrix
from anchorview.linalg import leading_directions, polar, polar_and_norm, squared_norm, times
from anchorview.progress import report

Init = Literal["gcca", "random", "identity"]

RESIDUAL_FLOOR = 0.01
"""Share of a view's squared norm that counts as unexplained whatever the basis explains."""

GCCA_RIDGE = 0.01
"""Ridge of the GCCA start, relative to a view's leading squared singular value. It prefers strong
directions where the views alone leave a tie, as one view alone does between all of its own."""


@dataclass(frozen=True)
class Solution:
    """What the optimisation found; letters as in the module's docstring."""

    graph: Array
    """S, n x l."""
    representations: tuple[Array, ...]
    """H_p, n x m_p."""
    bases: tuple[Array, ...]
    """Z_p, d_p x m_p."""
    anchors: tuple[Array, ...]
    """A_p, m_p x l."""
    weights: Array
    """a, one a view."""
    objective: Array
    """The objective at the start and after every iteration."""
    converged: bool
    """Whether the last change of the objective was below the tolerance."""
    maps: tuple[Array, ...]
    """W_p, d_p x l, with S = sum_p X_p W_p; empty for the ablations."""

    @property
    def n_iter(self) -> int:
        """Number of iterations done."""
        return len(self.objective) - 1


class AlternatingSolver:
    """State and steps of the optimisation.

    Parameters
    ----------
    views : sequence of matrices (n, d_p)
        Scaled views: arrays, sparse matrices or linear operators. Products with them are made in
        their precision, everything else in float64.
    n_anchors : int
        Columns of the anchor graph, l; at most the sum of `n_components`.
    n_components : sequence of int
        Columns of each view's representation, m_p; at most the view's rank.
    beta : float
        Weight of the alignment between representations and anchor graph.
    init : {"gcca", "random", "identity"}
        Start: generalised CCA of the leading singular vectors, random directions from `seed`, or
        identity blocks for bases and anchors. All lie in the span of the data.
    seed : int
        Seed of the random start.
    directions : sequence of arrays (d_p, m_p), optional
        The start's directions, for views whose coordinates are not the features for which
        :func:`plain_directions` gives them.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview.solver import AlternatingSolver
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.standard_normal((30, 6)), rng.standard_normal((30, 5))]
    >>> solution = AlternatingSolver(X, n_anchors=2, n_components=[3, 2]).run()
    >>> bool(np.allclose(solution.graph, sum(x @ w for x, w in zip(X, solution.maps))))
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
    ) -> None:
        self.views = views
        self.beta = beta
        self.squared_norms = np.array([squared_norm(X) for X in views])
        self.H, self.S, self.W = start(views, n_anchors, n_components, init, seed, directions)
        self.Z = [times(X.T, H) for X, H in zip(views, self.H, strict=True)]
        self.anchor_step()
        self.weight_step()

    def run(self, max_iter: int = 50, tol: float = 1e-4) -> Solution:
        """Iterate until the objective changes by less than `tol`, relatively, or `max_iter`."""
        objective = [self.objective()]
        converged = False
        while not converged and len(objective) <= max_iter:
            self.representation_step()
            self.graph_step()
            self.anchor_step()
            self.weight_step()
            objective.append(self.objective())
            converged = abs(objective[-2] - objective[-1]) < tol * abs(objective[-1])
            report("solving", len(objective) - 1, max_iter)
        return Solution(
            graph=self.S,
            representations=tuple(self.H),
            bases=tuple(self.Z),
            anchors=tuple(self.A),
            weights=self.a,
            objective=np.array(objective),
            converged=converged,
            maps=tuple(self.W),
        )

    def objective(self) -> float:
        """Value of the objective at the present state."""
        return float(0.5 * self.a**2 @ self.residuals - self.beta * self.alignment)

    def representation_step(self) -> None:
        """``H_p = polar(a_p^2 X_p Z_p + beta S A_p')``, then ``Z_p = X_p'H_p``."""
        self._from_data: list[Array] = []
        self._to_H: list[Array] = []
        for p, X in enumerate(self.views):
            weight = self.a[p] ** 2
            self.H[p], M = polar(weight * times(X, self.Z[p]) + self.beta * self.pull(p))
            self._from_data.append(weight * (self.Z[p] @ M))
            self._to_H.append(M)
            self.Z[p] = times(X.T, self.H[p])

    def pull(self, p: int) -> Array:
        """Gradient of the alignment with respect to ``H_p``: ``S A_p'``."""
        return self.S @ self.A[p].T

    def graph_step(self) -> None:
        """``S = polar(sum_p H_p A_p)``, and its maps.

        With ``H_p = (a_p^2 X_p Z_p + beta S A_p') M_p`` and ``S_new = sum_p H_p A_p T``,
        ``W_p_new = (a_p^2 Z_p M_p A_p + W_p beta sum_q A_q'M_q A_q) T``.
        """
        self.S, T = polar(self._graph_target())
        back = self.beta * sum(A.T @ M @ A for A, M in zip(self.A, self._to_H, strict=True))
        self.W = [
            (direct @ A + W @ back) @ T
            for direct, A, W in zip(self._from_data, self.A, self.W, strict=True)
        ]

    def _graph_target(self) -> Array:
        return reduce(np.add, (H @ A for H, A in zip(self.H, self.A, strict=True)))

    def anchor_step(self) -> None:
        """``A_p = polar(H_p'S)``; the alignment is then the sum of the singular values."""
        factors = [polar_and_norm(H.T @ self.S) for H in self.H]
        self.A = [A for A, _ in factors]
        self.alignment = sum(norm for _, norm in factors)

    def weight_step(self) -> None:
        """``a_p`` proportional to ``1/r_p`` with ``r_p = ||X_p||^2 - ||Z_p||^2 + floor_p``."""
        explained = np.array([np.sum(Z**2) for Z in self.Z])
        unexplained = np.maximum(self.squared_norms - explained, 0)
        self.residuals = unexplained + RESIDUAL_FLOOR * self.squared_norms
        inverse = 1 / self.residuals
        self.a = inverse / inverse.sum()


def plain_directions(
    init: Init, widths: Sequence[int], n_components: Sequence[int], seed: int
) -> list[Array]:
    """Directions ``D_p`` of the random and identity starts for views with these features."""
    sizes = list(zip(widths, n_components, strict=True))
    if init == "identity":
        return [np.eye(d, m) for d, m in sizes]
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((d, m)) for d, m in sizes]


def start(
    views: Sequence[Matrix],
    n_anchors: int,
    n_components: Sequence[int],
    init: Init,
    seed: int,
    directions: Sequence[Array] | None,
) -> tuple[list[Array], Array, list[Array]]:
    """First ``H_p``, ``S`` and maps: ``H_p = polar(X_p D_p)``, ``S = polar(sum_p H_p N_p)``."""
    if init == "gcca":
        spectra = [leading_directions(X, m) for X, m in zip(views, n_components, strict=True)]
        D: Sequence[Array] = [V for V, _ in spectra]
    else:
        widths = [X.shape[1] for X in views]
        D = directions or plain_directions(init, widths, n_components, seed)
    factors = [polar(times(X, direction)) for X, direction in zip(views, D, strict=True)]
    H = [factor for factor, _ in factors]

    if init == "gcca":
        # MAXVAR generalised CCA: leading left singular vectors of the stacked, weighted H_p.
        strengths = [np.sqrt(s**2 / (s**2 + GCCA_RIDGE * s[0] ** 2)) for _, s in spectra]
        stacked = np.hstack([h * w for h, w in zip(H, strengths, strict=True)])
        width = stacked.shape[1]
        _, U = eigh(stacked.T @ stacked, subset_by_index=(width - n_anchors, width - 1))
        N = np.split(np.concatenate(strengths)[:, None] * U, np.cumsum(n_components)[:-1])
    elif init == "random":
        rng = np.random.default_rng(seed + 1)
        N = [rng.standard_normal((m, n_anchors)) for m in n_components]
    else:
        N = [np.eye(m, n_anchors) for m in n_components]
    S, T = polar(reduce(np.add, (h @ mixing for h, mixing in zip(H, N, strict=True))))

    # A polar factor of a deficient matrix leaves the span of the data, and with it the theory.
    for p, (direction, (h, M)) in enumerate(zip(D, factors, strict=True)):
        _require_in_span(h, times(views[p], direction @ M), f"view {p}", "n_components", init)
    W = [d @ (M @ mixing @ T) for d, (_, M), mixing in zip(D, factors, N, strict=True)]
    spanned = reduce(np.add, (times(X, w) for X, w in zip(views, W, strict=True)))
    _require_in_span(S, spanned, "the anchor graph", "n_anchors", init)
    return H, S, W


def _require_in_span(factor: Array, spanned: Array, what: str, parameter: str, init: Init) -> None:
    if not np.abs(factor - spanned).max() < 1e-3 * np.abs(factor).max():
        raise ValueError(
            f"{what} does not have {factor.shape[1]} independent directions from init='{init}': "
            f"use a smaller {parameter}" + ("." if init == "gcca" else " or init='gcca'.")
        )
