"""Learned attributes of AutoDALMC that model files hold."""

from dataclasses import dataclass, fields
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment
from anchorview.core.embed import Embedder
from anchorview.estimators.auto.bases import SHARING_A_BASIS, Basis, Families, ViewBasis
from anchorview.estimators.auto.candidates import (
    Candidate,
    Communities,
    Directions,
    EmbeddedCandidate,
    Graph,
    Setting,
    VotedCandidate,
)
from anchorview.estimators.auto.consensus import Consensus
from anchorview.estimators.auto.labeling import Clustering, RowSums
from anchorview.estimators.auto.landmarks import LandmarkLabels, Landmarks
from anchorview.estimators.persistence.codec import (
    SHAPES,
    AxisLengths,
    FloatSeries,
    require,
    validate,
)
from anchorview.estimators.persistence.fitted_state import FittedState, require_labels, require_maps


@dataclass
class StoredSetting:
    """A setting, with zeros for what its kind does not have."""

    kind: Literal["directions", "graph", "diffused graph", "communities"]
    scaling: str
    anchors: int = 0
    components: int = 0
    beta: float = 0.0
    n_neighbors: int = 0

    @classmethod
    def of(cls, setting: Any) -> Self:
        """Stored form of a setting."""
        values: dict[str, Any] = {own.name: getattr(setting, own.name, 0) for own in fields(cls)}
        return cls(**values)

    def restored(self) -> Setting:
        """Setting of its kind."""
        if self.kind == "directions":
            return Directions(self.scaling, self.anchors, self.components, self.beta)
        if self.kind == "communities":
            return Communities(self.scaling, self.n_neighbors)
        return Graph(self.scaling, self.n_neighbors, diffused=self.kind != "graph")


@dataclass
class StoredCandidate:
    """A candidate, with None for what its kind does not have."""

    setting: StoredSetting
    embedder: Embedder | None
    runs: tuple[Assignment, ...]
    landmark_labels: LandmarkLabels | None
    view_weights: Array | None
    objective: Array
    inertia: float | None
    seconds: float

    @classmethod
    def of(cls, candidate: Candidate, dtype: "np.dtype[Any]") -> Self:
        """Stored form of a candidate, with the smallest embedder."""
        setting, seconds = StoredSetting.of(candidate.setting), candidate.seconds
        if isinstance(candidate, EmbeddedCandidate):
            embedder = candidate.embedder.smallest(dtype)
            weights, objective = candidate.view_weights, candidate.objective
            runs, inertia = candidate.runs, candidate.inertia
            return cls(setting, embedder, runs, None, weights, objective, inertia, seconds)
        assert isinstance(candidate, VotedCandidate)
        votes = candidate.landmark_labels
        return cls(setting, None, (), votes, None, np.empty(0), None, seconds)

    def restored(self) -> Candidate:
        """Candidate of its kind."""
        setting = self.setting.restored()
        if self.landmark_labels is not None:
            return VotedCandidate(setting, self.seconds, self.landmark_labels)
        require(self.embedder is not None and len(self.runs) > 0, "no embedding")
        require(self.view_weights is not None, "'view_weights' are missing")
        assert self.embedder is not None and self.view_weights is not None
        return EmbeddedCandidate(
            setting,
            self.seconds,
            self.embedder,
            self.runs,
            self.view_weights,
            self.objective,
            self.inertia or 0.0,
        )


@dataclass
class StoredClustering:
    """Candidates with the same number of clusters, and their consensus."""

    candidates: list[StoredCandidate]
    consensus: Consensus

    @classmethod
    def of(cls, clustering: Clustering, dtype: "np.dtype[Any]") -> Self:
        """Stored form of a clustering."""
        stored = [StoredCandidate.of(own, dtype) for own in clustering.candidates]
        return cls(stored, clustering.consensus)

    def restored(self) -> Clustering:
        """Clustering with candidates of their kinds."""
        return Clustering([own.restored() for own in self.candidates], self.consensus)


