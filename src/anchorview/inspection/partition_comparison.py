"""Comparison of two clusterings of the same samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from anchorview.inspection.labeled_parts import label_values
from anchorview.metrics import clustering_scores
from anchorview.views.alignment import matched_rows


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
