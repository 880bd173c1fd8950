"""The candidates of AutoDALMC: settings, fitted to the samples.

What the candidates of a family share is computed once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Self, TypeVar

import numpy as np
from scipy.linalg import LinAlgError
from scipy.sparse.linalg import ArpackError

from anchorview._utils.progress import listen_to_progress, report_progress
from anchorview._utils.threads import parallel_map
from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment
from anchorview.core.compress import EXACT_ROUTES, Problem, Route, compress
from anchorview.core.cost_model import plan
from anchorview.core.embed import Embedder, embedder_of
from anchorview.core.scale import ViewScaling, fit_scalings
from anchorview.core.scaled_view import projected_rows
from anchorview.core.solve import Sizes, SolverSettings, Spectra, leading_spectra, solve
from anchorview.core.truncate import compress_truncated
from anchorview.estimators.auto import landmarks
from anchorview.estimators.auto.kmeans_runs import N_KMEANS_RUNS, kmeans_runs
from anchorview.estimators.auto.landmarks import Lift, fit_lift
from anchorview.estimators.auto.representative_rows import order_by_content, representative_rows
from anchorview.estimators.auto.settings import STANDARDIZED, Family, Setting
from anchorview.views.container import MultiViewData

MAX_ITER, TOL = 50, 1e-4

ROUTES: tuple[Route, ...] = (*EXACT_ROUTES, "truncated")
"""Ways to compress the samples; wide views are truncated where the exact ways take long."""

VERY_WIDE, WORK_WHERE_VERY_WIDE = 4, 5e10
"""Views with at least this many times as many features as samples are truncated from this many
operations on: the samples have few dimensions, and candidates repeat most of the work."""

BETA = 0.1
"""Weight of the alignment in families without a lift, which decides how far views are truncated."""

SMALL_SAMPLE_SIZE = 4_000
"""Maximum number of rows that place landmarks and decide on the number of clusters."""

LABEL_DTYPE = np.dtype(np.int16)
"""Type of labels in partitions, small because there is one per sample and K-means run."""

MAX_CLUSTERS = np.iinfo(LABEL_DTYPE).max

FIT_ERRORS = (ValueError, LinAlgError, ArpackError, MemoryError)
"""Errors by which a candidate is left out; the others are still fitted."""


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


Job = tuple[Setting, int]
"""A setting and the number of clusters to fit it with."""

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
    n_directions: int
    """Number of components per view up to which `spectra` suffice."""
    n_for_lifts: int
    """Number of directions of each view that lifts take, if it has as many."""
    spectra: Spectra

    @property
    def is_truncated(self) -> bool:
        """Whether wide views were truncated to their leading directions."""
        return self.problem.left_out is not None

    def with_directions(self, n_directions: int) -> Self:
        """Problem with spectra for at least as many components per view."""
        if n_directions <= self.n_directions:
            return self
        spectra = leading_spectra(self.problem, n_directions, self.n_for_lifts)
        return replace(self, n_directions=n_directions, spectra=spectra)

    def directions_for_lifts(self) -> list[Array]:
        """Leading directions of the features of each view (columns), of norm 1."""
        leading = [D[:, : self.n_for_lifts] for D, _ in self.spectra.directions]
        return self.problem.in_features(leading)

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
    """Fits candidates on the same samples; prepares each family once.

    The samples, in an order that does not depend on that of `data`, stand for `n_represented`
    samples (by default, for themselves): the norms by which views are divided are those of as many,
    so that the embeddings of all of them have columns of norm 1.
    """

    def __init__(
        self,
        data: MultiViewData,
        seed: int,
        n_represented: int | None = None,
        n_runs: int = N_KMEANS_RUNS,
        *,
        repairs_runs: bool = False,
    ) -> None:
        self.order = order_by_content(data, fit_scalings(data, STANDARDIZED))
        """Positions of the samples in `data`."""
        self.data = data[self.order]
        self.seed = seed
        self.n_runs = n_runs
        """Number of K-means runs per candidate."""
        self.repairs_runs = repairs_runs
        """Whether K-means runs are repaired; they are better then, but vary less."""
        self.small_sample = representative_rows(
            np.arange(len(data)), self.data.available, SMALL_SAMPLE_SIZE
        )
        """Fewer representative rows, for more expensive work."""
        self.n_represented = n_represented or len(data)
        self._norm_factor = float(np.sqrt(self.n_represented / len(data)))
        self._problems: dict[Family, FamilyProblem] = {}

    def problem(self, family: Family) -> FamilyProblem:
        """Data that the candidates of a family share, which has been prepared."""
        return self._problems[family]

    def prepare(self, jobs: Sequence[Job]) -> dict[Family, Exception]:
        """Prepare the families of all jobs; returns why some of them cannot be."""
        errors: dict[Family, Exception] = {}
        directions = _directions_by_family(jobs)

        def work(family: Family) -> FamilyProblem | Exception:
            return _result_or_error(self._prepare, family, directions[family])

        done = 0
        # Lifts use the leading directions of the views that are scaled in the same way.
        for lifted in (False, True):
            families = [family for family in directions if family.is_lifted == lifted]
            for family, outcome in parallel_map(work, families):
                if isinstance(outcome, Exception):
                    errors[family] = outcome
                done += 1
                report_progress("preparing", done, len(directions))
        return errors

    def fit_all(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Yield every job with its outcome, in order."""
        errors = self.prepare(jobs)

        def work(job: Job) -> Outcome:
            error = errors.get(job[0].family)
            if error is not None:
                return error
            # The stages of a candidate are too short to be reported.
            with listen_to_progress(lambda *_: None):
                return _result_or_error(self._fit, *job)

        yield from parallel_map(work, jobs)

    def _prepare(self, family: Family, n_directions: int) -> FamilyProblem:
        """Prepare what the candidates of a family share, with up to `n_directions` components."""
        known = self._problems.get(family)
        # A truncated problem has only the directions that were needed so far.
        if known is None or (known.is_truncated and n_directions > known.n_directions):
            self._problems[family] = self._problem(family, n_directions)
        else:
            self._problems[family] = known.with_directions(n_directions)
        return self._problems[family]

    def _problem(self, family: Family, n_directions: int) -> FamilyProblem:
        data, lift = self.data, None
        # Of the ordered samples, as all that follows, so that rounding is the same too.
        scalings = fit_scalings(data, family.scaling)
        if family.n_landmarks is None:
            n_components = [min(n_directions, d) for d in data.n_features_per_view]
            very_wide = max(data.n_features_per_view) >= VERY_WIDE * len(data)
            long_work = WORK_WHERE_VERY_WIDE if very_wide else None
            route = plan(
                data, n_components, n_directions, MAX_ITER, ROUTES, long_work=long_work
            ).route
        else:
            plain = self._problems.get(family.without_lift)
            directions = None if plain is None else plain.directions_for_lifts()
            lift, data = fit_lift(
                data, scalings, directions, family.n_landmarks, self.small_sample, self.seed
            )
            scalings = fit_scalings(data, "none")
            # Lifted samples have so few weights that compressing them would cost more.
            route = "direct"
        if route == "truncated":
            problem, _ = compress_truncated(
                data, scalings, n_components, BETA * sum(n_components), unit_norm=True
            )
        else:
            problem = compress(data, scalings, route, unit_norm=True)
        normed = (replace(own, norm=own.norm * self._norm_factor) for own in problem.scalings)
        problem = problem._replace(scalings=tuple(normed))
        fitted = FittedFamily(lift, problem.scalings)
        n_for_lifts = landmarks.MAX_DIRECTIONS if family.may_be_lifted else 0
        spectra = leading_spectra(problem, n_directions, n_for_lifts)
        return FamilyProblem(data, fitted, problem, n_directions, n_for_lifts, spectra)

    def _fit(self, setting: Setting, n_clusters: int) -> tuple[Candidate, Array]:
        clock = perf_counter()
        problem = self.problem(setting.family)
        embedder, weights, objective = problem.solve(setting, n_clusters)
        runs, labels, inertia = kmeans_runs(
            embedder(problem.data), n_clusters, self.seed, self.n_runs, repairs=self.repairs_runs
        )
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
            own = data.with_views([p])[has]
            view, D = own.views[0], directions[p].astype(data.dtype)
            blocks = (block.rows for block in own.stored_blocks())
            rows = np.vstack([projected_rows(view, block, scalings[p], D) for block in blocks])
            _, labels, _ = kmeans_runs(rows, min(n_clusters, len(rows)), self.seed)
            return has, labels[0]

        return (found for _, found in parallel_map(work, range(len(directions))))


def _directions_by_family(jobs: Sequence[Job]) -> dict[Family, int]:
    """Largest number of components per view that any candidate of a family has.

    Families with a lift need those with the same scaling and no lift.
    """
    directions: dict[Family, int] = {}
    for setting, n_clusters in jobs:
        needed = max(setting.components * n_clusters, directions.get(setting.family, 0))
        directions[setting.family] = needed
        directions.setdefault(setting.family.without_lift, 1)
    return directions


def _result_or_error(function: Callable[..., Result], *args: Any) -> Result | Exception:
    """Result of a function, or the error by which a candidate is left out."""
    try:
        return function(*args)
    except FIT_ERRORS as error:
        return error
