"""Explanation of AutoDALMC: confidence by its partitions, distances in one embedding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment, ClusterSpread
from anchorview.core.batch_correction import PartPreparation
from anchorview.core.embed import Embedder, Pattern
from anchorview.core.scale import ViewScaling
from anchorview.estimators.auto.candidates import first_partitions
from anchorview.estimators.auto.consensus import Consensus
from anchorview.estimators.auto.labeling import Families, Labeler, LocatedSamples
from anchorview.estimators.explanation import (
    ROUNDING,
    Contributions,
    Explanation,
    Located,
    Readout,
    cluster_directions,
    relabeled,
    row_blocks,
    second_best,
    soft_memberships,
    with_largest_at,
)
from anchorview.estimators.relabeling import Relabeling
from anchorview.views.container import MultiViewData, container_with_views


@dataclass(frozen=True, eq=False)
class ConsensusExplanation(Explanation):
    """The consensus of AutoDALMC.

    Confidence, memberships and second-best cluster come from the partitions. Samples on which all
    partitions agree have no distance there, so distances are those in the embedding of the best
    candidate, to the mean of the cluster.
    """

    prepare: PartPreparation
    view_names: tuple[str, ...]
    relabeling: Relabeling | None
    labeler: Labeler
    assignment: Assignment
    spread: ClusterSpread
    scale: float
    """Of distances to the patterns."""
    floor: float = ROUNDING

    @property
    def consensus(self) -> Consensus:
        """Patterns of the clusters that were fitted."""
        return self.labeler.clustering.consensus

    def labels(self, part: MultiViewData) -> Array:
        """Clusters of the samples of a part."""
        return relabeled(self.relabeling, self.fitted_labels(self.prepare(part)))

    def fitted_labels(self, data: MultiViewData) -> Array:
        """Clusters of samples, whose views are prepared, before clusters were merged."""
        return self.consensus.labels(self.labeler.partitions(data))

    def _pattern_squares(self, partitions: Array) -> Array:
        """Squared distances to the patterns of the clusters."""
        squares = self.consensus.squared_distances(partitions)
        return squares if self.relabeling is None else self.relabeling.nearest(squares)

    def located(self, part: MultiViewData) -> Iterator[Located]:
        """Yield labels, confidence and distances of the samples of a part in blocks, in order."""
        data = self.prepare(part)
        partitions, embedding = self.labeler.partitions(data), self.labeler.embedding(data)
        consensus = self.consensus
        if self.relabeling is not None:
            consensus = consensus.with_votes_for(self.relabeling.clusters)
        for rows in row_blocks(len(data), len(consensus.offsets)):
            block = partitions[:, rows]
            labels = relabeled(self.relabeling, consensus.labels(block))
            squares = self.assignment.squared_distances(embedding[rows])
            squares[:, self.spread.sizes == 0] = np.inf
            second = second_best(self._pattern_squares(block), labels)
            confidence, second_confidence = (
                consensus.confidence(block, clusters) for clusters in (labels, second)
            )
            yield Located(rows, labels, second, confidence, second_confidence, squares)

    def memberships(self, part: MultiViewData) -> Array:
        """Memberships of samples in all clusters, by distances to the patterns."""
        partitions, scale = self.labeler.partitions(self.prepare(part)), max(self.scale, self.floor)
        blocks = []
        for rows in row_blocks(len(part), len(self.consensus.offsets)):
            block = partitions[:, rows]
            members = soft_memberships(self._pattern_squares(block), scale)
            labels = relabeled(self.relabeling, self.consensus.labels(block))
            blocks.append(with_largest_at(members, labels))
        return np.vstack(blocks)

    def contributions(self) -> Contributions:
        """Mean over all partitions, weighted as in the consensus.

        The center of a cluster in a partition is the mean of its centroids, weighted by the
        frequency of their labels in the cluster. Where landmarks give the labels, centroids are
        those of samples that have all of their weight on one label.
        """
        candidates, families = self.labeler.clustering.candidates, self.labeler.families
        occupied = np.isfinite(self.consensus.offsets)
        ends = first_partitions(candidates)[1:]
        readouts = []
        # Patterns contain the weights of the partitions, which sum to 1 over all candidates.
        for candidate, patterns in zip(
            candidates, np.split(self.consensus.patterns, ends, axis=1), strict=True
        ):
            scaling = candidate.setting.scaling
            if candidate.landmark_labels is None:
                assert candidate.embedder is not None
                embedder = candidate.embedder
                centroids = np.stack([run.centroids for run in candidate.runs])
                centers = np.einsum("cra,ral->cl", patterns, centroids)
            else:
                counts = families.landmarks[scaling].counts
                embedder = VotesOfLandmarks(candidate.landmark_labels, counts, len(occupied))
                centers = patterns.reshape(len(patterns), -1)
            directions = cluster_directions(centers, self.relabeling, occupied)
            transform = FamilyTransform(families, scaling, candidate.landmark_labels is not None)
            readouts.append(Readout(transform, embedder, directions, normalize=True))
        used = self.labeler.used
        return Contributions(self.prepare, self.fitted_labels, self.relabeling, readouts, used)


class VotesOfLandmarks(Embedder):
    """Weights of the labels that landmarks give to samples, as an embedding of lifted views."""

    def __init__(self, landmark_labels: Array, counts: Sequence[int], n_clusters: int) -> None:
        super().__init__(None, (ViewScaling(),) * len(counts), complete=False, maps={})
        votes = np.eye(n_clusters)[landmark_labels]
        stacked = votes.transpose(1, 0, 2).reshape(landmark_labels.shape[1], -1)
        self._by_view = np.split(stacked, np.cumsum(counts)[:-1])

    @property
    def n_anchors(self) -> int:
        """Number of labels in all partitions."""
        return int(self._by_view[0].shape[1])

    @property
    def widths(self) -> list[int]:
        """Number of landmarks of each view."""
        return [len(rows) for rows in self._by_view]

    def map_from(self, views: Pattern) -> Array:
        """Map from the weights on the landmarks of some views to those of labels."""
        return np.vstack([self._by_view[p] for p in views])


@dataclass(frozen=True, eq=False)
class FamilyTransform:
    """Coordinates of samples in a scaling, or their weights on the landmarks; can be pickled."""

    families: Families
    scaling: str
    lifted: bool

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Transformed views of samples."""
        samples = LocatedSamples(self.families, data)
        coordinates = samples.coordinates(self.scaling)
        if not self.lifted:
            return coordinates
        weights = self.families.landmarks[self.scaling].weights(samples.neighbors(self.scaling))
        return container_with_views(coordinates, tuple(weights))
