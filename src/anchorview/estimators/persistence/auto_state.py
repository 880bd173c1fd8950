"""Learned attributes of AutoDALMC that model files hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.core.centers import Assignment
from anchorview.core.embed import Embedder
from anchorview.estimators.auto.labeling import Clustering, RowSums
from anchorview.estimators.partitions.candidates import (
    Candidate,
    Communities,
    Directions,
    EmbeddedCandidate,
    Graph,
    Setting,
    VotedCandidate,
)
from anchorview.estimators.partitions.coordinates import Families
from anchorview.estimators.partitions.neighbor_graphs import LandmarkLabels
from anchorview.estimators.persistence.codec import FORMS, FloatSeries, require, validate
from anchorview.estimators.persistence.fitted_state import FittedState, require_labels

OLD_WORDS = {"separated": "strong", "touching": "weak", "continuum": "none"}
"""Words for clusters up to version 0.1."""


def views_of_old(table: pd.DataFrame) -> pd.DataFrame:
    """How views are judged, also of a file of version 0.1."""
    if "with_others" not in table:
        return table
    why = np.select(
        [~table["used"], table["n_only"] > 0],
        ["was set aside: it disagrees", "disagrees, but is used because samples have no other"],
        "",
    )
    columns = {"separation": np.nan, "agreement_with_others": table["with_others"]}
    return pd.DataFrame({**columns, "used": table["used"], "why": why}, index=table.index)


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    """Instance of a dataclass with those of the values that it has fields for."""
    return kind(**{own.name: values[own.name] for own in fields(kind) if own.name in values})


@dataclass
class StoredSetting:
    """A setting, with zeros for what its kind does not have."""

    kind: Literal["directions", "graph", "diffused graph", "communities"]
    """There are no diffused graphs any more."""
    scaling: str
    anchors: int = 0
    components: int = 0
    beta: float = 0.0
    n_neighbors: int = 0

    @classmethod
    def of(cls, setting: Any) -> Self:
        """Stored form of a setting."""
        stored: Self = _made(cls, {"kind": setting.kind, **vars(setting)})
        return stored

    def restored(self) -> Setting:
        """Setting of its kind."""
        kinds = {"directions": Directions, "communities": Communities}
        setting: Setting = _made(kinds.get(self.kind, Graph), vars(self))
        return setting


@dataclass
class StoredCandidate:
    """A candidate, with None for what its kind does not have."""

    setting: Setting
    seconds: float
    embedder: Embedder | None = None
    runs: tuple[Assignment, ...] = ()
    landmark_labels: LandmarkLabels | None = None
    view_weights: Array | None = None
    objective: Array = field(default_factory=lambda: np.empty(0))
    inertia: float | None = None

    @classmethod
    def of(cls, candidate: Candidate) -> Self:
        """Stored form of a candidate."""
        stored: Self = _made(cls, vars(candidate))
        return stored

    def restored(self) -> Candidate:
        """Candidate of its kind."""
        if is_embedded := self.landmark_labels is None:
            require(self.embedder is not None and len(self.runs) > 0, "no embedding")
            require(self.view_weights is not None, "'view_weights' are missing")
        values = {**vars(self), "inertia": self.inertia or 0.0}
        candidate: Candidate = _made(EmbeddedCandidate if is_embedded else VotedCandidate, values)
        return candidate


FORMS.update({Setting: StoredSetting, Candidate: StoredCandidate})


def _smallest(clustering: Clustering, dtype: "np.dtype[Any]") -> Clustering:
    """Clustering with the smallest embedders."""
    candidates = [
        replace(own, embedder=own.embedder.smallest(dtype))
        if isinstance(own, EmbeddedCandidate)
        else own
        for own in clustering.candidates
    ]
    return replace(clustering, candidates=candidates)


@dataclass(kw_only=True)
class AutoDALMCState(FittedState):
    """Learned attributes of AutoDALMC."""

    per_sample = (
        *FittedState.per_sample,
        "confidence_",
        "second_labels_",
        "_level_labels",
        "_fit_labels",
    )

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
    _clustering: Clustering
    _others: dict[int, Clustering]
    _level_labels: npt.NDArray[np.int32] | None
    _fit_labels: npt.NDArray[np.int32] | None
    """Labels before `relabel`; None without it."""

    def require_labels(self) -> None:
        """Check labels of samples, also at other levels, and the best candidate."""
        super().require_labels()
        known = 0 <= self.best_candidate_ < len(self._clustering.candidates)
        require(known, "'best_candidate_' is unknown")
        best = self._clustering.candidates[self.best_candidate_]
        require(isinstance(best, EmbeddedCandidate), "'best_candidate_' has no embedding")
        if self._fit_labels is not None:
            require_labels("_fit_labels", self._fit_labels, len(self._spread.sizes))
        levels = () if self._level_labels is None else self._level_labels.T
        for labels, number in zip(levels, self._others, strict=True):
            require_labels("_level_labels", labels, number)

    _apart: tuple[str, ...] = ()
    _labeled_rows: npt.NDArray[np.int32] | None = None
    """Positions of the samples with a known class."""

    @classmethod
    def of(cls, model: Any) -> Self:
        """State of a fitted model, with the smallest embedders."""
        state: Any = super().of(model)
        dtype = state.embedding_.dtype
        state._clustering = _smallest(state._clustering, dtype)
        state._others = {k: _smallest(level, dtype) for k, level in state._others.items()}
        return state

    def restore(self, model: Any, trusted: tuple[str, ...] | None = ()) -> None:
        """Set the learned attributes of a model that has the parameters of the saved one."""
        self._consistency = views_of_old(self._consistency)
        super().restore(model, trusted)
        model._borders = tuple(OLD_WORDS.get(word, word) for word in self._borders)
        model.objective_ = model._labeler.best.objective
        model.n_iter_ = len(model.objective_)


@validate.register
def _(clustering: Clustering) -> Clustering:
    for candidate in clustering.candidates:
        if isinstance(candidate, VotedCandidate):
            labels = candidate.landmark_labels.labels
            require_labels("landmark_labels", labels, len(clustering.consensus.offsets))
    return clustering
