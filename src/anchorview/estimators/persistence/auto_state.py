"""Learned attributes of AutoDALMC that model files hold, and checks of their values."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import Candidate, FittedFamily
from anchorview.estimators.auto.consensus import Consensus
from anchorview.estimators.auto.kmeans_runs import N_KMEANS_RUNS
from anchorview.estimators.auto.labeling import RowSums
from anchorview.estimators.auto.landmarks import ViewLift
from anchorview.estimators.auto.levels import Branch, FittedLevel, Level
from anchorview.estimators.auto.number_curve import largest_number, numbers_to_try
from anchorview.estimators.auto.settings import LINEAR_SCALINGS, Family, Setting
from anchorview.estimators.auto.view_consistency import ViewConsistency
from anchorview.estimators.persistence.codec import FloatSeries, require, validate
from anchorview.estimators.persistence.fitted_state import (
    TOLERANCE,
    AxisLengths,
    FittedState,
    require_embedder,
    require_range,
    require_scalings,
    require_spread,
    require_weights,
)


@dataclass(kw_only=True)
class AutoDALMCState(FittedState):
    """Learned attributes of AutoDALMC."""

    n_clusters_: int
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

    @classmethod
    def of(cls, model: Any) -> Self:
        """State of a fitted model, with the smallest embedders."""
        state = super().of(model)
        dtype = state.embedding_.dtype
        state._candidates = [_smallest(candidate, dtype) for candidate in state._candidates]
        state._levels = [
            replace(own, candidates=tuple(_smallest(c, dtype) for c in own.candidates))
            for own in state._levels
        ]
        return state

    def restore(self, model: Any) -> None:
        """Set the learned attributes of a model that has the parameters of the saved one."""
        super().restore(model)
        numbers = numbers_to_try(model.n_clusters, self.n_samples_fit_)
        found = len(self._consensus.offsets)
        largest = largest_number(len(self.labels_)) if model.n_clusters is None else 0
        possible = found in numbers or 2 <= found <= largest
        require(possible, f"n_clusters={model.n_clusters}, but it has {found} clusters")
        model.objective_ = self._candidates[self.best_candidate_].objective
        model.n_iter_ = len(model.objective_)
        model._set_tables()


def _smallest(candidate: Candidate, dtype: "np.dtype[Any]") -> Candidate:
    return replace(candidate, embedder=candidate.embedder.smallest(dtype))


@validate.register
def _(state: AutoDALMCState) -> AutoDALMCState:
    k, count = len(state._consensus.offsets), len(state._candidates)
    require_range("number of offsets", k, 2)
    require_range("best_candidate_", state.best_candidate_, 0, count - 1)
    lengths = state.check(k)
    n_labels = state.n_labels(k)
    require(state.n_clusters_ == n_labels, f"'n_clusters_' is {state.n_clusters_}")
    lengths.update(k=k, c=count, r=N_KMEANS_RUNS * count)
    agreements = {"agreement_": "c c", "view_agreement_": "v", "_scores": "c", "_with_result": "c"}
    lengths.require(state, confidence_="n", second_labels_="n", **agreements)
    for name in agreements:
        require_range(name, getattr(state, name), -1, 1 + TOLERANCE)
    symmetric = np.allclose(state.agreement_, state.agreement_.T, atol=TOLERANCE)
    require(symmetric, "'agreement_' is not symmetric")
    require_range("confidence_", np.append(state.confidence_, 0), 0, 1)
    require_range("confidence_threshold_", state.confidence_threshold_, 0, 1)
    for name in ("structure_", "chance_agreement_"):
        require_range(name, getattr(state, name) or 0.0, -1, 1 + TOLERANCE)
    require_range("second_labels_", np.append(state.second_labels_, 0), -1, n_labels - 1)
    lengths.require(state._consensus, patterns="k r k", offsets="k", votes="r k", weights="r")
    require_spread(state, lengths)
    lengths.require(state._row_sums, sizes="k", sums="k l", squares="k")
    if state.curve_ is not None:
        numbers = state.curve_.index.tolist()
        require(numbers == sorted(set(numbers)) and k in numbers, "'curve_' has another index")
        require_range("curve_", [*state.curve_.dropna(), 0], -1, 1 + TOLERANCE)
        _require_chance_curve(state)
    lengths = _of_used_views(state, lengths)
    _require_levels(state, lengths)
    candidates = [*state._candidates, *(c for own in state._levels for c in own.candidates)]
    used = {candidate.setting.family for candidate in candidates}
    require(used == state._families.keys(), "families and candidates do not match")
    for candidate in state._candidates:
        fitted = state._families[candidate.setting.family]
        _require_candidate(candidate, fitted, AxisLengths(lengths))
    best = state._candidates[state.best_candidate_]
    lengths.require_length("embedding_", "l", best.embedder.n_anchors)
    return state


def _of_used_views(state: AutoDALMCState, lengths: AxisLengths) -> AxisLengths:
    """Lengths of the axes of the candidates, which have the views that were not set aside."""
    lengths.require_length("_consistency", "v", len(state._consistency))
    used = [p for p, own in enumerate(state._consistency) if own.used]
    aside = [p for p, own in enumerate(state._consistency) if not own.used]
    require(len(used) > len(aside), "too many views were set aside")
    require(not state.view_weights_[aside].any(), "a view that was set aside has a weight")
    own = AxisLengths({axis: n for axis, n in lengths.items() if axis[0] != "d"})
    own.update(v=len(used), **{f"d{i}": lengths[f"d{p}"] for i, p in enumerate(used)})
    return own


def _require_chance_curve(state: AutoDALMCState) -> None:
    chance, curve = state.chance_curve_, state.curve_
    if chance is not None and curve is not None:
        require(chance.index.equals(curve.index), "'chance_curve_' has another index")
        require_range("chance_curve_", chance, -1, 1 + TOLERANCE)


def _require_levels(state: AutoDALMCState, lengths: AxisLengths) -> None:
    """Check the levels: ascending numbers of clusters, of which one is the chosen."""
    k, numbers = len(state._consensus.offsets), [own.level.n_clusters for own in state._levels]
    require(numbers == sorted(set(numbers)), "the levels are not in order")
    require(not numbers or k in numbers, "the chosen level is missing")
    others = [own for own in state._levels if own.level.n_clusters != k]
    matches = (state.level_labels_ is None) == (not others)
    require(matches, "'level_labels_' do not match the levels")
    if state.level_labels_ is not None:
        own_lengths = AxisLengths(lengths)
        own_lengths["e"] = len(others)
        own_lengths.require(state, level_labels_="n e")
    for position, own in enumerate(others):
        require(own.consensus is not None and len(own.candidates) > 0, "a level is incomplete")
        assert own.consensus is not None and state.level_labels_ is not None
        n_clusters = own.level.n_clusters
        require_range("level_labels_", state.level_labels_[:, position], 0, n_clusters - 1)
        own_lengths = AxisLengths(lengths)
        own_lengths.update(k=n_clusters, r=N_KMEANS_RUNS * len(own.candidates))
        shapes = {"patterns": "k r k", "offsets": "k", "votes": "r k", "weights": "r"}
        own_lengths.require(own.consensus, **shapes)
        for candidate in own.candidates:
            require(candidate.setting.family in state._families, "the family of a level is missing")
            fitted = state._families[candidate.setting.family]
            _require_candidate(candidate, fitted, AxisLengths(own_lengths))
    for branch in state._branches:
        known = branch.n_clusters in numbers and branch.parent_level in numbers
        require(known, "a branch is of an unknown level")
        require_range("cluster of a branch", branch.cluster, 0, branch.n_clusters - 1)
        require_range("parent of a branch", branch.parent, 0, branch.parent_level - 1)


def _require_candidate(candidate: Candidate, fitted: FittedFamily, lengths: AxisLengths) -> None:
    """Check that a candidate takes the views of the model as its family prepares them."""
    n_landmarks, lift = candidate.setting.family.n_landmarks, fitted.lift
    require((lift is None) == (n_landmarks is None), "a lift is missing or unexpected")
    if lift is not None:
        require_scalings(lift.scalings, lengths)
        lengths.require_length("lift/views", "v", len(lift.views))
        for p, view in enumerate(lift.views):
            if view.directions is not None:
                lengths.require(view, directions=f"d{p} projected")
                lengths[f"d{p}"] = lengths.pop("projected")
            lengths.require(view, landmarks=f"m d{p}", column_factors="m")
            require_range("number of landmarks", lengths.pop("m"), 1, n_landmarks or 0)
            lengths[f"d{p}"] = len(view.landmarks)
    del lengths["l"]
    require_scalings(fitted.scalings, lengths)
    require_scalings(candidate.embedder.scalings, lengths)
    require_embedder(candidate.embedder, lengths)
    lengths.require(candidate, view_weights="v", objective="t")
    require(len(candidate.runs) == N_KMEANS_RUNS, f"a candidate has {len(candidate.runs)} runs")
    for run in candidate.runs:
        lengths.require(run, centroids="k l")


@validate.register
def _(candidate: Candidate) -> Candidate:
    require_weights("view_weights", candidate.view_weights)
    require_range("inertia and seconds", (candidate.inertia, candidate.seconds), 0)
    return candidate


@validate.register
def _(family: Family) -> Family:
    require(family.scaling in LINEAR_SCALINGS, "'scaling' is unknown")
    return family


@validate.register
def _(view: ViewConsistency) -> ViewConsistency:
    agreement = (view.with_others or 0.0, view.among_others or 0.0)
    require_range("agreement of a view", agreement, -1, 1 + TOLERANCE)
    require_range("n_only", view.n_only, 0)
    return view


@validate.register
def _(level: Level) -> Level:
    require_range("number of clusters of a level", level.n_clusters, 2)
    require_range("agreement of a level", (level.agreement, level.chance), -1, 1 + TOLERANCE)
    require_range("prominence", level.prominence, 0)
    return level


@validate.register
def _(branch: Branch) -> Branch:
    require_range("overlap", branch.overlap, 0, 1)
    require_range("size of a branch", branch.size, 0)
    split = (branch.split_agreement or 0.0, branch.split_chance or 0.0)
    require_range("agreement of a split", split, -1, 1 + TOLERANCE)
    return branch


@validate.register
def _(setting: Setting) -> Setting:
    require_range("anchors and components", (setting.anchors, setting.components), 1)
    require_range("beta", setting.beta, 0)
    return setting


@validate.register
def _(lift: ViewLift) -> ViewLift:
    require_range("column_factors", lift.column_factors, 0)
    return lift


@validate.register
def _(consensus: Consensus) -> Consensus:
    require_range("patterns", consensus.patterns, 0, 1 + TOLERANCE)
    # Not all clusters are empty.
    require_range("largest of the offsets", consensus.offsets.max(), np.finfo(float).min, 0)
    require_range("votes", consensus.votes, -1, consensus.votes.shape[-1] - 1)
    require_weights("weights", consensus.weights)
    return consensus
