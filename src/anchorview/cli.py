"""The command ``anchorview``: cluster files of views, label new samples, look at what is there."""

# Only light modules here: scikit-learn and what it brings would make ``--help`` wait for seconds.
import csv
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from anchorview import __version__
from anchorview._terminal import (
    BAD_INPUT,
    explained,
    print_error,
    print_lines,
    print_table,
    printable,
    progress_bar,
    watched,
)
from anchorview.files import replacing, require_writable
from anchorview.methods import METHODS, method_class
from anchorview.progress import report

if TYPE_CHECKING:
    from anchorview.dalmc import DALMC
    from anchorview.views import MultiViewData

DATA_SUFFIXES = {".npz", ".mat", ".h5mu"}

# Spelled out because the estimator's own lists come with scikit-learn; a test holds them equal.
Solver = Literal["auto", "compressed", "left", "direct"]
Assignment = Literal["kmeans", "cluster_qr"]
Method = Literal[METHODS]  # type: ignore[valid-type]

# Typer exports no name of its own for the base of all errors of usage.
_UsageError: Any = typer.BadParameter.__base__

_DATA_HELP = "A .npz, .mat or .h5mu file of views, or a folder of .csv or .parquet files."
_ZERO_ROWS_HELP = "A row of zeros is a sample without that view."
_OUT_HELP = "CSV file to write the clusters to."


@dataclass(frozen=True, eq=False)
class _Samples:
    """Views of samples, their true labels if known, and what the samples are called."""

    data: "MultiViewData"
    target: Any
    ids: Any


_Load = Callable[[], _Samples]


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
    data: Annotated[Path, typer.Argument(metavar="DATA", help=_DATA_HELP)],
    n_clusters: Annotated[
        int | None,
        typer.Option("--clusters", "-k", help="Number of clusters; required.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help=_OUT_HELP, show_default=False),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="File to save the model to, for predict.", show_default=False),
    ] = None,
    zero_rows_missing: Annotated[
        bool, typer.Option("--zero-rows-missing", help=_ZERO_ROWS_HELP)
    ] = False,
    method: Annotated[Method, typer.Option(help="The clustering method.")] = "dalmc",
    n_anchors: Annotated[
        int | None,
        typer.Option(help="Columns of the anchor graph.", show_default="as many as clusters"),
    ] = None,
    n_components: Annotated[
        int | None,
        typer.Option(help="Size of each view's representation.", show_default="twice the clusters"),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(help="Weight of the alignment of the views.", show_default="0.1"),
    ] = None,
    scaling: Annotated[
        str | None,
        typer.Option(
            help="What is done to each view first: zscore-unit, unit-center, zscore, unit or none; "
            "rows, features or none for opmc.",
            show_default="zscore-unit",
        ),
    ] = None,
    solver: Annotated[
        Solver | None,
        typer.Option(
            help="Form of the data to solve on; all give the same result.", show_default="auto"
        ),
    ] = None,
    assignment: Annotated[
        Assignment | None,
        typer.Option(help="How the embedding becomes clusters.", show_default="kmeans"),
    ] = None,
    n_init: Annotated[int | None, typer.Option(help="Restarts.", show_default="10")] = None,
    max_iter: Annotated[
        int | None, typer.Option(help="Most iterations.", show_default="50")
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            help="Relative change of the objective at which to stop.", show_default="0.0001"
        ),
    ] = None,
    random_state: Annotated[int, typer.Option("--seed", help="Seed of all randomness.")] = 0,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print sizes and times of the stages.")
    ] = False,
) -> None:
    """Cluster the samples of a file of views.

    Settings not given are the method's own; the defaults shown are those of dalmc, for which
    samples may lack views. Labels in the file (y, gt, labels, ...) are used for scores only.
    """

    def load() -> _Samples:
        _require_distinct({"--out": out, "--save": save, "DATA": data})
        samples = _read(data, zero_rows_missing)
        if n_clusters is None:
            raise ValueError(_clusters_missing(samples.target))
        return samples

    settings = {
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
    _run(
        load,
        out,
        save,
        method,
        n_clusters=n_clusters,
        random_state=random_state,
        verbose=int(verbose),
        **{name: value for name, value in settings.items() if value is not None},
    )


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help=_OUT_HELP)] = Path("digits_labels.csv"),
) -> None:
    """Cluster 2000 handwritten digits in six views, which come with the program."""

    def load() -> _Samples:
        from anchorview.datasets import load_digits
        from anchorview.views import MultiViewData

        views, y = load_digits(return_X_y=True)
        return _Samples(MultiViewData(views), y, None)

    _run(load, out, None, "dalmc", n_clusters=10, random_state=0)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model saved by fit --save.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help=_DATA_HELP)],
    out: Annotated[Path | None, typer.Option(help=_OUT_HELP, show_default=False)] = None,
    zero_rows_missing: Annotated[
        bool, typer.Option("--zero-rows-missing", help=_ZERO_ROWS_HELP)
    ] = False,
) -> None:
    """Label samples with the clusters of a saved model; they may lack views."""
    with explained():
        _require_distinct({"--out": out, "MODEL": model, "DATA": data})
        if out is not None:
            require_writable(out)
        with progress_bar(shown=watched()):
            report("reading", 0, 1)
            from anchorview.metrics import clustering_scores
            from anchorview.persistence import load_model

            fitted = load_model(model)
            if not hasattr(fitted, "predict"):
                raise ValueError(f"{model} is of an ablation, which cannot label new samples.")
            samples = _read(data, zero_rows_missing)
            labels = fitted.predict(samples.data)
        if out is not None:
            _write_labels(labels, samples.ids, out)
    scores = {} if samples.target is None else clustering_scores(samples.target, labels)
    sizes = [int((labels == cluster).sum()) for cluster in range(fitted.n_clusters)]
    print_lines([f"{len(labels)} samples; sizes of the clusters: {sizes}", *_closing(scores, out)])


