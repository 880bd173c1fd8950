"""The candidates among which AutoDALMC chooses: settings, fits, partitions.

A family is what is done to the views first (scaling, lift); its candidates differ in the solver's
settings. Everything that a family's candidates share is made once and kept.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError
from scipy.sparse.linalg import ArpackError
from sklearn.cluster import KMeans

from anchorview._utils.linalg import leading_directions, rank_up_to, unit_rows
from anchorview._utils.memory import require_memory
from anchorview._utils.progress import listen_to_progress, report_progress
from anchorview._utils.threads import parallel_map
from anchorview._utils.typing import Array
from anchorview.core.alternating import AlternatingSolver
from anchorview.core.assign import Assignment, distant_rows, labels_of_runs
from anchorview.core.compress import SmallProblem, pose_problem
from anchorview.core.cost_model import TYPICAL_ITERATIONS, gram_memory, plan
from anchorview.core.embed import Embedder, for_embeddings
from anchorview.core.scale import ViewScaling, fit_scalings, scaled_block
from anchorview.core.sizes import capped_components, rank_tolerance
from anchorview.estimators.auto.landmarks import FEW_LANDMARKS, NEIGHBORS, Lift, fit_lift
from anchorview.estimators.auto.sample_choice import order_by_content, spread
from anchorview.views.container import MultiViewData

STANDARDIZED = "zscore-unit"
POOL_SCALINGS = (STANDARDIZED, "unit-center")

LINEAR_SIZES = ((1, 1), (2, 4))
"""Anchors and components, in clusters."""
LINEAR_BETAS = (0.1, 0.001)

LIFTED_SIZES = ((1, 1), (2, 2))
LIFTED_BETA = 0.01

LANDMARKS, LANDMARKS_A_CLUSTER = 500, 5
"""Landmarks of a view: so many, or more if there are many clusters."""

MAX_ITER, TOL = 50, 1e-4

RUNS = 4
"""K-means runs of a candidate, each of which is a partition."""

SAMPLE = 10_000
"""Rows that place the centroids and decide on agreement, when there are more."""

FEW = 4_000
"""Rows that place the landmarks and decide on the number of clusters, when there are more."""

LABELS = np.dtype(np.int16)
"""Type of the partitions' labels, short as there is one for every sample and run."""

MOST_CLUSTERS = np.iinfo(LABELS).max

INDEX_BYTES = 8
"""At most, of the position of a weight in a lifted view."""

NOT_POSSIBLE = (ValueError, LinAlgError, ArpackError, MemoryError)
"""What a candidate raises that cannot be fitted on the data; the others can."""


@dataclass(frozen=True)
class Family:
    """What is done to the views first."""

    scaling: str
    n_landmarks: int | None = None
    """None: the views are not lifted."""

    @property
    def most_components(self) -> int:
        """Most components a view that a setting of the family has, in clusters."""
        sizes = LINEAR_SIZES if self.n_landmarks is None else LIFTED_SIZES
        return max(components for _, components in sizes)

    def __str__(self) -> str:
        lifted = "" if self.n_landmarks is None else f", {self.n_landmarks} landmarks"
        return f"{self.scaling}{lifted}"


@dataclass(frozen=True)
class Setting:
    """A family and the solver's settings."""

    family: Family
    anchors: int
    """Anchors, in clusters."""
    components: int
    """Components a view, in clusters."""
    beta: float

    def __str__(self) -> str:
        sizes = f"{self.anchors}k anchors, {self.components}k components"
        return f"{self.family}, {sizes}, beta {self.beta:g}"

    def row(self, n_clusters: int) -> dict[str, Any]:
        """The setting as a row of a table."""
        return {
            "scaling": self.family.scaling,
            "n_landmarks": self.family.n_landmarks,
            "n_anchors": self.anchors * n_clusters,
            "n_components": self.components * n_clusters,
            "beta": self.beta,
        }


