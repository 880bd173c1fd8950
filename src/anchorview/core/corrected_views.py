"""Rows of views from which batches and covariates are taken out, computed where they are used.

A row x of batch b with covariates z becomes ``m + f_b * (x - c_b - z B)``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from anchorview._utils.typing import Array, Matrix
from anchorview.core.batch_moments import JointMoments
from anchorview.core.scale import CONSTANT_COLUMN
from anchorview.core.sparse_scaling import entry_blocks
from anchorview.views.low_rank_sum import LowRankSum
from anchorview.views.schema import working_precision


@dataclass(frozen=True, eq=False)
class ViewCorrection:
    """The map of the rows of each batch of one view."""

    sizes: npt.NDArray[np.int32]
    """Number of samples of each batch; 0 if none has the view, so that there is no map."""
    intercepts: Array
    """Means of the batches where all covariates are zero, c."""
    factors: Array
    """Common deviation of each feature, divided by that in the batch, f; 1 without scaling."""
    slopes: Array
    """Coefficients of the covariates, B."""
    mean: Array
    """Mean of all samples, m."""
    deviation: Array
    """Deviation of each feature within batches."""

    def with_batches(self, count: int) -> "ViewCorrection":
        """Return the same with more batches, which have no map yet."""
        nothing = np.zeros((count, len(self.mean)))
        return replace(
            self,
            sizes=np.append(self.sizes, np.zeros(count, np.int32)),
            intercepts=np.vstack([self.intercepts, nothing]),
            factors=np.vstack([self.factors, nothing + 1]),
        )

    def with_maps(self, maps: "Mapping[int, BatchMap]") -> "ViewCorrection":
        """Return the same with other maps of some batches."""
        found = replace(
            self,
            sizes=self.sizes.copy(),
            intercepts=self.intercepts.copy(),
            factors=self.factors.copy(),
        )
        for b, own in maps.items():
            found.sizes[b], found.intercepts[b], found.factors[b] = own
        return found


class BatchMap(NamedTuple):
    """Number of samples of a batch that have a view, and the map of their rows."""

    size: int
    intercept: Array
    factor: Array

    @classmethod
    def of(cls, joint: JointMoments, view: ViewCorrection, scales: bool) -> "BatchMap":
        """Map of the rows with these moments to the mean and deviation of a view."""
        size, mean, _ = joint.rows
        intercept = mean - joint.z_mean @ view.slopes
        factor = np.ones(len(mean))
        if scales:
            spread = np.sqrt(joint.residual_squares(view.slopes) / size)
            varies = spread > CONSTANT_COLUMN * np.abs(mean)
            np.divide(view.deviation, spread, out=factor, where=varies)
        return cls(size, intercept, factor)


class AffineMap:
    """The map of a view in the precision of its rows."""

    def __init__(self, exact: ViewCorrection, dtype: Any) -> None:
        self.exact, self.dtype = exact, working_precision([np.dtype(dtype)])
        self.mean, self.intercepts, self.factors, self.slopes = (
            values.astype(self.dtype)
            for values in (exact.mean, exact.intercepts, exact.factors, exact.slopes)
        )

    def __call__(self, rows: Array, codes: Array, z: Array) -> Array:
        """Corrected dense rows of samples with some batches and covariates."""
        out: Array = np.subtract(rows, self.intercepts[codes], dtype=self.dtype)
        if z.shape[1]:
            out -= z.astype(self.dtype) @ self.slopes
        out *= self.factors[codes]
        out += self.mean
        return out


class CorrectedRows:
    """A dense view whose rows are corrected when they are taken."""

    def __init__(self, view: Array, codes: Array, z: Array, correct: AffineMap) -> None:
        self.view, self.codes, self.z, self.correct = view, codes, z, correct

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        n, d = self.view.shape
        return n, d

    @property
    def dtype(self) -> "np.dtype[Any]":
        """Type of the corrected rows."""
        return self.correct.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all rows, if they were taken."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __getitem__(self, rows: Any) -> Array:
        """Return some corrected rows."""
        return self.correct(self.view[rows], self.codes[rows], self.z[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)


def corrected_view(view: Matrix, codes: Array, z: Array, correct: AffineMap) -> Matrix:
    """View with corrected rows: of a sparse one, a sum with a matrix of low rank."""
    if not sparse.issparse(view):
        return CorrectedRows(view, codes, z, correct)
    entries = np.empty(view.nnz, correct.dtype)
    for block in entry_blocks(view):
        part = slice(view.indptr[block.rows.start], view.indptr[block.rows.stop])
        batches = np.repeat(codes[block.rows], np.diff(block.matrix.indptr))
        factors = correct.factors[batches, block.matrix.indices]
        np.multiply(block.matrix.data, factors, out=entries[part], casting="unsafe")
    scaled = sparse.csr_array((entries, view.indices, view.indptr), shape=view.shape)
    return LowRankSum(scaled, _coefficients(codes, z, len(correct.factors)), _terms(correct.exact))


def _coefficients(codes: Array, z: Array, n_batches: int) -> sparse.csr_array:
    """Rows ``[1, z]`` in the columns of the batch of each sample."""
    width = 1 + z.shape[1]
    values = np.column_stack([np.ones(len(z)), z])
    columns = (codes.astype(np.int64) * width)[:, None] + np.arange(width)
    indptr = np.arange(len(z) + 1) * width
    shape = (len(z), n_batches * width)
    return sparse.csr_array((values.ravel(), columns.ravel(), indptr), shape=shape)


def _terms(correction: ViewCorrection) -> Array:
    """What ``[1, z]`` of each batch is multiplied by, one batch below the other."""
    pairs = zip(correction.factors, correction.intercepts, strict=True)
    return np.vstack(
        [
            np.vstack([correction.mean - factors * intercept, -factors * correction.slopes])
            for factors, intercept in pairs
        ]
    )
