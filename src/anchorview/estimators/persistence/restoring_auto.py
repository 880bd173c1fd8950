"""A fitted AutoDALMC from what its file holds, all of which is checked."""

import math
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment
from anchorview.core.embed import Embedder
from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.auto.candidates import (
    POOL_SCALINGS,
    RUNS,
    Candidate,
    Family,
    FittedFamily,
    Setting,
)
from anchorview.estimators.auto.cluster_number import numbers_to_try
from anchorview.estimators.auto.consensus import Consensus
from anchorview.estimators.auto.landmarks import Lift, ViewLift
from anchorview.estimators.persistence.restoring_parts import (
    COMMON_FIELDS,
    ROUNDING,
    Arrays,
    Kinds,
    fields,
    real,
    require,
    require_within,
    scalings,
    set_features_and_samples,
    set_view_names,
    trace,
    unfitted,
    whole,
)

FIELDS: Kinds = {
    **COMMON_FIELDS,
    "n_features_per_view": list,
    "n_clusters": int,
    "curve": (dict, type(None)),
    "families": list,
    "candidates": list,
    "failed": list,
    "best_candidate": int,
}

FAMILY_FIELDS: Kinds = {"scaling": str, "n_landmarks": (int, type(None))}
FITTED_FAMILY_FIELDS: Kinds = {
    **FAMILY_FIELDS,
    "scalings": list,
    "lift_scalings": (list, type(None)),
}

SETTING_FIELDS: Kinds = {**FAMILY_FIELDS, "anchors": int, "components": int, "beta": float}
FAILED_FIELDS: Kinds = {**SETTING_FIELDS, "error": str}
CANDIDATE_FIELDS: Kinds = {
    **SETTING_FIELDS,
    "normalize": bool,
    "inertia": float,
    "seconds": float,
}


def restored_auto(document: dict[str, Any], arrays: Arrays) -> AutoDALMC:
    """Model of the JSON document, without the estimator's name, and the arrays of a file."""
    document = fields(document, FIELDS)
    model = unfitted(AutoDALMC, document["params"])
    n_views = set_view_names(model, document["view_names"])
    widths = [whole(d, "n_features_per_view", 1) for d in document["n_features_per_view"]]
    require(len(widths) == n_views, "'n_features_per_view' is not one number a view")

    model.n_clusters_ = k = whole(document["n_clusters"], "n_clusters", 2)
    model.curve_ = _curve(document["curve"], k)
    model._families = _families(document["families"], arrays, widths)
    model._candidates = [
        _candidate(value, arrays.within(f"candidates/{c}"), model._families, widths, k)
        for c, value in enumerate(document["candidates"])
    ]
    used = {c.setting.family for c in model._candidates}
    require(len(used) > 0 and used == model._families.keys(), "a family has no candidate")
    model._failed = [_failed(value) for value in document["failed"]]
    last = len(model._candidates) - 1
    model.best_candidate_ = whole(document["best_candidate"], "best_candidate", 0, last)
    best = model._candidates[model.best_candidate_]
    model.objective_ = best.objective
    model.n_iter_ = len(best.objective) - 1

    model.embedding_ = arrays.take(
        "embedding", None, best.embedder.trace.n_anchors, dtypes=(np.float32, np.float64)
    )
    n = len(model.embedding_)
    numbers_to_try(model.n_clusters, n)
    set_features_and_samples(model, widths, n, document)
    model.labels_ = arrays.take_labels(n, k)
    model.confidence_ = arrays.take_within("confidence", n, low=0, high=1)
    model.view_weights_ = arrays.take_shares("view_weights", n_views)
    model.view_agreement_ = _agreement(arrays, "view_agreement", n_views)
    _set_agreement(model, arrays)
    model._consensus = _consensus(arrays.within("consensus"), RUNS * len(model._candidates), k)
    model.candidates_ = model._table()
    return model


def _curve(value: Any, n_clusters: int) -> "pd.Series[float] | None":
    if value is None:
        return None
    value = fields(value, {"n_clusters": list, "agreement": list})
    numbers = [whole(number, "curve", 2) for number in value["n_clusters"]]
    ascending = numbers == sorted(set(numbers))
    require(ascending and n_clusters in numbers, "'curve' is not over numbers of clusters")
    require(len(numbers) == len(value["agreement"]), "'curve' is not one agreement a number")
    found = {
        number: math.nan if agreement is None else real(agreement, "curve", -1, 1 + ROUNDING)
        for number, agreement in zip(numbers, value["agreement"], strict=True)
    }
    return pd.Series(found, name="agreement").rename_axis("n_clusters")


