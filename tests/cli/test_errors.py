"""Errors of all commands: one line, what to do, exit codes, and nothing that is replaced."""

import errno
import os
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.io import savemat

from anchorview import DALMC, AutoDALMC
from anchorview.datasets import reading
from helpers.command_line import QUICK, error_of, run
from helpers.data import folder_contents
from helpers.view_files import write_view_tables


@pytest.fixture
def tables(tmp_path, views_and_y):
    write_view_tables(tmp_path / "tables", views_and_y[0])
    return tmp_path / "tables"


def test_data_files_that_cannot_be_read(data, out, tmp_path):
    assert "File name too long" in error_of("info", tmp_path / (300 * "x"))
    data.write_bytes(data.read_bytes()[:-500])
    assert "views.npz" in error_of("fit", data, *QUICK, "--out", out)
    savemat(tmp_path / "classes.mat", {"y": np.arange(5)})
    assert "no views" in error_of("fit", tmp_path / "classes.mat", *QUICK, "--out", out)
    assert "[red]no.npz: no such file" in error_of("fit", "[red]no.npz", "-k", 3)
    assert not list(out.parent.iterdir())


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["-k", 121], ("n_samples=120",)),
        (["-k", "2-61"], ("n_samples // 2 = 60",)),
        (["--n-anchors", 1000], ("n_anchors=1000",)),
        (["--scaling", "features"], ("'scaling'", "'features'")),
        (["--budget", "slow"], ("'--budget'", "'slow'", "'fast'")),
        (["--method", "awmvc"], ("'--method'", "'awmvc'", "'dalmc'")),
        (["--beta", -1], ("'--beta'",)),
        (["--seed", -1], ("'--seed'",)),
        (["--betta", 1], ("--betta",)),
        (["--doubtful", -1, "--method", "dalmc"], ("--doubtful", "--out")),
    ],
)
def test_bad_settings_name_the_option(data, tmp_path, options, parts):
    out = () if "--doubtful" in options else ("--out", tmp_path / "labels.csv")
    message = error_of("fit", data, "-k", 3, *options, *out)
    assert all(part in message for part in parts), message
    assert not (tmp_path / "labels.csv").exists()


@pytest.mark.parametrize("arguments", [["fitt"], ["fit"], ["demo", "extra"]])
def test_usage_errors_point_to_the_help(arguments):
    assert "-h' for help" in error_of(*arguments)


@pytest.mark.parametrize(
    ("error", "code", "part"),
    [
        (ImportError("MATLAB 7.3 files need h5py"), 2, "MATLAB 7.3 files need h5py"),
        (MemoryError("Raise memory_limit."), 1, "memory_limit"),
        (MemoryError(), 1, "not enough memory"),
        (ZeroDivisionError("no\nluck"), 70, "ZeroDivisionError"),
    ],
    ids=repr,
)
def test_errors_have_one_line_and_an_exit_code(data, out, monkeypatch, error, code, part):
    monkeypatch.setattr(AutoDALMC, "fit", Mock(side_effect=error))
    result = run("fit", data, *QUICK, "--out", out)
    assert (result.exit_code, result.stderr.count("\n")) == (code, 1)
    assert part in result.stderr
    assert not list(out.parent.iterdir())


@pytest.mark.filterwarnings("default")
def test_every_column_of_odd_values_is_named(tmp_path):
    rows = [f"s{i},{i}.5,{i % 7}" for i in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["id,x,y", "u,?,-", *rows]))
    message = run("fit", tmp_path / "a.csv", *QUICK).stderr
    assert "column 'x' has numbers" in message
    assert "column 'y' has numbers" in message


def test_errors_of_the_system_name_the_file(data, monkeypatch):
    denied = PermissionError(errno.EACCES, "Permission denied", str(data))
    monkeypatch.setattr(reading, "read_or_open", Mock(side_effect=denied))
    assert error_of("fit", data, *QUICK) == f"{data}: Permission denied."


FIT = ("fit", "none.npz", "-k", 3)


def test_outputs_that_cannot_be_written(tmp_path, out, monkeypatch):
    for option in ("--out", "--save", "--report", "--results"):
        assert "there is no folder" in error_of(*FIT, option, tmp_path / "none" / "x")
    assert "is a folder" in error_of(*FIT, "--out", tmp_path)
    if os.name != "nt":
        assert "not a regular file" in error_of(*FIT, "--out", os.devnull)
    assert "no such file" in error_of(*FIT, "--out", tmp_path / "labels.csv")
    denied = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(Path, "touch", Mock(side_effect=denied))
    assert "Permission denied" in error_of(*FIT, "--out", out)


@pytest.mark.parametrize(
    "arguments",
    [
        "predict MODEL DATA --out DATA/deeper/clusters.csv",
        "predict MODEL DATA --out MODEL",
        "fit DATA --results DATA/results",
        "fit DATA --results DATA",
        "fit DATA --report DATA/report.html",
        "fit DATA --results r --out r/labels.npy",
        "fit DATA --out same --save same",
        "explain MODEL DATA --markers DATA/m.csv",
        "explain MODEL DATA --markers m --summary m",
        "relabel MODEL mapping --save MODEL",
        "relabel MODEL mapping --save mapping",
        "convert DATA DATA/converted",
    ],
)
def test_nothing_that_is_read_or_written_is_replaced(tables, arguments, monkeypatch):
    monkeypatch.chdir(tables.parent)
    before = folder_contents(tables)
    words = arguments.replace("DATA", str(tables)).replace("MODEL", "m.anchorview").split()
    message = error_of(*words)
    assert "same file" in message or "is in the folder of" in message
    assert folder_contents(tables) == before


def test_models_that_cannot_be_used(data, tmp_path, views_and_y):
    model = tmp_path / "m.anchorview"
    model.write_text("hello")
    for arguments in (("info", model), ("predict", model, data)):
        assert "not an anchorview model" in error_of(*arguments)
    view = views_and_y[0]["view_0"]
    DALMC(3, random_state=0).fit(view).save(model)
    assert "'view_1'" in error_of("predict", model, data)
    DALMC(3, variant="box-graph", random_state=0).fit(view).save(model)
    assert "ablation" in error_of("predict", model, data)


def test_reports_need_packages(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "anchorview[report]" in error_of(*FIT, "--report", tmp_path / "r.html")
