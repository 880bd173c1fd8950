"""Results are evaluated once per position in the tables and figures."""

from dataclasses import replace

import numpy as np
import pytest

from anchorview.experiments.jobs import METRICS, Result
from helpers.handmade import Book, done

FAILED = Result("memory", "too much")


def evaluate_one(*results, mode="default"):
    """Row of a single position with some results, whose settings are beta=1, 2, ..."""
    book = Book()
    for number, result in enumerate(results, 1):
        book.add("DALMC", result, mode=mode, beta=float(number))
    frame = book.frame()
    assert len(frame) == 1
    return frame.iloc[0]


def test_results_are_summarized_by_mean_and_deviation():
    scores = {m: (0.5 + i / 100, 0.7 + i / 100) for i, m in enumerate(METRICS)}
    result = replace(done([0.9], objective=(3.0, 2.0)), scores=scores)
    result = replace(result, fit_seconds=2.5, peak_bytes=10**8, n_iter=2)
    row = evaluate_one(result)
    assert (row["status"], row["reason"], row["settings"]) == ("done", "", "beta=1.0")
    assert row["NMI"] == pytest.approx(0.61)
    assert row["NMI_deviation"] == pytest.approx(0.1)  # Divisor n.
    assert row["NMI_runs"] == (0.51, 0.71)
    assert row["NMI_returned"] == 0.9
    assert (row["fit_seconds"], row["peak_bytes"], row["n_iter"]) == (2.5, 10**8, 2)
    assert row["objective"] == (3.0, 2.0)
    assert np.isnan(row["point"])


def test_absent_and_failed_results_and_no_entries():
    assert evaluate_one(None)["status"] == "absent"
    row = evaluate_one(Result("time", "more than 60 s"))
    assert (row["status"], row["reason"]) == ("time", "more than 60 s")
    assert np.isnan(row["ACC"])
    assert row["ACC_runs"] == ()
    frame = Book().frame()
    assert len(frame) == 0
    assert {"suite", "ACC", "ACC_runs", "objective"} <= set(frame.columns)


def test_the_oracle_selects_the_highest_mean_acc():
    better_nmi = Result("done", scores=dict.fromkeys(METRICS, (0.9,)) | {"ACC": (0.6,)})
    row = evaluate_one(better_nmi, done([0.2, 1.0]), done([0.7, 0.7]), mode="oracle")
    assert (row["settings"], row["reason"], row["tried"]) == ("beta=3.0", "", 3)
    assert row["ACC"] == row["NMI"] == 0.7


@pytest.mark.parametrize(
    ("results", "status", "reason"),
    [
        ([FAILED, done([0.7]), None], "done", "best of 1 of 3 settings (1 memory, 1 absent)"),
        ([FAILED, Result("time", "slow")], "memory", "too much"),
        ([FAILED, None], "absent", "not run"),
    ],
)
def test_the_oracle_with_unfinished_settings(results, status, reason):
    row = evaluate_one(*results, mode="oracle")
    assert (row["status"], row["reason"], row["tried"]) == (status, reason, len(results))


def test_a_job_may_have_several_positions():
    book = Book()
    book.add("DALMC", done([0.7]))
    book.entries.append(replace(book.entries[0], suite="convergence"))
    assert book.frame()["ACC"].tolist() == [0.7, 0.7]
