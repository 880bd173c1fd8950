"""The candidates of AutoDALMC: settings, fitted to the coordinates of some samples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from threading import Lock
from time import perf_counter
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from scipy.linalg import LinAlgError
from scipy.sparse.linalg import ArpackError

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import listen_to_progress, report_progress
from anchorview._utils.threads import parallel_map, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment, distant_rows, labels_of_runs
from anchorview.core.blockwise_kmeans import (
    EmbeddedRows,
    Refined,
    kmeans_plusplus,
    lloyd,
    repair,
)
from anchorview.core.compress import Problem, Route, compress
from anchorview.core.embed import Embedder, embedder_of
from anchorview.core.scale import ViewScaling
from anchorview.core.solve import Sizes, SolverSettings, leading_spectra, solve
from anchorview.core.view_importance import relative
from anchorview.estimators.auto.bases import MAX_DIRECTIONS
from anchorview.estimators.auto.landmarks import (
    LABEL_DTYPE,
    LandmarkLabels,
    Landmarks,
    Neighbors,
    fit_landmarks,
)
from anchorview.estimators.auto.neighbor_graphs import NeighborGraph
from anchorview.estimators.auto.representative_rows import representative_rows
from anchorview.estimators.auto.settings import (
    COMPARED_DIRECTIONS,
    N_LANDMARKS,
    N_NEIGHBORS,
    FamilyKey,
    Setting,
)
from anchorview.views.container import MultiViewData

MAX_ITER, TOL = 50, 1e-4

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

FIT_ERRORS = (ValueError, LinAlgError, ArpackError, MemoryError)
"""Errors by which a candidate is left out; the others are still fitted."""

P = ParamSpec("P")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Candidate:
    """A fitted setting, and what gives its labels to any samples.

    That is an embedding in coordinates and K-means runs on it or, for candidates of neighbors,
    labels of the landmarks, which pass them on.
    """

    setting: Setting
    embedder: Embedder | None
    runs: tuple[Assignment, ...]
    """K-means runs on the embedding, by ascending inertia."""
    landmark_labels: LandmarkLabels | None
    view_weights: Array | None
    """None for graphs."""
    objective: Array
    inertia: float | None
    """Mean squared distance of the embedding's rows to their centroids, in the first run."""
    seconds: float

    @property
    def n_partitions(self) -> int:
        """Number of partitions, one per K-means run."""
        given = self.landmark_labels
        return len(self.runs) if given is None else len(given.labels)


def families_of(candidates: Sequence[Candidate]) -> list[FamilyKey]:
    """Family of each partition of candidates."""
    return [c.setting.family for c in candidates for _ in range(c.n_partitions)]


def first_partitions(candidates: Sequence[Candidate]) -> Array:
    """Position of the first partition of each candidate, if those of a candidate follow it."""
    return np.cumsum([0, *(candidate.n_partitions for candidate in candidates[:-1])])


@dataclass(frozen=True, eq=False)
class FittedCandidates:
    """Candidates, and their partitions of the samples of a pool."""

    candidates: list[Candidate]
    failed: list[tuple[Setting, str]]
    """Settings that could not be fitted, and why."""
    partitions: Array
    """(n_partitions, n_samples); those of a candidate follow each other."""

    @property
    def by_family(self) -> Array:
        """First partition of each family."""
        firsts: dict[FamilyKey, int] = {}
        positions = first_partitions(self.candidates)
        for candidate, position in zip(self.candidates, positions, strict=False):
            firsts.setdefault(candidate.setting.family, position)
        return self.partitions[list(firsts.values())]


def shared(
    method: Callable[Concatenate["CandidatePool", P], Result],
) -> Callable[Concatenate["CandidatePool", P], Result]:
    """Method of a pool that is called once with the same arguments, by the first who needs it."""

    @wraps(method)
    def once(self: "CandidatePool", /, *args: P.args, **kwargs: P.kwargs) -> Result:
        key = method.__name__, args
        with self._locks.setdefault(key, Lock()):
            if key not in self._shared:
                self._shared[key] = method(self, *args, **kwargs)
        result: Result = self._shared[key]
        return result

    return once


