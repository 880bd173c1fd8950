"""Candidates: settings of three kinds, and what gives their partitions to any samples.

A kind of candidate is a subclass of `Setting`, which is fitted to the samples of a pool, and an
entry in `POOL`. What it fits is a `Candidate`, which labels any samples and says what in their
views supports a cluster. Kinds and their weights were chosen on data sets that are not part of
benchmarks/auto.md as well.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
from scipy.linalg import LinAlgError
from scipy.sparse.linalg import ArpackError

from anchorview._utils.linalg import unit_rows
from anchorview._utils.threads import without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment, distant_rows, labels_of_runs
from anchorview.core.blockwise_kmeans import (
    EmbeddedRows,
    Refined,
    kmeans_plusplus,
    lloyd,
    repair,
)
from anchorview.core.embed import Embedder, Pattern, embedder_of
from anchorview.core.scale import ViewScaling
from anchorview.core.solve import Sizes, SolverSettings, solve
from anchorview.estimators.auto.bases import (
    NEIGHBOR_SCALINGS,
    SCALINGS,
    Families,
    LocatedSamples,
)
from anchorview.estimators.auto.consensus import Family
from anchorview.estimators.auto.landmarks import (
    LABEL_DTYPE,
    LandmarkLabels,
    Landmarks,
    Neighbors,
)
from anchorview.estimators.auto.neighbor_graphs import N_NEIGHBORS
from anchorview.estimators.explanation import ViewMaps
from anchorview.views.container import MultiViewData, container_with_views

if TYPE_CHECKING:
    from anchorview.estimators.auto.pool import CandidatePool

Budget = Literal["fast", "default", "thorough"]
BUDGETS: tuple[Budget, ...] = ("fast", "default", "thorough")

MAX_ITER, TOL, BETA = 50, 1e-4, 0.1

SIZES: tuple[tuple[int, int], ...] = ((2, 2), (1, 2), (1, 1))
"""Numbers of anchors and of components per view, as multiples of the number of clusters. The first
one is better for many clusters, the second one for few clusters in narrow views."""
COMPARED_SIZE = (1, 2)
"""Size of settings that are compared with communities, to save time."""

N_NEAREST = 10
"""Number of neighbors of which eigenvectors are computed, and communities are found too."""

N_KMEANS_RUNS = 2
"""Number of K-means runs per candidate. One run of each, or four, did not do better, but more for
few samples: their results depend less on the seed."""
FEW_SAMPLES, N_KMEANS_RUNS_OF_FEW = 1_500, 5

MAX_TRIALS = 10
"""Maximum number of candidates per centroid of a start; runs are not repaired as a rule."""

SETTLED = 1e-4
"""Relative decrease of the inertia in a step below which a run, or its repair, ends."""


class CandidateError(Exception):
    """A candidate cannot be fitted to these samples."""


FIT_ERRORS = (CandidateError, LinAlgError, ArpackError, MemoryError)
"""Errors by which a candidate is left out; the others are still fitted."""


class Samples(Protocol):
    """Samples in coordinates and among landmarks."""

    def coordinates_in(self, scaling: str) -> MultiViewData:
        """Coordinates in a scaling."""

    def landmarks_in(self, scaling: str) -> tuple[Landmarks, list[Neighbors]]:
        """Landmarks in a scaling, and the nearest ones of the samples."""


@dataclass(frozen=True)
class Setting(ABC):
    """A kind of candidate, and a scaling of the views."""

    scaling: str
    kind_weight: ClassVar[float]
    """Weight of the kind in the consensus."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Name of the kind."""

    @property
    def family(self) -> Family:
        """Kind and scaling."""
        return Family(self.kind, self.scaling, self.kind_weight)

    @abstractmethod
    def fit(self, pool: "CandidatePool", n_clusters: int) -> tuple["Candidate", Array]:
        """Candidate for the samples of a pool, and their labels in its partitions."""

    def row(self, n_clusters: int) -> dict[str, Any]:
        """Setting as a row of the table of candidates."""
        names = ("n_anchors", "n_components", "beta", "n_neighbors")
        return {"kind": self.kind, "scaling": self.scaling, **dict.fromkeys(names)}


