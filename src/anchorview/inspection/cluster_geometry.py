"""Where samples lie among the clusters of a model: distances, confidence, second-best cluster.

Beside ``view_contributions``, this is the only module here that knows what the estimators have
learned. Geometries can be pickled, so that workers apply them to the parts of a source.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anchorview._utils.linalg import unit_rows
from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment
from anchorview.core.cluster_spread import ClusterSpread
from anchorview.core.embed import Embedder
from anchorview.core.imputation import Imputation
from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.auto.candidates import Candidate, Family, FittedFamily, partitions_of
from anchorview.estimators.auto.consensus import Consensus
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

    prepare: Imputation
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

    prepare: Imputation
    families: dict[Family, FittedFamily]
    candidates: list[Candidate]
    consensus: Consensus
    relabeling: Relabeling | None
    best: int
    assignment: Assignment
    spread: ClusterSpread
    floor: float

    def partitions(self, data: MultiViewData) -> Array:
        """Labels of samples, whose views are prepared, in all partitions."""
        found = partitions_of(
            self.candidates, len(data), lambda family: self.families[family].transform(data)
        )
        return found.reshape(-1, len(data))

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
        best = self.candidates[self.best]
        embedding = best.embedder(self.families[best.setting.family].transform(data))
        partitions = self.partitions(data)
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
        return _consensus_geometry(model)
    if isinstance(model, DALMC) and hasattr(model, "predict"):
        return embedding_geometry(model)
    means, spread = fit_view_means(labeled)
    return MeansGeometry(labeled.labels_of, means, spread, ROUNDING)


def prepare_for(model: Any) -> Imputation:
    """Function that matches views to those of a model and imputes as it does."""
    return Imputation(model.imputation_, model.fitted_views)


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


def _consensus_geometry(model: AutoDALMC) -> ConsensusGeometry:
    assignment, spread = _means_of_clusters(model.embedding_, model.labels_, model.n_clusters_)
    return ConsensusGeometry(
        prepare_for(model),
        model._families,
        model._candidates,
        model._consensus,
        model._relabeling,
        model.best_candidate_,
        assignment,
        spread,
        ROUNDING,
    )


def _means_of_clusters(
    embedding: Array, labels: Array, n_clusters: int
) -> tuple[Assignment, ClusterSpread]:
    """Means of the normalized rows of an embedding by cluster, and the distances to them."""
    sums = np.zeros((n_clusters, embedding.shape[1]))
    sizes = np.bincount(labels, minlength=n_clusters)
    blocks = list(row_blocks(len(labels), embedding.shape[1]))
    for rows in blocks:
        members = np.equal.outer(np.arange(n_clusters), labels[rows]).astype(np.float64)
        sums += members @ unit_rows(embedding[rows])
    means = Assignment(sums / np.maximum(sizes, 1)[:, None], normalize=True)
    spread = ClusterSpread(np.zeros(n_clusters), np.zeros(n_clusters))
    for rows in blocks:
        away = unit_rows(embedding[rows]) - means.centroids[labels[rows]]
        squares = np.einsum("ij,ij->i", away, away)
        spread = spread.merged(ClusterSpread.of(labels[rows], squares, n_clusters))
    return means, spread


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
