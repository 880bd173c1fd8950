"""What each view has by itself, and which views are set aside.

A view alone is judged by how far its communities are separated, and by how well they agree with
those of the other views. Views are related if communities agree, or if their coordinates are
correlated more than with rows in another order: faint clusters, or others than the clearest ones,
may be common. A view without clusters that is related to none of the others makes the clusters of
all views worse if another view has clear ones, and so does a view that is related to none if others
agree with each other: it is set aside. Two views with clear clusters that are not related are no
evidence for either: their rows may be in different orders.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from operator import add

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from anchorview._utils.threads import parallel_map
from anchorview._utils.typing import Array
from anchorview.estimators.auto.evidence import CLEAR_SEPARATION, MIN_SAMPLES, JudgedSamples
from anchorview.estimators.partitions.candidates import CandidatePool
from anchorview.estimators.partitions.coordinates import NORMALIZED, PLAIN
from anchorview.estimators.partitions.neighbor_graphs import NeighborGraph
from anchorview.views.container import MultiViewData
from anchorview.views.row_source import RowSource

ROWS = 400
"""Maximum number of samples by which views are judged."""

NUMBERS, LOG_RESOLUTIONS = (2, 3, 5, 8), (-2, -1, 0.5)
"""Numbers of clusters of each view alone, and resolutions of the communities that are merged."""

MIN_COMMON = 10
"""Number of samples that a view needs to have to be divided."""

# Of 169 views of 52 real data sets, these limits set one aside that has no clusters.
NO_SEPARATION = 0.2
"""Separation up to which a view has no clusters."""
NO_AGREEMENT, FEW_SAMPLES = 0.05, 40
"""Largest adjusted Rand index of views that have nothing to do with each other; if there are few
samples, it is the second number divided by theirs."""
AGREEMENT = 0.2
"""Agreement of two views that is evidence against a third which agrees with neither."""
N_ORDERS, RELATED = 64, 8.0
"""Number of random orders of rows, and how many standard deviations the correlation of two views is
above its mean over these if they are related. Independent views have less than 3 as a rule, and
all but one of 60 pairs of real views with less agreement than the limits above have 6 to 40."""


@dataclass(frozen=True, eq=False)
class ViewAlone:
    """Communities of samples in one view."""

    has: Array
    """Which samples have the view."""
    graphs: tuple[NeighborGraph, ...]
    """Of those that have it, in two scalings; empty if they are too few."""
    partitions: dict[tuple[int, int], Array]
    """By graph and number of clusters; -1 where a sample lacks the view."""
    separation: float
    """The largest one of the partitions; NaN if samples are too few."""
    points: Array
    """Coordinates of the samples; zero where a sample lacks the view."""

    @classmethod
    def of(cls, pool: CandidatePool, view: int) -> "ViewAlone":
        """Communities of the samples of a pool that have a view."""
        has = pool.data.has_view(view)
        alone = {
            scaling: MultiViewData([pool.coordinates[scaling].views[view][has]])
            for scaling in (PLAIN, NORMALIZED)
            if scaling in pool.coordinates and has.sum() >= MIN_COMMON
        }
        graphs, partitions = tuple(NeighborGraph(data) for data in alone.values()), {}
        for g, graph in enumerate(graphs):
            for power in LOG_RESOLUTIONS:
                graph.communities(2.0**power)
            for number in NUMBERS:
                labels = graph.merged_communities(number)
                if labels is not None:
                    partitions[g, number] = _for_all(has, labels, -1)
        if has.sum() < MIN_SAMPLES:
            return cls(has, graphs, partitions, np.nan, np.zeros((len(has), 1)))
        judged = JudgedSamples(alone[PLAIN], pool.seed)
        found = [judged.separation(own[has], k).value for (_, k), own in partitions.items()]
        points = _for_all(has, judged.points, 0)
        return cls(has, graphs, partitions, max(found, default=0.0), points)

    def agreement(self, other: "ViewAlone") -> float:
        """Largest agreement of partitions of two views; NaN if samples are too few."""
        both = self.has & other.has
        if both.sum() < MIN_SAMPLES:
            return np.nan
        scores = [
            adjusted_rand_score(labels[both], other.partitions[key][both])
            for key, labels in self.partitions.items()
            if key in other.partitions
        ]
        return max(scores, default=np.nan)

    def correlates_with(self, other: "ViewAlone") -> bool:
        """Whether coordinates are correlated with those of another view, if enough are known."""
        both = self.has & other.has
        X, Y = (own.points[both] - own.points[both].mean(axis=0) for own in (self, other))
        rng = np.random.default_rng(0)
        orders = [np.arange(len(X)), *(rng.permutation(len(X)) for _ in range(N_ORDERS))]
        given, *by_chance = (float(np.square(X.T @ Y[order]).sum()) for order in orders)
        return given > float(np.mean(by_chance) + RELATED * np.std(by_chance))

    def agreement_with(self, rows: Array, labels: Array, n_clusters: int) -> float:
        """Largest agreement of as many communities with clusters of some of the samples."""
        has = self.has[rows]
        scores = [
            adjusted_rand_score(_for_all(self.has, communities, -1)[rows][has], labels[has])
            for graph in self.graphs
            if (communities := graph.merged_communities(n_clusters)) is not None
        ]
        return max(scores, default=np.nan)


def _for_all(has: Array, values: Array, other: float) -> Array:
    """Values of the samples that have a view, and another value for those that lack it."""
    filled = np.full((len(has), *values.shape[1:]), other, values.dtype)
    filled[has] = values
    return filled


@dataclass(frozen=True, eq=False)
class JudgedViews:
    """The views of a fit, judged by themselves."""

    alone: list[ViewAlone]
    rows: Array
    """Positions of the samples by which they are judged, in the sample of the fit."""
    table: pd.DataFrame
    """By view: `separation`; `agreement_with_others`, the largest with another view that is used;
    `used`; and `why` not, or why although it should not."""
    apart: tuple[str, ...]
    """Names of views with clear clusters that have nothing to do with each other."""

    @property
    def used(self) -> list[int]:
        """Positions of the views that are used."""
        return [int(p) for p in np.flatnonzero(self.table["used"])]


def judge_views(source: RowSource, pool: CandidatePool) -> JudgedViews:
    """Judge the views of the samples of a pool, and set aside those that hurt."""
    names = source.names
    some = pool.at_random(ROWS)
    found = parallel_map(partial(ViewAlone.of, some), range(len(names)))
    alone = [own for _, own in found]
    separation = np.array([own.separation for own in alone])
    agreement = np.full((len(names), len(names)), np.nan)
    unrelated = np.zeros(agreement.shape, bool)
    limit = max(NO_AGREEMENT, FEW_SAMPLES / len(some))
    for p, q in combinations(range(len(alone)), 2):
        agreement[p, q] = agreement[q, p] = alone[p].agreement(alone[q])
        apart = agreement[p, q] <= limit and not alone[p].correlates_with(alone[q])
        unrelated[p, q] = unrelated[q, p] = apart
    used, why = list(range(len(names))), [""] * len(names)
    for p in _views_that_hurt(separation, agreement, unrelated):
        others = [q for q in used if q != p]
        n_only = source.reduce(partial(_n_lacking, others), add, "views")
        why[p] = _reason(float(separation[p]), n_only)
        if not n_only:
            used = others
    clear = [p for p in used if separation[p] >= CLEAR_SEPARATION]
    strangers = [p for p in clear if unrelated[p, used].sum() == len(used) - 1]
    strangers = strangers if len(strangers) > 1 else []
    table = pd.DataFrame(
        {
            "separation": separation,
            "agreement_with_others": [
                _largest(agreement[p, [q for q in used if q != p]]) for p in range(len(names))
            ],
            "used": [p in used for p in range(len(names))],
            "why": why,
        },
        index=pd.Index(names, name="view"),
    )
    return JudgedViews(alone, some.rows, table, tuple(names[p] for p in strangers))


def _views_that_hurt(separation: Array, agreement: Array, unrelated: Array) -> list[int]:
    """Views to set aside, those with the least separation first."""
    hurting = []
    for p in np.argsort(separation, kind="stable"):
        others = np.delete(np.arange(len(separation)), p)
        another = (separation[others] >= CLEAR_SEPARATION).any()
        empty = separation[p] <= NO_SEPARATION and another
        among_others = compared_agreement(agreement, int(p))[1]
        if unrelated[p, others].all() and (empty or among_others >= AGREEMENT):
            hurting.append(int(p))
    return hurting


def compared_agreement(agreement: Array, view: int) -> tuple[float, float]:
    """Largest agreement of a view with another one, and between other views; may be NaN."""
    others = np.delete(np.arange(len(agreement)), view)
    return _largest(agreement[view, others]), _largest(agreement[np.ix_(others, others)])


def contradicts(with_others: float, among_others: float) -> bool:
    """Whether a view agrees with no other, while other views agree with each other."""
    return with_others <= NO_AGREEMENT and among_others >= AGREEMENT


def _largest(values: Array) -> float:
    return float(pd.Series(values.ravel()).max())


def _reason(separation: float, n_only: int) -> str:
    what = (
        "it has no clear clusters, and agrees with no other view"
        if separation <= NO_SEPARATION
        else "its clusters have nothing to do with those of the other views, which agree: its rows "
        "may be in another order, or it is about something else"
    )
    if not n_only:
        return f"was set aside: {what}"
    samples = "1 sample has" if n_only == 1 else f"{n_only} samples have"
    return f"disagrees, but is used because {samples} no other: {what}"


def _n_lacking(views: Sequence[int], part: MultiViewData) -> int:
    """Number of samples that have none of some views."""
    has = part.with_views(tuple(views)).known_samples
    return 0 if has is None else int((~has).sum())