def pool(n_clusters: int, n_samples: int) -> list[Setting]:
    """All settings, in rounds through the families, so that the first few are a pool as well."""
    most_landmarks = max(FEW_LANDMARKS, n_samples // 2)
    landmarks = min(max(LANDMARKS, LANDMARKS_A_CLUSTER * n_clusters), most_landmarks)
    linear = [Family(scaling) for scaling in POOL_SCALINGS]
    lifted = [Family(scaling, landmarks) for scaling in POOL_SCALINGS]
    rounds = []
    for beta in LINEAR_BETAS:
        for linear_sizes, lifted_sizes in zip(LINEAR_SIZES, LIFTED_SIZES, strict=True):
            rounds += [Setting(family, *linear_sizes, beta) for family in linear]
            if beta == LINEAR_BETAS[0]:
                rounds += [Setting(family, *lifted_sizes, LIFTED_BETA) for family in lifted]
    return rounds


@dataclass(frozen=True)
class FittedFamily:
    """A family's lift, and the scaling of what is solved on."""

    lift: Lift | None
    scalings: tuple[ViewScaling, ...]

    def prepared(self, data: MultiViewData) -> MultiViewData:
        """Samples in the form that the family's candidates take."""
        return data if self.lift is None else self.lift(data)


@dataclass(frozen=True)
class Candidate:
    """A fitted setting."""

    setting: Setting
    embedder: Embedder
    runs: tuple[Assignment, ...]
    """K-means runs on the embedding, the one with least inertia first."""
    view_weights: Array
    objective: Array
    inertia: float
    """Mean squared distance of a row of the embedding from its centroid, in the first run."""
    seconds: float


class Form:
    """The samples as a family takes them, and all that its candidates share.

    Parameters
    ----------
    data : MultiViewData
        The samples, lifted if the family is.
    family : FittedFamily
    problem : SmallProblem
        What stands for the samples.
    n_directions : int
        Most components a view that a candidate will have.
    """

    def __init__(
        self, data: MultiViewData, family: FittedFamily, problem: SmallProblem, n_directions: int
    ) -> None:
        self.data = data
        self.family = family
        self.problem = problem
        tolerance = rank_tolerance(problem.dtype)
        self.ranks = [rank_up_to(X, 2 * n_directions, tolerance) for X in problem.views]
        self.spectra = [
            leading_directions(X, min(n_directions, rank))
            for X, rank in zip(problem.views, self.ranks, strict=True)
        ]

    def solve(self, setting: Setting, n_clusters: int) -> tuple[Embedder, Array, Array]:
        """Embedder, view weights and objective of a setting's solution."""
        wanted = setting.components * n_clusters
        components = [capped_components(wanted, rank, len(self.ranks)) for rank in self.ranks]
        solution = AlternatingSolver(
            self.problem.views,
            min(setting.anchors * n_clusters, sum(components)),
            components,
            beta=setting.beta,
            available=self.problem.available,
            complete=[m == rank for m, rank in zip(components, self.ranks, strict=True)],
            spectra=self.spectra,
        ).run(MAX_ITER, TOL)
        assert solution.trace is not None
        trace = solution.trace.converted(self.problem.in_features)
        return Embedder(trace, self.family.scalings), solution.weights, solution.objective


class CandidatePool:
    """Fits candidates on the same samples, each family's share of the work done once.

    Parameters
    ----------
    data : MultiViewData
    most_clusters : int
        Largest number of clusters that will be asked for.
    seed : int
        Seed of the landmarks and of K-means.
    """

    def __init__(self, data: MultiViewData, most_clusters: int, seed: int) -> None:
        self.data = data
        self.most_clusters = most_clusters
        self.seed = seed
        self._forms: dict[Family, Form] = {}
        self._sampled: dict[Family, MultiViewData] = {}
        self._scalings = {scaling: fit_scalings(data, scaling) for scaling in POOL_SCALINGS}

    @cached_property
    def sample(self) -> Array:
        """Rows that stand for all, chosen and ordered by what they hold, not by where they are."""
        return spread(self.data, order_by_content(self.data, self._scalings[STANDARDIZED]), SAMPLE)

    @cached_property
    def few(self) -> Array:
        """Fewer of them, for what costs more."""
        return spread(self.data, self.sample, FEW)

    @cached_property
    def _raw_sample(self) -> MultiViewData:
        return self.data[self.sample]

    def form(self, family: Family) -> Form:
        """The samples in a family's form."""
        if family not in self._forms:
            self._forms[family] = self._formed(family)
        return self._forms[family]

    def _formed(self, family: Family) -> Form:
        data, lift = self.data, None
        scalings = self._scalings[family.scaling]
        most = family.most_components * self.most_clusters
        if family.n_landmarks is None:
            wanted = [min(most, d) for d in data.n_features_per_view]
            route = plan(data, wanted, self.most_clusters, MAX_ITER).route
        else:
            lift, data = fit_lift(data, scalings, family.n_landmarks, self.few, self.seed)
            scalings = fit_scalings(data, "none")
            route = "compressed"
            advice = "Reduce the number of patterns in which views are missing."
            require_memory(gram_memory(data), f"Clustering lifted {data!r}", advice)
        problem = pose_problem(data, scalings, route, unit_norm=True)
        return Form(data, FittedFamily(lift, problem.scalings), problem, most)

    def fit_all(
        self, settings: Sequence[Setting], n_clusters: int
    ) -> Iterator[tuple[Setting, "tuple[Candidate, Array] | Exception"]]:
        """Fit candidates and label the sample by their runs; an error where that cannot be."""
        families = list(dict.fromkeys(setting.family for setting in settings))
        failed = self._prepare(families)

        def work(setting: Setting) -> "tuple[Candidate, Array] | Exception":
            if setting.family in failed:
                return failed[setting.family]
            try:
                # Its own stages would come and go too fast to be read.
                with listen_to_progress(lambda *_: None):
                    return self._fit(setting, n_clusters)
            except NOT_POSSIBLE as error:
                return error

        yield from parallel_map(work, settings)

    def _prepare(self, families: Sequence[Family]) -> dict[Family, Exception]:
        """Make what candidates share, before they run side by side; returns where that failed."""

        def work(family: Family) -> Exception | None:
            try:
                form = self.form(family)
                if family.n_landmarks is None:
                    self._sampled[family] = self._raw_sample
                elif family not in self._sampled:
                    self._sampled[family] = form.data[self.sample]
            except NOT_POSSIBLE as error:
                return error
            return None

        self.few, self._raw_sample  # noqa: B018 (before the families ask for them side by side)
        failed = {}
        for done, (family, error) in enumerate(parallel_map(work, families), 1):
            report_progress("preparing", done, len(families))
            if error is not None:
                failed[family] = error
        return failed

    def _fit(self, setting: Setting, n_clusters: int) -> tuple[Candidate, Array]:
        clock = perf_counter()
        form = self.form(setting.family)
        embedder, weights, objective = form.solve(setting, n_clusters)
        rows = embedder(self._sampled[setting.family])
        runs, labels, inertia = _partition(rows, n_clusters, self.seed)
        # Such partitions would agree with each other wherever they come from.
        if (labels == labels[:, :1]).all(axis=1).any():
            raise ValueError("All samples fall in one cluster.")
        seconds = perf_counter() - clock
        return Candidate(setting, embedder, runs, weights, objective, inertia, seconds), labels

    def families(self, candidates: Sequence[Candidate]) -> dict[Family, FittedFamily]:
        """What the candidates need to take new samples."""
        return {c.setting.family: self.form(c.setting.family).family for c in candidates}

    def partitions(self, candidates: Sequence[Candidate]) -> Array:
        """Labels of all samples by all runs of all candidates, (n_candidates, RUNS, n)."""
        return _partitions(candidates, len(self.data), lambda family: self.form(family).data)

    def embedding(self, candidate: Candidate) -> Array:
        """Rows of a candidate's anchor graph for all samples."""
        return candidate.embedder(self.form(candidate.setting.family).data)

    def view_partitions(self, n_clusters: int) -> Iterator[tuple[slice | Array, Array]]:
        """Yield, for each view, where in the sample it is available and its own clusters there."""
        if not self._sampled:
            self._prepare([Family(STANDARDIZED)])
        # As they are if possible; the order in which families were ready is not the same always.
        family = min(
            self._sampled,
            key=lambda own: (own.n_landmarks is not None, own.scaling != STANDARDIZED),
        )
        form, data = self.form(family), self._sampled[family]
        directions = form.problem.in_features(
            [D[:, :n_clusters] / s[:n_clusters] for D, s in form.spectra]
        )

        def work(p: int) -> tuple[slice | Array, Array]:
            has = slice(None) if data.available is None else np.flatnonzero(data.available[:, p])
            alone = MultiViewData([data.views[p][has]])
            scaling, D = (form.family.scalings[p],), directions[p].astype(data.dtype)
            rows = np.vstack([scaled_block(alone, scaling, b) @ D for b in alone.blocks()])
            _, labels, _ = _partition(rows, min(n_clusters, len(rows)), self.seed)
            return has, labels[0]

        for _, found in parallel_map(work, range(len(directions))):
            yield found


def _partition(
    rows: Array, n_clusters: int, seed: int
) -> tuple[tuple[Assignment, ...], Array, float]:
    """K-means runs, least inertia first, the labels of each, and the least inertia.

    The first starts from rows that point apart, which finds clusters that are separate however
    many they are; the others start at random.
    """
    points = unit_rows(rows)
    starts: list[Any] = ["k-means++"] * RUNS
    if rows.shape[1] >= n_clusters:
        starts[0] = points[distant_rows(rows, n_clusters)]
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=RUNS)
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


