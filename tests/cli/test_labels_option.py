"""Option --labels: known classes under any name, for scores only."""

import json

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC
from helpers.command_line import error_of, output_of

FIT = ("-k", 3, "--method", "dalmc", "--json")
NAME = ("--labels", "cell_type")


@pytest.fixture
def classes(views_and_y):
    return np.array(["B", "NK", "T"])[views_and_y[1]]


@pytest.fixture
def tables(tmp_path, views_and_y, classes):
    """Folder of CSV files, the second of which has a column of classes."""
    folder = tmp_path / "tables"
    folder.mkdir()
    ids = pd.Index([f"s{i}" for i in range(len(classes))], name="id")
    for name, view in views_and_y[0].items():
        frame = pd.DataFrame(view, index=ids).add_prefix("f")
        if name == "view_1":
            frame.insert(3, "cell_type", classes)
        frame.to_csv(folder / f"{name}.csv")
    return folder


def accuracy(*arguments):
    record = json.loads(output_of("fit", *arguments, *FIT))
    return [view["n_features"] for view in record["views"]], record["scores"]["ACC"]


@pytest.fixture
def expected(views_and_y):
    from anchorview.metrics import clustering_accuracy

    views, y = views_and_y
    return [8, 12], clustering_accuracy(y, DALMC(3, random_state=0).fit(views).labels_)


@pytest.mark.filterwarnings("ignore:Arrays that are neither views nor class labels")
def test_variables_and_files_of_arrays(data, tmp_path, views_and_y, classes, expected):
    # The usual name holds something else.
    np.savez(data, **views_and_y[0], cell_type=classes, y=np.arange(120) % 7)
    assert accuracy(data, *NAME) == expected
    assert accuracy(data) != expected
    folder = tmp_path / "arrays"
    folder.mkdir()
    for name, view in views_and_y[0].items():
        np.save(folder / f"{name}.npy", view)
    np.save(folder / "cell_type.npy", classes)
    assert accuracy(folder, *NAME) == expected
    assert json.loads(output_of("fit", folder, *FIT))["scores"] is None


def test_columns_of_tables(tables, classes, expected):
    assert accuracy(tables, *NAME) == expected
    # Without the option, it is a category.
    assert json.loads(output_of("fit", tables, *FIT))["scores"] is None
    # A table of several columns about the samples.
    view = pd.read_csv(tables / "view_1.csv", index_col=0)
    view.drop(columns="cell_type").to_csv(tables / "view_1.csv")
    about = pd.DataFrame({"donor": "d1", "cell_type": classes}, index=view.index)
    about.to_csv(tables / "labels.csv")
    assert accuracy(tables, *NAME) == expected
    assert "Drop the others" in error_of("fit", tables, *FIT)


@pytest.mark.filterwarnings("ignore:::(mudata|anndata)\\b")
def test_keys_of_obs(tmp_path, views_and_y, classes, expected):
    mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")
    obs = pd.DataFrame(index=[f"c{i}" for i in range(120)])
    parts = {name: anndata.AnnData(view, obs=obs) for name, view in views_and_y[0].items()}
    mdata = mudata.MuData(parts)
    mdata.obs["cell_type"] = classes
    mdata.write(tmp_path / "cells.h5mu")
    assert accuracy(tmp_path / "cells.h5mu", *NAME) == expected


def test_a_name_that_is_not_there(data):
    message = error_of("info", data, "--labels", "cluster")
    assert message == f"{data}: holds nothing named 'cluster' for the class labels. Check the name."
