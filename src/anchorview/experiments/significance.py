"""Significance of differences between methods, on one data set and over all data sets."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Name = TypeVar("Name", bound=Hashable)

LEVEL = 0.05
"""Significance level of corrected p-values."""

ENOUGH_DATA_SETS = 5
"""Minimum number of data sets for tests over data sets."""


def compared_with_best(runs: Mapping[Name, Sequence[float]]) -> tuple[set[Name], int | None]:
    """Columns that do not differ significantly from the best, and how many runs that takes.

    Each column is compared with that of the highest mean by a two-sided Mann-Whitney U test on the
    scores of the runs, with Holm's correction of the p-values. The best column itself is not
    included, nor are columns that the test could not tell from it whatever their scores, because
    there are too few runs. If there are such columns, the second value is the number of runs per
    column from which the test can reject, else None. Columns with a single run among others with
    more, which are not repeated by design, do not count.
    """
    runs = {name: scores for name, scores in runs.items() if len(scores)}
    if len(runs) < 2:
        return set(), None
    best = max(runs, key=lambda name: np.mean(runs[name]))
    others = [name for name in runs if name != best and min(len(runs[name]), len(runs[best])) > 1]
    p_values = holm([_mann_whitney(runs[best], runs[name]) for name in others])
    smallest = holm([_smallest_mann_whitney(len(runs[best]), len(runs[name])) for name in others])
    tested = zip(others, p_values, smallest, strict=True)
    alike = {name for name, p, least in tested if least < LEVEL <= p}
    if (smallest < LEVEL).all() and (others or max(map(len, runs.values())) > 1):
        return alike, None
    n_comparisons = len(others) or len(runs) - 1
    enough = (n for n in count(2) if n_comparisons * _smallest_mann_whitney(n, n) < LEVEL)
    return alike, next(enough)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Correct p-values for multiple testing by Holm's step-down method."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    corrected = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    result = np.empty_like(p)
    result[order] = np.minimum(corrected, 1)
    return result


@dataclass(frozen=True)
class Overall:
    """Comparison of columns over data sets."""

    ranks: Mapping[str, float]
    """Mean rank of each column; 1 is best."""
    friedman: float | None
    """p-value of the Friedman test; None if there are too few data sets or columns."""
    wilcoxon: Mapping[str, float]
    """p-values of Wilcoxon signed-rank tests of the reference against each other column, with
    Holm's correction; empty if there are too few data sets."""
    smallest_wilcoxon: float = 1.0
    """Smallest possible p-value with that many data sets and columns, reached if the reference is
    better on all data sets or worse on all; 1 if there are no tests."""
    critical_difference: float | None = None
    """Difference of mean ranks from which two columns differ by the test of Nemenyi; None if there
    are too few data sets."""

    def similar_groups(self) -> list[list[str]]:
        """Return the largest groups of columns that do not differ by the test of Nemenyi.

        Groups and their columns are in the order of ranks; columns that differ from all others are
        in none of them.
        """
        names = sorted(self.ranks, key=lambda name: self.ranks[name])
        groups: list[list[str]] = []
        for place, first in enumerate(names):
            limit = self.ranks[first] + (self.critical_difference or 0.0)
            group = [name for name in names[place:] if self.ranks[name] < limit]
            # Else it is a part of the group before.
            if len(group) > 1 and (not groups or group[-1] != groups[-1][-1]):
                groups.append(group)
        return groups


def critical_difference(n_columns: int, n_data_sets: int) -> float:
    """Difference of mean ranks from which two columns differ by the test of Nemenyi.

    The family-wise level over all pairs of columns is :data:`LEVEL`.
    """
    quantile = stats.studentized_range.ppf(1 - LEVEL, n_columns, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_columns * (n_columns + 1) / (6 * n_data_sets)))


def overall(scores: pd.DataFrame, reference: str) -> Overall:
    """Compare columns over data sets, and test a reference column against all others.

    Scores have one row per data set and one column per method; higher is better. NaN, for a method
    that did not finish, ranks last.
    """
    ranks = scores.rank(axis="columns", ascending=False, na_option="bottom")
    n_columns, enough = len(scores.columns), len(scores) >= ENOUGH_DATA_SETS
    friedman = None
    if enough and n_columns > 2:
        # If all columns tie on all data sets, the statistic is 0 / 0.
        tied = (ranks.nunique(axis="columns") == 1).all()
        friedman = 1.0 if tied else float(stats.friedmanchisquare(*ranks.to_numpy().T).pvalue)
    # Differences of the reference from each column that shares enough data sets with it.
    differences = {}
    for name in scores.columns.drop(reference) if reference in scores else ():
        difference = (scores[reference] - scores[name]).dropna().to_numpy()
        if len(difference) >= ENOUGH_DATA_SETS:
            differences[name] = difference
    # For zeros only, the statistic is 0 / 0.
    p_values = [stats.wilcoxon(d).pvalue if d.any() else 1.0 for d in differences.values()]
    n_data_sets = max(map(len, differences.values()), default=0)
    # All differences of the same sign, corrected for the number of tests.
    smallest = min(1.0, len(differences) * 2.0 * 0.5**n_data_sets) if differences else 1.0
    return Overall(
        ranks={name: float(ranks[name].mean()) for name in scores.columns},
        friedman=friedman,
        wilcoxon=dict(zip(differences, holm(p_values).tolist(), strict=True)),
        smallest_wilcoxon=smallest,
        critical_difference=critical_difference(n_columns, len(scores)) if enough else None,
    )


def _mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """p-value of the two-sided test, also defined for constant runs."""
    if np.ptp(a) == 0 and np.ptp(b) == 0:
        return float(a[0] == b[0])
    return float(stats.mannwhitneyu(a, b, alternative="two-sided").pvalue)


@cache
def _smallest_mann_whitney(n: int, m: int) -> float:
    """p-value if every score of one column is above all of the other."""
    return float(stats.mannwhitneyu(range(n), range(n, n + m), alternative="two-sided").pvalue)
