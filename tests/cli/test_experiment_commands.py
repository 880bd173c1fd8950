import json
import random
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from test_commands import INTERRUPTIBLE, MAIN, command, error_of, posix
from test_commands import run as invoke

from anchorview import __version__, make_multiview
from anchorview._utils.atomic_files import exclusive_folder

PLAN = """
suites = ["all"]
runs = 2
betas = [0.01, 0.1]
anchors = [1, 2]
missing = [0.0, 0.3]
methods = ["amgl", "bmvc", "omsc", "dalmc"]

[grids.amgl]
n_neighbors = [5, 8]
[grids.dalmc]
beta = [0.01, 0.1]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    views, y = make_multiview(
        120, n_clusters=3, n_features=(6, 8, 10), separation=2.5, random_state=0
    )
    np.savez(folder / "small.npz", **views, y=y)
    (folder / "plan.toml").write_text(PLAN)
    return folder


def rows_of(out):
    with closing(sqlite3.connect(out / "results.sqlite")) as database:
        return dict(database.execute("SELECT key, job || result || environment FROM results"))


def scores_of(out):
    with closing(sqlite3.connect(out / "results.sqlite")) as database:
        rows = database.execute("SELECT key, result FROM results").fetchall()
    return {key: (found["status"], found["scores"], found["own"]) for key, found in decoded(rows)}


def decoded(rows):
    return ((key, json.loads(text)) for key, text in rows)


@pytest.fixture(scope="module")
def finished(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "out"
    run = command("experiment", "run", folder / "plan.toml", "--data", folder, "--out", out)
    done = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return out, done.stdout


@pytest.mark.xdist_group("experiments")
def test_a_suite_writes_all_tables_and_figures(finished):
    out, said = finished
    tables = {path.stem for path in (out / "tables").glob("*.md")}
    expected = {"compare-acc", "ablation-acc", "runtime", "convergence", "ranks", "environment"}
    assert expected <= {name.lower() for name in tables}
    for ending in ("csv", "tex"):
        assert {path.stem for path in (out / "tables").glob(f"*.{ending}")} == tables
    assert len(list((out / "figures").glob("*.svg"))) == len(list((out / "figures").glob("*.png")))
    assert (out / "report.html").stat().st_size < 6e6
    assert "DALMC (oracle)" in said
    assert "Report written to" in said
    assert not list(out.rglob("*.part*"))


@posix
@pytest.mark.xdist_group("experiments")
def test_killed_at_a_random_moment_it_goes_on_and_repeats_nothing(folder, finished, tmp_path):
    whole, _ = finished
    out = tmp_path / "out"
    run = command("experiment", "run", folder / "plan.toml", "--data", folder, "--out", out)
    killed = subprocess.Popen(run, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    total = len(rows_of(whole))
    # From the start, when data are being read, to the end, when tables are being written.
    moment = random.randrange(total + 1)
    deadline = time.monotonic() + 120
    while len(_readable_rows(out)) < moment:
        assert killed.poll() is None and time.monotonic() < deadline, moment
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    before = _readable_rows(out)
    assert moment <= len(before)
    again = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stderr
    after = rows_of(out)
    assert {key: after[key] for key in before} == before
    assert scores_of(out) == scores_of(whole)
    for table in (whole / "tables").glob("*.csv"):
        if not table.stem.startswith(("runtime", "environment", "memory")):
            pd.testing.assert_frame_equal(
                pd.read_csv(table), pd.read_csv(out / "tables" / table.name)
            )


def _readable_rows(out):
    if not (out / "results.sqlite").exists():
        return {}
    try:
        return rows_of(out)
    except sqlite3.Error:
        return {}


@pytest.mark.xdist_group("experiments")
def test_a_method_beyond_its_memory_is_a_dash_and_the_suite_goes_on(folder, tmp_path):
    views, y = make_multiview(3000, n_clusters=3, n_features=(5, 6), random_state=0)
    data = tmp_path / "data"
    data.mkdir()
    np.savez(data / "larger.npz", **views, y=y)
    plan = tmp_path / "two.toml"
    plan.write_text('methods = ["amgl", "dalmc"]\nmodes = ["default"]\nruns = 1\n')
    out = tmp_path / "out"
    run = command("experiment", "run", plan, "--data", data, "--out", out, "--memory-limit", "60MB")
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "compare: larger AMGL: memory" in done.stdout
    assert "--retry" in done.stdout
    statuses = {json.loads(r)["status"] for r in _results(out)}
    assert statuses == {"memory", "done"}
    (line,) = [
        text
        for text in (out / "tables" / "compare-acc.md").read_text().splitlines()
        if text.startswith("| larger")
    ]
    assert " - " in line
    # With enough memory it is done, if asked for.
    roomy = [*run[:-1], "4GB"]
    assert subprocess.run(roomy, capture_output=True, timeout=120).returncode == 0
    assert {json.loads(r)["status"] for r in _results(out)} == {"memory", "done"}
    assert subprocess.run([*roomy, "--retry"], capture_output=True, timeout=120).returncode == 0
    assert {json.loads(r)["status"] for r in _results(out)} == {"done"}


def _results(out):
    with closing(sqlite3.connect(out / "results.sqlite")) as database:
        return [text for (text,) in database.execute("SELECT result FROM results")]


@posix
def test_two_runs_in_one_folder_do_not_meet(folder, tmp_path):
    with exclusive_folder(tmp_path):
        failed = invoke("experiment", "run", "beta", "--data", folder, "--out", tmp_path)
        assert "is in use by another run" in error_of(failed)


@pytest.mark.filterwarnings("default")
def test_results_of_another_version_are_told(folder, tmp_path, monkeypatch):
    plan = tmp_path / "plan.toml"
    plan.write_text('suites = ["convergence"]')
    arguments = ("experiment", "run", plan, "--data", folder, "--out", tmp_path / "out")
    assert invoke(*arguments).exit_code == 0
    monkeypatch.setattr("anchorview.cli.experiment_commands.__version__", "99.0")
    again = invoke(*arguments)
    assert again.exit_code == 0
    assert f"made by anchorview {__version__}, not by 99.0" in again.stderr


def test_a_folder_without_data_sets_is_when_instructions_are_needed(tmp_path):
    listed = invoke("experiment", "list", "--data", tmp_path)
    assert listed.exit_code == 0
    assert "there is no data set with labels inside" in listed.stdout
    assert "not ours to redistribute" in listed.stdout


def test_what_there_is_to_run(folder):
    listed = invoke("experiment", "list", "--data", folder)
    assert listed.exit_code == 0
    for name in ("compare", "incomplete", "digits", "synthetic", "small", "AWA", "126054"):
        assert name in listed.stdout
    assert "not ours to redistribute" in listed.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "comparison"), "Suite 'comparison' is unknown; there are compare, ablation"),
        (("run", "beta", "--mode", "best"), "best"),
        (("run", "beta", "--mode", "oracle"), "nothing to run"),
        (("run", "beta", "--only", "digitz"), "digitz"),
        (("run", "beta", "--only", "AWA"), "not ours to redistribute"),
        (("run", "missing.toml"), "missing.toml"),
        (("run", "beta", "--memory-limit", "much"), "much"),
    ],
)
def test_errors_of_usage_are_one_line(arguments, message, tmp_path):
    assert message in error_of(invoke("experiment", *arguments, "--out", tmp_path / "out"))
    assert not (tmp_path / "out" / "results.sqlite").exists()


@posix
@pytest.mark.xdist_group("experiments")
def test_interrupted_it_keeps_what_is_done(folder, tmp_path):
    out = tmp_path / "out"
    arguments = ("experiment", "run", folder / "plan.toml", "--data", folder, "--out", out)
    run = command(*arguments, script=INTERRUPTIBLE + MAIN)
    started = subprocess.Popen(run, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    deadline = time.monotonic() + 120
    while not _readable_rows(out):
        assert started.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=30)
    assert started.returncode == 130
    assert "what is done is kept" in said
    assert _readable_rows(out)
