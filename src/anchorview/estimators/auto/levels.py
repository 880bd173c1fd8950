"""Levels: numbers of clusters for which the families agree best, and how clusters split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.signal import find_peaks, peak_prominences

from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import Candidate
from anchorview.estimators.auto.consensus import Consensus, FamilyKey, agreement_between
from anchorview.estimators.auto.number_curve import DENSE_NUMBERS, MIN_GAIN

MAX_LEVELS = 5
"""Maximum number of levels."""

MIN_PROMINENCE = 0.03
"""Minimum prominence of a level other than the chosen one."""

TRIVIAL_NUMBER = 2
TRIVIAL_SHARE = 0.7
"""Two clusters are chosen only if the structure of any larger number is below this share of theirs.
Chosen with data sets left out (benchmarks/auto.md)."""

SAME_STRUCTURE = 0.01
"""Difference of structure that is no evidence for the larger number of clusters."""


@dataclass(frozen=True)
class Level:
    """A number of clusters for which the families agree well."""

    n_clusters: int
    agreement: float
    """Mean agreement between families."""
    chance: float
    """The same on data without clusters."""
    prominence: float
    """How much structure rises to the level from the lowest point toward any higher level."""

    @property
    def structure(self) -> float:
        """Agreement beyond chance, as a share of the largest possible; 0 if there is none."""
        return max(0.0, float(structure_beyond(self.agreement, self.chance)))


@dataclass(frozen=True, eq=False)
class FittedLevel:
    """A level and what assigns samples to its clusters."""

    level: Level
    candidates: tuple[Candidate, ...]
    consensus: Consensus | None
    """None for the chosen level, whose clusters are those of the model."""


@dataclass(frozen=True, eq=False)
class LevelLabels:
    """Clusters of the samples at a level."""

    n_clusters: int
    labels: Array
    partitions: Mapping[FamilyKey, Array]
    """Partitions by one setting of each family."""


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


def structure_beyond(agreement: ArrayLike, chance: ArrayLike) -> Array:
    """Agreement beyond chance, as a share of the largest possible."""
    expected = np.asarray(chance)
    return (np.asarray(agreement) - expected) / np.maximum(1 - expected, 1e-9)


def chosen_number(
    agreement: "pd.Series[float]",
    chance: "pd.Series[float]",
    *,
    trivial_share: float = TRIVIAL_SHARE,
    min_gain: float = MIN_GAIN,
    same_structure: float = SAME_STRUCTURE,
) -> int:
    """Number of clusters with the most structure; the smallest of those that hardly differ.

    Two clusters are chosen only if they have much more than any larger number: a first division is
    stable on most data, and says little. Likewise, more than `DENSE_NUMBERS` clusters must have
    clearly more than fewer.
    """
    known = agreement.notna()
    numbers = agreement.index[known].to_numpy()
    structure = structure_beyond(agreement[known], chance[known])
    if not len(numbers):
        raise ValueError(
            f"The samples cannot be divided into any of the numbers of clusters "
            f"{list(agreement.index)}. Give a single number as n_clusters."
        )
    finer = numbers > TRIVIAL_NUMBER
    if not finer.any():
        return int(numbers[0])
    few = finer & (numbers <= DENSE_NUMBERS)
    if few.any():
        finer &= few | (structure >= structure[few].max() + min_gain)
    most = structure[finer].max()
    if numbers[0] == TRIVIAL_NUMBER and trivial_share * structure[0] > most:
        return TRIVIAL_NUMBER
    return int(numbers[finer & (structure >= most - same_structure)][0])


def find_levels(
    agreement: "pd.Series[float]", chance: "pd.Series[float]", chosen: int
) -> list[Level]:
    """The chosen level and the most prominent others, by ascending number of clusters."""
    known = agreement.notna()
    numbers = agreement.index[known].to_numpy()
    structure = np.maximum(structure_beyond(agreement[known], chance[known]), 0)
    padded = np.concatenate([[-1e-9], structure, [-1e-9]])
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
            "structure": level.structure,
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
    some = {key: runs[:, members] for key, runs in partitions.items()}
    n_labels = 1 + max(int(runs.max(initial=0)) for runs in some.values())
    return agreement_between(some, n_labels)


def mean_split_agreement(coarse: Array, partitions: Mapping[FamilyKey, Array]) -> float:
    """Mean agreement between families within the clusters of a coarser partition."""
    found = [split_agreement(coarse == cluster, partitions) for cluster in np.unique(coarse)]
    return float(np.mean(found))
