"""Scalings of whole views that only the baselines use."""

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import squared_norm
from anchorview._utils.typing import Array, Matrix
from anchorview.core.scale import CONSTANT_COLUMN, ViewScaling, fit_scalings, with_unit_norms
from anchorview.core.scaled_view import scaled_copy, scaled_views
from anchorview.views.container import MultiViewData, dense_rows


def standardized_views(data: MultiViewData) -> tuple[Matrix, ...]:
    """Views with columns of mean 0 and standard deviation 1 (divisor n - 1), or constant 0."""
    matrices, _ = scaled_views(data, fit_scalings(data, "zscore"), unit_norm=False)
    for X in matrices:
        X *= np.sqrt(1 - 1 / len(data))
    return matrices


def dense_views(data: MultiViewData, scaling: str) -> list[Array]:
    """Dense copies of the views, with columns standardized ("features") or as they are ("none")."""
    scalings = fit_scalings(data, "zscore" if scaling == "features" else "none")
    for p in range(len(data.views)):
        # Raises if a view is constant: nothing can be learned from it.
        column_ranges(data, p)
    copies = [scaled_copy(data, p, each, data.dtype) for p, each in enumerate(scalings)]
    with_unit_norms(data, scalings, [squared_norm(X) for X in copies])
    return copies


def row_standardized_views(data: MultiViewData) -> tuple[Array, ...]:
    """Dense views with rows of mean 0 and standard deviation 1 (divisor d - 1), or constant 0."""
    few = min(data.n_features_per_view) <= 2
    columns = fit_scalings(data, "zscore" if few else "none")
    matrices: list[Array] = []
    for p, (view, scaling) in enumerate(zip(data.views, columns, strict=True)):
        n, d = view.shape
        out = np.empty((n, d), dtype=data.dtype)
        for block in data.blocks():
            rows = dense_rows(view, block.rows).astype(np.float64)
            if d <= 2:
                # At most a sign of a row would be left.
                out[block.rows] = scaling.apply(rows, rows) * np.sqrt(1 - 1 / n)
                continue
            mean = rows.mean(axis=1, keepdims=True)
            rows -= mean
            deviation = np.sqrt(np.einsum("ij,ij->i", rows, rows)[:, None] / (d - 1))
            if not np.isfinite(deviation).all():
                raise ValueError(data.problem("overflow", p))
            deviation[deviation <= CONSTANT_COLUMN * np.abs(mean)] = np.inf
            out[block.rows] = rows / deviation
        matrices.append(out)
    # Raises if nothing but zeros is left of a view.
    with_unit_norms(data, columns, [squared_norm(X) for X in matrices])
    return tuple(matrices)


def min_max_scaled_views(data: MultiViewData) -> tuple[Matrix, ...]:
    """Views with columns that range from 0 to 1, or constant 0; sparse ones are not shifted."""
    matrices: list[Matrix] = []
    for p, view in enumerate(data.views):
        low, spread = column_ranges(data, p)
        if sparse.issparse(view):
            X = view.astype(data.dtype)
            X.data /= spread[X.indices].astype(data.dtype)
            matrices.append(X)
        else:
            scaling = ViewScaling(center=low, deviation=spread)
            matrices.append(scaled_copy(data, p, scaling, data.dtype))
    return tuple(matrices)


def column_ranges(data: MultiViewData, p: int) -> tuple[Array, Array]:
    """Minimum of columns, and range, infinite if constant; raises if no column varies."""
    view = data.views[p]
    low, high = (
        np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64).ravel()
        for part in (view.min(axis=0), view.max(axis=0))
    )
    spread = high - low
    constant = spread <= CONSTANT_COLUMN * np.maximum(np.abs(low), np.abs(high))
    spread[constant] = np.inf
    if constant.all():
        raise ValueError(data.problem("zero", p))
    return low, spread
