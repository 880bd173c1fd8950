"""The commands fit, demo, convert, predict, explain, relabel and info."""

# Imported by ``--help``: light modules only, as scikit-learn takes seconds to import.
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Annotated, Any
from zipfile import is_zipfile

import typer
from typer.core import TyperGroup

from anchorview import __version__
from anchorview._utils.progress import report_progress
from anchorview.cli import experiment_commands, options, summaries, terminal
from anchorview.cli.clustering import NOT_WRITTEN, cluster
from anchorview.cli.loading import (
    LoadedData,
    MetadataOptions,
    ReadingOptions,
    TableOptions,
    load_model,
)
from anchorview.cli.options import OPTION_NAMES
from anchorview.cli.output_files import (
    OutputPaths,
    Printing,
    check_outputs,
    labels_table,
    require_separate,
    require_table,
    write_table,
)
from anchorview.cli.terminal import explained_errors, print_lines, printable, progress_bar

# Typer does not export the base class of usage errors.
_UsageError: Any = typer.BadParameter.__base__


class _Program(TyperGroup):
    """Group of commands that prints usage errors in one line."""

    def main(self, *args: Any, **options: Any) -> Any:
        options["standalone_mode"] = False
        try:
            with terminal.stdout_errors():
                code = super().main(*args, **options)
                # A full device may be reported only now.
                if sys.stdout is not None:
                    sys.stdout.flush()
        except _UsageError as error:
            command = error.ctx.command_path if error.ctx else "anchorview"
            # Without the words of the library that parses the values.
            message = error.format_message().replace("Value error, ", "")
            message = re.sub(", unable to parse string as an? \\w+", "", message).strip()
            end = "" if message.endswith((".", "?", "!")) else "."
            terminal.print_message("error", f"{message}{end} Try '{command} --help'.")
            code = terminal.BAD_INPUT
        except typer.Exit as stop:
            code = stop.exit_code
        except (typer.Abort, KeyboardInterrupt):
            code = terminal.INTERRUPTED
        sys.exit(code)


