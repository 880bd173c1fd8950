"""Agreement between partitions of the same samples, and their consensus.

Settings that differ little make similar errors, so partitions belong to families, whose weight does
not depend on their number of members. `partitions` is an integer array
(n_partitions, n_samples) throughout, with labels from 0 to ``n_clusters - 1``, not all of which
need to occur; equal labels in different partitions are unrelated.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import gen_batches

from anchorview._utils.typing import Array, ExtendedArray
from anchorview.core.blockwise_kmeans import positive
from anchorview.core.neighbors import graph_of_neighbors

DOUBTFUL_CONFIDENCE = 0.5
"""Samples with a lower `confidence_` are doubtful in any case: most partitions disagree."""

SAME_AGREEMENT = 0.05
"""Difference of agreements with the partitions up to which distances decide between two results."""

DIGITS = 9
"""Digits of distances that are compared; the others may depend on the order of summation."""

BLOCK = 2**18
"""Maximum number of array entries that are computed at a time."""


class Family(NamedTuple):
    """A kind of partitions in a scaling; those of one family are not independent evidence."""

    kind: str
    scaling: str
    kind_weight: float


def agreement_matrix(partitions: Array, n_clusters: int) -> Array:
    """Adjusted Rand index of every two partitions: symmetric, with ones on the diagonal."""
    agreement = np.empty((len(partitions), len(partitions)))
    for i in range(len(partitions)):
        row = agreement_with(partitions[i], partitions[: i + 1], n_clusters)
        agreement[i, : i + 1] = agreement[: i + 1, i] = row
    return agreement


def agreement_with(labels: Array, partitions: Array, n_clusters: int) -> Array:
    """Adjusted Rand index of one partition with each of several, (n_partitions,)."""
    n = len(labels)
    tables = _contingency_tables(labels, partitions, n_clusters)
    # Sums are whole numbers up to n², which float64 holds exactly up to n = 9e7.
    squares = np.einsum("cja,cja->c", tables, tables).astype(np.float64)
    first, second = ((tables.sum(axis=axis, dtype=np.float64) ** 2).sum(axis=1) for axis in (2, 1))
    # Ordered pairs of different samples: together in both partitions, in one only, in none.
    both = squares - n
    first -= squares
    second -= squares
    none = float(n) ** 2 - squares - first - second
    excess = 2 * (both * none - first * second)
    maximum = (both + first) * (first + none) + (both + second) * (second + none)
    identical = (first == 0) & (second == 0)
    return np.divide(excess, maximum, out=np.ones_like(squares), where=~identical)


def mean_agreement(agreement: Array, counts: Sequence[int]) -> Array:
    """Mean agreement between the different partitions of every two candidates, or of one."""
    sizes, starts = np.array(counts), np.cumsum([0, *counts[:-1]])
    sums = np.add.reduceat(np.add.reduceat(agreement, starts, axis=0), starts, axis=1)
    means = sums / np.outer(sizes, sizes)
    within = (sums.diagonal() - sizes) / np.maximum(1, sizes * (sizes - 1))
    np.fill_diagonal(means, np.where(sizes > 1, within, 1))
    return means


def family_weights(families: Sequence[Family]) -> Array:
    """Weights of partitions: a kind's is shared by its families, a family's by its partitions."""
    in_family, in_kind = Counter(families), Counter(own.kind for own in set(families))
    weights = [own.kind_weight / (in_kind[own.kind] * in_family[own]) for own in families]
    return np.array(weights) / np.sum(weights)


def cross_agreement(agreement: Array, families: Sequence[Family]) -> Array:
    """Mean weighted agreement of each partition with those of other families, if there are any."""
    members = np.array([families.index(family) for family in families])
    own = members[:, None] == members
    if own.all():
        own = np.eye(len(members), dtype=bool)
    weights = np.where(own, 0.0, family_weights(families))
    sums, totals = (agreement * weights).sum(axis=1), weights.sum(axis=1)
    return np.divide(sums, totals, out=np.ones_like(sums), where=totals > 0)


def agreement_between(partitions: Array) -> float:
    """Mean agreement of every two partitions; NaN if there are fewer than two."""
    if len(partitions) < 2:
        return np.nan
    agreement = agreement_matrix(partitions, 1 + int(partitions.max(initial=0)))
    return float(agreement[np.triu_indices(len(partitions), 1)].mean())


@dataclass(frozen=True)
class Consensus:
    """Clusters samples by the labels that several partitions give them.

    A cluster is a pattern: the frequency in it of each label of each partition. A sample belongs
    to the pattern nearest to its own labels. A partition that splits or merges clusters thus still
    helps to separate others, which would be lost if its labels were matched one to one.
    """

    patterns: Array
    """Frequencies by cluster, partition and label, times the weight of the partition."""
    offsets: ExtendedArray
    """Minus half of the squared norm of each pattern; minus infinity for an empty cluster."""
    votes: npt.NDArray[np.int32]
    """By partition and label, the cluster with most samples of the label; -1 if the label has fewer
    than two samples, which cannot confirm each other."""
    weights: Array
    """Weights of the partitions; they sum to 1."""
    certainty: float = 1.0
    """What the agreement of all partitions is worth: less if the clusters may be arbitrary."""

    def labels(self, partitions: Array) -> Array:
        """Cluster of each sample, int32: the one with the nearest pattern."""
        labels = np.empty(partitions.shape[1], dtype=np.int32)
        for block, scores in self._scores(partitions):
            labels[block] = scores.argmax(axis=1)
        return labels

    def nearest_two(self, partitions: Array) -> tuple[Array, Array, Array]:
        """Clusters with the nearest and second nearest pattern; squared distances to the first."""
        n = partitions.shape[1]
        labels, second = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        squares = np.empty(n)
        for block, scores in self._scores(partitions):
            labels[block] = scores.argmax(axis=1)
            own = labels[block, None]
            squares[block] = _squared(np.take_along_axis(scores, own, axis=1)[:, 0])
            np.put_along_axis(scores, own, -np.inf, axis=1)
            second[block] = scores.argmax(axis=1)
        return labels, second, squares

    def squared_distances(self, partitions: Array) -> Array:
        """Squared distances of one-hot encoded labels to patterns; infinite for empty clusters."""
        squares = np.empty((partitions.shape[1], len(self.offsets)))
        for block, scores in self._scores(partitions):
            squares[block] = _squared(scores)
        return squares

    def _scores(self, partitions: Array) -> Iterator[tuple[slice, Array]]:
        """Scores of all clusters for blocks of samples; the nearest pattern has the largest."""
        for block in gen_batches(partitions.shape[1], max(1, BLOCK // len(self.offsets))):
            # Summed in the order of the partitions: a score does not depend on its position.
            scores = np.tile(self.offsets, (block.stop - block.start, 1))
            for shares, partition in zip(self._by_label, partitions, strict=True):
                scores += shares[partition[block]]
            yield block, scores

    @cached_property
    def _by_label(self) -> Array:
        """Patterns by partition, label and cluster, of which a score sums some and the offset."""
        return np.ascontiguousarray(self.patterns.transpose(1, 2, 0))

    def with_votes_for(self, clusters: Array) -> "Consensus":
        """Return the consensus in which partitions vote for clusters that replace the present."""
        votes = np.where(self.votes < 0, -1, clusters[self.votes]).astype(np.int32)
        return replace(self, votes=votes)

    def confidence(self, partitions: Array, labels: Array) -> Array:
        """Weight of the partitions that vote for the cluster of each sample, times `certainty`."""
        against = np.zeros(partitions.shape[1])
        for votes, weight, partition in zip(self.votes, self.weights, partitions, strict=True):
            against += weight * (votes[partition] != labels)
        return self.certainty * np.maximum(1 - against, 0)


@dataclass(frozen=True, eq=False)
class FittedConsensus:
    """The consensus of partitions, and what it was found by."""

    consensus: Consensus
    labels: Array
    """Clusters of the samples."""
    agreement: Array
    """Adjusted Rand index of every two partitions."""
    scores: Array
    """Agreement of each partition with those of other families."""
    weights: Array
    """Weights of the partitions by their families."""


def fit_consensus(
    partitions: "Partitions", families: Sequence[Family], separations: Array | None = None
) -> FittedConsensus:
    """Consensus from the best of each family; small `separations` (sums) give large weights."""
    agreement = agreement_matrix(partitions.labels, partitions.n_clusters)
    scores = cross_agreement(agreement, families)
    weights = family_weights(families)
    if separations is not None:
        weights *= np.exp(separations.min() - separations)
        weights /= weights.sum()
    starts = partitions.labels[best_by_family(scores, families)]
    consensus, labels = partitions.find_consensus(weights, starts)
    return FittedConsensus(consensus, labels, agreement, scores, weights)


def best_by_family(scores: Array, families: Sequence[Family]) -> list[int]:
    """Position of the partition with the highest score in each family, highest first."""
    best: dict[Family, int] = {}
    for position in np.argsort(-scores, kind="stable"):
        best.setdefault(families[position], int(position))
    return list(best.values())


@dataclass(frozen=True, eq=False)
class Partitions:
    """Partitions of the same samples, of which a consensus is found."""

    labels: Array
    n_clusters: int
    sample_weight: Array | None = None
    """With a mean of 1."""

    def find_consensus(self, weights: Array, starts: Iterable[Array]) -> tuple[Consensus, Array]:
        """Consensus of partitions and its labels, from the best of several starts.

        Of the results that agree best with the partitions, that with the smallest distances is
        kept: by distances alone small clusters would not matter. Weights are then multiplied by the
        agreement.
        """
        found = [self.iterate_consensus(weights, start) for start in starts]
        agreements = [self._agreement_with(own) @ weights for _, own in found]
        near = np.array(agreements) >= max(agreements) - SAME_AGREEMENT
        squares = [own.nearest_two(self.labels)[2].mean() for own, _ in found]
        consensus, labels = found[int(np.where(near, np.round(squares, DIGITS), np.inf).argmin())]
        weights = weights * np.maximum(self._agreement_with(labels), 0)
        if not weights.any():
            return consensus, labels
        return self.iterate_consensus(weights / weights.sum(), labels)

    def iterate_consensus(
        self, weights: Array, start: Array, max_iter: int = 50
    ) -> tuple[Consensus, Array]:
        """Consensus with fixed weights, by Lloyd iterations from a start, and its labels."""
        labels = start
        for _ in range(max_iter):
            consensus = self.consensus_of(labels, weights)
            before, labels = labels, consensus.labels(self.labels)
            if np.array_equal(before, labels):
                return consensus, labels
        return replace(consensus, votes=_votes(self._tables(labels))), labels

    def consensus_of(self, labels: Array, weights: Array) -> Consensus:
        """Consensus whose patterns are those of the clusters in `labels`."""
        tables = self._tables(labels)
        sizes = tables[0].sum(axis=1)
        shares = tables / positive(sizes)[:, None]
        offsets = -0.5 * np.einsum("c,cja,cja->j", weights, shares, shares)
        offsets[sizes == 0] = -np.inf
        weighted = weights[:, None, None] * shares
        patterns = np.ascontiguousarray(weighted.swapaxes(0, 1))
        return Consensus(patterns, offsets, _votes(tables), weights)

    def _agreement_with(self, labels: Array) -> Array:
        return agreement_with(labels, self.labels, self.n_clusters)

    def _tables(self, labels: Array) -> Array:
        return _contingency_tables(labels, self.labels, self.n_clusters, self.sample_weight)


def cluster_members(partitions: Array, n_clusters: int) -> sparse.csr_array:
    """Clusters of samples in all partitions, (n, n_partitions * n_clusters)."""
    columns = partitions.T + n_clusters * np.arange(len(partitions))
    return graph_of_neighbors(columns, np.ones(columns.shape), len(partitions) * n_clusters)


def _contingency_tables(
    labels: Array, partitions: Array, n_clusters: int, sample_weight: Array | None = None
) -> Array:
    """Numbers of samples, or weights, by partition, label, and label in the partition."""
    n_partitions = len(partitions)
    cells = n_partitions * n_clusters**2
    first_cells = np.arange(0, cells, n_clusters**2)[:, None]
    counts = np.zeros(cells, dtype=np.int64 if sample_weight is None else np.float64)
    for block in gen_batches(partitions.shape[1], max(1, BLOCK // n_partitions)):
        rows = labels[block].astype(np.int64) * n_clusters
        at = (first_cells + rows + partitions[:, block]).ravel()
        weights = None if sample_weight is None else np.tile(sample_weight[block], n_partitions)
        counts += np.bincount(at, weights, cells)
    return counts.reshape(n_partitions, n_clusters, n_clusters)


def _squared(scores: Array) -> Array:
    # |e - p|^2 = |e|^2 - 2 (e'p - p'p / 2), and the weights of the partitions sum to 1.
    return np.maximum(1 - 2 * scores, 0)


def _votes(tables: Array) -> Array:
    return np.where(tables.sum(axis=1) > 1, tables.argmax(axis=1), -1).astype(np.int32)
