"""Translation of files of older format versions to the present layout.

Versions 1 and 2 named fields and arrays independently of the classes that hold them. Only the
layout is translated; decoding the result detects values that are missing, unknown or wrong.
"""

import re
from typing import Any

from anchorview._utils.typing import Array
from anchorview.estimators.auto.consensus import DOUBTFUL_CONFIDENCE
from anchorview.estimators.persistence.codec import Tree, insert_arrays, require

PRIVATE = ("assignment", "embedder", "scores", "consensus", "families", "candidates", "failed")
RENAMED = {
    "view_names": "view_names_in_",
    "feature_names": "feature_names_in_",
    "agreement_with_result": "_with_result",
    **{name: f"_{name}" for name in PRIVATE},
}
"""Attributes that are not named as the field with an underscore at its end."""

MOVED_ARRAYS = (
    (r"lift/(center|deviation)/(\d+)$", r"lift_scalings/\2/\1"),
    (r"(center|deviation)/(\d+)$", r"scalings/\2/\1"),
)


def translated(version: int, document: dict[str, Any], arrays: dict[str, Array]) -> Tree:
    """Tree in the present layout for the document and the arrays of a file, which are used up."""
    if version >= 3:
        insert_arrays(document, arrays)
        tree = document
    else:
        tree = _from_version_2(version, document, arrays)
    try:
        if version <= 3:
            _translate_version_3(tree)
        if version <= 4:
            _translate_version_4(tree)
        if version <= 5:
            _translate_version_5(tree)
        _translate_version_6(tree)
    except (LookupError, AttributeError, TypeError) as error:
        raise ValueError(f"a field is missing: {error}") from error
    return tree


def _translate_version_6(tree: Tree) -> None:
    # There was no preprocessing, and views were not selected.
    tree["state"]["preprocessing_"] = tree["state"]["view_selection_"] = None


def _translate_version_5(tree: Tree) -> None:
    # Batches and covariates could not be taken out.
    tree["state"]["_correction"] = tree["state"]["_mixing"] = None


def _translate_version_4(tree: Tree) -> None:
    if tree["estimator"] == "DALMC" and tree["state"]["plan_"] is not None:
        tree["state"]["plan_"]["truncation"] = None
    if tree["estimator"] == "AutoDALMC":
        state, params = tree["state"], tree["params"]
        # The number of candidates was a parameter, and there were no levels.
        limit = params.pop("max_candidates")
        require(limit is None or isinstance(limit, int), "'max_candidates' is unknown")
        params.setdefault("memory_limit", None)
        params["budget"] = "default" if limit is None else "fast"
        state["chance_curve_"] = state["level_labels_"] = None
        state["_levels"], state["_branches"] = [], []
        # Distances to landmarks were measured in all features.
        for _, fitted in state["_families"]:
            for view in () if fitted["lift"] is None else fitted["lift"]["views"]:
                view["directions"] = None
        # All views were used.
        consistency = {"with_others": None, "among_others": None, "used": True, "n_only": 0}
        state["_consistency"] = [dict(consistency) for _ in state["view_names_in_"]]


def _translate_version_3(tree: Tree) -> None:
    state = tree["state"]
    # Feature names were those of a single matrix.
    names = state.pop("feature_names_in_")
    state["feature_names_per_view_"] = [None] * len(state["view_names_in_"])
    if names is not None:
        require(len(state["view_names_in_"]) == 1, "'feature_names_in_' is unexpected")
        state["feature_names_per_view_"] = [names]
    # After partial_fit, which makes no plan, there are only the labels of the last batch.
    known = tree["estimator"] == "AutoDALMC" or state["plan_"] is not None
    state["imputation_"] = state["_spread"] = state["_relabeling"] = None
    if tree["estimator"] == "AutoDALMC":
        state["confidence_threshold_"] = DOUBTFUL_CONFIDENCE
        state["structure_"] = state["chance_agreement_"] = state["second_labels_"] = None
    state["n_samples_fit_"] = (len(state["labels_"]) or None) if known else None
    owners = [state, *state.get("_candidates", ())]
    for embedder in (owner.get("_embedder", owner.get("embedder")) for owner in owners):
        if embedder is not None:
            embedder |= {"complete": False, "maps": None}


