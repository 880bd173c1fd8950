"""Levels: numbers of clusters that the neighbor graphs and DALMC support, and how clusters split.

Louvain communities at several resolutions have different numbers of clusters of unequal sizes. A
level is supported as far as the communities in two scalings, and DALMC with as many clusters, agree
beyond what they do on data without clusters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.signal import find_peaks, peak_prominences

from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import (
    Candidate,
    CandidatePool,
    FittedCandidates,
    fit_candidates,
)
from anchorview.estimators.auto.consensus import Consensus, agreement_between, fit_consensus
from anchorview.estimators.auto.neighbor_graphs import NeighborGraph
from anchorview.estimators.auto.settings import (
    NEIGHBOR_SCALINGS,
    FamilyKey,
    candidate_settings,
    representative_settings,
)

if TYPE_CHECKING:
    from anchorview.estimators.auto.labeling import LocatedSamples

ROWS = 2_000
"""Maximum number of rows by which levels are compared."""

LOG_RESOLUTIONS = np.arange(-2, 4.6, 0.5)
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

TRIVIAL_NUMBER = 2
TRIVIAL_SHARE = 0.7
"""Two clusters are chosen only if the support of any larger number is below this share of theirs.
"""

SAME_SUPPORT = 0.01
"""Difference of support that is no evidence for the larger of several given numbers."""

Partitions = dict[FamilyKey, Array]
"""Partitions of samples by family, (n_partitions, n_samples)."""


@dataclass(frozen=True)
class Level:
    """A number of clusters for which the families agree well."""

    n_clusters: int
    agreement: float
    """Mean agreement between families."""
    chance: float
    """The same on data without clusters."""
    prominence: float
    """How much support rises to the level from the lowest point toward any higher level."""

    @property
    def support(self) -> float:
        """Agreement beyond chance, as a share of the largest possible; 0 if there is none."""
        return max(0.0, float(support_beyond(self.agreement, self.chance)))


@dataclass(frozen=True, eq=False)
class FittedLevel:
    """A level and what assigns samples to its clusters."""

    level: Level
    candidates: tuple[Candidate, ...]
    consensus: Consensus | None
    """None for the chosen level, whose clusters are those of the model."""

    def labels(self, samples: "LocatedSamples") -> Array:
        """Clusters of samples at a level that is not the chosen one."""
        assert self.consensus is not None
        partitions = samples.partitions(self.candidates, self.level.n_clusters)
        return self.consensus.labels(partitions)


@dataclass(frozen=True, eq=False)
class LevelLabels:
    """Clusters of the samples at a level."""

    n_clusters: int
    labels: Array
    partitions: Mapping[FamilyKey, Array]


@dataclass(frozen=True)
class Branch:
    """A cluster of a level and its parent at the next coarser level."""

    n_clusters: int
    cluster: int
    parent_level: int
    """Number of clusters of the coarser level."""
    parent: int
    size: int
    """Number of samples of the cluster, out of those that were compared."""
    overlap: float
    """Share of them that belong to the parent."""
    split_agreement: float | None
    """Agreement between families on the clusters within the parent; None if it does not split."""
    split_chance: float | None
    """The same on data without clusters, as a mean over all clusters of the coarser level."""


def support_beyond(agreement: ArrayLike, chance: ArrayLike) -> Array:
    """Agreement beyond chance, as a share of the largest possible."""
    expected = np.asarray(chance)
    return (np.asarray(agreement) - expected) / np.maximum(1 - expected, 1e-9)


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


def largest_number(n_samples: int) -> int:
    """Largest number of clusters that may be chosen by default."""
    return max(min(MIN_NUMBER, n_samples // 2), n_samples // MIN_SAMPLES_PER_CLUSTER, 2)


@dataclass(frozen=True, eq=False)
class LevelScan:
    """Support of numbers of clusters, on the samples and by chance."""

    table: pd.DataFrame
    """Indexed by number of clusters: `agreement`, `chance` on data without clusters, and
    `distance`, that of the resolution from 1 in doublings."""
    reference: CandidatePool
    """Data without clusters."""

    @property
    def agreement(self) -> "pd.Series[float]":
        """Agreement by number of clusters."""
        return self.table["agreement"]

    @property
    def chance(self) -> "pd.Series[float]":
        """The same on data without clusters, interpolated between some of the numbers."""
        return self.table["chance"]


def scan_levels(pool: CandidatePool, reference: CandidatePool, numbers: Sequence[int]) -> LevelScan:
    """Compare numbers of clusters, or if there are none, those at several resolutions."""
    if numbers:
        rows = [_row_at_number(pool, number) for number in numbers]
    else:
        rows = _scan_resolutions(pool, LOG_RESOLUTIONS, "levels")
    table = pd.DataFrame(rows, columns=["n_clusters", "agreement", "distance"])
    # Of several resolutions with the same number, the best supported one counts.
    table = table.sort_values(["n_clusters", "agreement"], ascending=[True, False])
    table = table.drop_duplicates("n_clusters").set_index("n_clusters")
    chance = pd.DataFrame(
        _scan_resolutions(reference, LOG_RESOLUTIONS[::2], "agreement by chance"),
        columns=["n_clusters", "agreement", "distance"],
    ).dropna()
    known = chance.groupby("n_clusters")["agreement"].mean()
    # If nothing can be fitted, agreement is compared with none.
    known = known if len(known) else pd.Series({2: 0.0})
    table["chance"] = np.interp(table.index, known.index, known.to_numpy())
    return LevelScan(table, reference)


def _row_at_number(pool: CandidatePool, number: int) -> tuple[int, float, float]:
    partitions = partitions_at(pool, number)
    complete = all(len(np.unique(labels[0])) == number for labels in partitions.values())
    return number, agreement_between(partitions) if complete else np.nan, 0.0


def _scan_resolutions(
    pool: CandidatePool, log_resolutions: Array, stage: str
) -> list[tuple[int, float, float]]:
    """Number of clusters, agreement and distance from resolution 1, by resolution."""
    rows, largest = [], largest_number(len(pool))
    for done, power in enumerate(log_resolutions):
        report_progress(stage, done, len(log_resolutions))
        communities = _communities(pool, partial(NeighborGraph.communities, resolution=2.0**power))
        counts = [len(np.unique(labels)) for labels in communities.values()]
        number = round(float(np.mean(counts))) if counts else 0
        if number < 2:
            continue
        if number > largest:
            break
        partitions = communities | _directions(pool, number)
        rows.append((number, agreement_between(partitions), abs(float(power))))
    report_progress(stage, len(log_resolutions), len(log_resolutions))
    return rows or [_row_at_number(pool, min(MIN_NUMBER, largest))]


def partitions_at(pool: CandidatePool, number: int) -> Partitions:
    """Communities and DALMC with a number of clusters in two scalings."""
    communities = _communities(pool, partial(NeighborGraph.n_communities, n_clusters=number))
    return communities | _directions(pool, number)


def _communities(pool: CandidatePool, function: Callable[[NeighborGraph], Array]) -> Partitions:
    partitions: Partitions = {}
    for scaling in NEIGHBOR_SCALINGS:
        if scaling in pool.coordinates:
            partitions["communities", scaling] = function(pool.graph(scaling))[None]
    return partitions


def _directions(pool: CandidatePool, number: int) -> Partitions:
    settings = [own for own in representative_settings() if own.kind == "directions"]
    outcomes = zip(settings, pool.fit_all(settings, number), strict=True)
    return {
        setting.family: outcome[1][:1]
        for setting, outcome in outcomes
        if not isinstance(outcome, Exception)
    }


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


def fit_levels(
    pool: CandidatePool, levels: Sequence[Level], chosen: LevelLabels, scan: LevelScan
) -> tuple[list[FittedLevel], list[Branch]]:
    """Fit all levels but the chosen one with few candidates, and find how their clusters split.

    Levels at which no candidate can be fitted are left out.
    """
    fitted: list[FittedLevel] = []
    labeled: list[LevelLabels] = []
    for level in levels:
        if level.n_clusters == chosen.n_clusters:
            fitted.append(FittedLevel(level, (), None))
            labeled.append(chosen)
            continue
        try:
            candidates = fit_candidates(pool, candidate_settings("fast"), level.n_clusters)
        except ValueError:
            continue
        result = fit_consensus(candidates.partitions, candidates.families, level.n_clusters)
        fitted.append(FittedLevel(level, tuple(candidates.candidates), result.consensus))
        by_family = partitions_by_family(candidates)
        labeled.append(LevelLabels(level.n_clusters, result.labels, by_family))
    branches: list[Branch] = []
    for coarse, fine in pairwise(labeled):
        by_chance = (partitions_at(scan.reference, level.n_clusters) for level in (coarse, fine))
        branches += find_branches(coarse, fine, _split_chance(*by_chance))
    return fitted, branches


def partitions_by_family(fitted: FittedCandidates) -> Partitions:
    """Partitions of the first candidate of each family."""
    ends = np.cumsum([candidate.n_partitions for candidate in fitted.candidates])[:-1]
    partitions: Partitions = {}
    runs = np.split(fitted.partitions, ends)
    for candidate, labels in zip(fitted.candidates, runs, strict=True):
        partitions.setdefault(candidate.setting.family, labels)
    return partitions


def _split_chance(coarse: Partitions, fine: Partitions) -> float:
    """Agreement on splits of data without clusters."""
    if not coarse or len(fine) < 2:
        return 0.0
    return mean_split_agreement(next(iter(coarse.values()))[0], fine)


def find_levels(
    agreement: "pd.Series[float]", chance: "pd.Series[float]", chosen: int
) -> list[Level]:
    """The chosen level and the most prominent others, by ascending number of clusters."""
    known = agreement.notna()
    numbers = agreement.index[known].to_numpy()
    support = np.maximum(support_beyond(agreement[known], chance[known]), 0)
    padded = np.concatenate([[-1e-9], support, [-1e-9]])
    peaks, _ = find_peaks(padded)
    position = int(np.flatnonzero(numbers == chosen)[0]) + 1
    peaks = np.union1d(peaks, [position])
    rises = dict(zip(peaks, _prominences(padded, peaks), strict=True))
    others = [p for p in peaks if p != position and rises[p] >= MIN_PROMINENCE]
    others.sort(key=lambda p: -rises[p])
    return [
        Level(
            int(numbers[p - 1]),
            float(agreement[numbers[p - 1]]),
            float(chance[numbers[p - 1]]),
            float(rises[p]),
        )
        for p in sorted([position, *others[: MAX_LEVELS - 1]])
    ]


def _prominences(padded: Array, peaks: Array) -> Array:
    """Prominences of peaks; 0 for the chosen number if it is none."""
    is_peak = np.isin(peaks, find_peaks(padded)[0])
    rises = np.zeros(len(peaks))
    rises[is_peak] = peak_prominences(padded, peaks[is_peak])[0]
    return rises


def level_table(levels: Sequence[Level], chosen: int) -> pd.DataFrame:
    """Levels as a table."""
    rows = [
        {
            "n_clusters": level.n_clusters,
            "agreement": level.agreement,
            "chance": level.chance,
            "support": level.support,
            "prominence": level.prominence,
            "chosen": level.n_clusters == chosen,
        }
        for level in levels
    ]
    return pd.DataFrame(rows).set_index("n_clusters")


def branch_table(branches: Sequence[Branch]) -> pd.DataFrame:
    """Branches as a table."""
    columns = list(Branch.__dataclass_fields__)
    rows = [[getattr(branch, name) for name in columns] for branch in branches]
    floats = {"overlap": float, "split_agreement": float, "split_chance": float}
    return pd.DataFrame(rows, columns=columns).astype(floats)


def find_branches(coarse: LevelLabels, fine: LevelLabels, split_chance: float) -> list[Branch]:
    """How the clusters of one level split at the next."""
    n_coarse, n_fine = coarse.n_clusters, fine.n_clusters
    counts = np.zeros((n_fine, n_coarse), dtype=int)
    np.add.at(counts, (fine.labels, coarse.labels), 1)
    parents = counts.argmax(axis=1)
    splits = {
        parent: split_agreement(coarse.labels == parent, fine.partitions)
        for parent in np.unique(parents)
        if (parents == parent).sum() > 1
    }
    return [
        Branch(
            n_clusters=n_fine,
            cluster=cluster,
            parent_level=n_coarse,
            parent=int(parent),
            size=int(counts[cluster].sum()),
            overlap=float(counts[cluster, parent] / max(1, counts[cluster].sum())),
            split_agreement=splits.get(parent),
            split_chance=split_chance if parent in splits else None,
        )
        for cluster, parent in enumerate(parents)
    ]


def split_agreement(members: Array, partitions: Mapping[FamilyKey, Array]) -> float:
    """Agreement between families on some of the samples."""
    return agreement_between({key: runs[:, members] for key, runs in partitions.items()})


def mean_split_agreement(coarse: Array, partitions: Mapping[FamilyKey, Array]) -> float:
    """Mean agreement between families within the clusters of a coarser partition."""
    return float(
        np.mean([split_agreement(coarse == cluster, partitions) for cluster in np.unique(coarse)])
    )
