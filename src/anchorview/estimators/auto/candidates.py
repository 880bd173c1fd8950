"""The candidates of AutoDALMC: settings, and fitted models.

A family is a transformation of the views (a scaling, or a scaling and a lift); its candidates
differ in the settings of the solver. What the candidates of a family share is computed once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import LinAlgError
from scipy.sparse.linalg import ArpackError
from sklearn.cluster import KMeans

from anchorview._utils.linalg import unit_rows
from anchorview._utils.memory import require_memory
from anchorview._utils.progress import listen_to_progress, report_progress
from anchorview._utils.threads import parallel_map
from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment, distant_rows, labels_of_runs
from anchorview.core.compress import Problem, compress
from anchorview.core.cost_model import gram_memory, plan
from anchorview.core.embed import Embedder, embedder_of
from anchorview.core.scale import ViewScaling, fit_scalings, scaled_block
from anchorview.core.sizes import Sizes
from anchorview.core.solve import SolverSettings, Spectra, leading_spectra, solve
from anchorview.estimators.auto.landmarks import MIN_LANDMARKS, Lift, fit_lift
from anchorview.estimators.auto.representative_rows import order_by_content, representative_rows
from anchorview.views.container import MultiViewData

# Scalings, sizes, weights and numbers of landmarks were chosen on the 15 real data sets of
# benchmarks/auto.md. Sizes are the numbers of anchors and of components per view, as multiples of
# the number of clusters.
STANDARDIZED = "zscore-unit"
CANDIDATE_SCALINGS = (STANDARDIZED, "unit-center")
LINEAR_SIZES = ((1, 1), (2, 4))
LINEAR_BETAS = (0.1, 0.001)
LIFTED_SIZES = ((1, 1), (2, 2))
LIFTED_BETA = 0.01
N_LANDMARKS, N_LANDMARKS_PER_CLUSTER = 500, 5
"""Landmarks per view: the first number, or more if there are many clusters."""

MAX_ITER, TOL = 50, 1e-4

N_KMEANS_RUNS = 4
"""Number of K-means runs per candidate, each of which gives a partition."""

SMALL_SAMPLE_SIZE = 4_000
"""Maximum number of rows that place landmarks and decide on the number of clusters."""

LABEL_DTYPE = np.dtype(np.int16)
"""Type of labels in partitions, small because there is one per sample and K-means run."""

MAX_CLUSTERS = np.iinfo(LABEL_DTYPE).max

FIT_ERRORS = (ValueError, LinAlgError, ArpackError, MemoryError)
"""Errors by which a candidate is left out; the others are still fitted."""


@dataclass(frozen=True)
class Family:
    """A transformation of the views."""

    scaling: str
    n_landmarks: int | None = None
    """None if the views are not lifted."""

    def __str__(self) -> str:
        lifted = "" if self.n_landmarks is None else f", {self.n_landmarks} landmarks"
        return f"{self.scaling}{lifted}"


@dataclass(frozen=True)
class Setting:
    """A family and the settings of the solver."""

    family: Family
    anchors: int
    """Number of anchors per cluster."""
    components: int
    """Number of components per view and cluster."""
    beta: float

    def __str__(self) -> str:
        sizes = f"{self.anchors}k anchors, {self.components}k components"
        return f"{self.family}, {sizes}, beta {self.beta:g}"

    def row(self, n_clusters: int) -> dict[str, str | float | None]:
        """Setting as a row of the table of candidates."""
        return {
            "scaling": self.family.scaling,
            "n_landmarks": self.family.n_landmarks,
            "n_anchors": self.anchors * n_clusters,
            "n_components": self.components * n_clusters,
            "beta": self.beta,
        }


def candidate_settings(n_clusters: int, n_samples: int) -> list[Setting]:
    """All settings, one of each family in turn, so that the first few cover all families."""
    max_landmarks = max(MIN_LANDMARKS, n_samples // 2)
    n_landmarks = min(max(N_LANDMARKS, N_LANDMARKS_PER_CLUSTER * n_clusters), max_landmarks)
    linear = [Family(scaling) for scaling in CANDIDATE_SCALINGS]
    lifted = [Family(scaling, n_landmarks) for scaling in CANDIDATE_SCALINGS]
    settings = []
    for beta in LINEAR_BETAS:
        for linear_sizes, lifted_sizes in zip(LINEAR_SIZES, LIFTED_SIZES, strict=True):
            settings += [Setting(family, *linear_sizes, beta) for family in linear]
            if beta == LINEAR_BETAS[0]:
                settings += [Setting(family, *lifted_sizes, LIFTED_BETA) for family in lifted]
    return settings


@dataclass(frozen=True)
class FittedFamily:
    """The lift of a family, if it has one, and the scalings of the (lifted) views."""

    lift: Lift | None
    scalings: tuple[ViewScaling, ...]

    def transform(self, data: MultiViewData) -> MultiViewData:
        """Views that the candidates of the family embed: lifted, but not scaled yet."""
        return data if self.lift is None else self.lift(data)


@dataclass(frozen=True)
class Candidate:
    """A fitted setting."""

    setting: Setting
    embedder: Embedder
    runs: tuple[Assignment, ...]
    """K-means runs on the embedding, by ascending inertia."""
    view_weights: Array
    objective: Array
    inertia: float
    """Mean squared distance of the embedding's rows to their centroids, in the first run."""
    seconds: float