@dataclass(kw_only=True)
class AutoDALMCState(FittedState):
    """Learned attributes of AutoDALMC."""

    curve_: FloatSeries | None
    chance_curve_: FloatSeries | None
    candidates_: pd.DataFrame
    levels_: pd.DataFrame | None
    """None if the number of clusters was given."""
    tree_: pd.DataFrame | None
    best_candidate_: int
    confidence_: Array
    structure_: float | None
    _borders: tuple[str, ...]
    second_labels_: npt.NDArray[np.int32]
    agreement_: Array
    view_agreement_: Array
    _consistency: pd.DataFrame
    _row_sums: RowSums
    _families: Families
    _clustering: StoredClustering
    _others: dict[int, StoredClustering]
    _level_labels: npt.NDArray[np.int32] | None
    _fit_labels: npt.NDArray[np.int32] | None
    """Labels before `relabel`; None without it."""

    @classmethod
    def of(cls, model: Any) -> Self:
        """State of a fitted model, with the smallest embedders."""
        state: Any = super().of(model)
        dtype = state.embedding_.dtype
        state._clustering = StoredClustering.of(state._clustering, dtype)
        levels = state._others.items()
        state._others = {k: StoredClustering.of(level, dtype) for k, level in levels}
        return state

    def restore(self, model: Any, trusted: tuple[str, ...] | None = ()) -> None:
        """Set the learned attributes of a model that has the parameters of the saved one."""
        super().restore(model, trusted)
        model._clustering = self._clustering.restored()
        model._others = {k: level.restored() for k, level in self._others.items()}
        model.n_clusters_ = self.n_clusters
        model.objective_ = self._clustering.candidates[self.best_candidate_].objective
        model.n_iter_ = len(model.objective_)


SHAPES |= {
    AutoDALMCState: {
        "confidence_": "n",
        "second_labels_": "n",
        "_level_labels": "n levels",
        "_fit_labels": "n",
        "agreement_": "c c",
        "view_agreement_": "v",
    },
    Consensus: {"patterns": "k r k", "offsets": "k", "votes": "r k", "weights": "r"},
    RowSums: {"sizes": "k", "sums": "k l", "squares": "k"},
    Basis: {"views": "*"},
    ViewBasis: {"directions": "d* j*", "center": "j*"},
    Landmarks: {"places": "m* i*", "importance": "v"},
    LandmarkLabels: {"labels": "r m", "shares": "r m"},
}


@validate.register
def _(state: AutoDALMCState) -> AutoDALMCState:
    candidates = state._clustering.candidates
    require(0 <= state.best_candidate_ < len(candidates), "'best_candidate_' is unknown")
    lengths = state.require_shapes()
    lengths.require_length("candidates", "c", len(candidates))
    used = state._consistency["used"]
    lengths.require_length("_consistency", "v", len(used))
    require((state._level_labels is None) == (not state._others), "'_level_labels' is missing")
    if state._fit_labels is not None:
        require_labels("_fit_labels", state._fit_labels, state.n_clusters_fit)
    widths = [width for width, own in zip(state.prepared_widths, used, strict=True) if own]
    _require_families(state._families, widths)
    _require_clustering(state._clustering, state._families)
    best = candidates[state.best_candidate_].embedder
    fits = best is not None and best.n_anchors == lengths["l"]
    require(fits, "'embedding_' has another width")
    if state._level_labels is not None:
        lengths.require_length("_others", "levels", len(state._others))
        for labels, (k, level) in zip(state._level_labels.T, state._others.items(), strict=True):
            require(len(level.consensus.offsets) == k, "a level has another number of clusters")
            require_labels("_level_labels", labels, k)
            _require_clustering(level, state._families)
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


def _require_clustering(stored: StoredClustering, families: Families) -> None:
    """Check the consensus of candidates that take coordinates or landmarks."""
    clustering = stored.restored()
    k = clustering.n_clusters
    n_partitions = sum(candidate.n_partitions for candidate in clustering.candidates)
    AxisLengths(k=k, r=n_partitions).require(clustering.consensus)
    for candidate in clustering.candidates:
        _require_candidate(candidate, families, k)


def _require_candidate(candidate: Candidate, families: Families, k: int) -> None:
    scaling = candidate.setting.scaling
    shared = (*families.bases, *(SHARING_A_BASIS[own] for own in families.bases))
    require(scaling in shared, "the family of a candidate is missing")
    basis = families.basis_of(scaling)
    lengths = AxisLengths(k=k, v=len(basis.views))
    lengths.update({f"d{p}": len(view.center) for p, view in enumerate(basis.views)})
    if isinstance(candidate, EmbeddedCandidate):
        lengths.require_value(candidate.view_weights, "view_weights", "v")
        lengths.require_value(candidate.objective, "objective", "t")
        lengths.require_value(candidate.runs, "runs")
        lengths.require(candidate.embedder)
        require_maps(candidate.embedder, lengths)
    elif isinstance(candidate, VotedCandidate):
        require(scaling in families.landmarks, "the landmarks of a candidate are missing")
        lengths["m"] = sum(families.landmarks[scaling].counts)
        lengths.require(candidate.landmark_labels)
        require_labels("landmark_labels", candidate.landmark_labels.labels, k)
