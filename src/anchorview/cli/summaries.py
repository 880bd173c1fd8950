"""Summaries of data, fits and models: tables of views, and lines of text."""

# Imported by ``--help``: scikit-learn and pandas are imported only where they are used.
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anchorview.cli.terminal import print_table, printable

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from anchorview.views.container import MultiViewData
    from anchorview.views.stored_view import Target, ViewFile


MAX_LISTED_NUMBERS = 6
"""Maximum number of numbers of clusters that are listed one by one."""

MAX_SPLITS = 5
"""Maximum number of lines on clusters that split."""


def print_views(views: Mapping[str, Any], available: "NDArray[np.bool_] | None" = None) -> None:
    """Print the size, type and number of available samples of each view."""
    print_table(_view_rows(views, available), "View", "Features", "Type", "Samples")


def _view_rows(
    views: Mapping[str, Any], available: "NDArray[np.bool_] | None"
) -> list[tuple[str, int, str, int]]:
    rows = []
    for p, (name, view) in enumerate(views.items()):
        n_available = view.shape[0] if available is None else available[:, p].sum()
        kind = f"{view.dtype} sparse" if hasattr(view, "indptr") else str(view.dtype)
        rows.append((name, int(view.shape[1]), kind, int(n_available)))
    return rows


def print_views_of_model(model: Any) -> None:
    """Print the weight of each view and, for AutoDALMC, its agreement with the result."""
    columns = {
        "Features": model.n_features_per_view_,
        "Weight": [f"{weight:.3f}" for weight in model.view_weights_],
    }
    if hasattr(model, "candidates_"):
        columns["Agreement"] = [f"{score:.3f}" for score in model.view_agreement_]
    print_table(zip(model.view_names_in_, *columns.values(), strict=True), "View", *columns)


def data_lines(data: "MultiViewData", target: "Target") -> Iterator[str]:
    """Yield the lines on the data set as a whole."""
    views = "1 view" if len(data.views) == 1 else f"{len(data.views)} views"
    yield f"{len(data)} samples, {data.shape[1]} features in {views}"
    missing = 0.0 if data.available is None else 1 - float(data.available.mean())
    if missing:
        yield f"{missing:.1%} of the view entries are missing, in {len(data.groups)} patterns"
    if target is not None:
        yield f"{len(set(target.tolist()))} classes, used only for scores"


def fit_lines(model: Any, confidence: "NDArray[Any] | None", seconds: float) -> Iterator[str]:
    """Yield the lines on a fit; the confidence is None if it is on workers, or there is none."""
    from anchorview.estimators.representation import batch_sentences

    clusters = f"{len(model.labels_)} samples in {_n_clusters(model)} clusters by "
    if hasattr(model, "candidates_"):
        yield f"{clusters}AutoDALMC ({_candidates(model)}), {seconds:.2f} s"
        yield from _auto_lines(model, confidence)
    else:
        most = f" of at most {model.max_iter}" if hasattr(model, "max_iter") else ""
        yield f"{clusters}{type(model).__name__}, {model.n_iter_}{most} iterations, {seconds:.2f} s"
    yield from batch_sentences(model)


def model_lines(model: Any) -> Iterator[str]:
    """Yield the lines on a model that was loaded from a file."""
    from sklearn.base import clone

    yield " ".join(str(clone(model)).split())
    samples = f"{len(model.labels_)} samples in clusters of {_sizes(model, model.labels_)}"
    if not len(model.labels_):
        samples = "no labels in this file: the fit wrote them elsewhere or left them on workers"
    if hasattr(model, "candidates_"):
        yield samples
        yield f"{_candidates(model)}; the best has {_best_setting(model)}"
        yield from _auto_lines(model, model.confidence_ if len(model.labels_) else None)
    else:
        yield f"{samples}, {model.n_iter_} iterations"
    yield from cluster_lines(model)


def prediction_lines(
    model: Any,
    labels: "NDArray[Any]",
    confidence: "NDArray[Any] | None",
    level: int | None = None,
) -> Iterator[str]:
    """Yield the lines on the labels that a model predicted, at the chosen level or another."""
    yield f"{len(labels)} samples; sizes of the clusters: {_sizes(model, labels, level)}"
    if confidence is not None:
        yield _doubtful(model, confidence)


def size_lines(
    model: Any, labels: "NDArray[Any] | None", data: "MultiViewData | ViewFile"
) -> Iterator[str]:
    """Yield the lines on the sizes of the clusters, and on missing views of data in memory."""
    if labels is not None:
        yield f"sizes of the clusters: {_sizes(model, labels)}"
    missing = {name: count for name, count in _n_missing(data).items() if count}
    if missing:
        views = ", ".join(f"{printable(name)} in {count}" for name, count in missing.items())
        yield f"samples without a view: {views}"


