"""Projections on, and quadratic programs over, simplexes: many at a time."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.compared._anchor_graph import project_rows_to_simplex

REPORTED_STEPS = 50
"""Number of steps after which the optimality gap is checked and progress reported."""


def project_groups_to_simplex(values: Array, groups: Array, n_groups: int) -> Array:
    """Project the values of each group to ``{z >= 0, sum z = 1}``; groups may be empty.

    It is :func:`project_rows_to_simplex` for rows of different lengths: `groups` has the row of
    each value.
    """
    largest = np.full(n_groups, -np.inf)
    np.maximum.at(largest, groups, values)
    points = values - largest[groups]
    order = np.lexsort((-points, groups))
    ranked, owners = points[order], groups[order]
    sizes = np.bincount(groups, minlength=n_groups)
    starts = np.cumsum(sizes) - sizes
    sums = np.cumsum(ranked)
    before = np.concatenate([[0.0], sums])[starts]
    excess = (sums - before[owners] - 1) / (np.arange(len(ranked)) - starts[owners] + 1)
    used = np.bincount(owners, weights=ranked > excess, minlength=n_groups).astype(int)
    filled = np.flatnonzero(sizes)
    threshold = np.zeros(n_groups)
    threshold[filled] = excess[(starts + np.maximum(used, 1) - 1)[filled]]
    return np.maximum(points - threshold[groups], 0)


def minimize_on_simplex(Q: Array, C: Array, *, max_iter: int, tol: float) -> Array:
    """Rows ``z_i`` of the simplex that minimize ``z'Q z - 2 c_i'z``, for positive definite `Q`.

    Accelerated projected gradients on all rows at once; a row whose last step points against its
    gradient loses its momentum. For a row with gradient g, ``g'z - min g`` bounds what its
    objective is above the minimum. Iterations stop when the mean of this gap is below `tol` times
    the mean of the largest ``|c_ij|``; a ConvergenceWarning says if `max_iter` comes first.
    """
    n, m = C.shape
    step = 1 / float(np.linalg.eigvalsh(Q)[-1])
    scale = float(np.abs(C).max(axis=1).mean()) + float(np.finfo(np.float64).tiny)
    Z = np.full((n, m), 1 / m)
    ahead, gap = Z, np.inf
    age = np.zeros(n)
    for done in range(1, max_iter + 1):
        before, Z = Z, project_rows_to_simplex(ahead - step * (ahead @ Q - C))
        backward = np.einsum("ij,ij->i", ahead - Z, Z - before) > 0
        age = np.where(backward, 0, age + 1)
        ahead = Z + (age / (age + 3))[:, None] * (Z - before)
        if done % REPORTED_STEPS == 0 or done == max_iter:
            gradient = 2 * (Z @ Q - C)
            gap = float(np.mean(np.einsum("ij,ij->i", gradient, Z) - gradient.min(axis=1)))
            report_progress("quadratic programs", done, max_iter)
            if gap <= tol * scale:
                return Z
    warnings.warn(
        f"The quadratic programs did not converge in max_iter={max_iter} steps: their objectives "
        f"may be {gap:.1e} above the minimum on average. Use a larger max_iter.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return Z