def _from_version_2(version: int, document: dict[str, Any], arrays: dict[str, Array]) -> Tree:
    """Tree in the layout of version 3."""
    # In version 1, DALMC was the only estimator.
    require(version == 2 or "estimator" not in document, "'estimator' is unknown")
    document.setdefault("estimator", "DALMC" if version == 1 else None)
    try:
        for name, array in arrays.items():
            for old, new in MOVED_ARRAYS:
                name = re.sub(old, new, name)
            _insert(document, name.split("/"), array)
        fields = _with_lists(document)
        estimator, params = fields.pop("estimator"), fields.pop("params")
        (_translate_auto if estimator == "AutoDALMC" else _translate_dalmc)(fields)
        if fields["sample_ids"] is not None:
            fields["sample_ids"]["data"] = fields["sample_ids"].pop("labels")
    except (LookupError, AttributeError, TypeError) as error:
        raise ValueError(f"a field or an array is missing: {error}") from error
    state = {RENAMED.get(name, f"{name}_"): value for name, value in fields.items()}
    return {"estimator": estimator, "params": params, "state": state}


def _insert(tree: Tree, keys: list[str], array: Array) -> None:
    for key in keys[:-1]:
        tree = tree[int(key)] if isinstance(tree, list) else tree.setdefault(key, {})
    require(keys[-1] not in tree, f"{'/'.join(keys)!r} occurs twice")
    tree[keys[-1]] = array


def _with_lists(tree: Tree) -> Tree:
    """Tree with lists in place of objects whose keys are 0, 1, 2..."""
    if isinstance(tree, list):
        return [_with_lists(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    items = {key: _with_lists(item) for key, item in tree.items()}
    positions = [str(i) for i in range(len(items))]
    return [items[i] for i in positions] if items and items.keys() == set(positions) else items


def _translate_dalmc(fields: dict[str, Tree]) -> None:
    scalings = fields["scalings"] = _completed(fields["scalings"])
    beta = fields.pop("beta")
    fields["n_features_per_view"] = [len(Z) for Z in fields["bases"]]
    fields["assignment"] = {name: fields.pop(name) for name in ("centroids", "normalize")}
    fields["embedder"] = None if beta is None else _embedder(fields, beta, scalings)


def _translate_auto(fields: dict[str, Tree]) -> None:
    curve = fields["curve"]
    if curve is not None:
        index = {"name": "n_clusters", "data": curve.pop("n_clusters")}
        curve |= {"name": "agreement", "data": curve.pop("agreement"), "index": index}
    scalings = {}
    for f, fitted in enumerate(fields["families"]):
        family, before = _family(fitted), fitted.pop("lift_scalings")
        scalings[str(family)] = fitted["scalings"] = _completed(fitted["scalings"])
        fitted.setdefault("lift", None)
        if before is not None:
            names = ("landmarks", "column_factors")
            by_view = zip(*(fitted["lift"].pop(name) for name in names), strict=True)
            fitted["lift"]["views"] = [dict(zip(names, own, strict=True)) for own in by_view]
            fitted["lift"]["scalings"] = _completed(before)
        fields["families"][f] = [family, fitted]
    for candidate in fields["candidates"]:
        setting = candidate["setting"] = _setting(candidate)
        own = scalings[str(setting["family"])]
        candidate["embedder"] = _embedder(candidate, setting["beta"], own)
        centroids, normalize = candidate.pop("centroids"), candidate.pop("normalize")
        candidate["runs"] = [{"centroids": run, "normalize": normalize} for run in centroids]
    fields["failed"] = [[_setting(own), own.pop("error"), *own] for own in fields["failed"]]


def _completed(scalings: list[dict[str, Tree]]) -> list[dict[str, Tree]]:
    return [{"center": None, "deviation": None, **own} for own in scalings]


def _embedder(fields: dict[str, Tree], beta: Tree, scalings: Tree) -> Tree:
    trace = {"beta": beta, "start": fields.pop("start"), "steps": fields.pop("steps", [])}
    return {"trace": trace, "scalings": scalings}


def _family(fields: dict[str, Tree]) -> dict[str, Tree]:
    return {name: fields.pop(name) for name in ("scaling", "n_landmarks")}


def _setting(fields: dict[str, Tree]) -> dict[str, Tree]:
    sizes = {name: fields.pop(name) for name in ("anchors", "components", "beta")}
    return {"family": _family(fields), **sizes}