def _family(value: dict[str, Any]) -> Family:
    require(value["scaling"] in POOL_SCALINGS, "a family's scaling is unknown")
    if value["n_landmarks"] is not None:
        whole(value["n_landmarks"], "n_landmarks", 1)
    return Family(value["scaling"], value["n_landmarks"])


def _families(values: list[Any], arrays: Arrays, widths: list[int]) -> dict[Family, FittedFamily]:
    families: dict[Family, FittedFamily] = {}
    for f, value in enumerate(values):
        value = fields(value, FITTED_FAMILY_FIELDS)
        family = _family(value)
        require(family not in families, "a family is there twice")
        families[family] = _fitted_family(family, value, arrays.within(f"families/{f}"), widths)
    return families


def _fitted_family(
    family: Family, value: dict[str, Any], arrays: Arrays, widths: list[int]
) -> FittedFamily:
    before = value["lift_scalings"]
    require((before is None) == (family.n_landmarks is None), "a family is lifted by half")
    lift = None
    if before is not None:
        lift = _lift(before, arrays.within("lift"), widths)
        widths = _lifted_widths(lift)
        fits = family.n_landmarks is not None and max(widths) <= family.n_landmarks
        require(fits, "a family has more landmarks than it says")
    return FittedFamily(lift, scalings(value["scalings"], arrays, widths))


def _lifted_widths(lift: Lift) -> list[int]:
    return [len(view.landmarks) for view in lift.views]


def _lift(values: list[Any], arrays: Arrays, widths: list[int]) -> Lift:
    landmarks = arrays.by_view("landmarks", [(None, d) for d in widths])
    views = [
        ViewLift(own, arrays.take_within(f"column_factors/{p}", len(own), low=0, high=math.inf))
        for p, own in enumerate(landmarks)
    ]
    return Lift(scalings(values, arrays, widths), tuple(views))


def _setting(value: dict[str, Any]) -> Setting:
    return Setting(
        _family(value),
        whole(value["anchors"], "anchors", 1),
        whole(value["components"], "components", 1),
        real(value["beta"], "beta", 0),
    )


def _failed(value: Any) -> tuple[Setting, str]:
    value = fields(value, FAILED_FIELDS)
    return _setting(value), value["error"]


def _candidate(
    value: Any,
    arrays: Arrays,
    families: dict[Family, FittedFamily],
    widths: list[int],
    n_clusters: int,
) -> Candidate:
    value = fields(value, CANDIDATE_FIELDS)
    setting = _setting(value)
    require(setting.family in families, "a candidate's family is missing")
    family = families[setting.family]
    widths = widths if family.lift is None else _lifted_widths(family.lift)
    centroids = arrays.take("centroids", RUNS, n_clusters, None)
    objective = arrays.take("objective", None)
    steps = trace(setting.beta, arrays, widths, centroids.shape[2], len(objective) - 1)
    return Candidate(
        setting,
        Embedder(steps, family.scalings),
        tuple(Assignment(own, value["normalize"]) for own in centroids),
        arrays.take_shares("view_weights", len(widths)),
        objective,
        inertia=real(value["inertia"], "inertia", 0),
        seconds=real(value["seconds"], "seconds", 0),
    )


def _agreement(arrays: Arrays, name: str, *shape: int) -> Array:
    """Adjusted Rand indices."""
    return arrays.take_within(name, *shape, low=-1, high=1 + ROUNDING)


def _set_agreement(model: AutoDALMC, arrays: Arrays) -> None:
    """Tell the model how well its candidates agree."""
    count = len(model._candidates)
    model.agreement_ = _agreement(arrays, "agreement", count, count)
    mutual = np.allclose(model.agreement_, model.agreement_.T, atol=ROUNDING)
    require(mutual, "'agreement' is not mutual")
    model._scores = _agreement(arrays, "scores", count)
    model._with_result = _agreement(arrays, "agreement_with_result", count)


def _consensus(arrays: Arrays, n_partitions: int, n_clusters: int) -> Consensus:
    patterns = arrays.take_within(
        "patterns", n_clusters, n_partitions, n_clusters, low=0, high=1 + ROUNDING
    )
    # Minus infinity marks a cluster that is empty.
    offsets = arrays.take("offsets", n_clusters, infinite=True)
    require(-math.inf < offsets.max() <= 0, "'consensus/offsets' are no offsets")
    votes = arrays.take("votes", n_partitions, n_clusters, dtypes=(np.int32,))
    require_within(votes, -1, n_clusters - 1, "consensus/votes")
    return Consensus(patterns, offsets, votes, arrays.take_shares("weights", n_partitions))
