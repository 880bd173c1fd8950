import os
import subprocess
import sys
from time import monotonic, sleep

import numpy as np
import psutil
import pytest

from anchorview.experiments.jobs import Job, Store
from anchorview.experiments.runner import run_job, run_jobs
from helpers import job_problems
from helpers.job_problems import FAST, LIMITS, SEVERAL, SLOW, MadeData, UnusualData


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.sqlite") as opened:
        yield opened


def result_of(store, pair):
    job, data = pair
    return store.results().get(job.key(data.digest))


def run_with_reports(jobs, store, at_once=1):
    reports = []
    run_jobs(jobs, store, at_once=at_once, listen=lambda *report: reports.append(report), **LIMITS)
    return reports


def job_processes():
    """Processes of jobs: the children of the fork server."""
    own = os.getpid()
    return {child for child in psutil.Process().children(recursive=True) if child.ppid() != own}


def still_running(processes, seconds=20.0):
    """Processes that are still running after some seconds."""
    end = monotonic() + seconds
    while monotonic() < end and any(map(is_running, processes)):
        sleep(0.02)
    return [process for process in processes if is_running(process)]


def is_running(process):
    try:
        # A process that has ended is a zombie until its parent waits for it.
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_results_are_independent_of_order_and_concurrency(store, tmp_path):
    run_jobs(FAST, store, at_once=2, **LIMITS)
    with Store(tmp_path / "other.sqlite") as other:
        run_jobs(FAST[::-1], other, at_once=1, **LIMITS)
        for pair in FAST:
            here, there, direct = result_of(store, pair), result_of(other, pair), run_job(*pair)
            assert here.status == "done"
            assert here.scores == there.scores == direct.scores
            assert here.returned == there.returned == direct.returned
            assert here.peak_bytes > 2**24


def test_finished_jobs_are_not_repeated(store):
    run_jobs(FAST[:2], store, **LIMITS)
    before = store.results()
    run_jobs([*FAST, *FAST], store, **LIMITS)
    after = store.results()
    assert len(after) == 3
    # A repeated job would have other times.
    assert {key: after[key] for key in before} == before
    assert run_with_reports(FAST, store) == [(3, 3, [])]
    assert store.results() == after


def test_failures_are_results_and_not_repeated(store):
    reasons = {
        (Job.of("made", "dalmc", {"n_anchors": 1000}), MadeData()): "n_anchors",
        (Job("made", "dalmc"), UnusualData("exit")): "code 3",
        (Job("made", "amgl"), UnusualData("crash")): "signal 11",
    }
    run_jobs([*reasons, FAST[0]], store, **LIMITS)
    assert result_of(store, FAST[0]).status == "done"
    for pair, reason in reasons.items():
        result = result_of(store, pair)
        assert result.status == "failed"
        assert reason in result.reason
    before = store.results()
    run_jobs(list(reasons), store, **LIMITS)
    assert store.results() == before


def test_limits_of_memory_and_time_end_only_this_job(store):
    growing = (Job("made", "dalmc"), UnusualData("grow"))
    run_jobs([growing, *FAST], store, time_limit=300, memory_limit=60e6)
    assert all(result_of(store, pair).status == "done" for pair in FAST)
    result = result_of(store, growing)
    assert (result.status, result.reason) == ("memory", "exceeded the memory limit of 60.0 MB")
    assert result.peak_bytes > 60e6
    run_jobs([SLOW], store, time_limit=0.5, memory_limit=2e9)
    result = result_of(store, SLOW)
    assert (result.status, result.reason) == ("time", "exceeded the time limit of 0.5 s")
    assert result.seconds >= 0.5
    assert result.peak_bytes > 0


def test_jobs_that_run_alone_are_last(store):
    alone = [(Job("made", "dalmc", seed=seed, alone=True), MadeData()) for seed in range(2)]
    reports = run_with_reports([*alone, *FAST], store, at_once=2)
    assert list(store.results())[3:] == [job.key(data.digest) for job, data in alone]
    for done, _, running in reports:
        if any(job.alone for job, _ in running):
            assert len(running) == 1
            assert done >= 3


def test_an_interrupt_ends_the_processes_and_keeps_the_results(store):
    others = job_processes()
    started = set()

    def interrupt(done, total, running):
        started.update(job_processes() - others)
        if done == 1 and running:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs([SLOW, FAST[0]], store, at_once=2, listen=interrupt, **LIMITS)
    assert started
    assert not still_running(started)
    assert result_of(store, FAST[0]).status == "done"
    assert result_of(store, SLOW) is None


@pytest.fixture(scope="module")
def undisturbed_results(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("undisturbed") / "results.sqlite") as store:
        run_jobs(SEVERAL, store, at_once=1, **LIMITS)
        return store.results()


@pytest.mark.system
@pytest.mark.parametrize("done", [0, 2])
def test_a_killed_run_leaves_no_process_and_can_be_finished(tmp_path, undisturbed_results, done):
    path = tmp_path / "results.sqlite"
    program = subprocess.Popen(
        [sys.executable, job_problems.__file__, str(path)], stdout=subprocess.PIPE, text=True
    )
    while int(program.stdout.readline()) < done:
        pass
    # At an arbitrary time during the next job.
    sleep(np.random.default_rng(done).uniform(0, 0.3))
    family = psutil.Process(program.pid).children(recursive=True)
    program.kill()
    program.wait()
    program.stdout.close()
    assert family
    assert not still_running(family)

    with Store(path) as store:
        before = store.results()
        assert len(before) >= done
        run_jobs(SEVERAL, store, at_once=2, **LIMITS)
        after = store.results()
    assert {key: after[key] for key in before} == before
    assert set(after) == set(undisturbed_results)
    for key, result in undisturbed_results.items():
        assert result.status == "done"
        assert (after[key].scores, after[key].returned) == (result.scores, result.returned)
