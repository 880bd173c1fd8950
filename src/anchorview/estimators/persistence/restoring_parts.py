"""What the files of all estimators have in common, checked as it is read.

Every function raises ValueError, TypeError or OverflowError for what no fitted model has.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.core.scale import ViewScaling
from anchorview.core.trace import Start, Step, Trace
from anchorview.estimators.base import MultiViewClusterer

Model = TypeVar("Model", bound=MultiViewClusterer)

Kinds = dict[str, type | tuple[type, ...]]

COMMON_FIELDS: Kinds = {
    "params": dict,
    "view_names": list,
    "feature_names": (list, type(None)),
    "sample_ids": (dict, type(None)),
}

SEQUENCES = ("n_clusters", "n_components")
"""Parameters that may be lists."""

LARGEST = 2**31 - 1
"""Most that anything is counted to."""

ROUNDING = 1e-6


def require(condition: bool | np.bool_, reason: str) -> None:
    """Raise unless the condition holds."""
    if not condition:
        raise ValueError(reason)


def require_within(array: Array, low: float, high: float, name: str) -> None:
    """Raise unless all entries are in a range, ends included."""
    inside = array.min() >= low and array.max() <= high
    require(inside, f"{name!r} has entries that are not between {low} and {high}")


def fields(value: Any, kinds: Kinds) -> dict[str, Any]:
    """Fields of a JSON object, which must be exactly these and of these kinds."""
    require(isinstance(value, dict) and value.keys() == kinds.keys(), f"no fields {list(kinds)}")
    for name, kind in kinds.items():
        fits = type(value[name]) in (kind if isinstance(kind, tuple) else (kind,))
        require(fits, f"{name!r} is of another kind")
    return dict(value)


def strings(values: list[Any], name: str) -> list[str]:
    """Check a list of strings."""
    require(all(type(value) is str for value in values), f"{name!r} are not strings")
    return values


def whole(value: Any, name: str, low: int, high: int = LARGEST) -> int:
    """Check a whole number in a range, ends included."""
    require(type(value) is int and low <= value <= high, f"{name!r} is no such number")
    return int(value)


def real(value: Any, name: str, low: float, high: float = math.inf) -> float:
    """Check a finite number in a range, ends included."""
    fits = type(value) is float and low <= value <= high and value < math.inf
    require(fits, f"{name!r} is no such number")
    return float(value)


class Arrays:
    """Arrays of a file, each of which must be asked for, with the shape that it must have."""

    def __init__(self, left: dict[str, Array], scope: str = "") -> None:
        self._left = left
        self._scope = scope

    def within(self, scope: str) -> "Arrays":
        """Arrays whose names begin with a scope, without it."""
        return Arrays(self._left, f"{self._scope}{scope}/")

    def take(
        self,
        name: str,
        *shape: int | None,
        dtypes: tuple[type, ...] = (np.float64,),
        infinite: bool = False,
        empty: bool = False,
    ) -> Array:
        """Take an array of numbers, finite and not empty unless said.

        None leaves the length of an axis open.
        """
        name = self._scope + name
        require(name in self._left, f"{name!r} is missing")
        array = self._left.pop(name)
        fits = array.ndim == len(shape) and all(
            length in (None, own) for length, own in zip(shape, array.shape, strict=True)
        )
        require(fits and (empty or 0 not in array.shape), f"{name!r} has the shape {array.shape}")
        require(array.dtype in dtypes, f"{name!r} has the type {array.dtype}")
        require(not np.isnan(array).any(), f"{name!r} contains NaN")
        require(infinite or not np.isinf(array).any(), f"{name!r} contains infinity")
        return array

    def take_if_there(self, name: str, *shape: int | None, infinite: bool = False) -> Array | None:
        """Take an array that a model may lack."""
        there = self._scope + name in self._left
        return self.take(name, *shape, infinite=infinite) if there else None

    def take_within(self, name: str, *shape: int | None, low: float, high: float) -> Array:
        """Take an array whose entries are in a range, ends included."""
        array = self.take(name, *shape)
        require_within(array, low, high, self._scope + name)
        return array

    def take_shares(self, name: str, count: int) -> Array:
        """Take weights that sum to 1."""
        weights = self.take(name, count)
        in_range = weights.min() >= 0 and weights.max() <= 1 + ROUNDING
        right = in_range and abs(weights.sum() - 1) < ROUNDING
        require(right, f"{self._scope + name!r} is no share")
        return weights

    def take_labels(self, n: int, n_clusters: int) -> Array:
        """Take the clusters of the samples."""
        labels = self.take("labels", n, dtypes=(np.int32,), empty=n == 0)
        in_range = n == 0 or (labels.min() >= 0 and labels.max() < n_clusters)
        require(in_range, "'labels' has clusters that are not there")
        return labels

    def by_view(self, name: str, shapes: Sequence[tuple[int | None, ...]]) -> tuple[Array, ...]:
        """Take the arrays that there are one a view of."""
        return tuple(self.take(f"{name}/{p}", *shape) for p, shape in enumerate(shapes))

    def require_all_taken(self) -> None:
        """Raise if the file has arrays that no one asked for."""
        require(not self._left, f"{min(self._left, default='')!r} is unknown")


def unfitted(estimator: type[Model], params: dict[str, Any]) -> Model:
    """Model with the parameters given, and the defaults of those that are newer than the file."""
    unknown = params.keys() - estimator().get_params().keys()
    require(not unknown, f"the parameter {min(unknown, default='')!r} is unknown")
    for name, value in params.items():
        simple = type(value) in (int, float, str, bool, type(None))
        if name in SEQUENCES and type(value) is list:
            simple = all(type(entry) in (int, float) for entry in value)
        require(simple, f"the parameter {name!r} is of another kind")
    model = estimator(**params)
    model._validate_params()
    return model


def set_view_names(model: MultiViewClusterer, names: list[Any]) -> int:
    """Tell the model the names of its views; returns how many there are."""
    names = strings(names, "view_names")
    require(0 < len(names) == len(set(names)), "view_names are not names of views")
    model.view_names_in_ = tuple(names)
    model.n_views_in_ = len(names)
    return len(names)


def set_features_and_samples(
    model: MultiViewClusterer, widths: Sequence[int], n: int, document: dict[str, Any]
) -> None:
    """Tell the model the features of its views, and their names and the samples' if it has them."""
    model.n_features_per_view_ = tuple(widths)
    model.n_features_in_ = sum(widths)
    if document["feature_names"] is not None:
        names = strings(document["feature_names"], "feature_names")
        require(len(names) == sum(widths), "there is not one name a feature")
        model.feature_names_in_ = np.array(names, dtype=object)
    model.sample_ids_ = _ids(document["sample_ids"], n)


