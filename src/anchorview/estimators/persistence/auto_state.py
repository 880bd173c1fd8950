"""Learned attributes of AutoDALMC that model files hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from anchorview._utils.typing import Array
from anchorview.estimators.auto.bases import Basis, ViewBasis
from anchorview.estimators.auto.candidates import Candidate
from anchorview.estimators.auto.consensus import Consensus
from anchorview.estimators.auto.labeling import Families, RowSums
from anchorview.estimators.auto.landmarks import Landmarks
from anchorview.estimators.auto.levels import Branch, FittedLevel
from anchorview.estimators.auto.settings import SHARING_A_BASIS, Setting
from anchorview.estimators.auto.view_consistency import ViewConsistency
from anchorview.estimators.persistence.codec import (
    SHAPES,
    AxisLengths,
    FloatSeries,
    require,
    validate,
)
from anchorview.estimators.persistence.fitted_state import (
    FittedState,
    require_labels,
    require_maps,
)


@dataclass(kw_only=True)
class AutoDALMCState(FittedState):
    """Learned attributes of AutoDALMC."""

    curve_: FloatSeries | None
    chance_curve_: FloatSeries | None
    best_candidate_: int
    confidence_: Array
    structure_: float | None
    _borders: tuple[str, ...]
    second_labels_: npt.NDArray[np.int32]
    agreement_: Array
    view_agreement_: Array
    _consistency: list[ViewConsistency]
    _scores: Array
    _with_result: Array
    _consensus: Consensus
    _row_sums: RowSums
    _families: Families
    _candidates: list[Candidate]
    _failed: list[tuple[Setting, str]]
    _levels: list[FittedLevel]
    """Empty if the number of clusters was given."""
    _branches: list[Branch]
    level_labels_: npt.NDArray[np.int32] | None
    _fit_labels: npt.NDArray[np.int32] | None
    """Labels before `relabel`; None without it."""

    @classmethod
    def of(cls, model: Any) -> Self:
        """State of a fitted model, with the smallest embedders."""
        state = super().of(model)
        dtype = state.embedding_.dtype
        state._candidates = [_smallest(candidate, dtype) for candidate in state._candidates]
        state._levels = [
            replace(level, candidates=tuple(_smallest(c, dtype) for c in level.candidates))
            for level in state._levels
        ]
        return state

    def restore(self, model: Any) -> None:
        """Set the learned attributes of a model that has the parameters of the saved one."""
        super().restore(model)
        model.n_clusters_ = self.n_clusters
        model.objective_ = self._candidates[self.best_candidate_].objective
        model.n_iter_ = len(model.objective_)
        model._set_tables()


def _smallest(candidate: Candidate, dtype: "np.dtype[Any]") -> Candidate:
    if candidate.embedder is None:
        return candidate
    return replace(candidate, embedder=candidate.embedder.smallest(dtype))


SHAPES |= {
    AutoDALMCState: {
        "confidence_": "n",
        "second_labels_": "n",
        "level_labels_": "n levels",
        "_fit_labels": "n",
        "agreement_": "c c",
        "view_agreement_": "v",
        "_scores": "c",
        "_with_result": "c",
    },
    Consensus: {"patterns": "k r k", "offsets": "k", "votes": "r k", "weights": "r"},
    RowSums: {"sizes": "k", "sums": "k l", "squares": "k"},
    Basis: {"views": "*"},
    ViewBasis: {"directions": "d* j*", "center": "j*"},
    Landmarks: {"places": "m* i*"},
}


@validate.register
def _(state: AutoDALMCState) -> AutoDALMCState:
    candidates = state._candidates
    levels = [level for level in state._levels if level.consensus is not None]
    require(0 <= state.best_candidate_ < len(candidates), "'best_candidate_' is unknown")
    lengths = state.require_shapes()
    lengths.require_length("_candidates", "c", len(candidates))
    lengths.require_length("_consistency", "v", len(state._consistency))
    if state.level_labels_ is not None:
        lengths.require_length("_levels", "levels", len(levels))
    require(state.level_labels_ is not None or not levels, "'level_labels_' is missing")
    if state._fit_labels is not None:
        require_labels("_fit_labels", state._fit_labels, state.n_clusters_fit)
    used = [p for p, view in enumerate(state._consistency) if view.used]
    _require_families(state._families, [lengths[f"d{p}"] for p in used])
    best = candidates[state.best_candidate_].embedder
    _require_candidates(candidates, state._families, state._consensus)
    fits = best is not None and best.n_anchors == lengths["l"]
    require(fits, "'embedding_' has another width")
    for position, level in enumerate(levels):
        assert level.consensus is not None and state.level_labels_ is not None
        labels = state.level_labels_[:, position]
        require_labels("level_labels_", labels, level.level.n_clusters)
        _require_candidates(level.candidates, state._families, level.consensus)
    return state


def _require_families(families: Families, widths: list[int]) -> None:
    """Check bases of views of these widths, and landmarks in their coordinates."""
    known = families.bases.keys() <= SHARING_A_BASIS.keys()
    require(known and families.landmarks.keys() == families.bases.keys(), "'_families' are unknown")
    for scaling, basis in families.bases.items():
        lengths = AxisLengths(v=len(widths), **{f"d{p}": d for p, d in enumerate(widths)})
        lengths.require(basis)
        lengths.require(families.landmarks[scaling])
        require(basis.scaling == scaling, "a basis is of another scaling")
        for p, width in enumerate(widths):
            whole = basis.views[p].directions is None
            require(not whole or lengths[f"j{p}"] == width, "a basis has another width")
            require(lengths[f"i{p}"] <= lengths[f"j{p}"], "landmarks have another width")


def _require_candidates(
    candidates: Sequence[Candidate], families: Families, consensus: Consensus
) -> None:
    """Check candidates that take coordinates or landmarks, and their consensus."""
    k = len(consensus.offsets)
    n_partitions = sum(candidate.n_partitions for candidate in candidates)
    AxisLengths(k=k, r=n_partitions).require(consensus)
    for candidate in candidates:
        scaling, labels = candidate.setting.scaling, candidate.landmark_labels
        basis = families.basis_of(scaling)
        require(basis is not None, "the family of a candidate is missing")
        assert basis is not None
        lengths = AxisLengths(k=k, v=len(basis.views))
        lengths.update({f"d{p}": len(view.center) for p, view in enumerate(basis.views)})
        weighs_views = candidate.setting.anchors > 0
        require((candidate.view_weights is not None) == weighs_views, "'view_weights' are missing")
        lengths.require_value(candidate.view_weights, "view_weights", "v")
        if labels is None:
            require(candidate.embedder is not None and candidate.n_partitions > 0, "no embedding")
            assert candidate.embedder is not None
            lengths.require_value(candidate.objective, "objective", "t")
            lengths.require_value(candidate.runs, "runs")
            lengths.require(candidate.embedder)
            require_maps(candidate.embedder, lengths)
        else:
            require(scaling in families.landmarks, "the landmarks of a candidate are missing")
            lengths["m"] = sum(families.landmarks[scaling].counts)
            lengths.require_value(labels, "landmark_labels", "r m")
            require_labels("landmark_labels", labels, k)
