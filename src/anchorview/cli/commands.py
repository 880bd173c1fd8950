"""The commands fit, demo, convert, predict, explain, relabel and info."""

import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal
from zipfile import is_zipfile

import typer

from anchorview import __version__
from anchorview.cli import experiment_commands, options, summaries, terminal
from anchorview.cli.loading import (
    LoadedData,
    MetadataOptions,
    ReadingOptions,
    TableOptions,
    load_model,
    read_known,
)
from anchorview.cli.options import command
from anchorview.cli.output_files import (
    LabelsOutput,
    OutputPaths,
    Printing,
    check_outputs,
    require_separate,
    write_and_show,
    write_labels,
    write_table,
)
from anchorview.cli.terminal import printable

app = typer.Typer(
    name="anchorview",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(experiment_commands.app)


def main() -> None:
    """Run the command line."""
    terminal.raise_when_terminated()
    app(prog_name="anchorview")


@app.callback(invoke_without_command=True)
def anchorview(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", help="Show the version.")] = False,
) -> None:
    """Fast multi-view clustering by discriminative anchor learning (DALMC)."""
    if version:
        typer.echo(f"anchorview {__version__}")
        raise typer.Exit
    experiment_commands.help_without_command(context)


@command(app)
def fit(
    data: options.Data,
    paths: OutputPaths,
    chosen: options.FitOptions,
    reading: ReadingOptions,
    about: MetadataOptions,
    printing: Printing,
    batch: Path | None = options.BATCH,
    labels_known: Path | None = options.LABELS_KNOWN,
    weights: str | None = options.WEIGHTS,
) -> None:
    """Cluster multi-view data. Settings and, without -k, the number of clusters are chosen.

    More: fit --help-all (views, preprocessing, tables, batches, settings).
    """

    def load() -> LoadedData:
        opened, limit = chosen.scheduler is not None, chosen.memory_limit
        loaded = reading.load(data, batch, limit, weights=weights, on_disk=opened)
        if labels_known is not None:
            loaded = replace(loaded, known=read_known(labels_known, loaded))
        return about.added_to(loaded)

    about.require_report(paths.report)
    inputs = {"DATA": data, "--reference": chosen.reference, "--labels-known": labels_known}
    _cluster(load, paths, chosen, printing, {**inputs, "--metadata": about.metadata})


@command(app)
def demo(out: Path = options.DIGITS_LABELS, report: Path = options.DIGITS_REPORT) -> None:
    """Cluster 2000 handwritten digits in six views, which come with the package."""

    def load() -> LoadedData:
        from anchorview import load_digits
        from anchorview.views.stored_view import ViewFile

        views, y = load_digits(return_X_y=True)
        shown = {"thumbnails": views["pixels"].reshape(-1, 16, 15)}
        return LoadedData(ViewFile({**views}, y, Path("Handwritten digits")), shown=shown)

    can_report = find_spec("matplotlib") is not None and find_spec("jinja2") is not None
    paths = OutputPaths(out, report=report if can_report else None)
    _cluster(load, paths, options.FitOptions(n_clusters=10), Printing(), {})
    if not can_report:
        typer.echo('To write a report: pip install "anchorview[report]"')


def _cluster(
    load: Callable[[], LoadedData],
    paths: OutputPaths,
    chosen: options.FitOptions,
    printing: Printing,
    inputs: Mapping[str, Path | None],
) -> None:
    """Load data, cluster them, write the outputs, which may not replace inputs, and show all."""
    outputs, scheduler = paths.checked(inputs, printing), chosen.scheduler
    if scheduler is not None and not outputs.keys().isdisjoint({"--results", "--report"}):
        raise ValueError(
            "--results and --report need the embedding on this machine, but with --scheduler it "
            "stays on the workers. Write the labels with --out."
        )
    # Standard output is for results. The lines of a verbose estimator would break the bar.
    quiet = redirect_stdout(sys.stderr)
    with quiet, printing.progress("reading", shown=not chosen.verbose), _connection(scheduler):
        import numpy as np

        from anchorview import AutoDALMC
        from anchorview.estimators.base import save_results_of

        estimator, data = chosen.estimator(), load()
        given: dict[str, Any] = {"batch": data.batch, "sample_weight": data.weights}
        if data.known is not None:
            if not isinstance(estimator, AutoDALMC):
                raise ValueError("--labels-known is for auto: leave out --method dalmc.")
            given["y"] = data.known
        if chosen.reference is not None:
            given["reference"] = load_model(chosen.reference).relabel({}, output="numbers")
        views: Any = data.file
        if scheduler is not None:
            from anchorview.distributed import dask_views

            views = dask_views(views)
        # The embedding of data in memory is written after the fit.
        if paths.results and data.on_disk:
            given["out"] = paths.results
        start = perf_counter()
        model = estimator.fit(views, **given)
        seconds = perf_counter() - start
        labels: Any = None
        confidence: Any = None
        # Labels are fetched from the workers only if they are needed.
        if scheduler is None or "--out" in outputs or data.file.target is not None:
            labels = np.asarray(model.labels_)
            if hasattr(model, "confidence_"):
                confidence = np.asarray(model.confidence_)
        written_labels = labels
        if paths.doubtful is not None:
            certain = np.asarray(model.labels_without_doubt())
            written_labels = np.where(certain < 0, paths.doubtful, certain)
        scores = data.scores(labels)
    details = {"call": terminal.command_line(), "scores": scores or None, "seconds": seconds}
    writers: dict[str, Callable[[Path], object]] = {
        "--out": lambda path: write_labels(
            path, written_labels, confidence, data.ids, model.cluster_names_
        ),
        "--save": lambda path: model.save(path),
        # A fit of data on disk has written them.
        "--results": lambda path: None if data.on_disk else save_results_of(model, path),
        "--report": lambda path: data.write_report(path, model, **details),
    }
    record = {
        **summaries.model_record(model, labels, confidence),
        "seconds": seconds,
        **summaries.labels_record(scores, written_labels, paths.doubtful),
    }
    if not data.on_disk:
        available = data.file.available
        for p, view in enumerate(record["views"]):
            view["n_samples_missing"] = 0 if available is None else int((~available[:, p]).sum())
    write_and_show(printing, outputs, writers, record, summaries.model_lines(model, record))


def _connection(scheduler: str | None) -> AbstractContextManager[object]:
    if scheduler is None:
        return nullcontext()
    from anchorview.sources.dask.part_graph import connected

    # The client logs tracebacks of errors that are explained here.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    return connected(scheduler)


@command(app)
def convert(
    data: options.Data,
    folder: options.NewFolder,
    tables: TableOptions,
    printing: Printing,
    dtype: Literal["float32", "float64"] | None = options.DTYPE,
) -> None:
    """Convert data to a folder of .npy files, which can be larger than memory."""
    require_separate({"FOLDER": folder}, {"DATA": data})
    with printing.progress("converting"):
        from anchorview import datasets

        missing = tables.zero_rows_missing
        datasets.convert(data, folder, zero_rows_missing=missing, dtype=dtype, **tables.arguments)
    record = summaries.data_record(ReadingOptions().load(folder, on_disk=True))
    written = f"Folder {printable(folder)} written"
    printing.show(record, summaries.data_lines(record), [written])


@command(app)
def predict(
    model: options.Model,
    data: options.Data,
    output: LabelsOutput,
    reading: ReadingOptions,
    printing: Printing,
    level: int | None = options.LEVEL,
    batch: Path | None = options.BATCH,
) -> None:
    """Assign samples, which may lack views, to the clusters of a saved model."""
    outputs = output.checked({"MODEL": model, "DATA": data}, printing)
    with printing.progress("reading"):
        fitted = load_model(model)
        level = _other_level(fitted, level, model)
        if fitted.cluster_names_ is not None:
            # The table of labels has numbers and names.
            fitted.relabel({}, output="numbers")
        loaded = reading.load_for(fitted, data, batch)
        new = {"X": loaded.file, "batch": loaded.batch}
        confidence = None
        if level is not None:
            labels = fitted.predict(**new, level=level, doubtful=output.doubtful)
        elif hasattr(fitted, "predict_with_confidence"):
            labels, confidence = fitted.predict_with_confidence(**new)
        else:
            labels = fitted.predict(**new)
        written_labels = labels
        if output.doubtful is not None:
            written_labels = fitted.predict(**new, doubtful=output.doubtful)
        names = fitted.cluster_names_ if level is None else None
        record = {
            **summaries.prediction_record(fitted, labels, confidence, level),
            **summaries.labels_record(loaded.scores(labels), written_labels, output.doubtful),
        }
    writers: dict[str, Callable[[Path], object]] = {
        "--out": lambda path: write_labels(path, written_labels, confidence, loaded.ids, names)
    }
    lines = summaries.prediction_lines(fitted, record)
    write_and_show(printing, outputs, writers, record, lines)


@command(app)
def explain(
    model: options.Model,
    data: options.Data,
    reading: ReadingOptions,
    about: MetadataOptions,
    printing: Printing,
    markers: Path | None = options.MARKERS,
    summary: Path | None = options.SUMMARY,
    report: Path | None = options.REPORT,
    batch: Path | None = options.BATCH,
) -> None:
    """Explain the clusters of a saved model: features, typical samples, nearest clusters.

    DATA may be new samples, but --report is about those of the fit.
    """
    about.require_report(report)
    outputs = check_outputs(
        {"--markers": markers, "--summary": summary, "--report": report},
        {"MODEL": model, "DATA": data, "--metadata": about.metadata},
        printing,
    )
    with printing.progress("reading"):
        from anchorview.inspection import cluster_markers, cluster_summary

        fitted = load_model(model)
        loaded = about.added_to(reading.load_for(fitted, data, batch))
        views = loaded.views
        clusters = cluster_summary(fitted, views)
        rows = clusters.reset_index()
        for name in ("medoids", "features"):
            rows[name] = rows[name].map(lambda each: "; ".join(map(str, each)))
        writers: dict[str, Callable[[Path], object]] = {
            "--markers": lambda path: write_table(cluster_markers(fitted, views), path),
            "--summary": lambda path: write_table(rows, path),
            "--report": lambda path: loaded.write_report(path, fitted),
        }
    record = {
        "method": type(fitted).__name__,
        "n_samples": len(loaded),
        "n_clusters": len(clusters),
        "clusters": clusters.reset_index().astype(object).to_dict("records"),
    }
    lines = summaries.explained_lines(clusters, record)
    write_and_show(printing, outputs, writers, record, lines)


@command(app)
def relabel(
    model: options.Model,
    mapping: options.Mapping,
    printing: Printing,
    save: Path = options.NEW_MODEL,
) -> None:
    """Name and merge the clusters of a saved model, as chosen in its report."""
    inputs = {"MODEL": model, "MAPPING": mapping}
    outputs = check_outputs({"--save": save}, inputs, printing)
    from anchorview import load

    fitted = load(model)
    try:
        fitted.relabel(mapping)
    except ValueError as error:
        prefix = "" if str(error).startswith(str(mapping)) else f"{mapping}: "
        raise ValueError(f"{prefix}{error}") from error
    record = summaries.model_record(fitted, fitted.labels_, getattr(fitted, "confidence_", None))
    lines = summaries.cluster_lines(fitted, record)
    write_and_show(printing, outputs, {"--save": fitted.save}, record, lines)


@command(app)
def info(path: options.ModelOrData, reading: ReadingOptions, printing: Printing) -> None:
    """Describe multi-view data or a saved model."""
    from sklearn.base import clone

    from anchorview import load

    if _may_be_a_model(path):
        fitted = load(path)
        confidence = getattr(fitted, "confidence_", None)
        record = summaries.model_record(fitted, fitted.labels_, confidence)
        record["params"] = fitted.get_params()
        parameters = " ".join(str(clone(fitted)).split())
        printing.show(record, [parameters], summaries.model_lines(fitted, record))
    else:
        record = summaries.data_record(reading.load(path))
        printing.show(record, summaries.data_lines(record))


def _other_level(fitted: Any, level: int | None, path: Path) -> int | None:
    """Level of a saved model with a number of clusters; None for the clusters of its labels."""
    levels = getattr(fitted, "levels_", None)
    numbers = [fitted.n_clusters_] if levels is None else levels.index.tolist()
    if level is not None and level not in numbers:
        known = " or ".join(map(str, numbers))
        raise ValueError(
            f"--level {level}: {path} has levels with {known} clusters only. Pass one of these "
            f"numbers, or fit a model with -k {level}."
        )
    merged = levels is not None and fitted.n_clusters_ < fitted.n_clusters_fit_
    return level if merged or level != fitted.n_clusters_ else None


def _may_be_a_model(path: Path) -> bool:
    """Whether a file is not one of data, and has the suffix or the format of a saved model."""
    from anchorview.datasets.reading import find_format

    path = Path(path)
    unknown = path.is_file() and find_format(path) is None
    return unknown and (path.suffix.lower() == ".anchorview" or is_zipfile(path))
