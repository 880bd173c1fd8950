"""Clustering from files to files: read samples, fit, write labels, model and report."""

# Imported by ``--help``: light modules only.
import csv
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from anchorview._utils.atomic_files import atomic_write, require_writable
from anchorview._utils.optional_imports import optional_import
from anchorview._utils.progress import report_progress
from anchorview.cli.summaries import closing_lines, fit_lines, print_views_of_model
from anchorview.cli.terminal import command_line, print_lines, printable, progress_bar, watched
from anchorview.estimators.methods import method_class

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from anchorview.views.container import MultiViewData
    from anchorview.views.view_file import Target, ViewFile

SAVED_METHODS = ("auto", "dalmc")
"""Methods whose models can be saved."""

DATA_SHARE = 0.25
"""Share of the memory budget that data in memory may take; a fit needs several times their size."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Multi-view data with their classes, if known, and sample ids."""

    data: "MultiViewData | ViewFile"
    """In memory, or opened on disk."""
    target: "Target"
    ids: "pd.Index[Any] | None"
    name: str
    """Name of the data set."""


@dataclass(frozen=True)
class OutputPaths:
    """Files and folders to write."""

    labels: Path | None = None
    model: Path | None = None
    report: Path | None = None
    results: Path | None = None


def is_large(path: Path, memory_limit: str | None, **layout: bool) -> bool:
    """Whether data can be read in parts, and are too large to be read as a whole.

    `layout` are the options `id_column` and `header` of tables.
    """
    from anchorview._utils.memory import memory_budget
    from anchorview.datasets import open_views, stays_on_disk

    budget = memory_budget(memory_limit)
    if not stays_on_disk(path):
        return False
    views: Any = open_views(path, **layout).views.values()
    return bool(sum(view.nbytes for view in views) > DATA_SHARE * budget)


def read_samples(
    path: Path, zero_rows_missing: bool, *, on_disk: bool = False, **layout: bool
) -> Samples:
    """Read samples into memory, or open them on disk; for `layout` see :func:`is_large`."""
    from anchorview.datasets import open_views, read_views
    from anchorview.views.container import MultiViewData

    if not on_disk:
        file = read_views(path, zero_rows_missing=zero_rows_missing, **layout)
        data = MultiViewData(file.views, available=file.available)
        return Samples(data, file.target, file.sample_ids, path.name)
    if zero_rows_missing:
        raise ValueError(
            "--zero-rows-missing needs the data in memory. Convert them with 'anchorview convert "
            "--zero-rows-missing' first, and pass the new folder."
        )
    file = open_views(path.resolve(), **layout)
    ids = file.sample_ids
    views: Any = file.views.values()
    for view in views:
        if ids is None:
            ids = view.ids(slice(None))
    return Samples(file, file.target, ids, path.name)


def option_name(parameter: str) -> str:
    """Command-line option of an estimator's parameter."""
    return f"--{parameter.replace('_', '-')}"


def cluster_samples(
    load: Callable[[], Samples],
    paths: OutputPaths,
    method: str,
    scheduler: str | None = None,
    **settings: Any,
) -> None:
    """Load samples, cluster them, write the outputs and print a summary."""
    _check_outputs(paths, method, scheduler)
    connection: AbstractContextManager[object] = nullcontext()
    if scheduler is not None:
        from anchorview.distributed import connected

        connection = connected(scheduler)
    # The lines that a verbose estimator prints would break the bar.
    with progress_bar(shown=watched() and not settings.get("verbose")), connection:
        report_progress("reading", 0, 1)
        import numpy as np

        from anchorview.metrics import clustering_scores

        estimator = _estimator(method, settings)
        samples = load()
        if settings["n_clusters"] is None and method != "auto":
            raise ValueError(_missing_n_clusters(samples.target))
        views: Any = samples.data
        if scheduler is not None:
            from anchorview.distributed import dask_views

            views = dask_views(views)
        start = perf_counter()
        model = estimator.fit(views, **({} if paths.results is None else {"out": paths.results}))
        seconds = perf_counter() - start
        # Labels are fetched from the workers only if they are needed.
        needed = paths.labels is not None or samples.target is not None
        labels: Any = np.asarray(model.labels_) if needed else None
        scores = {} if samples.target is None else clustering_scores(samples.target, labels)
    if paths.labels is not None:
        write_labels(labels, getattr(model, "confidence_", None), samples.ids, paths.labels)
    if paths.model is not None:
        model.save(paths.model)
    if paths.report is not None:
        with progress_bar(shown=watched()):
            report_progress("drawing", 0, 1)
            from anchorview.report import write_fit_report
            from anchorview.views.container import MultiViewData

            write_fit_report(
                paths.report,
                model,
                # Views that are too large for memory are not drawn.
                samples.data if isinstance(samples.data, MultiViewData) else None,
                target=samples.target,
                sample_ids=samples.ids,
                call=command_line(),
                scores=scores or None,
                seconds=seconds,
                name=samples.name,
            )
    print_views_of_model(model)
    print_lines(*fit_lines(model, seconds), *closing_lines(scores, paths.labels or paths.results))
    if paths.model is not None:
        print_lines(f"Model saved to {printable(paths.model)}")
    if paths.report is not None:
        print_lines(f"Report written to {printable(paths.report)}")


def _check_outputs(paths: OutputPaths, method: str, scheduler: str | None) -> None:
    """Raise if an output cannot be written after the fit."""
    if paths.model is not None and method not in SAVED_METHODS:
        raise ValueError(
            f"--save: models of {method} cannot be saved, only those of "
            f"{' and '.join(SAVED_METHODS)}."
        )
    for path in (paths.labels, paths.model, paths.report):
        if path is not None:
            require_writable(path)
    if paths.report is not None:
        for package in ("bokeh", "jinja2"):
            optional_import(package, "Reports", "report")
        if scheduler is not None:
            raise ValueError(
                "--report needs the embedding on this machine, but with --scheduler it stays on "
                "the workers. Leave one of them out."
            )


def _estimator(method: str, settings: Mapping[str, Any]) -> Any:
    cls = method_class(method)
    known = cls().get_params()
    for name in settings:
        if name not in known:
            raise ValueError(
                f"{option_name(name)} is not a setting of {method}; the parameters of "
                f"{cls.__name__} are {', '.join(sorted(known))}."
            )
    return cls(**settings)


def _missing_n_clusters(target: "Target") -> str:
    example, classes = 10, ""
    if target is not None:
        example = len(set(target.tolist()))
        classes = f" The data have {example} classes, but these are used only for scores."
    return (
        f"-k is missing: pass the number of clusters, for example -k {example}.{classes} Only "
        "--method auto, the default without settings for data that fit into memory, can choose "
        "the number."
    )


def write_labels(
    labels: Any, confidence: "NDArray[Any] | None", ids: "pd.Index[Any] | None", path: Path
) -> None:
    """Write the cluster and, if given, the confidence of each sample to a CSV file."""
    columns = {
        "sample": range(len(labels)) if ids is None else ids.tolist(),
        "cluster": labels.tolist(),
    }
    if confidence is not None:
        columns["confidence"] = [f"{share:.3f}" for share in confidence.tolist()]
    with atomic_write(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
