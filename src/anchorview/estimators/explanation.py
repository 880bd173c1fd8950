"""What a fitted model says about samples, on which inspection, plots and reports build.

A model offers it as the method ``__anchorview_explain__``, which returns an `Explanation`. Models
without it are explained by their labels and by distances in the views
(``anchorview.inspection.labeled_parts``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils import gen_batches

from anchorview._utils.threads import for_blocks
from anchorview._utils.typing import Array
from anchorview.core.centers import Assignment, ClusterSpread
from anchorview.core.embed import Embedder, Pattern
from anchorview.core.scale import ViewScaling
from anchorview.core.scaled_view import scaled_product
from anchorview.estimators.relabeling import Relabeling
from anchorview.views.container import MultiViewData, RowBlock

LARGEST_BLOCK = 2**21
"""Maximum number of distances between samples and clusters that are held at a time."""

ROUNDING = 1e-12
"""Share of the squared norm of a center up to which a mean squared distance may be rounding."""

DOUBTFUL_SHARE = 0.5
"""Samples are doubtful if their membership in the next cluster is more than this share of that in
their cluster. Memberships themselves depend on the number of clusters."""

PartFunction = Callable[[MultiViewData], MultiViewData]


class ClusterDistances(NamedTuple):
    """Labels, confidence and distances to all clusters of some samples of a part."""

    rows: slice
    labels: Array
    second: Array
    """The second-best clusters."""
    confidence: Array
    second_confidence: Array
    """Confidence that the samples would have in their second-best clusters."""
    squares: Array
    """Squared distances to the centers of all clusters; infinite for empty ones."""

    @property
    def squares_to_cluster(self) -> Array:
        """Squared distances to the centers of their clusters."""
        return np.asarray(self.squares[np.arange(len(self.labels)), self.labels])


@dataclass(frozen=True, eq=False)
class Explanation(ABC):
    """How a model labels samples, and how certain it is; can be pickled, so workers apply it.

    Functions take parts of a source with views as they were given; clusters are as in `labels_`.
    """

    prepare: PartFunction
    """Matches views to those of the fit, and does with them what the model does first."""
    view_names: tuple[str, ...]
    """Names of the views, in the order of contributions."""
    spread: ClusterSpread
    """Distances of the samples of `fit` to the centers of their clusters."""
    scale: float
    """Squared distance at which a membership falls to 1/e."""
    floor: float
    """Mean squared distances up to which samples coincide with their centers."""

    @abstractmethod
    def labels(self, part: MultiViewData) -> Array:
        """Clusters of the samples of a part."""

    @abstractmethod
    def distances(self, part: MultiViewData) -> Iterator[ClusterDistances]:
        """Yield labels, confidence and distances of the samples of a part in blocks, in order."""

    def distances_of_rows(self, embedding: Array) -> Iterator[ClusterDistances] | None:
        """The same from rows of the model's `embedding_`; None if these do not determine it."""
        return None

    def memberships(self, part: MultiViewData) -> Array:
        """Memberships of samples in all clusters; rows sum to 1."""
        scale = max(self.scale, self.floor)
        return np.vstack([soft_memberships(block.squares, scale) for block in self.distances(part)])

    @abstractmethod
    def contributions(self) -> Callable[[MultiViewData], tuple[Array, Array]]:
        """Function of a part, for workers: clusters of its samples, and contributions of views.

        These, (n, n_views), sum to the margin by which a sample belongs to its cluster; NaN where
        it lacks the view.
        """

    @property
    def mean_square_per_cluster(self) -> Array:
        """Mean squared distance to the center, by cluster."""
        return np.maximum(self.spread.mean_square_per_cluster, self.floor)


def explanation_of_model(model: Any) -> Explanation | None:
    """Explanation that a model offers; None if it offers none, or only for the samples of `fit`."""
    explains = hasattr(model, "__anchorview_explain__") and hasattr(model, "predict")
    return model.__anchorview_explain__() if explains else None


@dataclass(frozen=True, eq=False)
class FittedExplanation(Explanation):
    """That of a model with clusters that have centers in its embedding."""

    relabeling: Relabeling
    """Clusters that `relabel` has merged or named."""
    assignment: Assignment

    def labels(self, part: MultiViewData) -> Array:
        return self.relabeling(self.fitted_labels(self.prepare(part)))

    @abstractmethod
    def fitted_labels(self, data: MultiViewData) -> Array:
        """Clusters of samples with prepared views, before clusters were merged."""

    @abstractmethod
    def margins(self, data: MultiViewData) -> tuple[Array, Array]:
        """The same clusters, and the contributions of the prepared views, (n, n_views)."""

    def contributions(self) -> Callable[[MultiViewData], tuple[Array, Array]]:
        return self._contributions

    def _contributions(self, part: MultiViewData) -> tuple[Array, Array]:
        data = self.prepare(part)
        fitted, contributions = self.margins(data)
        if data.available is not None:
            contributions[~data.available] = np.nan
        return self.relabeling(fitted), contributions


