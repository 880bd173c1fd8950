"""Commands on saved models: predict, explain, relabel and info, and levels."""

import json

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, load, make_multiview, read_views
from anchorview.inspection import cluster_markers, cluster_summary
from helpers.command_line import error_of, output_of, read_confident_labels, run
from helpers.data import clustered_views, nested_views
from helpers.view_files import write_view_tables


def test_save_predict_and_info(data, out, tmp_path, chosen, views_and_y):
    saved, again = tmp_path / "m.anchorview", tmp_path / "again.csv"
    fit = ("fit", data, "-k", "2-12", "--budget", "fast", "--out", out, "--save", saved)
    assert f"Model saved to {saved}" in output_of(*fit)
    np.testing.assert_array_equal(load(saved).predict(views_and_y[0]), chosen.labels_)

    shown = output_of("predict", saved, data, "--out", again)
    sizes = np.bincount(chosen.labels_, minlength=3).tolist()
    assert f"120 samples; sizes of the clusters: {sizes}\n" in shown
    assert "ACC " in shown
    assert again.read_text() == out.read_text()

    shown = output_of("info", saved)
    assert "AutoDALMC(" in shown
    assert f"sizes of the clusters: {sizes}\n" in shown
    assert "chose 3 among 11 numbers of clusters, 2 to 12" in shown

    half = {"view_1": views_and_y[0]["view_1"][:30]}
    np.savez(data, **half)
    output_of("predict", saved, data, "--out", out)
    labels, confidence = read_confident_labels(out)
    expected = load(saved).predict_with_confidence(half)
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_allclose(confidence, expected[1], atol=6e-4)


def test_samples_in_doubt(data, out, tmp_path, chosen):
    chosen.save(tmp_path / "m.anchorview")
    certain = chosen.labels_without_doubt()
    expected = np.where(certain < 0, -9, certain)
    fit = ("fit", data, "--budget", "fast", "--out", out, "--doubtful", -9)
    predict = ("predict", tmp_path / "m.anchorview", data, "--out", out, "--doubtful", -9)
    for arguments in (fit, predict):
        record = json.loads(output_of(*arguments, "--json"))
        np.testing.assert_array_equal(read_confident_labels(out)[0], expected)
        assert record["n_without_cluster"] == (expected == -9).sum()


def test_clusters_continue_those_of_a_reference(data, out, tmp_path):
    saved = tmp_path / "old.anchorview"
    old = DALMC(3, random_state=0).fit(read_views(data)).relabel({2: "sport"}, output="names")
    old.save(saved)
    fit = ("fit", data, "-k", 3, "--method", "dalmc", "--seed", 4, "--reference", saved)
    assert "3 of 3 clusters of reference continue" in output_of(*fit, "--out", out).lower()
    table = pd.read_csv(out)
    np.testing.assert_array_equal(table["cluster"], old.labels_)
    assert (table["name"] == "sport").sum() == (old.labels_ == 2).sum()
    record = json.loads(output_of(*fit, "--json"))
    assert [row["change"] for row in record["changes"]] == ["continued"] * 3
    assert "--save and --reference are the same file" in error_of(*fit, "--save", saved)


def test_info_describes_data(data, tmp_path, views_and_y):
    shown = output_of("info", data)
    assert "120 samples, 20 features in 2 views" in shown and "3 classes" in shown
    np.savez(tmp_path / "one.npz", a=views_and_y[0]["view_0"])
    assert "120 samples, 8 features in 1 view\n" in output_of("info", tmp_path / "one.npz")


NUMBERS = "3,4,6,9,10"


@pytest.fixture(scope="module")
def nested():
    return nested_views()


@pytest.fixture(scope="module")
def levels(nested):
    """Model with the levels of 3 and 9 clusters; 3 is chosen."""
    numbers = list(map(int, NUMBERS.split(",")))
    return AutoDALMC(numbers, budget="fast", random_state=0).fit(nested[0])


