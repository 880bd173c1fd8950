"""Groups of methods whose mean ranks over data sets do not differ by the test of Nemenyi."""

from collections.abc import Mapping

import numpy as np
from scipy import stats

from anchorview.experiments.significance import LEVEL


def critical_difference(n_columns: int, n_data_sets: int) -> float:
    """Difference of mean ranks from which two columns differ by the test of Nemenyi.

    The family-wise level over all pairs of columns is :data:`LEVEL`.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    quantile = stats.studentized_range.ppf(1 - LEVEL, n_columns, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_columns * (n_columns + 1) / (6 * n_data_sets)))


def similar_groups(ranks: Mapping[str, float], difference: float) -> list[list[str]]:
    """Return the largest groups of columns whose mean ranks differ by less than a difference.

    Groups and their columns are in the order of ranks; columns that differ from all others are in
    none of them.

    Examples
    --------
    >>> similar_groups({"a": 1.0, "b": 2.0, "c": 2.5, "d": 4.0}, 1.6)
    [['a', 'b', 'c'], ['c', 'd']]
    """
    names = sorted(ranks, key=lambda name: ranks[name])
    groups: list[list[str]] = []
    for first in range(len(names)):
        group = [n for n in names[first:] if ranks[n] - ranks[names[first]] < difference]
        # Else it is a part of the group before.
        if len(group) > 1 and (not groups or group[-1] != groups[-1][-1]):
            groups.append(group)
    return groups
