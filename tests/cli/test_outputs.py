"""Outputs of the commands: what is printed where, results folders, reports, failures."""

import errno
import json
import os

import numpy as np
import pandas as pd
import pytest

from anchorview import load, open_views
from anchorview.cli import loading
from anchorview.sources import disk_source
from helpers.command_line import DALMC_3, QUICK, error_of, output_of, run
from helpers.data import nested_views
from helpers.view_files import write_view_tables


@pytest.fixture
def tables(tmp_path, views_and_y):
    """Folder of CSV files with ids and classes; two samples lack a view."""
    folder = tmp_path / "tables"
    ids = write_view_tables(folder, views_and_y[0])
    view = pd.read_csv(folder / "view_0.csv", index_col=0)
    view.iloc[2:].to_csv(folder / "view_0.csv")
    pd.Series(views_and_y[1], index=ids, name="class").to_csv(folder / "labels.csv")
    return folder


def test_results_do_not_change_the_labels_and_have_the_sample_ids(tables, tmp_path):
    out, results = tmp_path / "labels.csv", tmp_path / "results"
    output_of("fit", tables, *QUICK, "--out", out)
    assert str(results) in output_of("fit", tables, *QUICK, "--results", results)
    written = pd.read_csv(out, index_col="sample")["cluster"]
    opened = open_views(results)
    assert list(opened.sample_ids) == list(written.index)
    np.testing.assert_array_equal(np.load(results / "labels.npy"), written)
    assert opened.views["embedding"].shape[0] == 120


def test_results_are_the_same_files_wherever_the_data_are(tmp_path, set_constants):
    np.savez(tmp_path / "data.npz", **nested_views()[0])
    output_of("convert", tmp_path / "data.npz", tmp_path / "data")
    results, files = [tmp_path / name for name in ("memory", "disk")], []
    fit = ("fit", tmp_path / "data", "-k", "3,4,6,9,10", "--budget", "fast", "--results")
    output_of(*fit, results[0])
    set_constants(loading, DATA_SHARE=1e-9)
    set_constants(disk_source, PART=10_000)
    output_of(*fit, results[1])
    files = [{path.name: np.load(path) for path in folder.iterdir()} for folder in results]
    assert files[0].keys() == files[1].keys() >= {"level_labels.npy", "second_labels.npy"}
    for name, values in files[0].items():
        assert (values.shape, values.dtype) == (files[1][name].shape, files[1][name].dtype), name


@pytest.mark.filterwarnings("default::UserWarning")
def test_ids_that_look_like_formulas_are_kept_with_a_warning(data, out, tmp_path):
    folder = tmp_path / "arrays"
    output_of("convert", data, folder)
    ids = np.array([f"=s{i}" if i < 2 else f"-{i}" for i in range(120)])
    np.save(folder / "sample_ids.npy", ids)
    result = run("fit", folder, *DALMC_3, "--out", out)
    assert list(pd.read_csv(out, dtype=str)["sample"]) == list(ids)
    assert "'=s0' (2 in all)" in result.stderr


@pytest.mark.parametrize("on_disk", [False, True])
def test_reports(data, tmp_path, on_disk, set_constants):
    data, report = data.rename(data.with_name("<b>views.npz")), tmp_path / "report.html"
    if on_disk:
        output_of("convert", data, tmp_path / "<b>views.npz")
        data = tmp_path / "<b>views.npz"
        set_constants(loading, DATA_SHARE=1e-9)
    assert f"Report written to {report}" in output_of("fit", data, *DALMC_3, "--report", report)
    page = report.read_text()
    assert "&lt;b&gt;views.npz" in page
    assert "<b>views.npz" not in page
    assert "ACC" in page


@pytest.mark.parametrize("failing", ["--out", "--save"])
def test_a_failed_output_does_not_lose_the_others(data, tmp_path, monkeypatch, failing):
    names = {"--out": "labels.csv", "--save": "m.anchorview", "--results": "results"}
    paths = {option: tmp_path / name for option, name in names.items()}
    real = os.replace

    def replace(source, target):
        if str(target) == str(paths[failing]):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    paths[failing].write_text("before")
    result = run("fit", data, *QUICK, *(each for pair in paths.items() for each in pair))
    assert result.exit_code == 2
    assert str(paths[failing]) in result.stderr and "No space" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "ACC " in result.stdout
    assert ("Labels written" in result.stdout) == (failing != "--out")
    assert paths[failing].read_bytes() == b"before"
    assert {path for path in tmp_path.iterdir() if path.name != "data"} == set(paths.values())


def test_labels_on_standard_output_or_nothing_if_quiet(data, out, tmp_path):
    output_of("fit", data, *QUICK, "--out", out)
    result = run("fit", data, *QUICK, "--out", "-")
    assert result.stdout == out.read_text()
    assert "120 samples in 3 clusters" in result.stderr
    assert run("fit", data, *QUICK, "--out", "-", "-q").stderr == ""
    assert "standard output" in error_of("fit", data, *QUICK, "--out=-", "--json")
    result = run("fit", data, *DALMC_3, "--verbose")
    assert "[DALMC] assigned" in result.stderr
    assert "[DALMC]" not in result.stdout
    model = tmp_path / "m.anchorview"
    assert run("fit", data, *QUICK, "-q", "--out", out, "--save", model).output == ""
    assert output_of("predict", model, data, "--quiet") == ""
    assert output_of("convert", data, tmp_path / "folder", "-q") == ""


def test_json_has_the_results(tables, tmp_path):
    model, out = tmp_path / "m.anchorview", tmp_path / "labels.csv"
    fit = json.loads(output_of("fit", tables, *QUICK, "--json", "--save", model, "--out", out))
    fitted = load(model)
    sizes = np.bincount(fitted.labels_).tolist()
    assert (fit["method"], fit["n_samples"], fit["n_clusters"]) == ("AutoDALMC", 120, 3)
    assert fit["cluster_sizes"] == sizes
    assert "levels" not in fit
    assert [view["n_samples_missing"] for view in fit["views"]] == [2, 0]
    assert [view["weight"] for view in fit["views"]] == list(fitted.views_["weight"])
    assert fit["outputs"] == {"out": str(out), "save": str(model)}
    prediction = json.loads(output_of("predict", model, tables, "--json"))
    assert prediction["cluster_sizes"] == sizes
    assert prediction["scores"] == fit["scores"]
    described = json.loads(output_of("info", model, "--json"))
    assert described["params"]["n_clusters"] == 3
    described = json.loads(output_of("info", tables, "--json"))
    assert (described["n_samples"], described["n_classes"]) == (120, 3)
    assert [view["n_samples"] for view in described["views"]] == [118, 120]
