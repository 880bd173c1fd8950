"""Comparison of two clusterings of the same samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from anchorview.inspection.labeled_parts import label_values
from anchorview.metrics import clustering_accuracy, pairwise_f1
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
    codes_a, clusters_a = pd.factorize(labels, sort=True)
    codes_b, clusters_b = pd.factorize(others, sort=True)
    counts = contingency_matrix(codes_a, codes_b)
    match_of = np.full(len(clusters_a), -1)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    shared = counts[rows, columns] > 0
    match_of[rows[shared]] = columns[shared]

    matched = np.flatnonzero(match_of >= 0)
    order = np.concatenate(
        [match_of[matched], np.setdiff1d(np.arange(len(clusters_b)), match_of[matched])]
    )
    moved = np.flatnonzero(match_of[codes_a] != codes_b)
    # Position -1, of clusters without a match, is the last.
    names = np.array([*clusters_b, None], dtype=object)
    expected = pd.Series(names[match_of[codes_a[moved]]]).infer_objects()
    return PartitionComparison(
        table=pd.DataFrame(
            counts[:, order],
            index=pd.Index(clusters_a, name="a"),
            columns=pd.Index(clusters_b[order], name="b"),
        ),
        matching=pd.Series(
            clusters_b[match_of[matched]], index=pd.Index(clusters_a[matched], name="a"), name="b"
        ),
        scores={
            "ACC": clustering_accuracy(codes_a, codes_b),
            "NMI": float(normalized_mutual_info_score(codes_a, codes_b)),
            "F1": pairwise_f1(codes_a, codes_b),
            "ARI": float(adjusted_rand_score(codes_a, codes_b)),
        },
        moved=pd.DataFrame(
            {
                "sample": moved if ids is None else ids[moved],
                "from": labels[moved],
                "expected": expected,
                "to": others[moved],
            }
        ),
    )