def memory_needed(data: MultiViewData, settings: Sequence[Setting], n_clusters: int) -> float:
    """Bytes of what is kept: lifted views, labels, an embedding, traces, landmarks, patterns."""
    lifted = {setting.family for setting in settings if setting.family.n_landmarks is not None}
    weights = len(lifted) * len(data.views) * NEIGHBORS * (INDEX_BYTES + data.dtype.itemsize)
    labels = len(settings) * RUNS * LABELS.itemsize
    width = n_clusters * max(setting.anchors for setting in settings)
    needed = len(data) * float(weights + labels + width * data.dtype.itemsize)
    for setting in settings:
        landmarks = setting.family.n_landmarks
        features = data.n_features_per_view if landmarks is None else [landmarks] * len(data.views)
        components = sum(d * min(d, setting.components * n_clusters) for d in features)
        needed += 8 * TYPICAL_ITERATIONS * components
    needed += 8 * data.shape[1] * sum(family.n_landmarks or 0 for family in lifted)
    return needed + 4 * 8 * len(settings) * RUNS * n_clusters**2


def partitions_of(
    candidates: Sequence[Candidate], families: Mapping[Family, FittedFamily], data: MultiViewData
) -> Array:
    """Labels of samples by all runs of all candidates, (n_candidates, RUNS, n)."""
    return _partitions(candidates, len(data), lambda family: families[family].prepared(data))


def _partitions(
    candidates: Sequence[Candidate], n: int, prepared: Callable[[Family], MultiViewData]
) -> Array:
    """Labels of `n` samples; `prepared` gives them in the form that a family takes."""
    labels = np.empty((len(candidates), len(candidates[0].runs), n), dtype=LABELS)
    for family in dict.fromkeys(candidate.setting.family for candidate in candidates):
        members = [c for c, own in enumerate(candidates) if own.setting.family == family]
        embedders = [candidates[c].embedder for c in members]
        for_embeddings(partial(_label, candidates, labels, members), embedders, prepared(family))
    return labels


def _label(
    candidates: Sequence[Candidate],
    labels: Array,
    members: Sequence[int],
    rows: slice | Array,
    embeddings: Sequence[Array],
) -> None:
    """Write the labels of some rows by some candidates."""
    for c, embedding in zip(members, embeddings, strict=True):
        labels[c][:, rows] = labels_of_runs(candidates[c].runs, embedding)
