"""The command ``anchorview``: cluster a file of views, or the embedded digits."""

# Only light modules here: scikit-learn and what it brings would make ``--help`` wait for seconds.
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from typer.core import TyperGroup

from anchorview import __version__
from anchorview.files import OutputFileError, replacing, require_writable
from anchorview.progress import listening, report

if TYPE_CHECKING:
    from anchorview.dalmc import DALMC

BAD_INPUT, OUT_OF_MEMORY, INTERRUPTED = 2, 1, 130
"""Exit codes."""

# Spelled out because the estimator's own lists come with scikit-learn; a test holds them equal.
Scaling = Literal["zscore-unit", "unit-center", "zscore", "unit", "none"]
Solver = Literal["auto", "compressed", "left", "direct"]
Assignment = Literal["kmeans", "cluster_qr"]

# Typer exports no name of its own for the base of all errors of usage.
_UsageError: Any = typer.BadParameter.__base__

_Load = Callable[[], tuple[Mapping[str, Any], Any]]
"""Returns the views and the true labels, or None for these."""


class _Program(TyperGroup):
    """The commands, with errors of usage on one line."""

    def main(self, *args: Any, **options: Any) -> Any:
        options["standalone_mode"] = False
        try:
            code = super().main(*args, **options)
        except _UsageError as error:
            command = error.ctx.command_path if error.ctx else "anchorview"
            _print_error(f"{error.format_message().rstrip('.')}. Try '{command} --help'.")
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
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A .npz or .mat file of views.")],
    n_clusters: Annotated[
        int | None,
        typer.Option("--clusters", "-k", help="Number of clusters; required.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="CSV file to write the clusters to.", show_default=False),
    ] = None,
    n_anchors: Annotated[
        int | None,
        typer.Option(help="Columns of the anchor graph.", show_default="as many as clusters"),
    ] = None,
    n_components: Annotated[
        int | None,
        typer.Option(help="Size of each view's representation.", show_default="twice the clusters"),
    ] = None,
    beta: Annotated[float, typer.Option(help="Weight of the alignment of the views.")] = 0.1,
    scaling: Annotated[
        Scaling, typer.Option(help="What is done to each view first.")
    ] = "zscore-unit",
    solver: Annotated[
        Solver, typer.Option(help="Form of the data to solve on; all give the same result.")
    ] = "auto",
    assignment: Annotated[
        Assignment, typer.Option(help="How the embedding becomes clusters.")
    ] = "kmeans",
    n_init: Annotated[int, typer.Option(help="Restarts of K-means.")] = 10,
    max_iter: Annotated[int, typer.Option(help="Most iterations.")] = 50,
    tol: Annotated[
        float, typer.Option(help="Relative change of the objective at which to stop.")
    ] = 1e-4,
    random_state: Annotated[int, typer.Option("--seed", help="Seed of all randomness.")] = 0,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print sizes and times of the stages.")
    ] = False,
) -> None:
    """Cluster the samples of a file of views.

    Labels in the file (y, gt, labels, ...) are used for scores only.
    """

    def load() -> tuple[Mapping[str, Any], Any]:
        from anchorview.datasets import read_views

        if out is not None and out.resolve() == data.resolve():
            raise ValueError(f"--out {out} is the data file itself. Give another name.")
        file = read_views(data)
        if n_clusters is None:
            raise ValueError(_clusters_missing(file.target))
        return file.views, file.target

    _run(
        load,
        out,
        n_clusters=n_clusters,
        n_anchors=n_anchors,
        n_components=n_components,
        beta=beta,
        scaling=scaling,
        solver=solver,
        assignment=assignment,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        random_state=random_state,
        verbose=int(verbose),
    )


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="CSV file to write the clusters to.")] = Path(
        "digits_labels.csv"
    ),
) -> None:
    """Cluster 2000 handwritten digits in six views, which come with the program."""

    def load() -> tuple[Mapping[str, Any], Any]:
        from anchorview.datasets import load_digits

        return load_digits(return_X_y=True)

    _run(load, out, n_clusters=10, random_state=0)


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
    model: "DALMC"
    seconds: float
    scores: dict[str, float]
    """Empty if there are no labels to score against."""


