"""The command line on data that stay on disk: limits, results in files, workers, conversion."""

import os
import signal
import subprocess
import time

import numpy as np
import pandas as pd
import pytest
from test_commands import (
    INTERRUPTIBLE,
    command,
    error_of,
    posix,
    read_confident_labels,
    read_labels,
    run,
)

from anchorview import DALMC, load, make_multiview, open_views
from anchorview._utils.progress import listen_to_progress, report_progress

N = 2000
LIMIT = ("--memory-limit", "400kB")
"""Less than the data times four, more than a fit of them from disk needs."""


@pytest.fixture(scope="module")
def views_and_y():
    views, y = make_multiview(N, n_clusters=4, n_features=(12, 20), missing=0.2, random_state=0)
    return {name: view.astype(np.float32) for name, view in views.items()}, y


@pytest.fixture
def folder(tmp_path, views_and_y):
    views, y = views_and_y
    folder = tmp_path / "data"
    folder.mkdir()
    for name, view in views.items():
        np.save(folder / f"{name}.npy", np.repeat(view, 2, axis=0))
    np.save(folder / "labels.npy", np.repeat(y, 2))
    return folder


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr("anchorview.sources.disk_source.PART", 40_000)


@pytest.mark.usefixtures("small_parts")
def test_data_above_the_limit_are_clustered_by_dalmc_from_disk(folder, tmp_path):
    results, out, saved = tmp_path / "results", tmp_path / "labels.csv", tmp_path / "m.anchorview"
    arguments = ("--out", out, "--save", saved, "--results", results)
    done = run("fit", folder, "-k", 4, *LIMIT, *arguments)

    assert done.exit_code == 0, done.output
    assert f"{2 * N} samples in 4 clusters by DALMC" in done.output
    assert "ACC" in done.output
    expected = DALMC(4, random_state=0).fit(open_views(folder)).labels_
    assert (read_labels(out) == expected).all()
    assert (np.load(results / "labels.npy") == expected).all()
    assert np.load(results / "embedding.npy").shape == (2 * N, 4)

    shown = run("info", saved)
    assert "labels are not in the file" in shown.output
    again = tmp_path / "again.csv"
    assert run("predict", saved, folder, "--out", again).exit_code == 0
    assert again.read_bytes() == out.read_bytes()
    assert load(saved).labels_.shape == (0,)


def test_data_below_the_limit_are_clustered_by_auto(folder, tmp_path):
    out = tmp_path / "labels.csv"
    options = ("--max-candidates", 2, "--memory-limit", "1GB", "--out", out)
    done = run("fit", folder, "-k", 4, *options)
    assert done.exit_code == 0, done.output
    assert "AutoDALMC" in done.output
    assert len(read_confident_labels(out)[0]) == 2 * N


def test_data_above_the_limit_need_a_number_of_clusters(folder):
    message = error_of(run("fit", folder, *LIMIT))
    assert "-k is missing" in message and "fit into memory" in message


@pytest.mark.parametrize("limit", ["much", "0", "-1GB"])
def test_a_limit_that_is_none_is_refused(folder, limit):
    assert "'1.5GB'" in error_of(run("fit", folder, "-k", 4, f"--memory-limit={limit}"))


def test_a_limit_below_what_a_fit_needs_is_told_with_both_figures(folder):
    done = run("fit", folder, "-k", 4, "--memory-limit", "20kB")
    assert done.exit_code == 1
    assert "needs" in done.stderr and "20 kB may be used" in done.stderr


@pytest.mark.parametrize("option", ["--results", "--scheduler", "--memory-limit"])
def test_options_of_dalmc_are_refused_for_others(folder, option):
    message = error_of(run("fit", folder, "-k", 4, "--method", "bmvc", option, "9GB"))
    assert message == f"{option} is for --method dalmc, not bmvc."


def test_outputs_are_kept_apart_from_the_data_and_each_other(folder, tmp_path):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for arguments in [
        ("--results", folder),
        ("--out", folder / "labels.npy"),
        ("--results", tmp_path / "r", "--out", tmp_path / "r" / "labels.npy"),
    ]:
        message = error_of(run("fit", folder, "-k", 4, *LIMIT, *arguments))
        assert "same file" in message or "in the folder of" in message
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_results_on_workers_have_no_folder(folder, tmp_path):
    arguments = ("--results", tmp_path / "r", "--scheduler", "tcp://127.0.0.1:1")
    assert "stay on the workers" in error_of(run("fit", folder, "-k", 4, *arguments))


