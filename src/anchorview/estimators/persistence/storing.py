"""What a file holds of a fitted model: a JSON document and named arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.core.cost_model import Plan
from anchorview.core.embed import Embedder
from anchorview.core.scale import ViewScaling
from anchorview.core.trace import Trace
from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.auto.candidates import Candidate, Family, FittedFamily, Setting
from anchorview.estimators.dalmc import DALMC


def stored(model: DALMC | AutoDALMC) -> tuple[dict[str, Any], dict[str, Array]]:
    """JSON document and arrays of a fitted model."""
    if isinstance(model, AutoDALMC):
        return _auto_document(model), _auto_arrays(model)
    return _dalmc_document(model), _dalmc_arrays(model)


def _dalmc_document(model: DALMC) -> dict[str, Any]:
    embedder: Embedder | None = model._embedder
    return {
        "estimator": "DALMC",
        **_common(model),
        "scalings": _plain_scalings(model.scalings_),
        "plan": _plain_plan(getattr(model, "plan_", None)),
        "normalize": bool(model._assignment.normalize),
        "beta": None if embedder is None else float(embedder.trace.beta),
    }


def _dalmc_arrays(model: DALMC) -> dict[str, Array]:
    embedder: Embedder | None = model._embedder
    return {
        "labels": _if_held(model.labels_),
        "embedding": _if_held(model.embedding_),
        "view_weights": model.view_weights_,
        "objective": model.objective_,
        "centroids": model._assignment.centroids,
        **_by_view("anchors", model.anchors_),
        **_by_view("bases", model.bases_),
        **_scaling_arrays(model.scalings_),
        **({} if embedder is None else _trace_arrays(embedder.trace)),
    }


def _if_held(rows: Any) -> Array:
    """Rows of all samples, or none of those that are kept in files or on workers."""
    # A copy of a memory map is one by name only, and has no file.
    if isinstance(rows, np.ndarray) and getattr(rows, "filename", None) is None:
        return np.asarray(rows)
    return np.empty((0, *rows.shape[1:]), rows.dtype)


def _auto_document(model: AutoDALMC) -> dict[str, Any]:
    return {
        "estimator": "AutoDALMC",
        **_common(model),
        "n_features_per_view": list(model.n_features_per_view_),
        "n_clusters": model.n_clusters_,
        "curve": _plain_curve(model.curve_),
        "families": [_plain_family(*item) for item in model._families.items()],
        "candidates": [_plain_candidate(candidate) for candidate in model._candidates],
        "failed": [{**_plain_setting(s), "error": error} for s, error in model._failed],
        "best_candidate": model.best_candidate_,
    }


def _auto_arrays(model: AutoDALMC) -> dict[str, Array]:
    consensus = model._consensus
    arrays = {
        "labels": model.labels_,
        "confidence": model.confidence_,
        "embedding": model.embedding_,
        "view_weights": model.view_weights_,
        "view_agreement": model.view_agreement_,
        "agreement": model.agreement_,
        "agreement_with_result": model._with_result,
        "scores": model._scores,
        "consensus/patterns": consensus.patterns,
        "consensus/offsets": consensus.offsets,
        "consensus/votes": consensus.votes,
        "consensus/weights": consensus.weights,
    }
    for f, family in enumerate(model._families.values()):
        arrays |= _within(f"families/{f}", _family_arrays(family))
    for c, candidate in enumerate(model._candidates):
        arrays |= _within(f"candidates/{c}", _candidate_arrays(candidate))
    return arrays


def _common(model: DALMC | AutoDALMC) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", None)
    return {
        "params": {name: _plain(value) for name, value in model.get_params().items()},
        "view_names": list(model.view_names_in_),
        "feature_names": None if names is None else list(names),
        "sample_ids": _plain_ids(model.sample_ids_ if len(_if_held(model.labels_)) else None),
    }


def _plain(value: Any) -> Any:
    """Value of a parameter as JSON has it."""
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.generic) or np.ndim(value):
        return np.asarray(value).tolist()
    return value


def _plain_ids(ids: "pd.Index[Any] | None") -> dict[str, Any] | None:
    if ids is None:
        return None
    return {
        "name": ids.name if isinstance(ids.name, str) else None,
        "labels": [label if type(label) is int else str(label) for label in ids.tolist()],
    }


def _plain_plan(plan: Plan | None) -> dict[str, Any] | None:
    if plan is None:
        return None
    return {
        "route": plan.route,
        "work": {route: float(cost) for route, cost in plan.work.items()},
        "memory": {route: float(cost) for route, cost in plan.memory.items()},
    }


def _plain_curve(curve: "pd.Series[float] | None") -> dict[str, Any] | None:
    if curve is None:
        return None
    return {
        "n_clusters": curve.index.tolist(),
        # JSON has no NaN.
        "agreement": [None if np.isnan(value) else value for value in curve.tolist()],
    }


def _plain_family(family: Family, fitted: FittedFamily) -> dict[str, Any]:
    lift = fitted.lift
    return {
        "scaling": family.scaling,
        "n_landmarks": family.n_landmarks,
        "scalings": _plain_scalings(fitted.scalings),
        "lift_scalings": None if lift is None else _plain_scalings(lift.scalings),
    }


def _family_arrays(fitted: FittedFamily) -> dict[str, Array]:
    arrays = _scaling_arrays(fitted.scalings)
    if fitted.lift is not None:
        views = fitted.lift.views
        lifting = {
            **_scaling_arrays(fitted.lift.scalings),
            **_by_view("landmarks", [view.landmarks for view in views]),
            **_by_view("column_factors", [view.column_factors for view in views]),
        }
        arrays |= _within("lift", lifting)
    return arrays


def _plain_setting(setting: Setting) -> dict[str, Any]:
    return {
        "scaling": setting.family.scaling,
        "n_landmarks": setting.family.n_landmarks,
        "anchors": setting.anchors,
        "components": setting.components,
        "beta": setting.beta,
    }


def _plain_candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        **_plain_setting(candidate.setting),
        "normalize": candidate.runs[0].normalize,
        "inertia": candidate.inertia,
        "seconds": candidate.seconds,
    }


def _candidate_arrays(candidate: Candidate) -> dict[str, Array]:
    return {
        "centroids": np.array([run.centroids for run in candidate.runs]),
        "view_weights": candidate.view_weights,
        "objective": candidate.objective,
        **_trace_arrays(candidate.embedder.trace),
    }


def _plain_scalings(scalings: Sequence[ViewScaling]) -> list[dict[str, Any]]:
    return [
        {"unit_first": s.unit_first, "unit_last": s.unit_last, "norm": float(s.norm)}
        for s in scalings
    ]


def _scaling_arrays(scalings: Sequence[ViewScaling]) -> dict[str, Array]:
    return {
        **_by_view("center", [s.center for s in scalings]),
        **_by_view("deviation", [s.deviation for s in scalings]),
    }


def _trace_arrays(trace: Trace) -> dict[str, Array]:
    start = trace.start
    arrays = {
        **_by_view("start/to_graph", start.to_graph),
        **_by_view("start/fill", start.fill),
        **_by_view("start/to_representation", start.to_representation),
    }
    for t, step in enumerate(trace.steps):
        arrays[f"steps/{t}/weights"] = step.weights
        arrays[f"steps/{t}/to_graph"] = step.to_graph
        arrays |= _by_view(f"steps/{t}/bases", step.bases)
        arrays |= _by_view(f"steps/{t}/anchors", step.anchors)
        arrays |= _by_view(f"steps/{t}/to_representation", step.to_representation)
    return arrays


def _within(scope: str, arrays: dict[str, Array]) -> dict[str, Array]:
    return {f"{scope}/{name}": array for name, array in arrays.items()}


def _by_view(name: str, arrays: Sequence[Array | None]) -> dict[str, Array]:
    return {f"{name}/{p}": array for p, array in enumerate(arrays) if array is not None}
