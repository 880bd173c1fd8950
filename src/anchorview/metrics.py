"""Scores of a clustering against known classes, the five that multi-view papers report."""

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

__all__ = [
    "adjusted_rand",
    "clustering_accuracy",
    "clustering_scores",
    "normalized_mutual_info",
    "pairwise_f1",
    "purity",
]


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of samples in the right class under the best one-to-one match of clusters to classes.

    With more clusters than classes, the clusters left without a class count as wrong, and the
    other way round.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters; numbers or strings, whose values carry no meaning.

    Returns
    -------
    float
        Between 0 and 1; 1 when the partitions are identical.

    Examples
    --------
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    0.75
    """
    table = contingency_matrix(*_check_labels(y_true, y_pred))
    matched = table[linear_sum_assignment(table, maximize=True)]
    return int(matched.sum()) / int(table.sum())


def normalized_mutual_info(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    average: Literal["arithmetic", "max", "min", "geometric"] = "arithmetic",
) -> float:
    """Mutual information of classes and clusters over the average of their entropies.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters; numbers or strings, whose values carry no meaning.
    average : {"arithmetic", "max", "min", "geometric"}, default="arithmetic"
        The average of the two entropies. Papers differ in it, so compare like with like.

    Returns
    -------
    float
        Between 0 and 1; 1 when the partitions are identical.

    Examples
    --------
    >>> round(normalized_mutual_info([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.8
    >>> round(normalized_mutual_info([0, 0, 1, 1], [0, 0, 1, 2], average="max"), 3)
    0.667
    """
    true, predicted = _check_labels(y_true, y_pred)
    return float(normalized_mutual_info_score(true, predicted, average_method=average))


def pairwise_f1(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """F1 score of "these two samples belong together" over all pairs of samples.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters; numbers or strings, whose values carry no meaning.

    Returns
    -------
    float
        Between 0 and 1; 1 when the partitions are identical. That includes the case in which no
        pair is together in either: all samples are alone in both, so the partitions are identical.

    Examples
    --------
    >>> pairwise_f1([0, 0, 1, 1], [0, 0, 0, 1])
    0.4
    """
    table = _sparse_table(y_true, y_pred)
    together_in_both = _count_pairs(table.data)
    together_in_either = _count_pairs(table.sum(axis=0)) + _count_pairs(table.sum(axis=1))
    return 2 * together_in_both / together_in_either if together_in_either else 1.0


def purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of samples that are in the most frequent class of their cluster.

    Many small clusters are pure for free: compare only results with equally many clusters.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters; numbers or strings, whose values carry no meaning.

    Returns
    -------
    float
        Between 0 and 1; 1 when no cluster mixes classes.

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    table = _sparse_table(y_true, y_pred)
    return int(table.max(axis=0).sum()) / int(table.sum())


def adjusted_rand(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Rand index adjusted for chance.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters; numbers or strings, whose values carry no meaning.

    Returns
    -------
    float
        Between -0.5 and 1; 1 when the partitions are identical, about 0 for a random one.

    Examples
    --------
    >>> round(adjusted_rand([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.571
    """
    return float(adjusted_rand_score(*_check_labels(y_true, y_pred)))


def clustering_scores(y_true: ArrayLike, y_pred: ArrayLike) -> dict[str, float]:
    """All five scores by their usual short names.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters; numbers or strings, whose values carry no meaning.

    Returns
    -------
    dict of str to float
        "ACC", "NMI" (arithmetic average), "F1" (over pairs), "Purity" and "ARI", in this order.

    Examples
    --------
    >>> clustering_scores(["a", "a", "b"], [1, 1, 0])
    {'ACC': 1.0, 'NMI': 1.0, 'F1': 1.0, 'Purity': 1.0, 'ARI': 1.0}
    """
    return {
        "ACC": clustering_accuracy(y_true, y_pred),
        "NMI": normalized_mutual_info(y_true, y_pred),
        "F1": pairwise_f1(y_true, y_pred),
        "Purity": purity(y_true, y_pred),
        "ARI": adjusted_rand(y_true, y_pred),
    }


def _check_labels(
    y_true: ArrayLike, y_pred: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Check both label vectors and number their values from 0."""
    true, predicted = _encode(y_true, "y_true"), _encode(y_pred, "y_pred")
    if len(true) != len(predicted):
        raise ValueError(
            f"y_true and y_pred must have the same length; got {len(true)} and {len(predicted)}."
        )
    return true, predicted


def _encode(labels: ArrayLike, name: str) -> NDArray[np.int64]:
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, one label per sample; its shape is {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{name} is empty; at least one sample is needed.")
    codes, _ = pd.factorize(array)
    if codes.min() < 0:
        raise ValueError(f"{name} has missing labels (NaN or None); score the labelled samples.")
    return codes.astype(np.int64, copy=False)


def _sparse_table(y_true: ArrayLike, y_pred: ArrayLike) -> Any:
    """Contingency table, classes x clusters, sparse: as large as its non-zero cells."""
    return contingency_matrix(*_check_labels(y_true, y_pred), sparse=True)


def _count_pairs(sizes: ArrayLike) -> int:
    """Count the pairs of samples within groups of these sizes."""
    sizes = np.asarray(sizes, dtype=np.int64)
    return int((sizes * (sizes - 1) // 2).sum())
