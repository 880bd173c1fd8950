"""All methods with default settings: scores, time and memory.

    python benchmarks/compared.py [--methods NAME ...] [--only DATA ...] [--again]
        [--seeds N] [--cpu-limit SECONDS] [--results FILE]

Runs on the `.npz` files of the data folder (see `data.py`), complete and with 30 % of the
(sample, view) entries removed, and on made data of growing size. Rows are shuffled, and on some
data sets sorted for comparison. Each job is in the results file as soon as it is finished: when
started again, the script continues where it stopped. `--again` repeats the jobs of the given
methods. `benchmark_page.py` makes the tables and the page from the results.
"""

import argparse
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from _measurements import Measurement, PeakMemory
from anchorview import MultiViewData, make_multiview
from anchorview._utils.memory import free_memory
from anchorview.datasets.data_sets import random_availability
from anchorview.estimators.methods import METHODS, method_class
from anchorview.experiments.jobs import METRICS, Job, Result
from anchorview.experiments.runner import clocks, elapsed, run_jobs
from anchorview.metrics import clustering_scores
from compared_results import (
    COLUMNS,
    CPU_MINUTES,
    MADE,
    MISSING,
    NOT_GIVEN,
    PATH,
    SCALED,
    Position,
    PreparedJob,
    ResultFile,
    RowOrder,
    job_at,
)
from data import FOLDER, load

N_SEEDS = 3
CHEAP_SECONDS = 10.0
"""CPU time of the first seed up to which a job is repeated with the other seeds."""

SMALL, LARGE = 1_000, 10_000
"""Numbers of samples that separate small, medium and large data sets."""

SLOW = ("amgl", "auto", "concat-spectral", "lmvsc", "mvsc", "opmc", "sfmc", "uomvsc")
"""Methods that take minutes on large data sets; they run last."""

SORTED_SETS = ("3sources", "msrcv1", "orl", "bbcsport", "handwritten")
"""Small data sets, on which sorted rows are compared with shuffled ones."""

MADE_SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
MADE_FEATURES = (100,) * 4
MADE_CLUSTERS = 10
GRAPH_METHODS = ("amgl", "concat-hdbscan", "concat-spectral", "graph-leiden", "uomvsc")
"""Methods that need the neighbors of every sample among all others."""
GRAPH_SIZE = 30_000
"""Maximum number of made samples for these."""


class CpuLimitError(Exception):
    """A job took longer than its limit."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise an error once this process has used so many CPU seconds in the block."""

    def stop(*_: object) -> None:
        raise CpuLimitError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def labeled_data(job: PreparedJob) -> tuple[MultiViewData, np.ndarray]:
    """Views and classes of a job; rows are ordered, entries removed and imputed as it says."""
    if job.data.startswith(MADE):
        views, y = make_multiview(
            int(job.data.removeprefix(MADE)),
            n_clusters=MADE_CLUSTERS,
            n_features=MADE_FEATURES,
            separation=2.0,
            noise=2.0,
            random_state=0,
        )
    else:
        views, y = load(job.data)
    if job.order == "sorted":
        rows = np.argsort(y, kind="stable")
    else:
        rows = np.random.RandomState(job.seed).permutation(len(y))
    data, y = MultiViewData(views)[rows], y[rows]
    if job.missing:
        data = remove_entries(data, job.missing, job.seed)
    return impute_means(data) if job.impute else data, y


def remove_entries(data: MultiViewData, fraction: float, seed: int) -> MultiViewData:
    """Remove a fraction of the (sample, view) entries of complete data at random."""
    rng, n_views = np.random.RandomState(seed), len(data.views)
    available = random_availability(len(data), n_views, fraction, rng, among=n_views)
    return MultiViewData(dict(zip(data.names, data.views, strict=True)), available=available)


def impute_means(data: MultiViewData) -> MultiViewData:
    """Replace missing views of samples by the feature means over the other samples."""
    imputed = {}
    for name, view, available in zip(data.names, data.views, data.available.T, strict=True):
        dense = (view.toarray() if sparse.issparse(view) else view).astype(data.dtype)
        dense[~available] = dense[available].mean(axis=0, dtype=np.float64)
        imputed[name] = dense
    return MultiViewData(imputed)


def measure(job: PreparedJob, limit: Measurement) -> Result:
    data, y = labeled_data(job)
    settings = {"n_clusters": len(np.unique(y)), "random_state": job.seed, **dict(job.settings)}
    model = method_class(job.method)(**settings)
    result = measured_fit(model, data, y, limit.cpu_limit)
    if result.status == "done":
        assert np.isfinite(model.objective_).all()
    return result