def test_zero_rows_are_refused_on_disk_with_the_way_out(folder):
    message = error_of(run("fit", folder, "-k", 4, *LIMIT, "--zero-rows-missing"))
    assert "anchorview convert --zero-rows-missing" in message


def test_a_scheduler_that_is_not_there_is_named(folder, monkeypatch):
    monkeypatch.setattr("anchorview.sources.dask.connection.PATIENCE", "500ms")
    message = error_of(run("fit", folder, "-k", 4, "--scheduler", "tcp://127.0.0.1:1"))
    assert "tcp://127.0.0.1:1: no Dask scheduler answers there" in message


def test_a_damaged_file_is_named_with_its_row(folder):
    path = folder / "view_1.npy"
    os.truncate(path, 1000)
    message = error_of(run("fit", folder, "-k", 4, *LIMIT))
    assert str(path) in message and "rows from 10 on are missing" in message


def test_large_data_are_described_by_their_headers(folder, monkeypatch):
    monkeypatch.setattr("anchorview._utils.memory.free_memory", lambda: 1000.0)
    monkeypatch.setattr("anchorview.views.stored_view.StoredView.__getitem__", None)
    shown = run("info", folder)
    assert shown.exit_code == 0, shown.output
    assert [line.split() for line in shown.output.splitlines() if "view_" in line] == [
        ["view_0", "12", "float32", str(2 * N)],
        ["view_1", "20", "float32", str(2 * N)],
    ]


@posix
def test_ctrl_c_leaves_the_previous_results(folder, tmp_path):
    results = tmp_path / "results"
    fit = ("fit", folder, "-k", 4, *LIMIT, "--results", results)
    assert run(*fit).exit_code == 0
    before = {path.name: path.read_bytes() for path in results.iterdir()}
    script = INTERRUPTIBLE + (
        "import time, anchorview.sources.disk_source as s; from anchorview.cli.commands import main\n"
        "read = s.StreamedViews._passing_part\n"
        "def slowly(self, rows): print('.', flush=True); time.sleep(0.2); return read(self, rows)\n"
        "s.StreamedViews._passing_part, s.PART = slowly, 10_000\n"
        "main()"
    )
    process = subprocess.Popen(
        command(*fit, "--seed", 1, script=script), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert {path.name: path.read_bytes() for path in results.iterdir()} == before


# Conversion


def test_tables_become_files_that_give_the_same_clusters(tmp_path, views_and_y):
    views, _ = views_and_y
    tables = tmp_path / "tables"
    tables.mkdir()
    for name, view in views.items():
        frame = pd.DataFrame(view, index=[f"s{i}" for i in range(N)])
        frame.dropna().to_csv(tables / f"{name}.csv", index_label="id")
    out, again = tmp_path / "labels.csv", tmp_path / "again.csv"
    options = ("-k", 4, "--method", "dalmc")
    done = run("convert", tables, tmp_path / "folder", "--dtype", "float32")
    assert done.exit_code == 0, done.output
    assert run("fit", tables, *options, "--out", out).exit_code == 0
    assert run("fit", tmp_path / "folder", *options, *LIMIT, "--out", again).exit_code == 0
    clusters = [pd.read_csv(path, index_col="sample")["cluster"] for path in (out, again)]
    assert list(clusters[0].index) == list(clusters[1].index)
    assert (pd.crosstab(*clusters) > 0).sum().eq(1).all()


def test_a_folder_that_is_there_is_not_converted_into(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert "already exists" in error_of(run("convert", folder, folder))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_conversion_shows_progress(folder, tmp_path):
    seen = []
    with listen_to_progress(lambda *step: seen.append(step)):
        report_progress("before", 0, 1)
        from anchorview.datasets import convert

        convert(folder, tmp_path / "copy")
    assert seen[-1][0] == "converting" and seen[-1][1] == seen[-1][2]
