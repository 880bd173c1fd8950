"""Cost of a fit on a large cluster: a model, and a simulation that checks it.

    python benchmarks/reduction.py [--out benchmarks/reduction.md]

The simulation runs the tasks of a pass on simulated workers: leaves read rows and multiply them,
merges fetch Gram matrices over the network and add them, the scheduler assigns one task at a time.
The model has one term for each of these resources and takes the maximum, plus the height of the
tree. Rates are those of one core, disk and network port; change `Rates` for other machines.
"""

import heapq
from dataclasses import dataclass
from math import ceil, log

from _measurements import header, measured_by, option_parser, row, write_lines

FAN_IN = 4
"""Number of results that a merge adds, as in anchorview.distributed."""

MAX_BLOCKS = 1000
"""Maximum number of blocks of the embedding, as in anchorview.distributed."""

ASSIGNING = 1e-8
"""Seconds of a core per number of the embedding and Lloyd step (measured, 10 clusters)."""

SOLVING = 2e-10
"""Seconds per cubed number of features: factor, start, 20 iterations (measured, 2 cores)."""


@dataclass(frozen=True)
class Rates:
    """Work of one worker and of the scheduler per second."""

    flops: float = 5.4e10
    """Multiplications and additions of a float32 Gram product, one core (measured)."""
    cores: int = 8
    disk: float = 1e9
    """Bytes read by all cores of a worker together."""
    network: float = 1.25e9
    """Bytes received, and bytes sent, by one worker: 10 Gbit/s."""
    adding: float = 2e9
    """Bytes of Gram matrices added."""
    tasks: float = 2_000
    """Tasks that the scheduler assigns."""


@dataclass(frozen=True)
class Pass:
    """The Gram pass."""

    n: float
    width: int
    workers: int
    leaf_rows: int

    @property
    def leaves(self) -> int:
        """Number of tasks that read rows."""
        return ceil(self.n / self.leaf_rows)

    @property
    def gram(self) -> float:
        """Bytes of a Gram matrix."""
        return 8.0 * self.width**2

    @property
    def level_sizes(self) -> list[int]:
        """Number of nodes at each level of the tree, from the leaves to the root."""
        sizes = [self.leaves]
        while sizes[-1] > 1:
            sizes.append(ceil(sizes[-1] / FAN_IN))
        return sizes

    @property
    def merges(self) -> int:
        """Number of inner nodes of the tree."""
        return sum(self.level_sizes[1:])


def model(job: Pass, rates: Rates) -> dict[str, float]:
    """Seconds of each resource without waiting, and of the pass by the slowest of them."""
    workers = job.workers
    read = 4 * job.leaf_rows * job.width / rates.disk
    multiplied = job.leaf_rows * job.width**2 / rates.flops
    # A merge runs where one of its inputs is; the others are mostly on other workers.
    moved = job.gram * (job.leaves + job.merges - 1)
    moved *= (1 - 1 / FAN_IN) * (workers - 1) / workers
    parts = {
        "disks": read * job.leaves / workers,
        "cores": (read + multiplied) * job.leaves / (workers * rates.cores),
        "network": moved / (workers * rates.network),
        "scheduler": (job.leaves + job.merges) / rates.tasks,
    }
    # The last merges do not overlap with leaves.
    levels = ceil(log(workers, FAN_IN))
    tree = levels * (FAN_IN - 1) * job.gram / rates.network
    tree += (levels + 1) * FAN_IN * job.gram / rates.adding
    return {**parts, "tree": tree, "total": max(parts.values()) + tree}


def whole_fit(job: Pass, rates: Rates, columns: int, lloyd_steps: int) -> dict[str, float]:
    """Seconds of all stages, with two more passes bound by the disks and the Lloyd steps."""
    gram = model(job, rates)["total"]
    reading = max(4 * job.n * job.width / (job.workers * rates.disk), job.leaves / rates.tasks)
    blocks = min(MAX_BLOCKS, job.leaves)
    step = max(blocks / rates.tasks, job.n * columns * ASSIGNING / (job.workers * rates.cores))
    return {
        "moments": reading,
        "Gram": gram,
        "solving (client)": job.width**3 * SOLVING,
        "embedding": reading,
        f"{lloyd_steps} Lloyd steps": lloyd_steps * step,
    }


