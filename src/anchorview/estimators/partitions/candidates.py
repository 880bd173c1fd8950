"""Candidates: settings of three kinds, what they share, and labels of any samples by them.

A kind of candidate is a subclass of `Setting`, which is fitted to the samples of a pool, and an
entry in `POOL`. What it fits is a `Candidate`, which labels any samples and says what in their
views supports a cluster. Kinds and their weights were chosen on data sets that are not part of
benchmarks/auto.md as well.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from threading import Lock
from time import perf_counter
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from scipy.linalg import LinAlgError
from scipy.sparse.linalg import ArpackError

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import listen_to_progress, report_progress
from anchorview._utils.threads import parallel_map, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.assign import distant_rows
from anchorview.core.blockwise_kmeans import Refined, kmeans_plusplus, lloyd, repair
from anchorview.core.centers import Assignment, EmbeddedRows, labels_of_runs
from anchorview.core.compress import Problem, Route, compress
from anchorview.core.embed import Embedder, Pattern, embedder_of
from anchorview.core.representative_rows import distinct_by_content, representative_rows
from anchorview.core.scale import ViewScaling, fit_scalings
from anchorview.core.solve import Sizes, SolverSettings, leading_spectra, solve
from anchorview.estimators.explanation import ViewMaps
from anchorview.estimators.partitions.consensus import (
    Family,
    FittedConsensus,
    Partitions,
    fit_consensus,
)
from anchorview.estimators.partitions.coordinates import (
    MAX_DIRECTIONS,
    NEIGHBOR_SCALINGS,
    SCALINGS,
    STANDARDIZED,
    Basis,
    Families,
    LocatedSamples,
    fit_bases,
)
from anchorview.estimators.partitions.neighbor_graphs import (
    LABEL_DTYPE,
    N_LANDMARKS,
    N_NEIGHBORS,
    LandmarkLabels,
    Landmarks,
    NeighborGraph,
    Neighbors,
    fit_landmarks,
)
from anchorview.views.container import MultiViewData, container_with_views

Budget = Literal["fast", "default", "thorough"]

MAX_ITER, TOL, BETA = 50, 1e-4, 0.1

SIZES: tuple[tuple[int, int], ...] = ((2, 2), (1, 2), (1, 1))
"""Numbers of anchors and of components per view, as multiples of the number of clusters. The first
one is better for many clusters, the second one for few clusters in narrow views."""
COMPARED_SIZE = (1, 2)
"""Size of settings that are compared with communities, to save time."""

N_NEAREST = 10
"""Number of neighbors of the graphs with eigenvectors and communities."""

N_KMEANS_RUNS = 2
"""Number of K-means runs per candidate. One run of each, or four, did not do better, but more for
few samples: their results depend less on the seed."""
FEW_SAMPLES, N_KMEANS_RUNS_OF_FEW = 1_500, 5

MAX_TRIALS = 10
"""Maximum number of candidates per centroid of a start; runs are not repaired as a rule."""

SETTLED = 1e-4
"""Relative decrease of the inertia in a step below which a run, or its repair, ends."""

LANDMARK_ROWS, ROWS_PER_LANDMARK = 4_000, 4
"""Maximum number of rows that place landmarks, or of rows per landmark."""

ONE_CLUSTER = "All samples fall into one cluster."
"""Why a candidate that says nothing is left out."""


class CandidateError(Exception):
    """A candidate cannot be fitted to these samples."""


FIT_ERRORS = (CandidateError, LinAlgError, ArpackError, MemoryError)
"""Errors by which a candidate is left out; the others are still fitted."""


@dataclass(frozen=True)
class Setting(ABC):
    """A kind of candidate, and a scaling of the views."""

    scaling: str
    kind: ClassVar[str]
    kind_weight: ClassVar[float]

    @property
    def family(self) -> Family:
        """Kind and scaling."""
        return Family(self.kind, self.scaling, self.kind_weight)

    @abstractmethod
    def fit(self, pool: "CandidatePool", n_clusters: int) -> tuple["Candidate", Array]:
        """Candidate for the samples of a pool, and their labels in its partitions."""


@dataclass(frozen=True)
class Candidate(ABC):
    """A fitted setting, which labels any samples."""

    setting: Setting
    seconds: float = field(default=0.0, kw_only=True)

    @property
    @abstractmethod
    def n_partitions(self) -> int:
        """Number of partitions."""

    @abstractmethod
    def labels(self, samples: "Samples") -> Array:
        """Labels of samples in the partitions, (n_partitions, n)."""

    @abstractmethod
    def views(self, samples: LocatedSamples) -> MultiViewData:
        """What the partitions see of samples."""

    @abstractmethod
    def readout(self, families: Families, patterns: Array) -> tuple[ViewMaps, Array]:
        """Linear maps of these views, and where clusters are in their sum.

        `patterns` are frequencies of labels by cluster, partition and label.
        """

    def row(self) -> dict[str, float | None]:
        """Results in the table of candidates."""
        return {"seconds": self.seconds}


# Directions


@dataclass(frozen=True)
class Directions(Setting):
    """DALMC with so many anchors and components per cluster, and K-means runs on its embedding."""

    anchors: int
    components: int
    beta: float = BETA
    compared: bool = False
    """Whether there is one run, repaired: two clusters in one would lower agreements."""

    kind = "directions"
    kind_weight = 1 / 2

    def __str__(self) -> str:
        sizes = f"{self.anchors}k anchors, {self.components}k components"
        return f"{self.kind}, {self.scaling}, {sizes}, beta {self.beta:g}"

    def fit(self, pool: "CandidatePool", n_clusters: int) -> tuple[Candidate, Array]:
        data = pool.coordinates_in(self.scaling)
        problem, spectra = pool.linear_problem(self.scaling)
        anchors, components = self.anchors * n_clusters, self.components * n_clusters
        sizes = Sizes(n_clusters, n_components=components, default_anchors=anchors)
        settings = SolverSettings(sizes, self.beta, MAX_ITER, TOL, importance=pool.importance)
        solution, _ = solve(problem, data, settings, spectra=spectra)
        embedder = embedder_of(solution, problem)
        assert embedder is not None
        n_runs = 1 if self.compared else pool.n_runs
        rows = EmbeddedRows(embedder(data), data.sample_weight)
        runs, labels, inertia = kmeans_runs(
            rows, n_clusters, pool.seed, n_runs, repairs=self.compared
        )
        weights, objective = solution.weights, solution.objective
        return EmbeddedCandidate(self, embedder, runs, weights, objective, inertia), labels


@dataclass(frozen=True)
class EmbeddedCandidate(Candidate):
    """An embedding in coordinates, and K-means runs on it."""

    embedder: Embedder
    runs: tuple[Assignment, ...]
    """By ascending inertia."""
    view_weights: Array
    objective: Array
    inertia: float

    @property
    def n_partitions(self) -> int:
        return len(self.runs)

    def embedding(self, samples: "Samples") -> Array:
        """Embedding of samples."""
        return self.embedder(samples.coordinates_in(self.setting.scaling))

    def labels(self, samples: "Samples") -> Array:
        return labels_of_runs(self.runs, self.embedding(samples))

    def views(self, samples: LocatedSamples) -> MultiViewData:
        """Coordinates of samples."""
        return samples.coordinates_in(self.setting.scaling)

    def readout(self, families: Families, patterns: Array) -> tuple[ViewMaps, Array]:
        """The embedding, and the mean centroids of the clusters."""
        centroids = np.stack([run.centroids for run in self.runs])
        return self.embedder, np.einsum("cra,ral->cl", patterns, centroids)

    def row(self) -> dict[str, float | None]:
        n_iter = len(self.objective) or None
        return {"inertia": self.inertia, "n_iter": n_iter} | super().row()


# Neighbors


@dataclass(frozen=True)
class OfNeighbors(Setting):
    """Candidates that are found in the neighbor graphs of the views."""

    n_neighbors: int = N_NEAREST

    def __str__(self) -> str:
        return f"{self.kind}, {self.scaling}, {self.n_neighbors} neighbors"

    @abstractmethod
    def partitions(self, pool: "CandidatePool", n_clusters: int) -> Array:
        """Labels of the samples in the graph."""

    def fit(self, pool: "CandidatePool", n_clusters: int) -> tuple[Candidate, Array]:
        partitions = self.partitions(pool, n_clusters)
        landmarks, neighbors = pool.landmarks_in(self.scaling)
        candidate = VotedCandidate(self, landmarks.labels(neighbors, partitions, n_clusters))
        # As any other samples are labeled.
        return candidate, candidate.labels(pool)


@dataclass(frozen=True)
class Graph(OfNeighbors):
    """K-means runs on the eigenvectors of the mean of the views' neighbor graphs."""

    kind = "graph"
    kind_weight = 1 / 6

    def partitions(self, pool: "CandidatePool", n_clusters: int) -> Array:
        vectors = pool.graph(self.scaling, self.n_neighbors).eigenvectors(n_clusters)
        rows = EmbeddedRows(vectors, pool.data.sample_weight)
        return kmeans_runs(rows, n_clusters, pool.seed, pool.n_runs)[1]


