"""A fitted model from what its file holds, all of which is checked.

The fields of a model are fixed here. A file that says anything else is refused, so the worst that
a forged one can be is another model.
"""

import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd

from anchorview._typing import Array
from anchorview.assignment import Assignment
from anchorview.dalmc import DALMC
from anchorview.embedding import Embedder
from anchorview.planning import Plan, Route
from anchorview.scaling import ViewScaling
from anchorview.trace import Start, Step, Trace


def restored(document: dict[str, Any], parts: dict[str, Array]) -> DALMC:
    """Model of the JSON document and the arrays of a file.

    Raises
    ------
    ValueError, TypeError or OverflowError
        If they are not those of a fitted model.
    """
    document = _fields(
        document,
        params=dict,
        view_names=list,
        feature_names=(list, type(None)),
        sample_ids=(dict, type(None)),
        scalings=list,
        plan=(dict, type(None)),
        normalize=bool,
        beta=(float, type(None)),
    )
    arrays = _Arrays(parts)
    model = _unfitted(document["params"])

    names = _strings(document["view_names"], "view_names")
    _require(0 < len(names) == len(set(names)), "view_names are not names of views")
    n_views = len(names)
    model.view_names_in_ = tuple(names)
    model.n_views_in_ = n_views

    model.embedding_ = arrays.take("embedding", None, None, dtypes=(np.float32, np.float64))
    n, n_anchors = model.embedding_.shape
    centroids = arrays.take("centroids", None, n_anchors)
    model._assignment = Assignment(centroids, document["normalize"])
    model.labels_ = arrays.take("labels", n, dtypes=(np.int32,))
    in_range = model.labels_.min() >= 0 and model.labels_.max() < len(centroids)
    _require(in_range, "'labels' has clusters that are not there")

    model.bases_ = list(arrays.by_view("bases", [(None, None)] * n_views))
    shapes = [Z.shape for Z in model.bases_]
    model.n_features_per_view_ = tuple(d for d, _ in shapes)
    model.n_features_in_ = sum(model.n_features_per_view_)
    model.n_components_ = [m for _, m in shapes]
    model.anchors_ = list(arrays.by_view("anchors", [(m, n_anchors) for _, m in shapes]))
    model.view_weights_ = arrays.take("view_weights", n_views)
    in_range = model.view_weights_.min() >= 0 and model.view_weights_.max() <= 1
    _require(in_range and abs(model.view_weights_.sum() - 1) < 1e-6, "'view_weights' is no share")
    model.objective_ = arrays.take("objective", None)
    model.n_iter_ = len(model.objective_) - 1

    _require(len(document["scalings"]) == n_views, "there is not one scaling a view")
    model.scalings_ = tuple(
        _scaling(fields, arrays, p, d)
        for p, (fields, (d, _)) in enumerate(zip(document["scalings"], shapes, strict=True))
    )
    # Models that grew batch by batch have no plan.
    if document["plan"] is not None:
        model.plan_ = _plan(document["plan"])
    embeds = document["beta"] is not None
    _require(embeds == (model.variant == "dalmc"), "it was fitted as another variant")
    model._embedder = None
    if embeds:
        trace = _trace(document["beta"], arrays, shapes, n_anchors, model.n_iter_)
        model._embedder = Embedder(trace, model.scalings_)
    _require(not arrays.left, f"{min(arrays.left, default='')!r} is unknown")

    if document["feature_names"] is not None:
        features = _strings(document["feature_names"], "feature_names")
        _require(len(features) == model.n_features_in_, "there is not one name a feature")
        model.feature_names_in_ = np.array(features, dtype=object)
    model.sample_ids_ = _ids(document["sample_ids"], n)
    return model


