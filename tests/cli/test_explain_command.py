"""Command explain: markers, summary and report of a saved model."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, load, make_multiview, read_views
from anchorview.cli import loading
from anchorview.inspection import cluster_markers, cluster_summary
from anchorview.sources import disk_source
from helpers.command_line import error_of, output_of, run
from helpers.view_files import write_view_tables


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Folder of Parquet files with sample ids and feature names, some samples lacking a view."""
    folder = tmp_path_factory.mktemp("tables") / "views"
    views, _ = make_multiview(
        150, n_clusters=3, n_features=(8, 12), separation=5, missing=0.1, random_state=0
    )
    write_view_tables(folder, views, "parquet", sample="s{:03d}")
    return folder


@pytest.fixture(scope="module", params=["dalmc", "auto"])
def model(request, tables, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / f"{request.param}.anchorview"
    method = {"dalmc": DALMC(3), "auto": AutoDALMC(3, budget="fast")}[request.param]
    method.set_params(random_state=0).fit(read_views(tables)).save(path)
    return path


def test_outputs_are_those_of_the_library(model, tables, tmp_path):
    markers, summary, report = (tmp_path / name for name in ("m.csv", "s.csv", "r.html"))
    options = ("--markers", markers, "--summary", summary, "--report", report)
    shown = output_of("explain", model, tables, *options)
    assert "150 samples in 3 clusters" in shown
    for name, path in (("Markers", markers), ("Summary", summary), ("Report", report)):
        assert f"{name} written to {path}" in shown
    fitted, views = load(model), read_views(tables)
    expected = cluster_markers(fitted, views)
    pd.testing.assert_frame_equal(
        pd.read_csv(markers, keep_default_na=False), expected, check_dtype=False, rtol=1e-5
    )
    expected = cluster_summary(fitted, views)
    written = pd.read_csv(summary, index_col="cluster")
    assert list(written.columns) == list(expected.columns)
    np.testing.assert_array_equal(written["size"], expected["size"])
    np.testing.assert_allclose(written["confidence"], expected["confidence"], rtol=1e-5)
    assert written["medoids"].tolist() == ["; ".join(ids) for ids in expected["medoids"]]
    assert "<html" in report.read_text()
    for feature in expected["features"]:
        assert str(feature[0]) in shown


@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize("option", ["--markers", "--summary"])
def test_names_that_look_like_formulas_are_kept_with_a_warning(tmp_path, option):
    views, _ = make_multiview(60, n_clusters=3, n_features=(4,), random_state=0)
    (tmp_path / "tables").mkdir()
    frame = pd.DataFrame(views["view_0"], columns=[f"=f{j}" for j in range(4)])
    frame.rename_axis("id").to_csv(tmp_path / "tables" / "a.csv")
    model = DALMC(3, random_state=0).fit(read_views(tmp_path / "tables"))
    model.save(tmp_path / "m")
    result = run("explain", tmp_path / "m", tmp_path / "tables", option, tmp_path / "out.csv")
    assert "warning: names or ids such as '=f" in result.stderr
    assert "=f" in (tmp_path / "out.csv").read_text()
    model.relabel({0: "@a"}).save(tmp_path / "m")
    result = run("explain", tmp_path / "m", tmp_path / "tables", option, tmp_path / "out.csv")
    assert "'@a'" in result.stderr


def test_json_has_the_summary(model, tables, tmp_path):
    markers = tmp_path / "m.csv"
    record = json.loads(output_of("explain", model, tables, "--json", "--markers", markers))
    expected = cluster_summary(load(model), read_views(tables))
    assert record["n_samples"] == 150
    assert [cluster["size"] for cluster in record["clusters"]] == expected["size"].tolist()
    assert record["clusters"][0]["medoids"] == list(expected["medoids"].iloc[0])
    assert record["outputs"] == {"markers": str(markers)}


def test_data_larger_than_memory_are_read_in_parts(model, tables, tmp_path, set_constants):
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    output_of("explain", model, tables, "--markers", whole)
    set_constants(loading, DATA_SHARE=0.0)
    set_constants(disk_source, PART=2**10, PRODUCTS_PER_PART=0)
    output_of("explain", model, tables, "--markers", parts)
    found, expected = pd.read_csv(parts), pd.read_csv(whole)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-5)


def test_outputs_are_checked_before_the_work(model, tables, tmp_path, monkeypatch):
    explain = ("explain", model, tables, "--markers", tmp_path / "m.csv")
    assert "nowhere" in error_of(*explain, "--summary", tmp_path / "nowhere" / "s.csv")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert 'pip install "anchorview[report]"' in error_of(*explain, "--report", tmp_path / "r.html")
    assert not (tmp_path / "m.csv").exists()


def test_new_samples_are_explained_but_have_no_report(model, tables, tmp_path):
    some, markers = tmp_path / "some", tmp_path / "m.csv"
    some.mkdir()
    for path in tables.iterdir():
        pd.read_parquet(path).iloc[:100].to_parquet(some / path.name)
    result = run("explain", model, some, "--markers", markers, "--report", tmp_path / "r.html")
    assert result.exit_code == 2
    assert "was fitted on, such as 's100'" in result.stderr
    assert "100 samples in 3 clusters" in result.stdout
    expected = cluster_markers(load(model), read_views(some))
    np.testing.assert_allclose(pd.read_csv(markers)["effect"], expected["effect"], rtol=1e-5)
    assert not (tmp_path / "r.html").exists()