@dataclass(frozen=True)
class Communities(OfNeighbors):
    """Louvain communities of the mean of the views' neighbor graphs."""

    kind = "communities"
    kind_weight = 1 / 3

    def partitions(self, pool: "CandidatePool", n_clusters: int) -> Array:
        graph = pool.graph(self.scaling, self.n_neighbors)
        return graph.n_communities(n_clusters)[None].astype(LABEL_DTYPE)


@dataclass(frozen=True)
class VotedCandidate(Candidate):
    """Labels of the landmarks, which pass them on to samples."""

    landmark_labels: LandmarkLabels

    @property
    def n_partitions(self) -> int:
        return len(self.landmark_labels.labels)

    def labels(self, samples: "Samples") -> Array:
        landmarks, neighbors = samples.landmarks_in(self.setting.scaling)
        return landmarks.labels_of_samples(neighbors, self.landmark_labels)

    def views(self, samples: LocatedSamples) -> MultiViewData:
        """Weights of samples on landmarks."""
        landmarks, neighbors = samples.landmarks_in(self.setting.scaling)
        weights = tuple(landmarks.weights(neighbors))
        return container_with_views(samples.coordinates_in(self.setting.scaling), weights)

    def readout(self, families: Families, patterns: Array) -> tuple[ViewMaps, Array]:
        """The votes of landmarks, and samples with all votes for a label."""
        counts, n_clusters = families.landmarks[self.setting.scaling].counts, len(patterns)
        votes = VotesOfLandmarks(self.landmark_labels, counts, n_clusters)
        return votes, patterns.reshape(n_clusters, -1)


