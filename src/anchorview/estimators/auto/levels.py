"""Levels: numbers of clusters that the neighbor graphs and DALMC support, and how clusters split.

Louvain communities at several resolutions have different numbers of clusters of unequal sizes. A
level is supported as far as the communities in two scalings, and DALMC with as many clusters, agree
beyond what they do on data without clusters. In order: the numbers that are requested, the scan of
numbers, the rule that chooses one, the other levels, and how clusters split from level to level.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.signal import find_peaks

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.estimators.auto.bases import NEIGHBOR_SCALINGS, NORMALIZED, SHARING_A_BASIS
from anchorview.estimators.auto.candidates import POOL, families_of
from anchorview.estimators.auto.consensus import agreement_between, fit_consensus
from anchorview.estimators.auto.labeling import Clustering
from anchorview.estimators.auto.neighbor_graphs import N_NEIGHBORS
from anchorview.estimators.auto.pool import CandidatePool
from anchorview.estimators.auto.structure import normal_noise
from anchorview.views.container import MultiViewData, container_with_views

ROWS = 2_000
"""Maximum number of rows by which levels are compared."""

REFERENCE_ROWS = 1_000
"""Maximum number of rows of data without clusters."""

LOG_RESOLUTIONS = np.arange(-2, 4.1, 0.5)
"""Base-2 logarithms of the resolutions that are tried by default."""

PENALTY = 0.08
"""What each doubling of the resolution away from 1 costs, in support. Between .06 and .1, results
on known and on left-out data sets hardly differ."""

MIN_NUMBER, MIN_SAMPLES_PER_CLUSTER = 3, 8
"""Minimum number of clusters, and of samples per cluster, of a default choice: a first division is
stable on most data and says little, and neighbors stay together in tiny clusters."""

MANY_CLUSTERS, MIN_AGREEMENT_OF_MANY = 30, 0.5
"""More clusters than this are chosen by default only if they agree at least as much."""

MAX_LEVELS = 5
"""Maximum number of levels."""

MIN_PROMINENCE = 0.03
"""Minimum prominence of a level other than the chosen one."""

MIN_RATIO = 1.1
"""Levels whose numbers of clusters differ by a smaller factor are one."""

TRIVIAL_NUMBER = 2
TRIVIAL_SHARE = 0.7
"""Two clusters are chosen only if the support of any larger number is below this share of theirs.
"""

SAME_SUPPORT = 0.01
"""Difference of support that is no evidence for the larger of several given numbers."""

BRANCH = {
    "n_clusters": int,
    "cluster": int,
    "parent_level": int,
    "parent": int,
    "size": int,
    "overlap": float,
    "split_agreement": float,
    "split_chance": float,
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


def support_beyond(agreement: ArrayLike, chance: ArrayLike) -> Array:
    """Agreement beyond chance, as a share of the largest possible."""
    expected = np.asarray(chance)
    return (np.asarray(agreement) - expected) / np.maximum(1 - expected, 1e-9)


# The scan of numbers


@dataclass(frozen=True, eq=False)
class LevelScan:
    """Support of numbers of clusters, on the samples and by chance."""

    table: pd.DataFrame
    """Indexed by number of clusters: `agreement`, `chance` on data without clusters, interpolated
    between some of the numbers, and `distance`, that of the resolution from 1 in doublings."""
    reference: CandidatePool
    """Data without clusters."""


def scan_levels(pool: CandidatePool, numbers: Sequence[int]) -> LevelScan:
    """Compare numbers of clusters, or if there are none, those at several resolutions."""
    rows = np.random.default_rng(0).permutation(len(pool))
    compared = pool if len(pool) <= ROWS else _some(pool, rows[:ROWS])
    some = _some(pool, rows[:REFERENCE_ROWS]).coordinates
    drawn = without_clusters(some, np.random.default_rng(pool.seed))
    reference = CandidatePool(drawn, pool.seed, importance=pool.importance)
    if numbers:
        table = pd.DataFrame([_at_number(compared, number) for number in numbers])
    else:
        table = _at_resolutions(compared, LOG_RESOLUTIONS, "levels")
    # Of several resolutions with the same number, the best supported one counts.
    table = table.sort_values(["n_clusters", "agreement"], ascending=[True, False])
    table = table.drop_duplicates("n_clusters").set_index("n_clusters")
    chance = _at_resolutions(reference, LOG_RESOLUTIONS[::2], "agreement by chance").dropna()
    known = chance.groupby("n_clusters")["agreement"].mean()
    # If nothing can be fitted, agreement is compared with none.
    known = known if len(known) else pd.Series({2: 0.0})
    table["chance"] = np.interp(table.index, known.index, known.to_numpy())
    return LevelScan(table, reference)


def _at_number(pool: CandidatePool, number: int) -> dict[str, float]:
    partitions = partitions_at(pool, number)
    complete = all(len(np.unique(labels)) == number for labels in partitions)
    agreement = agreement_between(partitions) if complete else np.nan
    return {"n_clusters": number, "agreement": agreement, "distance": 0.0}


def _at_resolutions(pool: CandidatePool, log_resolutions: Array, stage: str) -> pd.DataFrame:
    """Number of clusters, agreement and distance from resolution 1, by resolution."""
    n_samples, rows = len(pool), []
    largest = max(min(MIN_NUMBER, n_samples // 2), n_samples // MIN_SAMPLES_PER_CLUSTER, 2)
    graphs = [
        pool.graph(scaling, N_NEIGHBORS)
        for scaling in NEIGHBOR_SCALINGS
        if scaling in pool.coordinates
    ]
    for done, power in enumerate(log_resolutions):
        report_progress(stage, done, len(log_resolutions))
        communities = [graph.communities(2.0**power) for graph in graphs]
        number = round(float(np.mean([len(np.unique(labels)) for labels in communities])))
        if number < 2:
            continue
        if number > largest:
            break
        agreement = agreement_between(_with_directions(pool, communities, number))
        rows.append({"n_clusters": number, "agreement": agreement, "distance": abs(float(power))})
    report_progress(stage, len(log_resolutions), len(log_resolutions))
    return pd.DataFrame(rows or [_at_number(pool, min(MIN_NUMBER, largest))])


def partitions_at(pool: CandidatePool, number: int) -> Array:
    """Communities and DALMC with a number of clusters in two scalings."""
    scalings = [scaling for scaling in NEIGHBOR_SCALINGS if scaling in pool.coordinates]
    communities = [pool.graph(scaling, N_NEIGHBORS).n_communities(number) for scaling in scalings]
    return _with_directions(pool, communities, number)


def _with_directions(pool: CandidatePool, communities: list[Array], number: int) -> Array:
    return np.vstack([*communities, pool.compared_directions(number)])


def _some(pool: CandidatePool, rows: Array) -> CandidatePool:
    """Pool of some samples; views have the norms of all."""
    rows = np.sort(rows)
    selected = {}
    for scaling, data in pool.coordinates.items():
        factor = data.dtype.type(np.sqrt(len(data) / len(rows)))
        part = data[rows]
        selected[scaling] = container_with_views(part, tuple(v * factor for v in part.views))
    return CandidatePool(selected, pool.seed, importance=pool.importance)


def without_clusters(
    coordinates: Mapping[str, MultiViewData], rng: np.random.Generator
) -> dict[str, MultiViewData]:
    """Rows of a normal distribution, scaled as the samples are in the scalings of neighbors.

    They have the means and covariances of the coordinates in "zscore" and "unit", within and
    between both, of the samples that have the views; the same rows lack them. Families also agree
    on such data, since they all divide it along its longest directions, so only agreement beyond
    this is evidence of clusters.
    """
    n = len(next(iter(coordinates.values())))
    mixing = rng.standard_normal((n, n))
    drawn = {}
    for scaling, plain in SHARING_A_BASIS.items():
        if scaling not in coordinates:
            continue
        data, views = coordinates[plain], []
        for p, view in enumerate(normal_noise(data, mixing).views):
            has = slice(None) if data.available is None else data.available[:, p]
            rows = unit_rows(view[has])
            if scaling == NORMALIZED and len(rows):
                rows -= rows.mean(axis=0)
            view[has] = rows / max(np.linalg.norm(rows), np.finfo(float).tiny)
            views.append(view)
        drawn[scaling] = container_with_views(data, tuple(views))
    return drawn


# The rule that chooses the number


def chosen_number(table: pd.DataFrame, *, by_default: bool) -> int:
    """Number of clusters with the most support; by default, near resolution 1.

    Of given numbers that hardly differ, the smallest is chosen, and two clusters only if they have
    much more support than any larger number.
    """
    table = table.dropna(subset="agreement")
    if not len(table):
        raise ValueError(
            "The samples cannot be divided into any of the numbers of clusters. Give a single "
            "number as n_clusters."
        )
    numbers = table.index.to_numpy()
    support = support_beyond(table["agreement"], table["chance"])
    finer = numbers > TRIVIAL_NUMBER
    if not finer.any():
        return int(numbers[0])
    if by_default:
        many = (numbers > MANY_CLUSTERS) & (table["agreement"] < MIN_AGREEMENT_OF_MANY).to_numpy()
        allowed = finer & ~many if (finer & ~many).any() else finer
        scores = support - PENALTY * table["distance"].to_numpy()
        return int(numbers[allowed][scores[allowed].argmax()])
    most = support[finer].max()
    if numbers[0] == TRIVIAL_NUMBER and TRIVIAL_SHARE * support[0] > most:
        return TRIVIAL_NUMBER
    return int(numbers[finer & (support >= most - SAME_SUPPORT)][0])


# The other levels, and how clusters split


def find_levels(table: pd.DataFrame, chosen: int) -> pd.DataFrame:
    """The chosen level and the most prominent others, by ascending number of clusters.

    The prominence is how much support rises to the level from the lowest point toward any higher
    level; 0 for a chosen number that is no peak.
    """
    levels = table.loc[table["agreement"].notna(), ["agreement", "chance"]].copy()
    levels["support"] = np.maximum(support_beyond(levels["agreement"], levels["chance"]), 0)
    peaks, found = find_peaks(np.pad(levels["support"], 1, constant_values=-1e-9), prominence=0)
    prominence = np.zeros(len(levels))
    prominence[peaks - 1] = found["prominences"]
    levels["prominence"] = prominence
    levels["chosen"] = levels.index == chosen
    others = levels[~levels["chosen"] & (levels["prominence"] >= MIN_PROMINENCE)]
    kept = [chosen]
    for number in others["prominence"].sort_values(ascending=False, kind="stable").index:
        if all(max(number, other) >= MIN_RATIO * min(number, other) for other in kept):
            kept.append(number)
    return levels[levels.index.isin(kept[:MAX_LEVELS])].copy()


@dataclass(frozen=True, eq=False)
class LevelLabels:
    """Clusters of the samples at a level, and a partition of each family."""

    n_clusters: int
    labels: Array
    by_family: Array


def fit_levels(
    pool: CandidatePool, numbers: Sequence[int], chosen: LevelLabels, reference: CandidatePool
) -> tuple[dict[int, Clustering], pd.DataFrame]:
    """Fit all levels but the chosen one with few candidates, and find how their clusters split.

    Levels at which no candidate can be fitted are left out.
    """
    fitted: dict[int, Clustering] = {}
    labeled: list[LevelLabels] = []
    for number in numbers:
        if number == chosen.n_clusters:
            labeled.append(chosen)
            continue
        found = pool.fit(POOL["fast"], number)
        if found.candidates:
            result = fit_consensus(found.partitions, families_of(found.candidates), number)
            fitted[number] = Clustering(found.candidates, result.consensus)
            labeled.append(LevelLabels(number, result.labels, found.by_family))
    rows = []
    if len(labeled) > 1:
        by_chance = [partitions_at(reference, level.n_clusters) for level in labeled]
        for (coarse, fine), splits in zip(pairwise(labeled), pairwise(by_chance), strict=True):
            rows += find_branches(coarse, fine, _split_chance(*splits))
    return fitted, pd.DataFrame(rows, columns=list(BRANCH)).astype(BRANCH)


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


def _split_chance(coarse: Array, fine: Array) -> float:
    """Mean agreement on the splits of the clusters of data without clusters."""
    if not len(coarse) or len(fine) < 2:
        return 0.0
    splits = (fine[:, coarse[0] == cluster] for cluster in np.unique(coarse[0]))
    return float(np.mean([agreement_between(split) for split in splits]))
