"""Sparse views minus dense rows of low rank, without making them dense."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from anchorview._utils.typing import Array

FEW_ENTRIES = 0.1
"""Share of entries that are not zero up to which products of sparse rows with a hundred columns or
more are faster than those of dense rows."""


class LowRankSum:
    """Rows ``sparse + coefficients @ terms`` of a view; blocks of rows become dense.

    Both `entries` and `coefficients` are CSR matrices; there are few `terms`.
    """

    ndim = 2

    def __init__(
        self, entries: sparse.csr_array, coefficients: sparse.csr_array, terms: Array
    ) -> None:
        self.entries, self.coefficients, self.terms = entries, coefficients, terms
        self.shape: tuple[int, int] = entries.shape
        self.dtype = np.dtype(entries.dtype)
        self.nnz = int(entries.nnz)
        self.nbytes = int(entries.data.nbytes + entries.indices.nbytes)

    def __getitem__(self, rows: Any) -> "LowRankSum":
        """Return some rows."""
        return LowRankSum(self.entries[rows], self.coefficients[rows], self.terms)

    def astype(self, dtype: "np.typing.DTypeLike") -> "LowRankSum":
        """Return the same rows with entries of another type."""
        return LowRankSum(self.entries.astype(dtype), self.coefficients, self.terms)

    def toarray(self) -> Array:
        """Dense rows."""
        rows: Array = self.entries.toarray()
        rows += self.coefficients @ self.terms
        return rows

    def stacked(self, parts: Sequence["LowRankSum"]) -> "LowRankSum":
        """Rows of several parts with the same terms."""
        return LowRankSum(
            sparse.vstack([part.entries for part in parts], format="csr"),
            sparse.vstack([part.coefficients for part in parts], format="csr"),
            self.terms,
        )


def is_sparse(view: Any) -> bool:
    """Whether a view is stored as the entries that are not zero."""
    return sparse.issparse(view) or isinstance(view, LowRankSum)


def has_few_entries(view: Any) -> bool:
    """Whether rows of a view are multiplied as they are stored, not as dense rows."""
    return is_sparse(view) and view.nnz <= FEW_ENTRIES * view.shape[0] * view.shape[1]
