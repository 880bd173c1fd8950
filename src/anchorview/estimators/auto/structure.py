"""Structure: how much better families of settings agree than on data without clusters.

The reference is a sample of the normal distribution that has the means and covariances of the
coordinates, within and between views, and is scaled as they are. Families also agree on such data,
since they all divide it along its longest directions, so only agreement beyond this is evidence of
clusters.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import report_progress
from anchorview._utils.threads import parallel_map, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import CandidatePool, FittedCandidates, fit_candidates
from anchorview.estimators.auto.consensus import (
    DOUBTFUL_CONFIDENCE,
    agreement_between,
    fit_consensus,
)
from anchorview.estimators.auto.levels import partitions_by_family
from anchorview.estimators.auto.settings import (
    NORMALIZED,
    SHARING_A_BASIS,
    representative_settings,
)
from anchorview.estimators.representation import NO_STRUCTURE
from anchorview.views.container import MultiViewData, container_with_views

ROWS, ROWS_PER_CLUSTER = 1000, 5
"""Number of rows that are compared, and its minimum per cluster. With half of the rows, overlapping
clusters need 12 draws instead of 5."""

MIN_SAMPLES_PER_CLUSTER = 2
"""Number of samples per cluster below which agreement says nothing."""

SAMPLES_PER_LANDMARK = 4
"""Minimum number of rows per landmark."""

# When to stop drawing. Real data sets need 3 to 6 draws, noise 1 or 2 (benchmarks/structure.md).
MAX_DRAWS = 12
CLEAR_EXCESS, CLEAR_DRAWS = 0.25, 3
"""Agreement beyond all draws that needs no more draws, and the minimum number of draws for it."""
MANY_CLUSTERS, CLEAR_EXCESS_OF_MANY = 8, 0.15
"""From this many clusters on, the first excess needs only one draw, and with as many draws, the
second one is enough: on data without clusters, the standard deviation of their agreement is at most
.07, and up to .18 with three clusters."""
DRAWS_AT_A_TIME = 2
"""Number of further draws that are compared beside each other."""
CLEAR_DEVIATIONS, DEVIATION_DRAWS, MIN_DEVIATION = 6.0, 5, 0.01
"""The same in standard deviations of the draws, which are taken to be at least the last number."""
FINAL_DEVIATIONS = 3.0
"""Standard deviations that are enough after the last draw."""
MAX_STABILIZED = 0.999
"""Agreement above which differences are ignored."""

WEAK_STRUCTURE = 0.25
"""Structure below which it is called weak."""


@dataclass(frozen=True)
class Structure:
    """Agreement between families, judged by that on data without clusters."""

    value: float | None
    """Excess of the agreement over the reference, as a share of the largest possible; 0 if it is
    not distinguishable from it, None if fewer than two families could be fitted, or samples are too
    few."""
    chance_agreement: float | None
    """Mean agreement on the reference."""
    confidence_threshold: float
    """Confidence below which a sample is doubtful: one half or, without clear structure, the mean
    on the reference if that is higher."""


def judge_structure(
    coordinates: Mapping[str, MultiViewData], labels: Array, seed: int
) -> Structure:
    """Structure of samples, given by their coordinates in several scalings and their clusters."""
    n_clusters, n = int(labels.max()) + 1, len(labels)
    if n < MIN_SAMPLES_PER_CLUSTER * n_clusters:
        return Structure(None, None, DOUBTFUL_CONFIDENCE)
    # Drawn by position: representative rows always have the outliers, which decide on covariances.
    count = min(n, max(ROWS, ROWS_PER_CLUSTER * n_clusters))
    rows = np.random.default_rng(0).choice(n, count, replace=False)
    some = some_rows(coordinates, rows)
    agreement, draws, confidences = np.nan, list[float](), list[float]()
    clear: bool | None = None
    for number, fitted in enumerate(_fits_of_draws(some, n_clusters, seed)):
        report_progress("structure", number, MAX_DRAWS)
        current = np.nan if fitted is None else agreement_between(partitions_by_family(fitted))
        if number == 0:
            agreement, clear = current, None if np.isfinite(current) else False
        elif fitted is not None and np.isfinite(current):
            draws.append(current)
            result = fit_consensus(fitted.partitions, fitted.families, n_clusters)
            confidence = result.consensus.confidence(fitted.partitions, result.labels)
            confidences.append(float(confidence.mean()))
            clear = _is_clear(agreement, draws, n_clusters)
        if clear is not None:
            break
    report_progress("structure", MAX_DRAWS, MAX_DRAWS)
    if not draws:
        return Structure(None, None, DOUBTFUL_CONFIDENCE)
    chance = float(np.mean(draws))
    if not clear:
        return Structure(0.0, chance, max(DOUBTFUL_CONFIDENCE, float(np.mean(confidences))))
    return Structure((agreement - chance) / (1 - chance), chance, DOUBTFUL_CONFIDENCE)


def structure_sentence(structure: float) -> str:
    """Sentence on the attribute `structure_`, for the command line and reports."""
    if structure == 0:
        return (
            f"{NO_STRUCTURE}: the candidates agree no better than on data without clusters, so "
            "the clusters may be arbitrary"
        )
    strength = "weak" if structure < WEAK_STRUCTURE else "clear"
    return (
        f"{strength} structure: {structure:.2f} on a scale from 0 (the candidates agree as on data "
        "without clusters) to 1"
    )


def some_rows(coordinates: Mapping[str, MultiViewData], rows: Array) -> dict[str, MultiViewData]:
    """Coordinates of some samples; views have the norms of all."""
    selected = {}
    for scaling, data in coordinates.items():
        factor = data.dtype.type(np.sqrt(len(data) / len(rows)))
        part = data[rows]
        selected[scaling] = container_with_views(part, tuple(v * factor for v in part.views))
    return selected


def without_clusters(
    coordinates: Mapping[str, MultiViewData], rng: np.random.Generator
) -> dict[str, MultiViewData]:
    """Rows of a normal distribution, scaled as the samples are in the scalings of neighbors.

    They have the means and covariances of the coordinates in "zscore" and "unit", within and
    between both, of the samples that have the views; the same rows lack them.
    """
    n = len(next(iter(coordinates.values())))
    mixing = rng.standard_normal((n, n))
    drawn = {}
    for scaling, plain in SHARING_A_BASIS.items():
        if scaling not in coordinates:
            continue
        data = coordinates[plain]
        views = []
        for p, view in enumerate(data.views):
            has = np.arange(n) if data.available is None else np.flatnonzero(data.available[:, p])
            rows = view[has].astype(np.float64)
            means = rows.mean(axis=0) if len(has) else 0.0
            rows = mixing[np.ix_(has, has)] @ (rows - means) / np.sqrt(max(1, len(has))) + means
            rows = unit_rows(rows)
            if scaling == NORMALIZED and len(has):
                rows -= rows.mean(axis=0)
            rows /= max(np.linalg.norm(rows), np.finfo(float).tiny)
            whole = np.zeros(view.shape, view.dtype)
            whole[has] = rows
            views.append(whole)
        drawn[scaling] = container_with_views(data, tuple(views))
    return drawn


def comparison_pool(coordinates: Mapping[str, MultiViewData], seed: int) -> CandidatePool:
    """Pool of candidates whose partitions are compared, but do not join a consensus.

    One run per candidate is repaired: a run that ends with two clusters in one lowers the
    agreement at the right number.
    """
    pool = CandidatePool(coordinates, seed, n_runs=1, repairs_runs=True)
    pool.n_landmarks = max(10, min(pool.n_landmarks, len(pool) // SAMPLES_PER_LANDMARK))
    return pool


def _fits_of_draws(
    coordinates: Mapping[str, MultiViewData], n_clusters: int, seed: int
) -> Iterator[FittedCandidates | None]:
    """Yield the candidates of the samples, and then of up to `MAX_DRAWS` references."""

    def fitted(number: int) -> FittedCandidates | None:
        # Draws gain little from several threads each.
        with without_nested_threads():
            rng = np.random.default_rng([seed, number])
            drawn = without_clusters(coordinates, rng) if number else coordinates
            try:
                pool = comparison_pool(drawn, seed)
                return fit_candidates(pool, representative_settings(), n_clusters)
            except ValueError:
                return None

    first = 2 if n_clusters >= MANY_CLUSTERS else CLEAR_DRAWS + 1
    ends = [0, *range(first, MAX_DRAWS + 1, DRAWS_AT_A_TIME), MAX_DRAWS + 1]
    for start, stop in pairwise(ends):
        yield from (candidates for _, candidates in parallel_map(fitted, range(start, stop)))


def _is_clear(agreement: float, draws: Sequence[float], n_clusters: int) -> bool | None:
    """Whether the agreement is beyond that of data without clusters; None if not decided yet."""
    excess = agreement - max(draws)
    if excess <= 0:
        return False
    many, enough = n_clusters >= MANY_CLUSTERS, len(draws) >= CLEAR_DRAWS
    if excess >= CLEAR_EXCESS and (many or enough):
        return True
    if excess >= CLEAR_EXCESS_OF_MANY and many and enough:
        return True
    if len(draws) < DEVIATION_DRAWS:
        return None
    # As for correlations, the spread of the agreement shrinks toward 1.
    stabilized = np.arctanh(np.minimum(draws, MAX_STABILIZED))
    distance = np.arctanh(min(agreement, MAX_STABILIZED)) - stabilized.mean()
    n_deviations = float(distance / max(stabilized.std(ddof=1), MIN_DEVIATION))
    if n_deviations >= CLEAR_DEVIATIONS:
        return True
    return n_deviations >= FINAL_DEVIATIONS if len(draws) == MAX_DRAWS else None
