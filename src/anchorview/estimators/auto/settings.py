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
    "graph": 1 / 12,
    "diffused graph": 1 / 12,
    "communities": 1 / 3,
}
"""Weights of kinds in the consensus, half for directions, half for neighbors: DALMC on the
coordinates of the views; eigenvectors of the mean of the views' neighbor graphs, and of these
graphs after cross-diffusion; Louvain communities. A kind that solves DALMC on weights on landmarks,
with an eighth of the weight, changed the mean accuracy on 19 data sets by .001."""

STANDARDIZED, NORMALIZED = "zscore-unit", "unit-center"
SHARING_A_BASIS = {STANDARDIZED: "zscore", NORMALIZED: "unit"}
"""Scalings by another one whose rows begin with the same steps."""
NEIGHBOR_SCALINGS = (STANDARDIZED, NORMALIZED)
"""Scalings in which neighbors are found: those of the others are the same, or worse."""
SCALINGS = (*NEIGHBOR_SCALINGS, *SHARING_A_BASIS.values())

SIZES: tuple[tuple[int, int], ...] = ((2, 2), (1, 2), (1, 1))
"""Numbers of anchors and of components per view, as multiples of the number of clusters. The first
one is better for many clusters, the second one for few clusters in narrow views."""
COMPARED_SIZE = (1, 2)
"""Size of settings that are compared with communities, to save time."""
BETA = 0.1

N_LANDMARKS, N_LANDMARKS_OF_MANY, LANDMARKS_PER_CLUSTER = 2_000, 500, 5
"""Number of landmarks that pass labels on, or more if clusters are many; if there are not as many
samples, all are landmarks. The second number costs .02 in accuracy, and saves time for more samples
than `MANY_SAMPLES`."""
MANY_SAMPLES = 20_000

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

COMPARED_DIRECTIONS = [
    Setting("directions", own, *COMPARED_SIZE, BETA) for own in NEIGHBOR_SCALINGS
]
"""Settings that are compared with communities to choose the number of clusters."""

POOL: dict[str, list[Setting]] = {
    "fast": [*DIRECTIONS[: len(SCALINGS)], *GRAPHS],
    "default": [*DIRECTIONS[: 2 * len(SCALINGS)], *GRAPHS, *MORE_GRAPHS],
    "thorough": [*DIRECTIONS, *GRAPHS, *MORE_GRAPHS],
}
"""Settings that are fitted, by budget."""


def n_landmarks(n_clusters: int, n_samples: int) -> int:
    """Number of landmarks that pass labels on to so many samples."""
    count = N_LANDMARKS if n_samples <= MANY_SAMPLES else N_LANDMARKS_OF_MANY
    return max(count, LANDMARKS_PER_CLUSTER * n_clusters)
