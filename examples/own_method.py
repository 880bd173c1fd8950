"""A clustering method to copy: late fusion of the partitions of the views.

anchorview experiment check own_method:LateFusion
anchorview experiment run compare --method own_method:LateFusion --method concat-kmeans
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler


class LateFusion:
    """K-means in each view several times; then K-means of the cluster indicators."""

    def __init__(self, n_clusters=8, random_state=None, n_partitions=5):
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.n_partitions = n_partitions

    def fit_predict(self, views):
        """Return the cluster label of each sample; `views` is a dict of arrays."""
        rng = np.random.RandomState(self.random_state)
        indicators = []
        for view in views.values():
            points = StandardScaler(with_mean=False).fit_transform(view)
            for _ in range(self.n_partitions):
                kmeans = KMeans(self.n_clusters, n_init=1, random_state=rng.randint(2**31))
                indicators.append(np.eye(self.n_clusters)[kmeans.fit_predict(points)])
        consensus = KMeans(self.n_clusters, n_init=10, random_state=rng.randint(2**31))
        return consensus.fit_predict(np.hstack(indicators))
