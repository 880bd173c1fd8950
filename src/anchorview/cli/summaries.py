"""Summaries of data, fits and models: tables of views, and lines of text."""

# Imported by ``--help``: scikit-learn and pandas are imported only where they are used.
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anchorview.cli.terminal import print_table, printable

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from anchorview.views.container import MultiViewData
    from anchorview.views.view_file import Target

RUNNERS_UP = 3
"""Numbers of clusters listed beside the chosen one."""


def print_views(views: Mapping[str, Any], available: "NDArray[np.bool_] | None" = None) -> None:
    """Print the size, type and number of available samples of each view."""
    rows = []
    for p, (name, view) in enumerate(views.items()):
        n_available = view.shape[0] if available is None else int(available[:, p].sum())
        kind = f"{view.dtype} sparse" if hasattr(view, "indptr") else view.dtype
        rows.append((name, view.shape[1], kind, n_available))
    print_table(rows, "View", "Features", "Type", "Samples")


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
    yield f"{len(data)} samples, {data.shape[1]} features in {len(data.views)} views"
    missing = 0.0 if data.available is None else 1 - float(data.available.mean())
    if missing:
        yield f"{missing:.1%} of the view entries are missing, in {len(data.groups)} patterns"
    if target is not None:
        yield f"{len(set(target.tolist()))} classes, used only for scores"


def fit_lines(model: Any, seconds: float) -> Iterator[str]:
    """Yield the lines on a fit."""
    found = f"{len(model.labels_)} samples in {_n_clusters(model)} clusters by "
    if hasattr(model, "candidates_"):
        yield f"{found}AutoDALMC ({_candidates(model)}), {seconds:.2f} s"
        yield from _auto_lines(model)
    else:
        yield (
            f"{found}{type(model).__name__}, {model.n_iter_} of at most {model.max_iter} "
            f"iterations, {seconds:.2f} s"
        )


def model_lines(model: Any) -> Iterator[str]:
    """Yield the lines on a model that was loaded from a file."""
    yield " ".join(str(model).split())
    samples = f"{len(model.labels_)} samples in clusters of {_sizes(model, model.labels_)}"
    if not len(model.labels_):
        samples = "no labels in this file: the fit wrote them elsewhere or left them on workers"
    if hasattr(model, "candidates_"):
        yield samples
        yield f"{_candidates(model)}; the best has {_best_setting(model)}"
        yield from _auto_lines(model)
    else:
        yield f"{samples}, {model.n_iter_} iterations"


def prediction_lines(
    model: Any, labels: "NDArray[Any]", confidence: "NDArray[Any] | None"
) -> Iterator[str]:
    """Yield the lines on the labels that a model predicted."""
    yield f"{len(labels)} samples; sizes of the clusters: {_sizes(model, labels)}"
    if confidence is not None:
        yield _doubtful(confidence)


def closing_lines(scores: Mapping[str, float], out: Path | None) -> Iterator[str]:
    """Yield the lines on the scores and on where the labels were written."""
    if scores:
        yield "  ".join(f"{name} {score:.4f}" for name, score in scores.items())
    if out is None:
        yield "Labels not written; to keep them, add --out labels.csv"
    else:
        yield f"Labels written to {printable(out)}"


def _auto_lines(model: Any) -> Iterator[str]:
    if model.curve_ is not None:
        yield _choice(model.curve_, model.n_clusters_)
    elif model.n_clusters is None:
        yield "took 2 clusters: too few samples to compare numbers of clusters; -k sets the number"
    yield _doubtful(model.confidence_)
    failed = int((model.candidates_["error"] != "").sum())
    if failed:
        yield f"{failed} of {len(model.candidates_)} candidates could not be fitted"


def _candidates(model: Any) -> str:
    agreement = model.candidates_["agreement_with_result"].dropna()
    count = "1 candidate" if len(agreement) == 1 else f"{len(agreement)} candidates"
    return f"{count}, mean agreement with the result {agreement.mean():.2f}"


def _best_setting(model: Any) -> str:
    from pandas import isna

    best = model.candidates_.iloc[model.best_candidate_]
    landmarks = "" if isna(best["n_landmarks"]) else f"{best['n_landmarks']} landmarks, "
    return (
        f"scaling {best['scaling']}, {landmarks}{best['n_anchors']} anchors, "
        f"{best['n_components']} components, beta {best['beta']:g}"
    )


def _choice(curve: "pd.Series[float]", chosen: int) -> str:
    """Describe the chosen number of clusters, the alternatives and their agreement."""
    from anchorview.estimators.auto.cluster_number import AGREEMENT_TOLERANCE

    numbers = [int(k) for k in curve.index]
    low, high = min(numbers), max(numbers)
    is_range = len(numbers) > 2 and len(numbers) == high - low + 1
    choices = f"{low}-{high}" if is_range else ", ".join(map(str, numbers))
    others = curve.drop(chosen).dropna().sort_values(ascending=False).head(RUNNERS_UP)
    line = f"chose {chosen} clusters among {choices}: agreement {curve[chosen]:.2f}"
    if len(others):
        line += "; " + ", ".join(f"{k}: {score:.2f}" for k, score in others.items())
    if curve.max() > curve[chosen]:
        line += f" (the largest number within {AGREEMENT_TOLERANCE} of the best is chosen)"
    return line


def _doubtful(confidence: "NDArray[Any]") -> str:
    from anchorview.estimators.auto.consensus import DOUBTFUL_CONFIDENCE as LIMIT

    n, count = len(confidence), int((confidence < LIMIT).sum())
    return f"doubtful samples (confidence below {LIMIT}): {count} of {n} ({count / n:.1%})"


def _sizes(model: Any, labels: "NDArray[Any]") -> list[int]:
    return [int((labels == cluster).sum()) for cluster in range(_n_clusters(model))]


def _n_clusters(model: Any) -> int:
    # The parameter of AutoDALMC may be None or several numbers.
    return int(getattr(model, "n_clusters_", model.n_clusters))
