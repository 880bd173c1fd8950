"""Clustering from files to files: fit, write labels, model and report, print a summary."""

# Imported by ``--help``: light modules only.
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from anchorview._utils.atomic_files import atomic_write, require_writable
from anchorview._utils.errors import optional_import
from anchorview._utils.progress import report_progress
from anchorview.cli import options
from anchorview.cli.loading import LoadedData
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

SAVED_METHODS = ("auto", "dalmc")
"""Methods whose models can be saved."""

STDOUT = Path("-")
"""Path of the labels that stands for standard output."""


@dataclass(frozen=True)
class OutputPaths:
    """Files and folders to write."""

    out: options.Out = None
    """A file for the labels, or :data:`STDOUT`."""
    save: options.Save = None
    report: options.Report = None
    results: options.Results = None

    def by_option(self) -> dict[str, Path]:
        """Paths that were given, by option."""
        return {f"--{name}": path for name, path in vars(self).items() if path is not None}

    def require_writable(self) -> None:
        """Raise if one of the outputs cannot be written."""
        for path in (self.out, self.save, self.report):
            if path is not None and path != STDOUT:
                require_writable(path)
        if self.report is not None:
            require_report_packages()
        if self.results is not None:
            from anchorview.sources.results_folder import require_results_folder

            require_results_folder(self.results)


def require_report_packages() -> None:
    """Raise if a package that reports need is not installed."""
    for package in ("bokeh", "jinja2"):
        optional_import(package, "Reports", "report")


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

    quiet: options.Quiet = False
    as_json: options.AsJson = False

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar is shown."""
        return watched() and not self.quiet

    def summary_target(self, labels: Path | None = None) -> SummaryTarget:
        """Where the summary is printed; raises if labels and JSON would both go to stdout."""
        if labels == STDOUT and self.as_json:
            raise ValueError("--out - and --json both write to standard output. Leave one out.")
        if self.quiet or self.as_json:
            return "nowhere"
        return "stderr" if labels == STDOUT else "stdout"


def option_name(parameter: str) -> str:
    """Command-line option of an estimator's parameter."""
    return f"--{parameter.replace('_', '-')}"


def cluster(
    load: Callable[[], LoadedData],
    paths: OutputPaths,
    method: str,
    scheduler: str | None = None,
    *,
    printing: Printing,
    show_sizes: bool = True,
    **settings: Any,
) -> None:
    """Load data, cluster them, write the outputs and print a summary.

    All outputs are attempted if one of them fails. `show_sizes` adds the sizes of the clusters and
    numbers of missing views to the summary.
    """
    target = printing.summary_target(paths.out)
    _check_outputs(paths, method, scheduler)
    # The lines that a verbose estimator prints would break the bar.
    shown = printing.shows_progress and not settings.get("verbose")
    connection: AbstractContextManager[object] = nullcontext()
    if scheduler is not None:
        from anchorview.sources.dask.connection import connected

        # The client logs tracebacks of errors that are explained here.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        connection = connected(scheduler)
    # Standard output is for results; what a verbose estimator prints is not.
    with progress_bar(shown=shown), redirect_stdout(sys.stderr), connection:
        report_progress("reading", 0, 1)
        fit = _fit(load, method, settings, paths, scheduler)
    writers: dict[str, Callable[[Path], object]] = {
        "--out": lambda path: write_labels(fit.labels, fit.confidence, fit.data.ids, path),
        "--save": lambda path: fit.model.save(path),
        "--results": fit.write_results,
        "--report": lambda path: fit.write_report(path, printing),
    }
    given = paths.by_option()
    done, errors = attempt_all({name: partial(writers[name], path) for name, path in given.items()})
    written = {option: path for option, path in given.items() if option in done}
    views = fit.data.views
    if printing.as_json:
        print_json(
            fit_record(
                fit.model, fit.labels, fit.confidence, views, fit.scores, fit.seconds, written
            )
        )
    with summary_to(target):
        print_views_of_model(fit.model)
        print_lines(*fit_lines(fit.model, fit.confidence, fit.seconds))
        if show_sizes:
            print_lines(*size_lines(fit.model, fit.labels, views))
        print_lines(*closing_lines(fit.scores, written, given))
    raise_all(errors)


