"""Synthetic data and small helpers that several test modules share."""

import numpy as np
import pandas as pd

from anchorview import MultiViewData, make_multiview
from anchorview._utils.linalg import unit_rows


def clustered_views(n=150, k=3, widths=(12, 9, 7), *, separation=3.0, seed=0, **options):
    """Views (a dict) with known clusters, and their classes."""
    return make_multiview(
        n, n_clusters=k, n_features=widths, separation=separation, random_state=seed, **options
    )


def clustered_data(*args, **options):
    """The same as a container."""
    views, y = clustered_views(*args, **options)
    return MultiViewData(views), y


def with_ids(views, ids=None):
    """The views as frames of the samples s0, s1, ... or of those with these numbers."""
    n = len(next(iter(views.values())))
    names = [f"s{i}" for i in (range(n) if ids is None else ids)]
    return {name: pd.DataFrame(view, names) for name, view in views.items()}


def frames_and_classes(n, k, separation, seed):
    """List of views as frames with sample ids, and a series of the classes."""
    views, y = make_multiview(n, n_clusters=k, separation=separation, random_state=seed)
    frames = list(with_ids(views).values())
    return frames, pd.Series(y, frames[0].index)


def folder_contents(folder):
    """Bytes of all files of a folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def assert_same_embedding(embedding, expected, atol=1e-10):
    """Assert that embeddings are equal up to the signs of columns, which rounding decides."""
    embedding = np.asarray(embedding)
    signs = np.sign((embedding * expected).sum(axis=0))
    np.testing.assert_allclose(embedding * signs, expected, atol=atol)


def nested_views(n_groups=3, n_parts=3, n_samples=180, n_views=3):
    """Views whose samples form groups, which consist of parts; and the part of each sample."""
    random = np.random.RandomState(0)
    y = np.arange(n_samples) % (n_groups * n_parts)
    views = {}
    for view in range(n_views):
        groups = 5 * random.standard_normal((n_groups, 40))
        parts = 0.7 * random.standard_normal((n_groups * n_parts, 40))
        noise = random.standard_normal((n_samples, 40))
        views[f"view_{view}"] = groups[y // n_parts] + parts[y] + noise
    return views, y


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
