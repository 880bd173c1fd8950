"""The paper's two ablations of DALMC: the same optimization with one part replaced.

Neither has an out-of-sample map, and the second is not invariant to rotations of the samples, so
both run on the data as they are (``solver="direct"``).
"""

from functools import reduce
from typing import Any

import numpy as np

from anchorview._utils.linalg import polar
from anchorview._utils.typing import Array
from anchorview.core.alternating import AlternatingSolver


class _Ablation(AlternatingSolver):
    def trace(self) -> None:
        """Ablations cannot embed other samples."""


class SampledAnchorsSolver(_Ablation):
    """Ablation 1: anchors sampled from the data: ``A_p = H_p'C`` with a shared ``C``, ``C'C = I``.

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


class BoxGraphSolver(_Ablation):
    """Ablation 2: ``0 <= S <= 1`` in place of ``S'S = I``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.graph_step()
        self.anchor_step()

    def graph_step(self) -> None:
        """Linear on a box: ``S = 1`` where ``sum_p H_p A_p > 0``, else 0."""
        self.S = (self._graph_target() > 0).astype(np.float64)
