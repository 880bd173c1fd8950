"""Levels: numbers of clusters that the neighbor graphs and DALMC support, and how clusters split.

The notes of AutoDALMC say how numbers are compared. In order: the numbers that are requested, the
scan of numbers, the rule that chooses one, the other levels, and how clusters split.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral

import numpy as np
import pandas as pd

from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.estimators.auto.evidence import (
    CLEAR_SEPARATION,
    JudgedSamples,
    evidence_value,
    support_beyond,
    without_clusters,
)
from anchorview.estimators.auto.labeling import Clustering
from anchorview.estimators.partitions.candidates import AT_LEVELS, CandidatePool
from anchorview.estimators.partitions.consensus import agreement_between
from anchorview.estimators.partitions.coordinates import NEIGHBOR_SCALINGS, PLAIN

ROWS = 1_500
"""Maximum number of rows by which levels are compared."""

REFERENCE_ROWS = 600
"""Maximum number of rows of data without clusters."""

LOG_RESOLUTIONS = np.arange(-2, 4.1, 0.5)
"""Base-2 logarithms of the resolutions that are tried by default."""

FEW_CLUSTERS = range(2, 7)
"""Numbers that are compared by default beside those of communities, from which they are merged."""

REFERENCE_NUMBERS = (2, 3, 4, 6)
"""Numbers that are compared on data without clusters, beside those of its communities."""

SEPARATION_WEIGHT, RESOLUTION_PENALTY, PENALTY_OF_TWO = 0.3, 0.04, 0.35
"""The score that the notes of AutoDALMC state; a first division is stable on most data and says
little. Chosen on 31 planted data sets, 12 tables and 19 other real ones: with each of these left
out in turn, the adjusted Rand index of the 19 is 0.61 on average, as it is 0.62 with these weights;
twice the penalty has 0.60."""

MIN_NUMBER, MIN_SAMPLES_PER_CLUSTER = 3, 8
"""Smallest number that is always compared, and minimum number of samples per cluster of a default
choice: neighbors stay together in tiny clusters."""

MANY_CLUSTERS, MIN_AGREEMENT_OF_MANY = 30, 0.5
"""More clusters than this are chosen by default only if they agree at least as much."""

ANY_EVIDENCE = 0.08
"""Evidence at a number up to which data may be without clusters: it is the largest of many."""

BRANCH = {
    **dict.fromkeys(["n_clusters", "cluster", "parent_level", "parent", "size"], int),
    **dict.fromkeys(["overlap", "split_agreement", "split_chance"], float),
}
"""Columns of the table of branches."""


def requested_numbers(n_clusters: int | Sequence[int] | None, n_samples: int) -> list[int]:
    """Numbers of clusters that `n_clusters` requests, ascending; none if it is None."""
    if n_clusters is None:
        return []
    if isinstance(n_clusters, Integral):
        return [int(n_clusters)]
    too_long = isinstance(n_clusters, range) and len(n_clusters) > n_samples
    numbers = [] if too_long else list(np.atleast_1d(n_clusters))
    if not all(isinstance(k, Integral) for k in numbers):
        raise ValueError(f"n_clusters={n_clusters!r} must be an integer or a sequence of integers.")
    smallest, largest = min(numbers, default=0), max(numbers, default=0)
    # With hardly more samples than clusters, any two partitions agree.
    if smallest < 2 or (largest > n_samples // 2 and largest > smallest):
        raise ValueError(
            f"n_clusters={n_clusters!r} must contain numbers from 2 to n_samples // 2 = "
            f"{n_samples // 2} to choose from."
        )
    return sorted({int(k) for k in numbers})


# The scan of numbers


@dataclass(frozen=True, eq=False)
class LevelScan:
    """Evidence for numbers of clusters."""

    table: pd.DataFrame
    """By number of clusters; `chance` is the agreement on data without clusters, interpolated
    between some of the numbers, and `distance` that of the resolution from 1 in doublings."""
    reference: CandidatePool
    """Data without clusters."""
    n_samples: int

    @property
    def finds_clusters(self) -> bool:
        """Whether there is evidence of clusters at any number."""
        return bool((self.table["evidence"] > ANY_EVIDENCE).any())


def scan_levels(pool: CandidatePool, numbers: Sequence[int]) -> LevelScan:
    """Compare numbers of clusters, or if there are none, those at several resolutions."""
    compared = pool.at_random(ROWS if len(numbers) != 1 else REFERENCE_ROWS)
    some = compared.at_random(REFERENCE_ROWS)
    drawn = without_clusters(some.coordinates, np.random.default_rng(pool.seed))
    reference = replace(some, coordinates=drawn)
    judged = JudgedSamples(compared.coordinates[PLAIN], pool.seed, max(numbers, default=2))
    if len(numbers) == 1:
        distances, compared_by_chance = {numbers[0]: 0.0}, list(numbers)
    else:
        distances = _numbers_found(compared, LOG_RESOLUTIONS, FEW_CLUSTERS, "levels")
        found = _numbers_found(
            reference, LOG_RESOLUTIONS[::2], REFERENCE_NUMBERS, "agreement by chance"
        )
        distances = dict.fromkeys(numbers, 0.0) or distances
        compared_by_chance = list(found)
    by_chance = {k: _agreements(partitions_at(reference, k), k) for k in compared_by_chance}
    chance = pd.DataFrame(by_chance).T.dropna()
    rows = []
    for number, distance in sorted(distances.items()):
        partitions = partitions_at(compared, number)
        agreement, of_communities = _agreements(partitions, number)
        expected, expected_of_communities = (
            np.interp(number, chance.index, chance[column]) if len(chance) else 0.0
            for column in (0, 1)
        )
        separations = [judged.separation(labels, number) for labels in partitions]
        values = [own.value for own in separations]
        # Two scalings agree on tiny communities whatever the data, but these are not separated.
        alike = float(support_beyond(of_communities, expected_of_communities))
        support = float(support_beyond(agreement, expected))
        support = max(0.0, support, alike * max(values))
        apart = max(own.apart for own in separations)
        second = sorted(values)[-2:][0]
        rows.append((agreement, expected, support, float(np.mean(values)), distance, apart, second))
    columns = ["agreement", "chance", "support", "separation", "distance", "apart", "second"]
    index = pd.Index(sorted(distances), name="n_clusters")
    table = pd.DataFrame(rows, index=index, columns=columns)
    # Clusters that no edges join need no others to find them, as half moons by one graph, unless
    # two partitions divide them further into clear clusters.
    divided = max(table.index[table.pop("second") >= CLEAR_SEPARATION], default=0)
    least = table.pop("apart").where(table.index >= divided, 0.0)
    for column in ("support", "separation"):
        table[column] = table[column].clip(lower=least)
    evidence = evidence_value(table["support"], table["separation"], len(compared))
    table.insert(4, "evidence", evidence)
    return LevelScan(table, reference, len(compared))


def partitions_at(pool: CandidatePool, number: int) -> list[Array]:
    """Communities in all scalings, and DALMC, with a number of clusters."""
    communities = [graph.at_number(number) for graph in pool.graphs]
    return [*communities, *pool.compared_directions(number)]


def _numbers_found(
    pool: CandidatePool, log_resolutions: Array, few: Iterable[int], stage: str
) -> dict[int, float]:
    """Numbers of communities at the resolutions, and few others, with the distance from 1."""
    graphs, n_samples = pool.graphs, len(pool)
    largest = max(min(MIN_NUMBER, n_samples // 2), n_samples // MIN_SAMPLES_PER_CLUSTER, 2)
    counts: list[list[int]] = []
    for done, power in enumerate(log_resolutions):
        report_progress(stage, done, len(log_resolutions))
        counts.append([int(graph.communities(2.0**power).max()) + 1 for graph in graphs])
        if np.mean(counts[-1]) > largest:
            break
    report_progress(stage, len(log_resolutions), len(log_resolutions))
    found = np.maximum.accumulate(np.mean(counts, axis=1))
    # More than the communities of a graph would take another search.
    largest = min(largest, *np.max(counts, axis=0).tolist())
    powers, distances = log_resolutions[: len(found)], {}
    for number in {round(count) for count in found} | set(few):
        if 2 <= number <= largest:
            at = np.abs(powers[np.round(found) == number])
            between = abs(float(np.interp(number, found, powers)))
            distances[number] = float(min(at, default=between))
    return distances or {2: 0.0}


def _agreements(partitions: Sequence[Array], number: int) -> tuple[float, float]:
    """Mean agreement of communities and DALMC, and of the communities; NaN for fewer clusters."""
    if any(len(np.unique(labels)) < number for labels in partitions):
        return np.nan, np.nan
    stacked = np.vstack(partitions)
    return agreement_between(stacked), agreement_between(stacked[: len(NEIGHBOR_SCALINGS)])


# The rule that chooses the number


def scores_of(table: pd.DataFrame) -> Array:
    """Score of each number."""
    scores = table["support"] + SEPARATION_WEIGHT * table["separation"]
    scores -= RESOLUTION_PENALTY * table["distance"]
    scores -= PENALTY_OF_TWO * (table.index == 2)
    many = (table.index > MANY_CLUSTERS) & (table["agreement"] < MIN_AGREEMENT_OF_MANY)
    return np.where(many, -np.inf, scores)


def chosen_number(table: pd.DataFrame) -> int:
    """Number of clusters with the best score; the largest of several."""
    table = table.dropna(subset="agreement")
    if not len(table):
        raise ValueError(
            "The samples cannot be divided into any of the numbers of clusters. Give a single "
            "number as n_clusters."
        )
    scores = scores_of(table)
    return int(table.index[scores == scores.max()][-1])


# The other levels, and how clusters split


def find_levels(table: pd.DataFrame, chosen: int) -> pd.DataFrame:
    """The chosen level, a coarse and a fine one; these are left out without evidence for them."""
    table = table.dropna(subset="agreement")
    levels = table[["agreement", "chance", "support", "separation", "evidence"]].copy()
    levels["chosen"] = levels.index == chosen
    scores = pd.Series(scores_of(table), table.index)[levels["evidence"] > 0]
    sides = scores[scores.index <= chosen / 2], scores[scores.index >= 2 * chosen]
    kept = [chosen, *(side.idxmax() for side in sides if len(side))]
    return levels[levels.index.isin(kept)].copy()


@dataclass(frozen=True, eq=False)
class LevelLabels:
    """Clusters of the samples at a level, and a partition of each family."""

    n_clusters: int
    labels: Array
    by_family: Array


def fit_levels(
    pool: CandidatePool, scan: LevelScan, chosen: LevelLabels
) -> tuple[pd.DataFrame, pd.DataFrame, dict[int, Clustering]]:
    """Levels, how clusters split, and by their number the levels but the chosen one.

    These have few candidates; levels at which none can be fitted are left out.
    """
    levels = find_levels(scan.table, chosen.n_clusters)
    fitted: dict[int, Clustering] = {}
    labeled: list[LevelLabels] = []
    for number in levels.index.tolist():
        if number == chosen.n_clusters:
            labeled.append(chosen)
            continue
        found = pool.fit(AT_LEVELS, number)
        if found.candidates:
            result = pool.consensus(found, number)
            fitted[number] = Clustering(found.candidates, result.consensus)
            labeled.append(LevelLabels(number, result.labels, found.by_family))
    rows = []
    for coarse, fine in pairwise(labeled):
        by_chance = (partitions_at(scan.reference, level.n_clusters) for level in (coarse, fine))
        rows += find_branches(coarse, fine, _split_chance(*by_chance))
    tree = pd.DataFrame(rows, columns=list(BRANCH)).astype(BRANCH)
    kept = levels["chosen"] | levels.index.isin(list(fitted))
    return levels[kept], tree, fitted


def find_branches(
    coarse: LevelLabels, fine: LevelLabels, split_chance: float
) -> list[tuple[float | None, ...]]:
    """How the clusters of one level split at the next: rows with the columns `BRANCH`."""
    counts = np.zeros((fine.n_clusters, coarse.n_clusters), dtype=int)
    np.add.at(counts, (fine.labels, coarse.labels), 1)
    sizes, parents = counts.sum(axis=1), counts.argmax(axis=1)
    rows: list[tuple[float | None, ...]] = []
    for cluster, parent in enumerate(parents):
        overlap = counts[cluster, parent] / max(1, sizes[cluster])
        split: tuple[float | None, float | None] = (None, None)
        if (parents == parent).sum() > 1:
            split = agreement_between(fine.by_family[:, coarse.labels == parent]), split_chance
        own = fine.n_clusters, cluster, coarse.n_clusters, parent
        rows.append((*own, sizes[cluster], overlap, *split))
    return rows


def _split_chance(coarse: Sequence[Array], fine: Sequence[Array]) -> float:
    """Mean agreement on the splits of the clusters of data without clusters."""
    if not len(coarse) or len(fine) < 2:
        return 0.0
    splits = (np.vstack(fine)[:, coarse[0] == cluster] for cluster in np.unique(coarse[0]))
    return float(np.mean([agreement_between(split) for split in splits]))
