"""The runner of jobs: one process per job, with limits; finished jobs are never repeated."""

import multiprocessing
import os
import re
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil
from threadpoolctl import threadpool_limits

from anchorview._utils.text import format_bytes
from anchorview._utils.threads import n_cores, without_nested_threads
from anchorview.estimators.methods import REGISTRY
from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.jobs import Job, Result, Store, environment
from anchorview.experiments.measuring import Measure, fit_and_score, run_job

POLL_SECONDS = 0.05
"""Interval between checks of the time and memory of the running jobs."""

PROGRESS_SECONDS = 0.5
"""Interval between progress reports."""

EXIT_SECONDS = 10.0
"""Time for a process to exit by itself after its result was received."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Listener = Callable[[int, int, Sequence[tuple[Job, float]]], None]
"""Called with the number of jobs with a result, including those of earlier runs, the number of all
jobs, and the running jobs with their elapsed time in seconds."""


def run_jobs(
    jobs: Sequence[tuple[Job, DataSet]],
    store: Store,
    *,
    time_limit: float,
    memory_limit: float,
    at_once: int | None = None,
    listen: Listener = lambda *_: None,
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
    reported = -PROGRESS_SECONDS
    here = environment() if waiting else {}
    try:
        while True:
            if perf_counter() - reported >= PROGRESS_SECONDS:
                reported = perf_counter()
                n_done = len(by_key) - len(waiting) - len(running)
                listen(n_done, len(by_key), [(process.job, process.seconds) for process in running])
            if not waiting and not running:
                return
            while waiting and len(running) < (1 if waiting[0][1].alone else at_once):
                running.append(_JobProcess(*waiting.popleft(), measure))
            wait([each.process.sentinel for each in running], POLL_SECONDS)
            for process in list(running):
                result = process.result(time_limit, memory_limit)
                if result is not None:
                    running.remove(process)
                    store.add(process.key, process.job, result, here)
                    reported = -PROGRESS_SECONDS
    finally:
        for process in running:
            process.end()


class _JobProcess:
    """A running job."""

    def __init__(self, key: str, job: Job, data: DataSet, measure: Measure) -> None:
        self.key, self.job = key, job
        context = _start_context()
        self.messages, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(job, data, measure, sender), daemon=True)
        self.process.start()
        sender.close()
        self.started = perf_counter()
        self.initial_bytes = float("inf")
        self.peak_bytes = 0

    @property
    def seconds(self) -> float:
        return perf_counter() - self.started

    def result(self, time_limit: float, memory_limit: float) -> Result | None:
        """Result if the job has ended or exceeds a limit; its process has then ended too."""
        # The order matters: messages can still be received after the process has ended.
        exit_code, grown, result = self.process.exitcode, 0.0, None
        with suppress(psutil.Error):
            memory = psutil.Process(self.process.pid).memory_info()
            self.peak_bytes = max(self.peak_bytes, memory.rss)
            grown = _unshared_bytes(memory) - self.initial_bytes
        if exit_code is not None:
            result = _exit_result(exit_code)
        elif self.seconds > time_limit:
            result = Result("time", f"exceeded the time limit of {time_limit:g} s")
        elif grown > memory_limit:
            result = Result("memory", f"exceeded the memory limit of {format_bytes(memory_limit)}")
        wait_seconds = EXIT_SECONDS if result is None else 0
        result = result and replace(result, seconds=self.seconds)
        # The process may end before or while sending; its exit code tells why.
        with suppress(EOFError, OSError):
            while self.messages.poll():
                message = self.messages.recv()
                if isinstance(message, Result):
                    result = message
                    break
                self.initial_bytes = message
        if result is None:
            return None
        self.end(wait_seconds)
        return replace(result, peak_bytes=result.peak_bytes or self.peak_bytes or None)

    def end(self, wait_seconds: float = 0) -> None:
        """Kill the process unless it exits by itself within some seconds."""
        self.process.join(wait_seconds)
        self.process.kill()
        self.process.join()
        self.messages.close()


def _exit_result(exit_code: int) -> Result:
    """Result of a process that ended without sending one and was not killed by us."""
    if exit_code == -signal.SIGKILL:
        return Result("memory", "the system killed the process, probably because memory ran out")
    how = f"exit code {exit_code}"
    if exit_code < 0:
        how = f"signal {-exit_code} ({signal.strsignal(-exit_code)})"
    return Result("failed", f"the process ended with {how}")


def _start_context() -> Any:
    """Start method of processes: a fork server with loaded modules on Linux, else spawn."""
    # On macOS, system libraries do not survive a fork.
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    estimators = [method.module for method in REGISTRY]
    context.set_forkserver_preload(["anchorview.experiments.runner", *estimators])
    return context


def _work(job: Job, data: DataSet, measure: Measure, results: "Connection[Any, Any]") -> None:
    """Run a job; send the memory of this process before the job, in bytes, and then the result."""
    # The parent process handles Ctrl-C and ends its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    # A job that runs alone uses all cores, others one.
    with ExitStack() as limits:
        if not job.alone:
            os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
            limits.enter_context(threadpool_limits(1))
            limits.enter_context(without_nested_threads())
        results.send(_unshared_bytes(psutil.Process().memory_info()))
        result = run_job(job, data, measure)
    # The maximum that Linux reports; other systems have what the runner saw.
    status = Path("/proc/self/status")
    peak = re.search(r"VmHWM:\s*(\d+) kB", status.read_text()) if status.exists() else None
    results.send(replace(result, peak_bytes=int(peak[1]) * 1024 if peak else None))


def _unshared_bytes(memory: Any) -> int:
    """Resident memory of a process without mapped files, from psutil's memory_info."""
    return int(memory.rss - getattr(memory, "shared", 0))


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
