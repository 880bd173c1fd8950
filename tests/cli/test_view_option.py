"""Options on views and tables: --view, --drop, --categorical, --preprocess, --no-id-column..."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, load
from anchorview.cli import loading
from helpers.cells import N_CELLS, cells
from helpers.command_line import error_of, output_of, read_labels, run
from helpers.data import clustered_views
from helpers.view_files import write_view_tables

pytestmark = pytest.mark.filterwarnings("ignore:::(mudata|anndata)\\b")

VIEWS = ("--view", "rna=X:highly_variable", "--view", "protein=X")
STEPS = ("--preprocess", "rna=lognorm", "--preprocess", "protein=clr")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("cells") / "cells.h5mu"
    cells().write(path)
    return path


def labels_in(path):
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=1, dtype=int)


@pytest.mark.parametrize("memory", [(), ("--memory-limit", "150KB")], ids=["memory", "disk"])
def test_fit_and_predict(path, tmp_path, memory, monkeypatch):
    out, saved, new = (tmp_path / name for name in ("labels.csv", "m.anchorview", "new.csv"))
    options = ("-k", 3, "--method", "dalmc", "--out", out, "--save", saved, "--json", *memory)
    record = json.loads(output_of("fit", path, *VIEWS, *STEPS, *options))
    assert [view["n_features"] for view in record["views"]] == [30, 12]
    preprocess = {"rna": "lognorm", "protein": "clr"}
    views = {"rna": "X:highly_variable", "protein": "X"}
    expected = DALMC(3, preprocess=preprocess, random_state=0).fit(cells(), views=views)
    np.testing.assert_array_equal(labels_in(out), expected.labels_)
    # The model remembers which matrices it was fitted on, and their preprocessing.
    output_of("predict", saved, path, "--out", new)
    np.testing.assert_array_equal(labels_in(new), expected.labels_)
    output_of("explain", saved, path, "--summary", tmp_path / "summary.csv")


def test_importance_of_views(path, tmp_path):
    out, saved = tmp_path / "labels.csv", tmp_path / "m.anchorview"
    options = ("--importance", "rna=9", "--importance", "protein=0.5", "--method", "dalmc")
    output_of("fit", path, *options, "-k", 3, "--out", out, "--save", saved)
    importance = {"rna": 9.0, "protein": 0.5}
    expected = DALMC(3, view_importance=importance, random_state=0).fit(cells())
    np.testing.assert_array_equal(labels_in(out), expected.labels_)
    assert load(saved).view_importance == importance


def test_views_of_an_h5ad_file(tmp_path):
    path, out = tmp_path / "rna.h5ad", tmp_path / "labels.csv"
    cells()["rna"].write(path)
    views = ("--view", "genes=X", "--view", "pca=obsm:X_pca")
    output_of("fit", path, *views, "-k", 3, "--method", "dalmc", "--out", out)
    assert len(labels_in(out)) == N_CELLS
    record = json.loads(output_of("info", path, "--view", "genes=X:highly_variable", "--json"))
    assert [(view["name"], view["n_features"]) for view in record["views"]] == [("genes", 30)]


def test_tables_that_are_no_views_are_left_out(tmp_path):
    folder, saved, out = tmp_path / "tables", tmp_path / "m.anchorview", tmp_path / "labels.csv"
    ids = write_view_tables(folder, clustered_views(60, 3)[0])
    pd.DataFrame({"sex": ["m", "f"] * 30}, ids).to_csv(folder / "metadata.csv")
    message = error_of("convert", folder, tmp_path / "none")
    assert "metadata.csv: column 'sex' is a text, not numeric" in message
    assert "is not a view, leave it out: " in message
    assert "each view with --view." in message
    chosen = ("--view", "a=view_0.csv", "--view", "b=view_1")
    output_of("fit", folder, "-k", 3, "--method", "dalmc", *chosen, "--save", saved)
    assert load(saved).view_names_in_ == ("a", "b")
    output_of("predict", saved, folder, *chosen, "--out", out)
    np.testing.assert_array_equal(labels_in(out), load(saved).labels_)
    output_of("explain", saved, folder, *chosen)
    output_of("convert", folder, tmp_path / "arrays", *chosen)
    output_of("predict", saved, tmp_path / "arrays", "--out", out)
    np.testing.assert_array_equal(labels_in(out), load(saved).labels_)
    message = error_of("info", folder, "--view", "a=c.csv")
    assert "--view names the table 'c.csv', which is not there" in message


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_of_tables(suffix, tmp_path, monkeypatch):
    folder, saved, out = tmp_path / "tables", tmp_path / "m.anchorview", tmp_path / "labels.csv"
    folder.mkdir()
    views, y = clustered_views(90, 3)
    ids = pd.Index([f"s{row}" for row in range(90)], name="id")
    about = pd.DataFrame({"plan": np.array(list("abc"))[y], "code": y, "name": ids}, ids)
    tables = {"about": about, "image": pd.DataFrame(views["view_0"], ids).add_prefix("i")}
    for name, table in tables.items():
        getattr(table, f"to_{suffix}")(folder / f"{name}.{suffix}")
    fit = ("fit", folder, "-k", 3, "--method", "dalmc")
    message = error_of(*fit)
    assert "column 'name' is text with 90 different values" in message
    columns = ("--drop", "name", "--categorical", "about:code")
    result = run(*fit, *columns, "--save", saved, "--verbose")
    assert "dropped: name\ncategories: about:code\n" in result.stderr
    tables["about"] = about.drop(columns="name").astype({"code": "category"})
    expected = DALMC(3, random_state=0).fit(tables)
    np.testing.assert_array_equal(load(saved).labels_, expected.labels_)
    # As if the tables were larger than memory.
    with monkeypatch.context() as patch:
        patch.setattr(loading, "DATA_SHARE", 1e-9)
        output_of(*fit, *columns, "--out", out)
    assert adjusted_rand_score(labels_in(out), expected.labels_) == 1
    output_of("predict", saved, folder, *columns, "--out", out)
    np.testing.assert_array_equal(labels_in(out), expected.labels_)
    output_of("explain", saved, folder, *columns)
    info = json.loads(output_of("info", folder, *columns, "--json"))
    assert info["views"][0]["type"] == "2 categories"
    assert "column 'code' is a number here" in error_of("predict", saved, folder, "--drop", "name")
    message = error_of("info", folder, "--drop", "nothing")
    assert "--drop names the column 'nothing', which is not there. The columns are" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--view", "rna"), "--view rna: write the name of a view, =, and a value"),
        (("--view", "rna=X", "--view", "rna=X"), "--view names the view 'rna' twice"),
        (("--view", "rna=obs:a"), "View 'rna' cannot be 'obs:a'"),
        (("--view", "atac=X"), "but the modalities are rna, protein"),
        (("--preprocess", "rna=log"), "preprocess['rna'] is 'log'"),
        (("--preprocess", "rna=lognorm", "--method", "amgl"), "--preprocess is not a setting"),
        (("--importance", "rna=high"), "--importance rna=high: 'high' is not a number"),
        (("--importance", "atac=2"), "--importance names the view 'atac'"),
        (("--importance", "rna=0"), "--importance of 'rna' is 0: leave the view out"),
        (("--importance", "rna=2", "--method", "opmc"), "--importance is not a setting"),
    ],
)
def test_refused_options(path, options, message):
    assert message in error_of("fit", path, "-k", 3, *options)


@pytest.mark.parametrize(
    ("written", "given", "advice"),
    [
        ({"index": False}, ["--no-id-column"], "or pass --no-id-column to"),
        ({"header": False}, ["--no-header"], "or pass --no-header if"),
        (
            {"index": False, "header": False},
            ["--no-id-column", "--no-header"],
            "or pass --no-header",
        ),
    ],
    ids=["no ids", "no header", "neither"],
)
def test_tables_without_ids_or_header(tmp_path, views_and_y, out, written, given, advice):
    folder, model, arrays = (tmp_path / name for name in ("tables", "a.anchorview", "arrays"))
    folder.mkdir()
    views, _ = views_and_y
    for name, view in views.items():
        pd.DataFrame(view).add_prefix("f").to_csv(folder / f"{name}.csv", **written)
    fit = ("fit", folder, "-k", 3, "--method", "dalmc")
    for command in (fit, ("info", folder), ("convert", folder, arrays)):
        assert advice in error_of(*command)
    output_of(*fit, *given, "--out", out, "--save", model)
    expected = DALMC(3, random_state=0).fit(views).labels_
    np.testing.assert_array_equal(read_labels(out), expected)
    assert advice in error_of("predict", model, folder)
    output_of("predict", model, folder, *given, "--out", out)
    np.testing.assert_array_equal(read_labels(out), expected)
    assert "120 samples" in output_of("info", folder, *given)
    output_of("convert", folder, arrays, *given)
    assert np.load(arrays / "view_0.npy").shape == views["view_0"].shape


def test_options_for_other_files(data):
    for option in ("--no-id-column", "--no-header"):
        assert f"{option} is for folders of .csv" in error_of("fit", data, "-k", 3, option)
