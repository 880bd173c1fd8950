"""Learned attributes of AutoDALMC that model files hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import Candidate, FittedFamily
from anchorview.estimators.auto.consensus import Consensus
from anchorview.estimators.auto.kmeans_runs import N_KMEANS_RUNS
from anchorview.estimators.auto.labeling import RowSums
from anchorview.estimators.auto.landmarks import Lift, ViewLift
from anchorview.estimators.auto.levels import Branch, FittedLevel
from anchorview.estimators.auto.settings import Family, Setting
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
    confidence_threshold_: float
    structure_: float | None
    chance_agreement_: float | None
    second_labels_: npt.NDArray[np.int32]
    agreement_: Array
    view_agreement_: Array
    _consistency: list[ViewConsistency]
    _scores: Array
    _with_result: Array
    _consensus: Consensus
    _row_sums: RowSums
    _families: dict[Family, FittedFamily]
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
    Lift: {"scalings": "*", "views": "*"},
    ViewLift: {"directions": "d* j*", "landmarks": "m* j*", "column_factors": "m*"},
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
    widths = [lengths[f"d{p}"] for p in used]
    best = candidates[state.best_candidate_].embedder
    _require_candidates(state, candidates, widths, state._consensus)
    require(best.n_anchors == lengths["l"], "'embedding_' has another width")
    for position, level in enumerate(levels):
        assert level.consensus is not None and state.level_labels_ is not None
        labels = state.level_labels_[:, position]
        require_labels("level_labels_", labels, level.level.n_clusters)
        _require_candidates(state, level.candidates, widths, level.consensus)
    return state


def _require_candidates(
    state: AutoDALMCState, candidates: Sequence[Candidate], widths: list[int], consensus: Consensus
) -> None:
    """Check candidates that take views of these widths, and their consensus."""
    k = len(consensus.offsets)
    AxisLengths(k=k, r=N_KMEANS_RUNS * len(candidates)).require(consensus)
    for candidate in candidates:
        require(candidate.setting.family in state._families, "the family of a candidate is missing")
        require(len(candidate.runs) == N_KMEANS_RUNS, f"a candidate has {len(candidate.runs)} runs")
        family = state._families[candidate.setting.family]
        embedded = widths if family.lift is None else _lifted_widths(family.lift, widths)
        lengths = AxisLengths(k=k, v=len(embedded))
        lengths.update({f"d{p}": width for p, width in enumerate(embedded)})
        lengths.require_value(family.scalings, "scalings", "*")
        lengths.require_value(candidate.view_weights, "view_weights", "v")
        lengths.require_value(candidate.objective, "objective", "t")
        lengths.require_value(candidate.runs, "runs")
        lengths.require(candidate.embedder)
        require_maps(candidate.embedder, lengths)


def _lifted_widths(lift: Lift, widths: list[int]) -> list[int]:
    """Number of landmarks of each view, whose lift fits its width."""
    lengths = AxisLengths(v=len(widths), **{f"d{p}": width for p, width in enumerate(widths)})
    lengths.require(lift)
    for p, view in enumerate(lift.views):
        rows = view.landmarks if view.directions is None else view.directions.T
        require(rows.shape[1] == widths[p], f"'lift/views/{p}' has another width")
    return [len(view.landmarks) for view in lift.views]
