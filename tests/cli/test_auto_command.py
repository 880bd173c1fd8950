"""The command line with AutoDALMC: numbers of clusters, methods by settings, what is shown."""

import time

import numpy as np
import pandas as pd
import pytest
from test_commands import error_of, read_confident_labels, run

from anchorview import DALMC, AutoDALMC, load, make_multiview
from anchorview._utils.progress import report_progress
from anchorview.cli.summaries import fit_lines
from anchorview.cli.terminal import explained, progress_bar
from anchorview.estimators.auto.candidates import CandidatePool

FEW = ("--max-candidates", 4)


@pytest.fixture(scope="module")
def views_and_y():
    return make_multiview(120, n_clusters=3, n_features=(8, 12), random_state=0)


@pytest.fixture
def data(tmp_path, views_and_y):
    views, y = views_and_y
    path = tmp_path / "views.npz"
    np.savez(path, **views, y=y)
    return path


@pytest.fixture(scope="module")
def chosen(views_and_y):
    """Model that chose the number of clusters."""
    return AutoDALMC(max_candidates=4, random_state=0).fit(views_and_y[0])


@pytest.fixture
def given(monkeypatch):
    """Parameters of the models that are fitted, which takes no time."""
    params = []

    def fit(model, X):
        params.append((type(model).__name__, model.get_params()))
        raise ValueError("enough")

    for cls in (AutoDALMC, DALMC):
        monkeypatch.setattr(cls, "fit", fit)
    return params


# The number of clusters


def test_without_k_the_number_is_chosen_and_all_is_shown(data, tmp_path, chosen, views_and_y):
    views, _ = views_and_y
    out = tmp_path / "labels.csv"
    result = run("fit", data, *FEW, "--out", out)

    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    labels, confidence = read_confident_labels(out)
    np.testing.assert_array_equal(labels, chosen.labels_)
    np.testing.assert_allclose(confidence, chosen.confidence_, atol=6e-4)
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["View", "Features", "Weight", "Agreement"] in rows
    for name, weight, own in zip(views, chosen.view_weights_, chosen.view_agreement_, strict=True):
        assert [name, str(views[name].shape[1]), f"{weight:.3f}", f"{own:.3f}"] in rows
    alike = chosen.candidates_["agreement_with_result"].mean()
    assert (
        "120 samples in 3 clusters by AutoDALMC (4 candidates, mean agreement with the result "
        f"{alike:.2f}), " in result.stdout
    )
    curve = chosen.curve_
    assert (
        f"chose 3 of 2-12 clusters: agreement {curve[3]:.2f}; 4: {curve[4]:.2f}, "
        f"2: {curve[2]:.2f}, 5: {curve[5]:.2f}\n" in result.stdout
    )
    doubtful = int((chosen.confidence_ < 0.5).sum())
    assert f"doubtful samples (confidence below 0.5): {doubtful} of 120 (" in result.stdout
    assert "could not be fitted" not in result.stdout
    assert "ACC " in result.stdout


def test_labels_in_the_file_do_not_matter_for_the_clusters(data, tmp_path, chosen, views_and_y):
    wrong = tmp_path / "wrong.npz"
    np.savez(wrong, **views_and_y[0], y=np.arange(120) % 7)
    out = tmp_path / "labels.csv"
    assert run("fit", wrong, *FEW, "--out", out).exit_code == 0
    np.testing.assert_array_equal(read_confident_labels(out)[0], chosen.labels_)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10),
        ("2-4", range(2, 5)),
        ("5,8,10", [5, 8, 10]),
        ("10,5,5", [5, 10]),
        ("7-7", 7),
    ],
)
def test_forms_of_k(data, given, text, value):
    run("fit", data, "-k", text)
    assert given[0][1]["n_clusters"] == value


@pytest.mark.parametrize(
    "text", ["x", "1", "5-2", "0-3", "1-3", "2-", "5,", "5,1", "-3", "2.5", "", "٣", "9" * 5000]
)
def test_bad_k_says_what_is_accepted(data, text):
    message = error_of(run("fit", data, "-k", text))
    assert "'-k'" in message
    assert "a number from 2 on (10), a range of them (2-30) or a list (5,8,10)" in message


