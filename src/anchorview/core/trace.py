"""The trace of an optimization, through which any sample can be replayed.

Every step is linear in the data of a sample, given the small matrices of that step. Replaying a
sample gives exactly its row of ``S``, or, for a new sample, the row it would have as an additional
sample of zero weight. The sample may lack views: they are completed as in the optimization.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import times
from anchorview._utils.typing import Array, Matrix


@dataclass(frozen=True)
class Start:
    """The start: ``s = mean over available views of x_p E_p``; a missing ``x_p = s Y_p'``;
    ``h_p = x_p K_p``."""  # noqa: D209

    to_graph: tuple[Array, ...]
    """E_p, d_p x l."""
    fill: tuple[Array, ...]
    """Y_p, d_p x l."""
    to_representation: tuple[Array, ...]
    """K_p, d_p x m_p."""


@dataclass(frozen=True)
class Step:
    """One iteration: ``h_p = (a_p^2 x_p Z_p + beta s A_p') M_p``, a missing ``x_p = h_p Z_p'`` of
    before; ``s = sum_p h_p A_p T``."""  # noqa: D209

    weights: Array
    """a."""
    bases: tuple[Array, ...]
    """Z_p, d_p x m_p."""
    anchors: tuple[Array, ...]
    """A_p, m_p x l."""
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
    def n_anchors(self) -> int:
        """Columns of ``S``."""
        return int(self.start.to_graph[0].shape[1])

    @property
    def nbytes(self) -> int:
        """Number of bytes of all matrices."""
        start = self.start
        matrices = [*start.to_graph, *start.fill, *start.to_representation]
        for step in self.steps:
            matrices += [*step.bases, *step.anchors, *step.to_representation, step.to_graph]
        return sum(matrix.nbytes for matrix in matrices)

    def replay(self, views: Sequence[Matrix | None], available: Array) -> Array:
        """Rows of ``S`` for samples given by their scaled views.

        A view that no sample has may be None; rows of samples that lack a view are zero.
        """
        n, n_views = available.shape
        lacking = [np.flatnonzero(~available[:, p]) for p in range(n_views)]

        def product(p: int, M: Array) -> Array:
            view = views[p]
            return np.zeros((n, M.shape[1])) if view is None else times(view, M)

        start = self.start
        s = sum(product(p, start.to_graph[p]) for p in range(n_views))
        s = s / available.sum(axis=1)[:, None]
        h = []
        for p in range(n_views):
            h.append(product(p, start.to_representation[p]))
            h[p][lacking[p]] = s[lacking[p]] @ (start.fill[p].T @ start.to_representation[p])
        for step in self.steps:
            for p in range(n_views):
                Z, A = step.bases[p], step.anchors[p]
                projected = product(p, Z)
                projected[lacking[p]] = h[p][lacking[p]] @ (Z.T @ Z)
                pulled = step.weights[p] ** 2 * projected + self.beta * (s @ A.T)
                h[p] = pulled @ step.to_representation[p]
            s = sum(h[p] @ step.anchors[p] for p in range(n_views)) @ step.to_graph
        return np.asarray(s)

    def converted(self, convert: Callable[[Sequence[Array]], Sequence[Array]]) -> "Trace":
        """Return the same trace in other coordinates of the views.

        `convert` turns coefficients of the present coordinates, one matrix per view, into
        coefficients of the others.
        """
        first = self.start
        bases = [step.bases for step in self.steps]
        given = [first.to_graph, first.fill, first.to_representation, *bases]
        # Matrices of all steps side by side: one product per view.
        together = convert([np.hstack(matrices) for matrices in zip(*given, strict=True)])
        columns = [
            np.split(matrix, np.cumsum([part[p].shape[1] for part in given])[:-1], axis=1)
            for p, matrix in enumerate(together)
        ]
        to_graph, fill, to_representation, *converted = zip(*columns, strict=True)
        steps = [replace(step, bases=Z) for step, Z in zip(self.steps, converted, strict=True)]
        return Trace(self.beta, Start(to_graph, fill, to_representation), tuple(steps))

    def maps(self, views: Sequence[int]) -> Array:
        """Map from the features of some views, side by side, to ``S`` for samples that have them.

        A sample's embedding is linear in its data, so replaying unit vectors gives the map. Only
        the start depends on the number of views that a sample has.
        """
        widths = [len(K) for K in self.start.to_representation]
        total = sum(widths[p] for p in views)
        unit_rows = sparse.eye_array(total, format="csc")
        parts: list[Matrix | None] = [None] * len(widths)
        begin = 0
        for p in views:
            parts[p] = unit_rows[:, begin : begin + widths[p]]
            begin += widths[p]
        available = np.zeros((total, len(widths)), bool)
        available[:, list(views)] = True
        return self.replay(parts, available)
