"""The candidates of AutoDALMC: settings, fitted to the coordinates of some samples."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.linalg import LinAlgError
from scipy.sparse.linalg import ArpackError

from anchorview._utils.linalg import squared_norm, unit_rows
from anchorview._utils.progress import listen_to_progress, report_progress
from anchorview._utils.threads import parallel_map, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment, distant_rows, labels_of_runs
from anchorview.core.blockwise_kmeans import LocalRows, Refined, lloyd
from anchorview.core.compress import Problem, Route, compress
from anchorview.core.embed import Embedder, embedder_of
from anchorview.core.kmeans_repair import repair
from anchorview.core.kmeans_seeding import kmeans_plusplus
from anchorview.core.scale import ViewScaling
from anchorview.core.solve import Sizes, SolverSettings, leading_spectra, solve
from anchorview.estimators.auto.bases import MAX_DIRECTIONS
from anchorview.estimators.auto.landmarks import (
    LABEL_DTYPE,
    Landmarks,
    Neighbors,
    fit_landmarks,
    labels_by_landmarks,
    labels_of_landmarks,
    lifted_views,
)
from anchorview.estimators.auto.neighbor_graphs import NeighborGraph
from anchorview.estimators.auto.representative_rows import representative_rows
from anchorview.estimators.auto.settings import LANDMARK_SIZES, N_LANDMARKS, FamilyKey, Setting
from anchorview.views.container import MultiViewData

MAX_ITER, TOL = 50, 1e-4

N_KMEANS_RUNS = 2
"""Number of K-means runs per candidate. One run of each, or four, did not do better."""

N_RUNS_PER_VIEW = 4
"""The same for each view alone."""

MAX_TRIALS = 10
"""Maximum number of candidates per centroid of a start; runs are not repaired as a rule."""

SETTLED = 1e-4
"""Relative decrease of the inertia in a step below which a run, or its repair, ends."""

LANDMARK_ROWS = 4_000
"""Maximum number of rows that place landmarks."""

MAX_CLUSTERS = np.iinfo(LABEL_DTYPE).max

FIT_ERRORS = (ValueError, LinAlgError, ArpackError, MemoryError)
"""Errors by which a candidate is left out; the others are still fitted."""

NO_CANDIDATE = "No candidate can be fitted. The first fails: "

Result = TypeVar("Result")

Preparations = dict[tuple[Any, ...], Callable[[], Any]]
"""What candidates share, by a name and parameters, and how it is computed."""


@dataclass(frozen=True)
class Candidate:
    """A fitted setting, and what gives its labels to any samples.

    That is an embedding in coordinates and K-means runs on it or, for candidates of neighbors,
    labels of the landmarks.
    """

    setting: Setting
    embedder: Embedder | None
    runs: tuple[Assignment, ...]
    """K-means runs on the embedding, by ascending inertia."""
    landmark_labels: npt.NDArray[np.int16] | None
    """Labels of the landmarks of all views by partition, (n_partitions, n_landmarks)."""
    view_weights: Array | None
    """None for graphs."""
    objective: Array
    inertia: float | None
    """Mean squared distance of the embedding's rows to their centroids, in the first run."""
    seconds: float

    @property
    def n_partitions(self) -> int:
        """Number of partitions, one per K-means run."""
        return len(self.runs) if self.landmark_labels is None else len(self.landmark_labels)


Outcome = tuple[Candidate, Array] | Exception
"""Candidate and labels of the samples in its partitions, or why it cannot be fitted."""

Failures = list[tuple[Setting, str]]
"""Settings that could not be fitted, and why."""


@dataclass(frozen=True, eq=False)
class LandmarkFit:
    """Landmarks of a scaling, the nearest ones of the samples, and the problem in their weights."""

    landmarks: Landmarks
    neighbors: list[Neighbors]
    data: MultiViewData
    problem: Problem


