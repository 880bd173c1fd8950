"""Labels of any samples by the candidates and their consensus, in one pass over the parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from anchorview._utils.linalg import unit_rows
from anchorview._utils.text import listed, quoted
from anchorview._utils.threads import parallel_map, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.assign import ClusterSpread, labels_of_runs
from anchorview.core.embed import Embedder, Pattern
from anchorview.core.scale import ViewScaling
from anchorview.estimators.auto.bases import Basis, Coordinates
from anchorview.estimators.auto.candidates import Candidate
from anchorview.estimators.auto.consensus import Consensus
from anchorview.estimators.auto.landmarks import (
    LABEL_DTYPE,
    Landmarks,
    Neighbors,
    labels_by_landmarks,
)
from anchorview.estimators.auto.levels import FittedLevel
from anchorview.estimators.auto.settings import SHARING_A_BASIS
from anchorview.estimators.explanation import row_blocks
from anchorview.estimators.relabeling import Relabeling
from anchorview.views.container import MultiViewData, container_with_views
from anchorview.views.fitted_views import FittedViews

BLOCK_BYTES, MIN_BLOCK = 16 * 2**20, 256
"""Size of the rows that a thread labels at a time, and their minimum number."""

RESULTS = ("labels", "confidence", "second_labels", "embedding")
"""Fields of the records that are results of every fit."""


def record_type(n_anchors: int, dtype: "np.dtype[Any]", n_other_levels: int = 0) -> "np.dtype[Any]":
    """Type of the record of a sample, whose embedding has the type `dtype`."""
    fields: list[Any] = [
        ("labels", np.int32),
        ("second_labels", np.int32),
        ("confidence", np.float64),
        ("squares", np.float64),
        ("embedding", dtype, (n_anchors,)),
    ]
    if n_other_levels:
        fields.append(("level_labels", np.int32, (n_other_levels,)))
    return np.dtype(fields)


@dataclass(frozen=True, eq=False)
class UsedViews:
    """Matches the views of samples to those of a fit, and selects those that it uses."""

    fitted: FittedViews
    positions: tuple[int, ...]
    """Positions of the views that are used."""

    def __call__(self, part: MultiViewData) -> MultiViewData:
        """Samples with these views; raises if a sample has none of them."""
        data = part.matched_to(self.fitted)
        if len(self.positions) == len(self.fitted.names):
            return data
        used = data.with_views(self.positions)
        if used.available is not None and not (has := used.available.any(axis=1)).all():
            row = int(np.flatnonzero(~has)[0])
            sample = "" if data.sample_ids is None else f" ({quoted(data.sample_ids[row])})"
            assert data.available is not None
            own = [data.names[p] for p in np.flatnonzero(data.available[row])]
            only = f"the view{'s' * (len(own) > 1)} {listed(own)}"
            raise ValueError(
                f"Sample {part.first_row + row}{sample} has only {only}, set aside by "
                f"{self.fitted.estimator} in fit because of disagreement with the other views. "
                f"Give one of {listed(used.names)} for it, drop it, or use DALMC, which uses all "
                "views."
            )
        return used


class LocatedSamples:
    """Some samples in coordinates and among landmarks, each of which is computed once."""

    def __init__(self, families: "Families", data: MultiViewData) -> None:
        self._families, self._data = families, data
        self._coordinates: Coordinates = {}
        self._neighbors: dict[str, list[Neighbors]] = {}

    def coordinates(self, scaling: str) -> MultiViewData:
        """Coordinates in a scaling."""
        if scaling not in self._coordinates:
            basis = self._families.basis_of(scaling)
            assert basis is not None
            self._coordinates |= basis(self._data)
        return self._coordinates[scaling]

    def neighbors(self, scaling: str) -> list[Neighbors]:
        """Nearest landmarks in a scaling."""
        if scaling not in self._neighbors:
            landmarks = self._families.landmarks[scaling]
            self._neighbors[scaling] = landmarks.nearest(self.coordinates(scaling))
        return self._neighbors[scaling]

    def embedding(self, candidate: Candidate) -> Array:
        """Embedding by a candidate that has one."""
        assert candidate.embedder is not None
        return candidate.embedder(self.coordinates(candidate.setting.scaling))

    def partitions(self, candidates: Sequence[Candidate], n_clusters: int) -> Array:
        """Labels in all partitions of candidates, (n_partitions, n)."""
        partitions: list[Array] = []
        for candidate in candidates:
            scaling = candidate.setting.scaling
            if candidate.landmark_labels is None:
                partitions.extend(labels_of_runs(candidate.runs, self.embedding(candidate)))
                continue
            neighbors, counts = self.neighbors(scaling), self._families.landmarks[scaling].counts
            for labels in candidate.landmark_labels:
                partitions.append(labels_by_landmarks(neighbors, labels, counts, n_clusters))
        return np.array(partitions, dtype=LABEL_DTYPE)


@dataclass(frozen=True, eq=False)
class Families:
    """What the candidates of a fitted model take samples in; can be pickled."""

    bases: dict[str, Basis]
    """By the first of the two scalings of each."""
    landmarks: dict[str, Landmarks]
    """By scaling."""

    def basis_of(self, scaling: str) -> Basis | None:
        """Basis of a scaling; None if there is none."""
        for first, basis in self.bases.items():
            if scaling in (first, SHARING_A_BASIS[first]):
                return basis
        return None

    def blocks(self, data: MultiViewData) -> list[slice]:
        """Rows that are labeled at a time."""
        width = max(sum(data.n_features_per_view), 1)
        step = max(MIN_BLOCK, BLOCK_BYTES // (data.dtype.itemsize * width))
        return list(gen_batches(len(data), step)) if len(data) else []

    def for_blocks(
        self, function: Callable[[slice, LocatedSamples], None], data: MultiViewData
    ) -> None:
        """Call a function of rows, and of the samples there, for blocks that cover all samples."""

        def work(rows: slice) -> None:
            with without_nested_threads():
                function(rows, LocatedSamples(self, data[rows]))

        for _ in parallel_map(work, self.blocks(data)):
            pass

    def partitions(
        self, candidates: Sequence[Candidate], n_clusters: int, data: MultiViewData
    ) -> Array:
        """Labels of samples in all partitions of candidates, (n_partitions, n)."""
        count = sum(candidate.n_partitions for candidate in candidates)
        partitions = np.empty((count, len(data)), dtype=LABEL_DTYPE)

        def write(rows: slice, samples: LocatedSamples) -> None:
            partitions[:, rows] = samples.partitions(candidates, n_clusters)

        self.for_blocks(write, data)
        return partitions


@dataclass(frozen=True, eq=False)
class PartLabeler:
    """Labels samples as a fitted model does; it has what workers need, and can be pickled.

    Calling it returns the records of samples: cluster, the one with the second nearest pattern,
    confidence, squared distance to the pattern of the cluster, and embedding by the best candidate.
    """

    views: UsedViews
    families: Families
    candidates: Sequence[Candidate]
    consensus: Consensus
    best: int
    """Position of the candidate whose embedding is returned."""
    clusters: Array | None = None
    """New clusters by those that were fitted, if these have been merged or renamed."""
    other_levels: tuple[FittedLevel, ...] = ()
    """Levels that are labeled too."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters that were fitted."""
        return len(self.consensus.offsets)

    @property
    def n_anchors(self) -> int:
        """Columns of the embedding."""
        embedder = self.candidates[self.best].embedder
        assert embedder is not None
        return embedder.n_anchors

    def __call__(self, part: MultiViewData) -> Array:
        """Records of the samples of a part."""
        data = self.views(part)
        records = np.empty(len(data), self.record_type(part.dtype))
        consensus, clusters = self.consensus, self.clusters
        voting = consensus if clusters is None else consensus.with_votes_for(clusters)

        def write(rows: slice, samples: LocatedSamples) -> None:
            partitions = samples.partitions(self.candidates, self.n_clusters)
            labels, second, squares = consensus.nearest_two(partitions)
            if clusters is not None:
                labels, second = clusters[labels], clusters[second]
                second = np.where(second == labels, np.int32(-1), second)
            records["labels"][rows] = labels
            records["second_labels"][rows] = second
            records["confidence"][rows] = voting.confidence(partitions, labels)
            records["squares"][rows] = squares
            records["embedding"][rows] = samples.embedding(self.candidates[self.best])
            for position, level in enumerate(self.other_levels):
                records["level_labels"][rows, position] = level.labels(samples)

        self.families.for_blocks(write, data)
        return records

    def record_type(self, dtype: "np.dtype[Any]") -> "np.dtype[Any]":
        """Type of the record of a sample, whose embedding has the type `dtype`."""
        return record_type(self.n_anchors, dtype, len(self.other_levels))

    def labels(self, part: MultiViewData) -> Array:
        """Clusters of the samples of a part."""
        return self.consensus_labels(self.partitions(part))

    def consensus_labels(self, partitions: Array) -> Array:
        """Clusters of samples with these labels in the partitions."""
        labels = self.consensus.labels(partitions)
        return labels if self.clusters is None else self.clusters[labels]

    def embedding(self, part: MultiViewData) -> Array:
        """Embedding of the samples of a part by the best candidate."""
        data = self.views(part)
        embedding = np.empty((len(data), self.n_anchors), part.dtype)

        def write(rows: slice, samples: LocatedSamples) -> None:
            embedding[rows] = samples.embedding(self.candidates[self.best])

        self.families.for_blocks(write, data)
        return embedding

    def partitions(self, part: MultiViewData) -> Array:
        """Labels in all partitions, (n_partitions, n); those of a candidate follow each other."""
        return self.families.partitions(self.candidates, self.n_clusters, self.views(part))

    def candidate_labels(self, part: MultiViewData) -> Array:
        """Labels in the first partition of each candidate, (n, n_candidates)."""
        firsts = np.cumsum([0, *(c.n_partitions for c in self.candidates[:-1])])
        return self.partitions(part)[firsts].T


