"""The commands fit, demo, convert, predict, explain, relabel and info."""

# Imported by ``--help``: light modules only, as scikit-learn takes seconds to import.
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from anchorview import __version__
from anchorview._utils.progress import report_progress
from anchorview.cli import experiment_commands, options, summaries, terminal
from anchorview.cli.clustering import (
    SAVED_METHODS,
    OutputPaths,
    Printing,
    cluster,
    option_name,
    require_separate,
    write_labels,
)
from anchorview.cli.explaining import explain_clusters
from anchorview.cli.loading import LoadedData, ReadingOptions, TableOptions, load_model
from anchorview.cli.terminal import (
    explained_errors,
    print_json,
    print_lines,
    printable,
    progress_bar,
    summary_to,
)

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
    terminal.raise_when_terminated()
    app(prog_name="anchorview")


def _print_version(wanted: bool) -> None:
    if wanted:
        terminal.write_stdout(f"anchorview {__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def anchorview(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_print_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Fast multi-view clustering by discriminative anchor learning (DALMC)."""
    if context.invoked_subcommand is None:
        terminal.write_stdout(f"{context.get_help()}\n")


@app.command()
@options.with_groups
def fit(
    data: options.Data,
    paths: OutputPaths,
    reading: ReadingOptions,
    settings: options.Settings,
    printing: Printing,
    n_clusters: options.Clusters = None,
    method: options.Method = None,
    budget: options.Budget = None,
    batch: options.Batch = None,
    view: options.View = None,
    impute: options.Impute = None,
    preprocess: options.PreprocessView = None,
    memory_limit: options.MemoryLimit = None,
    scheduler: options.Scheduler = None,
    random_state: options.Seed = 0,
    verbose: options.Verbose = False,
) -> None:
    """Cluster multi-view data.

    By default the settings are chosen, and without -k the number of clusters too. A setting that
    is given selects dalmc, which needs -k. Samples may lack views with auto and dalmc. Classes in
    the data (y, gt, labels, ...) are used only for scores. Data larger than memory are clustered
    from disk by auto and dalmc.
    """
    with explained_errors(options=terminal.FIT_OPTIONS):
        require_separate(paths.by_option(), {"DATA": data})
        given = settings.given()
        chosen = method or ("dalmc" if given else "auto")
        for_our_methods = {
            "memory_limit": memory_limit,
            "impute": impute,
            "preprocess": options.parse_pairs(preprocess, "--preprocess"),
        }
        reader = reading.of(data, options.parse_pairs(view, "--view"), batch)
        _check_fit_options(chosen, n_clusters, {"scheduler": scheduler, **for_our_methods})
        if budget is not None and method is None and given:
            raise ValueError(
                f"--budget is for --method auto, but {option_name(min(given))} selects dalmc. "
                "Leave one of them out."
            )
        given |= {"budget": budget, **for_our_methods}
        on_disk = reader.is_large(memory_limit) or scheduler is not None
        cluster(
            lambda: reader.load(on_disk=on_disk, nan_cells=impute is not None),
            paths,
            chosen,
            scheduler,
            printing=printing,
            n_clusters=n_clusters,
            random_state=random_state,
            verbose=int(verbose),
            **{name: value for name, value in given.items() if value is not None},
        )


def _check_fit_options(method: str, n_clusters: Any, for_our_methods: Mapping[str, Any]) -> None:
    """Raise if a method does not take one of the options."""
    for name, value in for_our_methods.items():
        if value is not None and method not in SAVED_METHODS:
            raise ValueError(f"{option_name(name)} is for --method auto and dalmc, not {method}.")
    if method != "auto" and not isinstance(n_clusters, int | None):
        raise ValueError(
            f"-k: {method} takes one number of clusters, for example -k {n_clusters[0]}; only "
            "--method auto, the default without settings, chooses among several."
        )


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

    can_report = find_spec("bokeh") is not None and find_spec("jinja2") is not None
    with explained_errors():
        paths = OutputPaths(out, report=report if can_report else None)
        cluster(
            load,
            paths,
            "auto",
            printing=Printing(),
            show_sizes=False,
            n_clusters=10,
            random_state=0,
        )
    if not can_report:
        print_lines('To write a report: pip install "anchorview[report]"')


@app.command()
@options.with_groups
def convert(
    data: options.Data,
    folder: options.NewFolder,
    tables: TableOptions,
    dtype: options.NumberType = None,
    view: options.View = None,
    quiet: options.Quiet = False,
) -> None:
    """Convert data to a folder of .npy files, which can be larger than memory."""
    with explained_errors(options=terminal.DATA_OPTIONS):
        require_separate({"FOLDER": folder}, {"DATA": data})
        with progress_bar(shown=Printing(quiet).shows_progress):
            report_progress("reading", 0, 1)
            from anchorview import datasets

            layout = tables.layout | {"views": options.parse_pairs(view, "--view")}
            missing = tables.zero_rows_missing
            datasets.convert(data, folder, zero_rows_missing=missing, dtype=dtype, **layout)
        views = datasets.open_views(folder).views
    with summary_to("nowhere" if quiet else "stdout"):
        summaries.print_views(views)
        print_lines(f"Folder {printable(folder)} written")


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
    view: options.View = None,
) -> None:
    """Assign samples, which may lack views, to the clusters of a saved model."""
    with explained_errors(options=terminal.DATA_OPTIONS):
        target = printing.summary_target(out)
        paths = OutputPaths(out)
        require_separate(paths.by_option(), {"MODEL": model, "DATA": data})
        paths.require_writable()
        with progress_bar(shown=printing.shows_progress):
            report_progress("reading", 0, 1)
            from anchorview.metrics import clustering_scores

            fitted = load_model(model)
            level = _other_level(fitted, level, model)
            selection = options.parse_pairs(view, "--view")
            loaded = reading.of(data, selection, batch).load_for(fitted)
            confidence = None
            if level is None and hasattr(fitted, "predict_with_confidence"):
                labels, confidence = fitted.predict_with_confidence(
                    loaded.views, **loaded.by_sample
                )
            else:
                at_level = {} if level is None else {"level": level}
                labels = fitted.predict(loaded.views, **loaded.by_sample, **at_level)
            scores = {} if loaded.target is None else clustering_scores(loaded.target, labels)
        if out is not None:
            names = fitted.cluster_names_ if level is None else None
            write_labels(labels, confidence, loaded.ids, out, names)
        if printing.as_json:
            print_json(summaries.prediction_record(fitted, labels, confidence, scores, out, level))
        with summary_to(target):
            print_lines(
                *summaries.prediction_lines(fitted, labels, confidence, level),
                *summaries.closing_lines(scores, paths.by_option(), paths.by_option()),
            )


