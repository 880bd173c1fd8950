"""Options on views and tables: which are read and how, classes, batches and metadata."""

import json
import re

import anndata
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, load, make_multiview
from anchorview.cli import loading
from anchorview.metrics import clustering_accuracy
from helpers.batches import planted_batches
from helpers.cells import cells
from helpers.command_line import DALMC_3, error_of, output_of, read_labels
from helpers.data import clustered_views
from helpers.view_files import write_npy_folder, write_view_tables

pytestmark = pytest.mark.filterwarnings("ignore:::(mudata|anndata)\\b")

VIEWS = ("--view", "rna=X:highly_variable", "--view", "protein=X")
STEPS = ("--preprocess", "rna=lognorm", "--preprocess", "protein=clr")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("cells") / "cells.h5mu"
    cells().write(path)
    return path


def labels_in(path):
    return pd.read_csv(path)["cluster"].to_numpy()


@pytest.mark.parametrize("memory", [(), ("--memory-limit", "150KB")], ids=["memory", "disk"])
def test_matrices_of_a_file_are_remembered_by_the_model(path, tmp_path, memory):
    out, saved, new = (tmp_path / name for name in ("labels.csv", "m.anchorview", "new.csv"))
    importance = ("--importance", "rna=9", "--importance", "protein=0.5")
    options = (*DALMC_3, *importance, "--out", out, "--save", saved, "--json", *memory)
    record = json.loads(output_of("fit", path, *VIEWS, *STEPS, *options))
    assert [view["n_features"] for view in record["views"]] == [30, 12]
    preprocess = {"rna": "lognorm", "protein": "clr"}
    views = {"rna": "X:highly_variable", "protein": "X"}
    given = {"preprocess": preprocess, "view_importance": {"rna": 9.0, "protein": 0.5}}
    expected = DALMC(3, **given, random_state=0).fit(cells(), views=views)
    np.testing.assert_array_equal(labels_in(out), expected.labels_)
    assert load(saved).view_selection_ == views
    output_of("predict", saved, path, "--out", new)
    np.testing.assert_array_equal(labels_in(new), expected.labels_)
    output_of("explain", saved, path, "--summary", tmp_path / "summary.csv")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--view", "rna"), ("--view rna",)),
        (("--view", "rna=X", "--view", "rna=X"), ("--view", "'rna'", "twice")),
        (("--view", "atac=X"), ("'atac'", "rna, protein")),
        (("--importance", "rna=high"), ("--importance", "'high'")),
        (("--importance", "atac=2"), ("importance", "'atac'")),
    ],
)
def test_refused_options(path, options, parts):
    message = error_of("fit", path, "-k", 3, *options)
    assert all(part in message for part in parts), message


def test_tables_that_are_no_views_are_left_out(tmp_path):
    folder, saved, out = tmp_path / "tables", tmp_path / "m.anchorview", tmp_path / "labels.csv"
    ids = write_view_tables(folder, clustered_views(60, 3)[0])
    pd.DataFrame({"sex": ["m", "f"] * 30}, ids).to_csv(folder / "metadata.csv")
    message = error_of("convert", folder, tmp_path / "none")
    assert "metadata.csv" in message and "'sex'" in message and "views" in message
    chosen = ("--view", "a=view_0.csv", "--view", "b=view_1")
    output_of("fit", folder, *DALMC_3, *chosen, "--save", saved)
    model = load(saved)
    assert model.view_names_in_ == ("a", "b")
    output_of("convert", folder, tmp_path / "arrays", *chosen)
    for new in ((folder, *chosen), (tmp_path / "arrays",)):
        output_of("predict", saved, *new, "--out", out)
        np.testing.assert_array_equal(labels_in(out), model.labels_)
    output_of("explain", saved, folder, *chosen)
    assert "'c.csv'" in error_of("info", folder, "--view", "a=c.csv")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_of_tables(suffix, tmp_path, set_constants):
    folder, saved, out = tmp_path / "tables", tmp_path / "m.anchorview", tmp_path / "labels.csv"
    folder.mkdir()
    views, y = clustered_views(90, 3)
    ids = pd.Index([f"s{row}" for row in range(90)], name="id")
    about = pd.DataFrame({"plan": np.array(list("abc"))[y], "code": y, "name": ids}, ids)
    tables = {"about": about, "image": pd.DataFrame(views["view_0"], ids).add_prefix("i")}
    for name, table in tables.items():
        getattr(table, f"to_{suffix}")(folder / f"{name}.{suffix}")
    fit = ("fit", folder, *DALMC_3)
    assert "'name'" in error_of(*fit)
    columns = ("--drop", "name", "--categorical", "about:code")
    output_of(*fit, *columns, "--save", saved)
    tables["about"] = about.drop(columns="name").astype({"code": "category"})
    expected = DALMC(3, random_state=0).fit(tables)
    np.testing.assert_array_equal(load(saved).labels_, expected.labels_)
    output_of("predict", saved, folder, *columns, "--out", out)
    np.testing.assert_array_equal(labels_in(out), expected.labels_)
    output_of("explain", saved, folder, *columns)
    info = json.loads(output_of("info", folder, *columns, "--json"))
    assert info["views"][0]["type"] == "2 categories"
    # The model knows which columns are categories.
    output_of("predict", saved, folder, "--drop", "name", "--out", out)
    np.testing.assert_array_equal(labels_in(out), expected.labels_)
    assert "'nothing'" in error_of("info", folder, "--drop", "nothing")
    # As if the tables were larger than memory.
    set_constants(loading, DATA_SHARE=1e-9)
    output_of(*fit, *columns, "--out", out)
    assert adjusted_rand_score(labels_in(out), expected.labels_) == 1


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ({"index": False}, ["--no-id-column"]),
        ({"index": False, "header": False}, ["--no-id-column", "--no-header"]),
    ],
    ids=["no ids", "neither"],
)
def test_tables_without_ids_or_header(tmp_path, views_and_y, out, written, given):
    folder, model, arrays = (tmp_path / name for name in ("tables", "a.anchorview", "arrays"))
    folder.mkdir()
    views, _ = views_and_y
    for name, view in views.items():
        pd.DataFrame(view).add_prefix("f").to_csv(folder / f"{name}.csv", **written)
    for command in (("fit", folder), ("convert", folder, arrays)):
        assert "id_column=False" in error_of(*command)
    output_of("fit", folder, *DALMC_3, *given, "--out", out, "--save", model)
    expected = DALMC(3, random_state=0).fit(views).labels_
    np.testing.assert_array_equal(read_labels(out), expected)
    assert "id_column=False" in error_of("predict", model, folder)
    output_of("predict", model, folder, *given, "--out", out)
    np.testing.assert_array_equal(read_labels(out), expected)
    output_of("convert", folder, arrays, *given)
    assert np.load(arrays / "view_0.npy").shape == views["view_0"].shape


