"""The command relabel, and mappings that it refuses."""

import json

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, load
from helpers.command_line import error_of, output_of, run
from helpers.data import clustered_views

NAMES = {"0": "T cells", "2": "T cells", "1": "<b>B</b> cells"}


def write_mapping(folder, mapping):
    path = folder / "mapping.json"
    path.write_text(json.dumps(mapping), encoding="utf-8")
    return path


@pytest.fixture
def saved(tmp_path):
    views, _ = clustered_views(80, 4)
    DALMC(4, random_state=0).fit(views).save(tmp_path / "m.anchorview")
    return tmp_path / "m.anchorview"


def test_clusters_are_merged_and_named(saved, tmp_path):
    out = tmp_path / "named.anchorview"
    shown = output_of("relabel", saved, write_mapping(tmp_path, NAMES), "--save", out)
    assert f"Model saved to {out}" in shown
    before, after = load(saved), load(out)
    assert after.cluster_names_ == ("T cells", "<b>B</b> cells", "2")
    np.testing.assert_array_equal(after.labels_, np.array([0, 1, 0, 2])[before.labels_])
    sizes = np.bincount(after.labels_)
    assert f"Cluster 0, T cells: {sizes[0]} samples" in shown
    assert f"Cluster 2: {sizes[2]} samples" in shown
    assert f"Cluster 0, T cells: {sizes[0]} samples" in output_of("info", out)
    assert json.loads(output_of("info", out, "--json"))["cluster_names"][0] == "T cells"
    assert "cluster_names" not in json.loads(output_of("info", saved, "--json"))
    assert output_of("relabel", saved, write_mapping(tmp_path, {}), "--save", out, "-q") == ""


@pytest.mark.filterwarnings("default::UserWarning")
def test_predictions_have_names(saved, tmp_path):
    out, labels = tmp_path / "named.anchorview", tmp_path / "labels.csv"
    output_of("relabel", saved, write_mapping(tmp_path, NAMES), "--save", out)
    output_of("relabel", out, write_mapping(tmp_path, {"T cells": "=T"}), "--save", tmp_path / "m2")
    views, _ = clustered_views(80, 4)
    np.savez(tmp_path / "data.npz", **views)
    output_of("predict", out, tmp_path / "data.npz", "--out", labels)
    table = pd.read_csv(labels)
    assert table.columns.tolist() == ["sample", "cluster", "name"]
    names = np.array(load(out).cluster_names_)
    assert table["name"].tolist() == names[table["cluster"]].tolist()
    result = run("predict", tmp_path / "m2", tmp_path / "data.npz", "--out", labels)
    assert "warning: names or ids such as '=T'" in result.stderr


def test_a_number_of_clusters_that_was_not_tried(tmp_path):
    views, _ = clustered_views(120, 4, separation=8.0)
    model = AutoDALMC([4, 5], budget="fast", random_state=0).fit(views)
    model.relabel({0: "a", 1: "a"}).save(tmp_path / "m.anchorview")
    assert f"chose {model.n_clusters_ + 1} clusters" in output_of("info", tmp_path / "m.anchorview")


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        ({"4": "a"}, "'4' is not a cluster: they have the numbers from 0 to 3"),
        ({"0": None}, "Cluster 0 cannot have the name None"),
        ([], "is not a mapping"),
        ({"clusters": []}, "'clusters' is not a cluster"),
        ({"clusters": {"0": "a"}}, "is for another model"),
    ],
)
def test_mappings_that_are_refused(saved, tmp_path, mapping, reason):
    path, out = write_mapping(tmp_path, mapping), tmp_path / "out.anchorview"
    message = error_of("relabel", saved, path, "--save", out)
    assert reason in message
    assert str(path) in message
    assert not out.exists()


def test_files_that_are_no_json(saved, tmp_path):
    for content in (b"", b"{", b"\xff", b"[" * 100_000, b"3"):
        path = tmp_path / "mapping.json"
        path.write_bytes(content)
        assert "mapping.json" in error_of("relabel", saved, path, "--save", tmp_path / "out")
    assert "cannot be read" in error_of("relabel", saved, tmp_path / "no", "--save", tmp_path / "o")
