"""Projections on, and quadratic programs over, simplexes: many at a time."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array

STEPS_PER_CHECK = 25
"""Number of steps after which rows that are done are left out."""


def project_rows_to_simplex(Q: Array) -> Array:
    """Nearest point of ``{z >= 0, sum z = 1}`` to each row of `Q`.

    With the values ``u`` of a row in descending order and ``c_j = u_1 + ... + u_j - 1``, the point
    is ``max(q - c_r / r, 0)`` for the last ``r`` with ``u_r > c_r / r``.
    """
    n, m = Q.shape
    # A shift does not change the projection; beside large values, the 1 would lose its digits.
    points = Q - Q.max(axis=1, keepdims=True)
    values = np.sort(points, axis=1)[:, ::-1]
    excess = np.cumsum(values, axis=1)
    excess -= 1
    excess /= np.arange(1, m + 1, dtype=Q.dtype)
    last = np.count_nonzero(values > excess, axis=1) - 1
    points -= excess[np.arange(n), last][:, None]
    return np.maximum(points, 0, out=points)


def project_groups_to_simplex(values: Array, groups: Array, n_groups: int) -> Array:
    """Project the values of each group to ``{z >= 0, sum z = 1}``; groups may be empty.

    It is :func:`project_rows_to_simplex` for rows of different lengths: `groups` has the row of
    each value.
    """
    order = np.lexsort((-values, groups))
    owners = groups[order]
    sizes = np.bincount(groups, minlength=n_groups)
    starts = np.cumsum(sizes) - sizes
    filled = np.flatnonzero(sizes)
    # A shift does not change the projection; beside large values, the 1 would lose its digits.
    largest = np.zeros(n_groups)
    largest[filled] = values[order[starts[filled]]]
    points = values - largest[groups]
    ranked = points[order]
    sums = np.cumsum(ranked)
    before = np.concatenate([[0.0], sums])[starts]
    excess = (sums - before[owners] - 1) / (np.arange(len(ranked)) - starts[owners] + 1)
    used = np.bincount(owners, weights=ranked > excess, minlength=n_groups).astype(int)
    threshold = np.zeros(n_groups)
    threshold[filled] = excess[(starts + np.maximum(used, 1) - 1)[filled]]
    return np.maximum(points - threshold[groups], 0)


def minimize_on_simplex(Q: Array, C: Array, *, max_iter: int, tol: float) -> Array:
    """Rows ``z_i`` of the simplex that minimize ``z'Q z - 2 c_i'z``, for positive definite `Q`.

    Accelerated projected gradients on all rows at once; a row whose last step points against its
    gradient loses its momentum. For a row with gradient g, ``g'z - min g`` bounds what its
    objective is above the minimum. A row is done when this gap is below `tol` times the mean of the
    largest ``|c_ij|``; a ConvergenceWarning says if `max_iter` comes first.
    """
    n, m = C.shape
    step = 1 / float(np.linalg.eigvalsh(Q)[-1])
    scale = float(np.abs(C).max(axis=1).mean()) + float(np.finfo(np.float64).tiny)
    solution = np.empty((n, m))
    left, c = np.arange(n), C
    Z = ahead = np.full((n, m), 1 / m)
    age = np.zeros(n)
    for done in range(1, max_iter + 1):
        before, Z = Z, project_rows_to_simplex(ahead - step * (ahead @ Q - c))
        change = Z - before
        backward = np.einsum("ij,ij->i", ahead - Z, change) > 0
        age = np.where(backward, 0, age + 1)
        change *= (age / (age + 3))[:, None]
        ahead = Z + change
        if done % STEPS_PER_CHECK == 0 or done == max_iter:
            gradient = 2 * (Z @ Q - c)
            gaps = np.einsum("ij,ij->i", gradient, Z) - gradient.min(axis=1)
            solution[left] = Z
            open_rows = gaps > tol * scale
            left, c, Z, ahead, age = (part[open_rows] for part in (left, c, Z, ahead, age))
            report_progress("quadratic programs", n - len(left), n)
            if not len(left):
                return solution
    warnings.warn(
        f"{len(left)} of {n} quadratic programs did not converge in max_iter={max_iter} steps: the "
        f"objective may be {gaps.max():.1e} above the minimum. Use a larger max_iter.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return solution