def test_rows_of_zeros_are_missing_only_on_request(tmp_path, out):
    views, _ = make_multiview(150, n_clusters=3, n_features=(8, 12), missing=0.2, random_state=0)
    path, zeros = tmp_path / "zeros.npz", "--zero-rows-missing"
    np.savez(path, **{name: np.nan_to_num(view) for name, view in views.items()})
    assert "are missing" not in output_of("info", path)
    assert "20.0% of the view entries are missing" in output_of("info", path, zeros)
    output_of("fit", path, *DALMC_3, zeros, "--out", out)
    expected = DALMC(3, random_state=0).fit(views).labels_
    np.testing.assert_array_equal(read_labels(out), expected)


CLASSES = ("--labels", "cell_type")


def accuracy(*arguments):
    """Numbers of features, and accuracy if there are classes."""
    record = json.loads(output_of("fit", *arguments, *DALMC_3, "--json"))
    return [view["n_features"] for view in record["views"]], (record["scores"] or {}).get("ACC")


@pytest.fixture
def classes(views_and_y):
    return np.array(["B", "NK", "T"])[views_and_y[1]]


@pytest.fixture
def expected(views_and_y):
    views, y = views_and_y
    return [8, 12], clustering_accuracy(y, DALMC(3, random_state=0).fit(views).labels_)


@pytest.mark.filterwarnings("ignore:Arrays that are neither views nor class labels")
def test_classes_of_variables_and_files_of_arrays(data, tmp_path, views_and_y, classes, expected):
    # The usual name holds something else.
    np.savez(data, **views_and_y[0], cell_type=classes, y=np.arange(120) % 7)
    assert accuracy(data, *CLASSES) == expected
    assert accuracy(data) != expected
    assert "'cluster'" in error_of("info", data, "--labels", "cluster")
    folder = write_npy_folder(tmp_path / "arrays", **views_and_y[0], cell_type=classes)
    assert accuracy(folder, *CLASSES) == expected
    assert accuracy(folder) == (expected[0], None)


def test_classes_in_columns_of_tables(tmp_path, views_and_y, classes, expected):
    ids = write_view_tables(tmp_path, views_and_y[0])
    view = pd.read_csv(tmp_path / "view_1.csv", index_col=0)
    view.assign(cell_type=classes).to_csv(tmp_path / "view_1.csv")
    assert accuracy(tmp_path, *CLASSES) == expected
    # Without the option, it is a category.
    assert accuracy(tmp_path)[1] is None
    # A table of several columns about the samples.
    view.to_csv(tmp_path / "view_1.csv")
    about = pd.DataFrame({"donor": "d1", "cell_type": classes}, index=ids)
    about.to_csv(tmp_path / "labels.csv")
    assert accuracy(tmp_path, *CLASSES) == expected
    assert "labels.csv" in error_of("fit", tmp_path, *DALMC_3)


@pytest.fixture(scope="module")
def planted():
    return planted_batches(120, k=3, n_batches=3, widths=(8, 6), lacking=False)


@pytest.fixture
def batch_tables(planted, tmp_path):
    """Folder of CSV files with sample ids."""
    write_view_tables(tmp_path / "tables", planted[0])
    return tmp_path / "tables"


