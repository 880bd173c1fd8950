"""Sizes, confidence, nearest clusters and separation of clusters, from sums over samples."""

from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.inspection.cluster_geometry import Located


class DistanceSums(NamedTuple):
    """Sums over the samples of each cluster, whose distances to all centers are known."""

    sizes: Array
    confidence: Array
    squares: Array
    """Of squared distances to each center."""
    separation: Array
    """Of (b - a) / max(a, b) with the distances a to the own center and b to each."""

    @classmethod
    def of(cls, block: Located) -> "DistanceSums":
        """Sums over the samples of a block."""
        k = block.squares.shape[1]
        members = np.equal.outer(np.arange(k), block.labels).astype(np.float64)
        distances = np.sqrt(block.squares)
        own = np.take_along_axis(distances, block.labels[:, None], axis=1)
        larger = np.maximum(distances, own)
        # Empty clusters are infinitely far: nothing is to be learned about them.
        known = np.isfinite(distances) & (larger > 0)
        separation = np.divide(distances - own, larger, out=np.zeros_like(distances), where=known)
        finite = np.isfinite(block.squares)
        squares = members @ np.where(finite, block.squares, 0.0)
        squares[:, ~finite.all(axis=0)] = np.inf
        return cls(
            np.bincount(block.labels, minlength=k),
            np.bincount(block.labels, block.confidence, k),
            squares,
            members @ separation,
        )

    @classmethod
    def of_all(cls, blocks: Iterable[Located]) -> "DistanceSums":
        """Sums over the samples of all blocks."""
        return reduce(cls.merged, map(cls.of, blocks))

    def merged(self, other: "DistanceSums") -> "DistanceSums":
        """Sums over the samples of both."""
        return DistanceSums(*(a + b for a, b in zip(self, other, strict=True)))

    def table(self, clusters: "pd.Index[Any]") -> pd.DataFrame:
        """The first columns of :func:`~anchorview.inspection.cluster_summary`."""
        sizes = self.sizes
        k, filled = len(clusters), sizes > 0
        others = self.squares.copy()
        np.fill_diagonal(others, np.inf)
        others[:, ~filled] = np.inf
        nearest = others.argmin(axis=1)
        pairs = filled & (filled.sum() > 1)
        nothing = np.full(k, np.nan)
        separation = self.separation[np.arange(k), nearest]
        nearest_clusters: Any = clusters[nearest]
        if not pairs.all():
            nearest_clusters = nearest_clusters.to_numpy(dtype=object, copy=True)
            nearest_clusters[~pairs] = None
        columns = {
            "size": sizes,
            "share": sizes / sizes.sum(),
            "confidence": np.divide(self.confidence, sizes, out=nothing.copy(), where=filled),
            "nearest_cluster": nearest_clusters,
            "separation": np.divide(separation, sizes, out=nothing, where=pairs),
        }
        return pd.DataFrame(columns).set_index(clusters.rename("cluster"))
