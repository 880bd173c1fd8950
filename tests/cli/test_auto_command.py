"""Command line with AutoDALMC: choice of the method and the number of clusters, saved models."""

import numpy as np
import pytest

from anchorview import DALMC, AutoDALMC, load
from anchorview.estimators.auto.candidates import CandidateError
from helpers.candidates import make_candidates_fail
from helpers.command_line import error_of, output_of, read_confident_labels, run

FEW = ("--budget", "fast")


@pytest.fixture(scope="module")
def chosen(views_and_y):
    """Model that chose the number of clusters."""
    return AutoDALMC(budget="fast", random_state=0).fit(views_and_y[0])


@pytest.fixture
def fits(monkeypatch):
    """Class names and parameters of models, which are recorded instead of fitted."""
    recorded = []

    def fit(model, X):
        recorded.append((type(model).__name__, model.get_params()))
        raise ValueError("recorded")

    for cls in (AutoDALMC, DALMC):
        monkeypatch.setattr(cls, "fit", fit)
    return recorded


def test_without_k_the_number_is_chosen_and_explained(data, out, chosen, views_and_y):
    views, _ = views_and_y
    result = run("fit", data, *FEW, "--out", out)

    assert (result.exit_code, result.stderr) == (0, "")
    labels, confidence = read_confident_labels(out)
    np.testing.assert_array_equal(labels, chosen.labels_)
    np.testing.assert_allclose(confidence, chosen.confidence_, atol=6e-4)
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["View", "Features", "Weight", "Agreement"] in rows
    for name, row in chosen.views_.iterrows():
        scores = [f"{row[column]:.3f}" for column in ("weight", "agreement_with_result")]
        assert [name, str(views[name].shape[1]), *scores] in rows
    assert "120 samples in 3 clusters by AutoDALMC (8 candidates, mean agreement" in result.stdout
    support = chosen.levels_.loc[3, "support"]
    assert f": support {support:.2f} (" in result.stdout
    doubtful = int((chosen.confidence_ < 0.5).sum())
    assert f"doubtful samples (confidence below 0.5): {doubtful} of 120 (" in result.stdout


def test_classes_in_the_file_do_not_change_the_labels(data, out, chosen, views_and_y):
    np.savez(data, **views_and_y[0], y=np.arange(120) % 7)
    output_of("fit", data, *FEW, "--out", out)
    np.testing.assert_array_equal(read_confident_labels(out)[0], chosen.labels_)


@pytest.mark.parametrize(
    ("text", "value"),
    [("10", 10), ("2-4", range(2, 5)), ("5,8,10", [5, 8, 10]), ("10,5,5", [5, 10]), ("7-7", 7)],
)
def test_formats_of_k(data, fits, text, value):
    run("fit", data, "-k", text)
    assert fits[0][1]["n_clusters"] == value


@pytest.mark.parametrize(
    "text", ["x", "1", "5-2", "0-3", "1-3", "2-", "5,", "5,1", "-3", "2.5", "", "٣", "9" * 5000]
)
def test_bad_k_names_the_formats(data, text):
    message = error_of("fit", data, "-k", text)
    assert "'-k'" in message
    assert "a number of at least 2 (10), a range (2-30) or a list (5,8,10)" in message


@pytest.mark.parametrize("options", [["--method", "awmvc"], ["--method", "dalmc"], ["--beta", 1]])
@pytest.mark.parametrize(("numbers", "example"), [(["-k", "2-4"], 2), (["-k2,4"], 2), ([], 10)])
def test_other_methods_need_one_number(data, options, numbers, example):
    message = error_of("fit", data, *numbers, *options)
    assert message.startswith("-k: ")
    assert f"needs one number of clusters, for example -k {example}; only --method" in message


