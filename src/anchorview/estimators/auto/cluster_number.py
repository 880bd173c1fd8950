"""The number of clusters, chosen by the agreement between families of settings."""

from collections.abc import Sequence
from numbers import Integral

import numpy as np
import pandas as pd

from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import CandidatePool, Setting, candidate_settings
from anchorview.estimators.auto.consensus import agreement_between
from anchorview.views.container import MultiViewData

MAX_DEFAULT_CLUSTERS = 30
"""Largest number of clusters that is tried by default."""

MIN_SAMPLES_PER_CLUSTER = 10
"""Number of samples per cluster down to which numbers are tried by default."""

N_COMPARED_SETTINGS = 4
"""Settings by which numbers of clusters are compared: the first of each family."""

AGREEMENT_TOLERANCE = 0.01
"""Difference to the best agreement up to which a larger number of clusters is preferred."""


def numbers_to_try(n_clusters: int | Sequence[int] | None, n_samples: int) -> list[int]:
    """Numbers of clusters that the parameter `n_clusters` requests, ascending."""
    if n_clusters is None:
        maximum = min(MAX_DEFAULT_CLUSTERS, n_samples // MIN_SAMPLES_PER_CLUSTER)
        return list(range(2, max(2, maximum) + 1))
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


def agreement_by_number(
    data: MultiViewData, numbers: Sequence[int], seed: int
) -> "pd.Series[float]":
    """Mean agreement between families for each number of clusters.

    NaN if fewer than two families can be fitted, or a partition has fewer clusters.
    """
    pool = CandidatePool(informative_views(data), max(numbers), seed)
    # The families are the same for all numbers and share their work.
    settings = candidate_settings(max(numbers), len(data))[:N_COMPARED_SETTINGS]
    curve: dict[int, float] = {}
    for done, k in enumerate(numbers):
        report_progress("numbers of clusters", done, len(numbers))
        partitions = partitions_by_family(pool, settings, k)
        has_all = all(len(np.unique(runs[0])) == k for runs in partitions.values())
        curve[k] = agreement_between(partitions, k) if has_all else np.nan
    report_progress("numbers of clusters", len(numbers), len(numbers))
    return pd.Series(curve, name="agreement").rename_axis("n_clusters")


def partitions_by_family(
    pool: CandidatePool, settings: Sequence[Setting], n_clusters: int
) -> dict[str, Array]:
    """Partitions by one setting of each family, (n_runs, n_samples), by ascending inertia.

    Families whose setting cannot be fitted are left out.
    """
    return {
        str(setting.family): outcome[1]
        for setting, outcome in pool.fit_all(settings, n_clusters)
        if not isinstance(outcome, Exception)
    }


def informative_views(data: MultiViewData) -> MultiViewData:
    """Samples without the views that are missing or constant for all of them."""
    positions = [p for p in range(len(data.views)) if data.is_informative(p)]
    if len(positions) == len(data.views):
        return data
    available = None if data.available is None else data.available[:, positions]
    rows = slice(None) if available is None else available.any(axis=1)
    views = {data.names[p]: data.views[p][rows] for p in positions}
    return MultiViewData(views, available=None if available is None else available[rows])


def chosen_number(curve: "pd.Series[float]") -> int:
    """Largest number of clusters whose agreement is within the tolerance of the best."""
    if curve.isna().all():
        raise ValueError(
            f"The samples cannot be divided into any of the numbers of clusters "
            f"{list(curve.index)}. Give a single number as n_clusters."
        )
    return int(curve.index[curve >= curve.max() - AGREEMENT_TOLERANCE].max())