def _run(load: _Load, out: Path | None, **settings: Any) -> None:
    """Load, cluster, write the labels, then show what came out."""
    with _explained():
        if out is not None:
            require_writable(out)
        watched = sys.stderr is not None and sys.stderr.isatty()
        # The bar and the lines that the estimator prints would disturb each other.
        with _progress_bar(shown=watched and not settings.get("verbose")):
            outcome = _cluster(load, settings)
        if out is not None:
            _write_labels(outcome.model, out)
    _show(outcome, out)


def _cluster(load: _Load, settings: Mapping[str, Any]) -> _Outcome:
    report("reading", 0, 1)
    from anchorview.dalmc import DALMC
    from anchorview.metrics import clustering_scores

    views, target = load()
    clock = perf_counter()
    model = DALMC(**settings).fit(views)
    seconds = perf_counter() - clock
    scores = {} if target is None else clustering_scores(target, model.labels_)
    return _Outcome(model, seconds, scores)


def _write_labels(model: "DALMC", out: Path) -> None:
    with replacing(out) as stream:
        stream.write("sample,cluster\n")
        stream.writelines(f"{i},{label}\n" for i, label in enumerate(model.labels_.tolist()))


def _show(outcome: _Outcome, out: Path | None) -> None:
    model = outcome.model
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("View", overflow="fold")
    table.add_column("Features", justify="right")
    table.add_column("Weight", justify="right")
    for name, width, weight in zip(
        model.view_names_in_, model.n_features_per_view_, model.view_weights_, strict=True
    ):
        table.add_row(_printable(name), str(width), f"{weight:.3f}")

    # Names are the user's: without markup and emoji codes they are shown as they are.
    console = Console(markup=False, emoji=False, highlight=False)
    console.print(table)
    for line in _summary(outcome, out):
        console.print(line, soft_wrap=True)


def _summary(outcome: _Outcome, out: Path | None) -> Iterator[str]:
    model = outcome.model
    yield (
        f"{len(model.labels_)} samples in {model.n_clusters} clusters, solver {model.plan_.route}, "
        f"{model.n_iter_} of at most {model.max_iter} iterations, {outcome.seconds:.2f} s"
    )
    if outcome.scores:
        yield "  ".join(f"{name} {score:.4f}" for name, score in outcome.scores.items())
    if out is None:
        yield "Labels not written; to keep them, add --out labels.csv"
    else:
        yield f"Labels written to {_printable(out)}"


@contextmanager
def _progress_bar(*, shown: bool) -> Iterator[None]:
    """Show on stderr how far the present stage is."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(
        *columns, console=Console(stderr=True), transient=True, disable=not shown
    ) as progress:
        bars: dict[str, TaskID] = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in bars:
                bars[stage] = progress.add_task(stage, total=None)
            for name, bar in bars.items():
                progress.update(bar, visible=name == stage)
            # How far a stage of one step is cannot be known: its bar only moves.
            if total > 1:
                progress.update(bars[stage], completed=done, total=total)

        with listening(advance if shown else None):
            yield


@contextmanager
def _explained() -> Iterator[None]:
    """Turn what a person can act on into one line and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        print("anchorview: interrupted; nothing was written", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    except MemoryError as error:
        _print_error(str(error) or "not enough memory")
        raise typer.Exit(OUT_OF_MEMORY) from None
    # ImportError: a file may need a package that is optional.
    except (ValueError, TypeError, ImportError, OutputFileError) as error:
        _print_error(str(error))
        raise typer.Exit(BAD_INPUT) from None


def _print_error(message: str) -> None:
    print(f"anchorview: error: {_printable(' '.join(message.split()))}", file=sys.stderr)


def _printable(text: object) -> str:
    """Text without line breaks, terminal codes and what the output cannot encode."""
    # Python has no stream at all where the caller closed it.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))
    return shown.encode(encoding, "backslashreplace").decode(encoding)