def _ids(value: Any, n: int) -> "pd.Index[Any] | None":
    if value is None:
        return None
    value = fields(value, {"name": (str, type(None)), "labels": list})
    labels = value["labels"]
    require(len(labels) == n, "there is not one id a sample")
    require(all(type(label) in (int, str) for label in labels), "an id is no integer or string")
    return pd.Index(labels, name=value["name"])


def scalings(values: list[Any], arrays: Arrays, widths: Sequence[int]) -> tuple[ViewScaling, ...]:
    """Scalings of views with these numbers of columns."""
    require(len(values) == len(widths), "there is not one scaling a view")
    return tuple(
        _scaling(value, arrays, p, d)
        for p, (value, d) in enumerate(zip(values, widths, strict=True))
    )


def _scaling(value: Any, arrays: Arrays, p: int, d: int) -> ViewScaling:
    value = fields(value, {"unit_first": bool, "unit_last": bool, "norm": float})
    require(0 < value["norm"] < math.inf, "a norm is not positive")
    center = arrays.take_if_there(f"center/{p}", d)
    # Infinity marks a column that is constant.
    deviation = arrays.take_if_there(f"deviation/{p}", d, infinite=True)
    require(deviation is None or deviation.min() > 0, f"'deviation/{p}' is not positive")
    return ViewScaling(center=center, deviation=deviation, **value)


def trace(
    beta: float, arrays: Arrays, widths: Sequence[int], n_anchors: int, n_steps: int
) -> Trace:
    """Trace of an optimization on views with these numbers of columns."""
    require(0 <= beta < math.inf, "'beta' is not a weight")
    by_features = [(d, n_anchors) for d in widths]
    to_representation = arrays.by_view("start/to_representation", [(d, None) for d in widths])
    shapes = [K.shape for K in to_representation]
    by_components = [(m, n_anchors) for _, m in shapes]
    square = [(m, m) for _, m in shapes]
    start = Start(
        to_graph=arrays.by_view("start/to_graph", by_features),
        fill=arrays.by_view("start/fill", by_features),
        to_representation=to_representation,
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
