"""Outputs of the commands: what is printed where, results folders, failures, signals."""

import errno
import json
import os
import subprocess
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

import anchorview
from anchorview import AutoDALMC, load, open_views
from anchorview.cli import commands
from helpers.command_line import (
    QUICK,
    command,
    error_of,
    output_of,
    posix,
    read_confident_labels,
    run,
)
from helpers.data import folder_contents


@pytest.fixture
def tables(tmp_path, views_and_y):
    """Folder of CSV files with ids and classes."""
    folder = tmp_path / "tables"
    folder.mkdir()
    views, y = views_and_y
    ids = pd.Index([f"s{i:03d}" for i in range(len(y))], name="id")
    for name, view in views.items():
        frame = pd.DataFrame(view, index=ids).add_prefix("f")
        frame.iloc[2 if name == "view_0" else 0 :].to_csv(folder / f"{name}.csv")
    pd.Series(y, index=ids, name="class").to_csv(folder / "labels.csv")
    return folder


def test_results_do_not_change_the_method_and_have_the_sample_ids(tables, tmp_path):
    out, results = tmp_path / "labels.csv", tmp_path / "results"
    plain = output_of("fit", tables, *QUICK, "--out", out)
    shown = output_of("fit", tables, *QUICK, "--results", results)
    assert "by AutoDALMC (8 candidates" in shown
    assert [line for line in plain.splitlines() if line.startswith("ACC")] == [
        line for line in shown.splitlines() if line.startswith("ACC")
    ]
    assert f"Results written to {results}\n" in shown
    written = pd.read_csv(out, index_col="sample")["cluster"]
    ids = np.load(results / "sample_ids.npy")
    assert list(ids) == list(written.index)
    np.testing.assert_array_equal(np.load(results / "labels.npy"), written)
    assert np.load(results / "embedding.npy").shape[0] == 120
    opened = open_views(results)
    assert list(opened.sample_ids) == list(ids)
    assert list(opened.views) == ["embedding"]


def test_results_of_dalmc_in_memory_are_those_without_the_option(data, tmp_path, views_and_y):
    results = tmp_path / "results"
    output_of("fit", data, "-k", 3, "--solver", "direct", "--results", results)
    model = anchorview.DALMC(3, solver="direct", random_state=0).fit(views_and_y[0])
    np.testing.assert_array_equal(np.load(results / "labels.npy"), model.labels_)
    np.testing.assert_array_equal(np.load(results / "embedding.npy"), model.embedding_)
    np.testing.assert_array_equal(np.load(results / "sample_ids.npy"), np.arange(120))


@pytest.mark.filterwarnings("default::UserWarning")
def test_ids_that_look_like_formulas_are_kept_with_a_warning(data, out, tmp_path, views_and_y):
    folder = tmp_path / "arrays"
    output_of("convert", data, folder)
    ids = np.array([f"=s{i}" if i < 2 else f"-{i}" for i in range(120)])
    np.save(folder / "sample_ids.npy", ids)
    result = run("fit", folder, "-k", 3, "--method", "dalmc", "--out", out)
    assert list(pd.read_csv(out, dtype=str)["sample"]) == list(ids)
    assert "warning: names or ids such as '=s0' (2 in all) begin like formulas" in result.stderr


@pytest.mark.parametrize(
    "settings",
    [("--budget", "fast"), ("--method", "dalmc"), ("--method", "bmvc"), ("--method", "omsc")],
    ids=lambda settings: str(settings[-1]),
)
def test_every_method_has_a_report(data, tmp_path, settings):
    data, report = data.rename(data.with_name("<b>views.npz")), tmp_path / "report.html"
    shown = output_of("fit", data, "-k", 3, *settings, "--report", report)
    assert f"Report written to {report}" in shown
    page = report.read_text()
    assert "&lt;b&gt;views.npz" in page
    assert "<b>views.npz" not in page
    assert "ACC" in page


