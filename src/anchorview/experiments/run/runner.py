"""Jobs in processes of their own, within limits; what is finished is never done again."""

import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, Any

import psutil

from anchorview._utils.text import format_bytes
from anchorview._utils.threads import n_cores
from anchorview.experiments.plan.jobs import Job, Result, Status
from anchorview.experiments.run.environment import environment
from anchorview.experiments.run.job_worker import own_bytes, work
from anchorview.experiments.run.result_store import Store

if TYPE_CHECKING:
    from anchorview.experiments.run.data_sets import DataSet

LOOK = 0.05
"""Seconds between two looks at the time and memory of the jobs."""

TELL = 0.5
"""Seconds between two reports of progress."""

PATIENCE = 10.0
"""Seconds that a process may take to end after its result has come."""

PRELOADED = [
    "anchorview.experiments.run.job_worker",
    "anchorview.compared",
    "anchorview.estimators.dalmc",
    "anchorview.estimators.auto.auto_dalmc",
]
"""Modules that processes find loaded when they start."""


@dataclass(frozen=True)
class Progress:
    """How far a run of jobs is."""

    done: int
    """Jobs that have a result, those of earlier runs among them."""
    total: int
    running: tuple[tuple[Job, float], ...]
    """Jobs at work, with the seconds so far."""
    remaining_seconds: float | None
    """Estimate from the finished jobs of each method; None before the first is finished."""


def run_jobs(
    jobs: Sequence[tuple[Job, "DataSet"]],
    store: Store,
    *,
    time_limit: float,
    memory_limit: float,
    at_once: int | None = None,
    listen: Callable[[Progress], None] | None = None,
) -> None:
    """Do the jobs that a store has no result of, each in its own process.

    A job that exceeds a limit, fails or dies has a result too (see :class:`Result`), and the others
    go on. Each result is stored as soon as it is there; if the run is interrupted, its processes
    end, and another run goes on where this one stopped. Scores depend neither on the order of the
    jobs nor on how many run at once.

    Parameters
    ----------
    jobs : sequence of (Job, DataSet)
        A job that occurs more than once is done once. Those that are `alone` come last, one at a
        time and on all cores; the others run on one core each.
    store : Store
    time_limit : float
        Seconds that a job may take.
    memory_limit : float
        Bytes that a job may take beyond what its process holds at the start.
    at_once : int, optional
        Most jobs that run side by side; by default as many as there are cores.
    listen : callable, optional
        Called with a :class:`Progress` about twice a second and whenever a job ends.
    """
    at_once = n_cores() if at_once is None else at_once
    for name, value in (
        ("time_limit", time_limit),
        ("memory_limit", memory_limit),
        ("at_once", at_once),
    ):
        if value <= 0:
            raise ValueError(f"{name} must be above 0; got {value!r}.")
    _Run(jobs, store, _Limits(time_limit, memory_limit), at_once, listen).run()


@dataclass(frozen=True)
class _Limits:
    seconds: float
    bytes: float


class _Run:
    """State of :func:`run_jobs`."""

    def __init__(
        self,
        jobs: Sequence[tuple[Job, "DataSet"]],
        store: Store,
        limits: _Limits,
        at_once: int,
        listen: Callable[[Progress], None] | None,
    ) -> None:
        self.store, self.limits, self.at_once, self.listen = store, limits, at_once, listen
        by_key = {job.key(data.digest): (job, data) for job, data in jobs}
        known = store.results()
        todo = [(key, *pair) for key, pair in by_key.items() if key not in known]
        self.waiting = deque(sorted(todo, key=lambda item: item[1].alone))
        self.running: list[_JobProcess] = []
        self.times: list[tuple[Job, float]] = []
        self.total, self.done = len(by_key), len(by_key) - len(todo)
        self.told = perf_counter()

    def run(self) -> None:
        here = environment() if self.waiting else {}
        self.tell()
        try:
            while self.waiting or self.running:
                while self.may_start():
                    self.running.append(_JobProcess(*self.waiting.popleft(), self.limits))
                wait([process.sentinel for process in self.running], LOOK)
                for process in list(self.running):
                    result = process.result()
                    if result is not None:
                        self.running.remove(process)
                        self.store.add(process.key, process.job, result, here)
                        self.times.append((process.job, result.seconds))
                        self.done += 1
                        self.tell()
                if perf_counter() - self.told >= TELL:
                    self.tell()
        finally:
            for process in self.running:
                process.end()

    def may_start(self) -> bool:
        if not self.waiting or not self.running:
            return bool(self.waiting)
        _, job, _ = self.waiting[0]
        return not job.alone and len(self.running) < self.at_once

    def tell(self) -> None:
        self.told = perf_counter()
        if self.listen is not None:
            running = tuple((process.job, process.seconds) for process in self.running)
            self.listen(Progress(self.done, self.total, running, self.remaining(running)))

    def remaining(self, running: Sequence[tuple[Job, float]]) -> float | None:
        if not self.times:
            return None
        by_method: dict[str, list[float]] = {}
        for job, seconds in self.times:
            by_method.setdefault(job.method, []).append(seconds)
        means = {method: fmean(alike) for method, alike in by_method.items()}
        mean = fmean(seconds for _, seconds in self.times)
        side_by_side = one_by_one = 0.0
        for job, seconds in [*running, *((job, 0.0) for _, job, _ in self.waiting)]:
            left = max(0.0, means.get(job.method, mean) - seconds)
            if job.alone:
                one_by_one += left
            else:
                side_by_side += left
        return side_by_side / self.at_once + one_by_one