class CandidatePool:
    """Fits candidates to the same samples; prepares what they share once.

    `coordinates` are those of the samples by scaling, in an order that does not depend on how they
    were given. If they stand for more samples, `norm_factor` is the root of how many for each:
    embeddings are divided by it, so that those of all samples have columns of norm 1. `errors` says
    why there are no coordinates in a scaling.
    """

    def __init__(
        self,
        coordinates: Mapping[str, MultiViewData],
        seed: int,
        norm_factor: float = 1.0,
        *,
        errors: Mapping[str, Exception] | None = None,
        n_runs: int = N_KMEANS_RUNS,
        repairs_runs: bool = False,
    ) -> None:
        self.coordinates = coordinates
        self.seed = seed
        self.norm_factor = norm_factor
        self.errors = errors or {}
        self.n_runs, self.repairs_runs = n_runs, repairs_runs
        self.n_landmarks = N_LANDMARKS
        """Number of landmarks per view, if there are as many samples."""
        self._shared: dict[tuple[Any, ...], Any] = {}

    @property
    def data(self) -> MultiViewData:
        """Coordinates in one of the scalings."""
        return next(iter(self.coordinates.values()))

    def __len__(self) -> int:
        return len(self.data)

    def with_views(self, positions: Sequence[int]) -> "CandidatePool":
        """Return a pool of the same samples with some of the views."""
        some = {key: data.with_views(positions) for key, data in self.coordinates.items()}
        return CandidatePool(some, self.seed, self.norm_factor, errors=self.errors)

    def fit_all(self, settings: Sequence[Setting], n_clusters: int) -> Iterator[Outcome]:
        """Yield the outcomes of all settings, in order."""
        self._prepare({key: way for each in settings for key, way in self._needed(each).items()})
        spectra = (self._spectra_needed(n_clusters, setting) for setting in settings)
        self._prepare({key: way for needed in spectra for key, way in needed.items()})

        def work(setting: Setting) -> Outcome:
            # The stages of a candidate are too short to be reported.
            with listen_to_progress(lambda *_: None):
                return _result_or_error(partial(self._fit, setting, n_clusters))

        for _, outcome in parallel_map(work, settings):
            yield outcome

    def _prepare(self, needed: Preparations) -> None:
        def work(key: tuple[Any, ...]) -> Any:
            return _result_or_error(needed[key])

        for key, result in parallel_map(work, [key for key in needed if key not in self._shared]):
            self._shared[key] = result

    def graph(self, scaling: str) -> NeighborGraph:
        """Neighbor graph in a scaling."""
        key = "graph", scaling
        if key not in self._shared:
            self._shared[key] = _result_or_error(partial(self._neighbor_graph, scaling))
        graph: NeighborGraph = self._prepared(*key)
        return graph

    def landmark_fit(self, scaling: str) -> LandmarkFit:
        """Landmarks in a scaling, which have been placed."""
        fit: LandmarkFit = self._prepared("landmarks", scaling, self.n_landmarks)
        return fit

    def _needed(self, setting: Setting) -> Preparations:
        """What a setting needs, and how it is computed."""
        scaling = setting.scaling
        if setting.kind == "directions":
            return {("problem", scaling): partial(self._linear_problem, scaling)}
        needed: Preparations = {
            ("landmarks", scaling, self.n_landmarks): partial(self._place_landmarks, scaling)
        }
        if setting.kind != "landmarks":
            needed["graph", scaling] = partial(self._neighbor_graph, scaling)
        return needed

    def _spectra_needed(self, n_clusters: int, setting: Setting) -> Preparations:
        if setting.kind != "landmarks":
            return {}
        count = n_clusters * max(components for _, components in LANDMARK_SIZES)
        return {
            ("spectra", setting.scaling, self.n_landmarks, n_clusters): lambda: leading_spectra(
                self.landmark_fit(setting.scaling).problem, count
            )
        }

    def _prepared(self, *key: Any) -> Any:
        prepared = self._shared[key]
        if isinstance(prepared, Exception):
            raise prepared
        return prepared

    def _neighbor_graph(self, scaling: str) -> NeighborGraph:
        return NeighborGraph(self._coordinates_in(scaling))

    def _coordinates_in(self, scaling: str) -> MultiViewData:
        if scaling not in self.coordinates:
            raise self.errors.get(scaling, ValueError(f"There are no views with {scaling!r}."))
        return self.coordinates[scaling]

    def _linear_problem(self, scaling: str) -> tuple[Problem, Any]:
        data = self._coordinates_in(scaling)
        n_rows = sum(
            min(group.size, sum(data.n_features_per_view[p] for p in group.views))
            for group in data.groups
        )
        route: Route = "compressed" if 2 * n_rows < len(data) else "direct"
        problem = compress(data, _unscaled(data), route, unit_norm=False)
        kept = [float(np.einsum("ij,ij->", view, view, dtype=np.float64)) for view in data.views]
        # The scaled views have norm 1, of which the bases may have left something out.
        left_out = tuple(max(0.0, 1.0 - square) for square in kept)
        scalings = (ViewScaling(norm=self.norm_factor),) * len(data.views)
        problem = problem._replace(left_out=left_out, scalings=scalings)
        return problem, leading_spectra(problem, MAX_DIRECTIONS // 2)

    def _place_landmarks(self, scaling: str) -> LandmarkFit:
        data = self._coordinates_in(scaling)
        rows = representative_rows(np.arange(len(data)), data.available, LANDMARK_ROWS)
        landmarks = fit_landmarks(data, self.n_landmarks, rows, self.seed)
        neighbors = landmarks.nearest(data)
        lifted = lifted_views(data, landmarks, neighbors)
        # Samples have so few weights that compressing them would cost more.
        views = tuple(view * (1 / np.sqrt(squared_norm(view))) for view in lifted.views)
        nothing = (None,) * len(views)
        problem = Problem(views, data.available, _unscaled(data), nothing, data.dtype)
        return LandmarkFit(landmarks, neighbors, lifted, problem)

    def _fit(self, setting: Setting, n_clusters: int) -> tuple[Candidate, Array]:
        clock = perf_counter()
        embedder, weights, objective = None, None, np.empty(0)
        runs: tuple[Assignment, ...] = ()
        inertia: float | None = None
        if setting.kind == "communities":
            communities = self.graph(setting.scaling).n_communities(n_clusters)
            labels = communities[None].astype(LABEL_DTYPE)
        else:
            if setting.kind in ("directions", "landmarks"):
                embedder, rows, weights, objective = self._solve(setting, n_clusters)
            else:
                graph = self.graph(setting.scaling)
                rows = graph.eigenvectors(n_clusters, diffused=setting.kind != "graph")
            runs, labels, inertia = kmeans_runs(
                rows, n_clusters, self.seed, self.n_runs, repairs=self.repairs_runs
            )
        # Such partitions would agree completely, whatever the data.
        if (labels == labels[:, :1]).all(axis=1).any():
            raise ValueError("All samples fall into one cluster.")
        if setting.kind == "directions":
            by_landmark = None
        else:
            runs = ()
            fit = self.landmark_fit(setting.scaling)
            weights_on = fit.landmarks.weights(fit.neighbors)
            by_landmark = labels_of_landmarks(weights_on, labels, n_clusters)
            # As any other samples are labeled.
            labels = np.array(
                [
                    labels_by_landmarks(fit.neighbors, run, fit.landmarks.counts, n_clusters)
                    for run in by_landmark
                ]
            )
        seconds = perf_counter() - clock
        candidate = Candidate(
            setting, embedder, runs, by_landmark, weights, objective, inertia, seconds
        )
        return candidate, labels

    def _solve(
        self, setting: Setting, n_clusters: int
    ) -> tuple[Embedder | None, Array, Array, Array]:
        """Embedder, embedding, view weights and objective of the solution for a setting."""
        if setting.kind == "directions":
            data = self._coordinates_in(setting.scaling)
            problem, spectra = self._prepared("problem", setting.scaling)
        else:
            fit = self.landmark_fit(setting.scaling)
            data, problem = fit.data, fit.problem
            key = setting.scaling, self.n_landmarks, n_clusters
            spectra = self._prepared("spectra", *key)
        sizes = Sizes(
            n_clusters,
            n_components=setting.components * n_clusters,
            default_anchors=setting.anchors * n_clusters,
        )
        settings = SolverSettings(sizes, setting.beta, MAX_ITER, TOL)
        solution, _ = solve(problem, data, settings, spectra=spectra)
        if setting.kind == "landmarks":
            return None, solution.graph, solution.weights, solution.objective
        embedder = embedder_of(solution, problem)
        assert embedder is not None
        return embedder, embedder(data), solution.weights, solution.objective

    def view_partitions(self, n_clusters: int) -> Iterator[tuple[slice | Array, Array]]:
        """Rows that have a view, and their clusters by this view, for each view."""
        data = self.data

        def work(p: int) -> tuple[slice | Array, Array]:
            has = slice(None) if data.available is None else np.flatnonzero(data.available[:, p])
            rows = data.views[p][has]
            _, s, Vt = np.linalg.svd(rows.T @ rows)
            leading = s[:n_clusters] > s[0] * np.finfo(rows.dtype).eps
            whitened = rows @ (Vt[:n_clusters][leading].T / np.sqrt(s[:n_clusters][leading]))
            _, labels, _ = kmeans_runs(
                whitened, min(n_clusters, len(rows)), self.seed, N_RUNS_PER_VIEW
            )
            return has, labels[0]

        return (found for _, found in parallel_map(work, range(len(data.views))))


@dataclass(frozen=True, eq=False)
class FittedCandidates:
    """Candidates, and their partitions of the samples of a pool."""

    candidates: list[Candidate]
    failed: Failures
    partitions: Array
    """(n_partitions, n_samples); those of a candidate follow each other."""

    @property
    def families(self) -> list[FamilyKey]:
        """Family of each partition."""
        return families_of(self.candidates)


def families_of(candidates: Sequence[Candidate]) -> list[FamilyKey]:
    """Family of each partition of candidates."""
    return [c.setting.family for c in candidates for _ in range(c.n_partitions)]


def fit_candidates(
    pool: CandidatePool,
    settings: Sequence[Setting],
    n_clusters: int,
    say: Callable[[str], object] | None = None,
) -> FittedCandidates:
    """Fit all settings to the samples of a pool; `say`, if given, is called with what happens.

    Raises if none can be fitted.
    """
    fitted: list[Candidate] = []
    failed: Failures = []
    partitions = []
    outcomes = zip(settings, pool.fit_all(settings, n_clusters), strict=True)
    for done, (setting, outcome) in enumerate(outcomes, 1):
        if isinstance(outcome, Exception):
            failed.append((setting, str(outcome)))
            message = f"left out {setting}: {outcome}"
        else:
            fitted.append(outcome[0])
            partitions.append(outcome[1])
            message = f"candidate {done}/{len(settings)}: {setting}"
        if say is not None:
            say(message)
            report_progress("candidates", done, len(settings))
    if not fitted:
        raise ValueError(f"{NO_CANDIDATE}{failed[0][1]}")
    return FittedCandidates(fitted, failed, np.vstack(partitions))


def candidate_table(
    fitted: Sequence[Candidate], failed: Failures, n_clusters: int, results: dict[str, Array]
) -> pd.DataFrame:
    """One row per candidate: its settings, results by name, and the error if it failed."""
    settings = [*(c.setting for c in fitted), *(setting for setting, _ in failed)]
    columns = {
        **results,
        "inertia": [c.inertia for c in fitted],
        "n_iter": [len(c.objective) or None for c in fitted],
        "seconds": [c.seconds for c in fitted],
    }
    table = pd.DataFrame([setting.row(n_clusters) for setting in settings])
    table = table.join(pd.DataFrame(columns))
    table["error"] = [""] * len(fitted) + [error for _, error in failed]
    integers = dict.fromkeys(["n_anchors", "n_components", "n_iter"], "Int64")
    return table.astype({**integers, "inertia": "float64", "beta": "float64"})


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
        refined = lloyd(LocalRows(points), np.stack(starts), False, SETTLED)
        centroids = refined.centroids
        if repairs:
            alone = (Refined(c[None], i[None]) for c, i in zip(*refined, strict=True))
            centroids = np.vstack([repair(points, run, SETTLED) for run in alone])
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


def _unscaled(data: MultiViewData) -> tuple[ViewScaling, ...]:
    return (ViewScaling(),) * len(data.views)


def _result_or_error(function: Callable[[], Result]) -> Result | Exception:
    """Result of a function, or the error by which a candidate is left out."""
    try:
        return function()
    except FIT_ERRORS as error:
        return error
