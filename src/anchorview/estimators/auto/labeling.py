"""Labels of any samples by the candidates and their consensus, in one pass over the parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorview._utils.text import listed, quoted
from anchorview._utils.typing import Array
from anchorview.core.assign import ClusterSpread, labels_of_runs
from anchorview.estimators.auto.candidate_embeddings import Families, for_candidate_embeddings
from anchorview.estimators.auto.candidates import LABEL_DTYPE, Candidate
from anchorview.estimators.auto.consensus import Consensus
from anchorview.estimators.auto.kmeans_runs import N_KMEANS_RUNS
from anchorview.estimators.auto.levels import FittedLevel
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
class SpreadOfRecords:
    """How far samples lie from the patterns of their clusters."""

    n_clusters: int

    def __call__(self, records: Array) -> ClusterSpread:
        """Spread of the samples with these records."""
        return ClusterSpread.of(records["labels"], records["squares"], self.n_clusters)