@dataclass(frozen=True, eq=False)
class EmbeddingExplanation(FittedExplanation):
    """Rows of the embedding of DALMC and the centroids of K-means."""

    embedder: Embedder
    """None of an ablation, which has only `distances_of_rows`."""

    def fitted_labels(self, data: MultiViewData) -> Array:
        return self.assignment(self.embedder(data))

    def distances(self, part: MultiViewData) -> Iterator[ClusterDistances]:
        return self.distances_of_rows(self.embedder(self.prepare(part)))

    def distances_of_rows(self, embedding: Array) -> Iterator[ClusterDistances]:
        # All at once, as `predict` does: rounding may decide between equally near centroids.
        labels = self.relabeling(self.assignment(embedding))
        for rows in row_blocks(len(labels), len(self.assignment.centroids)):
            squares = self.relabeling.nearest(self.assignment.squared_distances(embedding[rows]))
            yield with_memberships(rows, labels[rows], squares, max(self.scale, self.floor))

    def certain_labels(
        self, embedding: Array, threshold: float | None = None, doubtful: int = -1
    ) -> Array:
        """Clusters of rows of the embedding, a number in place of the cluster for those in doubt.

        By default, their confidence is not far above that of the next cluster.
        """
        labels = np.empty(len(embedding), dtype=np.int32)
        for block in self.distances_of_rows(embedding):
            if threshold is None:
                in_doubt = block.second_confidence > DOUBTFUL_SHARE * block.confidence
            else:
                in_doubt = block.confidence < threshold
            labels[block.rows] = np.where(in_doubt, doubtful, block.labels)
        return np.where(np.isnan(embedding[:, 0]), -1, labels).astype(np.int32)

    def memberships(self, part: MultiViewData) -> Array:
        blocks, scale = self.distances(part), max(self.scale, self.floor)
        members = ((soft_memberships(block.squares, scale), block.labels) for block in blocks)
        return np.vstack([with_largest_at(*block) for block in members])

    def margins(self, data: MultiViewData) -> tuple[Array, Array]:
        fitted = self.fitted_labels(data)
        directions = cluster_directions(self.assignment.centroids, self.relabeling)
        readout = Readout(self.embedder, directions, self.assignment.normalize)
        return fitted, readout.contributions(data, fitted)


class ViewMaps(Protocol):
    """Linear maps of the scaled views; clusters are told by their sum."""

    @property
    def scalings(self) -> tuple[ViewScaling, ...]:
        """Scaling of each view."""

    def map_from(self, views: Pattern) -> Array:
        """Map from the scaled features of some views, side by side."""


@dataclass(frozen=True, eq=False)
class Readout:
    """An embedding, and the direction in it that supports each cluster.

    An embedding is a sum over views of linear maps, ``s = sum_p x_p W_p``, so what decides between
    clusters is a sum over views as well.
    """

    maps: ViewMaps
    directions: Array
    """Rows of clusters as they were fitted."""
    normalize: bool = True
    """Whether embeddings are divided by their norms."""

    def contributions(self, data: MultiViewData, labels: Array) -> Array:
        """Contributions of the views of samples with these labels, (n, n_views)."""
        contributions = np.zeros((len(data), len(data.views)))
        scalings, maps = self.maps.scalings, {}
        for g, group in enumerate(data.groups):
            widths = [data.n_features_per_view[p] for p in group.views]
            W = self.maps.map_from(group.views).astype(data.dtype)
            maps[g] = np.split(W, np.cumsum(widths)[:-1])

        def work(block: RowBlock) -> None:
            terms = [
                scaled_product(data.views[p][block.rows], scalings[p], W).astype(np.float64)
                for p, W in zip(block.views, maps[block.group], strict=True)
            ]
            factor = self._factor(sum(terms[1:], terms[0]))
            directions = self.directions[labels[block.rows]]
            for p, term in zip(block.views, terms, strict=True):
                contributions[block.rows, p] = np.einsum("ij,ij->i", term, directions) * factor

        for_blocks(work, data.blocks(), "contributions")
        return contributions

    def _factor(self, embedding: Array) -> Array:
        """Reciprocal norms, as `unit_rows` divides by them."""
        lengths = np.linalg.norm(embedding, axis=1)
        unit = np.ones_like(lengths)
        divided = self.normalize and embedding.shape[1] > 1
        return np.divide(1, lengths, out=unit, where=lengths > 0) if divided else unit


def cluster_directions(
    centers: Array, relabeling: Relabeling, occupied: Array | None = None
) -> Array:
    """Centers minus the mean of the centers of other clusters; clusters may have been merged."""
    clusters = relabeling.clusters
    others = (clusters[:, None] != clusters).astype(np.float64)
    if occupied is not None:
        others[:, ~occupied] = 0
    others /= np.maximum(others.sum(axis=1, keepdims=True), 1)
    return np.asarray(centers - others @ centers)


def with_memberships(rows: slice, labels: Array, squares: Array, scale: float) -> ClusterDistances:
    """Samples with the membership in their cluster as confidence."""
    members, second = soft_memberships(squares, scale), second_best(squares, labels)
    at = np.arange(len(labels))
    return ClusterDistances(rows, labels, second, members[at, labels], members[at, second], squares)


def soft_memberships(squares: Array, scale: float) -> Array:
    """Memberships, proportional to ``exp(-square / scale)``; they sum to 1."""
    away = squares - squares.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        members = np.exp(-away / scale)
    members /= members.sum(axis=1, keepdims=True)
    return members


def with_largest_at(members: Array, labels: Array) -> Array:
    """Memberships of which that of the label is the largest, where rounding says otherwise."""
    wrong = np.flatnonzero(members.argmax(axis=1) != labels)
    members[wrong, labels[wrong]] = np.nextafter(members[wrong].max(axis=1), 2)
    return members


def second_best(squares: Array, labels: Array) -> Array:
    """The nearest of the other clusters."""
    others = squares.copy()
    others[np.arange(len(labels)), labels] = np.inf
    return others.argmin(axis=1).astype(np.int32)


def row_blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of rows, each with as many distances to centers as are held at a time."""
    return gen_batches(n, max(1, LARGEST_BLOCK // width))
