"""Clustering from files to files: read samples, fit, write labels, model and report."""

# Imported by ``--help``: light modules only.
import csv
import io
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TextIO

from anchorview._utils.atomic_files import atomic_write, require_writable
from anchorview._utils.optional_imports import optional_import
from anchorview._utils.progress import report_progress
from anchorview.cli.summaries import (
    closing_lines,
    fit_lines,
    fit_record,
    print_views_of_model,
    size_lines,
)
from anchorview.cli.terminal import (
    FIT_OPTIONS,
    SummaryTarget,
    attempt_all,
    command_line,
    print_json,
    print_lines,
    progress_bar,
    raise_all,
    summary_to,
    watched,
    write_stdout,
)
from anchorview.estimators.methods import method_class

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from anchorview.views.container import MultiViewData
    from anchorview.views.stored_view import Target, ViewFile

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
    selection: Mapping[str, str] | None = None
    """Which matrices of the file are the views, if they were selected."""
    by_sample: "Mapping[str, Any]" = field(default_factory=dict)
    """Arguments of `fit` with one value per sample."""

    def __len__(self) -> int:
        views: Any = self.data.views
        first = next(iter(views.values() if isinstance(views, Mapping) else views))
        return int(first.shape[0])


STDOUT = Path("-")
"""Path of the labels that stands for standard output."""


@dataclass(frozen=True)
class OutputPaths:
    """Files and folders to write."""

    labels: Path | None = None
    """A file, or :data:`STDOUT`."""
    model: Path | None = None
    report: Path | None = None
    results: Path | None = None

    def by_option(self) -> dict[str, Path]:
        """Paths that were given, by option."""
        options = {
            "--out": self.labels,
            "--save": self.model,
            "--report": self.report,
            "--results": self.results,
        }
        return {option: path for option, path in options.items() if path is not None}

    def require_writable(self) -> None:
        """Raise if one of the outputs cannot be written."""
        for path in (self.labels, self.model, self.report):
            if path is not None and path != STDOUT:
                require_writable(path)
        if self.results is not None:
            from anchorview.sources.results_folder import require_results_folder

            require_results_folder(self.results)


def require_separate(written: Mapping[str, Path], inputs: Mapping[str, Path]) -> None:
    """Raise if two paths are the same, or if one is written into another, such as the data.

    There it would replace a file, or be taken for a view.
    """
    given = {**written, **inputs}
    paths = {name: Path(os.path.realpath(path)) for name, path in given.items() if path != STDOUT}
    for (name, path), (other, place) in combinations(paths.items(), 2):
        if path == place:
            raise ValueError(f"{name} and {other} are the same file, {path}. Pass two names.")
        for inner, outer in ((name, other), (other, name)):
            if inner in written and paths[inner].is_relative_to(paths[outer]):
                raise ValueError(
                    f"{inner} is in the folder of {outer}, {paths[outer]}. Pass a path outside it."
                )


@dataclass(frozen=True)
class Printing:
    """What is printed."""

    quiet: bool = False
    """Nothing but warnings and errors."""
    as_json: bool = False
    """A JSON object instead of the summary."""
    sizes: bool = True
    """Sizes of the clusters and numbers of missing views in the summary."""

    def summary_target(self, labels: Path | None) -> SummaryTarget:
        """Where the summary is printed; raises if labels and JSON would both go to stdout."""
        if labels == STDOUT and self.as_json:
            raise ValueError("--out - and --json both write to standard output. Leave one out.")
        if self.quiet or self.as_json:
            return "nowhere"
        return "stderr" if labels == STDOUT else "stdout"


def is_large(
    path: Path, memory_limit: str | None, labels: str | None = None, **layout: Any
) -> bool:
    """Whether data can be read in parts, and are too large to be read as a whole.

    `labels` is the name of the class labels in the data, if it is not one of the usual names.
    Tables that have them in a column are read as a whole. `layout` are the options `id_column` and
    `header` of tables, and `views` of files with several matrices per view.
    """
    from anchorview._utils.memory import memory_budget
    from anchorview.datasets import open_views, stays_on_disk

    budget = memory_budget(memory_limit)
    if not stays_on_disk(path) or needs_whole(path, labels):
        return False
    views: Any = open_views(path, labels=labels, **layout).views.values()
    return bool(sum(view.nbytes for view in views) > DATA_SHARE * budget)


def needs_whole(path: Path, labels: str | None = None) -> bool:
    """Whether the format of data does not allow reading some rows; for `labels` see `is_large`."""
    from anchorview.datasets.file_contents import data_file_errors
    from anchorview.datasets.formats.format_table import find_format

    with data_file_errors(path):
        found = find_format(path)
    return found is not None and (found.open is None or (labels is not None and found.by_id))


