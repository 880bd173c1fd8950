"""The settings that AutoDALMC tries, by families.

A family is a transformation of the views, a scaling or a scaling and a lift; its settings differ in
those of the solver. They were chosen on the data sets of benchmarks/auto.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from anchorview.estimators.auto.landmarks import N_NEIGHBORS

Budget = Literal["fast", "default", "thorough"]
BUDGETS: tuple[Budget, ...] = ("fast", "default", "thorough")

STANDARDIZED = "zscore-unit"
LINEAR_SCALINGS = (STANDARDIZED, "unit-center", "zscore", "unit")
LIFTED_SCALINGS = (STANDARDIZED, "unit-center")
"""Not also "unit", whose distances are those of "unit-center"."""

# Sizes are the numbers of anchors and of components per view, as multiples of the number of
# clusters. The first size, beta and number of landmarks are those of the settings that represent a
# family.
LINEAR_SIZES: tuple[tuple[int, int], ...] = ((1, 1), (1, 2), (2, 4), (2, 2), (1, 3))
LINEAR_BETAS: tuple[float, ...] = (0.1, 0.001, 1.0)
N_SCALINGS, N_SIZES = 3, 2
"""Numbers of scalings and sizes without lift that are fitted to many samples by default, with one
beta. More of them changed the mean accuracy on four data sets by less than .003."""
LIFTED_SIZES = ((1, 1), (2, 2))
LIFTED_BETA = 0.01
N_LANDMARKS = (500, 1000)
"""By default, the first number for many samples; for few, half of them, but at least the first and
at most the last number. If there are not as many samples, all are landmarks, which then do not
depend on chance."""
LANDMARKS_PER_CLUSTER = 5
"""Minimum number of landmarks per cluster."""

MIN_LANDMARKS = 2 * N_NEIGHBORS
"""Minimum number of landmarks, if there are as many different rows."""

FEW_SAMPLES = 2_500
"""Number of samples up to which more settings are fitted by default: they cost little then, and the
partitions of few samples vary most."""


@dataclass(frozen=True)
class Family:
    """A transformation of the views."""

    scaling: str
    n_landmarks: int | None = None
    """None if the views are not lifted."""

    @property
    def is_lifted(self) -> bool:
        """Whether the views are lifted to weights on landmarks."""
        return self.n_landmarks is not None

    @property
    def may_be_lifted(self) -> bool:
        """Whether the views are not lifted, but may be in another family."""
        return not self.is_lifted and self.scaling in LIFTED_SCALINGS

    @property
    def without_lift(self) -> "Family":
        """The family with the same scaling and no lift."""
        return Family(self.scaling)

    @property
    def key(self) -> tuple[bool, str]:
        """What tells families apart whose partitions are independent evidence.

        Lifts with different numbers of landmarks make similar errors.
        """
        return self.is_lifted, self.scaling

    def __str__(self) -> str:
        lifted = "" if self.n_landmarks is None else f", {self.n_landmarks} landmarks"
        return f"{self.scaling}{lifted}"


@dataclass(frozen=True)
class Setting:
    """A family and the settings of the solver."""

    family: Family
    anchors: int
    """Number of anchors per cluster."""
    components: int
    """Number of components per view and cluster."""
    beta: float

    def __str__(self) -> str:
        sizes = f"{self.anchors}k anchors, {self.components}k components"
        return f"{self.family}, {sizes}, beta {self.beta:g}"

    def row(self, n_clusters: int) -> dict[str, str | float | None]:
        """Setting as a row of the table of candidates."""
        return {
            "scaling": self.family.scaling,
            "n_landmarks": self.family.n_landmarks,
            "n_anchors": self.anchors * n_clusters,
            "n_components": self.components * n_clusters,
            "beta": self.beta,
        }


def candidate_settings(n_clusters: int, n_samples: int, budget: str = "default") -> list[Setting]:
    """Settings that are fitted to a number of samples."""
    if budget == "fast":
        return representative_settings(n_clusters, n_samples)
    counts = _landmark_counts(n_clusters, n_samples)
    scalings: Sequence[str] = LINEAR_SCALINGS
    sizes, betas = LINEAR_SIZES, LINEAR_BETAS
    if budget == "default" and n_samples <= FEW_SAMPLES:
        counts = counts[-1:]
    elif budget == "default":
        scalings, sizes = scalings[:N_SCALINGS], sizes[:N_SIZES]
        betas, counts = betas[:1], counts[:1]
    return [
        *_settings(scalings, [None], sizes, betas),
        *_settings(LIFTED_SCALINGS, counts, LIFTED_SIZES, [LIFTED_BETA]),
    ]


def representative_settings(
    n_clusters: int, n_samples: int, samples_per_landmark: int = 1
) -> list[Setting]:
    """One setting of each of four families, by which numbers of clusters are compared."""
    counts = _landmark_counts(n_clusters, n_samples // samples_per_landmark)[:1]
    return [
        *_settings(LIFTED_SCALINGS, [None], LINEAR_SIZES[:1], LINEAR_BETAS[:1]),
        *_settings(LIFTED_SCALINGS, counts, LIFTED_SIZES[:1], [LIFTED_BETA]),
    ]


def _landmark_counts(n_clusters: int, n_samples: int) -> list[int]:
    """Different numbers of landmarks."""
    minimum = LANDMARKS_PER_CLUSTER * n_clusters
    fewer, more = (max(count, minimum) for count in N_LANDMARKS)
    counts = [fewer, min(more, max(fewer, n_samples // 2))]
    return list(dict.fromkeys(min(count, max(MIN_LANDMARKS, n_samples)) for count in counts))


def _settings(
    scalings: Sequence[str],
    landmarks: Sequence[int | None],
    sizes: Sequence[tuple[int, int]],
    betas: Sequence[float],
) -> list[Setting]:
    """All combinations."""
    combinations = product(sizes, betas, landmarks, scalings)
    return [Setting(Family(scaling, m), *size, beta) for size, beta, m, scaling in combinations]
