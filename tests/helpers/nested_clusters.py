"""Data with clusters within clusters."""

import numpy as np


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
