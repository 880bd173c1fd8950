"""The number of clusters, chosen by how well settings that err differently agree on it."""

from collections.abc import Sequence
from numbers import Integral

import numpy as np
import pandas as pd

from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import CandidatePool, pool
from anchorview.estimators.auto.consensus import agreement_matrix, cross_agreement, family_weights
from anchorview.views.container import MultiViewData

MOST_TRIED = 30
"""Most clusters that are tried if none are named."""

SAMPLES_A_CLUSTER = 10
"""Samples that there are for each cluster if none are named."""

FIRST_ROUND = 4
"""Settings by which numbers are compared: the first of every family."""

AS_GOOD = 0.01
"""Agreement that a number of clusters may lack and still be as good as the best."""


def numbers_to_try(n_clusters: int | Sequence[int] | None, n_samples: int) -> list[int]:
    """Numbers of clusters that a parameter stands for, ascending."""
    if n_clusters is None:
        return list(range(2, max(2, min(MOST_TRIED, n_samples // SAMPLES_A_CLUSTER)) + 1))
    if isinstance(n_clusters, Integral):
        return [int(n_clusters)]
    too_long = isinstance(n_clusters, range) and len(n_clusters) > n_samples
    numbers = [] if too_long else list(np.atleast_1d(n_clusters))
    if not all(isinstance(k, Integral) for k in numbers):
        raise ValueError(f"n_clusters={n_clusters!r} must be whole numbers to choose from.")
    least, most = min(numbers, default=0), max(numbers, default=0)
    # With hardly more samples than clusters, any partitions agree.
    if least < 2 or (most > n_samples // 2 and most > least):
        raise ValueError(
            f"n_clusters={n_clusters!r} must be numbers from 2 to n_samples // 2 = "
            f"{n_samples // 2} to choose from."
        )
    return sorted({int(k) for k in numbers})


def agreement_by_number(
    data: MultiViewData, numbers: Sequence[int], seed: int
) -> "pd.Series[float]":
    """Mean agreement between families for every number of clusters.

    NaN where fewer than two families can be fitted, or samples do not fall in so many clusters.
    """
    candidates = CandidatePool(_telling(data), max(numbers), seed)
    # The same families for all numbers, so that what they share is made once.
    settings = pool(max(numbers), len(data))[:FIRST_ROUND]
    found: dict[int, float] = {}
    for done, k in enumerate(numbers):
        report_progress("numbers of clusters", done, len(numbers))
        families: list[str] = []
        labels: list[Array] = []
        for setting, outcome in candidates.fit_all(settings, k):
            if not isinstance(outcome, Exception):
                families.append(str(setting.family))
                labels.append(outcome[1][0])
        found[k] = np.nan
        if len(families) > 1 and all(len(np.unique(own)) == k for own in labels):
            agreement = agreement_matrix(np.array(labels), k)
            found[k] = float(family_weights(families) @ cross_agreement(agreement, families))
    report_progress("numbers of clusters", len(numbers), len(numbers))
    return pd.Series(found, name="agreement").rename_axis("n_clusters")


def _telling(data: MultiViewData) -> MultiViewData:
    """Samples without the views that are missing or the same for all of them."""
    telling = [p for p in range(len(data.views)) if data.is_informative(p)]
    if len(telling) == len(data.views):
        return data
    has = None if data.available is None else data.available[:, telling]
    kept = slice(None) if has is None else has.any(axis=1)
    views = {data.names[p]: data.views[p][kept] for p in telling}
    return MultiViewData(views, available=None if has is None else has[kept])


def chosen_number(curve: "pd.Series[float]") -> int:
    """Largest number of clusters on which the settings agree as well as on any."""
    if curve.isna().all():
        raise ValueError(
            f"None of the numbers of clusters {list(curve.index)} can be had on these data. Give "
            "one number as n_clusters."
        )
    return int(curve.index[curve >= curve.max() - AS_GOOD].max())
