"""Distances of samples to the centers of clusters, computed directly."""

import numpy as np

from anchorview._utils.linalg import unit_rows


def distances_in_views(labels, views):
    """Distances to the means of the clusters in standardized views."""
    squares = []
    for view in map(np.asarray, views.values()):
        z = (view - view.mean(axis=0)) / view.std(axis=0)
        centers = np.stack([z[labels == c].mean(axis=0) for c in np.unique(labels)])
        squares.append(np.square(z[:, None] - centers).mean(axis=2))
    return np.sqrt(np.mean(squares, axis=0))


def distances_in_embedding(model):
    """Distances of rows of the embedding to the centroids, or else the means of the clusters."""
    points, labels = unit_rows(model.embedding_), model.labels_
    centers = np.stack([points[labels == c].mean(axis=0) for c in np.unique(labels)])
    centers = model._assignment.centroids if hasattr(model, "_assignment") else centers
    return np.linalg.norm(points[:, None] - centers, axis=2)
