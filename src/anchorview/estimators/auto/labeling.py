"""Labels of any samples by the candidates and their consensus, and what explains them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from anchorview._utils.linalg import unit_rows
from anchorview._utils.text import listed, quoted
from anchorview._utils.threads import parallel_map, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.blockwise_kmeans import positive
from anchorview.core.centers import ClusterSpread
from anchorview.core.neighbors import graph_of_neighbors
from anchorview.estimators.explanation import (
    ClusterDistances,
    FittedExplanation,
    Readout,
    cluster_directions,
    row_blocks,
    second_best,
    soft_memberships,
    with_largest_at,
)
from anchorview.estimators.known.class_model import ClassModel
from anchorview.estimators.partitions.candidates import (
    Candidate,
    EmbeddedCandidate,
    first_partitions,
)
from anchorview.estimators.partitions.consensus import Consensus
from anchorview.estimators.partitions.coordinates import Families, LocatedSamples
from anchorview.estimators.partitions.neighbor_graphs import LABEL_DTYPE
from anchorview.estimators.relabeling import Relabeling
from anchorview.views.container import MultiViewData

BLOCK_BYTES, MIN_BLOCK = 4 * 2**20, 256
"""Size of the rows that a thread labels at a time, and their minimum number."""

RESULTS = ("labels", "confidence", "second_labels", "embedding")
"""Fields of the records that are results of every fit."""


def record_type(n_anchors: int, dtype: "np.dtype[Any]", n_other_levels: int = 0) -> "np.dtype[Any]":
    """Type of the record of a sample with an embedding of the type `dtype`."""
    labels = [(name, np.int32) for name in ("labels", "fitted_labels", "second_labels")]
    numbers = [(name, np.float64) for name in ("confidence", "squares", "weight")]
    levels = ("level_labels", np.int32, (n_other_levels,))
    return np.dtype([*labels, *numbers, ("embedding", dtype, (n_anchors,)), levels])


@dataclass(frozen=True, eq=False)
class Clustering:
    """Candidates with the same number of clusters, and their consensus."""

    candidates: list[Candidate]
    consensus: Consensus
    classes: ClassModel | None = None
    """If some classes are known, the model of them; the last partitions are draws from it."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.consensus.offsets)

    @property
    def without_classes(self) -> "Clustering":
        """What was found before known classes were used."""
        if self.classes is None:
            return self
        return Clustering(self.candidates, self.classes.unlabeled)

    def partitions(self, samples: LocatedSamples) -> Array:
        """Labels of samples in all partitions of the candidates, (n_partitions, n)."""
        labels = [candidate.labels(samples) for candidate in self.candidates]
        partitions = np.vstack(labels).astype(LABEL_DTYPE)
        if self.classes is None:
            return partitions
        return np.vstack([partitions, self.classes.draws(samples, partitions)])