class VotesOfLandmarks:
    """Votes for labels of samples, linear in their weights on landmarks."""

    def __init__(self, given: LandmarkLabels, counts: Sequence[int], n_clusters: int) -> None:
        votes = given.shares[:, :, None] * np.eye(n_clusters)[given.labels]
        stacked = votes.transpose(1, 0, 2).reshape(votes.shape[1], -1)
        self._by_view = np.split(stacked, np.cumsum(counts)[:-1])
        self.scalings = (ViewScaling(),) * len(counts)

    def map_from(self, views: Pattern) -> Array:
        """Map from the weights on the landmarks of some views to the votes for labels."""
        return np.vstack([self._by_view[p] for p in views])


# The settings that are fitted

DIRECTIONS = [Directions(own, *size) for size in SIZES for own in SCALINGS]
EIGENVECTORS = [Graph(own, N_NEAREST) for own in NEIGHBOR_SCALINGS]
COMMUNITIES = [Communities(own, N_NEIGHBORS) for own in NEIGHBOR_SCALINGS]
COMMUNITIES_OF_FEWER = [Communities(own, N_NEAREST) for own in NEIGHBOR_SCALINGS]
OF_NEIGHBORS = [*EIGENVECTORS, *COMMUNITIES, *COMMUNITIES_OF_FEWER]

COMPARED_DIRECTIONS = [Directions(own, *COMPARED_SIZE, compared=True) for own in SCALINGS[:2]]
"""Settings that are compared with communities to choose the number of clusters."""

POOL: dict[str, list[Setting]] = {
    "fast": [*DIRECTIONS[: len(SCALINGS)], *EIGENVECTORS, *COMMUNITIES],
    "default": [*DIRECTIONS[: 2 * len(SCALINGS)], *OF_NEIGHBORS],
    "thorough": [*DIRECTIONS, *OF_NEIGHBORS],
}
"""Settings that are fitted, by budget."""

AT_LEVELS: list[Setting] = [*DIRECTIONS[: len(SCALINGS)], *COMMUNITIES]
"""Settings that are fitted at the levels that are not chosen."""


def families_of(candidates: Sequence[Candidate]) -> list[Family]:
    """Family of each partition of candidates."""
    return [c.setting.family for c in candidates for _ in range(c.n_partitions)]


def first_partitions(candidates: Sequence[Candidate]) -> Array:
    """Position of the first partition of each candidate, if those of a candidate follow it."""
    return np.cumsum([0, *(candidate.n_partitions for candidate in candidates[:-1])])