def measured_fit(model: Any, data: MultiViewData, y: np.ndarray, limit: float) -> Result:
    """Scores, CPU seconds and memory of a fit."""
    try:
        with PeakMemory() as memory, cpu_limit(limit):
            start = clocks()
            model.fit(data)
            times = elapsed(start)
    except CpuLimitError:
        return Result("time", f"exceeded the limit of {limit:g} CPU seconds")
    measured = {
        **clustering_scores(y, model.labels_),
        "seconds": times["cpu_seconds"],
        "wall": times["fit_seconds"],
        "others": times["other_cores"],
        "megabytes": memory.bytes / 1e6,
        "clusters": len(np.unique(model.labels_)),
    }
    if hasattr(model, "n_iter_"):
        measured["iterations"] = model.n_iter_
    return Result("done", scores={name: (float(value),) for name, value in measured.items()})


def positions(file: ResultFile, n_seeds: int) -> list[list[Position]]:
    """Jobs in the order in which they run, so that the first results cover all sections."""
    names = sorted(
        (name for name in file.data if not name.startswith(MADE)), key=lambda n: file.data[n][0]
    )
    small = [name for name in names if file.data[name][0] < SMALL]
    large = [name for name in names if file.data[name][0] >= LARGE]
    medium = [name for name in names if name not in (*small, *large)]
    usual = [c for c in COLUMNS if "authors' start" not in c and c not in NOT_GIVEN]
    fast = [column for column in usual if column not in SLOW]

    def first(
        sets: Sequence[str],
        columns: Sequence[str],
        missing: float = 0.0,
        order: RowOrder = "shuffled",
    ) -> list[Position]:
        return [(data, column, missing, order, 0) for data in sets for column in columns]

    def made(sizes: Sequence[int], columns: Sequence[str]) -> list[Position]:
        return [
            position
            for n in sizes
            for position in first([f"{MADE}{n}"], columns)
            if n <= GRAPH_SIZE or position[1] not in GRAPH_METHODS
        ]

    groups = [
        first(small, usual),
        first(small, usual, MISSING),
        made(MADE_SIZES[:3], SCALED),
        first(medium, usual),
        first(large, fast),
        first(large, SLOW),
        first(SORTED_SETS, usual, order="sorted"),
        made(MADE_SIZES[3:], SCALED),
        first(medium, usual, MISSING),
        first(large, fast, MISSING),
        first(large, SLOW, MISSING),
        made(MADE_SIZES, METHODS),
        first(names, [column for column in COLUMNS if column not in usual]),
    ]
    cheap = [
        (*position, seed)
        for *position, _ in (
            *first(names, usual),
            *first(names, usual, MISSING),
            *first(SORTED_SETS, usual, order="sorted"),
        )
        for seed in range(1, n_seeds)
        if (seconds := seconds_at(file, (*position, 0))) and seconds <= CHEAP_SECONDS
    ]
    return [*groups, cheap]


def seconds_at(file: ResultFile, position: Position) -> float | None:
    status, *numbers = file.rows.get(position, [None])
    return numbers[len(METRICS)] if status == "done" else None


def run(file: ResultFile, options: argparse.Namespace) -> None:
    """Measure all jobs that are not in the file."""
    for path in sorted(FOLDER.glob("*.npz")):
        if path.stem not in file.data:
            views, y = load(path.stem)
            shapes = [view.shape[1] for view in views.values()]
            file.data[path.stem] = [len(y), len(np.unique(y)), shapes]
    if options.again:
        file.forget(c for c, (method, _) in COLUMNS.items() if method in options.methods)
    limit = Measurement("", options.cpu_limit)
    started: set[Job] = set()

    def print_started(done: int, total: int, running: Sequence[tuple[Job, float]]) -> None:
        for job, _ in running:
            if job not in started:
                started.add(job)
                missing = f", {job.missing:.0%} missing" if job.missing else ""
                place = f"{done + 1} of {total}"
                rows = f"{job.order} rows{missing}, seed {job.seed}"
                print(f"{place}: {job.method} on {job.data}, {rows}", flush=True)

    for number in range(len(positions(file, options.seeds))):
        # The last group depends on the results of those before.
        todo = [
            job_at(position)
            for position in positions(file, options.seeds)[number]
            if COLUMNS[position[1]][0] in options.methods
            and (options.only is None or position[0] in options.only)
        ]
        run_jobs(
            [(job, limit) for job in todo],
            file,
            time_limit=float("inf"),
            memory_limit=free_memory(),
            at_once=1,
            listen=print_started,
            measure=measure,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--only", nargs="*", help="data sets to run on")
    parser.add_argument("--again", action="store_true", help="repeat what is in the results")
    parser.add_argument("--seeds", type=int, default=N_SEEDS, help="for jobs of a few seconds")
    parser.add_argument("--cpu-limit", type=float, default=60 * CPU_MINUTES)
    parser.add_argument("--results", type=Path, default=PATH)
    options = parser.parse_args()
    run(ResultFile(options.results), options)


if __name__ == "__main__":
    main()
