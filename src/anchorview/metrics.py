"""Scores of clusterings that scikit-learn does not have: against known classes, and without."""

from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.random import sample_without_replacement

from anchorview._utils.docstring_fragments import docstring_filler
from anchorview._utils.linalg import unit_rows
from anchorview._utils.typing import Array
from anchorview.views.container import MultiViewData, ViewsLike

__all__ = [
    "clustering_accuracy",
    "clustering_scores",
    "embedding_silhouette",
    "pairwise_f1",
    "purity",
    "stability",
]

_of_classes_and_clusters = docstring_filler(
    {
        "parameters": """\
Parameters
----------
y_true, y_pred : array-like of shape (n_samples,)
    True classes and cluster labels, as numbers or strings; only equality matters.
sample_weight : array-like of shape (n_samples,), default=None
    How often each sample counts.

Returns
-------"""
    }
)


@_of_classes_and_clusters
def clustering_accuracy(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Fraction of correct samples under the best one-to-one matching of clusters and classes.

    Clusters without a matching class, and classes without a matching cluster, count as wrong.

    %(parameters)s
    score : float
        Between 0 and 1; 1 when the partitions are identical.

    Examples
    --------
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    0.75
    """
    table = _contingency(y_true, y_pred, sample_weight).toarray()
    matched = table[linear_sum_assignment(table, maximize=True)]
    return float(matched.sum() / table.sum())


@_of_classes_and_clusters
def pairwise_f1(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """F1 score, over all pairs of samples, of predicting that two samples share a class.

    %(parameters)s
    score : float
        Between 0 and 1; 1 when the partitions are identical, even if no class or cluster has two
        samples.

    Examples
    --------
    >>> pairwise_f1([0, 0, 1, 1], [0, 0, 0, 1])
    0.4
    """
    _, only_cluster, only_class, both = _pairs(_contingency(y_true, y_pred, sample_weight))
    total = 2 * both + only_class + only_cluster
    return 2 * both / total if total else 1.0


@_of_classes_and_clusters
def purity(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Fraction of samples in the most frequent class of their cluster.

    Purity increases with the number of clusters, so only compare results with equally many.

    %(parameters)s
    score : float
        Between 0 and 1; 1 when each cluster contains a single class.

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    table = _contingency(y_true, y_pred, sample_weight)
    return float(table.max(axis=0).sum() / table.sum())


@_of_classes_and_clusters
def clustering_scores(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> dict[str, float]:
    """All five scores, by their usual abbreviations.

    %(parameters)s
    scores : dict of str to float
        "ACC", "NMI" (arithmetic average), "F1" (over pairs), "Purity" and "ARI", in this order.

    Examples
    --------
    >>> clustering_scores(["a", "a", "b"], [1, 1, 0])
    {'ACC': 1.0, 'NMI': 1.0, 'F1': 1.0, 'Purity': 1.0, 'ARI': 1.0}
    """
    table = _contingency(y_true, y_pred, sample_weight)
    none, only_cluster, only_class, both = _pairs(table)
    by_class, by_cluster = (float(entropy(table.sum(axis=axis))) for axis in (1, 0))
    shared = np.clip(by_class + by_cluster - float(entropy(table.data)), 0, None)
    excess = 2 * (both * none - only_class * only_cluster)
    maximum = (both + only_class) * (only_class + none)
    maximum += (both + only_cluster) * (only_cluster + none)
    given = {"sample_weight": sample_weight}
    return {
        "ACC": clustering_accuracy(y_true, y_pred, **given),
        "NMI": float(2 * shared / (by_class + by_cluster)) if by_class + by_cluster else 1.0,
        "F1": pairwise_f1(y_true, y_pred, **given),
        "Purity": purity(y_true, y_pred, **given),
        "ARI": excess / maximum if only_class or only_cluster else 1.0,
    }


def embedding_silhouette(
    embedding: ArrayLike,
    labels: ArrayLike,
    *,
    sample_size: int = 5000,
    random_state: int | np.random.RandomState | None = 0,
) -> float:
    """Mean silhouette coefficient of the embedding's rows, scaled to length 1 as for K-means.

    It needs no classes, but measures how well the clusters are separated, not whether they are
    correct.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, n_anchors)
        For example, ``embedding_`` of a fitted model.
    labels : array-like of shape (n_samples,)
        Cluster labels, as numbers or strings; at least 2 clusters, and fewer than samples.
    sample_size : int, default=5000
        Maximum number of samples used, more than clusters. If there are more samples, a random
        subset that contains every cluster is used.
    random_state : int, RandomState instance or None, default=0
        Determines the random subset.

    Returns
    -------
    score : float
        Between -1 and 1; 1 if each cluster is a single point, about 0 if clusters overlap.

    Examples
    --------
    >>> embedding = [[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]]
    >>> round(embedding_silhouette(embedding, [0, 0, 1, 1]), 2)
    0.97
    """
    points = check_array(embedding, dtype=[np.float64, np.float32], input_name="embedding")
    codes = _encode(labels, "labels")
    check_consistent_length(points, codes)
    n_clusters, n_used = int(codes.max()) + 1, min(len(codes), sample_size)
    if not 2 <= n_clusters < n_used:
        raise ValueError(
            "The silhouette needs at least 2 clusters and more samples than clusters; got "
            f"n_clusters={n_clusters} and n_samples={n_used} (of {len(codes)})."
        )
    sample = _stratified_sample(codes, n_used, check_random_state(random_state))
    return float(silhouette_score(unit_rows(points[sample]), codes[sample]))


def stability(
    model: BaseEstimator,
    X: ViewsLike,
    *,
    n_seeds: int = 5,
    sample_size: int = 20_000,
    random_state: int | np.random.RandomState | None = 0,
) -> float:
    """Agreement between the clusterings of a model with different random seeds.

    A low value means that the result depends on chance; a high value does not mean that it is
    correct.

    Parameters
    ----------
    model : estimator
        Clusterer with a parameter `random_state`; it is cloned and not modified.
    X : views
        In any form that the model's `fit` accepts.
    n_seeds : int, default=5
        Number of seeds, at least 2.
    sample_size : int, default=20000
        Maximum number of samples to cluster. If there are more, a random subset is used, the same
        for all seeds.
    random_state : int, RandomState instance or None, default=0
        Determines the seeds and the random subset.

    Returns
    -------
    score : float
        Mean adjusted Rand index over all pairs of clusterings; 1 when all are identical.

    Examples
    --------
    >>> from anchorview import DALMC, make_multiview
    >>> views, _ = make_multiview(n_samples=200, n_clusters=3, random_state=0)
    >>> stability(DALMC(n_clusters=3), views, n_seeds=3)
    1.0
    """
    if n_seeds < 2:
        raise ValueError(f"n_seeds must be at least 2 to compare clusterings; got {n_seeds}.")
    if "random_state" not in model.get_params():
        raise ValueError(f"{type(model).__name__} has no parameter random_state to vary.")
    rng = check_random_state(random_state)
    # Without replacement: a repeated seed would agree with itself.
    seeds = sample_without_replacement(2**31 - 1, n_seeds, random_state=rng)
    data = MultiViewData(X)
    if len(data) > sample_size:
        X = data[np.sort(rng.permutation(len(data))[:sample_size])]
    runs = [clone(model).set_params(random_state=int(seed)).fit_predict(X) for seed in seeds]
    return float(np.mean([adjusted_rand_score(a, b) for a, b in combinations(runs, 2)]))


def _stratified_sample(codes: Array, size: int, rng: np.random.RandomState) -> Array:
    """Random positions with at least one of every cluster."""
    order = rng.permutation(len(codes))
    _, firsts = np.unique(codes[order], return_index=True)
    rest = np.delete(np.arange(len(codes)), firsts)[: size - len(firsts)]
    return np.sort(order[np.concatenate([firsts, rest])])


def _contingency(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None
) -> sparse.csr_array:
    """Weights of samples by class and cluster."""
    true, predicted = _encode(y_true, "y_true"), _encode(y_pred, "y_pred")
    check_consistent_length(true, predicted, sample_weight)
    weights = np.ones(len(true)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    return sparse.csr_array((weights, (true, predicted)))


def _pairs(table: sparse.csr_array) -> tuple[float, float, float, float]:
    """Numbers of ordered pairs that are together nowhere, in a cluster, in a class, in both."""
    n, squares = table.sum(), np.square(table.data).sum()
    in_class, in_cluster = (np.square(table.sum(axis=axis)).sum() for axis in (1, 0))
    none = n**2 - in_class - in_cluster + squares
    return float(none), float(in_cluster - squares), float(in_class - squares), float(squares - n)


def _encode(labels: ArrayLike, name: str) -> NDArray[np.int64]:
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, with one label per sample; got shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{name} is empty; at least one sample is needed.")
    codes, _ = pd.factorize(array)
    if codes.min() < 0:
        raise ValueError(f"{name} has missing values (NaN or None); select the labeled samples.")
    return codes.astype(np.int64, copy=False)
