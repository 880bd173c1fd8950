"""The commands fit, demo, convert, predict, explain, relabel and info."""

# Imported by ``--help``: light modules only, as scikit-learn takes seconds to import.
import re
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from anchorview import __version__
from anchorview._utils.progress import report_progress
from anchorview.cli import experiment_commands, options, summaries, terminal
from anchorview.cli.batch_files import with_batch
from anchorview.cli.clustering import (
    OutputPaths,
    Printing,
    Samples,
    cluster_samples,
    is_large,
    option_name,
    read_samples,
    require_separate,
    selection_like_fit,
    write_labels,
)
from anchorview.cli.explaining import explain_clusters
from anchorview.cli.terminal import (
    explained_errors,
    print_json,
    print_lines,
    printable,
    progress_bar,
    summary_to,
    watched,
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
            terminal.print_message("error", _usage_message(error))
            code = terminal.BAD_INPUT
        except typer.Exit as stop:
            code = stop.exit_code
        except (typer.Abort, KeyboardInterrupt):
            code = terminal.INTERRUPTED
        sys.exit(code)


def _usage_message(error: Any) -> str:
    command = error.ctx.command_path if error.ctx else "anchorview"
    # The words of the library that parses the values.
    message = error.format_message().replace("Value error, ", "")
    message = re.sub(", unable to parse string as an? \\w+", "", message).strip()
    end = "" if message.endswith((".", "?", "!")) else "."
    return f"{message}{end} Try '{command} --help'."


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
def fit(
    data: options.Data,
    n_clusters: options.Clusters = None,
    out: options.Out = None,
    save: options.Save = None,
    report: options.Report = None,
    results: options.Results = None,
    memory_limit: options.MemoryLimit = None,
    scheduler: options.Scheduler = None,
    zero_rows_missing: options.ZeroRowsMissing = False,
    class_labels: options.Labels = None,
    no_id_column: options.NoIdColumn = False,
    no_header: options.NoHeader = False,
    batch: options.Batch = None,
    view: options.View = None,
    impute: options.Impute = None,
    preprocess: options.PreprocessView = None,
    method: options.Method = None,
    budget: options.Budget = None,
    n_anchors: options.NAnchors = None,
    n_components: options.NComponents = None,
    beta: options.Beta = None,
    scaling: options.Scaling = None,
    solver: options.Solver = None,
    assignment: options.Assignment = None,
    n_init: options.NInit = None,
    max_iter: options.MaxIter = None,
    tol: options.Tol = None,
    random_state: options.Seed = 0,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Cluster multi-view data.

    By default the settings are chosen, and without -k the number of clusters too. A setting that
    is given selects dalmc, which needs -k. Samples may lack views with auto and dalmc. Classes in
    the data (y, gt, labels, ...) are used only for scores. Data larger than memory are clustered
    from disk by auto and dalmc.
    """
    given = {
        "n_anchors": n_anchors,
        "n_components": n_components,
        "beta": beta,
        "scaling": scaling,
        "solver": solver,
        "assignment": assignment,
        "n_init": n_init,
        "max_iter": max_iter,
        "tol": tol,
    }
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    with explained_errors(options=terminal.FIT_OPTIONS):
        paths = OutputPaths(out, save, report, results)
        require_separate(paths.by_option(), {"DATA": data})
        selection = options.parse_pairs(view, "--view")
        steps = options.parse_pairs(preprocess, "--preprocess")
        layout: dict[str, Any] = {"id_column": not no_id_column, "header": not no_header}
        layout["views"] = selection
        on_disk = is_large(data, memory_limit, class_labels, **layout) or scheduler is not None
        chosen = method or ("dalmc" if settings else "auto")
        for name, value in (("--scheduler", scheduler), ("--memory-limit", memory_limit)):
            if value is not None and chosen not in ("auto", "dalmc"):
                raise ValueError(f"{name} is for --method auto and dalmc, not {chosen}.")
        if results is not None and scheduler is not None:
            raise ValueError(
                "--results is for files that this machine reads; with --scheduler the results stay "
                "on the workers. Write the labels with --out."
            )
        if budget is not None:
            if method is None and settings:
                raise ValueError(
                    f"--budget is for --method auto, but {option_name(min(settings))} "
                    "selects dalmc. Leave one of them out."
                )
            settings["budget"] = budget
        if memory_limit is not None:
            settings["memory_limit"] = memory_limit
        prepared = {"impute": impute, "preprocess": steps}
        for name, option in prepared.items():
            if option is not None and chosen not in ("auto", "dalmc"):
                raise ValueError(f"--{name} is for --method auto and dalmc, not {chosen}.")
        settings |= {name: option for name, option in prepared.items() if option is not None}
        if chosen != "auto" and not isinstance(n_clusters, int | None):
            raise ValueError(
                f"-k: {chosen} takes one number of clusters, for example -k {n_clusters[0]}; only "
                "--method auto, the default without settings, chooses among several."
            )
        cluster_samples(
            lambda: with_batch(
                read_samples(
                    data,
                    zero_rows_missing,
                    class_labels,
                    on_disk=on_disk,
                    nan_cells=impute is not None,
                    **layout,
                ),
                batch,
            ),
            paths,
            chosen,
            scheduler,
            printing=Printing(quiet, as_json),
            n_clusters=n_clusters,
            random_state=random_state,
            verbose=int(verbose),
            **settings,
        )


@app.command()
def demo(
    out: options.Out = Path("digits_labels.csv"),
    report: options.Report = Path("digits_report.html"),
) -> None:
    """Cluster 2000 handwritten digits in six views, which come with the package."""

    def load() -> Samples:
        from anchorview import MultiViewData, load_digits

        views, y = load_digits(return_X_y=True)
        return Samples(MultiViewData(views), y, None, "Handwritten digits")

    can_report = find_spec("bokeh") is not None and find_spec("jinja2") is not None
    with explained_errors():
        paths = OutputPaths(out, report=report if can_report else None)
        printing = Printing(sizes=False)
        cluster_samples(load, paths, "auto", printing=printing, n_clusters=10, random_state=0)
    if not can_report:
        print_lines('To write a report: pip install "anchorview[report]"')


@app.command()
def convert(
    data: options.Data,
    folder: options.NewFolder,
    dtype: options.NumberType = None,
    zero_rows_missing: options.ZeroRowsMissing = False,
    no_id_column: options.NoIdColumn = False,
    no_header: options.NoHeader = False,
    quiet: options.Quiet = False,
) -> None:
    """Convert data to a folder of .npy files, which can be larger than memory."""
    with explained_errors(options=terminal.DATA_OPTIONS):
        require_separate({"FOLDER": folder}, {"DATA": data})
        with progress_bar(shown=watched() and not quiet):
            report_progress("reading", 0, 1)
            from anchorview import datasets

            datasets.convert(
                data,
                folder,
                zero_rows_missing=zero_rows_missing,
                dtype=dtype,
                id_column=not no_id_column,
                header=not no_header,
            )
        views = datasets.open_views(folder).views
    with summary_to("nowhere" if quiet else "stdout"):
        summaries.print_views(views)
        print_lines(f"Folder {printable(folder)} written")


@app.command()
def predict(
    model: options.Model,
    data: options.Data,
    out: options.Out = None,
    level: options.Level = None,
    batch: options.Batch = None,
    zero_rows_missing: options.ZeroRowsMissing = False,
    class_labels: options.Labels = None,
    no_id_column: options.NoIdColumn = False,
    no_header: options.NoHeader = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Assign samples, which may lack views, to the clusters of a saved model."""
    with explained_errors(options=terminal.DATA_OPTIONS):
        target = Printing(quiet, as_json).summary_target(out)
        paths = OutputPaths(out)
        require_separate(paths.by_option(), {"MODEL": model, "DATA": data})
        paths.require_writable()
        with progress_bar(shown=watched() and not quiet):
            report_progress("reading", 0, 1)
            from anchorview import load
            from anchorview.metrics import clustering_scores

            fitted: Any = load(model)
            if not hasattr(fitted, "predict"):
                raise ValueError(f"{model} is an ablation, which cannot label new samples.")
            _require_level(fitted, level, model)
            is_chosen = level in (None, fitted.n_clusters_fit_)
            with_confidence = hasattr(fitted, "predict_with_confidence") and is_chosen
            layout: dict[str, Any] = {"id_column": not no_id_column, "header": not no_header}
            layout["views"] = selection_like_fit(data, fitted)
            samples = read_samples(
                data,
                zero_rows_missing,
                class_labels,
                on_disk=is_large(data, None, class_labels, **layout),
                nan_cells=fitted.imputation_ is not None,
                **layout,
            )
            samples = with_batch(samples, batch)
            given = samples.by_sample
            if with_confidence:
                labels, confidence = fitted.predict_with_confidence(samples.data, **given)
            else:
                at_level = {} if is_chosen else {"level": level}
                labels, confidence = fitted.predict(samples.data, **given, **at_level), None
            scores = {} if samples.target is None else clustering_scores(samples.target, labels)
        if out is not None:
            write_labels(labels, confidence, samples.ids, out)
        if as_json:
            print_json(summaries.prediction_record(fitted, labels, confidence, scores, out, level))
        with summary_to(target):
            print_lines(
                *summaries.prediction_lines(fitted, labels, confidence, level),
                *summaries.closing_lines(scores, paths.by_option(), paths.by_option()),
            )


@app.command()
def explain(
    model: options.Model,
    data: options.Data,
    markers: options.Markers = None,
    summary: options.ClusterSummary = None,
    report: options.ClusterReport = None,
    batch: options.Batch = None,
    zero_rows_missing: options.ZeroRowsMissing = False,
    class_labels: options.Labels = None,
    no_id_column: options.NoIdColumn = False,
    no_header: options.NoHeader = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Explain the clusters of a saved model: features, typical samples, nearest clusters."""
    with explained_errors(options=terminal.DATA_OPTIONS):
        explain_clusters(
            model,
            data,
            {"--markers": markers, "--summary": summary, "--report": report},
            Printing(quiet, as_json),
            zero_rows_missing=zero_rows_missing,
            class_labels=class_labels,
            batch=batch,
            id_column=not no_id_column,
            header=not no_header,
        )


@app.command()
def relabel(
    model: options.Model,
    mapping: options.Mapping,
    save: options.SaveRelabeled,
    quiet: options.Quiet = False,
) -> None:
    """Name and merge the clusters of a saved model, as chosen in its report."""
    with explained_errors():
        paths = OutputPaths(model=save)
        require_separate(paths.by_option(), {"MODEL": model, "MAPPING": mapping})
        paths.require_writable()
        from anchorview import load
        from anchorview.estimators.relabeling import read_mapping

        fitted = load(model)
        try:
            fitted.relabel(read_mapping(mapping))
        except ValueError as error:
            prefix = "" if str(error).startswith(str(mapping)) else f"{mapping}: "
            raise ValueError(f"{prefix}{error}") from error
        fitted.save(save)
        if not quiet:
            print_lines(*summaries.cluster_lines(fitted), f"Model saved to {printable(save)}")


@app.command()
def info(
    path: options.ModelOrData,
    zero_rows_missing: options.ZeroRowsMissing = False,
    class_labels: options.Labels = None,
    no_id_column: options.NoIdColumn = False,
    no_header: options.NoHeader = False,
    view: options.View = None,
    as_json: options.AsJson = False,
) -> None:
    """Describe multi-view data or a saved model."""
    with explained_errors(options=terminal.DATA_OPTIONS):
        from anchorview import load

        layout: dict[str, Any] = {"id_column": not no_id_column, "header": not no_header}
        layout["views"] = options.parse_pairs(view, "--view")
        if _may_be_a_model(path):
            fitted = load(path)
            if as_json:
                print_json(summaries.model_record(fitted))
                return
            summaries.print_views_of_model(fitted)
            print_lines(*summaries.model_lines(fitted))
            return
        if is_large(path, None, class_labels, **layout):
            file: Any = read_samples(path, False, class_labels, on_disk=True, **layout).data
            views, available, target = file.views, file.available, file.target
            lines: Iterable[str] = ()
        else:
            samples: Any = read_samples(path, zero_rows_missing, class_labels, **layout)
            data, target = samples.data, samples.target
            views = dict(zip(data.names, data.views, strict=True))
            available, lines = data.available, summaries.data_lines(data, target)
        if as_json:
            print_json(summaries.data_record(views, available, target))
            return
        summaries.print_views(views, available)
        print_lines(*lines)


def _require_level(fitted: Any, level: int | None, path: Path) -> None:
    """Raise if a saved model has no level with a number of clusters."""
    if level is None:
        return
    numbers = {fitted.n_clusters_fit_}
    if getattr(fitted, "levels_", None) is not None:
        numbers.update(fitted.levels_.index.tolist())
    if level not in numbers:
        known = " or ".join(map(str, sorted(numbers)))
        raise ValueError(
            f"--level {level}: {path} has levels with {known} clusters only. Pass one of these "
            f"numbers, or fit a model with -k {level}."
        )


def _may_be_a_model(path: Path) -> bool:
    """Whether a file is not one of data, and has the suffix or the beginning of a saved model."""
    from anchorview.datasets.formats.format_table import find_format

    if not path.is_file() or find_format(path) is not None:
        return False
    with path.open("rb") as stream:
        return path.suffix.lower() == ".anchorview" or stream.read(2) == b"PK"
