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