def closing_lines(
    scores: Mapping[str, float], written: Mapping[str, Path], given: Mapping[str, Path]
) -> Iterator[str]:
    """Yield the lines on the scores and on what was written, by option."""
    if scores:
        yield "  ".join(f"{name} {score:.4f}" for name, score in scores.items())
    labels = written.get("--out", written.get("--results"))
    if labels is not None:
        yield f"Labels written to {'standard output' if str(labels) == '-' else printable(labels)}"
    elif "--out" not in given and "--results" not in given:
        yield "Labels not written; to keep them, add --out labels.csv"
    if "--save" in written:
        yield f"Model saved to {printable(written['--save'])}"
    if "--results" in written and "--out" in written:
        yield f"Embedding, sample ids and labels written to {printable(written['--results'])}"
    if "--report" in written:
        yield f"Report written to {printable(written['--report'])}"


def fit_record(
    model: Any,
    labels: "NDArray[Any] | None",
    confidence: "NDArray[Any] | None",
    data: "MultiViewData | ViewFile",
    scores: Mapping[str, float],
    seconds: float,
    written: Mapping[str, Path],
) -> dict[str, Any]:
    """Machine-readable summary of a fit."""
    record: dict[str, Any] = {
        "method": type(model).__name__,
        "n_samples": len(model.labels_),
        "n_clusters": _n_clusters(model),
        "cluster_sizes": None if labels is None else _sizes(model, labels),
        "seconds": seconds,
        "views": view_records(model),
        "scores": dict(scores) or None,
    }
    missing = _n_missing(data)
    for view in record["views"]:
        view["n_samples_missing"] = missing.get(view["name"])
    if hasattr(model, "candidates_"):
        doubtful = None if confidence is None else _n_doubtful(model, confidence)
        record |= {"n_doubtful": doubtful, "structure": model.structure_}
        if model.curve_ is not None:
            curve = model.curve_.items()
            record["agreement_by_n_clusters"] = {str(k): float(score) for k, score in curve}
        record |= _level_records(model)
    else:
        record["n_iter"] = int(model.n_iter_)
    record["outputs"] = {option.removeprefix("--"): str(path) for option, path in written.items()}
    return record


def prediction_record(
    model: Any,
    labels: "NDArray[Any]",
    confidence: "NDArray[Any] | None",
    scores: Mapping[str, float],
    out: Path | None,
    level: int | None = None,
) -> dict[str, Any]:
    """Machine-readable summary of a prediction, at the chosen level or another."""
    sizes = _sizes(model, labels, level)
    return {
        "n_samples": len(labels),
        "n_clusters": len(sizes),
        "cluster_sizes": sizes,
        "n_doubtful": None if confidence is None else _n_doubtful(model, confidence),
        "scores": dict(scores) or None,
        "outputs": {} if out is None else {"out": str(out)},
    }


def model_record(model: Any) -> dict[str, Any]:
    """Machine-readable description of a saved model."""
    names = {} if model.cluster_names_ is None else {"cluster_names": list(model.cluster_names_)}
    return {
        "method": type(model).__name__,
        "params": model.get_params(),
        "n_samples": len(model.labels_),
        "n_clusters": _n_clusters(model),
        "cluster_sizes": _sizes(model, model.labels_) if len(model.labels_) else None,
        **names,
        **_level_records(model),
        "n_iter": int(model.n_iter_),
        "views": view_records(model),
    }


def cluster_lines(model: Any) -> Iterator[str]:
    """Yield a line on each cluster of a model with names."""
    sizes = _sizes(model, model.labels_) if len(model.labels_) else None
    for cluster, name in enumerate(model.cluster_names_ or ()):
        size = "" if sizes is None else f": {sizes[cluster]} samples"
        yield f"Cluster {cluster}{'' if name == str(cluster) else f', {printable(name)}'}{size}"


def view_records(model: Any) -> list[dict[str, Any]]:
    """Name, width, weight and, for AutoDALMC, agreement of each view, and whether it is used."""
    views = zip(model.view_names_in_, model.n_features_per_view_, model.view_weights_, strict=True)
    records: list[dict[str, Any]] = [
        {"name": name, "n_features": int(width), "weight": float(weight)}
        for name, width, weight in views
    ]
    if hasattr(model, "candidates_"):
        for record, agreement in zip(records, model.view_agreement_, strict=True):
            record["agreement"] = float(agreement)
            record["used"] = record["name"] in model.views_used_
    return records


def data_record(
    views: Mapping[str, Any], available: "NDArray[np.bool_] | None", target: "Target"
) -> dict[str, Any]:
    """Machine-readable description of a data set."""
    n_samples = next(iter(views.values())).shape[0]
    rows = _view_rows(views, available)
    return {
        "n_samples": int(n_samples),
        "n_features": sum(width for _, width, _, _ in rows),
        "n_classes": None if target is None else len(set(target.tolist())),
        "views": [
            {"name": name, "n_features": width, "type": kind, "n_samples": count}
            for name, width, kind, count in rows
        ],
    }


