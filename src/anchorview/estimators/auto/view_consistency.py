"""Views that contradict the others, and whether they are set aside.

A view that has noise or unrelated clusters makes the clusters of all views worse. Alone, it agrees
with none of the others, while these agree with each other. It is set aside unless the families
agree less without it.
"""

from collections.abc import Container, Sequence
from dataclasses import replace
from functools import partial
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from anchorview._utils.threads import parallel_map
from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import (
    COMPARED_DIRECTIONS,
    GRAPHS,
    kmeans_runs,
    n_kmeans_runs,
)
from anchorview.estimators.auto.consensus import agreement_between
from anchorview.estimators.auto.landmarks import LABEL_DTYPE
from anchorview.estimators.auto.pool import CandidatePool
from anchorview.views.container import MultiViewData
from anchorview.views.row_source import RowSource

RUNS_OF_VIEWS = 2
"""How many times as many K-means runs as a candidate each view alone has, since only the best of
them counts."""

# No view of 14 real data sets with three or more views disagrees by these limits; views with
# planted other clusters, or noise, had at most 0.02 of the agreement of the other views.
DISAGREEING_SHARE = 0.15
"""A view disagrees if it agrees with the others less than this share of their agreement."""

MIN_AGREEMENT = 0.1
"""Agreement between the other views below which they are not evidence against a view."""

TOLERANCE = 0.05
"""A view is used if families agree less without it, by more than this. With noise that hardly
matters, the difference is up to 0.05 in either direction; with a view that does, far beyond."""

MIN_COMMON = 10
"""Number of samples that two views need to have in common to be compared."""


def choose_views(
    source: RowSource, all_views: CandidatePool, alone: Array, n_clusters: int
) -> pd.DataFrame:
    """Set aside the views that disagree with the others, the worst first, but not half of them.

    `alone` are the partitions of views. Returns a table with a row for each view: `with_others`,
    the mean adjusted Rand index with the other views that are used; `among_others`, that between
    these other views, NaN where there are no views to compare; `used`, False if the view is set
    aside; and `n_only`, the number of samples that have no other view, for which a view that
    disagrees is used.
    """
    pool, agreement = all_views, agreement_of_views(alone)
    used, n_only = list(range(len(alone))), dict[int, int]()
    score: float | None = None
    while len(alone) - len(used) < (len(alone) - 1) // 2:
        worst = most_inconsistent(agreement, used, n_only)
        if worst is None:
            break
        others = [p for p in used if p != worst]
        n_only[worst] = source.reduce(partial(_n_lacking, others), add, "views")
        if n_only[worst]:
            continue
        score = _families_agreement(pool, n_clusters) if score is None else score
        reduced = all_views.with_views(others)
        without = _families_agreement(reduced, n_clusters)
        if without >= score - TOLERANCE:
            pool, used, score = reduced, others, without
    rows = [
        (*compared_agreement(agreement, p, used), p in used, n_only.get(p, 0))
        for p in range(len(alone))
    ]
    names = pd.Index(source.names, name="view")
    return pd.DataFrame(
        rows, columns=["with_others", "among_others", "used", "n_only"], index=names
    )


def partitions_of_views(pool: CandidatePool, n_clusters: int) -> Array:
    """Clusters by each view alone, (n_views, n_samples), -1 where a sample lacks the view."""
    data = pool.data
    alone = np.full((len(data.views), len(data)), -1, dtype=LABEL_DTYPE)

    def work(p: int) -> None:
        has = slice(None) if data.available is None else np.flatnonzero(data.available[:, p])
        rows = data.views[p][has]
        _, s, Vt = np.linalg.svd(rows.T @ rows)
        leading = s[:n_clusters] > s[0] * np.finfo(rows.dtype).eps
        whitened = rows @ (Vt[:n_clusters][leading].T / np.sqrt(s[:n_clusters][leading]))
        n_runs = RUNS_OF_VIEWS * n_kmeans_runs(len(rows))
        _, labels, _ = kmeans_runs(whitened, min(n_clusters, len(rows)), pool.seed, n_runs)
        alone[p, has] = labels[0]

    for _ in parallel_map(work, range(len(alone))):
        pass
    return alone


def agreement_of_views(alone: Array) -> Array:
    """Adjusted Rand index of every two views on common samples; NaN if there are too few."""
    agreement = np.full((len(alone), len(alone)), np.nan)
    for p, q in zip(*np.triu_indices(len(alone), 1), strict=True):
        common = (alone[p] >= 0) & (alone[q] >= 0)
        if common.sum() >= MIN_COMMON:
            score = adjusted_rand_score(alone[p, common], alone[q, common])
            agreement[p, q] = agreement[q, p] = score
    return agreement


def most_inconsistent(agreement: Array, used: Sequence[int], kept: Container[int]) -> int | None:
    """View in `used`, but not in `kept`, that disagrees most with the others; None if none does."""
    shares = {}
    for p in used:
        with_others, among_others = compared_agreement(agreement, p, used)
        if p not in kept and disagrees(with_others, among_others):
            shares[p] = with_others / among_others
    return min(shares, key=lambda p: (shares[p], p), default=None)


def reasons(consistency: pd.DataFrame) -> list[str]:
    """For each view, why it was set aside, or why it is used although it disagrees; often empty."""
    return [_reason(own) for _, own in consistency.iterrows()]


def _reason(own: "pd.Series[Any]") -> str:
    if own["used"] and not own["n_only"]:
        return ""
    # Without the sign of a zero.
    first, second = (round(own[key], 2) + 0.0 for key in ("with_others", "among_others"))
    numbers = (
        f"alone it agrees with the other views by {first:.2f}, which agree with each other by "
        f"{second:.2f}"
    )
    if not own["used"]:
        return f"was set aside: {numbers}"
    samples = "1 sample has" if own["n_only"] == 1 else f"{own['n_only']} samples have"
    return f"disagrees, but is used because {samples} no other: {numbers}"


def disagrees(with_others: float, among_others: float) -> bool:
    """Whether a view disagrees, by its agreement with the other views and that among these.

    Nothing is said if there is nothing to agree about, or nothing to compare with (NaN).
    """
    return among_others >= MIN_AGREEMENT and with_others < DISAGREEING_SHARE * among_others


def compared_agreement(agreement: Array, view: int, used: Sequence[int]) -> tuple[float, float]:
    """Mean agreement of a view with the other views in `used`, and between these; may be NaN."""
    others = [p for p in used if p != view]
    between = agreement[np.ix_(others, others)][np.triu_indices(len(others), 1)]
    first, second = (values[~np.isnan(values)] for values in (agreement[view, others], between))
    return (
        float(first.mean()) if len(first) else np.nan,
        float(second.mean()) if len(second) else np.nan,
    )


def _families_agreement(pool: CandidatePool, n_clusters: int) -> float:
    """Mean agreement between families; NaN if fewer than two can be fitted."""
    directions = [replace(own, compared=False) for own in COMPARED_DIRECTIONS]
    return agreement_between(pool.fit([*directions, *GRAPHS], n_clusters).by_family)


def _n_lacking(views: Sequence[int], part: MultiViewData) -> int:
    """Number of samples that have none of some views."""
    if part.available is None:
        return 0
    return int((~part.available[:, list(views)].any(axis=1)).sum())