@pytest.mark.parametrize("options", [["--method", "awmvc"], ["--method", "dalmc"], ["--beta", 1]])
@pytest.mark.parametrize("numbers", ["2-4", "2,4"])
def test_other_methods_take_one_number(data, options, numbers):
    message = error_of(run("fit", data, "-k", numbers, *options))
    assert message.startswith("-k: ")
    assert "takes one number of clusters, for example -k 2; only --method auto" in message


def test_a_choice_from_a_list_is_shown(data):
    shown = run("fit", data, "-k", "3,6", *FEW).stdout
    assert "120 samples in 3 clusters" in shown
    assert "chose 3 of 3, 6 clusters: agreement 0." in shown


def test_a_fixed_number_is_no_choice(data):
    assert "chose" not in run("fit", data, "-k", 3, *FEW).stdout


def test_too_few_samples_to_choose(tmp_path, views_and_y):
    np.savez(tmp_path / "few.npz", **{name: view[:25] for name, view in views_and_y[0].items()})
    assert "took 2 clusters: too few samples" in run("fit", tmp_path / "few.npz", *FEW).stdout


def test_the_largest_of_numbers_as_good_is_explained(chosen, monkeypatch):
    curve = pd.Series({2: 0.9, 3: 0.893, 4: np.nan}, name="agreement")
    monkeypatch.setattr(chosen, "curve_", curve)
    assert (
        "chose 3 of 2-4 clusters: agreement 0.89; 2: 0.90 (of numbers within 0.01 of the best, the "
        "largest is chosen)" in list(fit_lines(chosen, 1.0))
    )


# The method


@pytest.mark.parametrize(
    "setting",
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
    ids=lambda setting: setting[0],
)
def test_a_setting_by_hand_makes_it_dalmc_and_is_refused_for_auto(data, given, setting):
    name, value = setting
    option = f"--{name.replace('_', '-')}"
    run("fit", data, "-k", 3, option, value)
    assert given[0][0] == "DALMC"
    assert given[0][1][name] == value
    message = error_of(run("fit", data, "-k", 3, "--method", "auto", option, value))
    assert f"{option} is not a setting of auto; AutoDALMC in Python has" in message


def test_without_settings_it_is_auto(data, given):
    run("fit", data, "--max-candidates", 5, "--seed", 7, "--verbose")
    run("fit", data, "--method", "auto")
    expected = {"n_clusters": None, "max_candidates": 5, "random_state": 7, "verbose": 1}
    assert given[0] == ("AutoDALMC", expected)
    expected = {"n_clusters": None, "max_candidates": None, "random_state": 0, "verbose": 0}
    assert given[1] == ("AutoDALMC", expected)


def test_max_candidates_is_for_auto_only(data):
    for method in ("dalmc", "awmvc"):
        message = error_of(run("fit", data, "-k", 3, "--method", method, *FEW))
        assert f"--max-candidates is not a setting of {method}" in message
    message = error_of(run("fit", data, "-k", 3, "--beta", 1, *FEW))
    assert "--max-candidates is for the method auto, but --beta makes it dalmc" in message


# Warnings and progress


@pytest.mark.filterwarnings("default::UserWarning")
def test_failed_candidates_are_told_on_one_line_each(data, monkeypatch):
    fit = CandidatePool._fit

    def fail(pool, setting, n_clusters):
        if setting.family.scaling == "unit-center":
            raise ValueError("no\nluck")
        return fit(pool, setting, n_clusters)

    monkeypatch.setattr(CandidatePool, "_fit", fail)
    result = run("fit", data, "-k", 3, *FEW)
    assert result.exit_code == 0, result.output
    assert "AutoDALMC (2 candidates, " in result.stdout
    assert "2 of 4 candidates could not be fitted\n" in result.stdout
    assert result.stderr == (
        "anchorview: warning: 2 of 4 candidates could not be fitted, and the others go on without "
        "them; the first is unit-center, 1k anchors, 1k components, beta 0.1: no luck\n"
    )


