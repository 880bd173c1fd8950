"""The commands ``anchorview experiment``: run the paper's experiments, see what there is to run."""

# Only light modules here, as for the commands themselves.
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anchorview import __version__
from anchorview._utils.atomic_files import exclusive_folder, require_writable_folder
from anchorview.cli.terminal import explained, print_grid, print_lines, printable, watched

if TYPE_CHECKING:
    from anchorview.experiments.output.output_folder import Outputs
    from anchorview.experiments.plan.plan_file import Plan
    from anchorview.experiments.run.runner import Progress

app = typer.Typer(
    name="experiment",
    help="Run the paper's experiments, or one's own, on any data.",
    no_args_is_help=True,
)

TIME_LIMIT = 3600.0
MEMORY_SHARE = 0.8
"""Part of the free memory that jobs may take together."""

Suite = Annotated[
    str,
    typer.Argument(
        metavar="SUITE",
        help="compare, ablation, runtime, beta, anchors, convergence, incomplete, all, or a .toml "
        "or .yaml file of one's own.",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Folder of data sets, one file or folder each.",
        show_default="the embedded digits and a made set",
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder for results, tables, figures and the report. What it has is not run again.",
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="NAME",
        help="A data set to run on; may be given several times.",
        show_default="all",
    ),
]
Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="default: settings as they are; auto: chosen without labels; oracle: chosen with the "
        "labels, as in the paper. May be given several times.",
        show_default="all three",
    ),
]
Runs = Annotated[
    int | None, typer.Option(min=1, help="K-means runs of each job.", show_default="20")
]
Seed = Annotated[int | None, typer.Option(help="Seed of all randomness.", show_default="0")]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=0.001,
        help="Most time of a job, all its runs together.",
        show_default=f"{TIME_LIMIT:.0f}",
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Most memory of a job, such as 4GB.",
        show_default="its share of what is free",
    ),
]
AtOnce = Annotated[
    int | None,
    typer.Option("--jobs", min=1, help="Jobs at the same time.", show_default="as many as cores"),
]
Retry = Annotated[
    bool,
    typer.Option(
        "--retry",
        help="Run jobs again that ended out of memory or time, or failed; with other limits, say.",
    ),
]


@app.command("run")
def run_suite(
    suite: Suite,
    data: Folder = None,
    out: Out = Path("experiments"),
    only: Only = None,
    mode: Modes = None,
    runs: Runs = None,
    seed: Seed = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    jobs: AtOnce = None,
    retry: Retry = False,
) -> None:
    """Run a suite of experiments; interrupted, the same command goes on where it stopped.

    Every data set, method and setting is a job in a process of its own. One that takes more than
    its time or memory is a "-" in the tables. Labels of the data are used for scores only, but in
    the mode oracle, which picks settings by them and is named wherever it appears.
    """
    given: dict[str, Any] = {
        "data": None if only is None else tuple(only),
        "modes": None if mode is None else tuple(mode),
        "runs": runs,
        "seed": seed,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
    }
    with explained("what is done is kept; the same command goes on from there"):
        require_writable_folder(out)
        plan = replace(_plan(suite), **{k: v for k, v in given.items() if v is not None})
        outcome = _run(plan, data, out, jobs, retry)
    _show(outcome, out)


@app.command("list")
def list_suites(data: Folder = None) -> None:
    """Tell which suites and data sets there are, and how to get those of the paper."""
    with explained():
        from anchorview.datasets import PAPER_SETS
        from anchorview.datasets.paper_sets import OBTAIN
        from anchorview.experiments.plan.suites import SUITES
        from anchorview.experiments.run.data_sets import data_sets

        there, problem = [], ""
        try:
            there = [] if data is None else data_sets(data, None)
        except ValueError as error:
            # How to get data sets is what somebody needs who has none.
            problem = str(error)
        names = {each.name for each in there}
        sets = [each for each in data_sets(None, None) if each.name not in names] + there
        rows = [
            (
                each.name,
                *_sizes(each.n_samples, each.n_clusters, len(each.n_features_per_view)),
                each.published_as or "",
            )
            for each in sets
        ]
        found = {each.published_as for each in sets}
        rows += [
            (f"{each.name} (not here)", *_sizes(*each.shape), each.name)
            for each in PAPER_SETS
            if each.name not in found
        ]
    print_lines([f"Suites: {', '.join(SUITES)}, all"])
    print_grid(rows, "Data set", "Samples", "Classes", "Views", "In the paper")
    print_lines(filter(None, [problem, OBTAIN]))


def _sizes(*numbers: int) -> tuple[str, ...]:
    return tuple(map(str, numbers))


def _plan(suite: str) -> "Plan":
    from anchorview.experiments.plan.plan_file import Plan, read_plan
    from anchorview.experiments.plan.suites import SUITES

    if suite in (*SUITES, "all"):
        return Plan(suites=(suite,))
    path = Path(suite)
    if path.suffix.lower() in {".toml", ".yaml", ".yml"}:
        return read_plan(path)
    raise ValueError(
        f"Suite {suite!r} is unknown; there are {', '.join(SUITES)} and all, or name a .toml or "
        ".yaml file."
    )


