"""The command line on incomplete data, folders and saved models."""

import numpy as np
import pandas as pd
import pytest
from test_commands import QUICK, error_of, run

from anchorview import DALMC, AutoDALMC, MultiViewData, load, make_multiview


@pytest.fixture
def incomplete():
    """Two views that know 80 % of their samples each, and the classes."""
    views, y = make_multiview(150, n_clusters=3, n_features=(8, 12), missing=0.2, random_state=0)
    return views, y


@pytest.fixture
def folder(tmp_path, incomplete):
    """The same as a folder of CSV files whose ids must not be read as numbers."""
    views, y = incomplete
    ids = np.array([f"{i:04d}" for i in range(150)])
    path = tmp_path / "views"
    path.mkdir()
    for name, view in views.items():
        has = ~np.isnan(view).all(axis=1)
        frame = pd.DataFrame(view[has], index=pd.Index(ids[has], name="id"))
        frame.to_csv(path / f"{name}.csv")
    pd.Series(y, index=pd.Index(ids, name="id"), name="class").to_csv(path / "labels.csv")
    return path


def test_fit_save_predict_on_a_folder_with_missing_samples(folder, tmp_path, incomplete):
    out, saved, again = tmp_path / "fit.csv", tmp_path / "m.anchorview", tmp_path / "again.csv"
    dalmc = ("--method", "dalmc")
    result = run("fit", folder, "-k", 3, *dalmc, "--out", out, "--save", saved)
    assert result.exit_code == 0, result.output
    assert "ACC " in result.stdout
    assert f"Model saved to {saved}" in result.stdout
    written = pd.read_csv(out, dtype={"sample": str}).set_index("sample")["cluster"]
    assert set(written.index) == {f"{i:04d}" for i in range(150)}
    model = load(saved)
    pd.testing.assert_series_equal(
        written, model.labels_series, check_dtype=False, check_names=False, check_index_type=False
    )

    result = run("predict", saved, folder, "--out", again)
    assert result.exit_code == 0, result.output
    assert "150 samples; sizes of the clusters: [" in result.stdout
    assert again.read_text() == out.read_text()


def test_rows_of_zeros_are_missing_only_when_said(tmp_path, incomplete):
    views, y = incomplete
    path = tmp_path / "zeros.npz"
    np.savez(path, **{name: np.nan_to_num(view) for name, view in views.items()}, y=y)
    assert "are missing" not in run("info", path).stdout
    said = run("info", path, "--zero-rows-missing").stdout
    assert "20.0% of the view entries are missing, in 3 patterns" in said
    out = tmp_path / "labels.csv"
    assert run("fit", path, *QUICK, "--zero-rows-missing", "--out", out).exit_code == 0
    labels = pd.read_csv(out)["cluster"]
    model = AutoDALMC(3, max_candidates=4, random_state=0)
    expected = model.fit(MultiViewData(views)).labels_
    np.testing.assert_array_equal(labels, expected)


def test_info_tells_of_data_and_models(tmp_path, incomplete):
    views, y = incomplete
    np.savez(tmp_path / "d.npz", **views, y=y)
    data = run("info", tmp_path / "d.npz").stdout
    assert "150 samples, 20 features in 2 views" in data
    assert "labels of 3 classes" in data
    DALMC(3, beta=0.5, random_state=0).fit(views).save(tmp_path / "m.anchorview")
    model = run("info", tmp_path / "m.anchorview").stdout
    assert "DALMC(beta=0.5, n_clusters=3, random_state=0)" in model
    assert "view_1" in model


def test_errors_are_one_line(tmp_path, incomplete):
    views, _ = incomplete
    np.savez(tmp_path / "d.npz", **views)
    (tmp_path / "no.anchorview").write_text("hello")
    assert "is not an anchorview model" in error_of(run("info", tmp_path / "no.anchorview"))
    assert "no.anchorview" in error_of(
        run("predict", tmp_path / "no.anchorview", tmp_path / "d.npz")
    )
    DALMC(3, random_state=0).fit(np.nan_to_num(views["view_0"])).save(tmp_path / "m.anchorview")
    message = error_of(run("predict", tmp_path / "m.anchorview", tmp_path / "d.npz"))
    assert "View 'view_1' is unknown" in message
    message = error_of(
        run("fit", tmp_path / "d.npz", "-k", 3, "--save", tmp_path / "none" / "m.anchorview")
    )
    assert "there is no folder" in message


def test_files_are_not_written_over_each_other(tmp_path, incomplete):
    views, _ = incomplete
    data, model = tmp_path / "d.npz", tmp_path / "m.anchorview"
    np.savez(data, **views)
    DALMC(3, random_state=0).fit(views).save(model)
    for out in (data, model):
        assert "are the same file" in error_of(run("predict", model, data, "--out", out))
    same = tmp_path / "same"
    assert "--out and --save are the same file" in error_of(
        run("fit", data, "-k", 3, "--out", same, "--save", same)
    )
    DALMC(3, variant="box-graph", random_state=0).fit(np.nan_to_num(views["view_0"])).save(model)
    assert "ablation" in error_of(run("predict", model, data))