@dataclass(frozen=True)
class Candidate(ABC):
    """A fitted setting, which labels any samples."""

    setting: Setting
    seconds: float

    @property
    @abstractmethod
    def n_partitions(self) -> int:
        """Number of partitions."""

    @abstractmethod
    def labels(self, samples: Samples) -> Array:
        """Labels of samples in the partitions, (n_partitions, n)."""

    @abstractmethod
    def readout(
        self, families: Families, patterns: Array
    ) -> tuple["FamilyTransform", ViewMaps, Array]:
        """What the partitions see of samples, its linear maps, and where clusters are in these.

        `patterns` are frequencies of labels by cluster, partition and label.
        """

    def row(self) -> dict[str, float | None]:
        """Results in the table of candidates."""
        return {"inertia": None, "n_iter": None, "seconds": self.seconds}


# Directions


@dataclass(frozen=True)
class Directions(Setting):
    """DALMC on the coordinates of the views, and K-means runs on its embedding."""

    anchors: int
    """Number of anchors per cluster."""
    components: int
    """Number of components per view and cluster."""
    beta: float = BETA
    compared: bool = False
    """Whether there is one repaired run. Runs that end with two clusters in one would lower the
    agreement with communities at the right number."""

    kind = "directions"
    kind_weight = 1 / 2

    def __str__(self) -> str:
        sizes = f"{self.anchors}k anchors, {self.components}k components"
        return f"{self.kind}, {self.scaling}, {sizes}, beta {self.beta:g}"

    def row(self, n_clusters: int) -> dict[str, Any]:
        """Setting as a row of the table of candidates."""
        return super().row(n_clusters) | {
            "n_anchors": self.anchors * n_clusters,
            "n_components": self.components * n_clusters,
            "beta": self.beta,
        }

    def fit(self, pool: "CandidatePool", n_clusters: int) -> tuple[Candidate, Array]:
        """Candidate for the samples of a pool, and their labels in its partitions."""
        clock = perf_counter()
        data = pool.coordinates_in(self.scaling)
        problem, spectra = pool.linear_problem(self.scaling)
        sizes = Sizes(
            n_clusters,
            n_components=self.components * n_clusters,
            default_anchors=self.anchors * n_clusters,
        )
        settings = SolverSettings(sizes, self.beta, MAX_ITER, TOL, importance=pool.importance)
        solution, _ = solve(problem, data, settings, spectra=spectra)
        embedder = embedder_of(solution, problem)
        assert embedder is not None
        n_runs = 1 if self.compared else n_kmeans_runs(len(pool))
        runs, labels, inertia = kmeans_runs(
            embedder(data), n_clusters, pool.seed, n_runs, repairs=self.compared
        )
        _require_clusters(labels)
        seconds = perf_counter() - clock
        candidate = EmbeddedCandidate(
            self, seconds, embedder, runs, solution.weights, solution.objective, inertia
        )
        return candidate, labels


@dataclass(frozen=True)
class EmbeddedCandidate(Candidate):
    """An embedding in coordinates, and K-means runs on it."""

    embedder: Embedder
    runs: tuple[Assignment, ...]
    """By ascending inertia."""
    view_weights: Array
    objective: Array
    inertia: float
    """Mean squared distance of the embedding's rows to their centroids, in the first run."""

    @property
    def n_partitions(self) -> int:
        """Number of K-means runs."""
        return len(self.runs)

    def embedding(self, samples: Samples) -> Array:
        """Embedding of samples."""
        return self.embedder(samples.coordinates_in(self.setting.scaling))

    def labels(self, samples: Samples) -> Array:
        """Labels of samples in the partitions, (n_partitions, n)."""
        return labels_of_runs(self.runs, self.embedding(samples))

    def readout(
        self, families: Families, patterns: Array
    ) -> tuple["FamilyTransform", ViewMaps, Array]:
        """Coordinates, the embedding, and the mean centroids of the clusters."""
        centroids = np.stack([run.centroids for run in self.runs])
        centers = np.einsum("cra,ral->cl", patterns, centroids)
        return FamilyTransform(families, self.setting.scaling), self.embedder, centers

    def row(self) -> dict[str, float | None]:
        """Results in the table of candidates."""
        return super().row() | {"inertia": self.inertia, "n_iter": len(self.objective) or None}


# Neighbors


