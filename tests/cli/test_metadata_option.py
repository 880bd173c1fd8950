"""Options --metadata, --texts and --thumbnails: the report has what is known about samples."""

import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from anchorview import make_multiview
from helpers.command_line import error_of, output_of
from helpers.view_files import write_view_tables

N = 60
FIT = ("-k", 3, "--method", "dalmc")


@pytest.fixture
def tables(tmp_path):
    """Folder of CSV files with sample ids, beside a table of other variables in another order."""
    views, y = make_multiview(N, n_clusters=3, n_features=(4, 5), separation=8, random_state=0)
    ids = write_view_tables(tmp_path / "views", views, sample="{:03d}")
    Image.fromarray(np.full((4, 4, 3), 200, np.uint8)).save(tmp_path / "a.png")
    known = pd.DataFrame({"stage": np.array(list("abc"))[y], "noise": np.arange(N) % 7}, ids)
    known["note"] = [f"text of {i}" for i in ids]
    known["picture"] = ["a.png", None] * (N // 2)
    known.iloc[::-1].iloc[3:].to_csv(tmp_path / "known.csv")
    known.reset_index().to_parquet(tmp_path / "known.parquet")
    return tmp_path / "views"


@pytest.mark.parametrize("command", ["fit", "explain"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_variables_texts_and_thumbnails_are_in_the_report(tables, tmp_path, command, suffix):
    known, report, model = tmp_path / f"known.{suffix}", tmp_path / "r.html", tmp_path / "model"
    options = ("--metadata", known, "--texts", "note", "--thumbnails", "picture")
    if command == "fit":
        output_of("fit", tables, *FIT, *options, "--report", report)
    else:
        output_of("fit", tables, *FIT, "--save", model)
        output_of("explain", model, tables, *options, "--report", report)
    page = report.read_text()
    assert "1 of 2 variables differ between clusters" in page
    texts = set(re.findall(r"(\d{3})\b[^<>]*</[^>]*>(?:<[^>]*>)*[^<>]*text of (\d{3})", page))
    assert len(texts) > 3
    assert all(sample == text for sample, text in texts)
    assert "data:image/" in page


def test_samples_without_ids_are_matched_by_position(data, tmp_path):
    known, report = tmp_path / "known.tsv", tmp_path / "r.html"
    pd.DataFrame({"size": np.arange(120) % 5}).to_csv(known, sep="\t", index=False)
    output_of("fit", data, *FIT, "--metadata", known, "--report", report)
    assert "of 1 variables differ" in report.read_text()
    pd.DataFrame({"size": np.arange(7)}).to_csv(known, sep="\t", index=False)
    said = error_of("fit", data, *FIT, "--metadata", known, "--report", report)
    assert "known.tsv has 7 rows, but there are 120 samples" in said


def test_errors_name_the_option_or_the_file(tables, tmp_path):
    known, report = tmp_path / "known.csv", ("--report", tmp_path / "r.html")
    for option, column in (("--texts", "words"), ("--thumbnails", "words")):
        said = error_of("fit", tables, *FIT, "--metadata", known, *report, option, column)
        assert f"{option}: {known} has no column 'words', but stage, noise, note" in said
    assert "--metadata needs --report FILE" in error_of("fit", tables, *FIT, "--metadata", known)
    said = error_of("fit", tables, *FIT, *report, "--texts", "note")
    assert "--texts needs --metadata FILE" in said
    pd.DataFrame({"id": ["x"], "stage": ["a"]}).to_csv(known, index=False)
    said = error_of("fit", tables, *FIT, "--metadata", known, *report)
    assert "the first column has none of the sample ids of the data, but 'x'" in said
    assert "cannot be read" in error_of("fit", tables, *FIT, "--metadata", tmp_path / "no", *report)
