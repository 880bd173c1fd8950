"""Commands fit and demo: method, number of clusters, settings, labels and summary."""

import dataclasses
import inspect
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, load_digits
from anchorview.cli import options
from anchorview.estimators.partitions.candidates import POOL
from anchorview.metrics import clustering_scores
from helpers.command_line import (
    DALMC_3,
    error_of,
    output_of,
    read_confident_labels,
    read_labels,
    run,
)

FEW = ("--budget", "fast")


@pytest.fixture
def fits(monkeypatch):
    """Class names and parameters of models, which are recorded instead of fitted."""
    recorded = []

    def fit(model, X, **given):
        recorded.append((type(model).__name__, model.get_params()))
        raise ValueError("recorded")

    for cls in (AutoDALMC, DALMC):
        monkeypatch.setattr(cls, "fit", fit)
    return recorded


def test_dalmc_writes_the_labels_and_prints_views_and_scores(data, out, views_and_y):
    views, y = views_and_y
    result = run("fit", data, *DALMC_3, "--out", out)
    model = DALMC(3, random_state=0).fit(views)
    assert (result.exit_code, result.stderr) == (0, "")
    np.testing.assert_array_equal(read_labels(out), model.labels_)
    assert list(out.parent.iterdir()) == [out]
    lines = result.stdout.splitlines()
    assert lines[:3] == [line.strip() for line in str(model).splitlines()[1:]]
    assert lines[3].startswith(f"DALMC: {model.n_iter_} of at most 50 iterations")
    for name, score in clustering_scores(y, model.labels_).items():
        assert f"{name} {score:.4f}" in result.stdout
    assert f"Labels written to {out}\n" in result.stdout


def test_without_k_the_number_is_chosen_and_explained(data, out, chosen, views_and_y):
    assert "chose" not in output_of("fit", data, "-k", 3, *FEW)
    result = run("fit", data, *FEW, "--out", out)
    assert (result.exit_code, result.stderr) == (0, "")
    labels, confidence = read_confident_labels(out)
    np.testing.assert_array_equal(labels, chosen.labels_)
    np.testing.assert_allclose(confidence, chosen.confidence_, atol=6e-4)
    lines = result.stdout.splitlines()
    assert lines[:3] == [line.strip() for line in str(chosen).splitlines()[1:]]
    level = [f"{value:.2f}" for value in chosen.levels_.drop(columns="chosen").loc[3]]
    assert ["3", *level] in [line.split() for line in lines]
    assert f": {(chosen.confidence_ < 0.5).sum()} of 120 (" in result.stdout
    # Other classes in the file do not change the labels.
    np.savez(data, **views_and_y[0], y=np.arange(120) % 7)
    output_of("fit", data, *FEW, "--out", out)
    np.testing.assert_array_equal(read_confident_labels(out)[0], chosen.labels_)


@pytest.mark.parametrize(
    ("text", "value"), [("10", 10), ("2-4", range(2, 5)), ("10,5,5", [5, 10]), ("7-7", 7)]
)
def test_formats_of_k(data, fits, text, value):
    run("fit", data, "-k", text)
    assert fits[0][1]["n_clusters"] == value


@pytest.mark.parametrize("text", ["x", "1", "5-2", "1-3", "5,1", "-3", "2.5", "", "٣", "9" * 5000])
def test_bad_k_names_the_formats(text):
    message = error_of("fit", "none.npz", "-k", text)
    assert "'-k'" in message and "2-30" in message


@pytest.mark.parametrize("setting", [("--method", "dalmc"), ("--beta", 1)])
@pytest.mark.parametrize("numbers", [("-k", "2-4"), ()])
def test_dalmc_needs_one_number(data, setting, numbers):
    assert error_of("fit", data, *numbers, *setting).startswith("-k")


