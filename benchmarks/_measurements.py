"""Shared by the benchmarks: options, resumable measurements, peak memory, Markdown tables."""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import psutil

from anchorview._utils.memory import free_memory
from anchorview._utils.progress import listen_to_progress
from anchorview.experiments.jobs import Job, Result, Store, environment
from anchorview.experiments.runner import run_jobs


def option_parser(suffix: str = ".md") -> argparse.ArgumentParser:
    """Parser with the option --out, by default a file beside the script with its name."""
    script = sys.modules["__main__"]
    parser = argparse.ArgumentParser(description=script.__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(script.__file__).with_suffix(suffix))
    return parser


def parse_resumable(seeds: int) -> argparse.Namespace:
    """Options of scripts that keep finished jobs in a results file."""
    parser = option_parser()
    name = f"{Path(sys.modules['__main__'].__file__).stem}_results.sqlite"
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--only", nargs="+", help="data sets to run on; no table is written")
    parser.add_argument("--results", type=Path, default=Path(name))
    return parser.parse_args()


def measured_by(command: str) -> str:
    """Sentence, without a full stop, that `refresh.py` finds on a page."""
    return f"Measured {when_and_where()} by `{command}`"


def when_and_where() -> str:
    """Today's date and this machine."""
    where = environment()
    return f"{date.today()} on {where['cores']} cores of {where['cpu']}"


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Print lines and write them to a file."""
    text = "\n".join(lines)
    print(text)
    path.write_text(text + "\n")


@dataclass(frozen=True)
class Measurement:
    """A kind of measurement; in benchmarks it takes the place of the data set of a job."""

    name: str
    cpu_limit: float = float("inf")
    """Maximum CPU seconds of a job, for measurements that have a limit."""

    @property
    def digest(self) -> str:
        """Makes the keys of jobs of different kinds differ."""
        return self.name


Pair = tuple[Job, Measurement]


def measured(
    pairs: Sequence[Pair],
    path: Path,
    measure: Callable[[Job, Measurement], Result],
) -> dict[Pair, Result]:
    """Results of jobs, each measured in its own process unless it is in the store at the path.

    A job without result ends the script.
    """
    printed: set[str] = set()

    def print_progress(done: int, total: int, _: object) -> None:
        line = f"{done} of {total} jobs done"
        if line not in printed:
            print(line, flush=True)
            printed.add(line)

    keys = {pair: pair[0].key(pair[1].digest) for pair in pairs}
    with Store(path) as store:
        store.forget_unfinished(keys.values())
        run_jobs(
            pairs,
            store,
            time_limit=float("inf"),
            memory_limit=free_memory(),
            at_once=1,
            listen=print_progress,
            measure=measure,
        )
        results = store.results()
    found = {pair: results[key] for pair, key in keys.items()}
    for (job, kind), result in found.items():
        if result.status != "done":
            raise SystemExit(f"{kind.name} {job.data} {job.method}: {result.reason}")
    return found


def stage_seconds(work: Callable[[], object]) -> tuple[dict[str, float], float]:
    """Seconds of each stage, until its last progress report, and in total."""
    found: dict[str, float] = {}
    start = last = time.perf_counter()

    def listen(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = time.perf_counter()
        stage, _, _ = stage.partition(" (")
        found[stage] = found.get(stage, 0.0) + now - last
        last = now

    with listen_to_progress(listen):
        work()
    return found, time.perf_counter() - start


class PeakMemory:
    """Maximum resident memory during a block, above that at its start, in bytes."""

    def __enter__(self) -> "PeakMemory":
        self.process = psutil.Process()
        self.start = self.peak = self.process.memory_info().rss
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self) -> None:
        while not self.done.wait(0.002):
            self.peak = max(self.peak, self.process.memory_info().rss)

    def __exit__(self, *_) -> None:
        self.done.set()
        self.thread.join()
        self.bytes = self.peak - self.start


def row(*cells: object, digits: int = 3) -> str:
    """Row of a Markdown table."""
    texts = [f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell) for cell in cells]
    return f"| {' | '.join(texts)} |"


def header(*cells: str) -> list[str]:
    """Head of a Markdown table."""
    return [row(*cells), "|---" * len(cells) + "|"]
