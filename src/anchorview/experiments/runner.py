"""Jobs are run, each in a separate process with limits: a method is fitted and scored."""

import errno
import multiprocessing
import os
import re
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import psutil
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from anchorview._utils.linalg import unit_rows
from anchorview._utils.text import format_bytes, one_line
from anchorview._utils.threads import n_cores, without_nested_threads
from anchorview._utils.typing import Array
from anchorview.estimators.methods import REGISTRY, method_class
from anchorview.experiments.inputs import (
    DataSet,
    ExternalMethod,
    default_settings,
    find_method,
    is_external,
)
from anchorview.experiments.jobs import METRICS, Job, Result, Status, Store, environment
from anchorview.metrics import clustering_scores
from anchorview.views.container import MultiViewData

POLL_SECONDS, PROGRESS_SECONDS, EXIT_SECONDS = 0.05, 0.5, 10.0
"""Time between checks of the running jobs, between reports, and to exit after a result was sent."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Measure = Callable[[Job, DataSet], Result]

TIMED_FITS, MAX_TIMED_SECONDS, CLOCK_ERROR = 3, 60.0, 0.02
"""Fits of a job that runs alone, fewer if they take long, and seconds of error of CPU times."""

Listener = Callable[[int, int, Sequence[tuple[Job, float]]], None]
"""Called with the numbers of jobs with a result and of all jobs, and the running jobs with their
elapsed time in seconds: about twice a second, and whenever a job ends."""


def run_jobs(
    jobs: Sequence[tuple[Job, DataSet]],
    store: Store,
    *,
    time_limit: float,
    memory_limit: float,
    at_once: int | None = None,
    listen: Listener = lambda *_: None,
    measure: Measure | None = None,
) -> None:
    """Run the jobs that have no result in a store, each in a separate process on one core.

    Jobs that exceed a limit, fail or crash have a result too. Each result is stored immediately;
    after an interruption, another call continues. Jobs with `alone` run last, one at a time and on
    all cores. `memory_limit` is in bytes beyond those of a process at the start.
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
                running.append(_JobProcess(*waiting.popleft(), measure or fit_and_score))
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
    # A job that runs alone uses all cores, any other job one.
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


def fit_and_score(job: Job, data: DataSet) -> Result:
    """Fit a method with its default number of restarts, then score runs without these.

    If only K-means on an embedding depends on the seed, as two fits tell, runs share the embedding.
    """
    views, classes = data.load()
    model = _estimator(job, data.n_clusters, 0)
    times = _time_fits(model, views, TIMED_FITS if job.alone else 1)
    runs = [
        clustering_scores(classes, labels)
        for labels in _labels_of_runs(job, data.n_clusters, model, views)
    ]
    return Result(
        "done",
        scores={metric: tuple(run[metric] for run in runs) for metric in METRICS},
        returned=clustering_scores(classes, model.labels_),
        n_iter=getattr(model, "n_iter_", None),
        objective=tuple(map(float, getattr(model, "objective_", ()))),
        view_weights=tuple(map(float, getattr(model, "views_", {}).get("weight", ()))),
        **times,
    )


def run_job(job: Job, data: DataSet, measure: Measure = fit_and_score) -> Result:
    """Run a job in this process; the result has the status of an error that it raises."""
    start = perf_counter()
    try:
        with warnings.catch_warnings():
            # The scores show what a fit warns of.
            warnings.simplefilter("ignore")
            result = measure(job, data)
    except Exception as error:
        no_memory = getattr(error, "errno", None) == errno.ENOMEM
        status: Status = "memory" if no_memory or isinstance(error, MemoryError) else "failed"
        result = Result(status, f"{type(error).__name__}: {one_line(error)}")
    return replace(result, seconds=perf_counter() - start)


def _time_fits(model: Any, views: MultiViewData, n_fits: int) -> dict[str, Any]:
    """Medians of :func:`elapsed` for several fits."""
    times: list[dict[str, float]] = []
    first = perf_counter()
    while not times or (len(times) < n_fits and perf_counter() - first < MAX_TIMED_SECONDS):
        start = clocks()
        model.fit(views)
        times.append(elapsed(start))
    return {name: median(each[name] for each in times) for name in times[0]}


def clocks() -> Array:
    """Seconds of the wall clock, of CPU time of this process and its children, and of the rest."""
    used = [process_time(), *os.times()[2:4]]
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            used += child.cpu_times()[:2]
    machine = psutil.cpu_times()
    busy = machine.user + machine.system + getattr(machine, "nice", 0.0)
    return np.array([perf_counter(), sum(used), busy - sum(used)])


def elapsed(start: Array) -> dict[str, Any]:
    """Times of a :class:`Result` since :func:`clocks` were read."""
    wall, cpu, rest = clocks() - start
    return {
        "fit_seconds": float(wall),
        "cpu_seconds": float(cpu),
        "other_cores": max(0.0, float(rest) - CLOCK_ERROR) / float(wall),
    }


def _estimator(job: Job, n_clusters: int, run: int, **others: Any) -> Any:
    settings = {**dict(job.settings), **others, "random_state": job.seed + run}
    if is_external(job.method):
        return ExternalMethod(job.method, n_clusters, **settings)
    return method_class(job.method)(n_clusters, **settings)


def _labels_of_runs(job: Job, n_clusters: int, model: Any, views: MultiViewData) -> Iterator[Array]:
    restarts = "n_init" in default_settings(job.method) and not is_external(job.method)
    single_start = {"n_init": 1} if restarts else {}

    def fitted(run: int) -> Any:
        return _estimator(job, n_clusters, run, **single_start).fit(views)

    # Set for methods that cluster an embedding by K-means.
    normalize = getattr(model, "normalize_embedding", None)
    by_kmeans = normalize is not None and getattr(model, "assignment", "kmeans") == "kmeans"
    known = {} if single_start else {0: model}
    if by_kmeans and job.runs > 1:
        known[1] = fitted(1)
    if by_kmeans and np.array_equal(model.embedding_, known.get(1, model).embedding_):
        points = unit_rows(model.embedding_) if normalize else model.embedding_
        for run in range(job.runs):
            kmeans = KMeans(n_clusters, n_init=1, random_state=job.seed + run)
            # With several threads the sums would depend on their number.
            with threadpool_limits(1):
                yield kmeans.fit_predict(points)
    else:
        for run in range(max(1, job.runs // find_method(job.method).runs_per_fit)):
            yield (known[run] if run in known else fitted(run)).labels_