@dataclass(frozen=True)
class OfNeighbors(Setting):
    """Candidates that are found in the neighbor graphs of the views."""

    n_neighbors: int = N_NEAREST

    def __str__(self) -> str:
        return f"{self.kind}, {self.scaling}, {self.n_neighbors} neighbors"

    def row(self, n_clusters: int) -> dict[str, Any]:
        """Setting as a row of the table of candidates."""
        return super().row(n_clusters) | {"n_neighbors": self.n_neighbors}

    @abstractmethod
    def partitions(self, pool: "CandidatePool", n_clusters: int) -> Array:
        """Labels of the samples in the graph."""

    def fit(self, pool: "CandidatePool", n_clusters: int) -> tuple[Candidate, Array]:
        """Candidate for the samples of a pool, and their labels in its partitions."""
        clock = perf_counter()
        partitions = self.partitions(pool, n_clusters)
        _require_clusters(partitions)
        landmarks, neighbors = pool.landmarks_in(self.scaling)
        by_landmark = landmarks.labels(neighbors, partitions, n_clusters)
        candidate = VotedCandidate(self, perf_counter() - clock, by_landmark)
        # As any other samples are labeled.
        return candidate, candidate.labels(pool)


@dataclass(frozen=True)
class Graph(OfNeighbors):
    """K-means runs on the eigenvectors of the mean of the views' neighbor graphs.

    If it is diffused, of these graphs after cross-diffusion.
    """

    diffused: bool = False
    kind_weight = 1 / 12

    @property
    def kind(self) -> str:
        """Name of the kind."""
        return "diffused graph" if self.diffused else "graph"

    def partitions(self, pool: "CandidatePool", n_clusters: int) -> Array:
        """Labels of the samples in the graph."""
        graph = pool.graph(self.scaling, self.n_neighbors)
        rows = graph.eigenvectors(n_clusters, diffused=self.diffused)
        return kmeans_runs(rows, n_clusters, pool.seed, n_kmeans_runs(len(pool)))[1]


@dataclass(frozen=True)
class Communities(OfNeighbors):
    """Louvain communities of the mean of the views' neighbor graphs."""

    kind = "communities"
    kind_weight = 1 / 3

    def partitions(self, pool: "CandidatePool", n_clusters: int) -> Array:
        """Labels of the samples in the graph."""
        graph = pool.graph(self.scaling, self.n_neighbors)
        return graph.n_communities(n_clusters)[None].astype(LABEL_DTYPE)


@dataclass(frozen=True)
class VotedCandidate(Candidate):
    """Labels of the landmarks, which pass them on to samples."""

    landmark_labels: LandmarkLabels

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return len(self.landmark_labels.labels)

    def labels(self, samples: Samples) -> Array:
        """Labels of samples in the partitions, (n_partitions, n)."""
        landmarks, neighbors = samples.landmarks_in(self.setting.scaling)
        return landmarks.labels_of_samples(neighbors, self.landmark_labels)

    def readout(
        self, families: Families, patterns: Array
    ) -> tuple["FamilyTransform", ViewMaps, Array]:
        """Weights on landmarks, their votes, and samples with all votes for a label."""
        scaling, n_clusters = self.setting.scaling, len(patterns)
        votes = VotesOfLandmarks(
            self.landmark_labels, families.landmarks[scaling].counts, n_clusters
        )
        transform = LandmarkTransform(families, scaling)
        return transform, votes, patterns.reshape(n_clusters, -1)


class VotesOfLandmarks:
    """Votes for labels of samples, linear in their weights on landmarks."""

    def __init__(self, given: LandmarkLabels, counts: Sequence[int], n_clusters: int) -> None:
        votes = given.shares[:, :, None] * np.eye(n_clusters)[given.labels]
        stacked = votes.transpose(1, 0, 2).reshape(votes.shape[1], -1)
        self._by_view = np.split(stacked, np.cumsum(counts)[:-1])
        self.widths = list(counts)
        self.scalings = (ViewScaling(),) * len(counts)

    def map_from(self, views: Pattern) -> Array:
        """Map from the weights on the landmarks of some views to the votes for labels."""
        return np.vstack([self._by_view[p] for p in views])


@dataclass(frozen=True, eq=False)
class FamilyTransform:
    """Coordinates of samples in a scaling; can be pickled."""

    families: Families
    scaling: str

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Transformed views of samples."""
        return LocatedSamples(self.families, data).coordinates_in(self.scaling)


@dataclass(frozen=True, eq=False)
class LandmarkTransform(FamilyTransform):
    """Weights of samples on landmarks; can be pickled."""

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Transformed views of samples."""
        samples = LocatedSamples(self.families, data)
        landmarks, neighbors = samples.landmarks_in(self.scaling)
        weights = tuple(landmarks.weights(neighbors))
        return container_with_views(samples.coordinates_in(self.scaling), weights)


