"""Where samples lie among the clusters of a model: distances, confidence, second-best cluster.

Beside ``view_contributions``, this is the only module here that knows what the estimators have
learned. Geometries can be pickled, so that workers apply them to the parts of a source.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from anchorview._utils.linalg import unit_rows
from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment, ClusterSpread
from anchorview.core.batch_correction import PartPreparation
from anchorview.core.embed import Embedder
from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.auto.consensus import Consensus
from anchorview.estimators.auto.labeling import PartLabeler
from anchorview.estimators.base import EmbeddingClusterer
from anchorview.estimators.dalmc import DALMC
from anchorview.estimators.relabeling import Relabeling
from anchorview.inspection.labeled_parts import LabeledSource
from anchorview.inspection.view_means import ViewMeans, fit_view_means
from anchorview.views.container import MultiViewData

LARGEST_BLOCK = 2**21
"""Maximum number of distances between samples and clusters that are held at a time."""

ROUNDING = 1e-12
"""Share of the squared norm of a center up to which a mean squared distance may be rounding."""


class Located(NamedTuple):
    """Some samples of a part among the clusters."""

    rows: slice
    """Their rows in the part."""
    labels: Array
    """Clusters, from 0."""
    second: Array
    """The second-best clusters."""
    confidence: Array
    second_confidence: Array
    """Confidence if the second-best clusters were theirs."""
    squares: Array
    """Squared distances to the centers of all clusters; infinite for empty ones."""

    @property
    def own_squares(self) -> Array:
        """Squared distances to the centers of their own clusters."""
        return np.take_along_axis(self.squares, self.labels[:, None], axis=1)[:, 0]


class Geometry(ABC):
    """Centers of clusters, and how far the samples of `fit` lie from them."""

    spread: ClusterSpread
    floor: float
    """Mean squared distances up to which samples coincide with their centers."""

    @abstractmethod
    def located(self, part: MultiViewData) -> Iterator[Located]:
        """Yield the samples of a part in blocks, in order."""

    @property
    def mean_square_per_cluster(self) -> Array:
        """The same by cluster."""
        return np.maximum(self.spread.mean_square_per_cluster, self.floor)


@dataclass(frozen=True, eq=False)
class EmbeddingGeometry(Geometry):
    """Rows of the embedding of DALMC and the centroids of K-means."""

    prepare: PartPreparation
    embedder: Embedder | None
    assignment: Assignment
    relabeling: Relabeling | None
    spread: ClusterSpread
    scale: float
    """Squared distance at which a membership falls to 1/e."""
    floor: float

    def located(self, part: MultiViewData) -> Iterator[Located]:
        """Yield the samples of a part in blocks, in order."""
        assert self.embedder is not None
        return self.located_rows(self.embedder(self.prepare(part)))

    def fitted_labels(self, data: MultiViewData) -> Array:
        """Clusters of samples, whose views are prepared, before clusters were merged."""
        assert self.embedder is not None
        return self.assignment(self.embedder(data))

    def located_rows(self, embedding: Array) -> Iterator[Located]:
        """Yield rows of the embedding in blocks, in order."""
        # All at once, as `predict` does: rounding may decide between equally near centroids.
        labels = self.assignment(embedding)
        if self.relabeling is not None:
            labels = self.relabeling.clusters[labels]
        for rows in row_blocks(len(labels), len(self.assignment.centroids)):
            squares = self.assignment.squared_distances(embedding[rows])
            if self.relabeling is not None:
                squares = self.relabeling.nearest(squares)
            yield located_by_distance(rows, labels[rows], squares, max(self.scale, self.floor))


@dataclass(frozen=True, eq=False)
class ConsensusGeometry(Geometry):
    """The consensus of AutoDALMC.

    Confidence and second-best cluster come from the partitions. Samples on which all partitions
    agree have no distance there, so distances are those in the embedding of the best candidate, to
    the mean of the cluster.
    """

    prepare: PartPreparation
    labeler: PartLabeler
    relabeling: Relabeling | None
    assignment: Assignment
    spread: ClusterSpread
    floor: float

    @property
    def consensus(self) -> Consensus:
        """Patterns of the clusters that were fitted."""
        return self.labeler.consensus

    def partitions(self, data: MultiViewData) -> Array:
        """Labels of samples, whose views are prepared, in all partitions."""
        return self.labeler.partitions(data)

    def fitted_labels(self, data: MultiViewData) -> Array:
        """Clusters of samples, whose views are prepared, before clusters were merged."""
        return self.consensus.labels(self.partitions(data))

    def labels(self, partitions: Array) -> Array:
        """Clusters of samples with these labels in the partitions."""
        labels = self.consensus.labels(partitions)
        return labels if self.relabeling is None else self.relabeling.clusters[labels]

    def pattern_squares(self, partitions: Array) -> Array:
        """Squared distances to the patterns of the clusters."""
        squares = self.consensus.squared_distances(partitions)
        return squares if self.relabeling is None else self.relabeling.nearest(squares)

    def located(self, part: MultiViewData) -> Iterator[Located]:
        """Yield the samples of a part in blocks, in order."""
        data = self.prepare(part)
        partitions, embedding = self.partitions(data), self.labeler.embedding(data)
        consensus = self.consensus
        if self.relabeling is not None:
            consensus = consensus.with_votes_for(self.relabeling.clusters)
        for rows in row_blocks(len(data), len(consensus.offsets)):
            own = partitions[:, rows]
            labels = self.labels(own)
            squares = self.assignment.squared_distances(embedding[rows])
            squares[:, self.spread.sizes == 0] = np.inf
            second = second_best(self.pattern_squares(own), labels)
            confidence, second_confidence = (
                consensus.confidence(own, clusters) for clusters in (labels, second)
            )
            yield Located(rows, labels, second, confidence, second_confidence, squares)


@dataclass(frozen=True, eq=False)
class MeansGeometry(Geometry):
    """Known labels, and the means of the clusters in every view."""

    labels_of: Any
    means: ViewMeans
    spread: ClusterSpread
    floor: float

    def located(self, part: MultiViewData) -> Iterator[Located]:
        """Yield the samples of a part in blocks, in order."""
        labels = self.labels_of(part)
        width = max(len(self.spread.sizes), *part.n_features_per_view)
        for rows in row_blocks(len(part), width):
            squares = self.means.squared_distances(part[rows])
            scale = max(self.spread.membership_scale(squares.shape[1]), self.floor)
            yield located_by_distance(rows, labels[rows], squares, scale)


def geometry_of(model: Any, labeled: LabeledSource) -> Geometry:
    """Geometry of a model; where it cannot predict, of its labels on the samples of a source."""
    if isinstance(model, AutoDALMC):
        return _consensus_geometry(model, labeled)
    if isinstance(model, DALMC) and hasattr(model, "predict"):
        return embedding_geometry(model)
    means, spread = fit_view_means(labeled)
    return MeansGeometry(labeled.labels_of, means, spread, ROUNDING)


def prepare_for(model: EmbeddingClusterer) -> PartPreparation:
    """Function that matches views to those of a model and prepares them as it does."""
    return model.part_preparation


def embedding_geometry(model: DALMC) -> EmbeddingGeometry:
    """Geometry of DALMC."""
    assignment = model._assignment
    return EmbeddingGeometry(
        prepare_for(model),
        model._embedder,
        assignment,
        model._relabeling,
        model.cluster_spread,
        model.membership_scale,
        ROUNDING * float(np.square(assignment.centroids).sum(axis=1).mean()),
    )


def _consensus_geometry(model: AutoDALMC, labeled: LabeledSource) -> ConsensusGeometry:
    labeler = model._labeler
    prepare = prepare_for(model)
    if isinstance(model.embedding_, np.ndarray) and len(model.embedding_):
        sums = _sums_of_blocks(model.embedding_, model.labels_, model.n_clusters_)
    else:
        # Results of the fit that are on workers, or were not saved, are not fetched.
        function = partial(_part_sums, prepare, labeler, model.n_clusters_)
        sums = labeled.source.reduce_as_is(function, RowSums.merged, "centers")
    return ConsensusGeometry(
        prepare,
        labeler,
        model._relabeling,
        Assignment(sums.means, normalize=True),
        sums.spread,
        ROUNDING,
    )


class RowSums(NamedTuple):
    """Sums over normalized rows of an embedding by cluster."""

    sizes: Array
    sums: Array
    squares: Array
    """Sums of squared norms: a row may be zero."""

    @classmethod
    def of(cls, embedding: Array, labels: Array, n_clusters: int) -> "RowSums":
        """Sums over rows with these labels."""
        members = np.equal.outer(np.arange(n_clusters), labels).astype(np.float64)
        rows = unit_rows(embedding).astype(np.float64)
        squares = members @ np.einsum("ij,ij->i", rows, rows)
        return cls(members.sum(axis=1), members @ rows, squares)

    def merged(self, other: "RowSums") -> "RowSums":
        """Sums over the rows of both."""
        return RowSums(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def means(self) -> Array:
        """Means by cluster."""
        return self.sums / np.maximum(self.sizes, 1)[:, None]

    @property
    def spread(self) -> ClusterSpread:
        """Distances of the rows to the mean of their cluster."""
        # Rows have length 1, so that the difference loses no more than `ROUNDING`.
        around = self.squares - self.sizes * np.einsum("ij,ij->i", self.means, self.means)
        return ClusterSpread(self.sizes, np.maximum(around, 0))


def _sums_of_blocks(embedding: Array, labels: Array, n_clusters: int) -> RowSums:
    blocks = row_blocks(len(labels), max(embedding.shape[1], n_clusters))
    parts = (RowSums.of(embedding[rows], labels[rows], n_clusters) for rows in blocks)
    return reduce(RowSums.merged, parts)


def _part_sums(
    prepare: PartPreparation, labeler: PartLabeler, n_clusters: int, part: MultiViewData
) -> RowSums:
    records = labeler(prepare(part))
    return _sums_of_blocks(records["embedding"], records["labels"], n_clusters)


def located_by_distance(rows: slice, labels: Array, squares: Array, scale: float) -> Located:
    """Samples whose confidence is their membership in their own cluster."""
    members = soft_memberships(squares, scale)
    second = second_best(squares, labels)
    confidence, second_confidence = np.take_along_axis(
        members, np.column_stack([labels, second]), axis=1
    ).T
    return Located(rows, labels, second, confidence, second_confidence, squares)


def soft_memberships(squares: Array, scale: float) -> Array:
    """Memberships, proportional to ``exp(-square / scale)``; they sum to 1."""
    away = squares - squares.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        members = np.exp(-away / scale)
    members /= members.sum(axis=1, keepdims=True)
    return members


def second_best(squares: Array, labels: Array) -> Array:
    """The nearest cluster other than the own one."""
    others = squares.copy()
    np.put_along_axis(others, labels[:, None], np.inf, axis=1)
    return others.argmin(axis=1).astype(np.int32)


def row_blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of rows whose distances to as many centers are held at a time."""
    step = max(1, LARGEST_BLOCK // width)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