@pytest.mark.filterwarnings("default::UserWarning")
def test_empty_clusters_are_told_once_whatever_the_candidates_warn_of(tmp_path, views_and_y):
    repeated = np.repeat(views_and_y[0]["view_0"][:3], 20, axis=0)
    np.savez(tmp_path / "repeated.npz", a=repeated)
    result = run("fit", tmp_path / "repeated.npz", "-k", 5, *FEW)
    assert result.exit_code == 0, result.output
    assert result.stderr == "anchorview: warning: 2 of 5 clusters are empty.\n"


def test_filters_of_warnings_hold():
    import warnings

    with pytest.raises(UserWarning, match="strict"), explained():
        warnings.warn("strict", stacklevel=1)


@pytest.mark.parametrize("width", [30, 60, 200])
def test_a_note_stays_on_the_bar_of_its_stage(capsys, monkeypatch, width):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    notes = [f"best so far: [red]zscore-unit, {50 * 'x'}, agreement 0.{n}" for n in (81, 82)]
    with progress_bar(shown=True):
        report_progress("candidates", 0, 3)
        for done, note in enumerate(notes, 1):
            report_progress(f"candidates ({note})", done, 3)
            time.sleep(0.25)
    shown = capsys.readouterr().err
    # A second bar, or a note that goes over to the next line, would have to be cleared as well.
    assert "\x1b[1A\x1b[2K\x1b[1A\x1b[2K" not in shown
    assert "candid" in shown
    assert ("best so far" in shown) == (width > 30)
    for note in notes:
        assert (note in shown) == (width == 200)


# Saved models


def test_save_predict_and_info(data, tmp_path, chosen, views_and_y):
    out, saved, again = tmp_path / "fit.csv", tmp_path / "m.anchorview", tmp_path / "again.csv"
    result = run("fit", data, "-k", "2-12", *FEW, "--out", out, "--save", saved)
    assert result.exit_code == 0, result.output
    assert f"Model saved to {saved}" in result.stdout
    np.testing.assert_array_equal(load(saved).predict(views_and_y[0]), chosen.labels_)

    result = run("predict", saved, data, "--out", again)
    assert result.exit_code == 0, result.output
    sizes = np.bincount(chosen.labels_, minlength=3).tolist()
    assert f"120 samples; sizes of the clusters: {sizes}\n" in result.stdout
    assert "doubtful samples (confidence below 0.5): " in result.stdout
    assert "ACC " in result.stdout
    assert again.read_text() == out.read_text()

    result = run("info", saved)
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines()]
    weight, own = chosen.view_weights_[1], chosen.view_agreement_[1]
    assert ["view_1", "12", f"{weight:.3f}", f"{own:.3f}"] in rows
    assert "AutoDALMC(" in result.stdout
    assert f"120 samples in clusters of {sizes}\n" in result.stdout
    best = chosen.candidates_.iloc[chosen.best_candidate_]
    assert "4 candidates, mean agreement with the result 0." in result.stdout
    assert f"; the best has scaling {best['scaling']}, " in result.stdout
    assert f"{best['n_components']} components, beta {best['beta']:g}\n" in result.stdout
    assert "chose 3 of 2-12 clusters: agreement 0." in result.stdout


def test_prediction_of_samples_that_lack_a_view(data, tmp_path, views_and_y):
    saved, out = tmp_path / "m.anchorview", tmp_path / "labels.csv"
    assert run("fit", data, *FEW, "--save", saved).exit_code == 0
    half = tmp_path / "half.npz"
    np.savez(half, view_1=views_and_y[0]["view_1"][:30])
    result = run("predict", saved, half, "--out", out)
    assert result.exit_code == 0, result.output
    labels, confidence = read_confident_labels(out)
    model, new = load(saved), {"view_1": views_and_y[0]["view_1"][:30]}
    np.testing.assert_array_equal(labels, model.predict(new))
    np.testing.assert_allclose(confidence, model.predict_with_confidence(new)[1], atol=6e-4)
