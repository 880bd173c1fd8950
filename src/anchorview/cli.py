"""The command ``anchorview``: cluster files of views, label new samples, look at what is there."""

# Only light modules here: scikit-learn and what it brings would make ``--help`` wait for seconds.
import csv
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from anchorview import __version__
from anchorview import _options as options
from anchorview._showing import (
    closing_lines,
    data_lines,
    fit_lines,
    model_lines,
    prediction_lines,
    show_views_of_data,
    show_views_of_model,
)
from anchorview._terminal import (
    BAD_INPUT,
    explained,
    print_error,
    print_lines,
    printable,
    progress_bar,
    watched,
)
from anchorview.files import replacing, require_writable
from anchorview.methods import method_class
from anchorview.progress import report

if TYPE_CHECKING:
    from anchorview.views import MultiViewData

DATA_SUFFIXES = {".npz", ".mat", ".h5mu"}

SAVED_METHODS = ("auto", "dalmc")
"""Methods whose models have a file."""

# Typer exports no name of its own for the base of all errors of usage.
_UsageError: Any = typer.BadParameter.__base__


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
    data: options.Data,
    n_clusters: options.Clusters = None,
    out: options.Out = None,
    save: options.Save = None,
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
    scores only.
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
    chosen = method or ("dalmc" if settings else "auto")

    def load() -> _Samples:
        _require_distinct({"--out": out, "--save": save, "DATA": data})
        samples = _read(data, zero_rows_missing)
        if n_clusters is None and chosen != "auto":
            raise ValueError(_clusters_missing(samples.target))
        return samples

    with explained():
        if method is None and settings and max_candidates is not None:
            raise ValueError(
                f"--max-candidates is for the method auto, but {_option(min(settings))} makes it "
                "dalmc. Leave one of them out."
            )
        if chosen != "auto" and not isinstance(n_clusters, int | None):
            raise ValueError(
                f"-k: {chosen} takes one number of clusters, for example -k {n_clusters[0]}; only "
                "--method auto, the default without settings, chooses among several."
            )
    if max_candidates is not None:
        settings["max_candidates"] = max_candidates
    _run(
        load,
        out,
        save,
        chosen,
        n_clusters=n_clusters,
        random_state=random_state,
        verbose=int(verbose),
        **settings,
    )


@app.command()
def demo(out: options.OutInAnyCase = Path("digits_labels.csv")) -> None:
    """Cluster 2000 handwritten digits in six views, which come with the program."""

    def load() -> _Samples:
        from anchorview.datasets import load_digits
        from anchorview.views import MultiViewData

        views, y = load_digits(return_X_y=True)
        return _Samples(MultiViewData(views), y, None)

    _run(load, out, None, "auto", n_clusters=10, random_state=0)


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
            report("reading", 0, 1)
            from anchorview.metrics import clustering_scores
            from anchorview.persistence import load_model

            fitted = load_model(model)
            if not hasattr(fitted, "predict"):
                raise ValueError(f"{model} is of an ablation, which cannot label new samples.")
            samples = _read(data, zero_rows_missing)
            labels, confidence = _predicted(fitted, samples.data)
        if out is not None:
            _write_labels(labels, confidence, samples.ids, out)
    scores = {} if samples.target is None else clustering_scores(samples.target, labels)
    print_lines([*prediction_lines(fitted, labels, confidence), *closing_lines(scores, out)])


@app.command()
def info(path: options.ModelOrData, zero_rows_missing: options.ZeroRowsMissing = False) -> None:
    """Tell what a file of views or a saved model holds."""
    with explained():
        if path.is_dir() or path.suffix.lower() in DATA_SUFFIXES:
            samples = _read(path, zero_rows_missing)
            show_views_of_data(samples.data)
            print_lines(data_lines(samples.data, samples.target))
        else:
            from anchorview.persistence import load_model

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


def _read(path: Path, zero_rows_missing: bool) -> _Samples:
    from anchorview.datasets import read_views
    from anchorview.views import MultiViewData

    file = read_views(path, zero_rows_missing=zero_rows_missing)
    data = MultiViewData(file.views, available=file.available)
    return _Samples(data, file.target, file.sample_ids)


def _clusters_missing(target: Any) -> str:
    example, known = 10, ""
    if target is not None:
        example = len(set(target.tolist()))
        known = f" The labels in the file have {example} classes, but are used for scores only."
    return (
        f"-k is missing: pass the number of clusters, for example -k {example}.{known} Only "
        "--method auto, the default without settings, can choose the number."
    )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _predicted(model: Any, data: "MultiViewData") -> tuple[Any, Any]:
    """Clusters of samples and, if the model can tell, the confidence in each."""
    if hasattr(model, "predict_with_confidence"):
        return model.predict_with_confidence(data)
    return model.predict(data), None


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
        if save is not None and method not in SAVED_METHODS:
            raise ValueError(
                f"--save: models of {method} cannot be saved, only those of "
                f"{' and '.join(SAVED_METHODS)}."
            )
        for path in (out, save):
            if path is not None:
                require_writable(path)
        # The bar and the lines that the estimator prints would disturb each other.
        with progress_bar(shown=watched() and not settings.get("verbose")):
            outcome = _cluster(load, method, settings)
        if out is not None:
            confidence = getattr(outcome.model, "confidence_", None)
            _write_labels(outcome.model.labels_, confidence, outcome.ids, out)
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
            raise ValueError(
                f"{_option(name)} is not a setting of {method}; {cls.__name__} in Python has "
                f"{', '.join(sorted(known))}."
            )
    return cls(**settings)


def _write_labels(labels: Any, confidence: Any, ids: Any, out: Path) -> None:
    columns = {
        "sample": range(len(labels)) if ids is None else ids.tolist(),
        "cluster": labels.tolist(),
    }
    if confidence is not None:
        columns["confidence"] = [f"{share:.3f}" for share in confidence.tolist()]
    with replacing(out) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _show(outcome: _Outcome, out: Path | None, save: Path | None) -> None:
    show_views_of_model(outcome.model)
    print_lines(
        [
            *fit_lines(outcome.model, outcome.seconds),
            *closing_lines(outcome.scores, out),
            *([] if save is None else [f"Model saved to {printable(save)}"]),
        ]
    )
