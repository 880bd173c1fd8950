"""The commands ``run``, ``check`` and ``list`` of ``anchorview experiment``."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anchorview._utils.atomic_files import require_writable_folder
from anchorview._utils.progress import report_progress
from anchorview.cli.options import command, option
from anchorview.cli.output_files import require_separate
from anchorview.cli.terminal import (
    command_line,
    printable,
    progress_bar,
    table,
)

if TYPE_CHECKING:
    import pandas as pd

    from anchorview.experiments.jobs import Job
    from anchorview.experiments.plan import ExperimentPlan

app = typer.Typer(
    name="experiment",
    help="Run the experiments of the paper, or your own, on any data.",
    invoke_without_command=True,
)


@app.callback()
def help_without_command(context: typer.Context) -> None:
    """Print the help if no command follows."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


FOLDER = option(
    "Folder of data sets, a file or folder each; by default digits and a synthetic one.", "--data"
)
SUITE = "compare, ablation, runtime, beta, anchors, convergence, all, or a .toml file with a plan."


@dataclass(frozen=True)
class PlanOptions:
    """What replaces the values of a plan, by their names there."""

    data: list[str] | None = option("Data set; may be repeated.", "--only", metavar="NAME")
    methods: list[str] | None = option(
        "Method of the suites compare and runtime, such as dalmc, auto or concat-kmeans, or "
        "mypackage.mymvc:MyMVC for a class of yours; all by default. May be repeated.",
        "--method",
        metavar="NAME",
    )
    modes: list[str] | None = option(
        "default, auto (settings chosen without classes), oracle (chosen with the true classes) or "
        "published (DALMC as in the paper, chosen with the true classes too); all by default. May "
        "be repeated.",
        "--mode",
        metavar="MODE",
    )
    runs: int | None = option("K-means runs per job (20).", min=1)
    seed: int | None = option("Random seed (0).")
    time_limit: float | None = option("Seconds per job, all runs together (3600).", min=0.001)
    memory_limit: str | None = option("Memory of a job, such as 4GB (a share of what is free).")

    def applied_to(self, plan: "ExperimentPlan") -> "ExperimentPlan":
        """Plan with the values that were given."""
        given = {name: each for name, each in vars(self).items() if each is not None}
        lists = {name: tuple(each) for name, each in given.items() if isinstance(each, list)}
        return replace(plan, **given | lists)


@command(app, "run")
def run_suite(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help=SUITE)],
    chosen: PlanOptions,
    folder: Path | None = FOLDER,
    out: Path = option(
        "Folder for all results; jobs whose results it holds already are not run again.",
        default=Path("experiments"),
    ),
    jobs: int | None = option("Number of parallel jobs; number of cores by default.", min=1),
    retry: bool = option("Rerun jobs that failed or exceeded a limit.", "--retry", default=False),
) -> None:
    """Run a suite of experiments; after an interruption, the same command resumes it.

    Each combination of data set, method and setting is a job, "-" in tables if beyond a limit.

    True classes are used for scores only, but in the modes oracle and published, which are marked.
    """
    from anchorview.experiments.inputs import data_sets
    from anchorview.experiments.outputs import run_plan
    from anchorview.experiments.plan import SUITES, ExperimentPlan, read_plan

    _import_from_here()
    require_writable_folder(out)
    if suite in (*SUITES, "all"):
        plan = ExperimentPlan(suites=(suite,))
    elif Path(suite).suffix.lower() == ".toml":
        plan = read_plan(Path(suite))
    else:
        known = ", ".join(SUITES)
        raise ValueError(f"Suite {suite!r} is unknown; pass {known}, all, or a .toml file.")
    plan = chosen.applied_to(plan)
    sets = data_sets(folder, plan.data)
    # Results must not be taken for data, nor change a data set.
    if folder is not None and out.resolve() == folder.resolve():
        raise ValueError(f"--out and --data are the same folder, {out}. Pass two names.")
    paths = {f"the data set {each.path}": each.path for each in sets if each.path is not None}
    require_separate({"--out": out}, paths)
    how: dict[str, Any] = {"n_jobs": jobs, "retry": retry, "listen": _progress_report()}
    try:
        with progress_bar(shown=sys.stderr.isatty()):
            results = run_plan(plan, sets, out, command=command_line(), **how)
    except KeyboardInterrupt as stop:
        stop.args = ("finished jobs are kept; the same command resumes the run",)
        raise
    _print_results(results, out)