def _run(
    plan: "Plan", folder: Path | None, out: Path, at_once: int | None, retry: bool
) -> "Outputs":
    """Run what is not done yet, and write all outputs."""
    from anchorview._utils.threads import n_cores
    from anchorview.experiments.output.output_folder import write_outputs
    from anchorview.experiments.plan.suites import entries
    from anchorview.experiments.run.data_sets import data_sets
    from anchorview.experiments.run.result_store import Store
    from anchorview.experiments.run.runner import run_jobs

    sets = data_sets(folder, plan.data)
    by_name = {each.name: each for each in sets}
    wanted = entries(plan, sets)
    jobs = [(job, by_name[job.data]) for job in dict.fromkeys(entry.job for entry in wanted)]
    if not jobs:
        raise ValueError(
            f"There is nothing to run: {', '.join(plan.suites)} has no job of the mode "
            f"{' or '.join(plan.modes)} on {', '.join(by_name)}."
        )
    keys = [job.key(data.digest) for job, data in jobs]
    limit = _memory_of_a_job(plan.memory_limit, at_once or n_cores())
    out.mkdir(parents=True, exist_ok=True)
    with exclusive_folder(out), Store(out / "results.sqlite") as store:
        if retry:
            store.forget_unfinished(keys)
        with _progress() as listen:
            run_jobs(
                jobs,
                store,
                time_limit=plan.time_limit or TIME_LIMIT,
                memory_limit=limit,
                at_once=at_once or n_cores(),
                listen=listen,
            )
        results, environments = store.results(), store.environments(keys)
        _warn_of_versions(store.versions(keys))
        command = shlex.join(["anchorview", *sys.argv[1:]])
        return write_outputs(out, wanted, results, sets, environments, command, plan.title)


def _warn_of_versions(versions: set[str]) -> None:
    others = sorted(versions - {__version__})
    if others:
        warnings.warn(
            f"Some results were made by anchorview {', '.join(others)}, not by {__version__}: what "
            "is done is not run again. Give another folder to run all of it.",
            stacklevel=2,
        )


def _memory_of_a_job(limit: float | str | None, at_once: int) -> float:
    from anchorview._utils.memory import free_memory, memory_budget

    return MEMORY_SHARE * free_memory() / at_once if limit is None else memory_budget(limit)


@contextmanager
def _progress() -> Iterator[Callable[["Progress"], None]]:
    """Show how far the jobs are: a bar for a person who watches, else a line from time to time."""
    if not watched():
        yield _Log()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True) as live:
        yield lambda progress: live.update(_picture(progress))


class _Log:
    """Prints a line whenever another tenth of the jobs is done."""

    def __init__(self) -> None:
        self.shown = -1

    def __call__(self, progress: "Progress") -> None:
        tenth = 10 * progress.done // max(progress.total, 1)
        if tenth > self.shown:
            self.shown = tenth
            print(_summary(progress), file=sys.stderr, flush=True)


def _summary(progress: "Progress") -> str:
    rest = progress.remaining_seconds
    estimate = "" if not rest else f", about {_duration(rest)} to go"
    return f"{progress.done} of {progress.total} jobs done{estimate}"


def _picture(progress: "Progress") -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    current = [
        Text(f"  {printable(job.data)} {printable(job.method)} {_settings(job)} {seconds:.0f} s")
        for job, seconds in progress.running
    ]
    bar = ProgressBar(total=max(progress.total, 1), completed=progress.done, width=40)
    return Group(Text(_summary(progress)), bar, *current)


def _settings(job: Any) -> str:
    return printable(", ".join(f"{name}={value}" for name, value in job.settings))


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _show(outcome: "Outputs", out: Path) -> None:
    """Print the accuracies, what was not done, and where everything is."""
    frame = outcome.frame
    compared = frame[(frame["suite"] == "compare") & (frame["status"] == "done")]
    if len(compared):
        means = compared.pivot_table(index="column", columns="data", values="ACC", sort=False)
        rows = [
            (column, *("-" if x != x else f"{100 * x:.1f}" for x in row))
            for column, row in zip(means.index, means.to_numpy(), strict=True)
        ]
        print_grid(rows, "ACC", *map(printable, means.columns))
    missed = frame[frame["status"] != "done"]
    print_lines(_not_done(row) for row in missed.to_dict("records"))
    if len(missed):
        print_lines(["--retry runs what was not done once more, for example with other limits"])
    print_lines([f"Tables, figures and results are in {printable(out)}"])
    print_lines(
        f"Report written to {printable(path)}" for path in outcome.paths if path.suffix == ".html"
    )


def _not_done(row: Mapping[Any, Any]) -> str:
    point = "" if row["point"] != row["point"] else f" at {row['point']:g}"
    return printable(
        f"- {row['suite']}{point}: {row['data']} {row['column']}: {row['status']}, {row['reason']}"
    )
