"""How far the samples of each cluster lie from its center."""

from dataclasses import dataclass

import numpy as np

from anchorview._utils.typing import Array


@dataclass(frozen=True)
class ClusterSpread:
    """Numbers of samples and sums of their squared distances to their own centers."""

    sizes: Array
    """Number of samples of each cluster, as float64."""
    squares: Array
    """Sum over the samples of each cluster."""

    @classmethod
    def of(cls, labels: Array, squared_distances: Array, n_clusters: int) -> "ClusterSpread":
        """Spread of samples with these labels and squared distances to their centers."""
        return cls(
            np.bincount(labels, minlength=n_clusters).astype(np.float64),
            np.bincount(labels, squared_distances, minlength=n_clusters),
        )

    def merged(self, other: "ClusterSpread") -> "ClusterSpread":
        """Spread of the samples of both."""
        return ClusterSpread(self.sizes + other.sizes, self.squares + other.squares)

    @property
    def mean_square(self) -> float:
        """Mean squared distance of all samples to their centers."""
        return float(self.squares.sum() / self.sizes.sum())

    @property
    def mean_square_per_cluster(self) -> Array:
        """Mean squared distance by cluster; that of all samples for an empty cluster."""
        everywhere = np.full_like(self.squares, self.mean_square)
        return np.divide(self.squares, self.sizes, out=everywhere, where=self.sizes > 0)
