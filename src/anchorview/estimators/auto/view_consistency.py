"""Views that contradict the others, and whether they are set aside.

A view that has noise or unrelated clusters makes the clusters of all views worse. Alone, it agrees
with none of the others, while these agree with each other. It is set aside unless the families
agree less without it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from anchorview._utils.text import shorten
from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import CandidatePool, fit_candidates
from anchorview.estimators.auto.consensus import agreement_between
from anchorview.estimators.auto.landmarks import LABEL_DTYPE
from anchorview.estimators.auto.levels import partitions_by_family
from anchorview.estimators.auto.settings import representative_settings
from anchorview.views.container import MultiViewData
from anchorview.views.row_source import RowSource

# No view of 14 real data sets with three or more views disagrees by these limits.
DISAGREEING_SHARE = 0.15
"""A view disagrees if it agrees with the others less than this share of their agreement."""

MIN_AGREEMENT = 0.1
"""Agreement between the other views below which they are not evidence against a view."""

TOLERANCE = 0.05
"""A view is used if families agree less without it, by more than this. With noise that hardly
matters, the difference is up to 0.05 in either direction; with a view that does, far beyond."""

MIN_COMMON = 10
"""Number of samples that two views need to have in common to be compared."""


@dataclass(frozen=True)
class ViewConsistency:
    """How well a view, clustered alone, agrees with the other views that are used."""

    with_others: float | None
    """Mean adjusted Rand index with the other views; None if it is not known."""
    among_others: float | None
    """Mean adjusted Rand index between the other views; None for fewer than two."""
    used: bool
    n_only: int
    """Number of samples that have no other view, for which a view that disagrees is used."""


@dataclass(frozen=True, eq=False)
class ViewChoice:
    """Views that are used, and what they are chosen by."""

    used: tuple[int, ...]
    """Positions of these views."""
    alone: Array
    """Clusters of the samples by each view, as for `partitions_of_views`."""
    consistency: list[ViewConsistency]


def choose_views(source: RowSource, all_views: CandidatePool, n_clusters: int) -> ViewChoice:
    """Set aside the views that disagree with the others, the worst first, but not half of them."""
    pool = all_views
    alone = partitions_of_views(pool, n_clusters)
    agreement = agreement_of_views(alone)
    used, kept = list(range(len(alone))), dict[int, int]()
    score: float | None = None
    while len(alone) - len(used) < (len(alone) - 1) // 2:
        worst = most_inconsistent(agreement, used, kept)
        if worst is None:
            break
        others = [p for p in used if p != worst]
        kept[worst] = source.reduce(partial(_n_lacking, others), add, "views")
        if kept[worst]:
            continue
        score = _families_agreement(pool, n_clusters) if score is None else score
        reduced = all_views.with_views(others)
        without = _families_agreement(reduced, n_clusters)
        if without >= score - TOLERANCE:
            pool, used, score = reduced, others, without
    return ViewChoice(tuple(used), alone, _consistency(agreement, used, kept))


def partitions_of_views(pool: CandidatePool, n_clusters: int) -> Array:
    """Clusters by each view alone, (n_views, n_samples), -1 where a sample lacks the view."""
    alone = np.full((len(pool.data.views), len(pool)), -1, dtype=LABEL_DTYPE)
    for labels, (rows, part) in zip(alone, pool.view_partitions(n_clusters), strict=True):
        labels[rows] = part
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


def agreement_with_views(labels: Array, alone: Array) -> list[float]:
    """Adjusted Rand index of labels with each view alone, on the samples that have it."""
    return [float(adjusted_rand_score(labels[own >= 0], own[own >= 0])) for own in alone]


def most_inconsistent(agreement: Array, used: Sequence[int], kept: Mapping[int, int]) -> int | None:
    """View in `used`, but not in `kept`, that disagrees most with the others; None if none does."""
    shares = {}
    for p in set(used) - set(kept):
        own, others = _compared(agreement, p, used)
        if own is not None and others is not None and _disagrees(own, others):
            shares[p] = own / others
    return min(shares, key=lambda p: (shares[p], p), default=None)


def consistency_table(names: Sequence[str], consistency: Sequence[ViewConsistency]) -> pd.DataFrame:
    """Table with a row for each view."""
    table = pd.DataFrame(
        [(own.with_others, own.among_others, own.used) for own in consistency],
        columns=["with_others", "among_others", "used"],
        index=pd.Index(names, name="view"),
    )
    return table.astype({"with_others": float, "among_others": float})


def consistency_sentences(
    names: Sequence[str], consistency: Sequence[ViewConsistency]
) -> list[str]:
    """Sentences on the views that were set aside, or would be if samples had other views."""
    sentences = []
    for name, own in zip(names, consistency, strict=True):
        if own.used and not own.n_only:
            continue
        numbers = (
            f"alone it agrees with the other views by {_number(own.with_others)}, which agree with "
            f"each other by {_number(own.among_others)}"
        )
        view = f"view {shorten(name)!r}"
        if not own.used:
            sentences.append(f"{view} was set aside: {numbers}")
        else:
            samples = "1 sample has" if own.n_only == 1 else f"{own.n_only} samples have"
            sentences.append(f"{view} disagrees, but is used because {samples} no other: {numbers}")
    return sentences


def _number(value: float | None) -> str:
    # Without the sign of a zero.
    return "?" if value is None else f"{round(value, 2) + 0.0:.2f}"


def _disagrees(with_others: float, among_others: float) -> bool:
    return among_others >= MIN_AGREEMENT and with_others < DISAGREEING_SHARE * among_others


def _compared(
    agreement: Array, view: int, used: Sequence[int]
) -> tuple[float | None, float | None]:
    """Mean agreement of a view with the other views in `used`, and between these."""
    others = [p for p in used if p != view]
    between = agreement[np.ix_(others, others)][np.triu_indices(len(others), 1)]
    return _mean(agreement[view, others]), _mean(between)


def _mean(values: Array) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _consistency(
    agreement: Array, used: Sequence[int], kept: Mapping[int, int]
) -> list[ViewConsistency]:
    return [
        ViewConsistency(*_compared(agreement, p, used), p in used, kept.get(p, 0))
        for p in range(len(agreement))
    ]


def _families_agreement(pool: CandidatePool, n_clusters: int) -> float:
    """Mean agreement between families; NaN if fewer than two can be fitted."""
    try:
        fitted = fit_candidates(pool, representative_settings(), n_clusters)
    except ValueError:
        return np.nan
    return agreement_between(partitions_by_family(fitted))


def _n_lacking(views: Sequence[int], part: MultiViewData) -> int:
    """Number of samples that have none of some views."""
    if part.available is None:
        return 0
    return int((~part.available[:, list(views)].any(axis=1)).sum())
