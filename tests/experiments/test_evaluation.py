"""What the results say of each place, and which differences are more than chance."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from anchorview.experiments.plan.jobs import METRICS, Result
from anchorview.experiments.results.significance import holm, like_best, overall
from helpers.handmade import Book, around, done


def only(frame):
    assert len(frame) == 1
    return frame.iloc[0]


def test_a_result_is_summed_up_by_mean_and_deviation():
    book = Book()
    scores = {m: (0.5 + i / 100, 0.7 + i / 100) for i, m in enumerate(METRICS)}
    result = Result(
        "done",
        scores=scores,
        own=dict.fromkeys(METRICS, 0.9),
        fit_seconds=2.5,
        peak_bytes=10**8,
        n_iter=2,
        objective=(3.0, 2.0),
    )
    book.add("DALMC", result, beta=0.1)
    row = only(book.frame())
    assert row["status"] == "done"
    assert row["reason"] == ""
    assert row["settings"] == "beta=0.1"
    assert row["NMI"] == pytest.approx(0.61)
    assert row["NMI_deviation"] == pytest.approx(0.1)
    assert row["NMI_runs"] == (0.51, 0.71)
    assert row["NMI_own"] == 0.9
    assert (row["fit_seconds"], row["peak_bytes"], row["n_iter"]) == (2.5, 10**8, 2)
    assert row["objective"] == (3.0, 2.0)
    assert np.isnan(row["point"])


def test_what_was_not_run_is_absent_and_what_failed_says_why():
    book = Book()
    book.add("AMGL", None)
    book.add("BMVC", Result("time", "more than 60 s"))
    absent, late = book.frame().to_dict("records")
    assert absent["status"] == "absent"
    assert (late["status"], late["reason"]) == ("time", "more than 60 s")
    assert np.isnan(late["ACC"])
    assert late["ACC_runs"] == ()


def test_nothing_has_no_rows_but_all_columns():
    assert {"suite", "ACC", "ACC_runs", "objective"} <= set(Book().frame().columns)


def test_the_oracle_takes_the_setting_with_the_highest_mean_acc():
    book = Book()
    better_nmi = Result("done", scores=dict.fromkeys(METRICS, (0.9,)) | {"ACC": (0.6,)})
    book.add("DALMC (oracle)", better_nmi, mode="oracle", beta=1.0)
    book.add("DALMC (oracle)", done([0.2, 1.0]), mode="oracle", beta=2.0)
    book.add("DALMC (oracle)", done([0.7, 0.7]), mode="oracle", beta=3.0)
    row = only(book.frame())
    assert row["settings"] == "beta=3.0"
    assert row["ACC"] == row["NMI"] == 0.7
    assert row["reason"] == ""


def test_the_oracle_tells_of_settings_that_are_not_done():
    book = Book()
    book.add("DALMC (oracle)", Result("memory", "too much"), mode="oracle")
    book.add("DALMC (oracle)", done([0.7]), mode="oracle")
    book.add("DALMC (oracle)", None, mode="oracle")
    row = only(book.frame())
    assert row["status"] == "done"
    assert row["reason"] == "best of 1 of 3 settings (1 memory, 1 absent)"


@pytest.mark.parametrize(
    ("second", "status"), [(Result("time", "slow"), "memory"), (None, "absent")]
)
def test_an_oracle_without_any_result_is_not_done(second, status):
    book = Book()
    book.add("DALMC (oracle)", Result("memory", "too much"), mode="oracle")
    book.add("DALMC (oracle)", second, mode="oracle")
    assert only(book.frame())["status"] == status


def test_one_job_may_stand_at_several_places():
    book = Book()
    book.add("DALMC", done([0.7]))
    job = book.entries[0].job
    book.add("DALMC", None, suite="convergence")
    book.entries[1] = type(book.entries[0])("convergence", "digits", "DALMC", "default", None, job)
    assert book.frame()["ACC"].tolist() == [0.7, 0.7]


def test_runs_that_overlap_are_like_the_best_and_others_are_not():
    runs = {"best": around(0.9), "near": around(0.899), "far": around(0.8)}
    assert like_best(runs) == {"near"}


def test_runs_that_are_all_the_same():
    runs = {"best": [0.9] * 20, "equal": [0.9] * 20, "less": [0.8] * 20, "moving": around(0.7)}
    assert like_best(runs) == {"equal"}


def test_single_runs_and_no_runs_are_not_tested():
    assert like_best({"a": [0.9], "b": [0.1], "c": []}) == set()
    assert like_best({}) == set()


def test_more_columns_need_more_evidence():
    best, other = [5.0, 6, 7, 8, 9, 10], [1.0, 2, 3, 4, 5.5, 8.5]
    p = stats.mannwhitneyu(best, other).pvalue
    assert 0.05 / 2 < p < 0.05
    assert like_best({"best": best, "other": other}) == set()
    same = [x - 0.001 for x in other]
    assert like_best({"best": best, "other": other, "same": same}) == {"other", "same"}


def test_holm_is_the_step_down_method():
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.6, 0.7]) == pytest.approx([1, 1])
    assert len(holm([])) == 0


def scores_of(n_data_sets):
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "DALMC": random.uniform(0.7, 0.9, n_data_sets),
            "near": random.uniform(0.7, 0.9, n_data_sets),
            "far": random.uniform(0.1, 0.3, n_data_sets),
        }
    )


def test_ranks_share_ties_and_put_last_what_is_not_done():
    scores = pd.DataFrame({"a": [0.9, 0.5], "b": [0.9, np.nan], "c": [0.1, np.nan]})
    assert overall(scores, "a").ranks == {"a": 1.25, "b": 2.0, "c": 2.75}


def test_few_data_sets_are_not_tested():
    few = overall(scores_of(4), "DALMC")
    assert few.friedman is None
    assert few.wilcoxon == {}


def test_tests_over_data_sets_are_those_of_scipy():
    scores = scores_of(10)
    found = overall(scores, "DALMC")
    assert found.friedman == pytest.approx(stats.friedmanchisquare(*scores.to_numpy().T).pvalue)
    p = [stats.wilcoxon(scores["DALMC"] - scores[name]).pvalue for name in ("near", "far")]
    assert list(found.wilcoxon.values()) == pytest.approx(holm(p).tolist())
    assert found.wilcoxon["far"] < 0.05 < found.wilcoxon["near"]


def test_equal_columns_are_alike():
    same = pd.DataFrame({name: [0.5] * 6 for name in ("DALMC", "b", "c")})
    found = overall(same, "DALMC")
    assert found.friedman == 1
    assert found.wilcoxon == {"b": 1, "c": 1}


@pytest.mark.parametrize(("n_data_sets", "least"), [(4, 1), (5, 0.125), (7, 2 * 2 / 2**7)])
def test_the_least_p_value_is_that_of_one_sign(n_data_sets, least):
    found = overall(scores_of(n_data_sets), "DALMC")
    assert found.least_wilcoxon == pytest.approx(least)
    assert all(p >= found.least_wilcoxon for p in found.wilcoxon.values())


def test_the_least_p_value_counts_data_sets_of_both_columns():
    scores = scores_of(9)
    scores.loc[:2, "far"] = np.nan
    scores.loc[:5, "near"] = np.nan
    found = overall(scores, "DALMC")
    assert set(found.wilcoxon) == {"far"}
    assert found.least_wilcoxon == pytest.approx(found.wilcoxon["far"]) == pytest.approx(2 / 2**6)


def test_how_many_settings_were_tried_is_told():
    book = Book()
    book.add("DALMC", done([0.5]))
    for beta, result in ((1.0, done([0.5])), (2.0, None), (3.0, done([0.6]))):
        book.add("DALMC (oracle)", result, mode="oracle", beta=beta)
    assert book.frame()["tried"].tolist() == [1, 3]


def test_the_deviation_has_the_divisor_n():
    book = Book()
    book.add("DALMC", done([0.2, 0.4]))
    assert book.frame()["ACC_deviation"].tolist() == pytest.approx([0.1])
