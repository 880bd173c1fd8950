"""Coordinates of samples for the map of a method without an embedding."""

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import StandardScaler

from anchorview._utils.typing import Array
from anchorview.views.container import MultiViewData

N_COMPONENTS = 20
"""Number of principal components of each view."""


def reduced_views(data: MultiViewData) -> Array:
    """Leading principal components of the standardized views, side by side.

    Each view has the same total variance. Samples that lack a view have its mean there.
    """
    blocks = []
    for position, view in enumerate(data.views):
        has = np.ones(len(data), bool) if data.available is None else data.available[:, position]
        rows = view[np.flatnonzero(has)]
        scaler = StandardScaler(with_mean=not sparse.issparse(rows))
        scaled = scaler.fit_transform(rows.astype(np.float32)) / np.sqrt(view.shape[1])
        # Sparse views are not centered, which would make them dense: their first component is
        # close to the mean.
        n_components = min(N_COMPONENTS, *scaled.shape)
        svd = TruncatedSVD(n_components, random_state=0)
        block = np.zeros((len(data), n_components), np.float32)
        block[has] = svd.fit_transform(np.nan_to_num(scaled) if _is_dense(scaled) else scaled)
        block[has] -= block[has].mean(axis=0)
        blocks.append(block)
    return np.hstack(blocks)


def _is_dense(matrix: object) -> bool:
    return not sparse.issparse(matrix)