app = typer.Typer(
    name="anchorview",
    cls=_Program,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(experiment_commands.app)


def main() -> None:
    """Run the command line."""
    if sys.stderr is None:
        # The caller closed it, but some versions of NumPy need it when they are imported.
        sys.stderr = StringIO()
    terminal.raise_when_terminated()
    app(prog_name="anchorview")


@app.callback(invoke_without_command=True)
def anchorview(
    context: typer.Context,
    version: Annotated[bool, options.option("Show the version.", "--version", "-V")] = False,
) -> None:
    """Fast multi-view clustering by discriminative anchor learning (DALMC)."""
    if version:
        terminal.write_stdout(f"anchorview {__version__}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        terminal.write_stdout(f"{context.get_help()}\n")


@app.command()
@options.with_groups
def fit(
    data: options.Data,
    paths: OutputPaths,
    reading: ReadingOptions,
    chosen: options.FitOptions,
    about: MetadataOptions,
    printing: Printing,
    batch: options.Batch = None,
    doubtful: options.Doubtful = None,
) -> None:
    """Cluster multi-view data.

    By default the settings are chosen, and without -k the number of clusters too. A setting that
    is given selects dalmc, which needs -k. Samples may lack views with auto and dalmc. Classes in
    the data (y, gt, labels, ...) are used only for scores. Data larger than memory are clustered
    from disk by auto and dalmc.
    """

    def load() -> LoadedData:
        for kind, names in (("dropped", reading.drop), ("categories", reading.categorical)):
            if chosen.verbose and names:
                print(f"{kind}: {', '.join(names)}", file=sys.stderr)
        large = reading.is_large(data, chosen.memory_limit) or chosen.scheduler is not None
        return about.added_to(reading.load(data, batch, on_disk=large))

    with explained_errors(options=OPTION_NAMES):
        about.require_report(paths.report)
        cluster(load, paths, chosen, printing, {"DATA": data, **about.inputs}, doubtful)


@app.command()
def demo(
    out: options.Out = Path("digits_labels.csv"),
    report: options.Report = Path("digits_report.html"),
) -> None:
    """Cluster 2000 handwritten digits in six views, which come with the package."""

    def load() -> LoadedData:
        from anchorview import MultiViewData, load_digits

        views, y = load_digits(return_X_y=True)
        return LoadedData(MultiViewData(views), y, None, "Handwritten digits")

    can_report = find_spec("matplotlib") is not None and find_spec("jinja2") is not None
    with explained_errors():
        paths = OutputPaths(out, report=report if can_report else None)
        cluster(load, paths, options.FitOptions(n_clusters=10), Printing(), {})
    if not can_report:
        print_lines('To write a report: pip install "anchorview[report]"')


@app.command()
@options.with_groups
def convert(
    data: options.Data,
    folder: options.NewFolder,
    tables: TableOptions,
    printing: Printing,
    dtype: options.NumberType = None,
) -> None:
    """Convert data to a folder of .npy files, which can be larger than memory."""
    with explained_errors(options=OPTION_NAMES):
        require_separate({"FOLDER": folder}, {"DATA": data})
        with progress_bar(shown=printing.shows_progress):
            report_progress("reading", 0, 1)
            from anchorview import datasets

            missing = tables.zero_rows_missing
            datasets.convert(
                data, folder, zero_rows_missing=missing, dtype=dtype, **tables.arguments
            )
        record = summaries.data_record(ReadingOptions().load(folder, on_disk=True))
        folder_line = f"Folder {printable(folder)} written"
        printing.show(record, [*summaries.data_lines(record), folder_line])


@app.command()
@options.with_groups
def predict(
    model: options.Model,
    data: options.Data,
    reading: ReadingOptions,
    printing: Printing,
    out: options.Out = None,
    level: options.Level = None,
    batch: options.Batch = None,
    doubtful: options.Doubtful = None,
) -> None:
    """Assign samples, which may lack views, to the clusters of a saved model."""
    with explained_errors(options=OPTION_NAMES):
        written = OutputPaths(out).by_option()
        check_outputs(written, {"MODEL": model, "DATA": data}, printing)
        require_table(doubtful, out)
        with progress_bar(shown=printing.shows_progress):
            report_progress("reading", 0, 1)
            from anchorview.metrics import clustering_scores

            fitted = load_model(model)
            level = _other_level(fitted, level, model)
            if level is not None and doubtful is not None:
                raise ValueError(
                    f"--doubtful {doubtful} and --level {level}: how certain samples are is known "
                    "for the chosen clusters only. Leave one out."
                )
            loaded = reading.load_for(data, fitted, batch)
            confidence = None
            if level is None and hasattr(fitted, "predict_with_confidence"):
                labels, confidence = fitted.predict_with_confidence(
                    loaded.views, **loaded.by_sample
                )
            else:
                at_level = {} if level is None else {"level": level}
                labels = fitted.predict(loaded.views, **loaded.by_sample, **at_level)
            scores = {} if loaded.target is None else clustering_scores(loaded.target, labels)
            written_labels = labels
            if doubtful is not None:
                written_labels = fitted.predict(loaded.views, **loaded.by_sample, doubtful=doubtful)
        if out is not None:
            names = fitted.cluster_names_ if level is None else None
            write_table(labels_table(written_labels, confidence, loaded.ids, names), out)
        record = {
            **summaries.prediction_record(fitted, labels, confidence, level),
            **summaries.without_cluster(written_labels, doubtful),
            **summaries.outcome_record(scores, written),
        }

        def lines() -> Iterator[str]:
            sizes = record["cluster_sizes"]
            yield f"{len(labels)} samples; sizes of the clusters: {sizes}"
            yield from summaries.doubtful_lines(fitted, record)
            yield from summaries.without_cluster_lines(record, doubtful)
            yield from summaries.closing_lines(record)
            if out is None:
                yield NOT_WRITTEN

        printing.show(record, lines(), out)


@app.command()
@options.with_groups
def explain(
    model: options.Model,
    data: options.Data,
    reading: ReadingOptions,
    about: MetadataOptions,
    printing: Printing,
    markers: options.Markers = None,
    summary: options.ClusterSummary = None,
    report: options.Report = None,
    batch: options.Batch = None,
) -> None:
    """Explain the clusters of a saved model: features, typical samples, nearest clusters.

    DATA may be new samples, but --report is about those of the fit.
    """
    with explained_errors(options=OPTION_NAMES):
        outputs = {"--markers": markers, "--summary": summary, "--report": report}
        given = {option: path for option, path in outputs.items() if path is not None}
        about.require_report(report)
        check_outputs(given, {"MODEL": model, "DATA": data, **about.inputs}, printing)
        with progress_bar(shown=printing.shows_progress):
            report_progress("reading", 0, 1)
            from anchorview.inspection import cluster_markers, cluster_summary

            fitted = load_model(model)
            loaded = about.added_to(reading.load_for(data, fitted, batch))
            clusters = cluster_summary(fitted, loaded.views)
            rows = clusters.reset_index()
            for name in ("medoids", "features"):
                rows[name] = rows[name].map(lambda each: "; ".join(map(str, each)))
            writers: dict[str, Callable[[Path], object]] = {
                "--markers": lambda path: write_table(cluster_markers(fitted, loaded.views), path),
                "--summary": lambda path: write_table(rows, path),
                "--report": lambda path: loaded.write_report(path, fitted),
            }
            written, errors = terminal.write_outputs(writers, given)
        record = {
            "method": type(fitted).__name__,
            "n_samples": len(loaded),
            "n_clusters": len(clusters),
            "clusters": clusters.reset_index().astype(object).to_dict("records"),
            **summaries.outcome_record({}, written),
        }
        printing.show(record, summaries.explained_lines(clusters, record))
        if errors:
            raise ExceptionGroup("Some outputs failed", errors)


@app.command()
@options.with_groups
def relabel(
    model: options.Model, mapping: options.Mapping, save: options.SaveRelabeled, printing: Printing
) -> None:
    """Name and merge the clusters of a saved model, as chosen in its report."""
    with explained_errors():
        check_outputs({"--save": save}, {"MODEL": model, "MAPPING": mapping}, printing)
        from anchorview import load

        fitted = load(model)
        try:
            fitted.relabel(mapping)
        except ValueError as error:
            prefix = "" if str(error).startswith(str(mapping)) else f"{mapping}: "
            raise ValueError(f"{prefix}{error}") from error
        fitted.save(save)
        record = _record_of_file(fitted)
        saved = f"Model saved to {printable(save)}"
        printing.show(record, [*summaries.cluster_lines(record), saved])


@app.command()
@options.with_groups
def info(path: options.ModelOrData, reading: ReadingOptions, printing: Printing) -> None:
    """Describe multi-view data or a saved model."""
    with explained_errors(options=OPTION_NAMES):
        from anchorview import load

        if _may_be_a_model(path):
            fitted = load(path)
            record = {"params": fitted.get_params(), **_record_of_file(fitted)}
            printing.show(record, _file_lines(fitted, record))
            return
        large = reading.is_large(path)
        if large:
            # Rows of zeros are not looked for.
            reading = replace(reading, zero_rows_missing=False)
        record = summaries.data_record(reading.load(path, on_disk=large))
        printing.show(record, summaries.data_lines(record))


def _record_of_file(fitted: Any) -> dict[str, Any]:
    """Summary of a model from a file, which may lack the labels."""
    labels = fitted.labels_ if len(fitted.labels_) else None
    confidence = None if labels is None else getattr(fitted, "confidence_", None)
    return summaries.model_record(fitted, labels, confidence)


def _file_lines(fitted: Any, record: dict[str, Any]) -> Iterator[str]:
    from sklearn.base import clone

    yield " ".join(str(clone(fitted)).split())
    yield from summaries.model_lines(fitted, record)
    if record["cluster_sizes"] is None:
        yield "no labels in this file: the fit wrote them elsewhere or left them on workers"
    yield from summaries.cluster_lines(record)


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

    if not path.is_file() or find_format(path) is not None:
        return False
    return path.suffix.lower() == ".anchorview" or is_zipfile(path)
