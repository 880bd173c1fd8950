"""Commands fit, predict and info on incomplete data, folders and saved models."""

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, MultiViewData, load, make_multiview
from helpers.command_line import QUICK, error_of, output_of


@pytest.fixture(scope="module")
def incomplete():
    """Two views of which each sample has 80 % on average, and the classes."""
    return make_multiview(150, n_clusters=3, n_features=(8, 12), missing=0.2, random_state=0)


@pytest.fixture
def data(tmp_path, incomplete):
    views, y = incomplete
    np.savez(tmp_path / "d.npz", **views, y=y)
    return tmp_path / "d.npz"


def test_fit_save_predict_on_a_folder_with_missing_samples(tmp_path, incomplete):
    views, y = incomplete
    folder, out, saved, again = (tmp_path / name for name in ("views", "fit.csv", "m", "again.csv"))
    folder.mkdir()
    # These ids must not be read as numbers.
    ids = pd.Index([f"{i:04d}" for i in range(150)], name="id")
    for name, view in views.items():
        pd.DataFrame(view, index=ids).dropna().to_csv(folder / f"{name}.csv")
    pd.Series(y, index=ids, name="class").to_csv(folder / "labels.csv")

    shown = output_of("fit", folder, "-k", 3, "--method", "dalmc", "--out", out, "--save", saved)
    assert "ACC " in shown
    assert f"Model saved to {saved}" in shown
    written = pd.read_csv(out, dtype={"sample": str}).set_index("sample")["cluster"]
    assert set(written.index) == set(ids)
    labels = load(saved).labels_series
    pd.testing.assert_series_equal(
        written, labels, check_dtype=False, check_names=False, check_index_type=False
    )
    shown = output_of("predict", saved, folder, "--out", again)
    assert "150 samples; sizes of the clusters: [" in shown
    assert again.read_text() == out.read_text()


def test_rows_of_zeros_are_missing_only_on_request(tmp_path, incomplete):
    views, y = incomplete
    path, out = tmp_path / "zeros.npz", tmp_path / "labels.csv"
    np.savez(path, **{name: np.nan_to_num(view) for name, view in views.items()}, y=y)
    assert "are missing" not in output_of("info", path)
    shown = output_of("info", path, "--zero-rows-missing")
    assert "20.0% of the view entries are missing" in shown
    output_of("fit", path, *QUICK, "--zero-rows-missing", "--out", out)
    model = AutoDALMC(3, budget="fast", random_state=0)
    expected = model.fit(MultiViewData(views)).labels_
    np.testing.assert_array_equal(pd.read_csv(out)["cluster"], expected)


def test_info_describes_data_and_models(data, tmp_path, incomplete):
    views, _ = incomplete
    shown = output_of("info", data)
    assert "150 samples, 20 features in 2 views" in shown
    assert "3 classes" in shown
    np.savez(tmp_path / "one.npz", a=np.nan_to_num(views["view_0"]))
    assert "150 samples, 8 features in 1 view\n" in output_of("info", tmp_path / "one.npz")
    DALMC(3, beta=0.5, random_state=0).fit(views).save(tmp_path / "m.anchorview")
    shown = output_of("info", tmp_path / "m.anchorview")
    assert "DALMC(beta=0.5, n_clusters=3, random_state=0)" in shown
    assert "view_1" in shown


def test_models_that_cannot_be_used(data, tmp_path, incomplete):
    model = tmp_path / "m.anchorview"
    model.write_text("hello")
    assert "is not an anchorview model" in error_of("info", model)
    assert "m.anchorview" in error_of("predict", model, data)
    view = np.nan_to_num(incomplete[0]["view_0"])
    DALMC(3, random_state=0).fit(view).save(model)
    assert "View 'view_1' is unknown" in error_of("predict", model, data)
    DALMC(3, variant="box-graph", random_state=0).fit(view).save(model)
    for command in ("predict", "explain"):
        assert "ablation" in error_of(command, model, data)
