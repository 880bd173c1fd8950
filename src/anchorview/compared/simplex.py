"""Projection on the simplex, all samples at once."""

import numpy as np

from anchorview._typing import Array


def simplex_rows(Q: Array) -> Array:
    """Nearest point of ``{z >= 0, sum z = 1}`` to each row of `Q`.

    With the row's values ``u`` in descending order and ``c_j = u_1 + ... + u_j - 1``, the point is
    ``max(q - c_r / r, 0)`` for the last ``r`` with ``u_r > c_r / r``.
    """
    n, m = Q.shape
    values = np.sort(Q, axis=1)[:, ::-1]
    excess = np.cumsum(values, axis=1)
    excess -= 1
    counts = np.arange(1, m + 1, dtype=Q.dtype)
    excess /= counts
    last = np.count_nonzero(values > excess, axis=1) - 1
    return np.maximum(Q - excess[np.arange(n), last][:, None], 0)
