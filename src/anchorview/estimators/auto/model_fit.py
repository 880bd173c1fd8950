"""The fit of AutoDALMC to representative samples, from their coordinates to the consensus."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from anchorview._utils.memory import memory_budget, require_memory
from anchorview._utils.typing import Array
from anchorview.core.scale import fit_scalings
from anchorview.core.solve import relative
from anchorview.estimators.auto.bases import (
    MAX_DIRECTIONS,
    NEIGHBOR_SCALINGS,
    SCALINGS,
    SHARING_A_BASIS,
    STANDARDIZED,
    Basis,
    Families,
    fit_bases,
)
from anchorview.estimators.auto.candidates import (
    N_KMEANS_RUNS,
    POOL,
    SIZES,
    EmbeddedCandidate,
    families_of,
    first_partitions,
)
from anchorview.estimators.auto.consensus import (
    FittedConsensus,
    agreement_with,
    fit_consensus,
    mean_agreement,
)
from anchorview.estimators.auto.labeling import Clustering, record_type
from anchorview.estimators.auto.landmarks import n_landmarks
from anchorview.estimators.auto.levels import (
    LevelLabels,
    LevelScan,
    chosen_number,
    find_levels,
    fit_levels,
    scan_levels,
)
from anchorview.estimators.auto.neighbor_graphs import N_NEIGHBORS
from anchorview.estimators.auto.pool import CandidatePool, FittedCandidates
from anchorview.estimators.auto.representative_rows import (
    n_sampled,
    order_by_content,
    representative_rows,
)
from anchorview.estimators.auto.structure import Structure, judge_structure, structure_sentence
from anchorview.estimators.auto.view_consistency import (
    choose_views,
    partitions_of_views,
)
from anchorview.views.container import MultiViewData
from anchorview.views.row_source import RowSource

Say = Callable[..., float]
"""Called with a message and, if it ends a stage, the time when this began; returns the time."""

TYPICAL_CLUSTERS = 100
"""Number of clusters for which memory must suffice if the number is not given."""

NO_CANDIDATE = "No candidate can be fitted. The first fails: "


@dataclass(frozen=True, eq=False)
class FittedModel:
    """What a fit finds on the representative samples."""

    families: Families
    clustering: Clustering
    fitted: FittedCandidates
    result: FittedConsensus
    alone: Array
    """Clusters of the samples by each view, -1 where a sample lacks it."""
    consistency: pd.DataFrame
    scan: LevelScan | None
    """None if the number of clusters was given, as the next two."""
    levels: pd.DataFrame | None
    tree: pd.DataFrame | None
    others: dict[int, Clustering]
    """Levels but the chosen one, by number of clusters."""
    structure: Structure

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
        table = pd.DataFrame([setting.row(k) for setting in settings])
        table = table.join(pd.DataFrame(columns)).join(pd.DataFrame([c.row() for c in candidates]))
        table["error"] = [""] * len(candidates) + [error for _, error in failed]
        integers = dict.fromkeys(["n_anchors", "n_components", "n_iter"], "Int64")
        return table.astype({**integers, "inertia": "float64", "beta": "float64"})

    def view_weights(self) -> Array:
        """Mean weight of each view over the candidates that weigh them."""
        used = self.consistency["used"].to_numpy()
        weights = np.zeros(len(used))
        firsts = first_partitions(self.fitted.candidates)
        by_candidate = np.add.reduceat(self.result.weights, firsts)
        for weight, candidate in zip(by_candidate, self.fitted.candidates, strict=True):
            if isinstance(candidate, EmbeddedCandidate):
                weights[used] += weight * candidate.view_weights
        return weights / weights.sum()

    def view_agreement(self) -> list[float]:
        """Agreement of the result with a clustering of each view alone."""
        labels = self.result.labels
        return [adjusted_rand_score(labels[own >= 0], own[own >= 0]) for own in self.alone]


def fit_model(
    source: RowSource,
    sample: MultiViewData,
    numbers: Sequence[int],
    budget: str,
    seed: int,
    importance: Array,
    say: Say,
) -> FittedModel:
    """Fit the model to some samples of a source, which represent all.

    `numbers` are those of clusters to choose from; any if there are none. `importance` is that of
    each view.
    """
    clock = perf_counter()
    bases, pool, order = _fit_pool(sample, len(source), seed, importance)
    clock = say("projected the samples", clock)
    number, scan = _choose_number(pool, numbers)
    alone = partitions_of_views(pool, number)
    consistency = choose_views(source, pool, alone, number)
    used = np.flatnonzero(consistency["used"]).tolist()
    if len(used) < len(sample.names):
        all_views, before = pool, order
        # As if the other views were not there, by which samples were ordered and numbers compared.
        bases, pool, order = _fit_pool(
            sample.with_views(used), len(source), seed, relative(importance[used])
        )
        number, scan = _choose_number(pool, numbers)
        alone = partitions_of_views(all_views, number)[:, np.argsort(before)[order]]
    levels = None
    if scan is not None:
        clock = say(f"chose {number} clusters", clock)
        levels = find_levels(scan.table, number)

    largest = number if levels is None else max(levels.index)
    count = n_sampled(len(source), largest, budget)
    if count < len(pool):
        # As if the number had been given.
        kept = representative_rows(np.arange(len(pool)), pool.data.available, count)
        some = sample.with_views(used)[order[kept]]
        bases, pool, order = _fit_pool(some, len(source), seed, pool.importance)
        alone = alone[:, kept[order]]
    pool.n_landmarks = n_landmarks(largest, len(source))
    fitted = pool.fit(POOL[budget], number, say)
    if not any(isinstance(own, EmbeddedCandidate) for own in fitted.candidates):
        raise ValueError(f"{NO_CANDIDATE}{fitted.failed[0][1]}")
    result = fit_consensus(fitted.partitions, families_of(fitted.candidates), number)
    clock = say(f"found the consensus of {len(fitted.candidates)} candidates", clock)

    others: dict[int, Clustering] = {}
    tree = None
    if scan is not None and levels is not None:
        chosen = LevelLabels(number, result.labels, fitted.by_family)
        others, tree = fit_levels(pool, levels.index.tolist(), chosen, scan.reference)
        levels = levels[levels["chosen"] | levels.index.isin(list(others))]
    structure = Structure()
    standardized = pool.coordinates.get(SHARING_A_BASIS[STANDARDIZED])
    if standardized is not None:
        structure = judge_structure(standardized, result.labels, number, seed)
    say(structure_sentence(structure.value), clock)
    landmarks = {
        scaling: pool.landmarks_in(scaling)[0]
        for scaling in NEIGHBOR_SCALINGS
        if scaling in pool.coordinates
    }
    return FittedModel(
        Families(bases, landmarks),
        Clustering(fitted.candidates, result.consensus),
        fitted,
        result,
        alone,
        consistency,
        scan,
        levels,
        tree,
        others,
        structure,
    )


def _fit_pool(
    sample: MultiViewData, n_represented: int, seed: int, importance: Array
) -> tuple[dict[str, Basis], CandidatePool, Array]:
    """Bases of samples, the pool of their coordinates, and the order of the samples in it."""
    order = order_by_content(sample, fit_scalings(sample, STANDARDIZED))
    bases, coordinates, errors = fit_bases(sample[order])
    if not bases:
        raise ValueError(f"{NO_CANDIDATE}{errors[STANDARDIZED]}")
    norm_factor = float(np.sqrt(n_represented / len(sample)))
    pool = CandidatePool(coordinates, seed, norm_factor, importance=importance, errors=errors)
    return bases, pool, order


def _choose_number(pool: CandidatePool, numbers: Sequence[int]) -> tuple[int, LevelScan | None]:
    """Number of clusters and, if it is not given, what it is chosen by."""
    if len(numbers) == 1:
        return numbers[0], None
    scan = scan_levels(pool, numbers)
    return chosen_number(scan.table, by_default=not numbers), scan


def require_fit_memory(
    source: RowSource,
    n_sampled: int,
    numbers: Sequence[int],
    limit: float | str | None,
    *,
    keeps_results: bool,
) -> None:
    """Raise if a fit needs more memory than it may use.

    That is memory for the sampled rows and what is fitted to them and, with `keeps_results`, for
    results of all samples.
    """
    n_clusters = numbers[-1] if numbers else TYPICAL_CLUSTERS
    itemsize, widths, n_views = source.dtype.itemsize, source.n_features_per_view, len(source.names)
    directions = sum(min(d, MAX_DIRECTIONS + 1) for d in widths)
    partitions = 2 * N_KMEANS_RUNS * len(POOL["thorough"])
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
    write = "write results to files with out=, " if keeps_results else ""
    advice = f"Reduce budget, {write}fit a sample and predict the rest, or use DALMC."
    allowed = None if limit is None else memory_budget(limit)
    require_memory(needed, f"Clustering {source!r} by AutoDALMC", advice, allowed)