def kmeans_runs(
    embedded: EmbeddedRows, n_clusters: int, seed: int, n_runs: int, *, repairs: bool = False
) -> tuple[tuple[Assignment, ...], Array, float]:
    """K-means runs by ascending inertia, the labels of each, and the smallest inertia.

    One starts from rows that pivoted QR selects, which finds separated clusters whatever their
    number. With `repairs`, centroids that share a cluster are moved to clusters that lack one.
    """
    rows, weights = embedded.embedding, embedded.weights
    points = unit_rows(rows)
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=n_runs).tolist()
    # Candidates are fitted beside each other.
    with without_nested_threads():
        starts = [points[distant_rows(rows, n_clusters)]] if rows.shape[1] >= n_clusters else []
        for run_seed in seeds[len(starts) :]:
            random = np.random.RandomState(run_seed)
            starts.append(kmeans_plusplus(points, n_clusters, random, MAX_TRIALS))
        refined = lloyd(EmbeddedRows(points, weights), np.stack(starts), False, SETTLED)
        centroids = refined.centroids
        if repairs:
            alone = (Refined(c[None], i[None]) for c, i in zip(*refined, strict=True))
            centroids = np.stack([repair(points, run, SETTLED) for run in alone])
        runs = [Assignment(run, normalize=True) for run in centroids]
        labels = labels_of_runs(runs, rows)
    pairs = zip(runs, labels, strict=True)
    squares = [run.squared_distances_to_label(rows, own) for run, own in pairs]
    inertias = np.average(squares, axis=1, weights=weights)
    order = np.argsort(inertias, kind="stable")
    ordered = tuple(runs[r] for r in order)
    return ordered, labels[order].astype(LABEL_DTYPE), float(inertias[order[0]])


# What candidates share

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class FittedCandidates:
    """Candidates, settings that failed and why, and the partitions, in the order of candidates."""

    candidates: list[Candidate]
    failed: list[tuple[Setting, str]]
    partitions: Array

    @property
    def by_family(self) -> Array:
        """First partition of each family."""
        families = families_of(self.candidates)
        return self.partitions[[families.index(family) for family in dict.fromkeys(families)]]


def shared(method: Method) -> Method:
    """Method of a pool that is called once with the same arguments, by the first who needs it."""

    @wraps(method)
    def once(self: "CandidatePool", *args: Any) -> Any:
        key = method.__name__, *args
        with self._locks.setdefault(key, Lock()):
            if key not in self._shared:
                self._shared[key] = method(self, *args)
        return self._shared[key]

    return cast("Method", once)


