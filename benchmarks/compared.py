"""All methods with default settings: scores, time and memory.

    python benchmarks/compared.py [--seeds 3] [--only NAME ...] [--results FILE] [--out FILE]
        [--methods NAME ...] [--time-limit SECONDS] [--no-large]

Runs on the `.npz` files of the data folder (see `data.py`) and on 100,000 synthetic samples in 4
views of 100 features. Finished jobs are kept in the results file: when started again, the script
continues where it stopped, and tries jobs again that took longer than the limit.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from _measurements import (
    Measurement,
    Pair,
    PeakMemory,
    header,
    measured,
    resumable_parser,
    row,
    write_lines,
)
from anchorview import make_multiview
from anchorview.estimators.methods import METHODS, PUBLISHED_SETTINGS, method_class
from anchorview.experiments.plan.jobs import METRICS, Job, Result
from anchorview.metrics import clustering_scores
from data import FOLDER, load

COLUMNS = {
    **{name: (name, {}) for name in METHODS},
    "dalmc (as published)": ("dalmc", dict(PUBLISHED_SETTINGS)),
    # The initialization of the authors' programs, which depends on the order of samples.
    **{
        f"{name} (authors' start)": (name, {"init": "identity"})
        for name in ("awmvc", "fpmvs-cag", "omsc", "smvsc")
    },
}
"""Method and settings of each column."""

LARGE = "100,000 samples"
# The others need the neighbors of every sample among all others.
LARGE_METHODS = [name for name in METHODS if name not in ("amgl", "concat-spectral", "uomvsc")]
FITS = Measurement("compared")


def measure(job: Job, _: Measurement) -> Result:
    if job.data == LARGE:
        views, y = make_multiview(
            100_000, n_clusters=10, n_features=(100,) * 4, separation=2.0, noise=2.0, random_state=0
        )
    else:
        views, y = load(job.data)
    cls, k = method_class(job.method), len(np.unique(y))
    scores, seconds, iterations = [], [], []
    with PeakMemory() as memory:
        for seed in range(job.runs):
            start = time.process_time()
            model = cls(k, random_state=seed, **dict(job.settings)).fit(views)
            seconds.append(time.process_time() - start)
            assert np.isfinite(model.objective_).all()
            scores.append(clustering_scores(y, model.labels_))
            iterations.append(float(model.n_iter_))
    return Result(
        "done",
        scores={
            **{metric: tuple(each[metric] for each in scores) for metric in METRICS},
            "seconds": tuple(seconds),
            "iterations": tuple(iterations),
            "memory": (float(memory.bytes),),
        },
    )


def table(
    title: str, names: list[str], columns: list[str], value: Callable[[str, str], float]
) -> list[str]:
    """Table with a row per data set; `value(name, column)` is a number, NaN if not measured."""
    numbers = np.array([[value(name, column) for column in columns] for name in names])
    digits = 1 if np.nanmax(numbers) > 1 else 3
    complete = ~np.isnan(numbers).any(axis=1)
    mean = f"**mean of {complete.sum()} without -**"
    rows = [*zip(names, numbers, strict=True), (mean, numbers[complete].mean(axis=0))]
    lines = [
        row(name, *("-" if np.isnan(cell) else float(cell) for cell in cells), digits=digits)
        for name, cells in rows
    ]
    return ["", f"**{title}**", "", *header("data", *columns), *lines]


def pair(name: str, column: str, seeds: int) -> Pair:
    method, settings = COLUMNS[column]
    return Job.of(name, method, settings, runs=seeds, alone=True), FITS


def report(
    results: dict[Pair, Result],
    names: list[str],
    columns: list[str],
    options: argparse.Namespace,
) -> list[str]:
    seeds = options.seeds

    def mean(name: str, column: str, quantity: str) -> float:
        result = results[pair(name, column, seeds)]
        return float(np.mean(result.scores[quantity])) if result.status == "done" else np.nan

    lines = [
        f"`python benchmarks/compared.py --seeds {seeds} --time-limit {options.time_limit:g}"
        f"{' --only ' + ' '.join(options.only) if options.only else ''}`: methods with default "
        f"settings (none selected by the classes), means over {seeds} seeds. -: took longer than "
        "the limit."
    ]
    for metric in METRICS[:4]:
        lines += table(metric, names, columns, lambda n, c, m=metric: mean(n, c, m))
    lines += table("CPU seconds", names, columns, lambda n, c: mean(n, c, "seconds"))
    lines += table(
        "Memory beyond the data, MB", names, columns, lambda n, c: mean(n, c, "memory") / 1e6
    )
    large = [method for method in LARGE_METHODS if pair(LARGE, method, 1) in results]
    if not large:
        return lines
    lines += [
        "",
        f"**{LARGE} x 4 views of 100 features (320 MB), k = 10, one seed**",
        "",
        *header("method", "ACC", "iterations", "CPU seconds", "beyond the data, MB", "process, MB"),
    ]
    for method in large:
        result = results[pair(LARGE, method, 1)]
        if result.status != "done":
            lines.append(row(method, *"-----"))
            continue
        (acc,), (n_iter,), (seconds,), (memory,) = (
            result.scores[name] for name in ("ACC", "iterations", "seconds", "memory")
        )
        megabytes = [f"{count / 1e6:.0f}" for count in (memory, result.peak_bytes)]
        lines.append(row(method, acc, f"{n_iter:.0f}", f"{seconds:.1f}", *megabytes))
    return lines


def main() -> None:
    parser = resumable_parser(seeds=3)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--time-limit", type=float, default=float("inf"))
    parser.add_argument("--no-large", action="store_true", help="leave out the 100,000 samples")
    options = parser.parse_args()
    names = options.only or sorted(path.stem for path in FOLDER.glob("*.npz"))
    columns = [column for column, (method, _) in COLUMNS.items() if method in options.methods]
    pairs = [pair(name, column, options.seeds) for name in names for column in columns]
    if not (options.only or options.no_large):
        large = [method for method in LARGE_METHODS if method in options.methods]
        pairs = [pair(LARGE, method, 1) for method in large] + pairs
    results = measured(pairs, options.results, measure, options.time_limit)
    default = parser.get_default("out")
    if options.out == default and (options.only or options.methods != METHODS):
        return  # The table of all would be replaced by a part of it.
    write_lines(options.out, report(results, names, columns, options))


if __name__ == "__main__":
    main()
