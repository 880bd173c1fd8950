"""Consensus of candidates, at the chosen level and at the others."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import Candidate, CandidatePool
from anchorview.estimators.auto.consensus import (
    FamilyKey,
    agreement_matrix,
    best_by_family,
    cross_agreement,
    family_weights,
    find_consensus,
)
from anchorview.estimators.auto.levels import (
    Branch,
    FittedLevel,
    Level,
    LevelLabels,
    find_branches,
    mean_split_agreement,
)
from anchorview.estimators.auto.number_curve import NumberCurve, Partitions
from anchorview.estimators.auto.settings import representative_settings


def fit_levels(
    pool: CandidatePool, levels: Sequence[Level], chosen: LevelLabels, curve: NumberCurve
) -> tuple[list[FittedLevel], list[Branch]]:
    """Fit all levels but the chosen one, and find how their clusters split.

    One setting of each family is fitted. Levels at which none can be fitted are left out.
    """
    fitted: list[FittedLevel] = []
    labeled: list[LevelLabels] = []
    for level in levels:
        if level.n_clusters == chosen.n_clusters:
            fitted.append(FittedLevel(level, (), None))
            labeled.append(chosen)
            continue
        found = _fit_level(pool, level)
        if found is not None:
            fitted.append(found[0])
            labeled.append(found[1])
    branches: list[Branch] = []
    by_chance: dict[int, Partitions] = {}
    if len(labeled) > 1:
        by_chance = {own.n_clusters: curve.partitions_by_chance(own.n_clusters) for own in labeled}
    for coarse, fine in pairwise(labeled):
        chance = _split_chance(by_chance[coarse.n_clusters], by_chance[fine.n_clusters])
        branches += find_branches(coarse, fine, chance)
    return fitted, branches


def partitions_of_families(candidates: Sequence[Candidate], partitions: Array) -> Partitions:
    """Partitions by the first candidate of each family.

    The runs of a candidate follow each other in `partitions`, (n_partitions, n_samples).
    """
    found: Partitions = {}
    runs = np.split(partitions, len(candidates))
    for candidate, own in zip(candidates, runs, strict=True):
        found.setdefault(candidate.setting.family.key, own)
    return found


def _fit_level(pool: CandidatePool, level: Level) -> tuple[FittedLevel, LevelLabels] | None:
    k = level.n_clusters
    jobs = [(setting, k) for setting in representative_settings(k, len(pool.data))]
    outcomes = [outcome for _, outcome in pool.fit_all(jobs)]
    fitted = [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
    if not fitted:
        return None
    candidates = tuple(candidate for candidate, _ in fitted)
    families = [candidate.setting.family.key for candidate, runs in fitted for _ in runs]
    partitions = np.vstack([runs for _, runs in fitted])
    scores = cross_agreement(agreement_matrix(partitions, k), families)
    starts = partitions[best_by_family(scores, families)]
    consensus, labels = find_consensus(partitions, k, family_weights(families), starts)
    by_family = partitions_of_families(candidates, partitions)
    return FittedLevel(level, candidates, consensus), LevelLabels(k, labels, by_family)


def _split_chance(coarse: Mapping[FamilyKey, Array], fine: Mapping[FamilyKey, Array]) -> float:
    """Agreement on splits of data without clusters."""
    if not coarse or len(fine) < 2:
        return 0.0
    return mean_split_agreement(next(iter(coarse.values()))[0], fine)
