"""Commands fit and demo, and what all commands share: errors, output files, the process."""

import errno
import inspect
import os
import signal
import subprocess
from pathlib import Path
from typing import get_args
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.io import savemat

from anchorview import DALMC, AutoDALMC, load_digits
from anchorview.cli import commands, options
from anchorview.estimators.methods import METHODS, method_class
from anchorview.metrics import clustering_scores
from helpers.command_line import (
    MAIN,
    PAUSE_IN_FSYNC,
    QUICK,
    command,
    error_of,
    interrupted,
    output_of,
    pausing_script,
    posix,
    read_confident_labels,
    read_labels,
    run,
)
from helpers.data import clustered_views
from helpers.installed import require_installed


def test_fit_writes_the_labels_and_prints_views_and_scores(data, out, views_and_y):
    views, y = views_and_y
    result = run("fit", data, "-k", 3, "--method", "dalmc", "--out", out)

    model = DALMC(3, random_state=0).fit(views)
    assert (result.exit_code, result.stderr) == (0, "")
    np.testing.assert_array_equal(read_labels(out), model.labels_)
    assert list(out.parent.iterdir()) == [out]
    rows = [line.split() for line in result.stdout.splitlines()]
    for name, view, weight in zip(views, views.values(), model.views_["weight"], strict=True):
        assert [name, str(view.shape[1]), f"{weight:.3f}"] in rows
    assert "120 samples in 3 clusters by DALMC" in result.stdout
    assert f"{model.n_iter_} of at most 50 iterations" in result.stdout
    for name, score in clustering_scores(y, model.labels_).items():
        assert f"{name} {score:.4f}" in result.stdout
    assert f"Labels written to {out}\n" in result.stdout


def test_documented_defaults_are_those_of_the_estimator():
    parameters = inspect.signature(DALMC).parameters
    for name, option in inspect.signature(commands.fit).parameters.items():
        default = parameters[name].default if name in parameters else None
        if default is not None and name not in ("n_clusters", "random_state", "verbose"):
            assert option.annotation.__metadata__[0].show_default == str(default), name


@pytest.mark.parametrize(
    ("name", "choices"), [("solver", options.SolverName), ("assignment", options.AssignmentName)]
)
def test_choices_are_those_of_the_estimator(name, choices):
    with pytest.raises(ValueError) as error:
        DALMC(3, **{name: "other"}).fit(np.eye(4))
    assert all(repr(choice) in str(error.value) for choice in get_args(choices))


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("auto", "dalmc")])
def test_baselines_by_name(method, data, out, views_and_y):
    require_installed(method)
    own = method_class(method)(3, random_state=0)
    # The steps of LMVSC are those of quadratic programs, which it warns of if they are too few.
    limit = {"max_iter": 1000 if method == "lmvsc" else 3} if hasattr(own, "max_iter") else {}
    options = [f"--max-iter={number}" for number in limit.values()]
    shown = output_of("fit", data, "-k", 3, "--method", method, "--out", out, *options)
    model = own.set_params(**limit).fit(views_and_y[0])
    np.testing.assert_array_equal(read_labels(out), model.labels_)
    n_found = getattr(model, "n_clusters_", 3)
    assert f"{n_found} clusters by {type(model).__name__}" in shown
    if limit:
        assert f"{model.n_iter_} of at most {limit['max_iter']}" in shown


def test_without_out_nothing_is_written_and_a_hint_is_given(data, monkeypatch):
    monkeypatch.chdir(data.parent)
    # Scalings of OPMC have names of their own.
    fit = ("fit", data.name, "-k", 3, "--method", "opmc", "--scaling", "features")
    assert "--out labels.csv" in output_of(*fit)
    assert list(data.parent.iterdir()) == [data]