Result = TypeVar("Result")

Outcome = tuple[Candidate, Array] | Exception
"""Candidate and labels of the samples by its K-means runs, or why it cannot be fitted."""


@dataclass(frozen=True, eq=False)
class FamilyProblem:
    """Data that the candidates of a family share."""

    data: MultiViewData
    """The samples, lifted if the family is."""
    fitted: FittedFamily
    problem: Problem
    """The compressed samples."""
    spectra: Spectra
    """Spectra with as many directions as any candidate needs."""

    def solve(self, setting: Setting, n_clusters: int) -> tuple[Embedder, Array, Array]:
        """Embedder, view weights and objective of the solution for a setting."""
        sizes = Sizes(
            n_clusters,
            n_components=setting.components * n_clusters,
            default_anchors=setting.anchors * n_clusters,
        )
        settings = SolverSettings(sizes, setting.beta, MAX_ITER, TOL)
        solution, _ = solve(self.problem, self.data, settings, spectra=self.spectra)
        embedder = embedder_of(solution, self.problem)
        assert embedder is not None
        return embedder, solution.weights, solution.objective


class CandidatePool:
    """Fits candidates on the same samples, with up to `max_clusters`; prepares each family once.

    The samples, in an order that does not depend on that of `data`, stand for `n_represented`
    samples (by default, for themselves): the norms by which views are divided are those of as many,
    so that the embeddings of all of them have columns of norm 1.
    """

    def __init__(
        self, data: MultiViewData, max_clusters: int, seed: int, n_represented: int | None = None
    ) -> None:
        self.order = order_by_content(data, fit_scalings(data, STANDARDIZED))
        """Positions of the samples in `data`."""
        self.data = data[self.order]
        # Fitted to the ordered samples, as all that follows, so that rounding is the same too.
        self._scalings = {name: fit_scalings(self.data, name) for name in CANDIDATE_SCALINGS}
        self.max_clusters = max_clusters
        self.seed = seed
        self.small_sample = representative_rows(
            np.arange(len(data)), self.data.available, SMALL_SAMPLE_SIZE
        )
        """Fewer representative rows, for more expensive work."""
        self._norm_factor = float(np.sqrt((n_represented or len(data)) / len(data)))
        self._problems: dict[Family, FamilyProblem] = {}

    def problem(self, family: Family) -> FamilyProblem:
        """Data that the candidates of a family share."""
        if family in self._problems:
            return self._problems[family]
        data, lift = self.data, None
        scalings = self._scalings[family.scaling]
        sizes = LINEAR_SIZES if family.n_landmarks is None else LIFTED_SIZES
        n_directions = max(components for _, components in sizes) * self.max_clusters
        if family.n_landmarks is None:
            n_components = [min(n_directions, d) for d in data.n_features_per_view]
            route = plan(data, n_components, self.max_clusters, MAX_ITER).route
        else:
            lift, data = fit_lift(data, scalings, family.n_landmarks, self.small_sample, self.seed)
            scalings = fit_scalings(data, "none")
            route = "compressed"
            advice = "Reduce the number of patterns in which views are missing."
            require_memory(gram_memory(data), f"Clustering lifted {data!r}", advice)
        problem = compress(data, scalings, route, unit_norm=True)
        normed = (replace(own, norm=own.norm * self._norm_factor) for own in problem.scalings)
        problem = problem._replace(scalings=tuple(normed))
        fitted = FittedFamily(lift, problem.scalings)
        spectra = leading_spectra(problem, n_directions)
        self._problems[family] = FamilyProblem(data, fitted, problem, spectra)
        return self._problems[family]

    def fit_all(
        self, settings: Sequence[Setting], n_clusters: int
    ) -> Iterator[tuple[Setting, Outcome]]:
        """Yield every setting with its outcome, in order."""
        families = list(dict.fromkeys(setting.family for setting in settings))
        prepared: dict[Family, FamilyProblem | Exception] = {}
        for family, outcome in parallel_map(partial(_result_or_error, self.problem), families):
            prepared[family] = outcome
            report_progress("preparing", len(prepared), len(families))

        def work(setting: Setting) -> Outcome:
            problem = prepared[setting.family]
            if isinstance(problem, Exception):
                return problem
            # The stages of a candidate are too short to be reported.
            with listen_to_progress(lambda *_: None):
                return _result_or_error(self._fit, setting, n_clusters)

        yield from parallel_map(work, settings)

    def _fit(self, setting: Setting, n_clusters: int) -> tuple[Candidate, Array]:
        clock = perf_counter()
        problem = self.problem(setting.family)
        embedder, weights, objective = problem.solve(setting, n_clusters)
        runs, labels, inertia = _kmeans_runs(embedder(problem.data), n_clusters, self.seed)
        # Such partitions would agree completely, whatever the data.
        if (labels == labels[:, :1]).all(axis=1).any():
            raise ValueError("All samples fall into one cluster.")
        seconds = perf_counter() - clock
        return Candidate(setting, embedder, runs, weights, objective, inertia, seconds), labels

    def view_partitions(self, n_clusters: int) -> Iterator[tuple[slice | Array, Array]]:
        """Rows that have a view, and their clusters by this view, for each view.

        Uses a prepared family, preferably one without lift.
        """
        family = min(
            self._problems,
            key=lambda other: (other.n_landmarks is not None, other.scaling != STANDARDIZED),
        )
        shared = self.problem(family)
        data, scalings = shared.data, shared.fitted.scalings
        directions = shared.problem.in_features(
            [D[:, :n_clusters] / s[:n_clusters] for D, s in shared.spectra.directions]
        )

        def work(p: int) -> tuple[slice | Array, Array]:
            has = slice(None) if data.available is None else np.flatnonzero(data.available[:, p])
            view = MultiViewData([data.views[p][has]])
            D = directions[p].astype(data.dtype)
            rows = np.vstack([scaled_block(view, (scalings[p],), b) @ D for b in view.blocks()])
            _, labels, _ = _kmeans_runs(rows, min(n_clusters, len(rows)), self.seed)
            return has, labels[0]

        return (found for _, found in parallel_map(work, range(len(directions))))


