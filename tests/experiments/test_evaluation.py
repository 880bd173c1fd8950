"""Results are evaluated once per position in the tables and figures."""

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
