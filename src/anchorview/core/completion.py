"""Completion of a view that some samples lack, by the model while it is solved."""

import numpy as np
from scipy.sparse.linalg import LinearOperator

from anchorview._utils.linalg import squared_norm, times
from anchorview._utils.typing import Array, Matrix


class CompletedView(LinearOperator):
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