@dataclass(frozen=True, eq=False)
class Labeler:
    """Labels samples as a fitted model does; it has what workers need, and can be pickled."""

    used: tuple[int, ...]
    """Positions of the views that are used."""
    families: Families
    clustering: Clustering
    best: EmbeddedCandidate
    """Candidate that gives the embedding."""
    clusters: Array
    """New clusters, by those that were fitted."""
    others: tuple[Clustering, ...] = ()
    """Levels that are labeled too."""

    def record_type(self, dtype: "np.dtype[Any]") -> "np.dtype[Any]":
        """Type of the record of a sample with an embedding of the type `dtype`."""
        return record_type(self.best.embedder.n_anchors, dtype, len(self.others))

    def records(self, part: MultiViewData) -> Array:
        """Records of the samples of a part; `squares` are distances to the patterns of clusters."""
        consensus, clusters = self.clustering.consensus, self.clusters
        voting = consensus.with_votes_for(clusters)

        def of_block(samples: LocatedSamples) -> Array:
            partitions = self.clustering.partitions(samples)
            fitted, second, squares = consensus.nearest_two(partitions)
            labels = clusters[fitted]
            records = np.empty(len(labels), self.record_type(part.dtype))
            records["labels"], records["fitted_labels"] = labels, fitted
            records["second_labels"] = relabeled_second(clusters, second, labels)
            records["confidence"] = voting.confidence(partitions, labels)
            records["squares"] = squares
            records["embedding"] = self.best.embedding(samples)
            for position, level in enumerate(self.others):
                own = level.consensus.labels(level.partitions(samples))
                records["level_labels"][:, position] = own
            return records

        records = self.of_blocks(of_block, part)
        records["weight"] = 1 if part.sample_weight is None else part.sample_weight
        return records

    def labels(self, part: MultiViewData) -> Array:
        """Clusters of the samples of a part."""
        return self.clusters[self.clustering.consensus.labels(self.partitions(part))]

    def certain_labels(self, part: MultiViewData, threshold: float, doubtful: int) -> Array:
        """Clusters of the samples of a part, `doubtful` for those in doubt."""
        records = self.records(part)
        return certain(records["labels"], records["confidence"], threshold, doubtful)

    def embedding(self, part: MultiViewData, factor: float = 1.0) -> Array:
        """Embedding of the samples of a part by the best candidate, times a factor."""
        # The views that are used may be in a lower precision than all.
        rows = self.of_blocks(lambda own: self.best.embedding(own).astype(part.dtype), part)
        rows *= factor
        return rows

    def partitions(self, part: MultiViewData) -> Array:
        """Labels in all partitions, (n_partitions, n); those of a candidate follow each other."""
        return self.of_blocks(lambda samples: self.clustering.partitions(samples).T, part).T

    def doubt(self, part: MultiViewData) -> Array:
        """How doubtful the classes of the samples of a part are; 1 if no class is known."""
        plain, classes = self.clustering.without_classes, self.clustering.classes
        if classes is None:
            return np.ones(len(part))
        return self.of_blocks(lambda own: classes.doubt(own, plain.partitions(own)), part)

    def candidate_labels(self, part: MultiViewData) -> Array:
        """Labels in the first partition of each candidate, (n, n_candidates)."""
        return self.partitions(part)[first_partitions(self.clustering.candidates)].T

    def of_blocks(self, function: Callable[[LocatedSamples], Array], part: MultiViewData) -> Array:
        """Rows that a function computes of the samples of a part, block by block."""
        data = self._used_views(part)
        step = BLOCK_BYTES // (data.dtype.itemsize * max(sum(data.n_features_per_view), 1))

        def work(rows: slice) -> Array:
            with without_nested_threads():
                return function(LocatedSamples(self.families, data[rows]))

        blocks = list(gen_batches(len(data), max(MIN_BLOCK, step))) or [slice(0)]
        return np.concatenate([rows for _, rows in parallel_map(work, blocks)])

    def _used_views(self, data: MultiViewData) -> MultiViewData:
        """Samples with the views that are used; raises if a sample has none of them."""
        if len(self.used) == len(data.names):
            return data
        used = data.with_views(self.used)
        if (has := used.known_samples) is not None:
            row = int(np.flatnonzero(~has)[0])
            sample = "" if data.sample_ids is None else f" ({quoted(data.sample_ids[row])})"
            assert data.available is not None
            own = [data.names[p] for p in np.flatnonzero(data.available[row])]
            only = f"the view{'s' * (len(own) > 1)} {listed(own)}"
            raise ValueError(
                f"Sample {data.first_row + row}{sample} has only {only}, set aside by "
                "AutoDALMC in fit because of disagreement with the other "
                f"views. Give one of {listed(used.names)} for it, drop it, or use DALMC, which "
                "uses all views."
            )
        return used


def certain(labels: Array, confidence: Array, threshold: float, doubtful: int = -1) -> Array:
    """Labels, a number in place of them where the confidence is below a threshold."""
    return np.where(confidence < threshold, np.int32(doubtful), labels)


def relabeled_second(clusters: Array, second: Array, labels: Array) -> Array:
    """New second clusters of samples, of which `labels` are the new clusters; -1 if it is that."""
    renamed = np.append(clusters, -1).astype(np.int32)[second]
    return np.where(renamed == labels, np.int32(-1), renamed)


@dataclass(frozen=True)
class RowSums:
    """Sums over the normalized rows of an embedding, by cluster."""

    sizes: Array
    sums: Array
    squares: Array
    """Sums of squared norms: a row may be zero."""

    @classmethod
    def of(cls, embedding: Array, labels: Array, n_clusters: int, weights: Array) -> "RowSums":
        """Sums over rows with these labels and weights."""
        width = embedding.shape[1]
        total = cls(np.zeros(n_clusters), np.zeros((n_clusters, width)), np.zeros(n_clusters))
        for block in row_blocks(len(labels), max(width, n_clusters)):
            own, rows = labels[block], unit_rows(embedding[block]).astype(np.float64)
            members = graph_of_neighbors(own[:, None], weights[block, None], n_clusters).T
            squares = np.einsum("ij,ij->i", rows, rows)
            sizes = np.bincount(own, weights[block], n_clusters)
            total = total.merged(cls(sizes, members @ rows, members @ squares))
        return total

    def merged(self, other: "RowSums") -> "RowSums":
        """Sums over the rows of both."""
        return RowSums(
            self.sizes + other.sizes, self.sums + other.sums, self.squares + other.squares
        )

    def relabeled(self, relabeling: Relabeling) -> "RowSums":
        """Sums by the clusters after relabeling."""
        if relabeling.keeps_numbers:
            return self
        members = np.equal.outer(np.arange(len(relabeling.names)), relabeling.clusters) * 1.0
        return RowSums(members @ self.sizes, members @ self.sums, members @ self.squares)

    @property
    def means(self) -> Array:
        """Means by cluster."""
        return self.sums / positive(self.sizes)[:, None]

    @property
    def spread(self) -> ClusterSpread:
        """Distances of the rows to the mean of their cluster."""
        # Rows have length 1, so that the difference loses no more than rounding.
        around = self.squares - self.sizes * np.einsum("ij,ij->i", self.means, self.means)
        return ClusterSpread(self.sizes, np.maximum(around, 0))