@app.command()
@options.with_groups
def explain(
    model: options.Model,
    data: options.Data,
    reading: ReadingOptions,
    printing: Printing,
    markers: options.Markers = None,
    summary: options.ClusterSummary = None,
    report: options.ClusterReport = None,
    batch: options.Batch = None,
    view: options.View = None,
) -> None:
    """Explain the clusters of a saved model: features, typical samples, nearest clusters."""
    with explained_errors(options=terminal.DATA_OPTIONS):
        outputs = {"--markers": markers, "--summary": summary, "--report": report}
        reader = reading.of(data, options.parse_pairs(view, "--view"), batch)
        explain_clusters(model, reader, outputs, printing)


@app.command()
def relabel(
    model: options.Model,
    mapping: options.Mapping,
    save: options.SaveRelabeled,
    quiet: options.Quiet = False,
) -> None:
    """Name and merge the clusters of a saved model, as chosen in its report."""
    with explained_errors():
        paths = OutputPaths(save=save)
        require_separate(paths.by_option(), {"MODEL": model, "MAPPING": mapping})
        paths.require_writable()
        from anchorview import load

        fitted = load(model)
        try:
            fitted.relabel(mapping)
        except ValueError as error:
            prefix = "" if str(error).startswith(str(mapping)) else f"{mapping}: "
            raise ValueError(f"{prefix}{error}") from error
        fitted.save(save)
        if not quiet:
            print_lines(*summaries.cluster_lines(fitted), f"Model saved to {printable(save)}")


@app.command()
@options.with_groups
def info(
    path: options.ModelOrData,
    reading: ReadingOptions,
    view: options.View = None,
    as_json: options.AsJson = False,
) -> None:
    """Describe multi-view data or a saved model."""
    with explained_errors(options=terminal.DATA_OPTIONS):
        from anchorview import load

        reader = reading.of(path, options.parse_pairs(view, "--view"))
        if _may_be_a_model(path):
            fitted = load(path)
            if as_json:
                print_json(summaries.model_record(fitted))
                return
            summaries.print_views_of_model(fitted)
            print_lines(*summaries.model_lines(fitted))
            return
        large = reader.is_large()
        if large:
            # Rows of zeros are not looked for.
            reader = replace(reader, options=replace(reading, zero_rows_missing=False))
        loaded = reader.load(on_disk=large)
        data = loaded.in_memory
        views: Any = loaded.views.views
        if data is not None:
            views = dict(zip(data.names, views, strict=True))
        if as_json:
            print_json(summaries.data_record(views, loaded.views.available, loaded.target))
            return
        summaries.print_views(views, loaded.views.available)
        if data is not None:
            print_lines(*summaries.data_lines(data, loaded.target))


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
    """Whether a file is not one of data, and has the suffix or the beginning of a saved model."""
    from anchorview.datasets.reading import find_format

    if not path.is_file() or find_format(path) is not None:
        return False
    with path.open("rb") as stream:
        return path.suffix.lower() == ".anchorview" or stream.read(2) == b"PK"
