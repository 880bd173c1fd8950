"""The command ``anchorview``: cluster files of views, label new samples, look at what is there."""

# Only light modules here: scikit-learn and what it brings would make ``--help`` wait for seconds.
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from anchorview import __version__
from anchorview._utils.atomic_files import require_writable
from anchorview._utils.progress import report_progress as tell
from anchorview.cli import options
from anchorview.cli.clustering import (
    Outputs,
    Samples,
    is_large,
    open_samples,
    option_name,
    read_samples,
    run,
    write_labels,
)
from anchorview.cli.experiment_commands import app as experiments
from anchorview.cli.summaries import (
    closing_lines,
    data_lines,
    model_lines,
    prediction_lines,
    show_stored_views,
    show_views_of_data,
    show_views_of_model,
)
from anchorview.cli.terminal import (
    BAD_INPUT,
    explained,
    print_error,
    print_lines,
    printable,
    progress_bar,
    watched,
)

DATA_SUFFIXES = {".npz", ".mat", ".h5mu", ".h5", ".hdf5"}

# Typer exports no name of its own for the base of all errors of usage.
_UsageError: Any = typer.BadParameter.__base__


class _Program(TyperGroup):
    """The commands, with errors of usage on one line."""

    def main(self, *args: Any, **options: Any) -> Any:
        options["standalone_mode"] = False
        try:
            code = super().main(*args, **options)
        except _UsageError as error:
            command = error.ctx.command_path if error.ctx else "anchorview"
            print_error(f"{error.format_message().rstrip('.')}. Try '{command} --help'.")
            code = BAD_INPUT
        sys.exit(code)


app = typer.Typer(
    name="anchorview", cls=_Program, add_completion=False, pretty_exceptions_enable=False
)


app.add_typer(experiments)


def main() -> None:
    """Run the command line."""
    app(prog_name="anchorview")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"anchorview {__version__}")
        raise typer.Exit


