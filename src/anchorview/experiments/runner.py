"""The runner of jobs: one process per job, with limits; finished jobs are never repeated."""

import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from statistics import fmean
from time import perf_counter
from typing import Any

import psutil

from anchorview._utils.text import format_bytes
from anchorview._utils.threads import n_cores
from anchorview.estimators.methods import REGISTRY
from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.job_worker import Measure, fit_and_score, unshared_bytes, work
from anchorview.experiments.jobs import Job, Result, Status
from anchorview.experiments.result_store import Store, environment

POLL_SECONDS = 0.05
"""Interval between checks of the time and memory of the running jobs."""

PROGRESS_SECONDS = 0.5
"""Interval between progress reports."""

EXIT_SECONDS = 10.0
"""Time for a process to exit by itself after its result was received."""


@dataclass(frozen=True)
class Progress:
    """Progress of a run of jobs."""

    done: int
    """Number of jobs with a result, including those of earlier runs."""
    total: int
    running: Sequence[tuple[Job, float]]
    """Running jobs, with their elapsed time in seconds."""
    remaining_seconds: float | None
    """Estimate from the finished jobs of each method; None before the first is finished."""


def run_jobs(
    jobs: Sequence[tuple[Job, DataSet]],
    store: Store,
    *,
    time_limit: float,
    memory_limit: float,
    at_once: int | None = None,
    listen: Callable[[Progress], None] | None = None,
    measure: Measure = fit_and_score,
) -> None:
    """Run the jobs that have no result in a store, each in its own process.

    Jobs that exceed a limit, fail or crash have a result too (see :class:`Result`), and the others
    continue. Each result is stored immediately; after an interruption, another call continues where
    this one stopped. Scores depend neither on the order of jobs nor on how many run at once.

    Equal jobs run once. Those with `alone` run last, one at a time and on all cores; the others run
    on one core each.

    Parameters
    ----------
    time_limit : float
        Maximum time of a job in seconds.
    memory_limit : float
        Maximum memory of a job in bytes, beyond that of its process at the start.
    at_once : int, optional
        Maximum number of jobs that run at the same time; by default the number of cores.
    listen : callable, optional
        Called about twice a second and whenever a job ends.
    measure : callable, optional
        Computes the result of a job; the processes must be able to import it.
    """
    at_once = at_once or n_cores()
    by_key = {job.key(data.digest): (job, data) for job, data in jobs}
    stored = store.results()
    todo = [(key, *pair) for key, pair in by_key.items() if key not in stored]
    waiting = deque(sorted(todo, key=lambda item: item[1].alone))
    running: list[_JobProcess] = []
    times: list[tuple[str, float]] = []
    reported = 0.0

    def report() -> None:
        nonlocal reported
        reported = perf_counter()
        elapsed = [(process.job, process.seconds) for process in running]
        left = [*elapsed, *((job, 0.0) for _, job, _ in waiting)]
        if listen is not None:
            n_done = len(by_key) - len(left)
            listen(Progress(n_done, len(by_key), elapsed, _remaining(left, times, at_once)))

    here = environment() if waiting else {}
    report()
    try:
        while waiting or running:
            while waiting and len(running) < (1 if waiting[0][1].alone else at_once):
                limits = (time_limit, memory_limit)
                running.append(_JobProcess(*waiting.popleft(), limits, measure))
            wait([process.sentinel for process in running], POLL_SECONDS)
            for process in list(running):
                result = process.result()
                if result is not None:
                    running.remove(process)
                    store.add(process.key, process.job, result, here)
                    times.append((process.job.method, result.seconds))
                    report()
            if perf_counter() - reported >= PROGRESS_SECONDS:
                report()
    finally:
        for process in running:
            process.end()


def _remaining(
    left: Sequence[tuple[Job, float]], times: Sequence[tuple[str, float]], at_once: int
) -> float | None:
    """Seconds until the jobs that are left, with their elapsed times, are done."""
    if not times:
        return None
    mean = fmean(seconds for _, seconds in times)
    means = {name: fmean(s for other, s in times if other == name) for name, _ in times}
    return sum(
        max(0.0, means.get(job.method, mean) - seconds) / (1 if job.alone else at_once)
        for job, seconds in left
    )


class _JobProcess:
    """A running job."""

    def __init__(
        self, key: str, job: Job, data: DataSet, limits: tuple[float, float], measure: Measure
    ) -> None:
        self.key, self.job = key, job
        self.max_seconds, self.max_bytes = limits
        context = _start_context()
        self.messages, sender = context.Pipe(duplex=False)
        self.process = context.Process(
            target=work, args=(job, data, sender, self.max_bytes, measure), daemon=True
        )
        self.process.start()
        sender.close()
        self.sentinel = self.process.sentinel
        self.started = perf_counter()
        self.initial_bytes: int | None = None
        self.peak_bytes: int | None = None

    @property
    def seconds(self) -> float:
        return perf_counter() - self.started

    def result(self) -> Result | None:
        """Result if the job has ended or exceeds a limit; its process has then ended too."""
        # The order matters: messages can still be received after the process has ended.
        ended = not self.process.is_alive()
        excess = self.exceeded_limit()
        result = self.receive()
        unfinished = _exit_status(self.process.exitcode) if ended else excess
        if result is None and unfinished is not None:
            status, reason = unfinished
            result = Result(status, reason, seconds=self.seconds, peak_bytes=self.peak_bytes)
        if result is not None:
            self.end(wait_seconds=0 if excess else EXIT_SECONDS)
        return result

    def receive(self) -> Result | None:
        """Result if the process has sent it."""
        try:
            while self.messages.poll():
                message = self.messages.recv()
                if isinstance(message, Result):
                    return replace(message, peak_bytes=message.peak_bytes or self.peak_bytes)
                self.initial_bytes = message
        except (EOFError, OSError):
            # The process ended before or while sending; its exit code tells why.
            pass
        return None

    def exceeded_limit(self) -> tuple[Status, str] | None:
        """Status and reason if the job exceeds a limit."""
        try:
            memory = psutil.Process(self.process.pid).memory_info()
        except psutil.Error:
            return None
        self.peak_bytes = max(self.peak_bytes or 0, memory.rss)
        if self.seconds > self.max_seconds:
            return "time", f"exceeded the time limit of {self.max_seconds:g} s"
        initial = self.initial_bytes
        if initial is not None and unshared_bytes(memory) - initial > self.max_bytes:
            return "memory", f"exceeded the memory limit of {format_bytes(self.max_bytes)}"
        return None

    def end(self, wait_seconds: float = 0) -> None:
        """Kill the process unless it exits by itself within some seconds."""
        self.process.join(wait_seconds)
        self.process.kill()
        self.process.join()
        self.messages.close()


def _exit_status(exit_code: int | None) -> tuple[Status, str]:
    """Status and reason for a process that ended without a result and was not killed by us."""
    if exit_code is None or exit_code >= 0:
        return "failed", f"the process ended with exit code {exit_code}"
    number = -exit_code
    if number == signal.SIGKILL:
        return "memory", "the system killed the process, probably because memory ran out"
    return "failed", f"the process was ended by signal {number} ({signal.strsignal(number)})"


def _start_context() -> Any:
    """Start method of processes: a fork server with loaded modules on Linux, else spawn."""
    # On macOS, system libraries do not survive a fork.
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    estimators = [method.module for method in REGISTRY]
    context.set_forkserver_preload(["anchorview.experiments.job_worker", *estimators])
    return context