def test_demo_clusters_the_digits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "2000 samples in 10 clusters by AutoDALMC (16 candidates, " in result.stdout
    assert "Labels written to digits_labels.csv" in result.stdout
    labels, _ = read_confident_labels(tmp_path / "digits_labels.csv")
    accuracy = clustering_scores(load_digits(return_X_y=True)[1], labels)["ACC"]
    assert accuracy > 0.95
    assert f"ACC {accuracy:.4f}" in result.stdout


@pytest.mark.parametrize(
    ("name", "shown"),
    [(name, f" {name} ") for name in ("[red]a[/red]", "[/]", ":smile:", "[link=x]")]
    + [("a\x1b[31m\nb", r"a\x1b[31m\nb")],
)
def test_view_names_are_printed_literally_and_without_terminal_codes(
    tmp_path, views_and_y, name, shown
):
    views, _ = views_and_y
    np.savez(tmp_path / "views.npz", **{name: views["view_0"], "other": views["view_1"]})
    output = output_of("fit", tmp_path / "views.npz", *QUICK)
    assert shown in output
    # Without classes there are no scores.
    assert "ACC" not in output


def test_file_names_are_printed_literally_and_unbroken(data, out):
    out = out.with_name("[red]" + 90 * "x" + ".csv")
    assert f"Labels written to {out}\n" in output_of("fit", data, *QUICK, "--out", out)
    assert "[red]no.npz: no such file" in error_of("fit", "[red]no.npz", "-k", 3)


# Errors in the data and the settings


def test_data_files_that_cannot_be_read(data, out, tmp_path):
    data.write_bytes(data.read_bytes()[:-500])
    assert "truncated" in error_of("fit", data, *QUICK, "--out", out)
    savemat(tmp_path / "classes.mat", {"y": np.arange(5)})
    assert "no views inside" in error_of("fit", tmp_path / "classes.mat", *QUICK, "--out", out)
    assert not list(out.parent.iterdir())


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["-k", 121], "n_samples=120 should be >= -k 121"),
        (["-k", "2-61"], "-k range(2, 62) must contain numbers from 2 to n_samples // 2 = 60"),
        (["-k", 121, "--method", "dalmc"], "n_samples=120 should be >= -k 121"),
        (["--budget", "slow"], "Invalid value for '--budget': 'slow' is not one of 'fast'"),
        (["--beta", -1], "Invalid value for '--beta': "),
        (["--n-anchors", 1000], "--n-anchors 1000 is larger than"),
        (["--seed", -1], "Invalid value for '--seed': "),
        (["--scaling", "features"], "--scaling must be a str among {"),
        (["--method", "kmeans"], "Invalid value for '--method': 'kmeans' is not one of 'auto'"),
        (["--betta", 1], "--betta"),
        (
            ["--method", "awmvc", "--n-components", 3],
            "--n-components is not a setting of awmvc, which has -k, --seed",
        ),
        (["--method", "awmvc", "--save", "m"], "--save is for --method auto and dalmc, not awmvc."),
    ],
)
def test_bad_settings(data, out, options, part):
    assert part in error_of("fit", data, "-k", 3, *options, "--out", out)
    assert not list(out.parent.iterdir())


@pytest.mark.parametrize(
    "arguments", [["fitt"], ["fit"], ["demo", "extra"], ["fit", "x", "--beta", "y"]]
)
def test_usage_errors_point_to_the_help(arguments):
    message = error_of(*arguments)
    assert "--help'." in message
    assert "?." not in message and ".." not in message
    assert "parse" not in message