@app.callback()
def anchorview(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Fast multi-view clustering by discriminative anchor learning (DALMC)."""


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
    method: options.Method = None,
    max_candidates: options.MaxCandidates = None,
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
) -> None:
    """Cluster the samples of a file of views.

    By default settings are chosen, and without -k the number of clusters too; a setting given by
    hand makes it dalmc with one number of clusters. Settings not given are the method's own.
    Samples may lack views for auto and dalmc. Labels in the file (y, gt, labels, ...) are used for
    scores only. Data larger than memory stay on disk: by default dalmc clusters them.
    """
    by_hand = {
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
    settings = {name: value for name, value in by_hand.items() if value is not None}
    with explained():
        files = {"--out": out, "--save": save, "--report": report}
        _require_distinct({**files, "--results": results, "DATA": data})
        _require_outside(files, {"--results": results, "DATA": data})
        in_parts = is_large(data, memory_limit) or scheduler is not None
        chosen = method or ("dalmc" if settings or in_parts or results else "auto")
        if memory_limit is not None and chosen != "auto":
            _require_dalmc(chosen, "--memory-limit")
            settings["memory_limit"] = memory_limit
        if scheduler is not None:
            _require_dalmc(chosen, "--scheduler")
        if results is not None:
            _require_dalmc(chosen, "--results")
            if scheduler is not None:
                raise ValueError(
                    "--results is for files that this machine reads; results of --scheduler stay "
                    "on the workers. Write the clusters with --out."
                )

    def load() -> Samples:
        read = open_samples if in_parts else read_samples
        samples = read(data, zero_rows_missing)
        if n_clusters is None and chosen != "auto":
            raise ValueError(_clusters_missing(samples.target))
        return samples

    with explained():
        if method is None and settings and max_candidates is not None:
            raise ValueError(
                f"--max-candidates is for the method auto, but {option_name(min(settings))} makes "
                "it dalmc. Leave one of them out."
            )
        if chosen != "auto" and not isinstance(n_clusters, int | None):
            raise ValueError(
                f"-k: {chosen} takes one number of clusters, for example -k {n_clusters[0]}; only "
                "--method auto, the default without settings, chooses among several."
            )
    if max_candidates is not None:
        settings["max_candidates"] = max_candidates
    run(
        load,
        Outputs(out, save, report, results),
        chosen,
        scheduler,
        n_clusters=n_clusters,
        random_state=random_state,
        verbose=int(verbose),
        **settings,
    )


@app.command()
def demo(
    out: options.OutInAnyCase = Path("digits_labels.csv"),
    report: options.ReportInAnyCase = Path("digits_report.html"),
) -> None:
    """Cluster 2000 handwritten digits in six views, which come with the program."""

    def load() -> Samples:
        from anchorview.datasets import load_digits
        from anchorview.views.container import MultiViewData

        views, y = load_digits(return_X_y=True)
        return Samples(MultiViewData(views), y, None, "Handwritten digits")

    drawable = find_spec("bokeh") is not None and find_spec("jinja2") is not None
    outputs = Outputs(out, report=report if drawable else None)
    run(load, outputs, "auto", n_clusters=10, random_state=0)
    if not drawable:
        print_lines(['For a report of it: pip install "anchorview[report]"'])


@app.command()
def convert(
    data: options.Data,
    folder: options.NewFolder,
    dtype: options.NumberType = None,
    zero_rows_missing: options.ZeroRowsMissing = False,
) -> None:
    """Turn data into a folder of .npy files, which can stay on disk however large they are."""
    with explained():
        with progress_bar(shown=watched()):
            tell("reading", 0, 1)
            from anchorview.datasets import convert as write_folder
            from anchorview.datasets import open_views

            write_folder(data, folder, zero_rows_missing=zero_rows_missing, dtype=dtype)
        views = open_views(folder).views
    show_stored_views(views)
    print_lines([f"Folder {printable(folder)} written"])


@app.command()
def predict(
    model: options.Model,
    data: options.Data,
    out: options.Out = None,
    zero_rows_missing: options.ZeroRowsMissing = False,
) -> None:
    """Label samples with the clusters of a saved model; they may lack views."""
    with explained():
        _require_distinct({"--out": out, "MODEL": model, "DATA": data})
        if out is not None:
            require_writable(out)
        with progress_bar(shown=watched()):
            tell("reading", 0, 1)
            from anchorview.estimators.persistence.saving import load_model
            from anchorview.metrics import clustering_scores

            fitted = load_model(model)
            if not hasattr(fitted, "predict"):
                raise ValueError(f"{model} is of an ablation, which cannot label new samples.")
            in_parts = is_large(data, None) and not hasattr(fitted, "predict_with_confidence")
            samples = (
                open_samples(data, zero_rows_missing)
                if in_parts
                else read_samples(data, zero_rows_missing)
            )
            labels, confidence = _predicted(fitted, samples.data)
        if out is not None:
            write_labels(labels, confidence, samples.ids, out)
    scores = {} if samples.target is None else clustering_scores(samples.target, labels)
    print_lines([*prediction_lines(fitted, labels, confidence), *closing_lines(scores, out)])


@app.command()
def info(path: options.ModelOrData, zero_rows_missing: options.ZeroRowsMissing = False) -> None:
    """Tell what a file of views or a saved model holds."""
    with explained():
        if is_large(path, None):
            from anchorview.datasets import open_views

            show_stored_views(open_views(path).views)
        elif path.is_dir() or path.suffix.lower() in DATA_SUFFIXES:
            samples = read_samples(path, zero_rows_missing)
            show_views_of_data(samples.data)
            print_lines(data_lines(samples.data, samples.target))
        else:
            from anchorview.estimators.persistence.saving import load_model

            fitted = load_model(path)
            show_views_of_model(fitted)
            print_lines(model_lines(fitted))


def _require_distinct(files: Mapping[str, Path | None]) -> None:
    """Raise if two of the files are one, which writing it would destroy."""
    seen: dict[Path, str] = {}
    for option, path in files.items():
        if path is not None:
            other = seen.setdefault(path.resolve(), option)
            if other != option:
                raise ValueError(f"{other} and {option} are the same file, {path}. Give two names.")


def _require_outside(files: Mapping[str, Path | None], folders: Mapping[str, Path | None]) -> None:
    """Raise if a file is to be written into a folder where it would replace or disturb others."""
    for option, path in files.items():
        for other, folder in folders.items():
            if (
                path is not None
                and folder is not None
                and path.resolve().parent == folder.resolve()
            ):
                raise ValueError(f"{option} is in the folder of {other}, {folder}. Give another.")


def _require_dalmc(method: str, option: str) -> None:
    if method != "dalmc":
        raise ValueError(f"{option} is for --method dalmc, not {method}.")


def _clusters_missing(target: Any) -> str:
    example, known = 10, ""
    if target is not None:
        example = len(set(target.tolist()))
        known = f" The labels in the file have {example} classes, but are used for scores only."
    return (
        f"-k is missing: pass the number of clusters, for example -k {example}.{known} Only "
        "--method auto, the default without settings for data that fit into memory, can choose "
        "the number."
    )


def _predicted(model: Any, data: Any) -> tuple[Any, Any]:
    """Clusters of samples and, if the model can tell, the confidence in each."""
    if hasattr(model, "predict_with_confidence"):
        return model.predict_with_confidence(data)
    return model.predict(data), None
