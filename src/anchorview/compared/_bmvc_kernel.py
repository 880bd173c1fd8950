"""Gaussian similarities of samples to a few anchors, the features that BMVC makes codes from.

Samples are rows: the kernel ``K_v = P_v'`` is (n, m) for m anchors.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from anchorview._utils.linalg import leading_directions, times
from anchorview._utils.threads import for_blocks
from anchorview._utils.typing import Array, Matrix
from anchorview.core.scale import overflow_message
from anchorview.views.container import MultiViewData, RowBlock, dense_rows

KERNEL_BLOCK = 2**20
"""Entries of a block of samples, or of their kernel, that one thread works on."""

ROUNDING = 16
"""A squared distance of this many units in the last place of the squared lengths is zero."""

START_SAMPLE = 2000
"""Samples whose principal directions start the codes, if the codes have no more bits."""


@dataclass(frozen=True)
class KernelView:
    """Centered similarities of the samples to the anchors of a view, ready for ridge regression."""

    K: Array
    factor: tuple[Array, bool]
    """Cholesky factor of ``(1 - gamma) K'K + beta I``."""

    def products(self, B: Array) -> Array:
        """``K'B`` (m, code length)."""
        return times(self.K.T, B)

    def projection(self, products: Array) -> Array:
        """``U' = ((1 - gamma) K'K + beta I)^-1 K'B`` (m, code length)."""
        return np.asarray(cho_solve(self.factor, products))

    def projected(self, U: Array) -> Array:
        """``K U'`` (n, code length): the codes that the view suggests."""
        return times(self.K, U)


def kernel_view(K: Array, beta: float, gamma: float) -> KernelView:
    """A centered kernel (n, m) with its factor."""
    n, m = K.shape
    ridge = beta * np.eye(m)
    # In float64, or rounding would outgrow beta and the matrix not be positive definite.
    for rows in _slices(n, m):
        block = K[rows].astype(np.float64, copy=False)
        ridge += (1 - gamma) * (block.T @ block)
    return KernelView(K, cho_factor(ridge, lower=True, overwrite_a=True, check_finite=False))


def sampled_anchors(view: Matrix, count: int, rng: np.random.RandomState) -> Array:
    """Samples drawn without replacement (count, d)."""
    rows = np.sort(rng.choice(view.shape[0], count, replace=False))
    return dense_rows(view, rows).astype(np.float64)


def centered_kernel(
    data: MultiViewData, p: int, anchors: Array, width: float | None = None
) -> Array:
    """``exp(-||x_i - a_j||^2 / (2 sigma^2))`` of a view (n, m), less the column means.

    The width sigma is, unless given, twice the mean distance to the nearest anchor. An anchor that
    is the sample itself is left out of that: when many samples are anchors the width would go to
    zero, and with it all similarities but those to itself.
    """
    n, m = len(data), len(anchors)
    K = np.empty((n, m), dtype=data.dtype)
    nearest = np.empty(n)
    centered = centered_anchors(anchors, K.dtype)

    def measure(block: RowBlock) -> None:
        rows = block.rows
        squared_distances(dense_rows(data.views[p], rows), centered, K[rows])
        if not np.isfinite(K[rows]).all():
            raise ValueError(overflow_message(data, p))
        nearest[rows] = np.min(K[rows], axis=1, where=K[rows] > 0, initial=np.inf)

    def compare(block: RowBlock) -> None:
        K[block.rows] *= -0.5 / sigma**2
        np.exp(K[block.rows], out=K[block.rows])

    step = max(1, KERNEL_BLOCK // max(m, anchors.shape[1]))
    for_blocks(measure, data.blocks(step), "measuring")
    sigma = mean_width(nearest) if width is None else width
    for_blocks(compare, data.blocks(step), "comparing")
    K -= K.mean(axis=0, dtype=np.float64).astype(K.dtype)
    return K


@dataclass(frozen=True)
class CenteredAnchors:
    """Anchors less their mean, so that a common offset costs the distances no digits."""

    A: Array
    mean: Array
    squares: Array
    """Squared lengths of the rows of `A`."""


def centered_anchors(anchors: Array, dtype: "np.dtype[Any]") -> CenteredAnchors:
    """Anchors about their mean, in the precision that distances are wanted in."""
    mean = anchors.mean(axis=0)
    A = (anchors - mean).astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return CenteredAnchors(A, mean, np.einsum("ij,ij->i", A, A))


def squared_distances(X: Array, anchors: CenteredAnchors, out: Array) -> None:
    """Squared distances of rows to anchors, written to `out`; what is rounding becomes zero."""
    X = (X - anchors.mean).astype(out.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.einsum("ij,ij->i", X, X)[:, None] + anchors.squares
        np.matmul(X, anchors.A.T, out=out)
        out *= -2
        out += lengths
        lengths *= ROUNDING * np.finfo(out.dtype).eps
        out[out <= lengths] = 0


def mean_width(nearest: Array) -> float:
    """``2 mean_i ||x_i - nearest anchor||`` from squared distances, infinite ones left out.

    These are of samples that equal every anchor; if all do, no width tells them apart.
    """
    known = nearest[nearest < np.inf]
    return 2 * float(np.sqrt(known).mean()) if len(known) else 1.0


def start_sample(n: int, length: int) -> int:
    """How many of n samples start the codes: no fewer than there are bits, if possible."""
    return min(n, max(START_SAMPLE, length))


def start_codes(kernels: Sequence[Array], length: int, rng: np.random.RandomState) -> Array:
    """Signs of the samples' principal components over some kernels side by side (n, length)."""
    n = len(kernels[0])
    rows = np.sort(rng.choice(n, start_sample(n, length), replace=False))
    E, _ = leading_directions(np.hstack([K[rows] for K in kernels]), length)
    # Directions beyond the rank can be too long for single precision, and only signs count.
    E = E / np.maximum(np.abs(E).max(axis=0), 1)
    widths = np.cumsum([K.shape[1] for K in kernels])[:-1]
    parts = zip(kernels, np.split(E, widths), strict=True)
    return binary(sum(times(K, part) for K, part in parts), kernels[0].dtype)


def binary(M: Any, dtype: Any) -> Array:
    """Signs; of zero it is -1."""
    return np.where(M > 0, 1, -1).astype(dtype)


def _slices(n: int, width: int) -> Iterator[slice]:
    step = max(width, KERNEL_BLOCK // width)
    for start in range(0, n, step):
        yield slice(start, start + step)
