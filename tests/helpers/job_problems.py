"""Data sets and jobs for tests of the runner; the process of every job imports this module."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import numpy as np
from threadpoolctl import threadpool_info

from anchorview import MultiViewData, make_multiview
from anchorview.experiments.plan.jobs import Job, Result
from anchorview.experiments.run.result_store import Store
from anchorview.experiments.run.runner import run_jobs

LIMITS = {"time_limit": 300.0, "memory_limit": 2e9}


@dataclass(frozen=True)
class MadeData:
    """A small data set with overlapping clusters, generated when it is loaded."""

    digest: str = "made"
    n_samples: int = 150
    n_clusters: int = 4
    missing: float = 0.0
    random_state: int = 0
    name: str = "made"

    def load(self):
        views, y = make_multiview(
            self.n_samples,
            n_clusters=self.n_clusters,
            n_features=(8, 12),
            separation=2.5,
            missing=self.missing,
            random_state=self.random_state,
        )
        return MultiViewData(views), y


class ExitingData(MadeData):
    def load(self):
        os._exit(3)


class CrashingData(MadeData):
    def load(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class HugeData(MadeData):
    def load(self):
        return np.zeros((2**19, 2**10)), None


class GrowingData(MadeData):
    def load(self):
        held = np.ones(20 * 2**20)
        sleep(300)
        return held, None


def count_threads(job, data):
    """Measure the maximum number of threads, in place of scores."""
    return Result("done", n_iter=max(pool["num_threads"] for pool in threadpool_info()))


FAST = [(Job.of("made", "dalmc", {"beta": beta}, runs=5), MadeData()) for beta in (0.01, 0.1, 1.0)]
SEVERAL = [(Job("made", name, runs=3), MadeData()) for name in ("dalmc", "bmvc", "amgl", "smvsc")]
SLOW = (Job.of("made", "opmc", {"n_init": 10**8}), MadeData())
"""A job that takes hours."""


def run_and_print(path):
    """Run jobs, one of them endless, and print how many are done while some are running."""

    def print_done(progress):
        if progress.running:
            print(progress.done, flush=True)

    with Store(path) as store:
        run_jobs([SLOW, *SEVERAL], store, at_once=2, listen=print_done, **LIMITS)


if __name__ == "__main__":
    run_and_print(Path(sys.argv[1]))
