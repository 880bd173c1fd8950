"""Evidence for clusters: separation, agreement beyond chance, and what each view has by itself.

The notes of AutoDALMC state the measures and the rules by which views are set aside. The separation
of a partition is ``1 - (cut + valley) / 1.53``, at least 0. Both are about 1 for arbitrary pieces
of a continuum, and 0 for clusters that do not touch. Few edges alone are no evidence, as there are
few between pieces of a curve, too: the *cut* is relative to that of random pieces of the graph. The
*valley* between two clusters counts less the fewer edges leave them. Correlated coordinates relate
views whose common clusters are faint, or others than the clearest ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from operator import add

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from anchorview._utils.linalg import unit_rows
from anchorview._utils.threads import parallel_map
from anchorview._utils.typing import Array
from anchorview.core.centers import nearest_centers
from anchorview.estimators.partitions.candidates import CandidatePool
from anchorview.estimators.partitions.consensus import agreement_with, cluster_members
from anchorview.estimators.partitions.coordinates import NORMALIZED, PLAIN, SHARING_A_BASIS
from anchorview.estimators.partitions.neighbor_graphs import NeighborGraph
from anchorview.estimators.relabeling import Relabeling
from anchorview.estimators.representation import WORDS, evidence_word
from anchorview.views.container import MultiViewData, container_with_views
from anchorview.views.row_source import RowSource

MIN_SAMPLES, MIN_SAMPLES_PER_CLUSTER = 50, 4
"""Below these numbers of samples, clusters cannot be told from noise."""

ROWS, ROWS_PER_CLUSTER = 1_000, 20
"""Number of samples that are judged, and its minimum per cluster."""

N_DIRECTIONS = 50
"""Number of leading directions of each view in which samples are compared."""

N_PARTITIONS = 5
"""Number of random partitions of the graph; their cuts vary by 5 to 20 %."""

LLOYD_STEPS = 3
"""Steps that fit centers to one half of the samples, so that they forget the other half."""

MIN_SIDE = 3
"""Number of samples that a density needs."""

NO_CLUSTERS = 1.53
"""Sum of cut and valley from which on clusters are as arbitrary as those of noise."""
MAX_SUM, FEWEST_EDGES = 3.0, 1e-6

JOINED = 0.2
"""Cut from which on the valley between clusters counts in full. Clusters that hardly any edge joins
are separated whatever their shape: between two half moons, the line from center to center has no
valley. On continua the smallest cut is 0.3."""

CLEAR_SEPARATION = 0.65
"""Separation from which on clusters are clear."""

SEPARATION_BY_CHANCE = 0.27
SUPPORT_BY_CHANCE, OF_FEW_SAMPLES = 0.12, 2.8
"""Separation and support that data without clusters may have; the support more by the last number,
divided by the root of the number of samples."""

LEAST_CERTAINTY = 0.45
"""What the agreement of all candidates is worth without evidence: all samples are doubtful."""

GRID = np.linspace(-1.0, 1.0, 81)
"""Positions on the line between two centers, which lie at -0.5 and 0.5."""
HALFWAY, BEFORE, AFTER = slice(36, 45), slice(0, 41), slice(40, 81)


@dataclass(frozen=True)
class Separation:
    """How far the clusters of a partition are separated."""

    total: float
    """Sum of cut and valley, weighted by the sizes of the clusters."""
    by_cluster: Array
    """The same for each cluster."""
    apart: float = 0.0
    """1 if no edges join the clusters, 0 if some cluster has a cut of `JOINED` or more."""

    @property
    def value(self) -> float:
        """Separation from 0, as on data without clusters, to 1."""
        return float(separation_of(self.total))


def separation_of(sums: ArrayLike) -> Array:
    """Separation from 0 to 1, by sums of cut and valley."""
    return np.clip(1 - np.asarray(sums) / NO_CLUSTERS, 0, 1)


class JudgedSamples:
    """Samples by which partitions are judged; what these share is computed once.

    Rows of the coordinates must not have unit norm, which makes two clusters of a line.
    """

    def __init__(self, coordinates: MultiViewData, seed: int, n_clusters: int = 2) -> None:
        self._seed = seed
        count = min(len(coordinates), max(ROWS, ROWS_PER_CLUSTER * n_clusters))
        order = np.random.default_rng(seed).permutation(len(coordinates))
        self.rows = np.sort(order[:count])
        """Positions of the samples."""
        some = coordinates[self.rows]
        points = tuple(view[:, :N_DIRECTIONS].astype(np.float64) for view in some.views)
        self._data = container_with_views(some, points)
        self._chances: dict[int, float] = {}

    def enough_for(self, n_clusters: int) -> bool:
        """Whether there are enough samples to tell so many clusters from noise."""
        return len(self.rows) >= max(MIN_SAMPLES, MIN_SAMPLES_PER_CLUSTER * n_clusters)

    def separation(self, labels: Array, n_clusters: int, n_splits: int = 1) -> Separation:
        """Separation of a partition of all samples, judged by `n_splits` divisions into halves."""
        labels = labels[self.rows]
        sizes = np.bincount(labels, minlength=n_clusters)
        if np.count_nonzero(sizes) < 2:
            return Separation(MAX_SUM, np.full(n_clusters, MAX_SUM))
        shares = np.bincount(labels, self._leaving(labels), n_clusters) / np.maximum(sizes, 1)
        # Fewer edges leave a piece that is larger than the others.
        others = 1 - sizes / sizes.sum()
        uneven = np.maximum(1.0, (n_clusters - 1) / (n_clusters + 1) / np.maximum(others, 1e-9))
        chance = max(self._chance(n_clusters), FEWEST_EDGES)
        cuts = np.minimum(uneven * shares / chance, MAX_SUM)
        rng = np.random.default_rng(self._seed)
        valleys = _valleys(self.points, labels, n_clusters, n_splits, rng)
        known = np.isfinite(valleys) & (sizes > 0)
        valley = float(np.average(valleys[known], weights=sizes[known])) if known.any() else 1.0
        joined = np.minimum(cuts / JOINED, 1)
        sums = cuts + joined * np.where(known, valleys, valley)
        total = float(np.average(sums, weights=sizes))
        apart = 1 - float(joined.max()) if sizes.all() else 0.0
        return Separation(min(total, MAX_SUM), np.minimum(sums, MAX_SUM), apart)

    @cached_property
    def points(self) -> Array:
        """Coordinates of the samples in all views."""
        return np.hstack(self._data.views)

    @cached_property
    def _edges(self) -> tuple[sparse.coo_array, Array, sparse.csr_array]:
        """Weights of the neighbor graph, degrees, and lengths of the edges."""
        edges = NeighborGraph(self._data).mean.tocoo()
        # Weights of distant neighbors may be too small for a reciprocal.
        tiny = np.finfo(float).tiny
        # SciPy 1.14 takes no other integers.
        coords = tuple(axis.astype(np.int32) for axis in edges.coords)
        lengths = sparse.csr_array((1 / np.maximum(edges.data, tiny), coords), shape=edges.shape)
        degrees = np.bincount(edges.row, edges.data, len(self.rows))
        return edges, np.maximum(degrees, tiny), lengths

    def _leaving(self, pieces: Array) -> Array:
        """Share of the weight of the edges of each sample that leave its piece."""
        edges, degrees, _ = self._edges
        crosses = pieces[edges.row] != pieces[edges.col]
        return np.bincount(edges.row[crosses], edges.data[crosses], len(degrees)) / degrees

    def _chance(self, n_clusters: int) -> float:
        """Share of the edges that leave so many random pieces, interpolated between powers of 2."""
        position = np.log2(min(n_clusters, len(self.rows)))
        below = int(position)
        first, second = (self._chance_at(min(2**p, len(self.rows))) for p in (below, below + 1))
        return first + (position - below) * (second - first)

    def _chance_at(self, count: int) -> float:
        if count not in self._chances:
            lengths = self._edges[2]
            rng, total = np.random.default_rng(self._seed), 0.0
            for _ in range(N_PARTITIONS):
                seeds = rng.choice(len(self.rows), count, replace=False)
                *_, pieces = dijkstra(
                    lengths, indices=seeds, min_only=True, return_predecessors=True
                )
                total += float(self._leaving(pieces).mean()) / N_PARTITIONS
            self._chances[count] = total
        return self._chances[count]


@dataclass(frozen=True)
class Evidence:
    """Evidence for clusters, of the result and of each cluster."""

    value: float | None = None
    """From 0, as on data without clusters, to 1; None if samples are too few."""
    words: tuple[str, ...] = ()
    """For each cluster, one of `WORDS`; empty if samples are too few."""
    certainty: float = 1.0
    """What the agreement of all candidates is worth, from 0 to 1."""


def evidence_of(
    separation: Separation, support: float, agreeing: Array, n_samples: int
) -> Evidence:
    """Evidence; `agreeing` is the share of partitions that agree on the samples of a cluster."""
    value = float(evidence_value(support, separation.value, n_samples))
    certainty = LEAST_CERTAINTY + (1 - LEAST_CERTAINTY) * min(1.0, value / WORDS["strong"])
    shares = separation_of(separation.by_cluster)
    # There is no more evidence for clusters than for any.
    by_cluster = evidence_value(support * agreeing, shares, n_samples) if value else 0 * shares
    return Evidence(value, tuple(map(evidence_word, by_cluster)), certainty)


def evidence_value(support: ArrayLike, separation: ArrayLike, n_samples: int) -> Array:
    """Evidence from 0 to 1: the larger of support and separation beyond chance."""
    expected = min(0.5, SUPPORT_BY_CHANCE + OF_FEW_SAMPLES / np.sqrt(n_samples))
    supported = support_beyond(support, expected)
    separated = support_beyond(separation, SEPARATION_BY_CHANCE)
    return np.maximum(np.maximum(supported, separated), 0)


def support_beyond(agreement: ArrayLike, chance: ArrayLike) -> Array:
    """Agreement beyond chance, as a share of the largest possible."""
    expected = np.asarray(chance)
    return (np.asarray(agreement) - expected) / np.maximum(1 - expected, 1e-9)


# Words


def merged_words(words: tuple[str, ...], relabeling: Relabeling) -> tuple[str, ...]:
    """Evidence after relabeling: for merged clusters, that for the worst of them."""
    if relabeling.keeps_numbers:
        return words
    order = list(WORDS)
    ranks = np.zeros(len(relabeling.names), dtype=int)
    np.maximum.at(ranks, relabeling.clusters, [order.index(word) for word in words])
    # Clusters that have vanished have no word.
    return tuple(order[r] if c in relabeling.clusters else "" for c, r in enumerate(ranks))


# Data without clusters


def without_clusters(
    coordinates: Mapping[str, MultiViewData], rng: np.random.Generator
) -> dict[str, MultiViewData]:
    """Rows of a normal distribution with the means and covariances of the samples, by scaling.

    Families also agree on such data, since they all divide it along its longest directions.
    """
    n = len(next(iter(coordinates.values())))
    mixing = rng.standard_normal((n, n))
    drawn: dict[str, MultiViewData] = {}
    for scaling, plain in SHARING_A_BASIS.items():
        if scaling not in coordinates:
            continue
        data = coordinates[plain]
        noise, scaled = ([np.zeros(view.shape, view.dtype) for view in data.views] for _ in "ab")
        for p, view in enumerate(data.views):
            has = data.rows_with(p)
            if len(has):
                means = view[has].mean(axis=0, dtype=np.float64)
                around = mixing[np.ix_(has, has)] @ (view[has] - means) / np.sqrt(len(has))
                rows = unit_rows(around + means)
                rows -= rows.mean(axis=0) if scaling == NORMALIZED else 0
                noise[p][has] = around + means
                scaled[p][has] = rows / max(np.linalg.norm(rows), np.finfo(float).tiny)
        for name, views in ((scaling, scaled), (plain, noise)):
            drawn[name] = container_with_views(data, tuple(views))
    return drawn


def _valleys(
    X: Array, labels: Array, n_clusters: int, n_splits: int, rng: np.random.Generator
) -> Array:
    """Density halfway to the nearest cluster, relative to the lower peak, of held-out samples."""
    orders = [rng.permutation(len(X)) for _ in range(n_splits)]
    halves = [(order[: len(X) // 2], order[len(X) // 2 :]) for order in orders]
    pairs = [*halves, *((second, first) for first, second in halves)]
    depths = np.full((len(pairs), n_clusters), np.nan)
    for depth, (fitted, held_out) in zip(depths, pairs, strict=True):
        present = np.unique(labels[fitted])
        if len(present) < 2:
            continue
        centers = _lloyd(X[fitted], np.searchsorted(present, labels[fitted]), len(present))
        nearest_center = nearest_centers(X[held_out], centers)
        distances = np.square(centers[:, None] - centers).sum(axis=2)
        distances[distances == 0] = np.inf
        for a, b in enumerate(distances.argmin(axis=1)):
            direction = (centers[b] - centers[a]) / distances[a, b]
            positions = (X[held_out] - (centers[a] + centers[b]) / 2) @ direction
            sides = positions[nearest_center == a], positions[nearest_center == b]
            if min(map(len, sides)) >= MIN_SIDE:
                depth[present[a]] = _depth(*sides)
    return np.asarray(np.ma.masked_invalid(depths).mean(axis=0).filled(np.nan))


def _lloyd(X: Array, labels: Array, n_clusters: int) -> Array:
    """Centers after a few steps of Lloyd's algorithm, which forget the samples left out."""
    centers = np.zeros((n_clusters, X.shape[1]))
    for step in range(LLOYD_STEPS + 1):
        membership = cluster_members(labels[None], n_clusters)
        sizes = np.bincount(labels, minlength=n_clusters)[:, None]
        centers = np.where(sizes > 0, membership.T @ X / np.maximum(sizes, 1), centers)
        if step < LLOYD_STEPS:
            labels = nearest_centers(X, centers)
    return centers


