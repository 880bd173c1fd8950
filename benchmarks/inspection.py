"""Time and memory of inspecting clusters, compared with one fit on the same data.

    python benchmarks/inspection.py FOLDER [--samples 200000] [--file-samples 2000000]
        [--out benchmarks/inspection.json]

- memory: float32 views of 1472 features in memory; one DALMC fit, and all functions of INSPECTIONS
  one after the other: seconds, their ratio, and the maximum resident memory beyond the data;
- files: 4 views x 128 features of float32 in FOLDER (4 GB, written once), inspected with a model
  that was fitted on an eighth of them: seconds, and the maximum resident memory of the process.
"""

import json
import re
import time
from pathlib import Path

import numpy as np

from _measurements import PeakMemory, option_parser, write_lines
from anchorview import DALMC, load, open_views
from anchorview.inspection import cluster_markers, representatives
from core import make_data
from scaling import CLUSTERS, MEMORY_LIMIT, WIDTHS, in_own_process, make_files, median

MEMORY_WIDTHS = (512, 512, 448)
ROUNDS = 3
"""Times are medians of this number of runs, in alternation."""

INSPECTIONS = {"markers": cluster_markers, "representatives": representatives}


def inspect(model, views) -> dict[str, float]:
    """Seconds of each function, and in total."""
    found = {}
    for name, function in INSPECTIONS.items():
        start = time.perf_counter()
        function(model, views)
        found[name] = time.perf_counter() - start
    return {**found, "seconds": sum(found.values())}


def in_memory(n: int) -> dict:
    data, _ = make_data(n, MEMORY_WIDTHS)
    views = {f"view_{p}": view for p, view in enumerate(data)}
    fits, inspections, peaks = [], [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        model = DALMC(CLUSTERS, random_state=0).fit(views)
        fits.append(time.perf_counter() - start)
        with PeakMemory() as memory:
            inspections.append(inspect(model, views))
        peaks.append(memory.bytes)
    found = median(inspections)
    fit = float(np.median(fits))
    return {
        "samples": n,
        "fit_seconds": fit,
        "inspection": found,
        "inspection_to_fit": found["seconds"] / fit,
        # The first run takes the pages that later runs find free.
        "peak_bytes": max(peaks),
    }


def from_files(folder: Path, queue) -> None:
    model, views = load(folder / "eighth.anchorview"), open_views(folder)
    found = inspect(model, views)
    # Not ru_maxrss, which includes the memory of the parent process.
    status = Path("/proc/self/status").read_text()
    peak = 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
    queue.put({**found, "peak_bytes": peak})


def main() -> None:
    parser = option_parser(".json")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--file-samples", type=int, default=2_000_000)
    options = parser.parse_args()
    folder, n = options.folder, options.file_samples
    if not (folder / "labels.npy").exists() or len(np.load(folder / "labels.npy")) != n:
        make_files(folder, n)
    first = {
        f"view_{p}": np.load(folder / f"view_{p}.npy", mmap_mode="r")[: n // 8]
        for p in range(len(WIDTHS))
    }
    fitted = DALMC(CLUSTERS, random_state=0, memory_limit=MEMORY_LIMIT).fit(first)
    fitted.save(folder / "eighth.anchorview")
    result = {
        "memory": in_memory(options.samples),
        "files": {"samples": n, **in_own_process(from_files, folder)},
    }
    write_lines(options.out, [json.dumps(result, indent=1)])


if __name__ == "__main__":
    main()
