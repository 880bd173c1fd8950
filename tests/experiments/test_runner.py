import os
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import psutil
import pytest

from anchorview.experiments.plan.jobs import Job
from anchorview.experiments.run.job_worker import run_job
from anchorview.experiments.run.result_store import Store
from anchorview.experiments.run.runner import run_jobs
from helpers import job_problems
from helpers.job_problems import (
    FAST,
    LIMITS,
    SEVERAL,
    SLOW,
    Counting,
    Crashing,
    Greedy,
    Growing,
    Lethal,
    Made,
)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.sqlite") as opened:
        yield opened


def result_of(store, pair):
    job, data = pair
    return store.get(job.key(data.digest))


def job_processes():
    """Processes that the server of processes has started: those of jobs."""
    own = os.getpid()
    return {child for child in psutil.Process().children(recursive=True) if child.ppid() != own}


def still_there(processes, seconds=20.0):
    """Those of some processes that still run after some seconds."""
    end = monotonic() + seconds
    while monotonic() < end and any(map(at_work, processes)):
        sleep(0.02)
    return [process for process in processes if at_work(process)]


def at_work(process):
    try:
        # One that has ended is a zombie as long as its parent does not ask for it.
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_results_are_those_of_the_jobs_whatever_their_order_and_number(store, tmp_path):
    run_jobs(FAST, store, at_once=2, **LIMITS)
    with Store(tmp_path / "other.sqlite") as other:
        run_jobs(FAST[::-1], other, at_once=1, **LIMITS)
        for pair in FAST:
            here, there, direct = result_of(store, pair), result_of(other, pair), run_job(*pair)
            assert here.status == "done"
            assert here.scores == there.scores == direct.scores
            assert here.own == there.own == direct.own
            assert here.peak_bytes > 2**24


def test_what_the_store_has_is_not_done_again(store):
    run_jobs(FAST[:2], store, **LIMITS)
    before = store.results()
    run_jobs([*FAST, *FAST], store, **LIMITS)
    after = store.results()
    assert len(after) == 3
    # The times tell a result from one made anew.
    assert {key: after[key] for key in before} == before
    heard = []
    run_jobs(FAST, store, listen=heard.append, **LIMITS)
    assert store.results() == after
    assert [(progress.done, progress.total) for progress in heard] == [(3, 3)]


def test_failures_are_results_and_not_repeated(store):
    impossible = (Job.of("made", "dalmc", {"n_anchors": 1000}), Made())
    lethal, crashing = (Job("made", "dalmc"), Lethal("lethal")), (Job("made", "amgl"), Crashing())
    run_jobs([impossible, lethal, crashing, FAST[0]], store, **LIMITS)
    assert result_of(store, FAST[0]).status == "done"
    for pair, reason in ((impossible, "n_anchors"), (lethal, "code 3"), (crashing, "signal 11")):
        result = result_of(store, pair)
        assert result.status == "failed"
        assert reason in result.reason
    before = store.results()
    run_jobs([impossible, lethal, crashing], store, **LIMITS)
    assert store.results() == before


def test_a_method_that_exceeds_its_memory_ends_and_the_others_go_on(store):
    large = Made("large", n_samples=4000)
    hungry = (Job.of("made", "bmvc", {"n_anchors": 4000}, runs=1), large)
    run_jobs([hungry, *FAST], store, time_limit=300, memory_limit=60e6)
    result = result_of(store, hungry)
    assert result.status == "memory"
    assert result.reason
    assert result.peak_bytes > 60e6
    assert all(result_of(store, pair).status == "done" for pair in FAST)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the limit is that of Linux")
def test_memory_beyond_the_limit_is_refused_before_it_is_used(store):
    greedy = (Job("made", "dalmc"), Greedy())
    run_jobs([greedy], store, time_limit=300, memory_limit=1e9)
    result = result_of(store, greedy)
    assert result.status == "memory"
    assert "Unable to allocate 4.00 GiB" in result.reason
    assert result.peak_bytes < 1e9


def test_memory_that_is_used_beyond_the_limit_ends_the_process(store):
    growing = (Job("made", "dalmc"), Growing())
    run_jobs([growing], store, time_limit=300, memory_limit=60e6)
    result = result_of(store, growing)
    assert (result.status, result.reason) == ("memory", "more memory than the limit of 60.0 MB")
    assert result.peak_bytes > 60e6


