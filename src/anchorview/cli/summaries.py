"""Summaries of data, fits and models: records for ``--json``, and the lines that show them.

Lines on a model are those of ``print(model)`` and, of AutoDALMC, what its tables hold beyond them.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from anchorview.cli.terminal import printable, table

if TYPE_CHECKING:
    import pandas as pd

    from anchorview.cli.loading import LoadedData

Record = Mapping[str, Any]

SHOWN_CLUSTERS, MAX_SPLITS = 40, 5
"""Maximum numbers of clusters, and of clusters that split, that are listed."""

WRITTEN = {"out": "Labels written", "save": "Model saved"}
"""What is said of an output; without an entry, that it was written."""


def data_record(data: "LoadedData") -> dict[str, Any]:
    """Sizes of a data set and of its views."""
    from anchorview.views.table_columns import describe_kinds

    loaded: Any = data.views
    n_samples, available, target = len(data), loaded.available, data.file.target
    by_name = loaded.views if data.on_disk else dict(zip(loaded.names, loaded.views, strict=True))
    views = []
    for p, (name, view) in enumerate(by_name.items()):
        count = n_samples if available is None else int(available[:, p].sum())
        kind = f"{view.dtype} sparse" if hasattr(view, "indptr") else str(view.dtype)
        kind = describe_kinds(getattr(view, "kinds", ())) or kind
        n_features = int(view.shape[1])
        views.append({"name": name, "n_features": n_features, "type": kind, "n_samples": count})
    return {
        "n_samples": n_samples,
        "n_features": sum(view["n_features"] for view in views),
        "n_classes": None if target is None else len(set(target.tolist())),
        "views": views,
    }


def data_lines(record: Record) -> Iterator[str]:
    """Yield the lines on a data set."""
    views, n_samples = record["views"], record["n_samples"]
    yield table((view.values() for view in views), "View", "Features", "Type", "Samples")
    count = "1 view" if len(views) == 1 else f"{len(views)} views"
    yield f"{n_samples} samples, {record['n_features']} features in {count}"
    missing = 1 - sum(view["n_samples"] for view in views) / (n_samples * len(views))
    if missing:
        yield f"{missing:.1%} of the view entries are missing"
    if record["n_classes"] is not None:
        yield f"{record['n_classes']} classes, used only for scores"


def model_record(model: Any, labels: Any, confidence: Any = None) -> dict[str, Any]:
    """Clusters and views of a fitted model; labels on workers or in a file of it are not known."""
    known = labels is not None and len(labels) > 0
    record = {
        "method": type(model).__name__,
        "n_samples": model.n_samples_fit_,
        "n_clusters": model.n_clusters_,
        "cluster_sizes": _sizes(labels, model.n_clusters_) if known else None,
        "n_iter": int(model.n_iter_),
    }
    if model.cluster_names_ is not None:
        record["cluster_names"] = model.cluster_names_
    if model.changes_ is not None:
        changes = model.changes_.reset_index().astype(object)
        record["changes"] = changes.where(changes.notna(), None).to_dict("records")
    columns = {
        "name": model.view_names_in_,
        "n_features": model.n_features_per_view_,
        "weight": model.views_["weight"],
    }
    if hasattr(model, "candidates_"):
        columns["agreement"] = model.views_["agreement_with_result"]
        columns["used"] = model.views_["used"]
        record["n_doubtful"] = _n_doubtful(model, confidence if known else None)
        record |= {"structure": model.structure_, "borders": model.borders_}
        if model.curve_ is not None:
            record["agreement_by_n_clusters"] = model.curve_.to_dict()
            record["levels"] = model.levels_.reset_index().to_dict("records")
    rows = zip(*columns.values(), strict=True)
    return {**record, "views": [dict(zip(columns, row, strict=True)) for row in rows]}


def prediction_record(model: Any, labels: Any, confidence: Any, level: int | None) -> Record:
    """Sizes of the clusters that a model predicted, at the chosen level or another."""
    n_clusters = level or model.n_clusters_
    return {
        "n_samples": len(labels),
        "n_clusters": n_clusters,
        "cluster_sizes": _sizes(labels, n_clusters),
        "n_doubtful": _n_doubtful(model, confidence),
    }


def labels_record(scores: Record, labels: Any, doubtful: int | None) -> Record:
    """Scores, and how many samples have a number for doubt, if there is one."""
    in_doubt = {} if doubtful is None else {"n_without_cluster": int((labels == doubtful).sum())}
    return {**in_doubt, "scores": dict(scores) or None}


def model_lines(model: Any, record: Record) -> Iterator[str]:
    """Yield the lines on a model, after the fit or from a file."""
    from anchorview.estimators.representation import result_lines, structure_sentences

    yield from map(printable, result_lines(model))
    if is_auto := hasattr(model, "candidates_"):
        agreement = model.candidates_["agreement_with_result"].dropna()
        how = f"{len(agreement)} candidates, mean agreement with the result {agreement.mean():.2f}"
    else:
        how = f"{record['n_iter']} of at most {model.max_iter} iterations"
    time = f", {record['seconds']:.2f} s" if "seconds" in record else ""
    yield f"{record['method']}: {how}{time}"
    if is_auto:
        yield from _level_lines(model)
        yield from doubtful_lines(model, record)
        names = model.cluster_names_ or range(model.n_clusters_)
        yield from map(printable, structure_sentences(model, names))
    yield from cluster_lines(model, record)
    lacking = {view["name"]: view.get("n_samples_missing") for view in record["views"]}
    if counts := [f"{printable(name)} in {count}" for name, count in lacking.items() if count]:
        yield f"samples without a view: {', '.join(counts)}"


def doubtful_lines(model: Any, record: Record) -> Iterator[str]:
    """Yield the line on doubtful samples, if their number is known."""
    n, count = record["n_samples"], record["n_doubtful"]
    if count is not None and record["n_clusters"] > 1:
        limit = model.confidence_threshold_
        yield f"doubtful samples (confidence below {limit:.2g}): {count} of {n} ({count / n:.1%})"


def cluster_lines(model: Any, record: Record) -> Iterator[str]:
    """Yield the sizes of the clusters by number, and titles that say something."""
    if record["cluster_sizes"] is not None:
        yield f"sizes of the clusters: {record['cluster_sizes']}"
    for cluster, title in enumerate(model.titles_[:SHOWN_CLUSTERS]):
        if title != f"cluster {cluster}":
            yield f"cluster {cluster}: {printable(title)}"


def prediction_lines(model: Any, record: Record) -> Iterator[str]:
    """Yield the lines on samples that a model labels."""
    yield f"{record['n_samples']} samples; sizes of the clusters: {record['cluster_sizes']}"
    yield from doubtful_lines(model, record)


def closing_lines(record: Record) -> Iterator[str]:
    """Yield the lines on samples in doubt, scores, and what was written."""
    if "n_without_cluster" in record:
        count = f"{record['n_without_cluster']} of {record['n_samples']}"
        yield f"samples in doubt, without a cluster in --out: {count}"
    if record.get("scores"):
        yield "  ".join(f"{name} {score:.4f}" for name, score in record["scores"].items())
    for option, path in record["outputs"].items():
        what = WRITTEN.get(option, f"{option.capitalize()} written")
        yield f"{what} to {'standard output' if path == '-' else printable(path)}"
    if "scores" in record and record["outputs"].keys().isdisjoint({"out", "results"}):
        yield "Labels not written; to keep them, add --out labels.csv"


def explained_lines(summary: "pd.DataFrame", record: Record) -> Iterator[str]:
    """Yield the lines on the clusters of a model, from a table with a row each."""
    columns = ["size", "confidence", "nearest_cluster", "separation", "title"]
    rows = summary[columns].head(SHOWN_CLUSTERS).itertuples()
    yield table(rows, "Cluster", "Samples", "Confidence", "Nearest", "Separation", "Title")
    if len(summary) > SHOWN_CLUSTERS:
        more = len(summary) - SHOWN_CLUSTERS
        yield f"and {more} more clusters; --summary writes all of them to a file"
    yield f"{record['n_samples']} samples in {len(summary)} clusters"


def _level_lines(model: Any) -> Iterator[str]:
    """Yield the levels, if the number of clusters was chosen, and which clusters split."""
    from anchorview.estimators.representation import edge_sentences

    if model.curve_ is None:
        return
    chosen, numbers = model.n_clusters_fit_, model.curve_.index
    verb = "chose" if model.n_clusters_ > 1 else "best number"
    yield f"{verb} {chosen} among {len(numbers)} numbers of clusters, {numbers[0]} to {numbers[-1]}"
    levels = model.levels_.drop(columns="chosen")
    yield table(levels.itertuples(), "Clusters", *map(str.capitalize, levels.columns))
    yield from edge_sentences(model)
    lines, split_at = [], ["n_clusters", "parent_level", "parent"]
    for (fine, coarse, parent), parts in model.tree_.groupby(split_at):
        split, chance = parts[["split_agreement", "split_chance"]].iloc[0]
        if chosen in (coarse, fine) and split > chance:
            lines.append(
                f"cluster {parent} of {coarse} splits into {len(parts)} of {fine} "
                f"(agreement {split:.2f}, by chance {chance:.2f})"
            )
    more = [f"{len(lines) - MAX_SPLITS} more clusters split"] * (len(lines) > MAX_SPLITS)
    yield from lines[:MAX_SPLITS] + more


def _n_doubtful(model: Any, confidence: Any) -> int | None:
    return None if confidence is None else int((confidence < model.confidence_threshold_).sum())


def _sizes(labels: Any, n_clusters: int) -> Any:
    import numpy as np

    return np.bincount(labels, minlength=n_clusters).tolist()
