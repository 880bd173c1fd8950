"""Learned attributes that model files hold: those of every estimator, and those of DALMC.

When a state is decoded, functions registered with `validate` check that its values are possible and
its arrays fit together.
"""

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from anchorview._utils.typing import Array, FeatureNames
from anchorview.core.alternating import Trace
from anchorview.core.assign import Assignment, ClusterSpread
from anchorview.core.batch_correction import BatchCorrection
from anchorview.core.cost_model import Plan
from anchorview.core.embed import Embedder, in_other_coordinates
from anchorview.core.preprocessing import FittedStep
from anchorview.core.scale import ViewScaling
from anchorview.core.truncate import Truncation
from anchorview.estimators.batches import BatchMixing
from anchorview.estimators.persistence.codec import AnyIndex, require, validate
from anchorview.estimators.relabeling import Relabeling

PER_VIEW = {"view_weights_": "weight", "view_agreement_": "agreement"}
"""Attributes that are a Series with one number per view, and its name."""

PER_SAMPLE = {"labels_", "embedding_", "confidence_", "second_labels_"}
"""Attributes with one row per sample of `fit`."""

TOLERANCE = 1e-6
"""Deviation from a bound that rounding may cause."""


class AxisLengths(dict[str, int]):
    """Lengths of named axes; the first array that has an axis determines its length."""

    def require(self, owner: object, **axes: str) -> None:
        """Check the axes of arrays, or of sequences of one array per view. None is skipped.

        The length of an axis with a star depends on the view.
        """
        for name, spec in axes.items():
            value = getattr(owner, name)
            arrays = {} if value is None else {name: value}
            if isinstance(value, list | tuple):
                self.require_length(name, "v", len(value))
                arrays = {f"{name}/{p}": array for p, array in enumerate(value)}
            for p, (path, array) in enumerate(arrays.items()):
                if array is None:
                    continue
                own = spec.replace("*", str(p)).split()
                fits = array.ndim == len(own) and all(map(self._fits, own, array.shape))
                require(fits, f"{path!r} has shape {array.shape}")

    def require_length(self, name: str, axis: str, length: int) -> None:
        """Check the length of a sequence."""
        require(self._fits(axis, length), f"{name!r} has length {length}")

    def _fits(self, axis: str, length: int) -> bool:
        # A file may be without samples.
        return self.setdefault(axis, length) == length and (length > 0 or axis == "n")


def require_range(name: str, values: Any, low: float, high: float = np.inf) -> None:
    """Check that all values are in a closed interval."""
    inside = np.min(values) >= low and np.max(values) <= high
    require(inside, f"{name!r} is not between {low:g} and {high:g}")


def require_weights(name: str, weights: Array) -> None:
    """Check that weights sum to 1."""
    require_range(name, weights, 0, 1 + TOLERANCE)
    require(abs(weights.sum() - 1) < TOLERANCE, f"{name!r} does not sum to 1")


def require_scalings(scalings: Sequence[ViewScaling], lengths: AxisLengths) -> None:
    """Check that there is one scaling per view, for its number of features."""
    lengths.require_length("scalings", "v", len(scalings))
    for p, scaling in enumerate(scalings):
        lengths.require(scaling, center=f"d{p}", deviation=f"d{p}")


def require_spread(state: "FittedState", lengths: AxisLengths) -> None:
    """Check that the spread is that of the clusters."""
    lengths.require(state._spread, sizes="k", squares="k")


def require_trace(trace: Trace, lengths: AxisLengths) -> None:
    """Check the axes of the arrays of a trace."""
    lengths.require_length("steps", "t", len(trace.steps))
    by_view = {"to_graph": "d* l", "fill": "d* l", "to_representation": "d* m*"}
    lengths.require(trace.start, **by_view)
    by_view = {"bases": "d* m*", "anchors": "m* l", "to_representation": "m* m*"}
    for step in trace.steps:
        lengths.require(step, weights="v", to_graph="l l", **by_view)


def require_embedder(embedder: Embedder, lengths: AxisLengths) -> None:
    """Check that an embedder is of these views, and has a map for every pattern or a trace."""
    require_scalings(embedder.scalings, lengths)
    if embedder.trace is not None:
        require(embedder.maps is None, "'maps' are unexpected beside a trace")
        require_trace(embedder.trace, lengths)
        return
    n_views, maps = len(embedder.scalings), embedder.maps or {}
    require(len(maps) == 2**n_views - 1, f"there are maps for {len(maps)} patterns of views")
    for views, matrix in maps.items():
        known = views == tuple(sorted(set(views) & set(range(n_views)))) != ()
        require(known, f"there is a map for the views {views}")
        fits = matrix.ndim == 2 and len(matrix) == sum(lengths[f"d{p}"] for p in views)
        require(fits, f"the map for the views {views} has shape {matrix.shape}")
        lengths.require_length(f"map for the views {views}", "l", matrix.shape[1])