def test_a_setting_selects_dalmc_and_is_refused_by_auto(data, fits):
    settings = {"n_anchors": 4, "n_components": 3, "beta": 0.5, "scaling": "unit"}
    settings |= {"solver": "direct", "assignment": "cluster_qr", "n_init": 2}
    settings |= {"max_iter": 7, "tol": 0.0}
    assert settings.keys() == {each.name for each in dataclasses.fields(options.Settings)}
    given = [(f"--{name.replace('_', '-')}", value) for name, value in settings.items()]
    words = [each for pair in given for each in pair]
    run("fit", data, "--clusters", 3, *words, "--seed", 5, "--verbose")
    expected = {**settings, "n_clusters": 3, "random_state": 5, "verbose": 1}
    assert fits == [("DALMC", DALMC(**expected).get_params())]
    for pair in given:
        assert pair[0] in error_of("fit", data, "-k", 3, "--method", "auto", *pair)


def test_without_settings_the_method_is_auto(data, fits):
    run("fit", data, *FEW, "--seed", 7)
    run("fit", data, "--method", "auto")
    expected = AutoDALMC(budget="fast", random_state=7), AutoDALMC(random_state=0)
    assert fits == [("AutoDALMC", model.get_params()) for model in expected]
    assert "--budget" in error_of("fit", data, "-k", 3, "--beta", 1, *FEW)


def test_documented_choices_and_defaults_are_those_of_the_estimators():
    assert get_args(options.BudgetName) == tuple(POOL)
    defaults = inspect.signature(DALMC).parameters
    for setting in dataclasses.fields(options.Settings):
        default = defaults[setting.name].default
        assert default is None or f"({default})" in setting.metadata["option"].help
    for name, choices in {
        "solver": options.SolverName,
        "assignment": options.AssignmentName,
    }.items():
        with pytest.raises(ValueError) as error:
            DALMC(3, **{name: "other"}).fit(np.eye(4))
        assert all(repr(choice) in str(error.value) for choice in get_args(choices))


def test_without_out_nothing_is_written_and_a_hint_is_given(data, monkeypatch):
    monkeypatch.chdir(data.parent)
    assert "--out labels.csv" in output_of("fit", data.name, *DALMC_3)
    assert list(data.parent.iterdir()) == [data]


@pytest.mark.parametrize(
    ("name", "shown"), [("[red]a[/red]", "\n[red]a[/red]: "), ("a\x1b[31m\nb", "\na[31m b: ")]
)
def test_names_are_printed_literally_and_without_terminal_codes(data, out, name, shown):
    views = np.load(data)
    np.savez(data, **{name: views["view_0"], "other": views["view_1"]})
    out = out.with_name("[red]" + 90 * "x" + ".csv")
    output = output_of("fit", data, *DALMC_3, "--out", out)
    assert shown in output
    assert f"Labels written to {out}\n" in output
    # Without classes there are no scores.
    assert "ACC" not in output


@pytest.mark.system
def test_demo_clusters_the_digits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "2000 samples in 10 clusters of " in result.stdout
    assert "AutoDALMC: 17 candidates" in result.stdout
    labels, _ = read_confident_labels(tmp_path / "digits_labels.csv")
    accuracy = clustering_scores(load_digits(return_X_y=True)[1], labels)["ACC"]
    assert accuracy > 0.95
    assert f"ACC {accuracy:.4f}" in result.stdout
    assert "<html" in (tmp_path / "digits_report.html").read_text()


def test_known_classes_of_some_samples(data, out, tmp_path, views_and_y):
    _, y = views_and_y
    known = tmp_path / "known.csv"
    names = ("oak", "elm", "ash")
    rows = [int(np.flatnonzero(y == code)[place]) for place in (0, 1) for code in range(3)]
    lines = ["sample,class", *(f"{row},{names[y[row]]}" for row in rows), "7,"]
    known.write_text("\n".join(lines) + "\n")
    output_of("fit", data, *FEW, "--labels-known", known, "--out", out)
    table = pd.read_csv(out)
    assert (table["name"][rows] == [names[y[row]] for row in rows]).all()
    assert np.mean(table["name"] == np.array(names)[y]) > 0.9
    error = error_of("fit", data, *DALMC_3, "--labels-known", known)
    assert "leave out --method dalmc" in error