@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        (ImportError("MATLAB 7.3 files need h5py"), 2, "MATLAB 7.3 files need h5py"),
        (MemoryError("Raise memory_limit."), 1, "Raise --memory-limit."),
        (MemoryError(), 1, "not enough memory"),
    ],
    ids=repr,
)
def test_errors_of_the_user_have_one_line_and_others_a_traceback(
    data, out, monkeypatch, error, code, shown
):
    fit = ("fit", data, *QUICK, "--out", out)
    monkeypatch.setattr(AutoDALMC, "fit", Mock(side_effect=error))
    result = run(*fit)
    assert (result.exit_code, result.stderr) == (code, f"anchorview: error: {shown}\n")
    monkeypatch.setattr(AutoDALMC, "fit", Mock(side_effect=ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        run(*fit)
    assert not list(out.parent.iterdir())


# Errors in the output, which are found first: the data file does not exist

FIT = ("fit", "none.npz", "-k", 3, "--out")


def test_outputs_that_cannot_be_written(tmp_path, out, monkeypatch):
    assert "there is no folder" in error_of(*FIT, tmp_path / "none" / "labels.csv")
    assert "is a folder" in error_of(*FIT, tmp_path)
    if os.name != "nt":
        assert "not a regular file" in error_of(*FIT, os.devnull)
    assert "no such file" in error_of(*FIT, tmp_path / "labels.csv")
    denied = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(Path, "touch", Mock(side_effect=denied))
    assert "cannot be written (Permission denied)" in error_of(*FIT, out)


@posix
def test_an_existing_file_is_replaced_with_its_mode_and_through_links(data, out):
    out.write_text("before")
    out.chmod(0o600)
    link = out.with_name("link.csv")
    link.symlink_to(out)
    output_of("fit", data, *QUICK, "--out", link)
    assert link.is_symlink()
    assert len(read_confident_labels(out)[0]) == 120
    assert out.stat().st_mode & 0o777 == 0o600


# The program in its own process


def test_help_does_not_import_slow_packages():
    script = f"""
import sys
try:
    {MAIN}
finally:
    print(sorted({{"sklearn", "pandas", "scipy", "numpy"}} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run(command("--help", script=script), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert "demo" in done.stdout


@posix
def test_closed_streams_do_not_matter(data, out):
    shell = ["sh", "-c", '"$@" >&- 2>&-', "sh"]
    done = subprocess.run([*shell, *command("fit", data, *QUICK, "--out", out)])
    assert done.returncode == 0
    assert len(read_confident_labels(out)[0]) == 120


@posix
@pytest.mark.parametrize(
    ("script", "n_files", "number"),
    [
        (pausing_script(("candidates",)), 1, signal.SIGINT),
        (PAUSE_IN_FSYNC, 2, signal.SIGINT),
        (PAUSE_IN_FSYNC, 2, signal.SIGTERM),
    ],
    ids=["fitting", "writing", "terminated"],
)
def test_an_interrupt_keeps_the_old_file_and_leaves_no_other(data, out, script, n_files, number):
    out.write_text("before")
    with interrupted("fit", data, *QUICK, "--out", out, script=script, number=number):
        assert len(list(out.parent.iterdir())) == n_files
    assert out.read_text() == "before"
    assert list(out.parent.iterdir()) == [out]


@posix
def test_progress_is_shown_on_a_terminal_on_stderr_only(data):
    import pty

    master, slave = pty.openpty()
    stages = "reading", "candidates"
    # Each stage pauses so that its bar is drawn.
    script = pausing_script(stages, "time.sleep(0.15)")
    with subprocess.Popen(
        command("fit", data, "-k", "2-3", "--budget", "fast", script=script),
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    ) as process:
        os.close(slave)
        shown = b""
        # The end of the terminal is an error on Linux, and an empty read elsewhere.
        try:
            while part := os.read(master, 4096):
                shown += part
        except OSError as error:
            assert error.errno == errno.EIO
        finally:
            os.close(master)
        stdout, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    for stage in stages:
        assert stage.encode() in shown
    assert "candidates" not in stdout.splitlines()[0]
    assert "ACC" in stdout


def test_single_missing_values_are_imputed(tmp_path):
    views, _ = clustered_views(60, 3, (5, 6))
    views["view_0"][4, 2] = np.nan
    np.savez(tmp_path / "data.npz", **views)
    refused = run("fit", tmp_path / "data.npz", *QUICK)
    assert refused.exit_code == 2
    assert "--preprocess impute-mean" in refused.output
    output_of("fit", tmp_path / "data.npz", *QUICK, "--preprocess", "impute-mean")