def read_samples(
    path: Path,
    zero_rows_missing: bool,
    labels: str | None = None,
    *,
    on_disk: bool = False,
    nan_cells: bool = False,
    **layout: Any,
) -> Samples:
    """Read samples into memory, or open them on disk; for the options see :func:`is_large`.

    With `nan_cells`, single values may be NaN: they will be imputed.
    """
    from anchorview.datasets import open_views, read_views
    from anchorview.views.container import MultiViewData, container_with_nan

    if not on_disk:
        file = read_views(path, zero_rows_missing=zero_rows_missing, labels=labels, **layout)
        data = container_with_nan(file) if nan_cells else MultiViewData(file)
        return Samples(data, file.target, file.sample_ids, path.name, layout.get("views"))
    if zero_rows_missing:
        raise ValueError(
            "--zero-rows-missing needs the data in memory. Convert them with 'anchorview convert "
            "--zero-rows-missing' first, and pass the new folder."
        )
    file = open_views(path.resolve(), labels=labels, **layout)
    ids = file.sample_ids
    views: Any = file.views.values()
    for view in views:
        if ids is None:
            ids = view.ids(slice(None))
    return Samples(file, file.target, ids, path.name, layout.get("views"))


def selection_like_fit(path: Path, model: Any) -> dict[str, str] | None:
    """Which matrices of a file are the views of a model; None unless it has to choose."""
    from anchorview.datasets.formats.format_table import find_format
    from anchorview.views.stored_anndata import modality_names

    found, selection = find_format(path), model.view_selection_
    if selection is None or found is None or not found.selects:
        return None
    if path.suffix.lower() == ".h5ad":
        return dict(selection)
    names = modality_names(path)
    return {name: matrix for name, matrix in selection.items() if name in names} or None


def option_name(parameter: str) -> str:
    """Command-line option of an estimator's parameter."""
    return f"--{parameter.replace('_', '-')}"