def _depth(a: Array, b: Array) -> float:
    """Density halfway between two clusters of the same mass, relative to the lower peak."""
    spread, size = min(a.std(), b.std()), min(len(a), len(b))
    bandwidth = 1.06 * spread * size**-0.2 + 1e-9  # Silverman's rule
    density = sum(
        np.exp(-0.5 * np.square((GRID[:, None] - side) / bandwidth)).mean(axis=1) for side in (a, b)
    )
    peak = min(density[BEFORE].max(), density[AFTER].max())
    return float(density[HALFWAY].min() / max(peak, np.finfo(float).tiny))


# Each view by itself, and which views are set aside

VIEW_ROWS = 400
"""Maximum number of samples by which views are judged."""

VIEW_NUMBERS, VIEW_RESOLUTIONS = (2, 3, 5, 8), (-2, -1, 0.5)
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
    """The largest of a partition; NaN if samples are too few."""
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
            for power in VIEW_RESOLUTIONS:
                graph.communities(2.0**power)
            for number in VIEW_NUMBERS:
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
            float(agreement_with(labels[both], other.partitions[key][None, both], key[1])[0])
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
        """Largest agreement of as many communities with clusters of some of the samples.

        0 if too few samples have the view.
        """
        has = self.has[rows]
        if not self.graphs:
            return 0.0
        alone = [_for_all(self.has, own.at_number(n_clusters), -1)[rows] for own in self.graphs]
        return float(agreement_with(labels[has], np.array(alone)[:, has], n_clusters).max())


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
    """Columns of `views_`."""
    apart: tuple[str, ...]
    """Names of views with clear clusters that have nothing to do with each other."""

    @property
    def used(self) -> list[int]:
        """Positions of the views that are used."""
        return [int(p) for p in np.flatnonzero(self.table["used"])]


def judge_views(source: RowSource, pool: CandidatePool) -> JudgedViews:
    """Judge the views of the samples of a pool, and set aside those that hurt."""
    names = source.names
    some = pool.at_random(VIEW_ROWS)
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
