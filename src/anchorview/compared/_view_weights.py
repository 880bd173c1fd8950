"""Weights of views for methods that do not weight them."""

import numpy as np

from anchorview._utils.typing import Array
from anchorview.views.container import MultiViewData


def equal_weights(data: MultiViewData) -> Array:
    """Equal weights of the views that sum to 1."""
    return np.full(len(data.views), 1 / len(data.views))
