import numpy as np
import pandas as pd
import pytest
from scipy import stats

from anchorview.experiments.ranks import (
    Overall,
    critical_difference,
    holm,
    overall,
    similar_to_best,
)
from helpers.handmade import around


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ({"best": around(0.9), "near": around(0.899), "far": around(0.8)}, {"near"}),
        (
            {"best": [0.9] * 20, "equal": [0.9] * 20, "less": [0.8] * 20, "other": around(0.7)},
            {"equal"},
        ),
        ({"single": [0.9], "low": [0.1], "none": []}, set()),
        ({}, set()),
    ],
)
def test_columns_like_the_best(runs, expected):
    assert similar_to_best(runs) == expected


def test_holm():
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.6, 0.7]) == pytest.approx([1, 1])
    assert len(holm([])) == 0


def random_scores(n_data_sets):
    rng = np.random.default_rng(0)
    ranges = {"DALMC": (0.7, 0.9), "near": (0.7, 0.9), "far": (0.1, 0.3)}
    return pd.DataFrame({name: rng.uniform(*span, n_data_sets) for name, span in ranges.items()})


def test_ties_share_ranks_and_have_p_values_of_one():
    scores = pd.DataFrame({"a": [0.9, 0.5], "b": [0.9, np.nan], "c": [0.1, np.nan]})
    assert overall(scores, "a").ranks == {"a": 1.25, "b": 2.0, "c": 2.75}
    found = overall(pd.DataFrame({name: [0.5] * 6 for name in ("DALMC", "b", "c")}), "DALMC")
    assert (found.friedman, found.wilcoxon) == (1, {"b": 1, "c": 1})


def test_tests_over_data_sets_agree_with_scipy():
    scores = random_scores(10)
    found = overall(scores, "DALMC")
    assert found.friedman == pytest.approx(stats.friedmanchisquare(*scores.to_numpy().T).pvalue)
    p = [stats.wilcoxon(scores["DALMC"] - scores[name]).pvalue for name in ("near", "far")]
    assert list(found.wilcoxon.values()) == pytest.approx(holm(p).tolist())
    assert found.wilcoxon["far"] < 0.05 < found.wilcoxon["near"]


@pytest.mark.parametrize(
    ("n_columns", "quantile"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)]
)
def test_critical_differences_have_the_published_quantiles(n_columns, quantile):
    # Demšar, Statistical comparisons of classifiers over multiple data sets, 2006, table 5.
    factor = np.sqrt(n_columns * (n_columns + 1) / (6 * 12))
    assert critical_difference(n_columns, 12) == pytest.approx(quantile * factor, rel=1e-3)


def test_similar_groups_are_maximal():
    ranks = {"d": 4.0, "a": 1.0, "c": 2.5, "b": 2.0, "e": 9.0}

    def groups(difference):
        return Overall(ranks, None, {}, critical_difference=difference).similar_groups()

    assert groups(0.4) == []
    assert groups(1.2) == [["a", "b"], ["b", "c"]]
    assert groups(10) == [["a", "b", "c", "d", "e"]]
