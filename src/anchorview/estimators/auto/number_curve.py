"""Agreement between families by number of clusters, on the samples and by chance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral

import numpy as np
import pandas as pd

from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import CandidatePool
from anchorview.estimators.auto.consensus import FamilyKey, agreement_between
from anchorview.estimators.auto.settings import Setting, representative_settings
from anchorview.views.container import MultiViewData

ROWS = 2_000
"""Maximum number of rows by which numbers of clusters are compared."""

N_RUNS = 2
"""Number of K-means runs per number of clusters, of which the better one is compared. They are
repaired: one run that ends with two clusters in one lowers the agreement at the right number."""

DENSE_NUMBERS = 30
"""Largest number of clusters up to which every number is tried by default."""

SPARSE_NUMBERS = (40, 55, 75, 100)
"""Larger numbers that are tried by default too: with many clusters, agreement may fall up to 30 and
rise later."""

GROWTH = 1.25
"""Factor between the numbers above that are tried by default, before those next to the best."""

MIN_GAIN = 0.05
"""What more than `DENSE_NUMBERS` clusters must gain in agreement or structure over fewer clusters:
neighbors stay together in many small clusters, whatever the data. benchmarks/auto.md has what the
rule reaches if it is chosen on other data sets."""

MIN_SAMPLES_PER_CLUSTER = 5
"""Number of samples per cluster down to which numbers are tried by default."""

PATIENCE, TOLERANCE = 2, 0.01
"""Larger numbers are tried until the agreement of this many falls below the best by more."""

FEW_CLUSTERS = 100
"""Number of clusters up to which all numbers are compared with the same landmarks."""

CHANCE_GROWTH = 1.25
"""Minimum factor between the numbers at which the agreement by chance is computed."""

Partitions = dict[FamilyKey, Array]
"""Partitions of samples by one setting of each family, (n_runs, n_samples), by inertia."""


def numbers_to_try(n_clusters: int | Sequence[int] | None, n_samples: int) -> list[int]:
    """Numbers of clusters that the parameter `n_clusters` requests, ascending.

    If it is None, those that are tried in any case; larger ones may follow.
    """
    if n_clusters is None:
        largest = largest_number(n_samples)
        dense = range(2, min(DENSE_NUMBERS, largest) + 1)
        return [*dense, *(k for k in SPARSE_NUMBERS if k <= largest)]
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
    """Largest number of clusters that may be tried by default."""
    return max(2, n_samples // MIN_SAMPLES_PER_CLUSTER)


@dataclass(frozen=True, eq=False)
class NumberCurve:
    """Agreement between families by number of clusters, and what it is computed from."""

    agreement: "pd.Series[float]"
    """NaN if fewer than two families can be fitted, or a partition has fewer clusters."""
    chance: "pd.Series[float]"
    """The same on data without clusters, interpolated between some of the numbers."""
    partitions: Callable[[int], Partitions]
    """Partitions of the samples into a number of clusters."""
    partitions_by_chance: Callable[[int], Partitions]
    """The same of the data without clusters."""


def compare_numbers(
    data: MultiViewData,
    without_clusters: MultiViewData,
    n_clusters: int | Sequence[int] | None,
    seed: int,
) -> NumberCurve:
    """Compare numbers of clusters; `without_clusters` has the covariances of `data`."""
    numbers = numbers_to_try(n_clusters, len(data))
    observed = _Search(data, seed)
    observed.try_all(numbers, "numbers of clusters")
    if n_clusters is None:
        observed.extend(largest_number(len(data)))
        observed.refine()
    agreement = observed.curve()
    by_chance = _Search(without_clusters, seed)
    by_chance.try_all(_spaced(agreement.index.tolist()), "agreement by chance")
    reference = by_chance.curve().dropna()
    # If no family can be fitted, agreement is compared with none.
    known = reference if len(reference) else pd.Series({2: 0.0})
    chance = np.interp(agreement.index, known.index, known.to_numpy())
    chance_curve = agreement.copy().rename("chance")
    chance_curve[:] = chance
    return NumberCurve(agreement, chance_curve, observed.partitions, by_chance.partitions)


class _Search:
    """Tries numbers of clusters on the same samples."""

    def __init__(self, data: MultiViewData, seed: int) -> None:
        self._pool = comparison_pool(data, seed)
        self._agreement: dict[int, float] = {}
        self._partitions: dict[int, Partitions] = {}

    def curve(self) -> "pd.Series[float]":
        """Agreement by number of clusters, ascending."""
        curve = pd.Series(self._agreement, name="agreement", dtype=float).sort_index()
        return curve.rename_axis("n_clusters")

    def partitions(self, n_clusters: int) -> Partitions:
        """Partitions into a number of clusters, of the samples in their order."""
        if n_clusters not in self._partitions:
            self.try_all([n_clusters], "agreement by chance")
        positions = np.argsort(self._pool.order)
        return {key: runs[:, positions] for key, runs in self._partitions[n_clusters].items()}

    def try_all(self, numbers: Sequence[int], stage: str) -> None:
        """Try some numbers, which share their work."""
        jobs = [(setting, k) for k in numbers for setting in self._settings(k)]
        found: dict[int, Partitions] = {k: {} for k in numbers}
        for done, ((setting, k), outcome) in enumerate(self._pool.fit_all(jobs)):
            report_progress(stage, done, len(jobs))
            if not isinstance(outcome, Exception):
                found[k][setting.family.key] = outcome[1]
        report_progress(stage, len(jobs), len(jobs))
        self._partitions |= found
        for k, partitions in found.items():
            has_all = all(len(np.unique(runs[0])) == k for runs in partitions.values())
            self._agreement[k] = agreement_between(partitions, k) if has_all else np.nan

    def extend(self, maximum: int) -> None:
        """Try larger numbers, up to `maximum`, while the agreement still rises."""
        last = max(self._agreement)
        while last < maximum and _still_rises(self.curve()):
            following = [max(last + 1, round(last * GROWTH**step)) for step in (1, 2)]
            following = [k for k in dict.fromkeys(following) if k <= maximum] or [maximum]
            self.try_all(following, "numbers of clusters")
            last = following[-1]

    def refine(self) -> None:
        """Try the numbers next to the best one that have been left out."""
        while True:
            curve = self.curve()
            numbers = curve.index.to_numpy()
            finer = curve[curve.index > 2].dropna()
            if not len(finer) or not _many_gain(finer):
                return
            best = int(np.flatnonzero(numbers == finer.idxmax())[0])
            near = numbers[max(0, best - 1) : best + 2]
            middle = [int(a + b) // 2 for a, b in pairwise(near) if b > a + 1]
            if not middle:
                return
            self.try_all(middle, "numbers of clusters")

    def _settings(self, n_clusters: int) -> list[Setting]:
        n_samples = len(self._pool.data)
        largest = FEW_CLUSTERS if n_clusters <= FEW_CLUSTERS else max(n_clusters, n_samples // 2)
        return representative_settings(largest, n_samples)


def _still_rises(curve: "pd.Series[float]") -> bool:
    finer = curve[curve.index > 2].dropna()
    if not _many_gain(finer):
        return False
    last, before = finer[-PATIENCE:], finer[:-PATIENCE]
    return bool(len(before) and last.max() >= before.max() - TOLERANCE)


def _many_gain(finer: "pd.Series[float]") -> bool:
    """Whether more clusters than are tried densely agree clearly better, or were not tried."""
    few, many = finer[finer.index <= DENSE_NUMBERS], finer[finer.index > DENSE_NUMBERS]
    return not len(many) or not len(few) or bool(many.max() >= few.max() + MIN_GAIN)


def _spaced(numbers: Sequence[int]) -> list[int]:
    """Numbers with gaps that grow, and the last one."""
    chosen: list[int] = []
    for k in numbers:
        if not chosen or k >= max(chosen[-1] + 1, round(CHANCE_GROWTH * chosen[-1])):
            chosen.append(int(k))
    return sorted({*chosen, int(numbers[-1])})


def comparison_pool(data: MultiViewData, seed: int) -> CandidatePool:
    """Pool of candidates whose partitions are compared, but do not join a consensus."""
    return CandidatePool(data, seed, n_runs=N_RUNS, repairs_runs=True)


def partitions_by_family(
    pool: CandidatePool, settings: Sequence[Setting], n_clusters: int
) -> Partitions:
    """Partitions by one setting of each family; families that cannot be fitted are left out."""
    return {
        setting.family.key: outcome[1]
        for (setting, _), outcome in pool.fit_all([(setting, n_clusters) for setting in settings])
        if not isinstance(outcome, Exception)
    }


def informative_views(data: MultiViewData) -> MultiViewData:
    """Samples without the views that are missing or constant for all of them."""
    positions = [p for p in range(len(data.views)) if data.is_informative(p)]
    if len(positions) == len(data.views):
        return data
    found = data.with_views(positions)
    return found if found.available is None else found[found.available.any(axis=1)]