class Simulation:
    """Event simulation of a pass: each core, disk, port and the scheduler do one task at a time."""

    def __init__(self, job: Pass, rates: Rates) -> None:
        self.job, self.rates = job, rates
        self.disk = [0.0] * job.workers
        self.sending = [0.0] * job.workers
        self.receiving = [0.0] * job.workers
        self.scheduler = 0.0
        self.moved = 0.0
        self.events: list[tuple[float, int, str, tuple[int, ...]]] = []
        self.counter = 0
        self.arrived: dict[tuple[int, int], list[tuple[float, int]]] = {}
        self.level_sizes = job.level_sizes

    def run(self) -> float:
        """Seconds until the sum of all leaves is complete."""
        for worker in range(self.job.workers):
            for _ in range(self.rates.cores):
                self._at(0.0, "core", worker)
        next_leaf, end = 0, 0.0
        while self.events:
            now, _, kind, what = heapq.heappop(self.events)
            if kind == "result":
                end = now
                self._arrive(now, *what)
            elif next_leaf < self.job.leaves:
                self._start_leaf(now, next_leaf, *what)
                next_leaf += 1
        return end

    def _at(self, when: float, kind: str, *what: int) -> None:
        self.counter += 1
        heapq.heappush(self.events, (when, self.counter, kind, what))

    def _assigned(self, now: float) -> float:
        self.scheduler = max(now, self.scheduler) + 1 / self.rates.tasks
        return self.scheduler

    def _start_leaf(self, now: float, leaf: int, worker: int) -> None:
        job, rates = self.job, self.rates
        start = max(self._assigned(now), self.disk[worker])
        self.disk[worker] = start + 4 * job.leaf_rows * job.width / rates.disk
        done = self.disk[worker] + job.leaf_rows * job.width**2 / rates.flops
        self._at(done, "core", worker)
        self._at(done, "result", 0, leaf, worker)

    def _arrive(self, now: float, level: int, node: int, worker: int) -> None:
        """Record a result; the last input of a merge starts it on the least busy worker."""
        if level + 1 == len(self.level_sizes):
            return
        parent = node // FAN_IN
        there = self.arrived.setdefault((level + 1, parent), [])
        there.append((now, worker))
        if len(there) < min(FAN_IN, self.level_sizes[level] - parent * FAN_IN):
            return
        ready = start = self._assigned(now)
        worker = min((source for _, source in there), key=self.receiving.__getitem__)
        for _, source in there:
            if source != worker:
                takes = self.job.gram / self.rates.network
                self.sending[source] = max(start, self.sending[source]) + takes
                end = max(self.sending[source], self.receiving[worker] + takes)
                self.receiving[worker] = end
                self.moved += self.job.gram
                ready = max(ready, end)
        ready += len(there) * self.job.gram / self.rates.adding
        self._at(ready, "result", level + 1, parent, worker)


def leaf_rows(width: int, products: int = 4) -> int:
    """Rows of a part in anchorview.distributed: 64 MB, or a multiple of the size of its product."""
    return int(max(64 * 2**20, min(products * 8 * width**2, 512 * 2**20)) // (4 * width))


CASES = [
    ("2e6 x 512, 2 workers of 1 core", Pass(2e6, 512, 2, leaf_rows(512)), Rates(cores=1, disk=2e9)),
    ("1e8 x 500, 10 workers", Pass(1e8, 500, 10, leaf_rows(500)), Rates()),
    ("1e9 x 2,000, 100 workers", Pass(1e9, 2000, 100, leaf_rows(2000)), Rates()),
    ("the same, parts of 64 MB", Pass(1e9, 2000, 100, leaf_rows(2000, 1)), Rates()),
    ("the same, disks of 5 GB/s", Pass(1e9, 2000, 100, leaf_rows(2000)), Rates(disk=5e9)),
    ("the same, network of 1 Gbit/s", Pass(1e9, 2000, 100, leaf_rows(2000)), Rates(network=1.25e8)),
    ("the same, 1,000 workers", Pass(1e9, 2000, 1000, leaf_rows(2000)), Rates()),
    ("1e9 x 10,000, 100 workers", Pass(1e9, 10_000, 100, leaf_rows(10_000)), Rates()),
]


def table() -> list[str]:
    names = ("disks", "cores", "network", "scheduler", "tree", "total")
    lines = header("Gram pass", "leaves", *names, "simulated", "GB moved")
    for name, job, rates in CASES:
        parts = model(job, rates)
        simulation = Simulation(job, rates)
        seconds = simulation.run()
        moved = f"{simulation.moved / 1e9:,.0f}"
        cells = [parts[part] for part in names]
        lines.append(row(name, f"{job.leaves:,}", *cells, seconds, moved, digits=1))
    return lines


def main() -> None:
    options = option_parser().parse_args()
    lines = [
        f"{measured_by('python benchmarks/reduction.py')}: seconds, by the model and by the "
        "simulation.",
        "",
    ]
    name, job, rates = CASES[2]
    stages = whole_fit(job, rates, columns=20, lloyd_steps=30)
    whole = ", ".join(f"{stage} {seconds:.0f}" for stage, seconds in stages.items())
    end = f"A whole fit of {name}: {whole}; {sum(stages.values()):.0f} in all."
    write_lines(options.out, [*lines, *table(), "", end])


if __name__ == "__main__":
    main()
