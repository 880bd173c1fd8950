import errno
import inspect
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from scipy.io import savemat
from typer.testing import CliRunner, Result

import anchorview
from anchorview import DALMC, AutoDALMC, load_digits, make_multiview
from anchorview.cli import commands
from anchorview.core.scale import SCALINGS
from anchorview.estimators.methods import METHODS, method_class
from anchorview.metrics import clustering_scores

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals and terminals")

MAIN = "from anchorview.cli.commands import main; main()"

# What runs in the background may have been told to ignore Ctrl-C, and so would its processes.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""

QUICK = ("-k", 3, "--max-candidates", 4)
"""Options of a fit whose method and result do not matter."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands.app, [str(a) for a in arguments], catch_exceptions=False)


def command(*arguments: object, script: str = MAIN) -> list[str]:
    return [sys.executable, "-c", script, *map(str, arguments)]


def error_of(result: Result) -> str:
    """The message of a run that failed as it should: exit code 2 and one line, nothing else."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("anchorview: error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("anchorview: error: ").rstrip("\n")


@pytest.fixture
def views_and_y():
    return make_multiview(120, n_clusters=3, n_features=(8, 12), random_state=0)


@pytest.fixture
def data(tmp_path, views_and_y):
    """A file of views with labels, alone in its folder."""
    views, y = views_and_y
    path = tmp_path / "data" / "views.npz"
    path.parent.mkdir()
    np.savez(path, **views, y=y)
    return path


@pytest.fixture
def out(tmp_path):
    """An output file that does not exist yet, in an empty folder."""
    path = tmp_path / "results" / "labels.csv"
    path.parent.mkdir()
    return path


def read_columns(path: Path, *expected: str) -> list[np.ndarray]:
    """Columns of a file of labels but the first, which must be the samples' positions."""
    header, *rows = path.read_text().splitlines()
    assert header == ",".join(["sample", *expected])
    samples, *columns = np.array([row.split(",") for row in rows]).T
    assert (samples.astype(int) == np.arange(len(samples))).all()
    return columns


def read_labels(path: Path) -> np.ndarray:
    """Clusters in the file of a method that tells no confidence."""
    (clusters,) = read_columns(path, "cluster")
    return clusters.astype(int)


