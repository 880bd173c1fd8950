"""DALMC and the eight compared methods at their defaults: scores, time and memory.

    python benchmarks/compared.py [--seeds 3] [--results FILE] [--out benchmarks/compared.md]

Every (data set, method) is a job in a process of its own, on all `.npz` files of the data folder
(see `data.py`) and on 100,000 made samples in 4 views of 100 features. Finished jobs are kept in
the results file: started again, the script goes on where it stopped.
"""

import argparse
import json
import multiprocessing
import resource
import threading
import time
from pathlib import Path

import numpy as np
import psutil

from anchorview import make_multiview
from anchorview.estimators.methods import METHODS, method_class
from anchorview.metrics import clustering_scores
from data import FOLDER, load

COMPARED = [name for name in METHODS if name != "auto"]

COLUMNS = {
    **{name: (name, {}) for name in COMPARED},
    # The start of the authors' programs, which depends on the order of samples.
    **{
        f"{name} (authors' start)": (name, {"init": "identity"})
        for name in ("awmvc", "fpmvs-cag", "omsc", "smvsc")
    },
}
"""Methods at their defaults, and what else is of interest: the name and the settings."""

LARGE = "100,000 samples"
SCORES = ("ACC", "NMI", "F1", "Purity")
# They need the neighbors of every sample among all others.
NOT_LARGE = ("amgl", "uomvsc")


def large_data() -> tuple[dict, np.ndarray]:
    return make_multiview(
        100_000, n_clusters=10, n_features=(100,) * 4, separation=2.0, noise=2.0, random_state=0
    )


class PeakMemory:
    """Most memory that this process held inside the block, beyond what it held before."""

    def __enter__(self) -> "PeakMemory":
        self.before = psutil.Process().memory_info().rss
        self.peak = self.before
        self.done = threading.Event()
        self.watch = threading.Thread(target=self._watch)
        self.watch.start()
        return self

    def _watch(self) -> None:
        while not self.done.wait(0.01):
            self.peak = max(self.peak, psutil.Process().memory_info().rss)

    def __exit__(self, *_) -> None:
        self.done.set()
        self.watch.join()
        self.bytes = self.peak - self.before


def job(name: str, column: str, seeds: int) -> dict:
    method, settings = COLUMNS[column]
    views, y = large_data() if name == LARGE else load(name)
    k = len(np.unique(y))
    scores, seconds, objectives, iterations = [], [], [], []
    with PeakMemory() as memory:
        for seed in range(seeds):
            clock = time.perf_counter()
            model = method_class(method)(k, random_state=seed, **settings).fit(views)
            seconds.append(time.perf_counter() - clock)
            scores.append(clustering_scores(y, model.labels_))
            objectives.append(model.objective_)
            iterations.append(model.n_iter_)
    assert all(np.isfinite(objective).all() for objective in objectives)
    return {
        **{score: float(np.mean([found[score] for found in scores])) for score in SCORES},
        "deviation": float(np.std([found["ACC"] for found in scores])),
        "seconds": float(np.mean(seconds)),
        "iterations": float(np.mean(iterations)),
        "memory": memory.bytes,
        "process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def run(jobs: list[tuple[str, str, int]], results: Path) -> dict[tuple, dict]:
    done = {}
    if results.exists():
        for line in results.read_text().splitlines():
            entry = json.loads(line)
            done[tuple(entry["job"])] = entry
    for position, wanted in enumerate(jobs, 1):
        if wanted in done:
            continue
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            entry = {"job": wanted, **pool.apply(job, wanted)}
        with results.open("a") as stream:
            stream.write(json.dumps(entry) + "\n")
        done[wanted] = entry
        print(
            f"{position}/{len(jobs)} {wanted[0]} {wanted[1]}: ACC {entry['ACC']:.3f}, "
            f"{entry['seconds']:.2f} s",
            flush=True,
        )
    return done


def table(title: str, names: list[str], value) -> list[str]:
    """Rows of data sets; `value(name, column)` gives a number."""
    lines = ["", f"**{title}**", "", "| data | " + " | ".join(COLUMNS) + " |"]
    lines.append("|---" * (len(COLUMNS) + 1) + "|")
    numbers = np.array([[value(name, column) for column in COLUMNS] for name in names])
    digits = 1 if numbers.max() > 1 else 3
    for name, row in [*zip(names, numbers, strict=True), ("**mean**", numbers.mean(axis=0))]:
        cells = [f"{number:.{digits}f}" for number in row]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def report(done: dict[tuple, dict], names: list[str], seeds: int) -> list[str]:
    lines = [
        f"`python benchmarks/compared.py --seeds {seeds}`: all methods at their defaults (no "
        f"setting chosen by labels), means over {seeds} seeds."
    ]
    for score in SCORES:
        lines += table(score, names, lambda n, m, s=score: done[n, m, seeds][s])
    lines += table("Seconds", names, lambda n, m: done[n, m, seeds]["seconds"])
    lines += table(
        "Memory beyond the data, MB", names, lambda n, m: done[n, m, seeds]["memory"] / 1e6
    )
    lines += [
        "",
        f"**{LARGE} x 4 views of 100 features (320 MB), k = 10, one seed**",
        "",
        "| method | ACC | iterations | seconds | memory beyond the data, MB | process, MB |",
        "|---|---|---|---|---|---|",
    ]
    for method in COMPARED:
        if method not in NOT_LARGE:
            entry = done[LARGE, method, 1]
            lines.append(
                f"| {method} | {entry['ACC']:.3f} | {entry['iterations']:.0f} | "
                f"{entry['seconds']:.1f} | {entry['memory'] / 1e6:.0f} | "
                f"{entry['process'] / 1e6:.0f} |"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=Path("compared_results.jsonl"))
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".md"))
    options = parser.parse_args()
    names = sorted(path.stem for path in FOLDER.glob("*.npz"))
    jobs = [(LARGE, method, 1) for method in COMPARED if method not in NOT_LARGE]
    jobs += [(name, column, options.seeds) for name in names for column in COLUMNS]
    lines = report(run(jobs, options.results), names, options.seeds)
    print("\n".join(lines))
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