def test_views_on_disk_have_a_report(data, tmp_path):
    folder, results, report = (tmp_path / name for name in ("folder", "results", "report.html"))
    output_of("convert", data, folder)
    settings = ("-k", 3, "--method", "dalmc", "--memory-limit", "40kB")
    output_of("fit", folder, *settings, "--results", results, "--report", report)
    assert "DALMC" in report.read_text()


@pytest.mark.usefixtures("fewer_digits")
def test_the_demo_needs_no_optional_package(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "find_spec", lambda name: None)
    out, report = tmp_path / "labels.csv", tmp_path / "report.html"
    shown = output_of("demo", "--out", out, "--report", report)
    assert 'pip install "anchorview[report]"' in shown
    assert out.exists()
    assert not report.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("predict MODEL DATA --out DATA/labels.csv", "--out is in the folder of DATA"),
        ("predict MODEL DATA --out DATA/deeper/clusters.csv", "--out is in the folder of DATA"),
        ("predict MODEL DATA --out MODEL", "--out and MODEL are the same file"),
        ("fit DATA --results DATA/results", "--results is in the folder of DATA"),
        ("fit DATA --results DATA", "--results and DATA are the same file"),
        ("fit DATA --report DATA/report.html", "--report is in the folder of DATA"),
        ("fit DATA --results r --out r/labels.npy", "--out is in the folder of --results"),
        ("fit DATA --out same --save same", "--out and --save are the same file"),
        ("explain MODEL DATA --markers DATA/m.csv", "--markers is in the folder of DATA"),
        ("explain MODEL DATA --markers m --summary m", "--markers and --summary are the same file"),
        ("explain MODEL DATA --summary MODEL", "--summary and MODEL are the same file"),
        ("relabel MODEL mapping --save MODEL", "--save and MODEL are the same file"),
        ("relabel MODEL mapping --save mapping", "--save and MAPPING are the same file"),
        ("convert DATA DATA/converted", "FOLDER is in the folder of DATA"),
        ("convert DATA DATA", "FOLDER and DATA are the same file"),
    ],
)
def test_nothing_that_is_read_or_written_is_replaced(tables, arguments, message, monkeypatch):
    monkeypatch.chdir(tables.parent)
    before = folder_contents(tables)
    words = arguments.replace("DATA", str(tables)).replace("MODEL", "m.anchorview").split()
    assert message in error_of(*words)
    assert folder_contents(tables) == before


@pytest.mark.parametrize("failing", ["--out", "--save"])
def test_a_failed_output_does_not_lose_the_others(data, tmp_path, monkeypatch, failing):
    paths = {
        "--out": tmp_path / "labels.csv",
        "--save": tmp_path / "m.anchorview",
        "--results": tmp_path / "results",
    }
    real = os.replace

    def replace(source, target):
        if str(target) == str(paths[failing]):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    paths[failing].write_text("before")
    result = run("fit", data, *QUICK, *(each for pair in paths.items() for each in pair))
    assert result.exit_code == 2
    assert f"{paths[failing]}: cannot be written (No space left on device). Free" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "ACC " in result.stdout
    assert ("Labels written" in result.stdout) == (failing != "--out")
    assert paths[failing].read_bytes() == b"before"
    assert {path for path in tmp_path.iterdir() if path.name != "data"} == set(paths.values())


def test_all_outputs_are_checked_before_the_fit(data, tmp_path, monkeypatch):
    monkeypatch.setattr(AutoDALMC, "fit", None)
    for option in ("--out", "--save", "--report", "--results"):
        message = error_of("fit", data, *QUICK, option, tmp_path / "none" / "x")
        assert "there is no folder" in message


