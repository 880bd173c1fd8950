"""Clustering from files to files: fit, write labels, model and report, print a summary."""

# Imported by ``--help``: light modules only.
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import Any

from anchorview._utils.progress import report_progress
from anchorview.cli import summaries
from anchorview.cli.loading import LoadedData
from anchorview.cli.options import OPTION_NAMES, FitOptions, option_name
from anchorview.cli.output_files import (
    OutputPaths,
    Printing,
    check_outputs,
    labels_table,
    require_table,
    with_number,
    write_table,
)
from anchorview.cli.terminal import command_line, progress_bar, write_outputs
from anchorview.estimators.methods import method_class

SAVED_METHODS = ("auto", "dalmc")
"""Methods whose models can be saved, and which take data on disk or on workers."""

NOT_WRITTEN = "Labels not written; to keep them, add --out labels.csv"


def cluster(
    load: Callable[[], LoadedData],
    paths: OutputPaths,
    chosen: FitOptions,
    printing: Printing,
    inputs: Mapping[str, Path],
    doubtful: int | None = None,
) -> None:
    """Load data, cluster them, write the outputs and print a summary.

    All outputs are attempted if one of them fails. None may replace one of the inputs. `doubtful`
    is written in place of the cluster of samples in doubt.
    """
    scheduler = chosen.scheduler
    _check_options(paths, chosen, doubtful)
    check_outputs(paths.by_option(), inputs, printing)
    # The lines that a verbose estimator prints would break the bar.
    shown = printing.shows_progress and not chosen.verbose
    # Standard output is for results; what a verbose estimator prints is not.
    with progress_bar(shown=shown), redirect_stdout(sys.stderr), _connection(scheduler):
        report_progress("reading", 0, 1)
        import numpy as np

        from anchorview.metrics import clustering_scores

        estimator = _estimator(chosen)
        data = load()
        views: Any = data.views
        if scheduler is not None:
            from anchorview.distributed import dask_views

            views = dask_views(views)
        # Of data in memory the embedding fits as well, and is written after the fit.
        in_parts = data.in_memory is None and paths.results is not None
        out = {"out": paths.results} if in_parts else {}
        start = perf_counter()
        model = estimator.fit(views, **data.by_sample, **out)
        seconds = perf_counter() - start
        if data.selection is not None:
            # The file was opened with the selection; new files are to be opened with it as well.
            model.view_selection_ = dict(data.selection)
        labels: Any = None
        confidence: Any = None
        # Labels are fetched from the workers only if they are needed.
        if scheduler is None or paths.out is not None or data.target is not None:
            labels = np.asarray(model.labels_)
            confidence = getattr(model, "confidence_", None)
            confidence = None if confidence is None else np.asarray(confidence)
        scores = {} if data.target is None else clustering_scores(data.target, labels)
        written_labels = labels
        if doubtful is not None:
            written_labels = with_number(model.labels_without_doubt(), doubtful)

    def write_results(folder: Path) -> None:
        from anchorview.estimators.base import save_results_of

        if not in_parts:
            save_results_of(model, folder)

    details = {"call": command_line(), "scores": scores or None, "seconds": seconds}
    writers: dict[str, Callable[[Path], object]] = {
        "--out": lambda path: write_table(labels_table(written_labels, confidence, data.ids), path),
        "--save": lambda path: model.save(path),
        "--results": write_results,
        "--report": lambda path: data.write_report(path, model, **details),
    }
    with progress_bar(shown=printing.shows_progress):
        written, errors = write_outputs(writers, paths.by_option())
    record = {
        **summaries.model_record(model, labels, confidence),
        "seconds": seconds,
        **summaries.without_cluster(written_labels, doubtful),
        **summaries.outcome_record(scores, written),
    }
    if data.in_memory is not None:
        for p, view in enumerate(record["views"]):
            available = data.views.available
            view["n_samples_missing"] = 0 if available is None else int((~available[:, p]).sum())

    def lines() -> Iterator[str]:
        yield from summaries.model_lines(model, record)
        yield from summaries.without_cluster_lines(record, doubtful)
        yield from summaries.closing_lines(record)
        if paths.out is None and paths.results is None:
            yield NOT_WRITTEN

    printing.show(record, lines(), paths.out)
    if errors:
        raise ExceptionGroup("Some outputs failed", errors)


def _connection(scheduler: str | None) -> AbstractContextManager[object]:
    if scheduler is None:
        return nullcontext()
    from anchorview.sources.dask.connection import connected

    # The client logs tracebacks of errors that are explained here.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    return connected(scheduler)


def _check_options(paths: OutputPaths, chosen: FitOptions, doubtful: int | None) -> None:
    """Raise if options cannot be combined."""
    require_table(doubtful, paths.out)
    method, n_clusters, scheduler = chosen.method_name, chosen.n_clusters, chosen.scheduler
    limited: dict[str, object] = {"--save": paths.save, "--results": paths.results}
    limited |= {"--scheduler": scheduler, "--doubtful": doubtful}
    for option, value in limited.items():
        if value is not None and method not in SAVED_METHODS:
            raise ValueError(f"{option} is for --method auto and dalmc, not {method}.")
    if method != "auto" and not isinstance(n_clusters, int):
        example = 10 if n_clusters is None else n_clusters[0]
        raise ValueError(
            f"-k: {method} needs one number of clusters, for example -k {example}; only --method "
            "auto, the default without settings, chooses the number."
        )
    for option, path in {"--results": paths.results, "--report": paths.report}.items():
        if path is not None and scheduler is not None:
            raise ValueError(
                f"{option} needs the embedding on this machine, but with --scheduler the results "
                "stay on the workers. Write the labels with --out."
            )


def _estimator(chosen: FitOptions) -> Any:
    cls, parameters = method_class(chosen.method_name), chosen.parameters()
    known = cls().get_params()
    for name in parameters:
        if name not in known:
            others = [option for key, option in OPTION_NAMES.items() if key.rstrip("=") in known]
            given = OPTION_NAMES.get(name, option_name(name))
            raise ValueError(
                f"{given} is not a setting of {chosen.method_name}, which has {', '.join(others)}."
            )
    return cls(**parameters)
