"""Real data sets for the benchmarks, read from a folder of `.npz` files that is not part of this
repository: the environment variable ANCHORVIEW_DATA, or ../shared/data.
"""

import os
from pathlib import Path

import numpy as np

from anchorview import read_views

FOLDER = Path(os.environ.get("ANCHORVIEW_DATA", Path(__file__).parents[2] / "shared" / "data"))

TABLE = (
    *("100leaves", "3sources", "aloi10", "bbcsport", "cora", "fashion2k", "flower17"),
    *("handwritten", "htad", "mnist_usps", "msrcv1", "orl", "scene15"),
)
"""The 13 data sets on which the defaults were chosen."""


def load(name: str) -> tuple[dict, np.ndarray]:
    """Views and classes of a data set."""
    file = read_views(FOLDER / f"{name}.npz")
    return file.views, file.target


def many_images(n: int) -> list[np.ndarray]:
    """Features of images (784, 324, 236, 128): rows of fashion2k with noise, in single precision.

    The last view has random combinations of the pixels.
    """
    rng = np.random.default_rng(0)
    views = [view.astype(np.float32) for view in load("fashion2k")[0].values()]
    views.append(views[0] @ rng.standard_normal((views[0].shape[1], 128), dtype=np.float32))
    rows = rng.integers(len(views[0]), size=n)
    return [
        view[rows] + 0.5 * view.std(axis=0) * rng.standard_normal((n, view.shape[1]), np.float32)
        for view in views
    ]
