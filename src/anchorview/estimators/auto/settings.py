"""The pool of AutoDALMC: the settings that it tries, by families, and their weights.

A family is a kind of candidate and a scaling of the views. Kinds and their weights were chosen on
data sets that are not part of benchmarks/auto.md as well.
"""

from dataclasses import dataclass
from typing import Literal

Budget = Literal["fast", "default", "thorough"]
BUDGETS: tuple[Budget, ...] = ("fast", "default", "thorough")

KIND_WEIGHTS: dict[str, float] = {
    "directions": 1 / 2,
    "landmarks": 1 / 8,
    "graph": 1 / 16,
    "diffused graph": 1 / 16,
    "communities": 1 / 4,
}
"""Weights of kinds in the consensus, half for directions, half for neighbors: DALMC on the
coordinates of the views; on weights on landmarks; eigenvectors of the mean of the views' neighbor
graphs, and of these graphs after cross-diffusion; Louvain communities."""

STANDARDIZED, NORMALIZED = "zscore-unit", "unit-center"
SHARING_A_BASIS = {STANDARDIZED: "zscore", NORMALIZED: "unit"}
"""Scalings by another one whose rows begin with the same steps."""
NEIGHBOR_SCALINGS = (STANDARDIZED, NORMALIZED)
"""Scalings in which neighbors are found: those of the others are the same, or worse."""
SCALINGS = (*NEIGHBOR_SCALINGS, *SHARING_A_BASIS.values())

# Sizes are the numbers of anchors and of components per view, as multiples of the number of
# clusters. The first one is that of the setting that represents a family.
SIZES: tuple[tuple[int, int], ...] = ((1, 2), (2, 2), (1, 1))
BETA = 0.1
LANDMARK_SIZES = ((1, 1), (2, 2))
LANDMARK_BETA = 0.01

N_LANDMARKS, LANDMARKS_PER_CLUSTER = 500, 5
"""Number of landmarks, or more if clusters are many. If there are not as many samples, all are
landmarks, which then do not depend on chance."""

N_CARRIERS, MANY_SAMPLES = 2_000, 20_000
"""Number of landmarks that pass labels on: those of samples lose nothing by it, while 500 cost .02
in accuracy. For more samples than the second number, the landmarks of the fit do, to save time."""

N_NEIGHBORS, N_NEAREST = 15, 10
"""Numbers of neighbors in graphs: communities are found with both, eigenvectors with the second."""

FamilyKey = tuple[str, str]
"""Kind and scaling. Partitions of one family are not independent evidence."""


@dataclass(frozen=True)
class Setting:
    """A kind of candidate, a scaling, and the settings of the solver, 0 if there is none."""

    kind: str
    scaling: str
    anchors: int = 0
    """Number of anchors per cluster."""
    components: int = 0
    """Number of components per view and cluster."""
    beta: float = 0.0
    n_neighbors: int = 0
    """Number of neighbors in the graph."""

    @property
    def family(self) -> FamilyKey:
        """Kind and scaling."""
        return self.kind, self.scaling

    def __str__(self) -> str:
        if self.n_neighbors:
            return f"{self.kind}, {self.scaling}, {self.n_neighbors} neighbors"
        sizes = f"{self.anchors}k anchors, {self.components}k components"
        return f"{self.kind}, {self.scaling}, {sizes}, beta {self.beta:g}"

    def row(self, n_clusters: int) -> dict[str, str | float | None]:
        """Setting as a row of the table of candidates."""
        return {
            "kind": self.kind,
            "scaling": self.scaling,
            "n_anchors": self.anchors * n_clusters or None,
            "n_components": self.components * n_clusters or None,
            "beta": self.beta or None,
            "n_neighbors": self.n_neighbors or None,
        }


DIRECTIONS = [Setting("directions", own, *size, BETA) for size in SIZES for own in SCALINGS]
LANDMARKS = [
    Setting("landmarks", own, *size, LANDMARK_BETA)
    for size in LANDMARK_SIZES
    for own in NEIGHBOR_SCALINGS
]
GRAPHS, MORE_GRAPHS = (
    [
        Setting(kind, own, n_neighbors=count)
        for kind, count in kinds.items()
        for own in NEIGHBOR_SCALINGS
    ]
    for kinds in (
        {"graph": N_NEAREST, "communities": N_NEIGHBORS},
        {"diffused graph": N_NEAREST, "communities": N_NEAREST},
    )
)

COMPARED_DIRECTIONS = DIRECTIONS[: len(NEIGHBOR_SCALINGS)]
"""Settings that are compared with communities to choose the number of clusters."""

REPRESENTATIVES = [*COMPARED_DIRECTIONS, *LANDMARKS[: len(NEIGHBOR_SCALINGS)]]
"""One setting of each of four families."""

POOL: dict[str, list[Setting]] = {
    "fast": [*REPRESENTATIVES, *GRAPHS],
    "default": [*DIRECTIONS[: 2 * len(SCALINGS)], *LANDMARKS, *GRAPHS, *MORE_GRAPHS],
    "thorough": [*DIRECTIONS, *LANDMARKS, *GRAPHS, *MORE_GRAPHS],
}
"""Settings that are fitted, by budget."""


def n_landmarks(n_clusters: int) -> int:
    """Number of landmarks for a number of clusters, if there are as many samples."""
    return max(N_LANDMARKS, LANDMARKS_PER_CLUSTER * n_clusters)


def n_carriers(n_clusters: int, n_samples: int) -> int:
    """Number of landmarks that pass labels on to so many samples."""
    own = n_landmarks(n_clusters)
    return own if n_samples > MANY_SAMPLES else max(own, N_CARRIERS)