@validate.register
def _(trace: Trace) -> Trace:
    require_range("beta", trace.beta, 0)
    require_trace(trace, AxisLengths())
    # The memory layout is that after `fit`: products round differently with another one.
    return in_other_coordinates(trace, list)


@validate.register
def _(scaling: ViewScaling) -> ViewScaling:
    require(scaling.norm > 0, "'norm' is not positive")
    positive = scaling.deviation is None or (scaling.deviation > 0).all()
    require(positive, "'deviation' is not positive")
    return scaling


@validate.register
def _(step: FittedStep) -> FittedStep:
    fitted = {"total": step.total, "idf": step.idf}
    expected = {"lognorm": {"total"}, "tfidf": {"idf"}, "clr": set()}[step.step]
    known = {name for name, value in fitted.items() if value is not None}
    require(known == expected, f"'{step.step}' is not fitted as it should be")
    require(step.total is None or step.total > 0, "'total' is not positive")
    if step.idf is not None:
        require_range("idf", step.idf, 0)
    return step


@validate.register
def _(relabeling: Relabeling) -> Relabeling:
    names, clusters = relabeling.names, relabeling.clusters
    require(len(set(names)) == len(names) > 1, "'names' are not unique")
    require(clusters.ndim == 1, f"'clusters' has shape {clusters.shape}")
    known = np.array_equal(np.unique(clusters), np.arange(len(names)))
    require(known, "'clusters' are not those that have names")
    return relabeling


@validate.register
def _(spread: ClusterSpread) -> ClusterSpread:
    AxisLengths().require(spread, sizes="k", squares="k")
    require_range("sizes and squares", [spread.sizes, spread.squares], 0)
    require(spread.sizes.sum() > 0, "all clusters are empty")
    return spread


@validate.register
def _(correction: BatchCorrection) -> BatchCorrection:
    batches, names = correction.batches, correction.covariate_names
    require(len(set(batches)) == len(batches) > 0, "'batches' are not unique")
    require(len(set(names)) == len(names), "'covariate_names' are not unique")
    count, q = len(batches), len(names)
    for name in ("covariate_centers", "covariate_scales"):
        values = getattr(correction, name)
        require(values.shape == (q,), f"{name!r} has shape {values.shape}")
    require((correction.covariate_scales > 0).all(), "'covariate_scales' are not positive")
    for view in correction.views:
        d = len(view.mean)
        shapes = {
            "sizes": (count,),
            "intercepts": (count, d),
            "factors": (count, d),
            "slopes": (q, d),
            "mean": (d,),
            "deviation": (d,),
        }
        for name, shape in shapes.items():
            found = getattr(view, name).shape
            require(found == shape, f"{name!r} has shape {found}")
        require_range("sizes", view.sizes, 0)
        positive = (view.factors > 0).all() and (view.deviation >= 0).all()
        require(positive, "'factors' or 'deviation' are not positive")
    return correction


@validate.register
def _(mixing: BatchMixing) -> BatchMixing:
    require_range("mixing", (mixing.before, mixing.after), 0)
    return mixing


@validate.register
def _(plan: Plan) -> Plan:
    known = plan.route in plan.work and plan.work.keys() == plan.memory.keys()
    require(known, "'work' and 'memory' are not of the same routes")
    require_range("work and memory", [*plan.work.values(), *plan.memory.values()], 0)
    truncated = plan.route == "truncated"
    require(truncated == (plan.truncation is not None), "a truncation is missing or unexpected")
    return plan


@validate.register
def _(truncation: Truncation) -> Truncation:
    require_range("n_directions", truncation.n_directions, 1)
    require_range("left_out", truncation.left_out, 0, 1)
    require_range("bound and tolerance", (truncation.bound, truncation.tolerance), 0)
    same = len(truncation.n_directions) == len(truncation.left_out)
    require(same, "'n_directions' and 'left_out' differ in length")
    return truncation


