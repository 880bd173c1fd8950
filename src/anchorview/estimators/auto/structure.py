"""Structure: how much better families of settings agree than on data without clusters.

The reference is a sample of the normal distribution that has the means and covariances of the
features, within and between views. Families also agree on such data, since they all divide it along
its longest directions, so only agreement beyond this is evidence of clusters.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from anchorview._utils.progress import report_progress
from anchorview._utils.threads import parallel_map, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.estimators.auto.consensus import (
    DOUBTFUL_CONFIDENCE,
    FamilyKey,
    agreement_between,
    agreement_matrix,
    best_by_family,
    cross_agreement,
    family_weights,
    find_consensus,
)
from anchorview.estimators.auto.number_curve import (
    Partitions,
    comparison_pool,
    informative_views,
    partitions_by_family,
)
from anchorview.estimators.auto.settings import Setting
from anchorview.estimators.representation import NO_STRUCTURE
from anchorview.views.container import MultiViewData, dense_rows

ROWS, MIN_ROWS, ROWS_PER_CLUSTER = 1000, 500, 5
"""Number of rows that are compared: the first number, fewer if features are very many, and more if
clusters are many. With half of the rows, overlapping clusters need 12 draws instead of 5."""

ROWS_PER_LANDMARK = 4
"""Minimum number of rows per landmark of lifts."""

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

LARGE_DRAW = 2**26
"""Number of values above which draws have fewer rows. From half of it on, they are compared one
after the other."""

COLUMNS_PER_BLOCK = 2048
"""Number of features that are drawn at a time."""

WEAK_STRUCTURE = 0.25
"""Structure below which it is called weak."""


@dataclass(frozen=True)
class Structure:
    """Agreement between families, judged by that on data without clusters."""

    value: float | None
    """Excess of the agreement over the reference, as a share of the largest possible; 0 if it is
    not distinguishable from it, None if fewer than two families could be fitted."""
    chance_agreement: float | None
    """Mean agreement on the reference."""
    confidence_threshold: float
    """Confidence below which a sample is doubtful: one half or, without clear structure, the mean
    on the reference if that is higher."""


def compared_rows(data: MultiViewData, n_clusters: int) -> Array:
    """Rows by which a number of clusters is judged, drawn by their position."""
    affordable = max(MIN_ROWS, LARGE_DRAW // data.shape[1])
    return drawn_rows(len(data), max(min(ROWS, affordable), ROWS_PER_CLUSTER * n_clusters))


def drawn_rows(n_samples: int, count: int) -> Array:
    """Rows drawn by their position; all if there are not more than `count`."""
    return np.random.default_rng(0).choice(n_samples, min(count, n_samples), replace=False)


def structure_of(
    data: MultiViewData,
    settings: Sequence[Setting],
    n_clusters: int,
    seed: int,
) -> Structure:
    """Structure of some rows."""
    data = informative_views(data)
    agreement, draws, confidences = np.nan, list[float](), list[float]()
    clear: bool | None = None
    found = _partitions_of_draws(data, settings, n_clusters, seed)
    for number, partitions in enumerate(found):
        report_progress("structure", number, MAX_DRAWS)
        own = agreement_between(partitions, n_clusters)
        if number == 0:
            agreement, clear = own, None if np.isfinite(own) else False
        else:
            draws.append(own)
            confidences.append(_mean_confidence(partitions, n_clusters))
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


def gaussian_like(data: MultiViewData, rng: np.random.Generator) -> MultiViewData:
    """Rows of a normal distribution with the means and covariances of `data`.

    Covariances are those of the samples that have the views; the same rows lack them.
    """
    n = len(data)
    mixing = rng.standard_normal((n, n), data.dtype)
    views = {}
    for p, name in enumerate(data.names):
        has = np.arange(n) if data.available is None else np.flatnonzero(data.available[:, p])
        rows, own = data.views[p][has], mixing[:, has]
        rows = rows.tocsc() if sparse.issparse(rows) else dense_rows(rows, slice(None))
        drawn = np.empty((n, rows.shape[1]), data.dtype)
        # Only some columns are held in double precision.
        for columns in gen_batches(rows.shape[1], COLUMNS_PER_BLOCK):
            block = dense_rows(rows[:, columns], slice(None)).astype(np.float64)
            means = block.mean(axis=0)
            deviations = ((block - means) / np.sqrt(len(has))).astype(data.dtype)
            drawn[:, columns] = own @ deviations + means
        views[name] = drawn
    return MultiViewData(views, available=data.available)


def _partitions_of_draws(
    data: MultiViewData, settings: Sequence[Setting], n_clusters: int, seed: int
) -> Iterator[Partitions]:
    """Yield the partitions of the data, and then of up to `MAX_DRAWS` references."""
    # Draws gain little from several threads each. With very many features, two draws at a time
    # would need too much memory.
    large = len(data) * data.shape[1] > LARGE_DRAW // 2

    def partitions(number: int) -> Partitions:
        with without_nested_threads():
            # The pool has a copy: what was drawn is not needed beside it.
            pool = comparison_pool(
                gaussian_like(data, np.random.default_rng([seed, number])) if number else data, seed
            )
            return partitions_by_family(pool, settings, n_clusters)

    first = 2 if n_clusters >= MANY_CLUSTERS else CLEAR_DRAWS + 1
    ends = [0, *range(first, MAX_DRAWS + 1, DRAWS_AT_A_TIME), MAX_DRAWS + 1]
    for start, stop in pairwise(ends):
        numbers = range(start, stop)
        found = parallel_map(partitions, numbers, threads=1 if large else None)
        yield from (own for _, own in found)


def _mean_confidence(partitions: Mapping[FamilyKey, Array], n_clusters: int) -> float:
    """Mean confidence of the samples in the consensus of the partitions of all families."""
    if not partitions:
        return 0.0
    families = [family for family, runs in partitions.items() for _ in runs]
    stacked, weights = np.vstack(list(partitions.values())), family_weights(families)
    scores = cross_agreement(agreement_matrix(stacked, n_clusters), families)
    starts = stacked[best_by_family(scores, families)]
    consensus, labels = find_consensus(stacked, n_clusters, weights, starts)
    return float(consensus.confidence(stacked, labels).mean())


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
