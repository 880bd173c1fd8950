"""Option --batch: batches from a CSV file are taken out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, load
from helpers.batches import planted_batches
from helpers.command_line import error_of, output_of
from helpers.view_files import write_view_tables

FIT = ("-k", 3, "--method", "dalmc")


@pytest.fixture(scope="module")
def planted():
    return planted_batches(120, k=3, n_batches=3, widths=(8, 6), lacking=False)


@pytest.fixture
def tables(planted, tmp_path):
    """Folder of CSV files with sample ids."""
    write_view_tables(tmp_path / "tables", planted[0])
    return tmp_path / "tables"


def test_batches_are_matched_by_id_and_kept_by_the_model(tables, planted, tmp_path):
    views, types, batch = planted
    file, model = tmp_path / "batch.csv", tmp_path / "model.anchorview"
    order = np.random.default_rng(0).permutation(120)
    pd.DataFrame({"id": [f"s{i}" for i in order], "plate": batch[order]}).to_csv(file, index=False)
    report = tmp_path / "report.html"
    said = output_of("fit", tables, *FIT, "--batch", file, "--save", model, "--report", report)
    assert "3 batches taken out; mixing of batches 0.0" in said
    assert "3 batches taken out" in report.read_text()
    labels = load(model).labels_
    assert adjusted_rand_score(types, labels) > 0.95
    np.testing.assert_array_equal(labels, DALMC(3, random_state=0).fit(views, batch=batch).labels_)
    out = tmp_path / "labels.csv"
    output_of("predict", model, tables, "--batch", file, "--out", out)
    np.testing.assert_array_equal(pd.read_csv(out)["cluster"], labels)
    refused = error_of("predict", model, tables)
    assert "fitted with batch: give these for new samples too, as --batch" in refused
    assert "Cluster" in output_of("explain", model, tables, "--batch", file)


def test_errors_name_the_file(tables, planted, tmp_path):
    file = tmp_path / "batch.csv"
    pd.DataFrame({"plate": planted[2][:7]}).to_csv(file, index=False)
    assert f"{file}: batch has shape (7,)" in error_of("fit", tables, *FIT, "--batch", file)
    pd.DataFrame(np.zeros((120, 3))).to_csv(file, index=False)
    assert "has 3 columns" in error_of("fit", tables, *FIT, "--batch", file)
    assert "cannot be read" in error_of("fit", tables, *FIT, "--batch", tmp_path / "no.csv")
    pd.DataFrame({"plate": planted[2]}).to_csv(file, index=False)
    refused = error_of("fit", tables, "-k", 3, "--method", "opmc", "--batch", file)
    assert "OPMC cannot take out batches" in refused
