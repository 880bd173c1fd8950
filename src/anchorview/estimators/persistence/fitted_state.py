"""Learned attributes that model files hold: those of every estimator, and those of DALMC.

Types follow from the annotations. Values are trusted, except for labels, which are indices. Fitted
transformers of anchorview are stored as arrays, foreign ones by skops.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone

from anchorview._utils.errors import optional_import
from anchorview._utils.text import one_line
from anchorview._utils.typing import Array, FeatureNames
from anchorview.core.alternating import Trace
from anchorview.core.batch_correction import BatchCorrection
from anchorview.core.centers import Assignment, ClusterSpread
from anchorview.core.cost_model import Plan
from anchorview.core.embed import Embedder, in_other_coordinates
from anchorview.core.scale import ViewScaling
from anchorview.estimators.persistence.codec import AnyIndex, require, validate
from anchorview.estimators.preparation import STEPS, Preparation
from anchorview.estimators.relabeling import Relabeling
from anchorview.preprocessing import LogNormalizer, WordTfidf
from anchorview.preprocessing.encoders import ColumnSums

# Fitted transformers

CLASSES: dict[str, Any] = {type(s).__name__: type(s) for s in STEPS.values()}
FOREIGN = "skops"
HARMLESS = {"numpy.dtype"}
"""Types of fitted transformers of scikit-learn that skops does not trust by itself."""
FITTED = (
    *("n_samples_seen_", "n_features_in_", "_median", "sums_", "_sums", "_known"),
    *("projection_", "offset_", "samples_", "smoothing_"),
)
"""Fitted attributes of `CLASSES` that are numbers or arrays."""


class UntrustedTypeError(ValueError):
    """A model file holds a type that the user has not declared to be trusted."""


@contextmanager
def _storable() -> Iterator[None]:
    """Explain errors of skops, which are of any type."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            "a transformer of another package in preprocess cannot be stored or restored "
            f"({one_line(error)}). Its functions must be in a module that can be imported: a "
            "lambda, or a function of a script, is not."
        ) from error


@dataclass(frozen=True, kw_only=True)
class StoredStep:
    """A fitted transformer."""

    kind: str
    """Name of one of `CLASSES`, or `FOREIGN`."""
    parameters: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    numbers: dict[str, int | float] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    sums: tuple[ColumnSums, ...] = ()
    """Columns of a table."""
    words: dict[str, int] = field(default_factory=dict)
    """Number of texts that have a word."""
    content: npt.NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    """Bytes that skops has written."""

    @classmethod
    def of(cls, step: Any) -> "StoredStep":
        """Store a fitted transformer; raises if it is foreign and skops is not installed."""
        kind, state = type(step).__name__, vars(step)
        if CLASSES.get(kind) is not type(step):
            skops = optional_import("skops.io", "Transformers of other packages", "skops")
            with _storable():
                return cls(kind=FOREIGN, content=np.frombuffer(skops.dumps(step), np.uint8))
        fitted = {name: state[name] for name in FITTED if name in state}
        if isinstance(step, LogNormalizer):
            fitted["_median"] = step.total_
        arrays = {name: v for name, v in fitted.items() if isinstance(v, np.ndarray)}
        return cls(
            kind=kind,
            parameters=step.get_params(),
            numbers={name: v for name, v in fitted.items() if isinstance(v, int | float)},
            arrays={name: np.asarray(v, dtype=np.float64) for name, v in arrays.items()},
            columns=state.get("columns_", ()),
            sums=state.get("_columns", ()),
            words=step.frequencies_ if isinstance(step, WordTfidf) else {},
        )

    def restored(self, trusted: tuple[str, ...] | None = ()) -> Any:
        """Fitted transformer; raises if a type of a foreign one is not trusted."""
        if self.kind == FOREIGN:
            skops = optional_import("skops.io", "Transformers of other packages", "skops")
            content = self.content.tobytes()
            types = skops.get_untrusted_types(data=content)
            unknown = [] if trusted is None else sorted(set(types) - set(trusted) - HARMLESS)
            if unknown:
                raise UntrustedTypeError(
                    f"it holds the type {unknown[0]}, which is not trusted. If you trust the file, "
                    f"load it with trusted={unknown}"
                )
            with _storable():
                return skops.loads(content, trusted=types)
        require(self.kind in CLASSES, f"the transformer {self.kind[:40]!r} is unknown")
        step = CLASSES[self.kind](**self.parameters)
        step._validate_params()
        for name, value in (*self.numbers.items(), *self.arrays.items()):
            require(name in FITTED, f"{name[:40]!r} is unknown")
            setattr(step, name, np.asarray(value).astype(np.intp) if name == "samples_" else value)
        if self.columns:
            require(len(self.columns) == len(self.sums), "columns have no sums")
            step.__dict__.update(columns_=self.columns, _columns=self.sums)
        if isinstance(step, WordTfidf):
            step._texts_with = Counter(self.words)
        return step


@dataclass(frozen=True, kw_only=True)
class StoredPreparation:
    """Transformers of all views, and the features that they return."""

    steps: tuple[StoredStep | None, ...]
    widths: tuple[int, ...]
    feature_names: tuple[FeatureNames | None, ...]
    dtype: str

    @classmethod
    def of(cls, preparation: Preparation) -> Self:
        """Store a fitted preparation."""
        return cls(
            steps=tuple(None if s is None else StoredStep.of(s) for s in preparation.steps),
            widths=preparation.widths,
            feature_names=preparation.feature_names,
            dtype=preparation.dtype.name,
        )

    def restored(self, trusted: tuple[str, ...] | None) -> Preparation:
        """Fitted preparation; raises if a type of a foreign transformer is not trusted."""
        require(self.dtype in ("float32", "float64"), "the precision is unknown")
        steps = tuple(None if step is None else step.restored(trusted) for step in self.steps)
        return Preparation(steps, self.widths, self.feature_names, np.dtype(self.dtype))


def parameter_of(preparation: Preparation, names: tuple[str, ...]) -> dict[str, Any]:
    """`preprocess` of a model with fitted transformers, by view."""
    steps = zip(names, preparation.steps, strict=True)
    return {name: clone(step) for name, step in steps if step is not None}


# Learned attributes

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
            own.name: model.views_[PER_VIEW[own.name]].to_numpy()
            if own.name in PER_VIEW
            else getattr(model, own.name, own.default)
            for own in fields(cls)
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
        for name, value in vars(self).items():
            if name not in PER_VIEW:
                setattr(model, name, value)
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
