"""Comparison of clusters with those of another clustering, and with other variables."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import linear_sum_assignment

from anchorview._utils.text import quoted
from anchorview._utils.typing import Array
from anchorview.inspection.labeled_parts import label_values
from anchorview.inspection.markers import adjusted_p_values
from anchorview.metrics import clustering_scores
from anchorview.views.alignment import matched_rows
from anchorview.views.table_columns import coded_column, pandas_frame


@dataclass(frozen=True, eq=False, repr=False)
class PartitionComparison:
    """Two clusterings `a` and `b` of the same samples, as :func:`compare_partitions` returns.

    Attributes
    ----------
    table : DataFrame
        Number of samples in each cluster of `a` (rows) and of `b` (columns). Columns are in the
        order of the clusters of `a` that they match, so that samples that stay are on the
        diagonal; clusters of `b` without a match come last.
    matching : Series
        Cluster of `b` that matches each cluster of `a`, one to one, so that as many samples as
        possible stay. Clusters of `a` are left out if no cluster of `b` that shares samples with
        them remains.
    scores : dict of str to float
        "ACC", the share of samples that stay; "NMI"; "F1" over pairs of samples; "ARI". They are 1
        if the clusterings are equal up to the names of clusters, and do not depend on the order.
    moved : DataFrame
        One row per sample whose cluster in `b` does not match that in `a`: `sample`, its id or
        position; `from`, its cluster in `a`; `expected`, the cluster of `b` that matches this one
        (None if there is none); `to`, its cluster in `b`.

    Examples
    --------
    >>> from anchorview.inspection import compare_partitions
    >>> compare_partitions([0, 0, 1, 1], [1, 1, 0, 1]).moved["to"].tolist()
    [1]
    """

    table: pd.DataFrame
    matching: "pd.Series[Any]"
    scores: dict[str, float]
    moved: pd.DataFrame

    def __repr__(self) -> str:
        n = int(self.table.to_numpy().sum())
        scores = ", ".join(f"{name} {score:.3f}" for name, score in self.scores.items())
        return (
            f"PartitionComparison({n} samples, {self.table.shape[0]} and {self.table.shape[1]} "
            f"clusters, {len(self.moved)} samples moved, {scores})"
        )


def compare_partitions(a: Any, b: Any) -> PartitionComparison:
    """Match the clusters of two clusterings of the same samples, and find who moved where.

    Parameters
    ----------
    a, b : fitted estimators, or array-like (n,) of labels
        If both have sample ids (a Series, or an estimator fitted on samples with ids), samples are
        matched by id, and must be the same in any order; otherwise by position.

    Returns
    -------
    comparison : PartitionComparison
        With the attributes `table`, `matching`, `scores` and `moved`.

    See Also
    --------
    anchorview.metrics.clustering_scores : Scores of a clustering against known classes.

    Examples
    --------
    >>> from anchorview.inspection import compare_partitions
    >>> before = ["x", "x", "x", "y", "y", "z"]
    >>> after = [1, 1, 0, 0, 0, 2]
    >>> comparison = compare_partitions(before, after)
    >>> comparison.table
    b  1  0  2
    a
    x  2  1  0
    y  0  2  0
    z  0  0  1
    >>> comparison.matching.to_dict()
    {'x': 1, 'y': 0, 'z': 2}
    >>> comparison.moved
       sample from  expected  to
    0       2    x         1   0
    """
    labels, ids = label_values(a)
    others, other_ids = label_values(b)
    both = (ids, len(labels), "clustering a"), (other_ids, len(others), "clustering b")
    rows_of_b = matched_rows(*both)
    matched_rows(*both[::-1])
    others = others[rows_of_b]
    if other_ids is not None and (ids is None or isinstance(ids, pd.RangeIndex)):
        ids = other_ids[rows_of_b]
    table = pd.crosstab(labels, others, rownames=["a"], colnames=["b"])
    rows, columns = linear_sum_assignment(table, maximize=True)
    shared = table.to_numpy()[rows, columns] > 0
    rows, columns = rows[shared], columns[shared]
    matching = pd.Series(table.columns[columns], table.index[rows], name="b")
    rest = np.setdiff1d(np.arange(table.shape[1]), columns)
    match = matching.astype(object).reindex(labels)
    expected = match.where(match.notna(), None).to_numpy()
    moved = np.flatnonzero(expected != others)
    scores = clustering_scores(labels, others)
    return PartitionComparison(
        table=table.iloc[:, np.append(columns, rest)],
        matching=matching,
        scores={name: scores[name] for name in ("ACC", "NMI", "F1", "ARI")},
        moved=pd.DataFrame(
            {
                "sample": moved if ids is None else ids[moved],
                "from": labels[moved],
                "expected": pd.Series(expected[moved]).infer_objects(),
                "to": others[moved],
            }
        ),
    )


COLUMNS = ["variable", "kind", "n", "test", "statistic", "effect_name", "effect", "p_value"]
COLUMNS += ["q_value"]

NUMBERS = {"integer", "floating", "mixed-integer-float", "decimal"}
DATES = {"datetime64", "datetime", "date"}
"""Names that :func:`pandas.api.types.infer_dtype` gives to numeric variables."""

TESTS = {
    "categorical": ("chi-square", "Cramer's V"),
    "numeric": ("Kruskal-Wallis", "epsilon squared"),
    "survival": ("log-rank", ""),
}
"""Names of test and effect for the kinds of variables."""

_Result = tuple[float, float, float]
"""Statistic, effect and p-value of a test."""

NOTHING = (np.nan, np.nan, np.nan)
"""Result where there is nothing to compare."""


def associate(
    model_or_labels: Any, table: Any, *, time: str | None = None, event: str | None = None
) -> pd.DataFrame:
    """Test whether variables of the samples differ between clusters.

    Meant for variables that the clusters were not computed from, such as the age of patients, the
    revenue of customers, or the date of a document: unlike p-values of markers, those of such
    variables are not optimistic. Samples with a missing value are left out of the tests of that
    variable.

    Parameters
    ----------
    model_or_labels : fitted estimator, or array-like (n,) of labels
        Labels, if they are a Series, and samples of an estimator that has `sample_ids_` are matched
        with the index of the table; all of them must be there. Otherwise rows are matched by
        position, and there must be as many.
    table : DataFrame of pandas, polars or pyarrow
        One row per sample and one column per variable. Numbers and dates, also as objects of
        Python such as ``Decimal``, are numeric variables, all else (strings, booleans, categories)
        is categorical. Convert numbers that are codes to categories:
        ``table["stage"].astype("category")``.
    time, event : str, default=None
        Columns with the time until the event or the end of the observation, and whether the event
        was observed (True or 1). They are tested together, as survival.

    Returns
    -------
    associations : DataFrame
        One row per variable, sorted by p-value. Columns:

        - `variable`: the column; for survival, that of the time.
        - `kind`: "categorical", "numeric" or "survival".
        - `n`: number of samples with a value.
        - `test`, `statistic`, `p_value`: chi-square test of independence; Kruskal-Wallis test; or
          log-rank test of all clusters.
        - `effect_name`, `effect`: from 0 to 1, Cramer's V for categorical and epsilon squared for
          numeric variables; NaN for survival.
        - `q_value`: p-value adjusted for all variables by Benjamini and Hochberg.

        Statistics are NaN if a variable has the same value in all samples, or is categorical with
        a different value in each sample, such as a name.

    See Also
    --------
    cluster_markers : Features that differ between clusters.
    compare_partitions : Compare clusters with those of another clustering.

    Examples
    --------
    >>> from anchorview.inspection import associate
    >>> labels = pd.Series([0, 0, 0, 1, 1, 1], index=list("abcdef"))
    >>> patients = pd.DataFrame(
    ...     {"age": [40, 45, 50, 60, 65, 70], "sex": ["f", "m", "f", "m", "f", "m"]},
    ...     index=list("fedcba"),
    ... )
    >>> associate(labels, patients)[["variable", "test", "effect", "p_value"]].round(3)
      variable            test  effect  p_value
    0      age  Kruskal-Wallis   0.771    0.050
    1      sex      chi-square   0.333    0.414
    """
    table = pandas_frame(table)
    labels, ids = label_values(model_or_labels)
    samples = (ids, len(labels), "the vector of labels")
    rows = matched_rows(samples, (table.index, len(table), "the table"))
    codes, clusters = pd.factorize(labels, sort=True)
    if len(clusters) < 2:
        raise ValueError("All samples are in one cluster, so there is nothing to compare.")
    matched = table.iloc[rows]
    names = matched.columns.astype(str)
    if not names.is_unique:
        raise ValueError(
            f"Several columns of the table are named {quoted(names[names.duplicated()][0])}. "
            "Rename them."
        )
    found = {}
    if time is not None or event is not None:
        found[str(time)] = _survival(codes, matched, time, event)
    others = [column for column in matched.columns if column not in (time, event)]
    found |= {str(column): _variable(codes, matched[column]) for column in others}
    if not found:
        raise ValueError("The table has no columns.")
    tests = []
    for variable, (kind, n, (statistic, effect, p_value)) in found.items():
        test, effect_name = TESTS[kind]
        effect_name = "" if np.isnan(effect) else effect_name
        tests.append((variable, kind, n, test, statistic, effect_name, effect, p_value))
    associations = pd.DataFrame(tests, columns=COLUMNS[:-1])
    associations["q_value"] = adjusted_p_values(associations["p_value"].to_numpy())
    return associations.sort_values("p_value", kind="stable", ignore_index=True)


def _variable(codes: Array, values: "pd.Series[Any]") -> tuple[str, int, _Result]:
    known = values.notna().to_numpy()
    codes, values = codes[known], values[known]
    kind = pd.api.types.infer_dtype(values)
    if kind in NUMBERS | DATES:
        numbers, _ = coded_column(values, "date" if kind in DATES else "number")
        return "numeric", len(values), _kruskal_wallis(codes, numbers)
    return "categorical", len(values), _chi_square(codes, pd.factorize(values.astype(str))[0])


def _chi_square(codes: Array, values: Array) -> _Result:
    counts = pd.crosstab(codes, values).to_numpy()
    if min(counts.shape) < 2 or counts.shape[1] == len(values):
        return NOTHING
    test = stats.chi2_contingency(counts, correction=False)
    effect = np.sqrt(test.statistic / (len(values) * (min(counts.shape) - 1)))
    return test.statistic, effect, test.pvalue


def _kruskal_wallis(codes: Array, values: Array) -> _Result:
    if not np.isfinite(values).all():
        raise ValueError("A numeric variable has infinite values. Replace them, or drop it.")
    groups = [values[codes == code] for code in np.unique(codes)]
    if len(groups) < 2 or np.ptp(values) == 0:
        return NOTHING
    test = stats.kruskal(*groups)
    return test.statistic, test.statistic / (len(values) - 1), test.pvalue


def _survival(
    codes: Array, table: pd.DataFrame, time: str | None, event: str | None
) -> tuple[str, int, _Result]:
    for option, column in (("time", time), ("event", event)):
        if column not in table:
            raise ValueError(
                f"{option}={column!r} is not a column of the table. Survival needs one of times "
                "and one of events."
            )
    known = table[[time, event]].notna().all(axis=1).to_numpy()
    codes, table = codes[known], table[known]
    if pd.api.types.infer_dtype(table[time]) not in NUMBERS:
        raise ValueError(f"The column {time!r} is not numeric. Give a column of times.")
    times, _ = coded_column(table[time], "number")
    wrong = np.flatnonzero(~(np.isfinite(times) & (times >= 0)))
    if len(wrong):
        sample = table.index[wrong[0]]
        raise ValueError(f"The column {time!r} has {times[wrong[0]]} for sample {quoted(sample)}.")
    if not table[event].isin([0, 1]).all():
        raise ValueError(f"The column {event!r} must be True or False (1 or 0) for each sample.")
    return "survival", len(times), log_rank(codes, times, table[event].to_numpy(dtype=bool))


def log_rank(codes: Array, times: Array, observed: Array) -> _Result:
    """Log-rank test of several groups.

    At each time of an event, with ``d`` events among ``m`` samples at risk, ``m_g`` of them in
    group g, the expected number of events is ``d m_g / m``, with the hypergeometric covariance
    ``d (m - d) / (m - 1) (diag(m_g / m) - (m_g / m) (m_g / m)')``.
    """
    groups, member = np.unique(codes, return_inverse=True)
    if len(groups) < 2 or not observed.any():
        return NOTHING
    points, place = np.unique(times, return_inverse=True)
    events, leaving = np.zeros((2, len(points), len(groups)))
    np.add.at(events, (place[observed], member[observed]), 1)
    np.add.at(leaving, (place, member), 1)
    at_risk = leaving[::-1].cumsum(axis=0)[::-1]
    total, d = at_risk.sum(axis=1), events.sum(axis=1)
    share = at_risk / total[:, None]
    difference = (events - d[:, None] * share).sum(axis=0)
    factor = d * (total - d) / np.maximum(total - 1, 1)
    covariance = np.diag(factor @ share) - (share * factor[:, None]).T @ share
    # The differences sum to 0, so that one group is left out.
    inner = covariance[1:, 1:]
    if np.linalg.matrix_rank(inner) < len(inner):
        return NOTHING
    statistic = float(difference[1:] @ np.linalg.solve(inner, difference[1:]))
    return statistic, np.nan, float(stats.chi2.sf(statistic, len(groups) - 1))