def test_a_job_that_takes_too_long_is_ended_and_the_others_go_on(store):
    run_jobs([SLOW], store, time_limit=0.5, memory_limit=2e9)
    result = result_of(store, SLOW)
    assert (result.status, result.reason) == ("time", "longer than the limit of 0.5 s")
    assert result.seconds >= 0.5
    assert result.peak_bytes > 0
    run_jobs(FAST[:1], store, **LIMITS)
    assert result_of(store, FAST[0]).status == "done"


def test_a_process_that_the_system_kills_ran_out_of_memory(store):
    others = job_processes()

    def kill(progress):
        if progress.running:
            for process in job_processes() - others:
                process.kill()

    run_jobs([SLOW], store, listen=kill, **LIMITS)
    result = result_of(store, SLOW)
    assert result.status == "memory"
    assert "system" in result.reason


def test_jobs_that_are_alone_come_last_and_have_nothing_beside_them(store):
    alone = [(Job("made", "dalmc", seed=seed, alone=True), Made()) for seed in range(2)]
    heard = []
    run_jobs([*alone, *FAST], store, at_once=2, listen=heard.append, **LIMITS)
    assert list(store.results())[3:] == [job.key(data.digest) for job, data in alone]
    for progress in heard:
        if any(job.alone for job, _ in progress.running):
            assert len(progress.running) == 1
            assert progress.done >= 3


def test_a_job_beside_others_has_one_thread(store):
    counting = (Job("made", "dalmc"), Counting())
    run_jobs([counting], store, **LIMITS)
    assert result_of(store, counting).reason == "ValueError: 1 threads"


def test_progress_tells_what_is_done_running_and_left(store):
    heard = []
    run_jobs(FAST, store, at_once=1, listen=heard.append, **LIMITS)
    done = [progress.done for progress in heard]
    assert done == sorted(done)
    assert set(done) == {0, 1, 2, 3}
    assert {progress.total for progress in heard} == {3}
    for progress in heard:
        assert (progress.remaining_seconds is None) == (progress.done == 0)
    ends = [next(p.remaining_seconds for p in heard if p.done == count) for count in (1, 2, 3)]
    assert ends[0] > 0
    assert ends[2] == 0


def test_an_interrupt_ends_the_processes_and_keeps_the_results(store):
    others = job_processes()
    started = set()

    def interrupt(progress):
        started.update(job_processes() - others)
        if progress.done == 1 and progress.running:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs([SLOW, FAST[0]], store, at_once=2, listen=interrupt, **LIMITS)
    assert started
    assert not still_there(started)
    assert result_of(store, FAST[0]).status == "done"
    assert result_of(store, SLOW) is None


@pytest.mark.parametrize("name", ["time_limit", "memory_limit", "at_once"])
def test_limits_must_be_above_zero(store, name):
    with pytest.raises(ValueError, match=f"{name} must be above 0"):
        run_jobs(FAST, store, **LIMITS | {name: 0})


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """Results of a run that nothing disturbs."""
    with Store(tmp_path_factory.mktemp("whole") / "results.sqlite") as store:
        run_jobs(SEVERAL, store, at_once=1, **LIMITS)
        return store.results()


@pytest.mark.parametrize("done", [0, 2])
def test_sigkill_of_the_run_leaves_no_process_and_another_run_finishes_it(
    tmp_path, whole_run, done
):
    path = tmp_path / "results.sqlite"
    program = subprocess.Popen(
        [sys.executable, job_problems.__file__, str(path)], stdout=subprocess.PIPE, text=True
    )
    while int(program.stdout.readline()) < done:
        pass
    # At no moment in particular of the job that comes next.
    sleep(np.random.default_rng().uniform(0, 0.3))
    family = psutil.Process(program.pid).children(recursive=True)
    program.kill()
    program.wait()
    program.stdout.close()
    assert family
    assert not still_there(family)

    with Store(path) as store:
        before = store.results()
        assert len(before) >= done
        run_jobs(SEVERAL, store, at_once=2, **LIMITS)
        after = store.results()
    assert {key: after[key] for key in before} == before
    assert set(after) == set(whole_run)
    for key, result in whole_run.items():
        assert result.status == "done"
        assert (after[key].scores, after[key].own) == (result.scores, result.own)