@command(app, "check")
def check(
    method: Annotated[
        str, typer.Argument(metavar="METHOD", help="Your method, such as mypackage.mymvc:MyMVC.")
    ],
) -> None:
    """Check that a method of your own can be used in experiments, on small generated data."""
    from anchorview.experiments.inputs import check_method, is_external

    _import_from_here()
    if not is_external(method):
        raise ValueError(f"{method!r} is not of the form module:Class or module:function.")
    lines = [f"Warning: {each}" for each in check_method(method)]
    example = f"anchorview experiment run compare --method {method}"
    for line in [*lines, f"{method} can be used: {example}"]:
        typer.echo(printable(line))


def _import_from_here() -> None:
    """Let this process and those of jobs import from the current folder, as ``python -m`` does."""
    if "" not in sys.path:
        sys.path.insert(0, os.getcwd())


@command(app, "list")
def list_suites(folder: Path | None = FOLDER) -> None:
    """List the suites and data sets, and how to obtain those of the paper."""
    from anchorview.datasets import PAPER_SETS
    from anchorview.datasets.data_sets import OBTAIN
    from anchorview.experiments.inputs import data_sets
    from anchorview.experiments.plan import SUITES

    sets, problem = {each.name: each for each in data_sets(None, None)}, ""
    try:
        sets |= {} if folder is None else {each.name: each for each in data_sets(folder, None)}
    except ValueError as error:
        # Without data sets, the instructions below are needed most.
        problem = f"{error}\n"
    rows: list[tuple[object, ...]] = [
        (s.name, s.n_samples, s.n_clusters, len(s.n_features_per_view), s.published_as)
        for s in sets.values()
    ]
    published = {each.published_as for each in sets.values()}
    absent = [each for each in PAPER_SETS if each.name not in published]
    rows += [(f"{each.name} (not here)", *each.shape, each.name) for each in absent]
    typer.echo(f"Suites: {', '.join(SUITES)}, all")
    typer.echo(table(rows, "Data set", "Samples", "Classes", "Views", "In the paper"))
    typer.echo(f"{problem}{OBTAIN}")


def _progress_report() -> "Callable[[int, int, Sequence[tuple[Job, float]]], None]":
    """Reports progress: on a terminal as a bar, otherwise as a line per tenth of the jobs."""
    tenths = set[int]()

    def report(done: int, total: int, running: "Sequence[tuple[Job, float]]") -> None:
        line, tenth = f"{done} of {total} jobs done", 10 * done // max(total, 1)
        if sys.stderr.isatty():
            jobs = [f"{job.data} {job.method} {seconds:.0f} s" for job, seconds in running]
            report_progress(f"Jobs ({printable('; '.join([line, *jobs]))})", done, total)
        elif tenth not in tenths:
            print(line, file=sys.stderr, flush=True)
        tenths.add(tenth)

    return report


def _print_results(frame: "pd.DataFrame", out: Path) -> None:
    compared = frame[(frame["suite"] == "compare") & (frame["status"] == "done")]
    if len(compared):
        means = compared.pivot_table(index="column", columns="data", values="ACC", sort=False)
        cells = (100 * means).map("{:.1f}".format).replace("nan", "-")
        typer.echo(table(cells.itertuples(), "ACC", *means.columns))
    missed = frame[frame["status"] != "done"]
    for row in missed.to_dict("records"):
        point = "" if row["point"] != row["point"] else f" at {row['point']:g}"
        job = f"{row['suite']}{point}: {row['data']} {row['column']}"
        typer.echo(printable(f"- {job}: {row['status']}, {row['reason']}"))
    if len(missed):
        typer.echo("--retry reruns the jobs without a result, for example with other limits")
    typer.echo(f"Tables, figures and results are in {printable(out)}")
    if (report := out / "report.html").exists():
        typer.echo(f"Report written to {printable(report)}")
