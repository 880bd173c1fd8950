"""The fit of AutoDALMC to representative samples, from their coordinates to the consensus."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from anchorview._utils.typing import Array
from anchorview.core.scale import fit_scalings
from anchorview.estimators.auto.bases import MAX_DIRECTIONS, FittedBases, fit_bases
from anchorview.estimators.auto.candidates import (
    FIT_ERRORS,
    N_KMEANS_RUNS,
    NO_CANDIDATE,
    Candidate,
    CandidatePool,
    Failures,
    fit_candidates,
)
from anchorview.estimators.auto.consensus import (
    FittedConsensus,
    agreement_with,
    fit_consensus,
    mean_agreement,
)
from anchorview.estimators.auto.labeling import Families, record_type
from anchorview.estimators.auto.levels import (
    ROWS,
    Branch,
    FittedLevel,
    LevelLabels,
    LevelScan,
    chosen_number,
    find_levels,
    fit_levels,
    partitions_by_family,
    requested_numbers,
    scan_levels,
)
from anchorview.estimators.auto.neighbor_graphs import N_NEIGHBORS
from anchorview.estimators.auto.reference_data import (
    comparison_pool,
    some_rows,
    without_clusters,
)
from anchorview.estimators.auto.representative_rows import order_by_content
from anchorview.estimators.auto.settings import (
    NEIGHBOR_SCALINGS,
    SCALINGS,
    SHARING_A_BASIS,
    SIZES,
    STANDARDIZED,
    candidate_settings,
    n_landmarks,
)
from anchorview.estimators.auto.structure import Structure, judge_structure, structure_sentence
from anchorview.estimators.auto.view_consistency import (
    ViewChoice,
    agreement_with_views,
    choose_views,
    consistency_sentences,
    partitions_of_views,
)
from anchorview.views.container import MultiViewData
from anchorview.views.row_source import RowSource

Say = Callable[..., float]
"""Called with a message and, if it ends a stage, the time when this began; returns the time."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """What a fit finds on the representative samples."""

    n_clusters: int
    families: Families
    candidates: list[Candidate]
    failed: Failures
    result: FittedConsensus
    partitions: Array
    views: ViewChoice
    scan: LevelScan | None
    levels: list[FittedLevel]
    branches: list[Branch]
    structure: Structure

    @property
    def counts(self) -> list[int]:
        """Number of partitions of each candidate."""
        return [candidate.n_partitions for candidate in self.candidates]

    @property
    def firsts(self) -> Array:
        """Position of the first partition of each candidate."""
        return np.cumsum([0, *self.counts[:-1]])

    @property
    def scores(self) -> Array:
        """Highest score of the partitions of each candidate."""
        return np.maximum.reduceat(self.result.scores, self.firsts)

    @property
    def agreement(self) -> Array:
        """Mean agreement between the partitions of every two candidates."""
        return mean_agreement(self.result.agreement, self.counts)

    @property
    def agreement_with_result(self) -> Array:
        """Agreement of the first partition of each candidate with the result."""
        return agreement_with(self.result.labels, self.partitions[self.firsts], self.n_clusters)

    @property
    def best_candidate(self) -> int:
        """Position of the candidate with the highest score that has an embedding."""
        embeds = [candidate.embedder is not None for candidate in self.candidates]
        return int(np.where(embeds, self.scores, -np.inf).argmax())

    def view_weights(self, n_views: int) -> Array:
        """Mean weight of each view over the candidates that weigh them."""
        weights = np.zeros(n_views)
        by_candidate = np.add.reduceat(self.result.weights, self.firsts)
        for weight, candidate in zip(by_candidate, self.candidates, strict=True):
            if candidate.view_weights is not None:
                weights[list(self.views.used)] += weight * candidate.view_weights
        return weights / weights.sum()

    @property
    def view_agreement(self) -> list[float]:
        """Agreement of the result with a clustering of each view alone."""
        return agreement_with_views(self.result.labels, self.views.alone)


def fit_model(
    source: RowSource,
    sample: MultiViewData,
    n_clusters: int | Sequence[int] | None,
    budget: str,
    seed: int,
    *,
    say: Say,
) -> FittedModel:
    """Fit the model to some samples of a source, which represent all."""
    clock = perf_counter()
    fitted, pool, order = _fit_pool(sample, len(source), seed)
    clock = say("projected the samples", clock)
    numbers = requested_numbers(n_clusters, len(source))
    number, scan = _choose_number(pool, numbers, seed)
    views = choose_views(source, pool, number)
    for sentence in consistency_sentences(sample.names, views.consistency):
        say(sentence)
    if len(views.used) < len(sample.names):
        all_views, before = pool, order
        # As if the other views were not there, by which samples were ordered and numbers compared.
        fitted, pool, order = _fit_pool(sample.with_views(views.used), len(source), seed)
        number, scan = _choose_number(pool, numbers, seed)
        alone = partitions_of_views(all_views, number)[:, np.argsort(before)[order]]
        views = replace(views, alone=alone)
    if scan is not None:
        clock = say(f"chose {number} clusters", clock)

    found = [] if scan is None else find_levels(scan.agreement, scan.chance, number)
    pool.n_landmarks = n_landmarks(max([number, *(level.n_clusters for level in found)]))
    candidates = fit_candidates(pool, candidate_settings(budget), number, say)
    if all(candidate.embedder is None for candidate in candidates.candidates):
        raise ValueError(f"{NO_CANDIDATE}{candidates.failed[0][1]}")
    result = fit_consensus(candidates.partitions, candidates.families, number)
    clock = say(f"found the consensus of {len(candidates.candidates)} candidates", clock)

    levels: list[FittedLevel] = []
    branches: list[Branch] = []
    if scan is not None:
        chosen = LevelLabels(number, result.labels, partitions_by_family(candidates))
        levels, branches = fit_levels(pool, found, chosen, scan)
    structure = Structure()
    standardized = pool.coordinates.get(SHARING_A_BASIS[STANDARDIZED])
    if standardized is not None:
        structure = judge_structure(standardized, result.labels, seed)
    say(structure_sentence(structure.value), clock)
    families = Families(
        fitted.bases,
        {
            scaling: pool.landmark_fit(scaling).landmarks
            for scaling in NEIGHBOR_SCALINGS
            if scaling in pool.coordinates
        },
    )
    return FittedModel(
        number,
        families,
        candidates.candidates,
        candidates.failed,
        result,
        candidates.partitions,
        views,
        scan,
        levels,
        branches,
        structure,
    )


def _fit_pool(
    sample: MultiViewData, n_represented: int, seed: int
) -> tuple[FittedBases, CandidatePool, Array]:
    """Bases of samples, the pool of their coordinates, and the order of the samples in it."""
    order = order_by_content(sample, fit_scalings(sample, STANDARDIZED))
    fitted = fit_bases(sample[order], FIT_ERRORS)
    if not fitted.bases:
        raise ValueError(f"{NO_CANDIDATE}{fitted.errors[STANDARDIZED]}")
    norm_factor = float(np.sqrt(n_represented / len(sample)))
    pool = CandidatePool(fitted.coordinates, seed, norm_factor, errors=fitted.errors)
    return fitted, pool, order


def _choose_number(
    pool: CandidatePool, numbers: Sequence[int], seed: int
) -> tuple[int, LevelScan | None]:
    """Number of clusters and, if it is not given, what it is chosen by."""
    if len(numbers) == 1:
        return numbers[0], None
    rng = np.random.default_rng(0)
    rows = rng.choice(len(pool), min(ROWS, len(pool)), replace=False)
    some = some_rows(pool.coordinates, np.sort(rows))
    reference = without_clusters(some, np.random.default_rng(seed))
    scan = scan_levels(comparison_pool(some, seed), comparison_pool(reference, seed), numbers)
    return chosen_number(scan.table, by_default=not numbers), scan


def memory_needed(
    source: RowSource, n_sampled: int, n_clusters: int, *, keeps_results: bool
) -> float:
    """Bytes for the sampled rows and what is fitted to them, and for results of all samples.

    With `keeps_results`, the results stay in memory.
    """
    itemsize, widths, n_views = source.dtype.itemsize, source.n_features_per_view, len(source.names)
    directions = sum(min(d, MAX_DIRECTIONS + 1) for d in widths)
    partitions = 2 * N_KMEANS_RUNS * len(candidate_settings("thorough"))
    # Two copies of the rows, their coordinates and neighbors, and labels.
    row = 2.0 * sum(widths) * itemsize + 2 * len(SCALINGS) * directions * itemsize
    row += 4 * len(NEIGHBOR_SCALINGS) * n_views * 2 * N_NEIGHBORS * 12 + 4 * partitions
    needed = n_sampled * row + 4.0 * len(NEIGHBOR_SCALINGS) * directions * max(widths)
    # The widest view and its Gram matrix.
    needed += 8.0 * min(n_sampled, max(widths)) ** 2 + 8.0 * partitions * n_clusters**2
    if len(source) > n_sampled:
        # The numbers by which rows are selected, and their order.
        needed += 8.0 * len(source) * (n_views + 4)
    if keeps_results:
        width = n_clusters * max(anchors for anchors, _ in SIZES)
        # Records, and the fields of them.
        needed += 2.0 * len(source) * record_type(width, source.dtype).itemsize
    return needed