class _JobProcess:
    """A job at work."""

    def __init__(self, key: str, job: Job, data: "DataSet", limits: _Limits) -> None:
        self.key, self.job, self.limits = key, job, limits
        context = _context()
        self.messages, theirs = context.Pipe(duplex=False)
        self.process = context.Process(
            target=work, args=(job, data, theirs, limits.bytes), daemon=True
        )
        self.process.start()
        theirs.close()
        self.sentinel = self.process.sentinel
        self.started = perf_counter()
        self.fresh_bytes: int | None = None
        self.peak_bytes: int | None = None

    @property
    def seconds(self) -> float:
        return perf_counter() - self.started

    def result(self) -> Result | None:
        """Result if the job has ended or exceeds a limit; its process is gone then."""
        # In this order: what a process has sent can still be read after its end.
        ended = not self.process.is_alive()
        excess = self.excess()
        result = self.received()
        if result is None and ended:
            result = self.unfinished(*_death(self.process.exitcode))
        elif result is None and excess is not None:
            result = self.unfinished(*excess)
        if result is not None:
            self.end(patience=0 if excess else PATIENCE)
        return result

    def received(self) -> Result | None:
        """Result that the process has sent, if it has."""
        try:
            while self.messages.poll():
                message = self.messages.recv()
                if isinstance(message, Result):
                    return replace(message, peak_bytes=message.peak_bytes or self.peak_bytes)
                self.fresh_bytes = message
        except (EOFError, OSError):
            # It died while or before it sent; how, its exit code says.
            pass
        return None

    def excess(self) -> tuple[Status, str] | None:
        """Limit that is exceeded, if one is."""
        try:
            memory = psutil.Process(self.process.pid).memory_info()
        except psutil.Error:
            return None
        self.peak_bytes = max(self.peak_bytes or 0, memory.rss)
        if self.seconds > self.limits.seconds:
            return "time", f"longer than the limit of {self.limits.seconds:g} s"
        fresh = self.fresh_bytes
        if fresh is not None and own_bytes(memory) - fresh > self.limits.bytes:
            return "memory", f"more memory than the limit of {format_bytes(self.limits.bytes)}"
        return None

    def unfinished(self, status: Status, reason: str) -> Result:
        return Result(status, reason, seconds=self.seconds, peak_bytes=self.peak_bytes)

    def end(self, patience: float = 0) -> None:
        """End the process, if it does not end by itself in so many seconds."""
        if patience:
            self.process.join(patience)
        self.process.kill()
        self.process.join()
        self.messages.close()


def _death(exit_code: int | None) -> tuple[Status, str]:
    """Status and reason of a process that ended without a result, and not by us."""
    if exit_code is None or exit_code >= 0:
        return "failed", f"the process ended with exit code {exit_code}"
    number = -exit_code
    if number == signal.SIGKILL:
        return "memory", "the system ended the process, probably as it ran out of memory"
    return "failed", f"the process was ended by signal {number} ({signal.strsignal(number)})"


def _context() -> Any:
    """Way to start processes: from a server that has the modules loaded, where that is safe."""
    # On macOS, libraries of the system do not bear to be forked.
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context