@dataclass(kw_only=True)
class FittedState:
    """Learned attributes of an estimator, under the names that they have there.

    A subclass adds those of its estimator: a field is saved and restored without further code. An
    attribute that a fitted estimator may lack has the default None.
    """

    view_names_in_: tuple[str, ...]
    n_features_per_view_: tuple[int, ...]
    feature_names_per_view_: tuple[FeatureNames | None, ...]
    imputation_: tuple[Array | None, ...] | None
    preprocessing_: tuple[FittedStep | None, ...] | None
    view_selection_: dict[str, str] | None
    n_samples_fit_: int
    sample_ids_: AnyIndex | None
    labels_: npt.NDArray[np.int32]
    embedding_: npt.NDArray[np.floating[Any]]
    view_weights_: Array
    _spread: ClusterSpread
    _relabeling: Relabeling | None
    _correction: BatchCorrection | None
    """None without batches and covariates, as the next without batches."""
    _mixing: BatchMixing | None

    @classmethod
    def of(cls, model: Any) -> Self:
        """State of a fitted model, without rows that are in files or on workers."""
        values: dict[str, Any] = {
            own.name: getattr(model, own.name, own.default) for own in fields(cls)
        }
        # The index of a Series is the names of the views, which the state has.
        for name in values.keys() & PER_VIEW.keys():
            values[name] = np.asarray(values[name])
        rows = values["embedding_"]
        # A copy of a memory map is a memmap without a file.
        if not isinstance(rows, np.ndarray) or getattr(rows, "filename", None) is not None:
            for name in values.keys() & PER_SAMPLE:
                own = values[name]
                values[name] = np.empty((0, *own.shape[1:]), own.dtype)
            values["sample_ids_"] = None
        return cls(**values)

    def restore(self, model: Any) -> None:
        """Set the learned attributes of a model that has the parameters of the saved one."""
        for own in fields(self):
            value = getattr(self, own.name)
            if value is not None or own.default is MISSING:
                setattr(model, own.name, value)
        for name in vars(self).keys() & PER_VIEW.keys():
            setattr(model, name, model._by_view(getattr(self, name), PER_VIEW[name]))

    def check(self, n_clusters: int) -> AxisLengths:
        """Check that the attributes fit together; returns the lengths of their axes.

        `n_clusters` is the number of clusters that were fitted.
        """
        names, widths = self.view_names_in_, self.n_features_per_view_
        require(len(names) == len(set(names)), "'view_names_in_' are not unique")
        lengths = AxisLengths(v=len(names))
        lengths.require_length("n_features_per_view_", "v", len(widths))
        for p, d in enumerate(widths):
            lengths.require_length(f"n_features_per_view_/{p}", f"d{p}", d)
        lengths.require(self, embedding_="n l", labels_="n", view_weights_="v")
        lengths.require(self, feature_names_per_view_="d*", imputation_="d*")
        if self.preprocessing_ is not None:
            lengths.require_length("preprocessing_", "v", len(self.preprocessing_))
            for p, step in enumerate(self.preprocessing_):
                if step is not None:
                    lengths.require(step, idf=f"d{p}")
        if self._correction is not None:
            lengths.require_length("_correction/views", "v", len(self._correction.views))
            for p, view in enumerate(self._correction.views):
                lengths.require(view, mean=f"d{p}")
        batches = self._correction is not None and self._correction.has_batches
        require(batches == (self._mixing is not None), "'_mixing' is missing or unexpected")
        if self.sample_ids_ is not None:
            lengths.require_length("sample_ids_", "n", len(self.sample_ids_))
        require_weights("view_weights_", self.view_weights_)
        require_range("n_samples_fit_", self.n_samples_fit_, len(self.labels_))
        require_range("labels_", np.append(self.labels_, 0), 0, self.n_labels(n_clusters) - 1)
        return lengths

    def n_labels(self, n_clusters: int) -> int:
        """Number of clusters after relabeling those that were fitted."""
        if self._relabeling is None:
            return n_clusters
        length = len(self._relabeling.clusters)
        require(length == n_clusters, f"'clusters' has length {length}")
        return len(self._relabeling.names)


@dataclass(kw_only=True)
class DALMCState(FittedState):
    """Learned attributes of DALMC."""

    objective_: Array
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

    def restore(self, model: Any) -> None:
        """Set the learned attributes of a model that has the parameters of the saved one."""
        super().restore(model)
        model.n_components_ = [Z.shape[1] for Z in self.bases_]
        model.n_iter_ = len(self.objective_)
        k = len(self._assignment.centroids)
        require(model.n_clusters == k, f"n_clusters={model.n_clusters}, but it has {k} clusters")
        embeds = self._embedder is not None
        require(embeds == (model.variant == "dalmc"), "it was fitted with another variant")


@validate.register
def _(state: DALMCState) -> DALMCState:
    lengths = state.check(len(state._assignment.centroids))
    lengths.require(state._assignment, centroids="k l")
    require_spread(state, lengths)
    lengths.require(state, objective_="t", bases_="d* m*", anchors_="m* l")
    require_scalings(state.scalings_, lengths)
    if state._embedder is not None:
        require_embedder(state._embedder, lengths)
    return state
