"""One partition out of many, without labels to choose by: agreement, and what most agree on.

Many settings cluster the same samples. Settings that differ little err alike, so they form
families, and every family counts the same however many members it has. `partitions` is throughout
an array of int, a row a candidate and a column a sample, with labels from 0 to ``n_clusters - 1``,
not all of which need be used; what a label is called in one candidate means nothing in another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from anchorview._utils.typing import Array

DOUBTFUL_CONFIDENCE = 0.5
"""Samples with a lower `confidence_` are reported as doubtful: most partitions disagree."""

BLOCK = 2**18
"""Most entries of what is computed for a block of samples at a time."""


def agreement_matrix(partitions: Array, n_clusters: int) -> Array:
    """Adjusted Rand index of every two partitions.

    Parameters
    ----------
    partitions : array of int (n_partitions, n)
    n_clusters : int

    Returns
    -------
    array (n_partitions, n_partitions)
        Symmetric, with ones on the diagonal.
    """
    return grown_agreement(np.empty((0, 0)), partitions, n_clusters)


def grown_agreement(agreement: Array, partitions: Array, n_clusters: int) -> Array:
    """Agreement of all partitions, of which that of the first is known.

    Parameters
    ----------
    agreement : array (n_known, n_known)
    partitions : array of int (n_partitions, n)
    n_clusters : int

    Returns
    -------
    array (n_partitions, n_partitions)
    """
    known, total = len(agreement), len(partitions)
    grown = np.empty((total, total))
    grown[:known, :known] = agreement
    for c in range(known, total):
        row = agreement_with(partitions[c], partitions[: c + 1], n_clusters)
        grown[c, : c + 1] = grown[: c + 1, c] = row
    return grown


def mean_agreement(agreement: Array, n_runs: int) -> Array:
    """Mean agreement between the runs of any two candidates.

    Parameters
    ----------
    agreement : array (n_candidates * n_runs, n_candidates * n_runs)
        Of all runs, those of a candidate one after the other.
    n_runs : int

    Returns
    -------
    array (n_candidates, n_candidates)
        On the diagonal between different runs of a candidate; 1 if it has but one.
    """
    n_candidates = len(agreement) // n_runs
    means = agreement.reshape(n_candidates, n_runs, n_candidates, n_runs).mean(axis=(1, 3))
    own = np.diag(means)
    others = (own * n_runs**2 - n_runs) / max(1, n_runs * (n_runs - 1))
    np.fill_diagonal(means, others if n_runs > 1 else 1)
    return means


def agreement_with(labels: Array, partitions: Array, n_clusters: int) -> Array:
    """Adjusted Rand index of one partition with every candidate.

    Parameters
    ----------
    labels : array of int (n,)
    partitions : array of int (n_candidates, n)
    n_clusters : int

    Returns
    -------
    array (n_candidates,)
    """
    tables = _tables(labels, partitions, n_clusters)
    squares = np.einsum("cja,cja->c", tables, tables).astype(np.float64)
    first, second = ((tables.sum(axis=axis, dtype=np.float64) ** 2).sum(axis=1) for axis in (2, 1))
    return _adjusted_rand(squares, first, second, len(labels))


def family_weights(families: Sequence[str]) -> Array:
    """Weights of the candidates that give every family the same share and its members equal ones.

    Parameters
    ----------
    families : sequence of str (n_candidates,)
        The family of each candidate.

    Returns
    -------
    array (n_candidates,)
        They sum to 1.
    """
    _, membership, sizes = np.unique(families, return_inverse=True, return_counts=True)
    return 1 / (len(sizes) * sizes[membership])


def cross_agreement(agreement: Array, families: Sequence[str]) -> Array:
    """How well each candidate agrees with those that are unlike it.

    Parameters
    ----------
    agreement : array (n_candidates, n_candidates)
        From :func:`agreement_matrix`.
    families : sequence of str (n_candidates,)
        The family of each candidate.

    Returns
    -------
    array (n_candidates,)
        Mean over the other families of the mean agreement with their members. With one family
        only, the mean agreement with the other candidates; 1 for a candidate without others.
    """
    _, membership, sizes = np.unique(families, return_inverse=True, return_counts=True)
    if len(membership) == 1:
        return np.ones(1)
    if len(sizes) == 1:
        membership, sizes = np.arange(len(membership)), np.ones_like(membership)
    members = membership[:, None] == np.arange(len(sizes))
    with_family = agreement @ (members / sizes)
    return np.where(members, 0.0, with_family).sum(axis=1) / (len(sizes) - 1)


@dataclass(frozen=True)
class Consensus:
    """Labels samples by the labels that all candidates give them.

    A final cluster is a pattern: the share that each label of each candidate has in it. A sample
    goes to the pattern that its labels are nearest to, so a candidate that splits or merges
    clusters still helps to tell others apart, which matching its labels one to one would lose.

    Attributes
    ----------
    patterns : array (n_clusters, n_candidates, n_clusters)
        The shares: final cluster x candidate x its label, times the candidate's weight.
    offsets : array (n_clusters,)
        Minus half of the patterns' squared lengths; minus infinity for an empty cluster.
    votes : array of int (n_candidates, n_clusters)
        The final cluster that most samples with a candidate's label are in; -1 where none had it.
    weights : array (n_candidates,)
        Weights of the candidates; they sum to 1.
    """

    patterns: Array
    offsets: Array
    votes: Array
    weights: Array

    def labels(self, partitions: Array) -> Array:
        """Final clusters of samples, those it was learned from or new ones.

        Parameters
        ----------
        partitions : array of int (n_candidates, n)

        Returns
        -------
        array of int32 (n,)
        """
        return _most_alike(partitions, self.patterns, self.offsets)

    def confidence(self, partitions: Array, labels: Array) -> Array:
        """Weighted share of the candidates that put each sample where `labels` does.

        Parameters
        ----------
        partitions : array of int (n_candidates, n)
        labels : array of int (n,)
            Final clusters of the samples.

        Returns
        -------
        array (n,)
            Between 0 and 1; 1 where all agree.
        """
        against = np.zeros(partitions.shape[1])
        for votes, weight, partition in zip(self.votes, self.weights, partitions, strict=True):
            against += weight * (votes[partition] != labels)
        return np.maximum(1 - against, 0)


def find_consensus(
    partitions: Array, n_clusters: int, weights: Array, start: Array, *, max_iter: int = 50
) -> tuple[Consensus, Array]:
    """Learn what the candidates agree on; returns the rule and the samples' labels.

    Lloyd steps on the candidates' labels, one-hot and weighted: the patterns of the clusters from
    the labels, the labels from the patterns, until they do not change.

    Parameters
    ----------
    partitions : array of int (n_candidates, n)
    n_clusters : int
    weights : array (n_candidates,)
        Weights of the candidates, for example from :func:`family_weights`; they sum to 1.
    start : array of int (n,)
        Labels to start from, for example those of the candidate that agrees best.
    max_iter : int
        Most iterations, at least 1.

    Returns
    -------
    consensus : Consensus
    labels : array of int32 (n,)
        Always those that `consensus` gives the samples. A cluster that lost all of its samples
        stays empty.
    """
    labels = start
    for _ in range(max_iter):
        tables = _tables(labels, partitions, n_clusters)
        patterns, offsets = _patterns(tables, weights)
        before, labels = labels, _most_alike(partitions, patterns, offsets)
        if np.array_equal(before, labels):
            break
    else:
        tables = _tables(labels, partitions, n_clusters)
    return Consensus(patterns, offsets, _votes(tables), weights), labels


def _tables(labels: Array, partitions: Array, n_clusters: int) -> Array:
    """Count samples by their label, candidate and label there: (n_candidates, labels, labels)."""
    n_candidates = len(partitions)
    cells = n_candidates * n_clusters**2
    first_cells = np.arange(0, cells, n_clusters**2)[:, None]
    counts = np.zeros(cells, dtype=np.int64)
    for block in _blocks(partitions.shape[1], n_candidates):
        rows = labels[block].astype(np.int64) * n_clusters
        counts += np.bincount((first_cells + rows + partitions[:, block]).ravel(), minlength=cells)
    return counts.reshape(n_candidates, n_clusters, n_clusters)


def _adjusted_rand(squares: Array, first_squares: Array, second_squares: Array, n: int) -> Array:
    """Adjusted Rand indices from the sums of squares of tables' entries and of clusters' sizes.

    All sums are whole numbers up to n², which float64 holds exactly up to n = 9e7.
    """
    # Ordered pairs of different samples: together in both, in one only, in none.
    both = squares - n
    first = first_squares - squares
    second = second_squares - squares
    none = float(n) ** 2 - squares - first - second
    excess = 2 * (both * none - first * second)
    largest = (both + first) * (first + none) + (both + second) * (second + none)
    same = (first == 0) & (second == 0)
    return np.divide(excess, largest, out=np.ones_like(squares), where=~same)


def _patterns(tables: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted patterns of the clusters, and minus half of their squared lengths.

    With them the sample nearest to a pattern is the one with the largest sum of the pattern's
    entries at its labels, plus the offset.
    """
    sizes = tables[0].sum(axis=1)
    shares = tables / np.maximum(sizes, 1)[:, None]
    offsets = -0.5 * np.einsum("c,cja,cja->j", weights, shares, shares)
    offsets[sizes == 0] = -np.inf
    weighted = weights[:, None, None] * shares
    return np.ascontiguousarray(weighted.swapaxes(0, 1)), offsets


def _votes(tables: Array) -> Array:
    """The cluster that holds most of each candidate's label; -1 for a label without samples."""
    return np.where(tables.any(axis=1), tables.argmax(axis=1), -1).astype(np.int32)


def _most_alike(partitions: Array, patterns: Array, offsets: Array) -> Array:
    """Cluster whose pattern each sample's labels are nearest to."""
    by_label = np.ascontiguousarray(patterns.transpose(1, 2, 0))
    n = partitions.shape[1]
    labels = np.empty(n, dtype=np.int32)
    for block in _blocks(n, len(offsets)):
        # Sums over candidates in their order, a sample at a time: its label does not depend on
        # where in the data it stands.
        scores = np.tile(offsets, (len(labels[block]), 1))
        for shares, partition in zip(by_label, partitions, strict=True):
            scores += shares[partition[block]]
        labels[block] = scores.argmax(axis=1)
    return labels


def _blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of the samples, as many at a time as BLOCK allows for `width` entries each."""
    step = max(1, BLOCK // width)
    return (slice(begin, begin + step) for begin in range(0, n, step))
