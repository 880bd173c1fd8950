"""Anchors that are samples or K-means centers of samples: how many, and the nearest ones."""

from typing import ClassVar

import numpy as np

from anchorview._utils.typing import Array
from anchorview.compared._base import Baseline
from anchorview.core.assign import fit_assignment
from anchorview.core.blockwise_kmeans import LocalRows
from anchorview.views.container import MultiViewData


class SampledAnchorsBaseline(Baseline):
    """Base class of LMVSC, MVSC and SFMC."""

    n_anchors: int | None

    _default_anchors: ClassVar[int]
    """Number of anchors if None is given and there are twice as many samples."""

    def _anchor_count(self, data: MultiViewData) -> int:
        if self.n_anchors is None:
            n = len(data)
            return min(n, max(self._min_anchors, min(self._default_anchors, n // 2)))
        return self.n_anchors

    @property
    def _min_anchors(self) -> int:
        return self.n_clusters


def kmeans_centers(X: Array, count: int, *, n_init: int, seed: int) -> Array:
    """Centers (count, d) of K-means on the rows of `X`."""
    clusters = fit_assignment(
        LocalRows(X), count, method="kmeans", normalize=False, n_init=n_init, seed=seed
    )
    return clusters.centroids


def nearest_anchors(X: Array, anchors: Array, count: int) -> tuple[Array, Array]:
    """The nearest anchors of each row, nearest first, and their squared distances."""
    squares = np.einsum("ij,ij->i", anchors, anchors) - 2 * (X @ anchors.T)
    squares += np.einsum("ij,ij->i", X, X)[:, None]
    np.maximum(squares, 0, out=squares)
    nearest = np.argpartition(squares, count - 1, axis=1)[:, :count]
    distances = np.take_along_axis(squares, nearest, axis=1)
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(nearest, order, axis=1), np.take_along_axis(distances, order, axis=1)
