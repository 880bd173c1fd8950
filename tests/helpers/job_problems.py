"""Data sets and jobs for tests of the runner; the process of every job imports this module."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import numpy as np

from anchorview import MultiViewData, make_multiview
from anchorview.experiments.jobs import Job, Store
from anchorview.experiments.runner import run_jobs

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


class UnusualData(MadeData):
    """Data whose digest tells what happens to the process that loads them."""

    def load(self):
        if self.digest == "exit":
            os._exit(3)
        if self.digest == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.digest == "grow":
            held = np.ones(20 * 2**20)
            sleep(300)
            return held, None
        return super().load()


FAST = [(Job.of("made", "dalmc", {"beta": beta}, runs=5), MadeData()) for beta in (0.01, 0.1, 1.0)]
SEVERAL = [(Job("made", name, runs=3), MadeData()) for name in ("dalmc", "bmvc", "amgl", "smvsc")]
SLOW = (Job.of("made", "opmc", {"n_init": 10**8}), MadeData())
"""A job that takes hours."""


if __name__ == "__main__":
    # Jobs, one of them endless; prints how many are done while some are running.
    with Store(Path(sys.argv[1])) as results:
        run_jobs(
            [SLOW, *SEVERAL],
            results,
            at_once=2,
            listen=lambda done, total, running: running and print(done, flush=True),
            **LIMITS,
        )
