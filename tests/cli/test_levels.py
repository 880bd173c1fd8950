"""Command line with levels: what fit and info print of them, and predict at one of them."""

import json

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, load
from anchorview.cli import options
from anchorview.estimators.auto.candidates import BUDGETS
from helpers.command_line import error_of, output_of
from helpers.data import nested_views

NUMBERS = "3,4,6,9,10"


@pytest.fixture(scope="module")
def nested():
    return nested_views()


@pytest.fixture(scope="module")
def model(nested):
    """Model with the levels of 3 and 9 clusters, of which the first is chosen."""
    numbers = list(map(int, NUMBERS.split(",")))
    return AutoDALMC(numbers, budget="fast", random_state=0).fit(nested[0])


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "m.anchorview"
    model.save(path)
    return path


@pytest.fixture
def data(tmp_path, nested):
    path = tmp_path / "data" / "views.npz"
    path.parent.mkdir()
    np.savez(path, **nested[0], y=nested[1])
    return path


def evidence(level):
    return (
        f"support {level['support']:.2f} (agreement {level['agreement']:.2f}, by chance "
        f"{level['chance']:.2f})"
    )


def test_results_in_memory_have_the_levels_too(nested, model, tmp_path):
    np.savez(tmp_path / "data.npz", **nested[0])
    fit = ("fit", tmp_path / "data.npz", "-k", NUMBERS, "--budget", "fast")
    output_of(*fit, "--results", tmp_path / "results")
    stored = np.load(tmp_path / "results" / "level_labels.npy")
    others = [k for k in model.levels_.index if k != model.n_clusters_]
    np.testing.assert_array_equal(stored.T, [model.labels_at(k) for k in others])


def test_the_budgets_are_those_of_the_estimator():
    assert options.BudgetName.__args__ == BUDGETS


def test_fit_and_info_print_the_levels_and_how_clusters_split(data, model, saved):
    expected = [
        f"chose 3 clusters among {NUMBERS.replace(',', ', ')}: {evidence(model.levels_.loc[3])}",
        f"another level: 9 clusters, {evidence(model.levels_.loc[9])}",
    ]
    for cluster, children in model.tree_.groupby("parent"):
        agreement, chance = children[["split_agreement", "split_chance"]].iloc[0]
        expected.append(
            f"at 9 clusters: cluster {cluster} of 3 splits into 3 (agreement {agreement:.2f}, by "
            f"chance {chance:.2f})"
        )
    assert model.levels_.index.tolist() == [3, 9]
    for shown in (
        output_of("fit", data, "-k", NUMBERS, "--budget", "fast"),
        output_of("info", saved),
    ):
        lines = shown.splitlines()
        start = lines.index(expected[0])
        found = lines[start : start + len(expected)]
        assert found[:2] == expected[:2]
        assert sorted(found[2:]) == sorted(expected[2:])


def test_names_of_clusters_are_printed(saved, tmp_path):
    load(saved).relabel({0: "T\ncells", 1: "B"}).save(tmp_path / "named")
    shown = output_of("info", tmp_path / "named")
    assert "cluster B of 3 splits into 3" in shown
    assert "cluster 2 of 3 splits into 3" in shown
    assert "T\ncells" not in shown


def test_json_has_the_levels(data, model, saved):
    rows = model.levels_.reset_index().to_dict("records")
    assert json.loads(output_of("info", saved, "--json"))["levels"] == rows
    found = json.loads(output_of("fit", data, "-k", NUMBERS, "--budget", "fast", "--json"))
    assert [level["n_clusters"] for level in found["levels"]] == [3, 9]
    assert [level["chosen"] for level in found["levels"]] == [True, False]
    single = json.loads(output_of("fit", data, "-k", 3, "--budget", "fast", "--json"))
    assert "levels" not in single


def test_predict_at_a_level_and_by_default_at_the_chosen_one(data, out, saved, model):
    shown = output_of("predict", saved, data, "--level", 9, "--out", out)
    written = pd.read_csv(out)
    assert written.columns.tolist() == ["sample", "cluster"]
    np.testing.assert_array_equal(written["cluster"], model.labels_at(9))
    assert "sizes of the clusters: [20, 20, 20, 20, 20, 20, 20, 20, 20]" in shown
    assert "doubtful" not in shown
    record = json.loads(output_of("predict", saved, data, "--level", 9, "--json"))
    assert (record["n_clusters"], record["n_doubtful"]) == (9, None)
    output_of("predict", saved, data, "--out", out)
    expected = out.read_text()
    assert expected.startswith("sample,cluster,confidence\n")
    output_of("predict", saved, data, "--level", 3, "--out", out)
    assert out.read_text() == expected


def test_unknown_levels_name_those_there_are(data, saved, nested, tmp_path):
    message = error_of("predict", saved, data, "--level", 13)
    assert "--level 13: " in message
    assert "has levels with 3 or 9 clusters only" in message
    assert "fit a model with -k 13" in message
    plain = tmp_path / "plain.anchorview"
    DALMC(4, random_state=0).fit(nested[0]).save(plain)
    assert "has levels with 4 clusters only" in error_of("predict", plain, data, "--level", 3)