@dataclass(eq=False)
class CandidatePool:
    """Fits candidates to the same samples; prepares what they share once."""

    coordinates: Mapping[str, MultiViewData]
    """Those of the samples by scaling, in an order that does not depend on how they were given."""
    rows: Array
    """Positions of the samples in the sample that they are part of."""
    seed: int
    importance: Array
    norm_factor: float
    """Root of how many samples each stands for, by which embeddings are divided."""
    bases: dict[str, Basis]
    errors: Mapping[str, Exception]
    """Why there are no coordinates in a scaling."""
    n_landmarks: int = N_LANDMARKS
    _shared: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False)
    _locks: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls, sample: MultiViewData, rows: Array, n_represented: float, seed: int, importance: Array
    ) -> Self:
        """Pool of some distinct rows of a sample, which represent samples of so much weight."""
        some = sample[rows]
        order = distinct_by_content(some, fit_scalings(some, STANDARDIZED))
        distinct = some[order]
        bases, coordinates, errors = fit_bases(distinct)
        norm_factor = float(np.sqrt(n_represented / distinct.total_weight))
        return cls(coordinates, rows[order], seed, importance, norm_factor, bases, errors)

    @property
    def data(self) -> MultiViewData:
        """Coordinates in one of the scalings."""
        return next(iter(self.coordinates.values()))

    def __len__(self) -> int:
        return len(self.data)

    @property
    def n_runs(self) -> int:
        """Number of K-means runs of a candidate."""
        return N_KMEANS_RUNS if len(self) > FEW_SAMPLES else N_KMEANS_RUNS_OF_FEW

    @property
    def neighbor_scalings(self) -> list[str]:
        """Scalings in which there are neighbors."""
        return [scaling for scaling in NEIGHBOR_SCALINGS if scaling in self.coordinates]

    @property
    def families(self) -> Families:
        """What candidates take samples in."""
        landmarks = {scaling: self.landmarks_in(scaling)[0] for scaling in self.neighbor_scalings}
        return Families(self.bases, landmarks)

    def at_random(self, count: int) -> "CandidatePool":
        """Pool of so many samples, which do not depend on their order, with the norms of all."""
        if count >= len(self):
            return self
        positions = np.sort(np.random.default_rng(0).permutation(len(self))[:count])
        selected = {}
        for scaling, data in self.coordinates.items():
            part = data[positions]
            factor = data.dtype.type(np.sqrt(data.total_weight / part.total_weight))
            selected[scaling] = container_with_views(part, tuple(v * factor for v in part.views))
        return replace(self, coordinates=selected, rows=self.rows[positions])

    def fit(
        self, settings: Sequence[Setting], n_clusters: int, say: Callable[..., Any] | None = None
    ) -> FittedCandidates:
        """Fit all settings; `say`, if given, is called with what happens."""

        def work(setting: Setting) -> tuple[Candidate, Array] | Exception:
            # The stages of a candidate are too short to be reported.
            with listen_to_progress(lambda *_: None):
                clock = perf_counter()
                try:
                    candidate, partitions = setting.fit(self, n_clusters)
                    if (partitions == partitions[:, :1]).all(axis=1).any():
                        # Such partitions agree completely, whatever the data.
                        raise CandidateError(ONE_CLUSTER)
                    return replace(candidate, seconds=perf_counter() - clock), partitions
                except FIT_ERRORS as error:
                    return error

        candidates, failed, partitions = [], [], [np.empty((0, len(self)), LABEL_DTYPE)]
        for done, (setting, outcome) in enumerate(parallel_map(work, settings), 1):
            if isinstance(outcome, Exception):
                failed.append((setting, str(outcome)))
                message = f"left out {setting}: {outcome}"
            else:
                candidates.append(outcome[0])
                partitions.append(outcome[1])
                message = f"candidate {done}/{len(settings)}: {setting}"
            if say is not None:
                say(message)
                report_progress("candidates", done, len(settings))
        return FittedCandidates(candidates, failed, np.vstack(partitions))

    def consensus(
        self, fitted: FittedCandidates, n_clusters: int, separations: Array | None = None
    ) -> FittedConsensus:
        """Consensus of candidates that were fitted to the samples."""
        weights = self.data.sample_weight
        weights = None if weights is None else weights / weights.mean()
        partitions = Partitions(fitted.partitions, n_clusters, weights)
        return fit_consensus(partitions, families_of(fitted.candidates), separations)

    @shared
    def graph(self, scaling: str, n_neighbors: int) -> NeighborGraph:
        """Graph of at most `N_NEIGHBORS` neighbors in a scaling."""
        if n_neighbors < N_NEIGHBORS:
            return self.graph(scaling, N_NEIGHBORS).of_nearest(n_neighbors)
        return NeighborGraph(self.coordinates_in(scaling), self.importance)

    @property
    def graphs(self) -> list[NeighborGraph]:
        """Graphs in all scalings."""
        return [self.graph(scaling, N_NEIGHBORS) for scaling in self.neighbor_scalings]

    @shared
    def compared_directions(self, n_clusters: int) -> Array:
        """Partitions by the settings that are compared with communities."""
        return self.fit(COMPARED_DIRECTIONS, n_clusters).by_family

    @shared
    def linear_problem(self, scaling: str) -> tuple[Problem, Any]:
        """Problem in the coordinates of a scaling, and its leading spectra."""
        data = self.coordinates_in(scaling)
        n_rows = sum(
            min(group.size, sum(data.n_features_per_view[p] for p in group.views))
            for group in data.groups
        )
        route: Route = "compressed" if 2 * n_rows < len(data) else "direct"
        unscaled = (ViewScaling(),) * len(data.views)
        problem = compress(data, unscaled, route, unit_norm=False)
        weights = np.ones(len(data)) if data.sample_weight is None else data.sample_weight
        squares = (np.einsum("ij,ij->i", view, view, dtype=np.float64) for view in data.views)
        # The scaled views have norm 1, of which the bases may have left something out.
        left_out = tuple(max(0.0, 1.0 - float(weights @ own)) for own in squares)
        scalings = (ViewScaling(norm=self.norm_factor),) * len(data.views)
        problem = problem._replace(left_out=left_out, scalings=scalings)
        return problem, leading_spectra(problem, MAX_DIRECTIONS // 2)

    @shared
    def landmarks_in(self, scaling: str) -> tuple[Landmarks, list[Neighbors]]:
        """Landmarks in a scaling, and the nearest ones of the samples."""
        data = self.coordinates_in(scaling)
        n_rows = max(LANDMARK_ROWS, ROWS_PER_LANDMARK * self.n_landmarks)
        rows = representative_rows(np.arange(len(data)), data.available, n_rows)
        landmarks = fit_landmarks(data, self.n_landmarks, rows, self.seed, self.importance)
        return landmarks, landmarks.nearest(data)

    def coordinates_in(self, scaling: str) -> MultiViewData:
        """Coordinates in a scaling."""
        if scaling in self.errors:
            raise CandidateError(str(self.errors[scaling]))
        return self.coordinates[scaling]


Samples = LocatedSamples | CandidatePool
"""Samples in coordinates and among landmarks."""
