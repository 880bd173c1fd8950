"""How the clusters of one level of AutoDALMC split at the next, for summaries and reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from anchorview.estimators.auto.evidence import support_beyond


@dataclass(frozen=True)
class Split:
    """A cluster of the coarser level that splits."""

    parent: str
    children: Sequence[tuple[str, int, float]]
    """Names of the clusters that it splits into, the largest first; their number of samples, out of
    those that were compared; and the share of these that belong to the parent."""
    agreement: float
    """Agreement between families on the split."""
    chance: float
    """The same on data without clusters."""

    @property
    def support(self) -> float:
        """Agreement beyond chance, as a share of the largest possible; 0 if there is none."""
        return max(0.0, float(support_beyond(self.agreement, self.chance)))


@dataclass(frozen=True)
class LevelStep:
    """Two levels that follow each other."""

    coarse: int
    fine: int
    """Numbers of clusters."""
    splits: Sequence[Split]
    """Those with the most support first."""


def level_steps(model: Any) -> list[LevelStep]:
    """How clusters split from each level of a fitted AutoDALMC to the next; often none."""
    if getattr(model, "levels_", None) is None:
        return []
    numbers = model.levels_.index.tolist()
    return [_step(model, coarse, fine) for coarse, fine in pairwise(numbers)]


def _step(model: Any, coarse: int, fine: int) -> LevelStep:
    branches = model.tree_[model.tree_["n_clusters"] == fine]
    splits = []
    for parent, siblings in branches.groupby("parent"):
        if len(siblings) > 1:
            rows = siblings.sort_values("size", ascending=False, kind="stable")
            columns = (rows[name].tolist() for name in ("cluster", "size", "overlap"))
            children = [(_name(model, fine, c), *rest) for c, *rest in zip(*columns, strict=True)]
            agreement, chance = rows[["split_agreement", "split_chance"]].iloc[0].tolist()
            splits.append(Split(_name(model, coarse, parent), children, agreement, chance))
    splits.sort(key=lambda split: -split.support)
    return LevelStep(coarse, fine, splits)


def _name(model: Any, level: int, cluster: int) -> str:
    """Number of a cluster or, at the chosen level unless clusters were merged, its name."""
    relabeling = model._relabeling
    if relabeling is None or not level == model.n_clusters_ == model.n_clusters_fit_:
        return str(cluster)
    number = int(relabeling.clusters[cluster])
    return relabeling.names[number] or str(number)