def _result_or_error(function: Callable[..., Result], *args: Any) -> Result | Exception:
    """Result of a function, or the error by which a candidate is left out."""
    try:
        return function(*args)
    except FIT_ERRORS as error:
        return error


def _kmeans_runs(
    rows: Array, n_clusters: int, seed: int
) -> tuple[tuple[Assignment, ...], Array, float]:
    """K-means runs by ascending inertia, the labels of each, and the smallest inertia.

    One run starts from rows that pivoted QR selects, which finds separated clusters whatever their
    number; the others start at random.
    """
    points = unit_rows(rows)
    starts: list[str | Array] = ["k-means++"] * N_KMEANS_RUNS
    if rows.shape[1] >= n_clusters:
        starts[0] = points[distant_rows(rows, n_clusters)]
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=N_KMEANS_RUNS)
    runs = []
    for start, run_seed in zip(starts, seeds, strict=True):
        model = KMeans(n_clusters, init=start, n_init=1, random_state=int(run_seed)).fit(points)
        runs.append(Assignment(model.cluster_centers_.astype(np.float64), normalize=True))
    labels = labels_of_runs(runs, rows)
    inertias = []
    for run, own in zip(runs, labels, strict=True):
        away = points - run.centroids.astype(rows.dtype)[own]
        inertias.append(float(np.einsum("ij,ij->", away, away, dtype=np.float64)) / len(rows))
    order = np.argsort(inertias, kind="stable")
    return tuple(runs[r] for r in order), labels[order], inertias[order[0]]