# The settings that are fitted

DIRECTIONS = [Directions(own, *size) for size in SIZES for own in SCALINGS]
GRAPHS: list[Setting] = [
    *(Graph(own, N_NEAREST) for own in NEIGHBOR_SCALINGS),
    *(Communities(own, N_NEIGHBORS) for own in NEIGHBOR_SCALINGS),
]
MORE_GRAPHS: list[Setting] = [
    *(Graph(own, N_NEAREST, diffused=True) for own in NEIGHBOR_SCALINGS),
    *(Communities(own, N_NEAREST) for own in NEIGHBOR_SCALINGS),
]

COMPARED_DIRECTIONS = [Directions(own, *COMPARED_SIZE, compared=True) for own in SCALINGS[:2]]
"""Settings that are compared with communities to choose the number of clusters."""

POOL: dict[str, list[Setting]] = {
    "fast": [*DIRECTIONS[: len(SCALINGS)], *GRAPHS],
    "default": [*DIRECTIONS[: 2 * len(SCALINGS)], *GRAPHS, *MORE_GRAPHS],
    "thorough": [*DIRECTIONS, *GRAPHS, *MORE_GRAPHS],
}
"""Settings that are fitted, by budget."""


AT_LEVELS: list[Setting] = [
    *DIRECTIONS[: len(SCALINGS)],
    *(Communities(own, N_NEIGHBORS) for own in NEIGHBOR_SCALINGS),
]
"""Settings that are fitted at the levels that are not chosen."""


def families_of(candidates: Sequence[Candidate]) -> list[Family]:
    """Family of each partition of candidates."""
    return [c.setting.family for c in candidates for _ in range(c.n_partitions)]


def first_partitions(candidates: Sequence[Candidate]) -> Array:
    """Position of the first partition of each candidate, if those of a candidate follow it."""
    return np.cumsum([0, *(candidate.n_partitions for candidate in candidates[:-1])])


def _require_clusters(partitions: Array) -> None:
    """Raise if a partition has one cluster: such ones agree completely, whatever the data."""
    if (partitions == partitions[:, :1]).all(axis=1).any():
        raise CandidateError("All samples fall into one cluster.")


def n_kmeans_runs(n_samples: int) -> int:
    """Number of K-means runs of a candidate that is fitted to so many samples."""
    return N_KMEANS_RUNS if n_samples > FEW_SAMPLES else N_KMEANS_RUNS_OF_FEW


def kmeans_runs(
    rows: Array, n_clusters: int, seed: int, n_runs: int, *, repairs: bool = False
) -> tuple[tuple[Assignment, ...], Array, float]:
    """K-means runs by ascending inertia, the labels of each, and the smallest inertia.

    One run starts from rows that pivoted QR selects, which finds separated clusters whatever their
    number; the others start at random. With `repairs`, centroids that share a cluster are moved to
    clusters that lack one.
    """
    points = unit_rows(rows)
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=n_runs).tolist()
    # Candidates are fitted beside each other.
    with without_nested_threads():
        starts = [points[distant_rows(rows, n_clusters)]] if rows.shape[1] >= n_clusters else []
        for run_seed in seeds[len(starts) :]:
            random = np.random.RandomState(run_seed)
            starts.append(kmeans_plusplus(points, n_clusters, random, MAX_TRIALS))
        refined = lloyd(EmbeddedRows(points), np.stack(starts), False, SETTLED)
        centroids = refined.centroids
        if repairs:
            alone = (Refined(c[None], i[None]) for c, i in zip(*refined, strict=True))
            centroids = np.stack([repair(points, run, SETTLED) for run in alone])
        runs = [Assignment(run, normalize=True) for run in centroids]
        labels = labels_of_runs(runs, rows)
    inertias = []
    for run, run_labels in zip(runs, labels, strict=True):
        away = points - run.centroids.astype(rows.dtype)[run_labels]
        inertias.append(float(np.einsum("ij,ij->", away, away, dtype=np.float64)) / len(rows))
    order = np.argsort(inertias, kind="stable")
    return (
        tuple(runs[r] for r in order),
        labels[order].astype(LABEL_DTYPE),
        inertias[order[0]],
    )
