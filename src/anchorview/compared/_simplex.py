"""Projection on the simplex, all samples at once."""

import numpy as np

from anchorview._utils.typing import Array


def simplex_rows(Q: Array) -> Array:
    """Nearest point of ``{z >= 0, sum z = 1}`` to each row of `Q`.

    With the row's values ``u`` in descending order and ``c_j = u_1 + ... + u_j - 1``, the point is
    ``max(q - c_r / r, 0)`` for the last ``r`` with ``u_r > c_r / r``.
    """
    n, m = Q.shape
    # A shift of the row changes nothing but the digits that the 1 would lose beside large values.
    points = Q - Q.max(axis=1, keepdims=True)
    values = np.sort(points, axis=1)[:, ::-1]
    excess = np.cumsum(values, axis=1)
    excess -= 1
    excess /= np.arange(1, m + 1, dtype=Q.dtype)
    last = np.count_nonzero(values > excess, axis=1) - 1
    points -= excess[np.arange(n), last][:, None]
    return np.maximum(points, 0, out=points)
