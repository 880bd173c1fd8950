"""The samples that candidates are fitted to, and what candidates share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np

from anchorview._utils.progress import listen_to_progress, report_progress
from anchorview._utils.threads import parallel_map
from anchorview._utils.typing import Array
from anchorview.core.compress import Problem, Route, compress
from anchorview.core.scale import ViewScaling, fit_scalings
from anchorview.core.solve import leading_spectra
from anchorview.estimators.auto.bases import MAX_DIRECTIONS, STANDARDIZED, Basis, fit_bases
from anchorview.estimators.auto.candidates import (
    COMPARED_DIRECTIONS,
    FIT_ERRORS,
    Candidate,
    CandidateError,
    Setting,
    first_partitions,
)
from anchorview.estimators.auto.consensus import Family
from anchorview.estimators.auto.landmarks import (
    LABEL_DTYPE,
    N_LANDMARKS,
    Landmarks,
    Neighbors,
    fit_landmarks,
)
from anchorview.estimators.auto.neighbor_graphs import N_NEIGHBORS, NeighborGraph
from anchorview.estimators.auto.representative_rows import (
    distinct_by_content,
    representative_rows,
)
from anchorview.views.container import MultiViewData, container_with_views

LANDMARK_ROWS, ROWS_PER_LANDMARK = 4_000, 4
"""Maximum number of rows that place landmarks, or of rows per landmark."""

NO_CANDIDATE = "No candidate can be fitted. The first fails: "

P = ParamSpec("P")
Result = TypeVar("Result")


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
        firsts: dict[Family, int] = {}
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
        key = method.__name__, args, tuple(sorted(kwargs.items()))
        with self._locks.setdefault(key, Lock()):
            if key not in self._shared:
                self._shared[key] = method(self, *args, **kwargs)
        result: Result = self._shared[key]
        return result

    return once


class CandidatePool:
    """Fits candidates to the same samples; prepares what they share once.

    `coordinates` are those of the samples by scaling, in an order that does not depend on how they
    were given. `rows` are their positions in the sample that they are part of. If they stand for
    more samples, `norm_factor` is the root of how many for each: embeddings are divided by it, so
    that those of all samples have columns of norm 1. `importance` is that of each view, 1 by
    default. `bases` are those of the coordinates, and `errors` says why there are none in a
    scaling.
    """

    def __init__(
        self,
        coordinates: Mapping[str, MultiViewData],
        seed: int,
        *,
        rows: Array | None = None,
        norm_factor: float = 1.0,
        importance: Array | None = None,
        bases: Mapping[str, Basis] | None = None,
        errors: Mapping[str, Exception] | None = None,
    ) -> None:
        self.coordinates = coordinates
        self.seed = seed
        self.rows = np.arange(len(self.data)) if rows is None else rows
        self.norm_factor = norm_factor
        self.importance = np.ones(len(self.data.views)) if importance is None else importance
        self.bases = bases or {}
        self.errors = errors or {}
        self.n_landmarks = N_LANDMARKS
        """Number of landmarks per view, if there are as many samples."""
        self._shared: dict[tuple[Any, ...], Any] = {}
        self._locks: dict[tuple[Any, ...], Any] = {}

    @classmethod
    def of(
        cls, sample: MultiViewData, rows: Array, n_represented: int, seed: int, importance: Array
    ) -> Self:
        """Pool of some distinct rows of a sample, which represent so many samples."""
        some = sample[rows]
        order = distinct_by_content(some, fit_scalings(some, STANDARDIZED))
        bases, coordinates, errors = fit_bases(some[order])
        if not bases:
            raise ValueError(f"{NO_CANDIDATE}{errors[STANDARDIZED]}")
        return cls(
            coordinates,
            seed,
            rows=rows[order],
            norm_factor=float(np.sqrt(n_represented / len(order))),
            importance=importance,
            bases=bases,
            errors=errors,
        )

    @property
    def data(self) -> MultiViewData:
        """Coordinates in one of the scalings."""
        return next(iter(self.coordinates.values()))

    def __len__(self) -> int:
        return len(self.data)

    def some(self, positions: Array) -> "CandidatePool":
        """Pool of some of the samples; views have the norms of all."""
        selected = {}
        for scaling, data in self.coordinates.items():
            factor = data.dtype.type(np.sqrt(len(data) / len(positions)))
            part = data[positions]
            selected[scaling] = container_with_views(part, tuple(v * factor for v in part.views))
        rows, errors = self.rows[positions], self.errors
        return CandidatePool(
            selected, self.seed, rows=rows, importance=self.importance, errors=errors
        )

    def at_random(self, count: int) -> "CandidatePool":
        """Pool of so many samples, which do not depend on their order."""
        if count >= len(self):
            return self
        return self.some(np.sort(np.random.default_rng(0).permutation(len(self))[:count]))

    def fit(
        self,
        settings: Sequence[Setting],
        n_clusters: int,
        say: Callable[[str], object] | None = None,
    ) -> FittedCandidates:
        """Fit all settings; `say`, if given, is called with what happens."""

        def work(setting: Setting) -> tuple[Candidate, Array] | Exception:
            # The stages of a candidate are too short to be reported.
            with listen_to_progress(lambda *_: None):
                try:
                    return setting.fit(self, n_clusters)
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
        return NeighborGraph(self.coordinates_in(scaling), importance=self.importance)

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
        kept = [float(np.einsum("ij,ij->", view, view, dtype=np.float64)) for view in data.views]
        # The scaled views have norm 1, of which the bases may have left something out.
        left_out = tuple(max(0.0, 1.0 - square) for square in kept)
        scalings = (ViewScaling(norm=self.norm_factor),) * len(data.views)
        problem = problem._replace(left_out=left_out, scalings=scalings)
        return problem, leading_spectra(problem, MAX_DIRECTIONS // 2)

    def landmarks_in(self, scaling: str) -> tuple[Landmarks, list[Neighbors]]:
        """Landmarks in a scaling, and the nearest ones of the samples."""
        return self.landmarks(scaling, self.n_landmarks)

    @shared
    def landmarks(self, scaling: str, count: int) -> tuple[Landmarks, list[Neighbors]]:
        """As many landmarks in a scaling, and the nearest ones of the samples."""
        data = self.coordinates_in(scaling)
        n_rows = max(LANDMARK_ROWS, ROWS_PER_LANDMARK * count)
        rows = representative_rows(np.arange(len(data)), data.available, n_rows)
        landmarks = fit_landmarks(data, count, rows, self.seed, self.importance)
        return landmarks, landmarks.nearest(data)

    def coordinates_in(self, scaling: str) -> MultiViewData:
        """Coordinates in a scaling."""
        if scaling not in self.coordinates:
            reason = self.errors.get(scaling, f"There are no views with {scaling!r}.")
            raise CandidateError(str(reason))
        return self.coordinates[scaling]
