"""Rows of a matrix in the order of other samples, some of which it may lack."""

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# In quotes: older SciPy's sparse arrays take no type parameters at run time.
DenseOrCsr: TypeAlias = "NDArray[Any] | sparse.csr_array[Any]"
M = TypeVar("M", "NDArray[Any]", "sparse.csr_array[Any]")


def reindex_rows(matrix: M, rows: NDArray[np.intp]) -> M:
    """Take rows of a matrix; -1 stands for a sample that the matrix lacks.

    Such a row is NaN in an array, which becomes the smallest float type that holds its values, and
    empty in a CSR matrix. A matrix that has all rows in order is returned as it is.
    """
    if np.array_equal(rows, np.arange(matrix.shape[0])):
        return matrix
    present = np.flatnonzero(rows >= 0)
    taken = matrix[rows[present]]
    if len(present) == len(rows):
        return taken
    shape = (len(rows), matrix.shape[1])
    if isinstance(taken, np.ndarray):
        filled = np.full(shape, np.nan, np.result_type(matrix, np.float16))
        filled[present] = taken
        return filled
    row_lengths = np.zeros(len(rows) + 1, dtype=taken.indptr.dtype)
    row_lengths[present + 1] = np.diff(taken.indptr)
    return sparse.csr_array((taken.data, taken.indices, np.cumsum(row_lengths)), shape=shape)