@dataclass(frozen=True, eq=False)
class _Fit:
    """A fitted model, and what was measured."""

    model: Any
    data: LoadedData
    seconds: float
    labels: Any
    """None if they were left on the workers of a cluster, as is the confidence."""
    confidence: Any
    scores: Mapping[str, float]
    in_parts: bool
    """Whether the fit itself wrote the results folder."""

    def write_results(self, folder: Path) -> None:
        from anchorview.sources.results_folder import save_results

        if self.in_parts:
            return
        results = {"embedding": self.model.embedding_, "labels": self.labels}
        if hasattr(self.model, "second_labels_"):
            results["confidence"] = self.confidence
            results["second_labels"] = self.model.second_labels_
        save_results(folder, results, self.data.ids)

    def write_report(self, path: Path, printing: Printing) -> None:
        from anchorview.report import write_fit_report

        with progress_bar(shown=printing.shows_progress):
            report_progress("drawing", 0, 1)
            write_fit_report(
                path,
                self.model,
                # Views that are too large for memory are not drawn.
                self.data.in_memory,
                target=self.data.target,
                sample_ids=self.data.ids,
                call=command_line(),
                scores=self.scores or None,
                seconds=self.seconds,
                name=self.data.name,
            )


def _fit(
    load: Callable[[], LoadedData],
    method: str,
    settings: Mapping[str, Any],
    paths: OutputPaths,
    scheduler: str | None,
) -> _Fit:
    import numpy as np

    from anchorview.metrics import clustering_scores

    estimator = _estimator(method, settings)
    data = load()
    _check_n_clusters(settings["n_clusters"], method, data)
    views: Any = data.views
    if scheduler is not None:
        from anchorview.distributed import dask_views

        views = dask_views(views)
    # Of data in memory the embedding fits as well, and is written after the fit.
    in_parts = data.in_memory is None and paths.results is not None
    start = perf_counter()
    model = estimator.fit(views, **data.by_sample, **({"out": paths.results} if in_parts else {}))
    if data.selection is not None:
        # The file was opened with the selection; new files are to be opened with it as well.
        model.view_selection_ = dict(data.selection)
    seconds = perf_counter() - start
    labels: Any = None
    confidence: Any = None
    # Labels are fetched from the workers only if they are needed.
    if scheduler is None or paths.out is not None or data.target is not None:
        labels = np.asarray(model.labels_)
        confidence = getattr(model, "confidence_", None)
        confidence = None if confidence is None else np.asarray(confidence)
    scores = {} if data.target is None else clustering_scores(data.target, labels)
    return _Fit(model, data, seconds, labels, confidence, scores, in_parts)


def _check_outputs(paths: OutputPaths, method: str, scheduler: str | None) -> None:
    """Raise if an output cannot be written after the fit."""
    if paths.save is not None and method not in SAVED_METHODS:
        raise ValueError(
            f"--save: models of {method} cannot be saved, only those of "
            f"{' and '.join(SAVED_METHODS)}."
        )
    if paths.results is not None and method not in SAVED_METHODS:
        raise ValueError(
            f"--results is for --method {' or '.join(SAVED_METHODS)}, not {method}. Write the "
            "labels with --out."
        )
    if paths.results is not None and scheduler is not None:
        raise ValueError(
            "--results is for files that this machine reads; with --scheduler the results stay "
            "on the workers. Write the labels with --out."
        )
    paths.require_writable()
    if paths.report is not None and scheduler is not None:
        raise ValueError(
            "--report needs the embedding on this machine, but with --scheduler it stays on "
            "the workers. Leave one of them out."
        )


def _check_n_clusters(n_clusters: Any, method: str, data: LoadedData) -> None:
    """Raise if -k is missing, or larger than the number of samples."""
    n_samples = len(data)
    if n_clusters is None and method == "auto":
        return
    if n_clusters is None:
        example, classes = 10, ""
        if data.target is not None:
            example = len(set(data.target.tolist()))
            classes = f" The data have {example} classes, but these are used only for scores."
        raise ValueError(
            f"-k is missing: pass the number of clusters, for example -k {example}.{classes} Only "
            "--method auto, the default without settings, can choose the number."
        )
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
            others = [option for key, option in FIT_OPTIONS.items() if key.rstrip("=") in known]
            raise ValueError(
                f"{option_name(name)} is not a setting of {method}, which has {', '.join(others)}."
            )
    return cls(**settings)


def write_labels(
    labels: Any,
    confidence: "NDArray[Any] | None",
    ids: "pd.Index[Any] | None",
    path: Path,
    names: Sequence[str] | None = None,
) -> None:
    """Write the cluster and, if given, its name and the confidence of each sample as CSV.

    The path may be that of standard output.

    Ids are written as they are, so that they can be matched with those of the data.
    """
    import pandas as pd

    table = pd.DataFrame(
        {"sample": range(len(labels)) if ids is None else ids.tolist(), "cluster": labels}
    )
    if names is not None:
        table["name"] = [names[cluster] for cluster in labels]
        warn_about_formulas(names, "names of clusters")
    if confidence is not None:
        table["confidence"] = [f"{share:.3f}" for share in confidence]
    warn_about_formulas(table["sample"], "sample ids")
    if path == STDOUT:
        write_stdout(table.to_csv(index=False, lineterminator="\n"))
    else:
        with atomic_write(path) as stream:
            table.to_csv(stream, index=False, lineterminator="\n")


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