def cluster_samples(
    load: Callable[[], Samples],
    paths: OutputPaths,
    method: str,
    scheduler: str | None = None,
    *,
    printing: Printing,
    **settings: Any,
) -> None:
    """Load samples, cluster them, write the outputs and print a summary.

    All outputs are attempted if one of them fails.
    """
    target = printing.summary_target(paths.labels)
    _check_outputs(paths, method, scheduler)
    connection: AbstractContextManager[object] = nullcontext()
    if scheduler is not None:
        from anchorview.distributed import dask_views
        from anchorview.sources.dask.connection import connected

        # The client logs tracebacks of errors that are explained here.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        connection = connected(scheduler)
    # The lines that a verbose estimator prints would break the bar.
    shown = watched() and not settings.get("verbose") and not printing.quiet
    # Standard output is for results; what a verbose estimator prints is not.
    with progress_bar(shown=shown), redirect_stdout(sys.stderr), connection:
        report_progress("reading", 0, 1)
        import numpy as np

        from anchorview.metrics import clustering_scores
        from anchorview.views.container import MultiViewData

        estimator = _estimator(method, settings)
        samples = load()
        in_memory = isinstance(samples.data, MultiViewData)
        _check_n_clusters(settings["n_clusters"], method, samples)
        views: Any = samples.data
        if scheduler is not None:
            views = dask_views(views)
        # Of data in memory the embedding fits as well, and is written after the fit.
        in_parts = {} if in_memory or paths.results is None else {"out": paths.results}
        start = perf_counter()
        model = estimator.fit(views, **samples.by_sample, **in_parts)
        if samples.selection is not None:
            # The file was opened with the selection; new files are to be opened with it as well.
            model.view_selection_ = dict(samples.selection)
        seconds = perf_counter() - start
        # Labels are fetched from the workers only if they are needed.
        needed = scheduler is None or paths.labels is not None or samples.target is not None
        labels: Any = np.asarray(model.labels_) if needed else None
        confidence: Any = getattr(model, "confidence_", None) if needed else None
        confidence = None if confidence is None else np.asarray(confidence)
        scores = {} if samples.target is None else clustering_scores(samples.target, labels)

    def write_results(folder: Path) -> None:
        from anchorview.sources.results_folder import save_results

        if not in_parts:
            results = {"embedding": model.embedding_, "labels": labels}
            if method == "auto":
                results["confidence"] = confidence
                results["second_labels"] = model.second_labels_
            save_results(folder, results, samples.ids)

    def write_report(path: Path) -> None:
        from anchorview.report import write_fit_report

        with progress_bar(shown=watched() and not printing.quiet):
            report_progress("drawing", 0, 1)
            write_fit_report(
                path,
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

    writers: dict[str, Callable[[Path], object]] = {
        "--out": lambda path: write_labels(labels, confidence, samples.ids, path),
        "--save": lambda path: model.save(path),
        "--results": write_results,
        "--report": write_report,
    }
    given = paths.by_option()
    done, errors = attempt_all({name: partial(writers[name], path) for name, path in given.items()})
    written = {option: path for option, path in given.items() if option in done}
    if printing.as_json:
        record = fit_record(model, labels, confidence, samples.data, scores, seconds, written)
        print_json(record)
    with summary_to(target):
        print_views_of_model(model)
        print_lines(*fit_lines(model, confidence, seconds))
        if printing.sizes:
            print_lines(*size_lines(model, labels, samples.data))
        print_lines(*closing_lines(scores, written, given))
    raise_all(errors)


def _check_outputs(paths: OutputPaths, method: str, scheduler: str | None) -> None:
    """Raise if an output cannot be written after the fit."""
    if paths.model is not None and method not in SAVED_METHODS:
        raise ValueError(
            f"--save: models of {method} cannot be saved, only those of "
            f"{' and '.join(SAVED_METHODS)}."
        )
    if paths.results is not None and method not in SAVED_METHODS:
        raise ValueError(
            f"--results is for --method {' or '.join(SAVED_METHODS)}, not {method}. Write the "
            "labels with --out."
        )
    paths.require_writable()
    if paths.report is not None:
        for package in ("bokeh", "jinja2"):
            optional_import(package, "Reports", "report")
        if scheduler is not None:
            raise ValueError(
                "--report needs the embedding on this machine, but with --scheduler it stays on "
                "the workers. Leave one of them out."
            )


def _check_n_clusters(n_clusters: Any, method: str, samples: Samples) -> None:
    """Raise if -k is missing, or larger than the number of samples."""
    if n_clusters is None and method != "auto":
        raise ValueError(_missing_n_clusters(samples.target))
    n_samples = len(samples)
    if n_clusters is None:
        return
    numbers = [n_clusters] if isinstance(n_clusters, int) else n_clusters
    if numbers[0] > n_samples:
        raise ValueError(
            f"-k {numbers[0]} is more than the {n_samples} samples. Pass at most {n_samples}, and "
            "usually far fewer."
        )
    if len(numbers) > 1 and numbers[-1] > n_samples // 2:
        raise ValueError(
            f"-k: {numbers[-1]} clusters are too many to choose from. Pass at most "
            f"{n_samples // 2}, half of the {n_samples} samples."
        )


def _estimator(method: str, settings: Mapping[str, Any]) -> Any:
    cls = method_class(method)
    known = cls().get_params()
    for name in settings:
        if name not in known:
            own = [option for key, option in FIT_OPTIONS.items() if key.rstrip("=") in known]
            raise ValueError(
                f"{option_name(name)} is not a setting of {method}, which has {', '.join(own)}."
            )
    return cls(**settings)


def _missing_n_clusters(target: "Target") -> str:
    example, classes = 10, ""
    if target is not None:
        example = len(set(target.tolist()))
        classes = f" The data have {example} classes, but these are used only for scores."
    return (
        f"-k is missing: pass the number of clusters, for example -k {example}.{classes} Only "
        "--method auto, the default without settings, can choose the number."
    )


def write_labels(
    labels: Any,
    confidence: "NDArray[Any] | None",
    ids: "pd.Index[Any] | None",
    path: Path,
) -> None:
    """Write the cluster and, if given, the confidence of each sample as CSV to a path or stdout.

    Ids are written as they are, so that they can be matched with those of the data.
    """
    columns = {
        "sample": range(len(labels)) if ids is None else ids.tolist(),
        "cluster": labels.tolist(),
    }
    if confidence is not None:
        columns["confidence"] = [f"{share:.3f}" for share in confidence.tolist()]
    warn_about_formulas(columns["sample"], "sample ids")
    if path == STDOUT:
        text = io.StringIO(newline="")
        _write_csv(text, columns)
        write_stdout(text.getvalue())
    else:
        with atomic_write(path) as stream:
            _write_csv(stream, columns)


def warn_about_formulas(values: Iterable[object], what: str) -> None:
    """Warn if values of a CSV file begin like formulas; `what` says what they are."""
    from anchorview._utils.text import may_be_formula

    formulas = [each for each in map(str, values) if may_be_formula(each)]
    if formulas:
        warnings.warn(
            f"{what} such as {formulas[0]!r} ({len(formulas)} in all) begin like formulas of "
            "spreadsheets, which may run them. Import the column as text.",
            stacklevel=3,
        )


def _write_csv(stream: TextIO, columns: Mapping[str, Iterable[Any]]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