@pytest.fixture(scope="module")
def saved_levels(levels, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "m.anchorview"
    levels.save(path)
    return path


@pytest.fixture
def nested_data(tmp_path, nested):
    np.savez(tmp_path / "nested.npz", **nested[0], y=nested[1])
    return tmp_path / "nested.npz"


def test_fit_and_info_print_the_levels_and_how_clusters_split(nested_data, levels, saved_levels):
    assert levels.levels_.index.tolist() == [3, 9]
    splits = levels.tree_.drop_duplicates("parent")["split_agreement"].map("{:.2f}".format)
    fitted = output_of("fit", nested_data, "-k", NUMBERS, "--budget", "fast")
    for shown in (fitted, output_of("info", saved_levels)):
        assert "chose 3 among 5 numbers of clusters, 3 to 10" in shown
        rows = [line.split() for line in shown.splitlines()]
        for level in levels.levels_.drop(columns="chosen").itertuples():
            assert [str(level[0]), *map("{:.2f}".format, level[1:])] in rows
        assert all(f"of 3 splits into 3 of 9 (agreement {split}" in shown for split in splits)
    rows = levels.levels_.reset_index().to_dict("records")
    assert json.loads(output_of("info", saved_levels, "--json"))["levels"] == rows


def test_predict_at_a_level_and_by_default_at_the_chosen_one(
    nested_data, out, saved_levels, levels
):
    predict = ("predict", saved_levels, nested_data)
    record = json.loads(output_of(*predict, "--level", 9, "--out", out, "--json"))
    written = pd.read_csv(out)
    assert written.columns.tolist() == ["sample", "cluster"]
    np.testing.assert_array_equal(written["cluster"], levels.labels_at(9))
    assert (record["n_clusters"], record["n_doubtful"]) == (9, None)
    output_of(*predict, "--out", out)
    expected = out.read_text()
    assert expected.startswith("sample,cluster,confidence\n")
    output_of(*predict, "--level", 3, "--out", out)
    assert out.read_text() == expected
    message = error_of(*predict, "--level", 13)
    assert "--level 13" in message and "3 or 9" in message
    assert "doubtful" in error_of(*predict, "--level", 9, "--out", out, "--doubtful", -1)


NAMES = {"0": "T\ncells", "2": "T\ncells", "1": "=B"}


@pytest.fixture
def four(tmp_path):
    DALMC(4, random_state=0).fit(clustered_views(80, 4)[0]).save(tmp_path / "m.anchorview")
    return tmp_path / "m.anchorview"


def relabeled(model, folder, mapping):
    (folder / "mapping.json").write_text(json.dumps(mapping), encoding="utf-8")
    out = folder / "named.anchorview"
    return out, ("relabel", model, folder / "mapping.json", "--save", out)


@pytest.mark.filterwarnings("default::UserWarning")
def test_clusters_are_merged_and_named(four, tmp_path, out):
    named, arguments = relabeled(four, tmp_path, NAMES)
    shown = output_of(*arguments)
    before, after = load(four), load(named)
    np.testing.assert_array_equal(after.labels_, np.array([0, 1, 0, 2])[before.labels_])
    for each in (shown, output_of("info", named)):
        assert f"sizes of the clusters: {np.bincount(after.labels_).tolist()}" in each
        assert "cluster 0: T\\ncells" in each
    record = json.loads(output_of("info", named, "--json"))
    assert record["cluster_names"] == list(after.cluster_names_)
    np.savez(tmp_path / "data.npz", **clustered_views(80, 4)[0])
    result = run("predict", named, tmp_path / "data.npz", "--out", out)
    assert "warning" in result.stderr and "'=B'" in result.stderr
    table = pd.read_csv(out)
    assert table["name"].tolist() == [after.cluster_names_[each] for each in table["cluster"]]
    after.relabel({}, output="names").save(tmp_path / "by_name")
    output_of("predict", tmp_path / "by_name", tmp_path / "data.npz", "--out", out)
    pd.testing.assert_frame_equal(pd.read_csv(out), table)


@pytest.mark.parametrize("content", [b'{"4": "a"}', b"[]", b"{", b"\xff", b"[" * 100_000])
def test_mappings_that_are_refused(four, tmp_path, content):
    out, arguments = relabeled(four, tmp_path, {})
    (tmp_path / "mapping.json").write_bytes(content)
    assert "mapping.json" in error_of(*arguments)
    assert not out.exists()


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


def test_explanations_are_those_of_the_library(model, tables, tmp_path):
    markers, summary, report = (tmp_path / name for name in ("m.csv", "s.csv", "r.html"))
    options = ("--markers", markers, "--summary", summary, "--report", report)
    shown = output_of("explain", model, tables, *options)
    assert "150 samples in 3 clusters" in shown
    for name, path in (("Markers", markers), ("Summary", summary), ("Report", report)):
        assert f"{name} written to {path}" in shown
    fitted, views = load(model), read_views(tables)
    pd.testing.assert_frame_equal(
        pd.read_csv(markers, keep_default_na=False),
        cluster_markers(fitted, views),
        check_dtype=False,
        rtol=1e-5,
    )
    expected, written = cluster_summary(fitted, views), pd.read_csv(summary, index_col="cluster")
    np.testing.assert_allclose(written["confidence"], expected["confidence"], rtol=1e-5)
    assert written["medoids"].tolist() == ["; ".join(ids) for ids in expected["medoids"]]
    assert "<html" in report.read_text()
    flat = " ".join(shown.split())
    assert all(title in flat for title in expected["title"])
    record = json.loads(output_of("explain", model, tables, "--json"))
    assert [cluster["size"] for cluster in record["clusters"]] == expected["size"].tolist()
    assert record["clusters"][0]["medoids"] == list(expected["medoids"].iloc[0])
