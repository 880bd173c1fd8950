"""Jobs that tests run. Each process of a job imports this, so it is light."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import numpy as np
from threadpoolctl import threadpool_info

from anchorview import MultiViewData, make_multiview
from anchorview.experiments.plan.jobs import Job

LIMITS = {"time_limit": 300.0, "memory_limit": 2e9}


@dataclass(frozen=True)
class Made:
    """A small data set, made where it is loaded."""

    digest: str = "made"
    name: str = "made"
    n_samples: int = 150
    n_clusters: int = 4

    def load(self):
        views, y = make_multiview(
            self.n_samples, n_clusters=4, n_features=(8, 12), separation=2.5, random_state=0
        )
        return MultiViewData(views), y


class Lethal(Made):
    def load(self):
        os._exit(3)


class Crashing(Made):
    def load(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class Greedy(Made):
    def load(self):
        return np.zeros((2**19, 2**10)), None


class Growing(Made):
    def load(self):
        held = np.ones(20 * 2**20)
        sleep(300)
        return held, None


class Counting(Made):
    def load(self):
        raise ValueError(f"{max(pool['num_threads'] for pool in threadpool_info())} threads")


FAST = [(Job.of("made", "dalmc", {"beta": beta}, runs=5), Made()) for beta in (0.01, 0.1, 1.0)]
SEVERAL = [(Job("made", name, runs=3), Made()) for name in ("dalmc", "bmvc", "amgl", "smvsc")]
SLOW = (Job.of("made", "opmc", {"n_init": 10**8}), Made())
"""A job that takes hours."""


def run_and_tell(path):
    """Run jobs, one of them without end, and print how many are done when some are at work."""
    from anchorview.experiments.run.result_store import Store
    from anchorview.experiments.run.runner import run_jobs

    def tell(progress):
        if progress.running:
            print(progress.done, flush=True)

    with Store(path) as store:
        run_jobs([SLOW, *SEVERAL], store, at_once=2, listen=tell, **LIMITS)


if __name__ == "__main__":
    run_and_tell(Path(sys.argv[1]))