@app.command()
def info(
    path: Annotated[
        Path, typer.Argument(metavar="MODEL|DATA", help="A saved model, or data in any form.")
    ],
    zero_rows_missing: Annotated[
        bool, typer.Option("--zero-rows-missing", help=_ZERO_ROWS_HELP)
    ] = False,
) -> None:
    """Tell what a file of views or a saved model holds."""
    with explained():
        if path.is_dir() or path.suffix.lower() in DATA_SUFFIXES:
            samples = _read(path, zero_rows_missing)
            print_table(_views_of_data(samples.data), "Features", "Type", "Samples")
            print_lines(_data_lines(samples))
        else:
            from anchorview.persistence import load_model

            fitted = load_model(path)
            print_table(_views_of_model(fitted), "Features", "Weight")
            print_lines(_model_lines(fitted))


def _require_distinct(files: Mapping[str, Path | None]) -> None:
    """Raise if two of the files are one, which writing it would destroy."""
    seen: dict[Path, str] = {}
    for option, path in files.items():
        if path is not None:
            other = seen.setdefault(path.resolve(), option)
            if other != option:
                raise ValueError(f"{other} and {option} are the same file, {path}. Give two names.")


def _read(path: Path, zero_rows_missing: bool) -> _Samples:
    from anchorview.datasets import read_views
    from anchorview.views import MultiViewData

    file = read_views(path, zero_rows_missing=zero_rows_missing)
    data = MultiViewData(file.views, available=file.available)
    return _Samples(data, file.target, file.sample_ids)


def _views_of_data(data: "MultiViewData") -> Iterator[tuple[str, ...]]:
    for p, (name, view) in enumerate(zip(data.names, data.views, strict=True)):
        there = len(data) if data.available is None else int(data.available[:, p].sum())
        kind = f"{view.dtype}" if hasattr(view, "strides") else f"{view.dtype} sparse"
        yield name, str(view.shape[1]), kind, str(there)


def _data_lines(samples: _Samples) -> Iterator[str]:
    data = samples.data
    patterns = len(data.groups)
    missing = 0.0 if data.available is None else 1 - float(data.available.mean())
    yield f"{len(data)} samples, {data.shape[1]} features in {len(data.views)} views"
    if missing:
        yield f"{missing:.1%} of the view entries are missing, in {patterns} patterns"
    if samples.target is not None:
        yield f"labels of {len(set(samples.target.tolist()))} classes, for scores only"


