"""The runner of jobs: one process per job, with limits; finished jobs are never repeated."""

import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import wait
from statistics import fmean
from time import perf_counter
from typing import Any

import psutil

from anchorview._utils.text import format_bytes
from anchorview._utils.threads import n_cores
from anchorview.estimators.methods import REGISTRY
from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.environment import environment
from anchorview.experiments.job_worker import Measure, fit_and_score, unshared_bytes, work
from anchorview.experiments.jobs import Job, Result, Status
from anchorview.experiments.result_store import Store

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
    running: tuple[tuple[Job, float], ...]
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
    at_once = n_cores() if at_once is None else at_once
    limits = {"time_limit": time_limit, "memory_limit": memory_limit, "at_once": at_once}
    for name, value in limits.items():
        if value <= 0:
            raise ValueError(f"{name} must be above 0; got {value!r}.")
    start = partial(_JobProcess, max_seconds=time_limit, max_bytes=memory_limit, measure=measure)
    _Run(jobs, store, start, at_once, listen).run()


class _Run:
    """State of :func:`run_jobs`."""

    def __init__(
        self,
        jobs: Sequence[tuple[Job, DataSet]],
        store: Store,
        start: "Callable[[str, Job, DataSet], _JobProcess]",
        at_once: int,
        listen: Callable[[Progress], None] | None,
    ) -> None:
        self.store, self.start, self.at_once, self.listen = store, start, at_once, listen
        by_key = {job.key(data.digest): (job, data) for job, data in jobs}
        known = store.results()
        todo = [(key, *pair) for key, pair in by_key.items() if key not in known]
        self.waiting = deque(sorted(todo, key=lambda item: item[1].alone))
        self.running: list[_JobProcess] = []
        self.times: list[tuple[Job, float]] = []
        self.total, self.done = len(by_key), len(by_key) - len(todo)
        self.last_report = perf_counter()

    def run(self) -> None:
        here = environment() if self.waiting else {}
        self.report()
        try:
            while self.waiting or self.running:
                while self.may_start():
                    self.running.append(self.start(*self.waiting.popleft()))
                wait([process.sentinel for process in self.running], POLL_SECONDS)
                for process in list(self.running):
                    result = process.result()
                    if result is not None:
                        self.running.remove(process)
                        self.store.add(process.key, process.job, result, here)
                        self.times.append((process.job, result.seconds))
                        self.done += 1
                        self.report()
                if perf_counter() - self.last_report >= PROGRESS_SECONDS:
                    self.report()
        finally:
            for process in self.running:
                process.end()

    def may_start(self) -> bool:
        if not self.waiting or not self.running:
            return bool(self.waiting)
        _, job, _ = self.waiting[0]
        return not job.alone and len(self.running) < self.at_once

    def report(self) -> None:
        self.last_report = perf_counter()
        if self.listen is not None:
            running = tuple((process.job, process.seconds) for process in self.running)
            self.listen(Progress(self.done, self.total, running, self.remaining_seconds(running)))

    def remaining_seconds(self, running: Sequence[tuple[Job, float]]) -> float | None:
        if not self.times:
            return None
        by_method: dict[str, list[float]] = {}
        for job, seconds in self.times:
            by_method.setdefault(job.method, []).append(seconds)
        means = {method: fmean(seconds) for method, seconds in by_method.items()}
        mean = fmean(seconds for _, seconds in self.times)
        return sum(
            max(0.0, means.get(job.method, mean) - seconds) / (1 if job.alone else self.at_once)
            for job, seconds in [*running, *((job, 0.0) for _, job, _ in self.waiting)]
        )


class _JobProcess:
    """A running job."""

    def __init__(
        self,
        key: str,
        job: Job,
        data: DataSet,
        max_seconds: float,
        max_bytes: float,
        measure: Measure,
    ) -> None:
        self.key, self.job, self.max_seconds, self.max_bytes = key, job, max_seconds, max_bytes
        context = _start_context()
        self.messages, sender = context.Pipe(duplex=False)
        self.process = context.Process(
            target=work, args=(job, data, sender, max_bytes, measure), daemon=True
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
        if result is None and ended:
            result = self.unfinished(*_exit_status(self.process.exitcode))
        elif result is None and excess is not None:
            result = self.unfinished(*excess)
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

    def unfinished(self, status: Status, reason: str) -> Result:
        return Result(status, reason, seconds=self.seconds, peak_bytes=self.peak_bytes)

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
