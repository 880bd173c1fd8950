"""Exact compression: a small problem with the same optimum, and the way back.

With all scaled views side by side, ``X = Q R`` with orthonormal columns of ``Q`` (n x r): the
optimisation on the r pseudo-samples ``R`` makes the same steps as on the n samples ``X``, and its
maps ``W_p`` (``S = sum_p X_p W_p``) hold for both. ``R'R = X'X`` needs one pass over row blocks;
``Q`` is never formed, since ``X @ W`` in a second pass is the embedding.

A view with more features than samples is compressed from the other side: ``X_p = L_p U_p'`` with
orthonormal columns of ``U_p``, found from ``X_p X_p'``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from anchorview._typing import Array, Matrix
from anchorview.blocks import map_blocks
from anchorview.linalg import times
from anchorview.scaling import ScaledSparse, ViewScaling, scaled_block, with_unit_norms
from anchorview.views import MultiViewData

RANK_TOLERANCE = {"float32": 1e-6, "float64": 1e-12}
"""Share of a feature's (or sample's) squared length, unexplained by the others, that rounding of
the products in this precision can fake."""


def gram(
    data: MultiViewData, scalings: tuple[ViewScaling, ...], block_rows: int | None = None
) -> Array:
    """``X'X`` of the scaled views side by side: blocks in the data's precision, sum in float64."""

    def work(rows: slice) -> Array:
        block = scaled_block(data, scalings, rows)
        return block.T @ block

    width = data.shape[1]
    total = np.zeros((width, width))
    for part in map_blocks(work, data.blocks(block_rows), len(data), "compressing"):
        total += part
    return total


def pivoted_cholesky(G: Array, tolerance: float) -> tuple[Array, Array]:
    """Factor ``G = L L'`` of a positive semidefinite matrix, with as many columns as its rank.

    Returns ``L`` and the pivots; ``L[pivots]`` is lower triangular. The rank is judged on
    correlations, so the units of features do not matter.
    """
    scale = np.sqrt(np.diag(G))
    scale[scale == 0] = 1
    correlations = np.asfortranarray(G / scale / scale[:, None])
    factor, order, rank, _ = dpstrf(correlations, lower=1, tol=tolerance, overwrite_a=1)
    pivots = order - 1
    L = np.empty((len(G), rank))
    L[pivots] = np.tril(factor)[:, :rank]
    return L * scale[:, None], pivots[:rank]


def compress_samples(
    data: MultiViewData,
    scalings: tuple[ViewScaling, ...],
    *,
    unit_norm: bool,
    block_rows: int | None = None,
) -> tuple[tuple[Array, ...], tuple[ViewScaling, ...]]:
    """Views of r pseudo-samples that stand for all samples, and the scalings with their norms."""
    G = gram(data, scalings, block_rows)
    widths = data.n_features_per_view
    ends = np.cumsum(widths)
    squares = [float(np.trace(part)) for part in _diagonal_blocks(G, ends)]
    normed = with_unit_norms(data, scalings, squares)
    if unit_norm:
        scalings = normed
        divisor = np.repeat([scaling.norm for scaling in scalings], widths)
        G /= divisor
        G /= divisor[:, None]
    L, _ = pivoted_cholesky(G, RANK_TOLERANCE[data.dtype.name])
    return tuple(np.ascontiguousarray(part.T) for part in np.split(L, ends[:-1])), scalings


def _diagonal_blocks(G: Array, ends: Array) -> list[Array]:
    return [G[start:end, start:end] for start, end in zip((0, *ends[:-1]), ends, strict=True)]


@dataclass(frozen=True)
class CompressedFeatures:
    """A view with more features than samples in coordinates ``L`` of its row space."""

    view: Matrix
    coordinates: Array
    pivots: Array

    def contract(self, D: Array) -> Array:
        """Coefficients of the coordinates for coefficients of the features: ``U'D``."""
        product = times(self.view, D)[self.pivots]
        return solve_triangular(self.coordinates[self.pivots], product, lower=True)

    def expand(self, W: Array) -> Array:
        """Coefficients of the features for coefficients of the coordinates: ``U W``.

        ``U' = L[pivots]^-1 X[pivots]``, so ``U W = X' M`` with M zero outside the pivots.
        """
        M = np.zeros((self.view.shape[0], W.shape[1]))
        M[self.pivots] = solve_triangular(self.coordinates[self.pivots], W, trans="T", lower=True)
        return times(self.view.T, M)


def compress_features(X: Matrix) -> CompressedFeatures:
    """Compress a scaled view with more features than samples."""
    n = X.shape[0]
    if isinstance(X, ScaledSparse):
        K = np.empty((n, n))
        step = max(1, 2**24 // X.shape[1])
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            K[:, rows] = times(X, X.dense_rows(rows).T)
    else:
        K = X @ X.T
    L, pivots = pivoted_cholesky(K, RANK_TOLERANCE["float64"])
    return CompressedFeatures(X, L, pivots)


def embed(
    data: MultiViewData,
    scalings: tuple[ViewScaling, ...],
    maps: Sequence[Array],
    block_rows: int | None = None,
) -> Array:
    """``S = sum_p X_p W_p`` for all samples, in the data's precision."""
    W = np.vstack(maps).astype(data.dtype)
    embedding = np.empty((len(data), W.shape[1]), dtype=data.dtype)

    def work(rows: slice) -> None:
        embedding[rows] = scaled_block(data, scalings, rows) @ W

    for _ in map_blocks(work, data.blocks(block_rows), len(data), "embedding"):
        pass
    return embedding