def _views_of_model(model: "DALMC") -> Iterator[tuple[str, ...]]:
    for name, width, weight in zip(
        model.view_names_in_, model.n_features_per_view_, model.view_weights_, strict=True
    ):
        yield name, str(width), f"{weight:.3f}"


def _model_lines(model: "DALMC") -> Iterator[str]:
    sizes = [int((model.labels_ == cluster).sum()) for cluster in range(model.n_clusters)]
    yield str(model).replace("\n", " ")
    yield f"{len(model.labels_)} samples in clusters of {sizes}, {model.n_iter_} iterations"


def _clusters_missing(target: Any) -> str:
    if target is None:
        return "-k is missing: pass the number of clusters, for example -k 10."
    n_classes = len(set(target.tolist()))
    return (
        f"-k is missing: the labels in the file have {n_classes} classes, but are used for scores "
        f"only. Pass the number of clusters explicitly, for example -k {n_classes}."
    )


@dataclass(frozen=True, eq=False)
class _Outcome:
    model: Any
    seconds: float
    ids: Any
    scores: dict[str, float]
    """Empty if there are no labels to score against."""


def _run(load: _Load, out: Path | None, save: Path | None, method: str, **settings: Any) -> None:
    """Load, cluster, write labels and model, then show what came out."""
    with explained():
        if save is not None and method != "dalmc":
            raise ValueError(f"--save: models of {method} cannot be saved, only those of dalmc.")
        for path in (out, save):
            if path is not None:
                require_writable(path)
        # The bar and the lines that the estimator prints would disturb each other.
        with progress_bar(shown=watched() and not settings.get("verbose")):
            outcome = _cluster(load, method, settings)
        if out is not None:
            _write_labels(outcome.model.labels_, outcome.ids, out)
        if save is not None:
            outcome.model.save(save)
    _show(outcome, out, save)


def _cluster(load: _Load, method: str, settings: Mapping[str, Any]) -> _Outcome:
    report("reading", 0, 1)
    from anchorview.metrics import clustering_scores

    estimator = _estimator(method, settings)
    samples = load()
    clock = perf_counter()
    model = estimator.fit(samples.data)
    seconds = perf_counter() - clock
    scores = {} if samples.target is None else clustering_scores(samples.target, model.labels_)
    return _Outcome(model, seconds, samples.ids, scores)


def _estimator(method: str, settings: Mapping[str, Any]) -> Any:
    cls = method_class(method)
    known = cls().get_params()
    for name in settings:
        if name not in known:
            option = name.replace("_", "-")
            raise ValueError(
                f"--{option} is not a setting of {method}; {cls.__name__} in Python has "
                f"{', '.join(sorted(known))}."
            )
    return cls(**settings)


def _write_labels(labels: Any, ids: Any, out: Path) -> None:
    names = range(len(labels)) if ids is None else ids.tolist()
    with replacing(out) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["sample", "cluster"])
        writer.writerows(zip(names, labels.tolist(), strict=True))


def _show(outcome: _Outcome, out: Path | None, save: Path | None) -> None:
    model = outcome.model
    print_table(_views_of_model(model), "Features", "Weight")
    print_lines(
        [
            f"{len(model.labels_)} samples in {model.n_clusters} clusters by "
            f"{type(model).__name__}, {model.n_iter_} of at most {model.max_iter} iterations, "
            f"{outcome.seconds:.2f} s",
            *_closing(outcome.scores, out),
            *([] if save is None else [f"Model saved to {printable(save)}"]),
        ]
    )


def _closing(scores: Mapping[str, float], out: Path | None) -> Iterator[str]:
    """Yield the lines on scores and on where the labels are."""
    if scores:
        yield "  ".join(f"{name} {score:.4f}" for name, score in scores.items())
    if out is None:
        yield "Labels not written; to keep them, add --out labels.csv"
    else:
        yield f"Labels written to {printable(out)}"