def test_batches_are_matched_by_id_and_kept_by_the_model(batch_tables, planted, tmp_path):
    views, types, batch = planted
    file, model = tmp_path / "batch.csv", tmp_path / "model.anchorview"
    order = np.random.default_rng(0).permutation(120)
    pd.DataFrame({"id": [f"s{i}" for i in order], "plate": batch[order]}).to_csv(file, index=False)
    report, out = tmp_path / "report.html", tmp_path / "labels.csv"
    given = ("--batch", file, "--save", model, "--report", report)
    assert "3 batches taken out" in output_of("fit", batch_tables, *DALMC_3, *given)
    assert "3 batches taken out" in report.read_text()
    labels = load(model).labels_
    assert adjusted_rand_score(types, labels) > 0.95
    np.testing.assert_array_equal(labels, DALMC(3, random_state=0).fit(views, batch=batch).labels_)
    output_of("predict", model, batch_tables, "--batch", file, "--out", out)
    np.testing.assert_array_equal(labels_in(out), labels)
    assert "batch" in error_of("predict", model, batch_tables)
    assert "Cluster" in output_of("explain", model, batch_tables, "--batch", file)


@pytest.mark.parametrize("kind", ["column", "ids", "order", "obs"])
def test_weights_are_a_column_or_a_file(batch_tables, planted, tmp_path, kind):
    views, ids = planted[0], [f"s{i}" for i in range(120)]
    weights = np.random.default_rng(0).integers(0, 4, 120) + 0.5
    file, out, data, given = tmp_path / "weights.csv", tmp_path / "labels.csv", batch_tables, "w"
    if kind == "column":
        first = next(iter(batch_tables.iterdir()))
        pd.read_csv(first, index_col=0).assign(w=weights).to_csv(first)
    elif kind == "obs":
        obs, data = pd.DataFrame({"w": weights}, ids), tmp_path / "data.h5ad"
        anndata.AnnData(np.hstack(list(views.values())), obs).write_h5ad(data)
        views = {"X": np.hstack(list(views.values()))}
    else:
        table, given = pd.DataFrame({"w": weights}, ids), file
        shuffled = table.sample(frac=1, random_state=0) if kind == "ids" else table
        shuffled.to_csv(file, index=kind == "ids")
    output_of("fit", data, *DALMC_3, "--weights", given, "--out", out)
    expected = DALMC(3, random_state=0).fit(views, sample_weight=weights)
    assert adjusted_rand_score(labels_in(out), expected.labels_) == 1
    missing = error_of("fit", data, *DALMC_3, "--weights", "no such column")
    assert "no such column" in missing


def test_errors_of_batches_name_the_file(batch_tables, planted, tmp_path):
    file = tmp_path / "batch.csv"
    fit = ("fit", batch_tables, *DALMC_3, "--batch", file)
    assert "cannot be read" in error_of(*fit)
    two = pd.DataFrame({"id": [f"s{i}" for i in range(120)], "plate": 0, "donor": 1})
    few, foreign = pd.DataFrame({"plate": planted[2][:7]}), two[["id", "plate"]].replace("s0", "t0")
    for wrong, part in ((few, "7 rows"), (two, "2 columns"), (foreign.iloc[:1], "'t0'")):
        wrong.to_csv(file, index=False)
        message = error_of(*fit)
        assert str(file) in message and part in message


N = 60


@pytest.fixture
def known_tables(tmp_path):
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


@pytest.mark.parametrize(("command", "suffix"), [("fit", "parquet"), ("explain", "csv")])
def test_variables_texts_and_thumbnails_are_in_the_report(known_tables, tmp_path, command, suffix):
    known, report, model = tmp_path / f"known.{suffix}", tmp_path / "r.html", tmp_path / "model"
    options = ("--metadata", known, "--texts", "note", "--thumbnails", "picture")
    if command == "fit":
        output_of("fit", known_tables, *DALMC_3, *options, "--report", report)
    else:
        output_of("fit", known_tables, *DALMC_3, "--save", model)
        output_of("explain", model, known_tables, *options, "--report", report)
    page = report.read_text()
    assert "1 of 2 variables differ between clusters" in page
    texts = set(re.findall(r"(\d{3})\b[^<>]*</[^>]*>(?:<[^>]*>)*[^<>]*text of (\d{3})", page))
    assert len(texts) > 3
    assert all(sample == text for sample, text in texts)
    assert re.search(r'data-thumbnail="\d', page)


def test_errors_of_metadata_name_the_option_or_the_file(known_tables, tmp_path):
    known, report = tmp_path / "known.csv", ("--report", tmp_path / "r.html")
    fit = ("fit", known_tables, *DALMC_3)
    for option in ("--texts", "--thumbnails"):
        message = error_of(*fit, "--metadata", known, *report, option, "words")
        assert option in message and "'words'" in message
    assert "--report FILE" in error_of(*fit, "--metadata", known)
    assert "--metadata FILE" in error_of(*fit, *report, "--texts", "note")
    pd.DataFrame({"id": ["x"], "stage": ["a"]}).to_csv(known, index=False)
    message = error_of(*fit, "--metadata", known, *report)
    assert str(known) in message and "'x'" in message
