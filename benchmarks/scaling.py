"""Time and memory of fits on files and on Dask workers, compared with a lower bound.

    python benchmarks/scaling.py FOLDER [--samples 2000000] [--out benchmarks/scaling.json]

Writes 4 views x 128 features of float32 (4 GB for 2,000,000 samples) to FOLDER, once. The files are
read before each measurement, so that all measurements find them in the system's cache.

- least: reading the files once per pass that the scaling requires, one float32 Gram product of that
  size, and the assignment of an embedding in memory;
- fit: the complete fit on the files in its own process, for an eighth of the samples and more, with
  the maximum resident memory of the process;
- auto: the same of AutoDALMC on all samples, in alternation with fits of DALMC;
- workers: seconds of each pass on a Dask cluster with 1 and with 2 worker processes.
"""

import json
import multiprocessing
import re
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from _measurements import option_parser, stage_seconds, write_lines
from anchorview import DALMC, AutoDALMC, open_views
from anchorview.core.assign import assigned
from anchorview.metrics import clustering_accuracy

WIDTHS = (128, 128, 128, 128)
CLUSTERS = 10
MEMORY_LIMIT = "1GB"
ROUNDS = 3
"""Times are medians of this number of runs, in alternation."""

BLOCK = 50_000
PIECE = 32 * 2**20


def make_files(folder: Path, n: int) -> None:
    """Write views in which clusters overlap that are separated in all views together."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    centers = [0.25 * rng.standard_normal((CLUSTERS, d), dtype=np.float32) for d in WIDTHS]
    files = [
        np.lib.format.open_memmap(folder / f"view_{p}.npy", "w+", np.float32, (n, d))
        for p, d in enumerate(WIDTHS)
    ]
    y = rng.integers(CLUSTERS, size=n)
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        for file, center, d in zip(files, centers, WIDTHS, strict=True):
            noise = rng.standard_normal((rows.stop - rows.start, d), dtype=np.float32)
            file[rows] = center[y[rows]] + noise
    np.save(folder / "labels.npy", y)


def read_once(folder: Path) -> float:
    """Seconds to read all views."""
    piece = np.empty(PIECE, np.uint8)
    start = time.perf_counter()
    for p in range(len(WIDTHS)):
        with (folder / f"view_{p}.npy").open("rb", buffering=0) as stream:
            while stream.readinto(piece):
                pass
    return time.perf_counter() - start


def gram_once(n: int) -> float:
    """Seconds of a float32 Gram product of all features, in blocks."""
    rows = min(n, 100_000)
    block = np.random.default_rng(0).standard_normal((rows, sum(WIDTHS)), dtype=np.float32)
    total = np.zeros((sum(WIDTHS),) * 2)
    start = time.perf_counter()
    for _ in range(0, n, rows):
        total += block.T @ block
    return time.perf_counter() - start


def assign_once(embedding: np.ndarray) -> float:
    start = time.perf_counter()
    assigned(embedding, CLUSTERS, method="kmeans", normalize=True, n_init=10, seed=0)
    return time.perf_counter() - start


def least(folder: Path, n: int) -> dict[str, float]:
    embedding = np.array(np.load(folder / "results" / "embedding.npy"))
    reads = [read_once(folder) for _ in range(3)]
    parts = {"reading": sum(reads), "gram": gram_once(n), "assignment": assign_once(embedding)}
    return {**parts, "total": sum(parts.values())}


def fit_files(folder: Path, n: int, estimator: type, queue) -> None:
    views = {p: np.load(folder / f"view_{p}.npy", mmap_mode="r")[:n] for p in range(len(WIDTHS))}
    model = estimator(CLUSTERS, random_state=0, memory_limit=MEMORY_LIMIT)
    found, seconds = stage_seconds(lambda: model.fit(views, out=folder / "results"))
    y = np.load(folder / "labels.npy")[:n]
    # Not ru_maxrss, which includes the memory of the parent process.
    status = Path("/proc/self/status").read_text()
    peak = 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
    accuracy = clustering_accuracy(y, np.asarray(model.labels_))
    queue.put({"seconds": seconds, "peak_bytes": peak, "accuracy": accuracy, "stages": found})


def in_own_process(function, *arguments) -> dict:
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=function, args=(*arguments, queue))
    process.start()
    process.join()
    return queue.get()


def fit_on_workers(folder: Path, n_workers: int) -> dict:
    from distributed import Client, LocalCluster

    from anchorview.distributed import dask_views

    cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster):
        views = dask_views(open_views(folder))
        model = DALMC(CLUSTERS, random_state=0)
        found, seconds = stage_seconds(lambda: model.fit(views))
        return {"seconds": seconds, "stages": found}


def median(runs: list[dict]) -> dict:
    return sorted(runs, key=lambda run: run.get("seconds", run.get("total")))[len(runs) // 2]


def main() -> None:
    parser = option_parser(".json")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=2_000_000)
    options = parser.parse_args()
    folder, n = options.folder, options.samples
    if not (folder / "labels.npy").exists() or len(np.load(folder / "labels.npy")) != n:
        make_files(folder, n)
    sizes = [n // 8, n // 4, n // 2, n]
    runs: dict[int, list[dict]] = {size: [] for size in sizes}
    floors, autos = [], []
    for _ in range(ROUNDS):
        for size in sizes:
            read_once(folder)
            runs[size].append(in_own_process(fit_files, folder, size, DALMC))
        read_once(folder)
        floors.append(least(folder, n))
        autos.append(in_own_process(fit_files, folder, n, AutoDALMC))
    fits = {size: median(found) for size, found in runs.items()}
    floor, auto = median(floors), median(autos)
    result = {
        "samples": n,
        "least": floor,
        "fit": fits,
        "fit_to_least": fits[n]["seconds"] / floor["total"],
        "time_of_twice": [fits[b]["seconds"] / fits[a]["seconds"] for a, b in pairwise(sizes)],
        "memory_of_twice": [
            fits[b]["peak_bytes"] / fits[a]["peak_bytes"] for a, b in pairwise(sizes)
        ],
        "auto": auto,
        "auto_to_fit": auto["seconds"] / fits[n]["seconds"],
        "workers": {
            count: median([fit_on_workers(folder, count) for _ in range(ROUNDS)])
            for count in (1, 2)
        },
    }
    write_lines(options.out, [json.dumps(result, indent=1)])


if __name__ == "__main__":
    main()