@posix
def test_paths_that_the_system_rejects_have_no_traceback(data, tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "cannot be written (" in error_of("fit", data, *QUICK, "--out", loop)
    assert "File name too long" in error_of("fit", data, *QUICK, "--out", tmp_path / (300 * "x"))
    assert "File name too long" in error_of("info", tmp_path / (300 * "x"))
    assert "loop" in error_of("fit", loop, *QUICK)


def test_errors_of_the_system_name_the_file(data, monkeypatch):
    denied = PermissionError(errno.EACCES, "Permission denied", str(data))
    monkeypatch.setattr(anchorview.datasets, "read_views", Mock(side_effect=denied))
    assert error_of("fit", data, *QUICK) == f"{data}: Permission denied."


@posix
@pytest.mark.parametrize("arguments", [("info",), ("info", "--json")])
def test_standard_output_that_takes_nothing(data, arguments):
    name, *options = arguments
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command(name, data, *options), stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr.startswith("anchorview: error: standard output cannot be written (No space")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command(name, data, *options), stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_labels_on_standard_output_or_nothing_if_quiet(data, out, tmp_path):
    output_of("fit", data, *QUICK, "--out", out)
    result = run("fit", data, *QUICK, "--out", "-")
    assert result.stdout == out.read_text()
    assert "120 samples in 3 clusters" in result.stderr
    assert run("fit", data, *QUICK, "--out", "-", "-q").stderr == ""
    assert "both write to standard output" in error_of("fit", data, *QUICK, "--out=-", "--json")
    model = tmp_path / "m.anchorview"
    result = run("fit", data, *QUICK, "-q", "--out", out, "--save", model)
    assert (result.exit_code, result.output) == (0, "")
    assert len(read_confident_labels(out)[0]) == 120
    assert output_of("predict", model, data, "--quiet") == ""
    assert output_of("convert", data, tmp_path / "folder", "-q") == ""


def test_json_has_the_results(tables, tmp_path):
    model, out = tmp_path / "m.anchorview", tmp_path / "labels.csv"
    fit = json.loads(output_of("fit", tables, *QUICK, "--json", "--save", model, "--out", out))
    fitted = load(model)
    sizes = np.bincount(fitted.labels_).tolist()
    assert (fit["method"], fit["n_samples"], fit["n_clusters"]) == ("AutoDALMC", 120, 3)
    assert fit["cluster_sizes"] == sizes
    assert [view["n_samples_missing"] for view in fit["views"]] == [2, 0]
    assert [view["weight"] for view in fit["views"]] == list(fitted.views_["weight"])
    assert fit["outputs"] == {"out": str(out), "save": str(model)}
    prediction = json.loads(output_of("predict", model, tables, "--json"))
    assert prediction["cluster_sizes"] == sizes
    assert prediction["scores"] == fit["scores"]
    described = json.loads(output_of("info", model, "--json"))
    assert described["params"]["n_clusters"] == 3
    assert described["cluster_sizes"] == sizes
    described = json.loads(output_of("info", tables, "--json"))
    assert (described["n_samples"], described["n_classes"]) == (120, 3)
    assert [view["n_samples"] for view in described["views"]] == [118, 120]


def test_help_version_completion_and_module():
    assert output_of("-V") == output_of("--version") == f"anchorview {anchorview.__version__}\n"
    for arguments in ([], ["-h"]):
        assert "experiment" in output_of(*arguments)
    assert output_of("experiment") == output_of("experiment", "-h")
    assert "--results" in output_of("fit", "-h")
    assert "--install-completion" in output_of("-h")
    main = "import runpy; runpy.run_module('anchorview', run_name='__main__')"
    words = {
        "_ANCHORVIEW_COMPLETE": "complete_bash",
        "COMP_WORDS": "anchorview pre",
        "COMP_CWORD": "1",
    }
    for arguments, environment, shown in (("-V",), {}, output_of("-V")), ((), words, "predict\n"):
        done = subprocess.run(
            command(*arguments, script=main),
            capture_output=True,
            text=True,
            env=os.environ | environment,
        )
        assert (done.returncode, done.stdout) == (0, shown), done.stderr