class CandidatePool:
    """Fits candidates to the same samples; prepares what they share once.

    `coordinates` are those of the samples by scaling, in an order that does not depend on how they
    were given. If they stand for more samples, `norm_factor` is the root of how many for each:
    embeddings are divided by it, so that those of all samples have columns of norm 1. `importance`
    is that of each view, 1 by default. `errors` says why there are no coordinates in a scaling.
    """

    def __init__(
        self,
        coordinates: Mapping[str, MultiViewData],
        seed: int,
        norm_factor: float = 1.0,
        *,
        importance: Array | None = None,
        errors: Mapping[str, Exception] | None = None,
    ) -> None:
        self.coordinates = coordinates
        self.seed = seed
        self.norm_factor = norm_factor
        self.importance = np.ones(len(self.data.views)) if importance is None else importance
        self.errors = errors or {}
        self.n_landmarks = N_LANDMARKS
        """Number of landmarks per view, if there are as many samples."""
        self._shared: dict[tuple[Any, ...], Any] = {}
        self._locks: dict[tuple[Any, ...], Any] = {}

    @property
    def data(self) -> MultiViewData:
        """Coordinates in one of the scalings."""
        return next(iter(self.coordinates.values()))

    def __len__(self) -> int:
        return len(self.data)

    def with_views(self, positions: Sequence[int]) -> "CandidatePool":
        """Return a pool of the same samples with some of the views."""
        some = {key: data.with_views(positions) for key, data in self.coordinates.items()}
        importance = relative(self.importance[list(positions)])
        return CandidatePool(
            some, self.seed, self.norm_factor, importance=importance, errors=self.errors
        )

    def fit(
        self,
        settings: Sequence[Setting],
        n_clusters: int,
        say: Callable[[str], object] | None = None,
        *,
        repairs: bool = False,
    ) -> FittedCandidates:
        """Fit all settings; `say`, if given, is called with what happens.

        With `repairs`, each has the partition of one repaired K-means run.
        """

        def work(setting: Setting) -> tuple[Candidate, Array] | Exception:
            # The stages of a candidate are too short to be reported.
            with listen_to_progress(lambda *_: None):
                try:
                    return self._fit(setting, n_clusters, repairs)
                except FIT_ERRORS as error:
                    return error

        fitted = FittedCandidates([], [], np.empty((0, len(self)), LABEL_DTYPE))
        partitions = [fitted.partitions]
        for done, (setting, outcome) in enumerate(parallel_map(work, settings), 1):
            if isinstance(outcome, Exception):
                fitted.failed.append((setting, str(outcome)))
                message = f"left out {setting}: {outcome}"
            else:
                fitted.candidates.append(outcome[0])
                partitions.append(outcome[1])
                message = f"candidate {done}/{len(settings)}: {setting}"
            if say is not None:
                say(message)
                report_progress("candidates", done, len(settings))
        return FittedCandidates(fitted.candidates, fitted.failed, np.vstack(partitions))

    @shared
    def graph(self, scaling: str, n_neighbors: int) -> NeighborGraph:
        """Graph of at most `N_NEIGHBORS` neighbors in a scaling."""
        if n_neighbors < N_NEIGHBORS:
            return self.graph(scaling, N_NEIGHBORS).of_nearest(n_neighbors)
        return NeighborGraph(self._coordinates_in(scaling), importance=self.importance)

    @shared
    def compared_directions(self, n_clusters: int) -> Array:
        """Partitions by the settings that are compared with communities."""
        # Runs that end with two clusters in one would lower the agreement at the right number.
        return self.fit(COMPARED_DIRECTIONS, n_clusters, repairs=True).by_family

    @shared
    def linear_problem(self, scaling: str) -> tuple[Problem, Any]:
        """Problem in the coordinates of a scaling, and its leading spectra."""
        data = self._coordinates_in(scaling)
        n_rows = sum(
            min(group.size, sum(data.n_features_per_view[p] for p in group.views))
            for group in data.groups
        )
        route: Route = "compressed" if 2 * n_rows < len(data) else "direct"
        unscaled = (ViewScaling(),) * len(data.views)
        problem = compress(data, unscaled, route, unit_norm=False)
        kept = [float(np.einsum("ij,ij->", view, view, dtype=np.float64)) for view in data.views]
        # The scaled views have norm 1, of which the bases may have left something out.
        left_out = tuple(max(0.0, 1.0 - square) for square in kept)
        scalings = (ViewScaling(norm=self.norm_factor),) * len(data.views)
        problem = problem._replace(left_out=left_out, scalings=scalings)
        return problem, leading_spectra(problem, MAX_DIRECTIONS // 2)

    @shared
    def landmarks(self, scaling: str, count: int) -> tuple[Landmarks, list[Neighbors]]:
        """As many landmarks in a scaling, and the nearest ones of the samples."""
        data = self._coordinates_in(scaling)
        n_rows = max(LANDMARK_ROWS, ROWS_PER_LANDMARK * count)
        rows = representative_rows(np.arange(len(data)), data.available, n_rows)
        landmarks = fit_landmarks(data, count, rows, self.seed, self.importance)
        return landmarks, landmarks.nearest(data)

    def _coordinates_in(self, scaling: str) -> MultiViewData:
        if scaling not in self.coordinates:
            raise self.errors.get(scaling, ValueError(f"There are no views with {scaling!r}."))
        return self.coordinates[scaling]

    def _fit(self, setting: Setting, n_clusters: int, repairs: bool) -> tuple[Candidate, Array]:
        """Candidate, and labels of the samples in its partitions."""
        clock = perf_counter()
        embedder, weights, objective = None, None, np.empty(0)
        runs: tuple[Assignment, ...] = ()
        by_landmark: LandmarkLabels | None = None
        inertia: float | None = None
        if setting.kind == "communities":
            graph = self.graph(setting.scaling, setting.n_neighbors)
            labels = graph.n_communities(n_clusters)[None].astype(LABEL_DTYPE)
        else:
            if setting.anchors:
                embedder, rows, weights, objective = self._solve(setting, n_clusters)
            else:
                graph = self.graph(setting.scaling, setting.n_neighbors)
                rows = graph.eigenvectors(n_clusters, diffused=setting.kind != "graph")
            n_runs = 1 if repairs else n_kmeans_runs(len(self))
            runs, labels, inertia = kmeans_runs(
                rows, n_clusters, self.seed, n_runs, repairs=repairs
            )
        # Such partitions would agree completely, whatever the data.
        if (labels == labels[:, :1]).all(axis=1).any():
            raise ValueError("All samples fall into one cluster.")
        if embedder is None:
            runs = ()
            landmarks, neighbors = self.landmarks(setting.scaling, self.n_landmarks)
            by_landmark = landmarks.labels(neighbors, labels, n_clusters)
            # As any other samples are labeled.
            labels = landmarks.labels_of_samples(neighbors, by_landmark, n_clusters)
        seconds = perf_counter() - clock
        candidate = Candidate(
            setting, embedder, runs, by_landmark, weights, objective, inertia, seconds
        )
        return candidate, labels

    def _solve(self, setting: Setting, n_clusters: int) -> tuple[Embedder, Array, Array, Array]:
        """Embedder, embedding, view weights and objective of the solution for a setting."""
        data = self._coordinates_in(setting.scaling)
        problem, spectra = self.linear_problem(setting.scaling)
        sizes = Sizes(
            n_clusters,
            n_components=setting.components * n_clusters,
            default_anchors=setting.anchors * n_clusters,
        )
        settings = SolverSettings(sizes, setting.beta, MAX_ITER, TOL, importance=self.importance)
        solution, _ = solve(problem, data, settings, spectra=spectra)
        embedder = embedder_of(solution, problem)
        assert embedder is not None
        return embedder, embedder(data), solution.weights, solution.objective


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
