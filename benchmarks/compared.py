"""DALMC and the eight compared methods with default settings: scores, time and memory.

    python benchmarks/compared.py [--seeds 3] [--only NAME ...] [--results FILE] [--out FILE]

Runs on the `.npz` files of the data folder (see `data.py`) and on 100,000 synthetic samples in 4
views of 100 features. Finished jobs are kept in the results file: when started again, the script
continues where it stopped.
"""

import time
from collections.abc import Callable

import numpy as np

from _measurements import (
    Measurement,
    Pair,
    PeakMemory,
    header,
    measured,
    parse_resumable,
    row,
    write_lines,
)
from anchorview import make_multiview
from anchorview.estimators.methods import METHODS, method_class
from anchorview.experiments.plan.jobs import METRICS, Job, Result
from anchorview.metrics import clustering_scores
from data import FOLDER, load

METHODS_AT_DEFAULTS = [name for name in METHODS if name != "auto"]

COLUMNS = {
    **{name: (name, {}) for name in METHODS_AT_DEFAULTS},
    # The initialization of the authors' programs, which depends on the order of samples.
    **{
        f"{name} (authors' start)": (name, {"init": "identity"})
        for name in ("awmvc", "fpmvs-cag", "omsc", "smvsc")
    },
}
"""Method and settings of each column."""

LARGE = "100,000 samples"
# AMGL and UOMVSC need the neighbors of every sample among all others.
LARGE_METHODS = [name for name in METHODS_AT_DEFAULTS if name not in ("amgl", "uomvsc")]
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
            start = time.perf_counter()
            model = cls(k, random_state=seed, **dict(job.settings)).fit(views)
            seconds.append(time.perf_counter() - start)
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


def table(title: str, names: list[str], value: Callable[[str, str], float]) -> list[str]:
    """Table with a row per data set; `value(name, column)` is a number."""
    numbers = np.array([[value(name, column) for column in COLUMNS] for name in names])
    digits = 1 if numbers.max() > 1 else 3
    rows = [*zip(names, numbers, strict=True), ("**mean**", numbers.mean(axis=0))]
    lines = [row(name, *map(float, cells), digits=digits) for name, cells in rows]
    return ["", f"**{title}**", "", *header("data", *COLUMNS), *lines]


def pair(name: str, column: str, seeds: int) -> Pair:
    method, settings = COLUMNS[column]
    return Job.of(name, method, settings, runs=seeds, alone=True), FITS


def report(results: dict[Pair, Result], names: list[str], seeds: int) -> list[str]:
    def mean(name: str, column: str, quantity: str) -> float:
        return float(np.mean(results[pair(name, column, seeds)].scores[quantity]))

    lines = [
        f"`python benchmarks/compared.py --seeds {seeds}`: all methods with default settings (none "
        f"selected by the classes), means over {seeds} seeds."
    ]
    for metric in METRICS[:4]:
        lines += table(metric, names, lambda n, c, m=metric: mean(n, c, m))
    lines += table("Seconds", names, lambda n, c: mean(n, c, "seconds"))
    lines += table("Memory beyond the data, MB", names, lambda n, c: mean(n, c, "memory") / 1e6)
    lines += [
        "",
        f"**{LARGE} x 4 views of 100 features (320 MB), k = 10, one seed**",
        "",
        *header("method", "ACC", "iterations", "seconds", "beyond the data, MB", "process, MB"),
    ]
    for method in LARGE_METHODS:
        result = results[pair(LARGE, method, 1)]
        (acc,), (n_iter,), (seconds,), (memory,) = (
            result.scores[name] for name in ("ACC", "iterations", "seconds", "memory")
        )
        megabytes = [f"{count / 1e6:.0f}" for count in (memory, result.peak_bytes)]
        lines.append(row(method, acc, f"{n_iter:.0f}", f"{seconds:.1f}", *megabytes))
    return lines


def main() -> None:
    options = parse_resumable(seeds=3)
    names = options.only or sorted(path.stem for path in FOLDER.glob("*.npz"))
    pairs = [pair(name, column, options.seeds) for name in names for column in COLUMNS]
    if not options.only:
        pairs = [pair(LARGE, method, 1) for method in LARGE_METHODS] + pairs
    results = measured(pairs, options.results, measure)
    if not options.only:
        write_lines(options.out, report(results, names, options.seeds))


if __name__ == "__main__":
    main()