class _Arrays:
    """Arrays of a file, each of which must be asked for, with the shape that it must have."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self.left = dict(arrays)

    def take(
        self, name: str, *shape: int | None, dtypes: tuple[type, ...] = (np.float64,)
    ) -> Array:
        """Take an array of finite numbers; None leaves the length of an axis open."""
        _require(name in self.left, f"{name!r} is missing")
        array = self.left.pop(name)
        fits = array.ndim == len(shape) and all(
            length in (None, own) for length, own in zip(shape, array.shape, strict=True)
        )
        _require(fits, f"{name!r} has the shape {array.shape}")
        _require(array.dtype in dtypes, f"{name!r} has the type {array.dtype}")
        _require(not np.isnan(array).any(), f"{name!r} contains NaN")
        # Infinity is how a scaling marks a column that is constant.
        infinite = not name.startswith("deviation/") and np.isinf(array).any()
        _require(not infinite, f"{name!r} contains infinity")
        return array

    def by_view(self, name: str, shapes: Sequence[tuple[int | None, ...]]) -> tuple[Array, ...]:
        """Take the arrays that there are one a view of."""
        return tuple(self.take(f"{name}/{p}", *shape) for p, shape in enumerate(shapes))


def _require(condition: bool | np.bool_, reason: str) -> None:
    if not condition:
        raise ValueError(reason)


def _fields(value: Any, **kinds: type | tuple[type, ...]) -> dict[str, Any]:
    """Fields of a JSON object, which must be exactly these and of these kinds."""
    _require(isinstance(value, dict) and value.keys() == kinds.keys(), f"no fields {list(kinds)}")
    for name, kind in kinds.items():
        fits = type(value[name]) in (kind if isinstance(kind, tuple) else (kind,))
        _require(fits, f"{name!r} is of another kind")
    return dict(value)


def _strings(values: list[Any], name: str) -> list[str]:
    _require(all(type(value) is str for value in values), f"{name!r} are not strings")
    return values


def _unfitted(params: dict[str, Any]) -> DALMC:
    """Model with the parameters given, and the defaults of those that are newer than the file."""
    unknown = params.keys() - DALMC().get_params().keys()
    _require(not unknown, f"the parameter {min(unknown, default='')!r} is unknown")
    for name, value in params.items():
        simple = type(value) in (int, float, str, bool, type(None))
        if name == "n_components" and type(value) is list:
            simple = all(type(entry) in (int, float) for entry in value)
        _require(simple, f"the parameter {name!r} is of another kind")
    model = DALMC(**params)
    model._validate_params()
    return model


def _scaling(fields: Any, arrays: _Arrays, p: int, d: int) -> ViewScaling:
    fields = _fields(fields, unit_first=bool, unit_last=bool, norm=float)
    _require(0 < fields["norm"] < math.inf, "a norm is not positive")
    center, deviation = (
        arrays.take(f"{name}/{p}", d) if f"{name}/{p}" in arrays.left else None
        for name in ("center", "deviation")
    )
    _require(deviation is None or deviation.min() > 0, f"'deviation/{p}' is not positive")
    return ViewScaling(center=center, deviation=deviation, **fields)


def _plan(fields: Any) -> Plan:
    fields = _fields(fields, route=str, work=dict, memory=dict)
    for costs in (fields["work"], fields["memory"]):
        known = fields["route"] in costs and costs.keys() <= set(get_args(Route))
        _require(known and costs.keys() == fields["work"].keys(), "'plan' has other routes")
        numbers = all(type(cost) is float and 0 <= cost < math.inf for cost in costs.values())
        _require(numbers, "'plan' has costs that are not numbers")
    return Plan(**fields)


def _trace(
    beta: float, arrays: _Arrays, shapes: list[tuple[int, int]], n_anchors: int, n_steps: int
) -> Trace:
    _require(0 <= beta < math.inf, "'beta' is not a weight")
    by_features = [(d, n_anchors) for d, _ in shapes]
    by_components = [(m, n_anchors) for _, m in shapes]
    square = [(m, m) for _, m in shapes]
    start = Start(
        to_graph=arrays.by_view("start/to_graph", by_features),
        fill=arrays.by_view("start/fill", by_features),
        to_representation=arrays.by_view("start/to_representation", shapes),
    )
    steps = tuple(
        Step(
            weights=arrays.take(f"steps/{t}/weights", len(shapes)),
            bases=arrays.by_view(f"steps/{t}/bases", shapes),
            anchors=arrays.by_view(f"steps/{t}/anchors", by_components),
            to_representation=arrays.by_view(f"steps/{t}/to_representation", square),
            to_graph=arrays.take(f"steps/{t}/to_graph", n_anchors, n_anchors),
        )
        for t in range(n_steps)
    )
    # The matrices lie in memory as after `fit`, because products may round by that differently.
    return Trace(beta, start, steps).converted(list)


def _ids(fields: Any, n: int) -> "pd.Index[Any] | None":
    if fields is None:
        return None
    fields = _fields(fields, name=(str, type(None)), labels=list)
    labels = fields["labels"]
    _require(len(labels) == n, "there is not one id a sample")
    _require(all(type(label) in (int, str) for label in labels), "an id is no integer or string")
    return pd.Index(labels, name=fields["name"])
