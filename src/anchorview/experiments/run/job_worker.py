"""What the process of a job does: load, remove entries, fit, score."""

import errno
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from numpy.random import RandomState
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from anchorview._utils.linalg import unit_rows
from anchorview._utils.text import one_line
from anchorview._utils.threads import without_nested_threads
from anchorview._utils.typing import Array, Matrix
from anchorview.datasets.synthetic import random_availability
from anchorview.estimators.methods import method_class
from anchorview.experiments.plan.jobs import METRICS, Job, Result
from anchorview.metrics import clustering_scores
from anchorview.views.container import MultiViewData

if TYPE_CHECKING:
    from anchorview.experiments.run.data_sets import DataSet

RUNS_PER_CONSENSUS = 4
"""Runs that one fit of AutoDALMC stands for, which is itself the consensus of dozens."""

TIMED_FITS = 3
"""Fits of a job that is there for its time."""

ENOUGH_SECONDS = 60.0
"""Seconds after which a fit is not timed once more."""

SPARE_ADDRESSES = 256 * 2**20
"""Bytes that threads and BLAS may reserve beyond the limit, since they use few of them."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

STATUS = Path("/proc/self/status")
"""Where Linux tells what memory a process has."""


def run_job(job: Job, data: "DataSet") -> Result:
    """Fit a method as a user does, then score independent runs of what is random in it.

    Where the labels are K-means on an embedding, the fit is kept and a run is one K-means from one
    random start, as in the paper. Other methods are fitted anew for each run, from one start if
    they have several, with a seed of its own; AutoDALMC once for four runs, as its fit is itself
    the consensus of dozens, so it has fewer scores. What has no randomness is fitted once, and its
    scores are those of every run.

    Parameters
    ----------
    job : Job
    data : DataSet
        The one that the job names.

    Returns
    -------
    Result
        Also of a job that runs out of memory ("memory") or cannot be done ("failed").
    """
    clock = perf_counter()
    try:
        with warnings.catch_warnings():
            # What a fit warns of is seen in its scores.
            warnings.simplefilter("ignore")
            result = _scored(job, data)
    except MemoryError as error:
        result = Result("memory", one_line(error) or "not enough memory")
    except Exception as error:
        lacks_memory = isinstance(error, OSError) and error.errno == errno.ENOMEM
        reason = f"{type(error).__name__}: {one_line(error)}"
        result = Result("memory" if lacks_memory else "failed", reason)
    return replace(result, seconds=perf_counter() - clock)


def _scored(job: Job, data: "DataSet") -> Result:
    views, target = data.load()
    if job.missing > 0:
        views = with_missing(views, job.missing, job.seed)
    if job.impute:
        views = with_means(views)
    model = method_class(job.method)(data.n_clusters, random_state=job.seed, **dict(job.settings))
    fit_seconds = _timed_fits(model, views, TIMED_FITS if job.alone else 1)
    runs = [clustering_scores(target, labels) for labels in _labels_of_runs(job, model, views)]
    return Result(
        "done",
        scores={metric: tuple(run[metric] for run in runs) for metric in METRICS},
        own=clustering_scores(target, model.labels_),
        fit_seconds=fit_seconds,
        n_iter=int(model.n_iter_),
        objective=tuple(float(value) for value in model.objective_),
        view_weights=tuple(float(weight) for weight in model.view_weights_),
    )


def _timed_fits(model: Any, views: MultiViewData, count: int) -> float:
    """Median seconds of so many fits, or of as many as end within a minute."""
    times: list[float] = []
    while not times or (len(times) < count and sum(times) < ENOUGH_SECONDS):
        clock = perf_counter()
        model.fit(views)
        times.append(perf_counter() - clock)
    return median(times)


def _labels_of_runs(job: Job, model: Any, views: MultiViewData) -> Iterator[Array]:
    points = _kmeans_points(model)
    if points is not None:
        for run in range(job.runs):
            kmeans = KMeans(model.n_clusters, n_init=1, random_state=job.seed + run)
            # The sums of several threads would depend on their number.
            with threadpool_limits(1):
                yield kmeans.fit_predict(points)
        return
    if not _depends_on_seed(model):
        yield from [model.labels_] * job.runs
        return
    fits = max(1, job.runs // RUNS_PER_CONSENSUS) if job.method == "auto" else job.runs
    one_start = {"n_init": 1} if "n_init" in model.get_params() else {}
    for run in range(fits):
        if run == 0 and not one_start:
            yield model.labels_
        else:
            again = clone(model).set_params(random_state=job.seed + run, **one_start)
            yield again.fit(views).labels_


def _kmeans_points(model: Any) -> Array | None:
    """Points whose K-means clusters are the labels of a fitted model; None if there are none."""
    normalize = getattr(model, "normalize_embedding", None)
    if normalize is None or getattr(model, "assignment", "kmeans") != "kmeans":
        return None
    return unit_rows(model.embedding_) if normalize else model.embedding_


def _depends_on_seed(model: Any) -> bool:
    """Whether another seed can give other labels, if they are not those of K-means."""
    # Where assignment is fixed too, "gcca" is; the compared methods start K-means from it.
    fixed = ("gcca", "identity") if hasattr(model, "assignment") else ("identity",)
    return getattr(model, "init", "random") not in fixed


def with_missing(data: MultiViewData, share: float, seed: int) -> MultiViewData:
    """Complete data without a share of the (sample, view) entries, drawn at random."""
    if data.available is not None:
        raise ValueError(
            f"missing={share} removes entries of complete data, but {data!r} lacks some already. "
            "Use missing=0."
        )
    n_views = len(data.views)
    available = random_availability(len(data), n_views, share, RandomState(seed), among=n_views)
    return MultiViewData(dict(zip(data.names, data.views, strict=True)), available=available)


def with_means(data: MultiViewData) -> MultiViewData:
    """Complete data: features that a sample lacks are the means of the samples that have them."""
    if data.available is None:
        return data
    filled = {
        name: _filled(view, has, data.dtype)
        for name, view, has in zip(data.names, data.views, data.available.T, strict=True)
    }
    return MultiViewData(filled)


def _filled(view: Matrix, has: Array, dtype: "np.dtype[Any]") -> Array:
    full: Array = view.toarray() if sparse.issparse(view) else np.array(view)
    full = full.astype(dtype, copy=False)
    full[~has] = full[has].mean(axis=0, dtype=np.float64)
    return full


def work(job: Job, data: "DataSet", results: "Connection[Any, Any]", memory_limit: float) -> None:
    """Do a job in this process, which is for nothing else.

    Sends the bytes that the process holds before it starts, then the result.
    """
    # Ctrl-C is for the parent, which ends its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with _threads(job):
        # BLAS takes its buffers now: where it cannot have them, it ends the process.
        np.ones((256, 256)) @ np.ones((256, 256))
        _limit_memory(memory_limit)
        results.send(own_bytes(psutil.Process().memory_info()))
        result = run_job(job, data)
    results.send(replace(result, peak_bytes=_status_bytes("VmHWM")))


def own_bytes(memory: Any) -> int:
    """Resident bytes of a process, of psutil's account, without the files that it has mapped."""
    return int(memory.rss - getattr(memory, "shared", 0))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _threads(job: Job) -> Iterator[None]:
    """All cores for a job that is alone, one for any other."""
    if job.alone:
        yield
        return
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    with threadpool_limits(1), without_nested_threads():
        yield


def _limit_memory(limit: float) -> None:
    """Make what asks for more than so many bytes beyond the present raise MemoryError, on Linux."""
    held = _status_bytes("VmData")
    if held is None:
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = held + int(limit) + SPARE_ADDRESSES
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _status_bytes(name: str) -> int | None:
    """One of the sizes that Linux tells of this process; None elsewhere."""
    if STATUS.exists():
        for line in STATUS.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None
