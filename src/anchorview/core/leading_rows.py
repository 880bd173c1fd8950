"""Views of pseudo-samples whose last rows are zero, as those of a triangular factor."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse.linalg import LinearOperator

from anchorview._utils.linalg import gram, squared_norm
from anchorview._utils.typing import Array, Matrix

ZERO_SHARE = 0.2
"""Minimum share of zero rows for which products without them pay."""


class LeadingRows(LinearOperator):
    """A dense matrix of which only the first rows are not zero."""

    def __init__(self, X: Array, n_rows: int) -> None:
        super().__init__(dtype=X.dtype, shape=X.shape)
        self.rows = X[:n_rows]
        self.squared_norm = squared_norm(self.rows)

    def gram(self) -> Array:
        """Products of all pairs of columns."""
        return gram(self.rows)

    def _matmat(self, M: Array) -> Array:
        product = np.zeros((self.shape[0], M.shape[1]), self.dtype)
        np.matmul(self.rows, M, out=product[: len(self.rows)])
        return product

    def _rmatmat(self, M: Array) -> Array:
        product: Array = self.rows.T @ M[: len(self.rows)]
        return product


def without_zero_rows(views: Sequence[Matrix]) -> list[Matrix]:
    """The views, those with many zero rows at the end as operators that leave them out."""
    found: list[Matrix] = []
    for X in views:
        n_rows = X.shape[0]
        if isinstance(X, np.ndarray):
            n_rows = int(np.flatnonzero(X.any(axis=1)).max(initial=-1)) + 1
        many = X.shape[0] - n_rows >= ZERO_SHARE * X.shape[0]
        found.append(LeadingRows(X, n_rows) if many else X)
    return found