Sums = tuple[ClusterSpread, RowSums]
"""By cluster: distances to the patterns, and rows of the embedding."""


def sums_of_records(n_clusters: int, records: Array) -> Sums:
    """Sums over the samples with these records that are in a cluster."""
    records = records[records["labels"] >= 0]
    labels, weights = records["fitted_labels"], records["weight"]
    return (
        ClusterSpread.of(labels, records["squares"], n_clusters, weights),
        RowSums.of(records["embedding"], labels, n_clusters, weights),
    )


def merged_sums(a: Sums, b: Sums) -> Sums:
    """Sums over the samples of both."""
    return a[0].merged(b[0]), a[1].merged(b[1])


@dataclass(frozen=True, eq=False)
class ConsensusExplanation(FittedExplanation):
    """The consensus of AutoDALMC, whose partitions say how certain samples are.

    Samples on which all partitions agree have no distance there, so distances are those in the
    embedding of the best candidate. The scale is that of distances to the patterns.
    """

    labeler: Labeler

    @property
    def consensus(self) -> Consensus:
        """Patterns of the clusters that were fitted."""
        return self.labeler.clustering.consensus

    def fitted_labels(self, data: MultiViewData) -> Array:
        return self.consensus.labels(self.labeler.partitions(data))

    def _blocks(self, data: MultiViewData) -> Iterator[tuple[slice, Array, Array, Array]]:
        """Rows, labels in the partitions, clusters, and squared distances to the patterns."""
        partitions = self.labeler.partitions(data)
        for rows in row_blocks(len(data), len(self.consensus.offsets)):
            block = partitions[:, rows]
            squares = self.relabeling.nearest(self.consensus.squared_distances(block))
            yield rows, block, self.relabeling(self.consensus.labels(block)), squares

    def distances(self, part: MultiViewData) -> Iterator[ClusterDistances]:
        data = self.prepare(part)
        embedding = self.labeler.embedding(data)
        consensus = self.consensus.with_votes_for(self.relabeling.clusters)
        for rows, partitions, labels, to_patterns in self._blocks(data):
            squares = self.assignment.squared_distances(embedding[rows])
            squares[:, self.spread.sizes == 0] = np.inf
            second = second_best(to_patterns, labels)
            own, other = (consensus.confidence(partitions, each) for each in (labels, second))
            yield ClusterDistances(rows, labels, second, own, other, squares)

    def memberships(self, part: MultiViewData) -> Array:
        """Memberships of samples in all clusters, by distances to the patterns."""
        blocks, scale = self._blocks(self.prepare(part)), max(self.scale, self.floor)
        members = ((soft_memberships(squares, scale), labels) for *_, labels, squares in blocks)
        return np.vstack([with_largest_at(*block) for block in members])

    def margins(self, data: MultiViewData) -> tuple[Array, Array]:
        """The same clusters, and the mean of contributions over all partitions, weighted as these.

        The center of a cluster in a partition is the mean of its centroids, weighted by the
        frequency of their labels in the cluster. Where landmarks give the labels, centroids are
        those of samples that have all of their votes for one label.
        """
        labeler, candidates = self.labeler, self.labeler.clustering.candidates
        occupied = np.isfinite(self.consensus.offsets)
        # Patterns contain the weights of the partitions, which sum to 1 over all candidates.
        ends = np.cumsum([candidate.n_partitions for candidate in candidates])
        patterns = np.split(self.consensus.patterns, ends, axis=1)[: len(candidates)]
        readouts = []
        for candidate, own in zip(candidates, patterns, strict=True):
            maps, centers = candidate.readout(labeler.families, own)
            readouts.append(Readout(maps, cluster_directions(centers, self.relabeling, occupied)))

        def of_block(samples: LocatedSamples) -> Array:
            fitted = self.consensus.labels(labeler.clustering.partitions(samples))
            sums = sum(
                readout.contributions(candidate.views(samples), fitted)
                for candidate, readout in zip(candidates, readouts, strict=True)
            )
            return np.column_stack([fitted, sums])

        rows = labeler.of_blocks(of_block, data)
        contributions = np.zeros((len(data), len(data.views)))
        contributions[:, labeler.used] = rows[:, 1:]
        return rows[:, 0].astype(np.int32), contributions
