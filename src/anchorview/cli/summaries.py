"""What the command line says of data and of models: rows of tables, and lines."""

# Light like the command line itself: what scikit-learn brings is imported by the time it is used.
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anchorview.cli.terminal import print_table, printable

if TYPE_CHECKING:
    import pandas as pd

    from anchorview.views.container import MultiViewData

DOUBTFUL = 0.5
"""Confidence below which a sample's cluster is in doubt."""

RUNNERS_UP = 3
"""Numbers of clusters that are named beside the chosen one."""


def show_views_of_data(data: "MultiViewData") -> None:
    """Print what the views are."""
    print_table(_views_of_data(data), "Features", "Type", "Samples")


def show_stored_views(views: Mapping[str, Any]) -> None:
    """Print what views on disk are, by their headers."""
    rows = (
        (name, str(view.shape[1]), str(view.dtype), str(len(view))) for name, view in views.items()
    )
    print_table(rows, "Features", "Type", "Samples")


def data_lines(data: "MultiViewData", target: Any) -> Iterator[str]:
    """Yield the lines on all views together and on the labels."""
    patterns = len(data.groups)
    missing = 0.0 if data.available is None else 1 - float(data.available.mean())
    yield f"{len(data)} samples, {data.shape[1]} features in {len(data.views)} views"
    if missing:
        yield f"{missing:.1%} of the view entries are missing, in {patterns} patterns"
    if target is not None:
        yield f"labels of {len(set(target.tolist()))} classes, for scores only"


def show_views_of_model(model: Any) -> None:
    """Print what a model found the views to be worth."""
    columns = {
        "Features": [str(width) for width in model.n_features_per_view_],
        "Weight": [f"{weight:.3f}" for weight in model.view_weights_],
    }
    if _is_auto(model):
        columns["Agreement"] = [f"{score:.3f}" for score in model.view_agreement_]
    print_table(zip(model.view_names_in_, *columns.values(), strict=True), *columns)


def fit_lines(model: Any, seconds: float) -> Iterator[str]:
    """Yield the lines on what a fit found."""
    found = f"{len(model.labels_)} samples in {_n_clusters(model)} clusters by "
    if _is_auto(model):
        yield f"{found}AutoDALMC ({_candidates(model)}), {seconds:.2f} s"
        yield from _auto_lines(model)
    else:
        yield (
            f"{found}{type(model).__name__}, {model.n_iter_} of at most {model.max_iter} "
            f"iterations, {seconds:.2f} s"
        )


def model_lines(model: Any) -> Iterator[str]:
    """Yield the lines on a model from a file."""
    yield " ".join(str(model).split())
    samples = f"{len(model.labels_)} samples in clusters of {_sizes(model, model.labels_)}"
    if not len(model.labels_):
        samples = "labels are not in the file: the fit wrote them to others or left them on workers"
    if _is_auto(model):
        yield samples
        yield f"{_candidates(model)}; the best has {_best_setting(model)}"
        yield from _auto_lines(model)
    else:
        yield f"{samples}, {model.n_iter_} iterations"


def prediction_lines(model: Any, labels: Any, confidence: Any) -> Iterator[str]:
    """Yield the lines on the clusters that a model gave to samples."""
    yield f"{len(labels)} samples; sizes of the clusters: {_sizes(model, labels)}"
    if confidence is not None:
        yield _doubtful(confidence)


def closing_lines(scores: Mapping[str, float], out: Path | None) -> Iterator[str]:
    """Yield the lines on scores and on where the labels are."""
    if scores:
        yield "  ".join(f"{name} {score:.4f}" for name, score in scores.items())
    if out is None:
        yield "Labels not written; to keep them, add --out labels.csv"
    else:
        yield f"Labels written to {printable(out)}"


def _views_of_data(data: "MultiViewData") -> Iterator[tuple[str, ...]]:
    for p, (name, view) in enumerate(zip(data.names, data.views, strict=True)):
        there = len(data) if data.available is None else int(data.available[:, p].sum())
        kind = f"{view.dtype}" if hasattr(view, "strides") else f"{view.dtype} sparse"
        yield name, str(view.shape[1]), kind, str(there)


def _auto_lines(model: Any) -> Iterator[str]:
    """Yield the lines that only AutoDALMC has something for."""
    if model.curve_ is not None:
        yield _choice(model.curve_, model.n_clusters_)
    elif model.n_clusters is None:
        yield "took 2 clusters: too few samples to compare numbers of clusters; -k sets the number"
    yield _doubtful(model.confidence_)
    failed = int((model.candidates_["error"] != "").sum())
    if failed:
        yield f"{failed} of {len(model.candidates_)} candidates could not be fitted"


def _candidates(model: Any) -> str:
    """How many candidates were fitted, and how alike they are."""
    alike = model.candidates_["agreement_with_result"].dropna()
    count = "1 candidate" if len(alike) == 1 else f"{len(alike)} candidates"
    return f"{count}, mean agreement with the result {alike.mean():.2f}"


def _best_setting(model: Any) -> str:
    from pandas import isna

    best = model.candidates_.iloc[model.best_candidate_]
    lift = "" if isna(best["n_landmarks"]) else f"{best['n_landmarks']} landmarks, "
    return (
        f"scaling {best['scaling']}, {lift}{best['n_anchors']} anchors, "
        f"{best['n_components']} components, beta {best['beta']:g}"
    )


def _choice(curve: "pd.Series[float]", chosen: int) -> str:
    """Which number of clusters was chosen of which, and how good the next best are."""
    from anchorview.estimators.auto.cluster_number import AS_GOOD

    numbers = [int(k) for k in curve.index]
    least, most = min(numbers), max(numbers)
    whole = len(numbers) > 2 and len(numbers) == most - least + 1
    choices = f"{least}-{most}" if whole else ", ".join(map(str, numbers))
    others = curve.drop(chosen).dropna().sort_values(ascending=False).head(RUNNERS_UP)
    line = f"chose {chosen} of {choices} clusters: agreement {curve[chosen]:.2f}"
    if len(others):
        line += "; " + ", ".join(f"{k}: {score:.2f}" for k, score in others.items())
    if curve.max() > curve[chosen]:
        line += f" (of numbers within {AS_GOOD} of the best, the largest is chosen)"
    return line


def _doubtful(confidence: Any) -> str:
    n = len(confidence)
    count = int((confidence < DOUBTFUL).sum())
    return f"doubtful samples (confidence below {DOUBTFUL}): {count} of {n} ({count / n:.1%})"


def _sizes(model: Any, labels: Any) -> list[int]:
    return [int((labels == cluster).sum()) for cluster in range(_n_clusters(model))]


def _n_clusters(model: Any) -> int:
    # The parameter of AutoDALMC may be None or several numbers.
    return int(model.n_clusters_ if _is_auto(model) else model.n_clusters)


def _is_auto(model: Any) -> bool:
    from anchorview.estimators.auto.auto_dalmc import AutoDALMC

    return isinstance(model, AutoDALMC)
