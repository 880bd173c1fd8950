"""The options --no-id-column and --no-header of all commands that read tables."""

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC
from helpers.command_line import error_of, output_of, read_labels


@pytest.mark.parametrize(
    ("written", "given", "advice"),
    [
        ({"index": False}, ["--no-id-column"], "or pass --no-id-column to"),
        ({"header": False}, ["--no-header"], "or pass --no-header if"),
        (
            {"index": False, "header": False},
            ["--no-id-column", "--no-header"],
            "or pass --no-header if",
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
        assert f"{option} is for folders of .csv, .tsv and .parquet files" in error_of(
            "fit", data, "-k", 3, option
        )
