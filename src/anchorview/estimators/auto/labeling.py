"""Labels of any samples by the candidates and their consensus, in one pass over the parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from anchorview._utils.linalg import unit_rows
from anchorview._utils.text import listed, quoted
from anchorview._utils.typing import Array
from anchorview.core.assign import ClusterSpread, labels_of_runs
from anchorview.estimators.auto.candidate_embeddings import Families, for_candidate_embeddings
from anchorview.estimators.auto.candidates import LABEL_DTYPE, Candidate
from anchorview.estimators.auto.consensus import Consensus
from anchorview.estimators.auto.kmeans_runs import N_KMEANS_RUNS
from anchorview.estimators.auto.levels import FittedLevel
from anchorview.estimators.explanation import row_blocks
from anchorview.estimators.relabeling import Relabeling
from anchorview.views.container import MultiViewData
from anchorview.views.fitted_views import FittedViews

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


@dataclass(frozen=True, eq=False)
class PartLabeler:
    """Labels samples as a fitted model does; it has what workers need, and can be pickled.

    Calling it returns the records of samples: cluster, the one with the second nearest pattern,
    confidence, squared distance to the own pattern, and embedding by the best candidate.
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
    def n_anchors(self) -> int:
        """Columns of the embedding."""
        return self.candidates[self.best].embedder.n_anchors

    def __call__(self, part: MultiViewData) -> Array:
        """Records of the samples of a part."""
        data = self.views(part)
        records = np.empty(len(data), self.record_type(part.dtype))
        consensus, clusters = self.consensus, self.clusters
        voting = consensus if clusters is None else consensus.with_votes_for(clusters)

        def write(rows: slice | Array, embeddings: Sequence[Array]) -> None:
            partitions = _block_labels(self.candidates, embeddings[: len(self.candidates)])
            labels, second, squares = consensus.nearest_two(partitions)
            if clusters is not None:
                labels, second = clusters[labels], clusters[second]
                second = np.where(second == labels, np.int32(-1), second)
            records["labels"][rows] = labels
            records["second_labels"][rows] = second
            records["confidence"][rows] = voting.confidence(partitions, labels)
            records["squares"][rows] = squares
            records["embedding"][rows] = embeddings[self.best]
            first = len(self.candidates)
            for position, level in enumerate(self.other_levels):
                last = first + len(level.candidates)
                own = _level_labels(level, embeddings[first:last])
                records["level_labels"][rows, position] = own
                first = last

        others = (candidate for level in self.other_levels for candidate in level.candidates)
        for_candidate_embeddings(write, self.families, [*self.candidates, *others], data)
        return records

    def record_type(self, dtype: "np.dtype[Any]") -> "np.dtype[Any]":
        """Type of the record of a sample, whose embedding has the type `dtype`."""
        return record_type(self.n_anchors, dtype, len(self.other_levels))

    def labels(self, part: MultiViewData) -> Array:
        """Clusters of the samples of a part."""
        return self(part)["labels"]

    def embedding(self, part: MultiViewData) -> Array:
        """Embedding of the samples of a part by the best candidate."""
        data = self.views(part)
        embedding = np.empty((len(data), self.n_anchors), part.dtype)

        def write(rows: slice | Array, embeddings: Sequence[Array]) -> None:
            embedding[rows] = embeddings[0]

        for_candidate_embeddings(write, self.families, [self.candidates[self.best]], data)
        return embedding

    def partitions(self, part: MultiViewData) -> Array:
        """Labels by all K-means runs, (n_partitions, n); those of a candidate follow each other."""
        return partitions_of(self.families, self.candidates, self.views(part))

    def candidate_labels(self, part: MultiViewData) -> Array:
        """Labels by the first K-means run of each candidate, (n, n_candidates)."""
        return self.partitions(part)[::N_KMEANS_RUNS].T


def partitions_of(
    families: Families, candidates: Sequence[Candidate], data: MultiViewData
) -> Array:
    """Labels by all K-means runs of all candidates, (n_partitions, n)."""
    labels = np.empty((len(candidates) * N_KMEANS_RUNS, len(data)), dtype=LABEL_DTYPE)

    def write(rows: slice | Array, embeddings: Sequence[Array]) -> None:
        labels[:, rows] = _block_labels(candidates, embeddings)

    for_candidate_embeddings(write, families, candidates, data)
    return labels


def _block_labels(candidates: Sequence[Candidate], embeddings: Sequence[Array]) -> Array:
    """Labels of a block of samples by all K-means runs of all candidates."""
    pairs = zip(candidates, embeddings, strict=True)
    labels = [labels_of_runs(candidate.runs, rows) for candidate, rows in pairs]
    return np.vstack(labels).astype(LABEL_DTYPE)


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

        def write(rows: slice | Array, embeddings: Sequence[Array]) -> None:
            labels[rows] = _level_labels(self.level, embeddings)

        for_candidate_embeddings(write, self.families, self.level.candidates, data)
        return labels


def _level_labels(level: FittedLevel, embeddings: Sequence[Array]) -> Array:
    """Clusters of a block at a level that is not the chosen one."""
    assert level.consensus is not None
    return level.consensus.labels(_block_labels(level.candidates, embeddings))


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
