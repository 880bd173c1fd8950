"""Learned attributes that model files hold: those of every estimator, and those of DALMC.

Types follow from the annotations. Values are trusted, except for labels, which are indices.
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from anchorview._utils.typing import Array, FeatureNames
from anchorview.core.alternating import Trace
from anchorview.core.assign import Assignment, ClusterSpread
from anchorview.core.batch_correction import BatchCorrection
from anchorview.core.cost_model import Plan
from anchorview.core.embed import Embedder, in_other_coordinates
from anchorview.core.scale import ViewScaling
from anchorview.estimators.persistence.codec import AnyIndex, require, validate
from anchorview.estimators.persistence.stored_steps import StoredPreparation
from anchorview.estimators.relabeling import Relabeling

PER_VIEW = {"view_weights_": "weight", "view_agreement_": "agreement_with_result"}
"""Fields with one number per view, and the column of `views_` that has them."""


def require_labels(name: str, labels: Array, n_clusters: int) -> None:
    """Check that labels are those of clusters."""
    known = not labels.size or (labels.min() >= -1 and labels.max() < n_clusters)
    require(known, f"{name!r} is not between 0 and {n_clusters - 1}")


@dataclass(kw_only=True)
class FittedState:
    """Learned attributes of an estimator, under the names that they have there.

    A subclass adds those of its estimator: a field is saved and restored without further code. A
    field with a default has it where a model, or a file of an earlier version, lacks the attribute.
    """

    per_sample: ClassVar[tuple[str, ...]] = ("labels_", "embedding_")
    """Fields with one row per sample."""

    view_names_in_: tuple[str, ...]
    n_features_per_view_: tuple[int, ...]
    feature_names_per_view_: tuple[FeatureNames | None, ...]
    _prepared: StoredPreparation | None
    view_selection_: dict[str, str | tuple[str, ...]] | None
    _join: str | None
    n_samples_fit_: int
    _total_weight: float | None = None
    sample_ids_: AnyIndex | None
    labels_: npt.NDArray[np.int32]
    embedding_: npt.NDArray[np.floating[Any]]
    view_weights_: Array
    _spread: ClusterSpread
    _relabeling: Relabeling | None
    _correction: BatchCorrection | None
    """None without batches and covariates, as the next without batches."""
    _mixing: dict[str, float] | None
    changes_: pd.DataFrame | None = None
    _titles: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        # Version 0.1 wrote none for clusters that are as they were fitted.
        self._relabeling = self._relabeling or Relabeling.none(len(self._spread.sizes))

    @classmethod
    def of(cls, model: Any) -> Self:
        """State of a fitted model, without rows that are in files or on workers."""
        values: dict[str, Any] = {
            field.name: model.views_[PER_VIEW[field.name]].to_numpy()
            if field.name in PER_VIEW
            else getattr(model, field.name, field.default)
            for field in fields(cls)
        }
        if values["_prepared"] is not None:
            values["_prepared"] = StoredPreparation.of(values["_prepared"])
        unknown = np.asarray(values["labels_"]) < 0
        by_sample = {k: values[k] for k in cls.per_sample if values[k] is not None}
        rows = values["embedding_"]
        # A copy of a memory map is a memmap without a file.
        if not isinstance(rows, np.ndarray) or getattr(rows, "filename", None) is not None:
            values["sample_ids_"] = None
            values |= {k: np.empty((0, *v.shape[1:]), v.dtype) for k, v in by_sample.items()}
        elif unknown.any():
            values |= {name: np.nan_to_num(each) for name, each in by_sample.items()}
        return cls(**values)

    def restore(self, model: Any, trusted: tuple[str, ...] | None = ()) -> None:
        """Set the learned attributes of a model that has the parameters of the saved one.

        `trusted` are types of transformers of other packages that may be loaded; None for all.
        """
        for name in ("n_features_per_view_", "feature_names_per_view_"):
            agrees = len(getattr(self, name)) == len(self.view_names_in_)
            require(agrees, f"{name!r} is not of the {len(self.view_names_in_)} views")
        for field in fields(self):
            if field.name not in PER_VIEW:
                setattr(model, field.name, getattr(self, field.name))
        for name in self.per_sample:
            rows = getattr(model, name, None)
            if rows is not None and rows.dtype.kind == "f" and len(rows) == len(self.labels_):
                rows[self.labels_ < 0] = np.nan
        if self._prepared is not None:
            model._prepared = self._prepared.restored(trusted)
        columns = {PER_VIEW[name]: value for name, value in vars(self).items() if name in PER_VIEW}
        model.views_ = model._table_of_views(**columns)

    def require_labels(self) -> None:
        """Check labels of samples."""
        assert self._relabeling is not None
        require_labels("labels_", self.labels_, len(self._relabeling.names))


@dataclass(kw_only=True)
class DALMCState(FittedState):
    """Learned attributes of DALMC."""

    objective_: Array
    _weight_history: Array | None = None
    anchors_: list[Array]
    bases_: list[Array]
    scalings_: tuple[ViewScaling, ...]
    plan_: Plan | None = None
    _assignment: Assignment
    _embedder: Embedder | None

    @classmethod
    def of(cls, model: Any) -> Self:
        """State of a fitted model, with the smallest embedder."""
        state = super().of(model)
        if state._embedder is not None:
            state._embedder = state._embedder.smallest(state.embedding_.dtype)
        return state

    def restore(self, model: Any, trusted: tuple[str, ...] | None = ()) -> None:
        """Set the learned attributes of a model that has the parameters of the saved one."""
        super().restore(model, trusted)
        model.n_components_ = [Z.shape[1] for Z in self.bases_]
        model.n_iter_ = len(self.objective_)


@validate.register
def _(state: FittedState) -> FittedState:
    state.require_labels()
    return state


@validate.register
def _(trace: Trace) -> Trace:
    # The memory layout is that after `fit`: products round differently with another one.
    return in_other_coordinates(trace, list)


@validate.register
def _(relabeling: Relabeling) -> Relabeling:
    require_labels("clusters", relabeling.clusters, len(relabeling.names))
    return relabeling
