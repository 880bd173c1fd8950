"""A fitted model from what its file holds, all of which is checked.

The fields of a model are fixed here. A file that says anything else is refused, so the worst that
a forged one can be is another model.
"""

import math
from typing import Any, get_args

import numpy as np

from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment
from anchorview.core.cost_model import Plan, Route
from anchorview.core.embed import Embedder
from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.dalmc import DALMC
from anchorview.estimators.persistence.restoring_auto import restored_auto
from anchorview.estimators.persistence.restoring_parts import (
    COMMON_FIELDS,
    Arrays,
    Kinds,
    fields,
    require,
    scalings,
    set_features_and_samples,
    set_view_names,
    trace,
    unfitted,
)

FIELDS: Kinds = {
    **COMMON_FIELDS,
    "scalings": list,
    "plan": (dict, type(None)),
    "normalize": bool,
    "beta": (float, type(None)),
}


def restored(document: dict[str, Any], parts: dict[str, Array]) -> DALMC | AutoDALMC:
    """Model of the JSON document and the arrays of a file.

    Raises
    ------
    ValueError, TypeError or OverflowError
        If they are not those of a fitted model.
    """
    estimator = document.get("estimator")
    fixed = {name: value for name, value in document.items() if name != "estimator"}
    arrays = Arrays(dict(parts))
    model: DALMC | AutoDALMC
    if estimator == "DALMC":
        model = _restored_dalmc(fixed, arrays)
    elif estimator == "AutoDALMC":
        model = restored_auto(fixed, arrays)
    else:
        raise ValueError("its estimator is unknown")
    arrays.require_all_taken()
    return model


def _restored_dalmc(document: dict[str, Any], arrays: Arrays) -> DALMC:
    document = fields(document, FIELDS)
    model = unfitted(DALMC, document["params"])
    n_views = set_view_names(model, document["view_names"])

    # A fit that wrote its results to files or kept them on workers has none in the model's file.
    model.embedding_ = arrays.take(
        "embedding", None, None, dtypes=(np.float32, np.float64), empty=True
    )
    n, n_anchors = model.embedding_.shape
    centroids = arrays.take("centroids", None, n_anchors)
    model._assignment = Assignment(centroids, document["normalize"])
    model.labels_ = arrays.take_labels(n, len(centroids))

    model.bases_ = list(arrays.by_view("bases", [(None, None)] * n_views))
    shapes = [Z.shape for Z in model.bases_]
    widths = [d for d, _ in shapes]
    set_features_and_samples(model, widths, n, document)
    model.n_components_ = [m for _, m in shapes]
    model.anchors_ = list(arrays.by_view("anchors", [(m, n_anchors) for _, m in shapes]))
    model.view_weights_ = arrays.take_shares("view_weights", n_views)
    model.objective_ = arrays.take("objective", None)
    model.n_iter_ = len(model.objective_) - 1

    model.scalings_ = scalings(document["scalings"], arrays, widths)
    # Models that grew batch by batch have no plan.
    if document["plan"] is not None:
        model.plan_ = _plan(document["plan"])
    embeds = document["beta"] is not None
    require(embeds == (model.variant == "dalmc"), "it was fitted as another variant")
    model._embedder = None
    if embeds:
        steps = trace(document["beta"], arrays, widths, n_anchors, model.n_iter_)
        fits = [K.shape for K in steps.start.to_representation] == shapes
        require(fits, "'start/to_representation' has another shape than 'bases'")
        model._embedder = Embedder(steps, model.scalings_)
    return model


def _plan(value: Any) -> Plan:
    value = fields(value, {"route": str, "work": dict, "memory": dict})
    for costs in (value["work"], value["memory"]):
        known = value["route"] in costs and costs.keys() <= set(get_args(Route))
        require(known and costs.keys() == value["work"].keys(), "'plan' has other routes")
        numbers = all(type(cost) is float and 0 <= cost < math.inf for cost in costs.values())
        require(numbers, "'plan' has costs that are not numbers")
    return Plan(**value)