def test_only_a_choice_is_explained(data):
    shown = output_of("fit", data, "-k", "3,6", *FEW)
    assert "120 samples in 3 clusters" in shown
    assert "chose 3 clusters among 3, 6: support " in shown
    assert "chose" not in output_of("fit", data, "-k", 3, *FEW)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_anchors", 4),
        ("n_components", 3),
        ("beta", 0.5),
        ("scaling", "unit"),
        ("solver", "direct"),
        ("assignment", "cluster_qr"),
        ("n_init", 2),
        ("max_iter", 7),
        ("tol", 0.0),
    ],
)
def test_a_setting_selects_dalmc_and_is_rejected_by_auto(data, fits, name, value):
    setting = (f"--{name.replace('_', '-')}", value)
    run("fit", data, "--clusters", 3, *setting, "--seed", 5, "--verbose")
    expected = {name: value, "n_clusters": 3, "random_state": 5, "verbose": 1}
    assert fits == [("DALMC", DALMC(**expected).get_params())]
    message = error_of("fit", data, "-k", 3, "--method", "auto", *setting)
    assert f"{setting[0]} is not a setting of auto, which has " in message


def test_verbose_prints_the_stages_on_stderr(data):
    result = run("fit", data, "-k", 3, "--beta", 0.5, "--verbose")
    assert "[DALMC] assigned" in result.stderr
    assert "[DALMC]" not in result.stdout
    assert "3 clusters by DALMC" in result.stdout


def test_without_settings_the_method_is_auto(data, fits):
    run("fit", data, "--budget", "fast", "--seed", 7, "--verbose")
    run("fit", data, "--method", "auto")
    expected = AutoDALMC(budget="fast", random_state=7, verbose=1).get_params()
    assert fits[0] == ("AutoDALMC", expected)
    assert fits[1] == ("AutoDALMC", AutoDALMC(random_state=0).get_params())


def test_the_budget_is_for_auto_only(data):
    for options, method in ((["--beta", 1], "dalmc"), (["--method", "awmvc"], "awmvc")):
        message = error_of("fit", data, "-k", 3, *options, *FEW)
        assert f"--budget is not a setting of {method}" in message


@pytest.mark.filterwarnings("default::UserWarning")
def test_failed_candidates_are_reported_in_one_line(data, monkeypatch):
    make_candidates_fail(
        monkeypatch, lambda own: own.scaling == "unit-center", CandidateError("no\nluck")
    )
    result = run("fit", data, "-k", 3, *FEW)
    assert result.exit_code == 0, result.output
    assert "AutoDALMC (5 candidates, " in result.stdout
    assert result.stderr.startswith("anchorview: warning: 3 of 8 candidates could not be fitted")
    assert result.stderr.endswith(" beta 0.1: no luck\n")
    assert result.stderr.count("\n") == 1


@pytest.mark.filterwarnings("default::UserWarning")
def test_empty_clusters_are_reported_once_whatever_the_candidates_warn_of(data, views_and_y):
    np.savez(data, a=np.repeat(views_and_y[0]["view_0"][:3], 20, axis=0))
    result = run("fit", data, "-k", 5, *FEW)
    assert result.exit_code == 0, result.output
    assert result.stderr == "anchorview: warning: 2 of 5 clusters are empty.\n"


def test_save_predict_and_info(data, out, tmp_path, chosen, views_and_y):
    saved, again = tmp_path / "m.anchorview", tmp_path / "again.csv"
    shown = output_of("fit", data, "-k", "2-12", *FEW, "--out", out, "--save", saved)
    assert f"Model saved to {saved}" in shown
    np.testing.assert_array_equal(load(saved).predict(views_and_y[0]), chosen.labels_)

    shown = output_of("predict", saved, data, "--out", again)
    sizes = np.bincount(chosen.labels_, minlength=3).tolist()
    assert f"120 samples; sizes of the clusters: {sizes}\n" in shown
    assert "doubtful samples (confidence below 0.5): " in shown
    assert "ACC " in shown
    assert again.read_text() == out.read_text()

    shown = output_of("info", saved)
    assert "AutoDALMC(" in shown
    assert f"sizes of the clusters: {sizes}\n" in shown
    assert "120 samples in 3 clusters by AutoDALMC (8 candidates, mean agreement" in shown
    assert "chose 3 clusters among 11 numbers from 2 to 12: support " in shown

    half = {"view_1": views_and_y[0]["view_1"][:30]}
    np.savez(data, **half)
    output_of("predict", saved, data, "--out", out)
    labels, confidence = read_confident_labels(out)
    expected = load(saved).predict_with_confidence(half)
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_allclose(confidence, expected[1], atol=6e-4)
