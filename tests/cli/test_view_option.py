"""Options --view and --preprocess: matrices of .h5mu and .h5ad files from the shell."""

import json

import numpy as np
import pytest

from anchorview import DALMC
from helpers.cells import N_CELLS, cells
from helpers.command_line import error_of, output_of

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


def test_views_of_an_h5ad_file(tmp_path):
    path, out = tmp_path / "rna.h5ad", tmp_path / "labels.csv"
    cells()["rna"].write(path)
    views = ("--view", "genes=X", "--view", "pca=obsm:X_pca")
    output_of("fit", path, *views, "-k", 3, "--method", "dalmc", "--out", out)
    assert len(labels_in(out)) == N_CELLS
    record = json.loads(output_of("info", path, "--view", "genes=X:highly_variable", "--json"))
    assert [(view["name"], view["n_features"]) for view in record["views"]] == [("genes", 30)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--view", "rna"), "--view rna: write the name of a view, =, and a value"),
        (("--view", "rna=X", "--view", "rna=X"), "--view names the view 'rna' twice"),
        (("--view", "rna=obs:a"), "View 'rna' cannot be 'obs:a'"),
        (("--view", "atac=X"), "but the modalities are rna, protein"),
        (("--preprocess", "rna=log"), "preprocess['rna'] is 'log'"),
        (("--preprocess", "rna=lognorm", "--method", "amgl"), "--preprocess is for --method auto"),
    ],
)
def test_refused_options(path, options, message):
    assert message in error_of("fit", path, "-k", 3, *options)
