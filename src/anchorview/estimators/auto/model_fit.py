"""The fit of AutoDALMC to representative samples, from their coordinates to the consensus."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import pandas as pd
from scipy.special import softmax

from anchorview._utils.memory import memory_budget, require_memory
from anchorview._utils.typing import Array
from anchorview.core.representative_rows import representative_rows
from anchorview.core.solve import relative
from anchorview.estimators.auto.evidence import (
    CLEAR_SEPARATION,
    Evidence,
    JudgedSamples,
    JudgedViews,
    evidence_of,
    judge_views,
)
from anchorview.estimators.auto.labeling import Clustering, record_type
from anchorview.estimators.auto.levels import (
    LevelLabels,
    LevelScan,
    chosen_number,
    find_levels,
    fit_levels,
    scan_levels,
)
from anchorview.estimators.known.class_model import ClassModel, KnownClasses, fit_class_model
from anchorview.estimators.known.known_labels import KnownLabels
from anchorview.estimators.partitions.candidates import (
    N_KMEANS_RUNS,
    POOL,
    SIZES,
    CandidatePool,
    EmbeddedCandidate,
    FittedCandidates,
    Setting,
    first_partitions,
)
from anchorview.estimators.partitions.consensus import (
    FittedConsensus,
    Partitions,
    agreement_with,
    mean_agreement,
)
from anchorview.estimators.partitions.coordinates import (
    MAX_DIRECTIONS,
    NEIGHBOR_SCALINGS,
    PLAIN,
    SCALINGS,
    Families,
    LocatedSamples,
)
from anchorview.estimators.partitions.neighbor_graphs import N_NEIGHBORS, n_landmarks
from anchorview.estimators.representation import structure_sentence
from anchorview.views.container import MultiViewData
from anchorview.views.row_source import RowSource

Say = Callable[..., float]
"""Called with a message and, if it ends a stage, the time when this began; returns the time."""

SAMPLE_SIZE, MIN_SAMPLE_SIZE, SAMPLES_PER_CLUSTER = 10_000, 5_000, 100
"""About how many rows everything is fitted to: the first number or, if a smaller number of clusters
is given, as many per cluster as the last says, but not fewer than the second; half as many with the
fast budget. On 10,000 images of ten digits, 5,000 rows cost .001 in accuracy."""

TYPICAL_CLUSTERS = 100
"""Number of clusters for which memory must suffice if the number is not given."""

PATTERN_SCALE = 0.1
"""Squared distance to a pattern at which a probability falls to 1/e."""

N_SPLITS = 3
"""Number of divisions into halves by which the result is judged."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """What a fit finds on the representative samples."""

    families: Families
    clustering: Clustering
    fitted: FittedCandidates
    result: FittedConsensus
    rows: Array
    """Positions of the samples of the result in the sample of the fit."""
    views: JudgedViews
    scan: LevelScan | None
    """None if the number of clusters was given, as the next two."""
    levels: pd.DataFrame | None
    tree: pd.DataFrame | None
    others: dict[int, Clustering]
    evidence: Evidence
    finds_clusters: bool
    """Whether there is evidence of clusters at any number, or the number was given."""
    known: KnownLabels | None
    """What was known of some samples, with a class for each of them."""

    @property
    def agreement(self) -> Array:
        """Mean agreement between the partitions of every two candidates."""
        counts = [candidate.n_partitions for candidate in self.fitted.candidates]
        return mean_agreement(self.result.agreement, counts)

    def candidate_table(self) -> pd.DataFrame:
        """One row per candidate: its settings, results by name, and the error if it failed."""
        candidates, failed = self.fitted.candidates, self.fitted.failed
        firsts, k = first_partitions(candidates), self.clustering.n_clusters
        columns = {
            "agreement": np.maximum.reduceat(self.result.scores, firsts),
            "agreement_with_result": agreement_with(
                self.result.labels, self.fitted.partitions[firsts], k
            ),
            "stability": self.agreement.diagonal(),
        }
        settings = [*(c.setting for c in candidates), *(setting for setting, _ in failed)]
        table = setting_table(settings, k).join(pd.DataFrame(columns))
        table = table.join(pd.DataFrame([candidate.row() for candidate in candidates]))
        table["error"] = [""] * len(candidates) + [error for _, error in failed]
        integers = dict.fromkeys(["n_anchors", "n_components", "n_iter"], "Int64")
        return table.astype({**integers, "inertia": "float64", "beta": "float64"})

    def view_weights(self) -> Array:
        """Mean weight of each view over the candidates that weigh them."""
        used = self.views.table["used"].to_numpy()
        weights = np.zeros(len(used))
        firsts = first_partitions(self.fitted.candidates)
        by_candidate = np.add.reduceat(self.result.weights, firsts)
        for weight, candidate in zip(by_candidate, self.fitted.candidates, strict=True):
            if isinstance(candidate, EmbeddedCandidate):
                weights[used] += weight * candidate.view_weights
        return weights / weights.sum()

    def view_agreement(self) -> list[float]:
        """Agreement of the result with communities of each view alone."""
        labels, number = self.result.labels, self.clustering.n_clusters
        _, known, given = np.intersect1d(self.views.rows, self.rows, return_indices=True)
        alone = self.views.alone
        return [own.agreement_with(known, labels[given], number) for own in alone]


def setting_table(settings: Sequence[Setting], n_clusters: int) -> pd.DataFrame:
    """One row per setting; the sizes of directions are multiples of the number of clusters."""
    table = pd.DataFrame([{"kind": setting.kind, **vars(setting)} for setting in settings])
    table = table.rename(columns={"anchors": "n_anchors", "components": "n_components"})
    table[["n_anchors", "n_components"]] *= n_clusters
    return table.drop(columns="compared")


def fit_model(
    source: RowSource,
    sample: MultiViewData,
    numbers: Sequence[int],
    budget: str,
    seed: int,
    importance: Array,
    say: Say,
    known: KnownLabels | None = None,
) -> FittedModel:
    """Fit the model to a sample of a source, which represents all, with one of some numbers."""
    clock = perf_counter()
    rows = np.arange(len(sample))
    pool = CandidatePool.of(sample, rows, source.total_weight, seed, importance)
    clock = say("projected the samples", clock)
    views = judge_views(source, pool)
    sample, importance = sample.with_views(views.used), relative(importance[views.used])
    if len(views.used) < len(views.table):
        # As if the other views were not there, by which samples were ordered.
        pool = CandidatePool.of(sample, rows, source.total_weight, seed, importance)
    scan, number = None, numbers[0] if numbers else 0
    largest = number
    if len(numbers) != 1:
        scan = scan_levels(pool, numbers)
        number = chosen_number(scan.table)
        largest = max(find_levels(scan.table, number).index)
        clock = say(f"chose {number} clusters", clock)
    count = n_sampled(len(source), largest, budget)
    if count < len(pool):
        # As if the number had been given.
        kept = representative_rows(np.arange(len(pool)), pool.data.available, count)
        pool = CandidatePool.of(sample, pool.rows[kept], source.total_weight, seed, importance)
    pool.n_landmarks = n_landmarks(largest, len(source))
    fitted = pool.fit(POOL[budget], number, say)
    if not any(isinstance(own, EmbeddedCandidate) for own in fitted.candidates):
        raise ValueError(f"No candidate can be fitted. The first fails: {fitted.failed[0][1]}")
    judged = JudgedSamples(pool.coordinates[PLAIN], pool.seed, number)
    separations = np.array([judged.separation(own, number).total for own in fitted.partitions])
    result = pool.consensus(fitted, number, separations)
    clock = say(f"found the consensus of {len(fitted.candidates)} candidates", clock)
    clustering = Clustering(fitted.candidates, result.consensus)
    if known is not None:
        samples = known.of(source, views.used)
        clustering, result, known = _with_classes(pool, fitted, result, known, *samples)
        clock = say(f"found the classes of {len(known.rows)} known samples elsewhere", clock)

    chosen = LevelLabels(number, result.labels, fitted.by_family)
    levels, tree, others = fit_levels(pool, scan, chosen) if scan else (None, None, {})
    evidence = _evidence(pool, judged, scan, result, fitted.partitions, number)
    say(structure_sentence(evidence.value), clock)
    if known is None:
        consensus = replace(result.consensus, certainty=evidence.certainty)
        clustering = replace(clustering, consensus=consensus)
    finds = bool(numbers) or evidence.value is None or scan is None or scan.finds_clusters
    return FittedModel(
        pool.families,
        clustering,
        fitted,
        result,
        pool.rows,
        views,
        scan,
        levels,
        tree,
        others,
        evidence,
        finds or known is not None,
        known,
    )


def _with_classes(
    pool: CandidatePool,
    fitted: FittedCandidates,
    result: FittedConsensus,
    known: KnownLabels,
    data: MultiViewData,
    places: Array,
) -> tuple[Clustering, FittedConsensus, KnownLabels]:
    """Clusters that are classes; `data` are samples at some places in `known`, to be completed."""
    partitions, plain, families = fitted.partitions, result.consensus, pool.families
    labels = Clustering(fitted.candidates, plain).partitions(LocatedSamples(families, data))

    def model(rows: Array) -> ClassModel:
        located = LocatedSamples(families, data[rows])
        of_rows = KnownClasses(located, labels[:, rows], known.codes[places[rows]])
        return fit_class_model(pool, partitions, plain, of_rows)

    labeled = np.flatnonzero(known.given[places])
    if len(labeled) < len(places):
        if len(labeled):
            samples = LocatedSamples(families, data)
            probabilities = model(labeled).probabilities(samples, labels)
        else:
            probabilities = softmax(-plain.squared_distances(labels) / PATTERN_SCALE, axis=1)
        known = known.assigned(probabilities, places)
    classes = model(np.arange(len(places)))
    drawn = classes.draws(pool, partitions)
    both = np.vstack([partitions, drawn])
    found = classes.consensus(both, plain.weights)
    consensus = Partitions(partitions, len(plain.offsets)).consensus_of(drawn[0], plain.weights)
    result = replace(result, consensus=consensus, labels=drawn[0].astype(np.int32))
    return Clustering(fitted.candidates, found, classes), result, known


def _evidence(
    pool: CandidatePool,
    judged: JudgedSamples,
    scan: LevelScan | None,
    result: FittedConsensus,
    partitions: Array,
    number: int,
) -> Evidence:
    """Evidence for the clusters of a result: the larger of separation and support."""
    if not judged.enough_for(number):
        return Evidence()
    separation = judged.separation(result.labels, number, N_SPLITS)
    if scan is None and separation.value < CLEAR_SEPARATION:
        scan = scan_levels(pool, [number])
    support = 0.0 if scan is None else float(scan.table["support"][number])
    # What is supported may be another division.
    alike = agreement_with(result.labels, partitions, number) @ result.weights
    support = min(support, float(alike))
    n_samples = len(judged.rows) if scan is None else scan.n_samples
    agreeing = result.consensus.confidence(partitions, result.labels)
    sizes = np.bincount(result.labels, minlength=number)
    by_cluster = np.bincount(result.labels, agreeing, number) / np.maximum(sizes, 1)
    return evidence_of(separation, support, by_cluster, n_samples)


def n_sampled(n_samples: int, n_clusters: int | None, budget: str) -> int:
    """About how many rows are selected of all, for at most `n_clusters` clusters if known."""
    count = SAMPLE_SIZE
    if n_clusters is not None:
        count = min(count, max(MIN_SAMPLE_SIZE, SAMPLES_PER_CLUSTER * n_clusters))
    return min(n_samples, count // 2 if budget == "fast" else count)


def require_fit_memory(
    source: RowSource, count: int, numbers: Sequence[int], limit: float | str | None, *, kept: bool
) -> None:
    """Raise if a fit to `count` rows, with results `kept` in memory, needs more than it may use."""
    n_clusters = numbers[-1] if numbers else TYPICAL_CLUSTERS
    itemsize, widths, n_views = source.dtype.itemsize, source.n_features_per_view, len(source.names)
    directions = sum(min(d, MAX_DIRECTIONS + 1) for d in widths)
    partitions = 2 * N_KMEANS_RUNS * len(POOL["thorough"])
    # Two copies of the rows, their coordinates and neighbors, and labels.
    row = 2.0 * itemsize * (sum(widths) + len(SCALINGS) * directions) + 4 * partitions
    row += 4 * len(NEIGHBOR_SCALINGS) * n_views * 2 * N_NEIGHBORS * 12
    # Bases, the Gram matrix of the widest view, and tables of labels.
    needed = count * row + 4.0 * len(NEIGHBOR_SCALINGS) * directions * max(widths)
    needed += 8.0 * (min(count, max(widths)) ** 2 + partitions * n_clusters**2)
    if len(source) > count:
        # The numbers by which rows are selected, and their order.
        needed += 8.0 * len(source) * (n_views + 4)
    if kept:
        # Records, and the fields of them.
        width = n_clusters * max(anchors for anchors, _ in SIZES)
        needed += 2.0 * len(source) * record_type(width, source.dtype).itemsize
    write = "write results to files with out=, " if kept else ""
    advice = f"Reduce budget, {write}fit a sample and predict the rest, or use DALMC."
    allowed = None if limit is None else memory_budget(limit)
    require_memory(needed, f"Clustering {source!r} by AutoDALMC", advice, allowed)