def _auto_lines(model: Any, confidence: "NDArray[Any] | None") -> Iterator[str]:
    from anchorview.estimators.auto.structure import structure_sentence
    from anchorview.estimators.representation import view_sentences

    if model.curve_ is not None:
        yield from level_lines(model)
    if confidence is not None:
        yield _doubtful(model, confidence)
    if model.structure_ is not None:
        yield structure_sentence(model.structure_)
    yield from map(printable, view_sentences(model))
    failed = int((model.candidates_["error"] != "").sum())
    if failed:
        yield f"{failed} of {len(model.candidates_)} candidates could not be fitted"


def _candidates(model: Any) -> str:
    agreement = model.candidates_["agreement_with_result"].dropna()
    count = "1 candidate" if len(agreement) == 1 else f"{len(agreement)} candidates"
    return f"{count}, mean agreement with the result {agreement.mean():.2f}"


def _best_setting(model: Any) -> str:
    best = model.candidates_.iloc[model.best_candidate_]
    return (
        f"scaling {best['scaling']}, {best['n_anchors']} anchors, {best['n_components']} "
        f"components, beta {best['beta']:g}"
    )


def _doubtful(model: Any, confidence: "NDArray[Any]") -> str:
    n, count, limit = len(confidence), _n_doubtful(model, confidence), model.confidence_threshold_
    return f"doubtful samples (confidence below {limit:.2g}): {count} of {n} ({count / n:.1%})"


def _n_doubtful(model: Any, confidence: "NDArray[Any]") -> int:
    return int((confidence < model.confidence_threshold_).sum())


def _sizes(model: Any, labels: "NDArray[Any]", level: int | None = None) -> list[int]:
    import numpy as np

    count = _n_clusters(model) if level is None else level
    sizes: list[int] = np.bincount(labels, minlength=count).tolist()
    return sizes


def _n_missing(data: "MultiViewData | ViewFile") -> dict[str, int]:
    """Number of samples without each view; nothing if the data were not read into memory."""
    if not hasattr(data, "names"):
        return {}
    if data.available is None:
        return dict.fromkeys(data.names, 0)
    return dict(zip(data.names, (~data.available).sum(axis=0).tolist(), strict=True))


def _n_clusters(model: Any) -> int:
    # The parameter of AutoDALMC may be None or several numbers.
    return int(getattr(model, "n_clusters_", model.n_clusters))


def level_lines(model: Any) -> Iterator[str]:
    """Yield the lines on the chosen number of clusters, other levels, and clusters that split."""
    from anchorview.estimators.auto.levels import TRIVIAL_NUMBER, support_beyond
    from anchorview.inspection.cluster_splits import level_steps

    curve, chosen = model.curve_, model.n_clusters_fit_
    line = f"chose {chosen} clusters among {_tried(curve.index.tolist())}: "
    line += _evidence(model.levels_.loc[chosen])
    if chosen > TRIVIAL_NUMBER and TRIVIAL_NUMBER in curve.index:
        chance = model.chance_curve_[TRIVIAL_NUMBER]
        trivial = float(support_beyond(curve[TRIVIAL_NUMBER], chance))
        if trivial > model.levels_.loc[chosen, "support"]:
            line += f"; {TRIVIAL_NUMBER}: {trivial:.2f}, not clearly better"
    yield line
    for number, level in model.levels_.drop(chosen).iterrows():
        yield f"another level: {number} clusters, {_evidence(level)}"
    lines = [
        f"at {step.fine} clusters: cluster {printable(split.parent)} of {step.coarse} splits into "
        f"{len(split.children)} (agreement {split.agreement:.2f}, by chance {split.chance:.2f})"
        for step in level_steps(model)
        if chosen in (step.coarse, step.fine)
        for split in step.splits
        if split.support > 0
    ]
    shown = len(lines) if len(lines) <= MAX_SPLITS else MAX_SPLITS - 1
    yield from lines[:shown]
    if len(lines) > shown:
        yield f"{len(lines) - shown} more clusters split"


def _level_records(model: Any) -> dict[str, Any]:
    """Levels as JSON can hold them; nothing if there are none."""
    if getattr(model, "levels_", None) is None:
        return {}
    return {"levels": model.levels_.reset_index().to_dict("records")}


def _tried(numbers: Sequence[int]) -> str:
    """Numbers of clusters, in short."""
    low, high = numbers[0], numbers[-1]
    if len(numbers) > 2 and len(numbers) == high - low + 1:
        return f"{low}-{high}"
    if len(numbers) <= MAX_LISTED_NUMBERS:
        return ", ".join(map(str, numbers))
    return f"{len(numbers)} numbers from {low} to {high}"


def _evidence(level: "pd.Series[float]") -> str:
    return (
        f"support {level['support']:.2f} (agreement {level['agreement']:.2f}, by chance "
        f"{level['chance']:.2f})"
    )
