"""What a job does: load the data, fit and score."""

import errno
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import psutil
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from anchorview._utils.linalg import unit_rows
from anchorview._utils.text import one_line
from anchorview._utils.typing import Array
from anchorview.estimators.methods import method_class
from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.external_methods import (
    ExternalMethod,
    default_settings,
    find_method,
    is_external,
)
from anchorview.experiments.jobs import METRICS, Job, Result, Status
from anchorview.metrics import clustering_scores
from anchorview.views.container import MultiViewData

Measure = Callable[[Job, DataSet], Result]
"""What a job does; :func:`fit_and_score` in experiments."""

TIMED_FITS = 3
"""Number of fits of a job that runs alone; its time is their median."""

CLOCK_ERROR = 0.02
"""Resolution of the CPU time of the machine, in seconds."""

MAX_TIMED_SECONDS = 60.0
"""Total time after which no further fit is timed."""


def fit_and_score(job: Job, data: DataSet) -> Result:
    """Fit a method with its default number of restarts, then score independent runs.

    A run is a fit with its own seed and without restarts. If only K-means on an embedding depends
    on the seed, as two fits tell, the runs share the embedding. A fit of AutoDALMC, which is a
    consensus of dozens of partitions, counts for four runs, so that it has fewer scores. Methods
    that are not of this package keep their restarts.
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
    """Medians of :func:`elapsed` for several fits; for fewer if they take long."""
    times: list[dict[str, float]] = []
    first = perf_counter()
    while not times or (len(times) < n_fits and perf_counter() - first < MAX_TIMED_SECONDS):
        start = clocks()
        model.fit(views)
        times.append(elapsed(start))
    return {name: median(each[name] for each in times) for name in times[0]}


def clocks() -> Array:
    """Seconds of the wall clock, and of CPU time: of this process and its children, and others."""
    own = [process_time(), *os.times()[2:4]]
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            own += child.cpu_times()[:2]
    machine = psutil.cpu_times()
    busy = machine.user + machine.system + getattr(machine, "nice", 0.0)
    return np.array([perf_counter(), sum(own), busy - sum(own)])


def elapsed(start: Array) -> dict[str, Any]:
    """Times of a :class:`Result` since :func:`clocks` were read."""
    wall, own, others = clocks() - start
    return {
        "fit_seconds": float(wall),
        "cpu_seconds": float(own),
        "other_cores": max(0.0, float(others) - CLOCK_ERROR) / float(wall),
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