@dataclass(frozen=True, eq=False)
class LevelLabeler:
    """Labels samples at a level that is not the chosen one; it can be pickled."""

    views: UsedViews
    families: Families
    level: FittedLevel

    def __call__(self, part: MultiViewData) -> Array:
        """Clusters of the samples of a part."""
        data = self.views(part)
        labels = np.empty(len(data), np.int32)

        def write(rows: slice, samples: LocatedSamples) -> None:
            labels[rows] = self.level.labels(samples)

        self.families.for_blocks(write, data)
        return labels


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


@dataclass(frozen=True)
class RowSums:
    """Sums over the normalized rows of an embedding, by cluster."""

    sizes: Array
    sums: Array
    squares: Array
    """Sums of squared norms: a row may be zero."""

    @classmethod
    def of(cls, embedding: Array, labels: Array, n_clusters: int) -> "RowSums":
        """Sums over rows with these labels."""
        width = embedding.shape[1]
        nothing = cls(np.zeros(n_clusters), np.zeros((n_clusters, width)), np.zeros(n_clusters))
        blocks = row_blocks(len(labels), max(width, n_clusters))
        parts = (cls._of_block(embedding[rows], labels[rows], n_clusters) for rows in blocks)
        return reduce(cls.merged, parts, nothing)

    @classmethod
    def _of_block(cls, embedding: Array, labels: Array, n_clusters: int) -> "RowSums":
        n = len(labels)
        shape = (n, n_clusters)
        members = sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=shape).T
        rows = unit_rows(embedding).astype(np.float64)
        squares = members @ np.einsum("ij,ij->i", rows, rows)
        return cls(np.bincount(labels, minlength=n_clusters) * 1.0, members @ rows, squares)

    def merged(self, other: "RowSums") -> "RowSums":
        """Sums over the rows of both."""
        return RowSums(
            self.sizes + other.sizes, self.sums + other.sums, self.squares + other.squares
        )

    def relabeled(self, relabeling: Relabeling | None) -> "RowSums":
        """Sums by the clusters after relabeling."""
        if relabeling is None:
            return self
        members = np.equal.outer(np.arange(len(relabeling.names)), relabeling.clusters) * 1.0
        return RowSums(members @ self.sizes, members @ self.sums, members @ self.squares)

    @property
    def means(self) -> Array:
        """Means by cluster."""
        return self.sums / np.maximum(self.sizes, 1)[:, None]

    @property
    def spread(self) -> ClusterSpread:
        """Distances of the rows to the mean of their cluster."""
        # Rows have length 1, so that the difference loses no more than rounding.
        around = self.squares - self.sizes * np.einsum("ij,ij->i", self.means, self.means)
        return ClusterSpread(self.sizes, np.maximum(around, 0))


@dataclass(frozen=True)
class SumsOfRecords:
    """Sums over records by cluster: distances to the patterns, and rows of the embedding."""

    n_clusters: int

    def __call__(self, records: Array) -> tuple[ClusterSpread, RowSums]:
        """Sums over the samples with these records."""
        labels = records["labels"]
        return (
            ClusterSpread.of(labels, records["squares"], self.n_clusters),
            RowSums.of(records["embedding"], labels, self.n_clusters),
        )


def merged_sums(
    a: tuple[ClusterSpread, RowSums], b: tuple[ClusterSpread, RowSums]
) -> tuple[ClusterSpread, RowSums]:
    """Sums over the samples of both."""
    return a[0].merged(b[0]), a[1].merged(b[1])