def read_confident_labels(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Clusters and confidence in the file of AutoDALMC."""
    clusters, confidence = read_columns(path, "cluster", "confidence")
    assert all(len(share) == len("0.123") for share in confidence)
    return clusters.astype(int), confidence.astype(float)


# What it does


def test_fit_writes_the_labels_and_shows_views_and_scores(data, out, views_and_y):
    views, y = views_and_y
    result = run("fit", data, "-k", 3, "--method", "dalmc", "--out", out)

    model = DALMC(3, random_state=0).fit(views)
    assert result.exit_code == 0
    assert result.stderr == ""
    np.testing.assert_array_equal(read_labels(out), model.labels_)
    assert list(out.parent.iterdir()) == [out]
    rows = [line.split() for line in result.stdout.splitlines()]
    for name, view, weight in zip(views, views.values(), model.view_weights_, strict=True):
        assert [name, str(view.shape[1]), f"{weight:.3f}"] in rows
    assert "120 samples in 3 clusters by DALMC" in result.stdout
    assert f"{model.n_iter_} of at most 50 iterations" in result.stdout
    for name, score in clustering_scores(y, model.labels_).items():
        assert f"{name} {score:.4f}" in result.stdout
    assert f"Labels written to {out}\n" in result.stdout


def test_every_option_reaches_the_estimator(data, out, monkeypatch):
    options = {
        "n_anchors": 4,
        "n_components": 3,
        "beta": 0.5,
        "scaling": "unit-center",
        "solver": "direct",
        "assignment": "cluster_qr",
        "n_init": 2,
        "max_iter": 7,
        "tol": 0.01,
    }
    fitted = []
    fit = DALMC.fit
    monkeypatch.setattr(DALMC, "fit", lambda model, X: fitted.append(model) or fit(model, X))
    given = [part for name, v in options.items() for part in (f"--{name.replace('_', '-')}", v)]

    result = run("fit", data, "--clusters", 3, *given, "--seed", 5, "--verbose")

    assert result.exit_code == 0, result.output
    settings = {**options, "n_clusters": 3, "random_state": 5, "verbose": 1}
    assert fitted[0].get_params().items() >= settings.items()
    assert "[DALMC] assigned" in result.stdout


def test_defaults_shown_and_choices_are_the_estimators():
    settings = inspect.signature(DALMC).parameters
    options = inspect.signature(commands.fit).parameters
    shown = {
        name: option.annotation.__metadata__[0].show_default
        for name, option in options.items()
        if name in settings and option.default is None and settings[name].default is not None
    }
    assert shown.pop("n_clusters") == "auto chooses, at most 30"
    assert len(shown) == 7
    assert shown == {name: str(settings[name].default) for name in shown}
    described = options["scaling"].annotation.__metadata__[0].help
    assert all(name in described for name in SCALINGS)
    for name, choices in {
        "solver": options.SolverName,
        "assignment": options.AssignmentName,
    }.items():
        assert set(get_args(choices)) == DALMC._parameter_constraints[name][0].options


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("auto", "dalmc")])
def test_other_methods_by_name(method, data, out, views_and_y):
    result = run("fit", data, "-k", 3, "--method", method, "--out", out, "--max-iter", 3)

    model = method_class(method)(3, max_iter=3, random_state=0).fit(views_and_y[0])
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(read_labels(out), model.labels_)
    assert f"3 clusters by {type(model).__name__}, {model.n_iter_} of at most 3" in result.stdout


def test_settings_that_a_method_does_not_have_are_refused(data, tmp_path):
    result = run("fit", data, "-k", 3, "--method", "awmvc", "--n-components", 3)
    assert result.exit_code == 2
    assert "--n-components is not a setting of awmvc; AWMVC in Python has exact" in result.stderr
    result = run("fit", data, "-k", 3, "--method", "opmc", "--scaling", "features")
    assert result.exit_code == 0, result.output
    result = run("fit", data, "-k", 3, "--scaling", "features")
    assert result.exit_code == 2
    assert "'scaling' parameter of DALMC must be a str among" in result.stderr
    result = run("fit", data, "-k", 3, "--method", "awmvc", "--save", tmp_path / "model")
    assert result.exit_code == 2
    assert "models of awmvc cannot be saved, only those of auto and dalmc" in result.stderr


def test_without_out_nothing_is_written_and_a_hint_is_given(data, monkeypatch):
    monkeypatch.chdir(data.parent)
    result = run("fit", data.name, *QUICK)
    assert result.exit_code == 0
    assert "--out labels.csv" in result.stdout
    assert list(data.parent.iterdir()) == [data]


def test_without_labels_no_scores(tmp_path, views_and_y):
    views, _ = views_and_y
    np.savez(tmp_path / "views.npz", **views)
    result = run("fit", tmp_path / "views.npz", *QUICK)
    assert result.exit_code == 0
    assert "ACC" not in result.stdout


def test_same_seed_same_file(data, tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    for path in (first, second):
        assert run("fit", data, *QUICK, "--seed", 7, "--out", path).exit_code == 0
    assert first.read_bytes() == second.read_bytes()


def test_demo_clusters_the_digits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted = []
    fit = AutoDALMC.fit
    monkeypatch.setattr(AutoDALMC, "fit", lambda model, X: fitted.append(model) or fit(model, X))
    result = run("demo")
    _, y = load_digits(return_X_y=True)
    (model,) = fitted
    assert model.get_params() == AutoDALMC(10, random_state=0).get_params()
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "2000 samples in 10 clusters by AutoDALMC (12 candidates, " in result.stdout
    accuracy = clustering_scores(y, model.labels_)["ACC"]
    assert accuracy > 0.95
    assert f"ACC {accuracy:.4f}" in result.stdout
    assert "Labels written to digits_labels.csv" in result.stdout
    labels, confidence = read_confident_labels(tmp_path / "digits_labels.csv")
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_allclose(confidence, model.confidence_, atol=6e-4)


def test_version():
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"anchorview {anchorview.__version__}\n")


@pytest.mark.parametrize("name", ["[red]a[/red]", "[/]", ":smile:", "[link=x]"])
def test_view_names_are_shown_literally(tmp_path, views_and_y, name):
    views, _ = views_and_y
    np.savez(tmp_path / "views.npz", **{name: views["view_0"], "other": views["view_1"]})
    result = run("fit", tmp_path / "views.npz", *QUICK)
    assert result.exit_code == 0
    assert f" {name} " in result.stdout


def test_terminal_codes_in_names_are_not_sent_to_the_terminal(tmp_path, views_and_y):
    views, _ = views_and_y
    np.savez(tmp_path / "views.npz", **{"a\x1b[31m\nb": views["view_0"]})
    result = run("fit", tmp_path / "views.npz", *QUICK)
    assert r"a\x1b[31m\nb" in result.stdout


def test_file_names_are_shown_literally_and_unbroken(data, out):
    out = out.with_name("[red]" + 90 * "x" + ".csv")
    assert f"Labels written to {out}\n" in run("fit", data, *QUICK, "--out", out).stdout
    assert "[red]no.npz: no such file" in error_of(run("fit", "[red]no.npz", "-k", 3))


# Errors in the data and the settings


def test_missing_file(tmp_path):
    assert "no such file" in error_of(run("fit", tmp_path / "none.npz", "-k", 3))


def test_truncated_file(data, out):
    data.write_bytes(data.read_bytes()[:-500])
    assert "truncated" in error_of(run("fit", data, *QUICK, "--out", out))
    assert not list(out.parent.iterdir())


def test_mat_file_without_views(tmp_path):
    savemat(tmp_path / "labels.mat", {"y": np.arange(5)})
    assert "no views inside" in error_of(run("fit", tmp_path / "labels.mat", "-k", 3))


@pytest.mark.parametrize("options", [["--beta", 0.5], ["--method", "dalmc"], ["--method", "awmvc"]])
def test_missing_k_with_labels_names_the_classes_but_does_not_use_them(data, options):
    message = error_of(run("fit", data, *options))
    assert "3 classes" in message
    assert "-k 3" in message
    assert "Only --method auto" in message


def test_missing_k_without_labels(tmp_path, views_and_y):
    np.savez(tmp_path / "views.npz", **views_and_y[0])
    message = error_of(run("fit", tmp_path / "views.npz", "--method", "dalmc"))
    assert "-k is missing" in message
    assert "-k 10" in message


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["-k", 121], "n_samples=120 should be >= n_clusters=121"),
        (["-k", 121, "--method", "dalmc"], "n_samples=120 should be >= n_clusters=121"),
        (["-k", 3, "--max-candidates", 0], "'max_candidates'"),
        (["-k", 3, "--beta", -1], "'beta'"),
        (["-k", 3, "--n-anchors", 1000], "n_anchors=1000"),
        (["-k", 3, "--seed", -1], "'random_state'"),
        (["-k", 3, "--scaling", "log"], "zscore-unit"),
        (["-k", 3, "--betta", 1], "--betta"),
    ],
)
def test_bad_settings(data, out, options, part):
    assert part in error_of(run("fit", data, *options, "--out", out))
    assert not list(out.parent.iterdir())


@pytest.mark.parametrize("arguments", [[], ["fitt"], ["fit"], ["demo", "extra"]])
def test_bad_usage_points_to_the_help(arguments):
    assert "--help'." in error_of(run(*arguments))


def test_a_missing_package_is_named(data, monkeypatch):
    def read_views(path, **options):
        raise ImportError("MATLAB 7.3 files need h5py")

    monkeypatch.setattr("anchorview.datasets.read_views", read_views)
    assert "need h5py" in error_of(run("fit", data, "-k", 3))


@pytest.mark.parametrize("message", ["Needs 3 TB.", ""])
def test_too_little_memory(data, out, monkeypatch, message):
    def fit(model, X):
        raise MemoryError(message)

    monkeypatch.setattr(AutoDALMC, "fit", fit)
    result = run("fit", data, *QUICK, "--out", out)
    assert result.exit_code == 1
    assert result.stderr == f"anchorview: error: {message or 'not enough memory'}\n"
    assert not list(out.parent.iterdir())


def test_unexpected_errors_keep_their_traceback(data, monkeypatch):
    def fit(model, X):
        raise ZeroDivisionError

    monkeypatch.setattr(AutoDALMC, "fit", fit)
    with pytest.raises(ZeroDivisionError):
        run("fit", data, "-k", 3)


# Errors of the output: found before the work, which would fail for lack of the data file


def test_missing_output_folder(tmp_path):
    result = run("fit", "none.npz", "-k", 3, "--out", tmp_path / "none" / "labels.csv")
    assert "there is no folder" in error_of(result)


def test_output_is_a_folder(tmp_path):
    assert "is a folder" in error_of(run("fit", "none.npz", "-k", 3, "--out", tmp_path))


@posix
def test_output_is_a_device():
    result = run("fit", "none.npz", "-k", 3, "--out", os.devnull)
    assert "not a regular file" in error_of(result)


def test_output_folder_refuses_files(out, monkeypatch):
    def touch(path, exist_ok):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "touch", touch)
    result = run("fit", "none.npz", "-k", 3, "--out", out)
    assert "cannot be written (Permission denied)" in error_of(result)


@posix
@pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_unwritable_output_folder_and_file(out):
    out.write_text("before")
    out.chmod(0o400)
    assert "write-protected" in error_of(run("fit", "none.npz", "-k", 3, "--out", out))
    out.parent.chmod(0o500)
    result = run("fit", "none.npz", "-k", 3, "--out", out.with_name("new.csv"))
    out.parent.chmod(0o700)
    assert "cannot be written" in error_of(result)


def test_output_is_the_data_file(data):
    before = data.read_bytes()
    assert "--out and DATA are the same file" in error_of(run("fit", data, "-k", 3, "--out", data))
    assert data.read_bytes() == before


def test_full_disk_leaves_the_old_file_and_no_other(data, out, monkeypatch):
    def fsync(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    out.write_text("before")
    assert "No space left" in error_of(run("fit", data, *QUICK, "--out", out))
    assert out.read_text() == "before"
    assert list(out.parent.iterdir()) == [out]


@posix
def test_an_existing_file_is_replaced_with_its_mode_and_through_links(data, out):
    out.write_text("before")
    out.chmod(0o600)
    link = out.with_name("link.csv")
    link.symlink_to(out)
    assert run("fit", data, *QUICK, "--out", link).exit_code == 0
    assert link.is_symlink()
    assert len(read_confident_labels(out)[0]) == 120
    assert out.stat().st_mode & 0o777 == 0o600


# The real program


def test_help_does_not_import_what_takes_long():
    script = f"""
import sys
try:
    {MAIN}
finally:
    print(sorted({{"sklearn", "pandas", "scipy", "numpy"}} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run(command("--help", script=script), capture_output=True, text=True)
    assert done.returncode == 0
    assert "demo" in done.stdout
    assert done.stderr == "[]\n"


def test_exit_codes_and_streams(data, out):
    good = subprocess.run(
        command("fit", data, *QUICK, "--out", out), capture_output=True, text=True
    )
    assert (good.returncode, good.stderr) == (0, "")
    assert len(read_confident_labels(out)[0]) == 120
    bad = subprocess.run(command("fit", "none.npz", "-k", 3), capture_output=True, text=True)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "anchorview: error: none.npz: no such file. Check the path.\n"


@posix
def test_closed_streams_do_not_matter(data, out):
    shell = ["sh", "-c", '"$@" >&- 2>&-', "sh"]
    done = subprocess.run([*shell, *command("fit", data, *QUICK, "--out", out)])
    assert done.returncode == 0
    assert len(read_confident_labels(out)[0]) == 120


@posix
@pytest.mark.parametrize(
    "stage",
    ["anchorview.estimators.auto.auto_dalmc.find_consensus", "os.fsync"],
    ids=["at work", "while writing"],
)
def test_interrupt_leaves_the_old_file_and_no_other(data, out, stage):
    module, name = stage.rsplit(".", 1)
    script = f"""
import signal, sys, time
import {module}

def wait(*args, **kwargs):
    print("waiting", flush=True)
    time.sleep(60)

{module}.{name} = wait
{INTERRUPTIBLE}
{MAIN}
"""
    out.write_text("before")
    arguments = command("fit", data, *QUICK, "--out", out, script=script)
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        assert len(list(out.parent.iterdir())) == (2 if stage == "os.fsync" else 1)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr == "anchorview: interrupted; no file was left half-written\n"
    assert out.read_text() == "before"
    assert list(out.parent.iterdir()) == [out]


@posix
def test_progress_is_shown_on_a_terminal_only_on_stderr(data):
    import pty

    master, slave = pty.openpty()
    stages = "reading", "numbers of clusters", "candidates", "best so far"
    # Each of the stages waits a little, so that the bar is drawn in it.
    script = f"""
import time
from anchorview import progress
report = progress.report

def slow_report(stage, *steps):
    report(stage, *steps)
    if stage.startswith({stages}):
        time.sleep(0.15)

progress.report = slow_report
{MAIN}
"""
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(
        command("fit", data, "-k", "2-3", "--max-candidates", 4, script=script),
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
        env=environment,
    ) as process:
        os.close(slave)
        shown = b""
        # The terminal's end is an error on Linux, an empty answer elsewhere.
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
    assert "best so far" not in stdout
    assert "ACC" in stdout
