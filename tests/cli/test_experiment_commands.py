import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pytest

from anchorview import __version__, make_multiview
from anchorview._utils.atomic_files import exclusive_folder
from anchorview.experiments import outputs
from helpers.command_line import INTERRUPTIBLE, MAIN, command, error_of, output_of, posix, run

PLAN = """
suites = ["compare", "ablation", "runtime", "beta", "anchors", "convergence"]
runs = 2
betas = [0.01, 0.1]
anchors = [1, 2]
methods = ["amgl", "bmvc", "omsc", "dalmc"]

[grids.amgl]
n_neighbors = [5, 8]
[grids.omsc]
n_anchors = [3, 6]
[grids.dalmc]
beta = [0.01, 0.1]
"""

pytestmark = pytest.mark.system
in_one_process = pytest.mark.xdist_group("experiments")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    views, y = make_multiview(
        120, n_clusters=3, n_features=(6, 8, 10), separation=2.5, random_state=0
    )
    np.savez(folder / "small.npz", **views, y=y)
    (folder / "plan.toml").write_text(PLAN)
    return folder


def suite_command(folder, out, **options):
    plan = folder / "plan.toml"
    return command("experiment", "run", plan, "--data", folder, "--out", out, **options)


def stored(out, columns="key, job || result || environment"):
    """Columns of the stored results; none while the database is being created."""
    if not (out / "results.sqlite").exists():
        return {}
    try:
        with closing(sqlite3.connect(out / "results.sqlite")) as database:
            return dict(database.execute(f"SELECT {columns} FROM results"))
    except sqlite3.Error:
        return {}


def results_of(out):
    return {key: json.loads(text) for key, text in stored(out, "key, result").items()}


def wait_for_results(process, out, count):
    deadline = time.monotonic() + 120
    while len(stored(out)) < count:
        assert process.poll() is None and time.monotonic() < deadline, count
        time.sleep(0.02)


@posix
@in_one_process
def test_an_interrupted_run_keeps_finished_jobs(folder, tmp_path):
    out = tmp_path / "out"
    suite = suite_command(folder, out, script=INTERRUPTIBLE + MAIN)
    started = subprocess.Popen(suite, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    wait_for_results(started, out, 1)
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=30)
    assert started.returncode == 130
    assert "finished jobs are kept" in errors
    assert stored(out)


@in_one_process
def test_a_method_beyond_its_memory_is_a_dash_until_it_is_retried(tmp_path):
    views, y = make_multiview(3000, n_clusters=3, n_features=(5, 6), random_state=0)
    data, plan, out = (tmp_path / name for name in ("data", "two.toml", "out"))
    data.mkdir()
    np.savez(data / "larger.npz", **views, y=y)
    plan.write_text('suites = ["compare"]\nmethods = ["amgl"]\nmodes = ["default"]\nruns = 1\n')
    suite = ("experiment", "run", plan, "--data", data, "--out", out, "--memory-limit")

    def statuses():
        return {result["status"] for result in results_of(out).values()}

    shown = output_of(*suite, "1MB")
    assert "compare: larger AMGL: memory" in shown
    assert "--retry" in shown
    assert f"Report written to {out}" in shown
    assert not list(out.rglob("*.part*"))
    assert statuses() == {"memory"}
    table = (out / "tables" / "compare-acc.md").read_text().splitlines()
    (line,) = [text for text in table if text.startswith("| larger")]
    assert " - " in line
    output_of(*suite, "4GB")
    assert statuses() == {"memory"}
    output_of(*suite, "4GB", "--retry")
    assert statuses() == {"done"}


@pytest.mark.filterwarnings("default")
def test_a_method_of_the_current_folder_is_checked_and_compared(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # As in a new process of the console script.
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    (tmp_path / "shell_method.py").write_text(
        "def by_sign(views, n_clusters, random_state):\n"
        "    return (views['view_0'][:, 0] > 0).astype(int)\n"
    )
    shown = output_of("experiment", "check", "shell_method:by_sign")
    assert "Warning: shell_method:by_sign found 2 clusters with n_clusters=3" in shown
    assert "can be used" in shown
    assert "module:Class" in error_of("experiment", "check", "dalmc")
    options = ("--method", "shell_method:by_sign", "--method", "auto", "--mode", "default")
    done = run("experiment", "run", "compare", "--data", folder, *options, "--runs", 2)
    assert "found 2 clusters with n_clusters=3" in done.stderr
    assert "by_sign" in done.stdout


@posix
def test_two_runs_cannot_share_a_folder(folder, tmp_path):
    with exclusive_folder(tmp_path):
        message = error_of("experiment", "run", "beta", "--data", folder, "--out", tmp_path)
        assert str(tmp_path) in message


@pytest.mark.filterwarnings("default")
def test_results_of_another_version_are_reported(folder, tmp_path, set_constants):
    plan = tmp_path / "plan.toml"
    plan.write_text('suites = ["convergence"]')
    arguments = ("experiment", "run", plan, "--data", folder, "--out", tmp_path / "out")
    output_of(*arguments)
    set_constants(outputs, __version__="99.0")
    again = run(*arguments)
    assert again.exit_code == 0
    assert f"from anchorview {__version__}, not 99.0" in again.stderr


def test_list_has_suites_data_sets_and_instructions(folder, tmp_path):
    shown = output_of("experiment", "list", "--data", folder)
    for text in ("compare", "anchors", "digits", "synthetic", "small", "AWA", "126054"):
        assert text in shown
    assert "not ours to redistribute" in shown
    shown = output_of("experiment", "list", "--data", tmp_path)
    assert "no data set" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("comparison",), "'comparison'"),
        (("beta", "--mode", "best"), "best"),
        (("beta", "--mode", "oracle"), "nothing to run"),
        (("beta", "--only", "digitz"), "digitz"),
        (("beta", "--only", "AWA"), "not ours to redistribute"),
        (("missing.toml",), "missing.toml"),
        (("beta", "--memory-limit", "much"), "much"),
    ],
)
def test_bad_arguments(arguments, message, tmp_path):
    assert message in error_of("experiment", "run", *arguments, "--out", tmp_path / "out")
    assert not (tmp_path / "out" / "results.sqlite").exists()


def test_results_are_not_written_into_the_data(folder, tmp_path):
    same = error_of("experiment", "run", "compare", "--data", folder, "--out", folder)
    assert "--out and --data" in same
    output_of("convert", folder / "small.npz", tmp_path / "set")
    for out in (tmp_path / "set", tmp_path / "set" / "results"):
        message = error_of("experiment", "run", "compare", "--data", tmp_path, "--out", out)
        assert re.search("--out .* the data set", message)
