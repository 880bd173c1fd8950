"""Fitting all settings, and the table of what came of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import Candidate, CandidatePool
from anchorview.estimators.auto.consensus import FamilyKey, agreement_matrix, cross_agreement
from anchorview.estimators.auto.kmeans_runs import N_KMEANS_RUNS
from anchorview.estimators.auto.settings import Setting

NO_CANDIDATE = "No candidate can be fitted. The first fails: "

Failures = list[tuple[Setting, str]]
"""Settings that could not be fitted, and why."""


@dataclass(frozen=True, eq=False)
class FittedCandidates:
    """Candidates, and the agreement between their partitions."""

    candidates: list[Candidate]
    failed: Failures
    agreement: Array
    """Adjusted Rand index of every two partitions; the runs of a candidate follow each other."""


def fit_candidates(
    pool: CandidatePool,
    settings: Sequence[Setting],
    n_clusters: int,
    say: Callable[[str], object],
) -> FittedCandidates:
    """Fit all settings to the samples of a pool; `say` is called with what happens."""
    fitted: list[Candidate] = []
    failed: Failures = []
    families: list[FamilyKey] = []
    partitions = np.empty((0, len(pool.data)), dtype=np.int32)
    agreement = np.empty((0, 0))
    best = ""
    report_progress("candidates", 0, len(settings))
    jobs = [(setting, n_clusters) for setting in settings]
    for done, ((setting, _), outcome) in enumerate(pool.fit_all(jobs), 1):
        if isinstance(outcome, Exception):
            failed.append((setting, str(outcome)))
            say(f"left out {setting}: {outcome}")
        else:
            candidate, runs = outcome
            fitted.append(candidate)
            families += [setting.family.key] * len(runs)
            partitions = np.vstack([partitions, runs])
            agreement = agreement_matrix(partitions, n_clusters, known=agreement)
            scores = cross_agreement(agreement, families)
            leader = fitted[scores.argmax() // N_KMEANS_RUNS].setting
            best = f" (agreement {scores.max():.2f}, best so far: {leader})"
            say(f"candidate {done}/{len(settings)}: {setting}{best}")
        report_progress(f"candidates{best}", done, len(settings))
    if not fitted:
        raise ValueError(f"{NO_CANDIDATE}{failed[0][1]}")
    return FittedCandidates(fitted, failed, agreement)


def candidate_table(
    fitted: Sequence[Candidate], failed: Failures, n_clusters: int, results: dict[str, Array]
) -> pd.DataFrame:
    """One row per candidate: its settings, results by name, and the error if it failed."""
    settings = [*(c.setting for c in fitted), *(setting for setting, _ in failed)]
    columns = {
        **results,
        "inertia": [c.inertia for c in fitted],
        "n_iter": [len(c.objective) for c in fitted],
        "seconds": [c.seconds for c in fitted],
    }
    table = pd.DataFrame([setting.row(n_clusters) for setting in settings])
    table = table.join(pd.DataFrame(columns))
    table["error"] = [""] * len(fitted) + [error for _, error in failed]
    return table.astype({"n_landmarks": "Int64", "n_iter": "Int64"})
