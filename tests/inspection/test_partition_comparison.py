"""Comparison of clusterings: matched clusters, scores and moved samples."""

import re

import numpy as np
import pandas as pd
import pytest

from anchorview.inspection import compare_partitions
from anchorview.metrics import clustering_scores

N = 200


@pytest.fixture
def partitions():
    """Two partitions with some samples moved, and clusters renamed."""
    rng = np.random.default_rng(0)
    a = rng.integers(5, size=N)
    b = np.array(["v", "z", "w", "y", "x"])[a]
    rows = rng.choice(N, size=40, replace=False)
    b[rows] = rng.choice(list("vwxyz"), size=40)
    return a, b


def test_clusters_are_matched_and_samples_that_do_not_match_have_moved(partitions):
    a, b = partitions
    found = compare_partitions(a, b)
    assert found.matching.to_dict() == {0: "v", 1: "z", 2: "w", 3: "y", 4: "x"}
    assert list(found.table.index) == [0, 1, 2, 3, 4]
    assert list(found.table.columns) == ["v", "z", "w", "y", "x"]
    expected = pd.crosstab(a, b)[list(found.table.columns)]
    np.testing.assert_array_equal(found.table, expected)
    moved = np.flatnonzero(found.matching.loc[a].to_numpy() != b)
    np.testing.assert_array_equal(found.moved["sample"], moved)
    np.testing.assert_array_equal(found.moved["from"], a[moved])
    np.testing.assert_array_equal(found.moved["expected"], found.matching.loc[a[moved]])
    np.testing.assert_array_equal(found.moved["to"], b[moved])
    assert 0 < len(moved) <= 40
    assert len(moved) / N == pytest.approx(1 - found.scores["ACC"])
    assert np.trace(found.table) == N - len(moved)


def test_scores_are_symmetric_and_samples_matched_by_id(partitions):
    a, b = partitions
    expected = clustering_scores(a, b)
    found = compare_partitions(a, b).scores
    assert found == pytest.approx({name: expected[name] for name in ("ACC", "NMI", "F1", "ARI")})
    assert compare_partitions(b, a).scores == pytest.approx(found)
    ids = pd.Index([f"s{i}" for i in range(N)])
    rows = np.random.default_rng(1).permutation(N)
    expected = compare_partitions(a, b)
    found = compare_partitions(pd.Series(a, ids), pd.Series(b[rows], ids[rows]))
    pd.testing.assert_frame_equal(found.table, expected.table)
    assert list(found.moved["sample"]) == [f"s{i}" for i in expected.moved["sample"]]
    one_sided = compare_partitions(a, pd.Series(b, ids))
    pd.testing.assert_frame_equal(one_sided.moved, found.moved)
    default_index = compare_partitions(pd.Series(a), pd.Series(b, ids))
    pd.testing.assert_frame_equal(default_index.moved, found.moved)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0, 1, 1], [0, 1], "There are 3 samples in clustering a, but 2 in clustering b"),
        (pd.Series([0, 1], ["p", "q"]), pd.Series([0, 1], ["q", "r"]),
         "1 of 2 samples in clustering a are not in clustering b: 'p'"),
        (pd.Series([0, 1], ["p", "q"]), pd.Series([0, 1, 1], ["q", "p", "r"]),
         "1 of 3 samples in clustering b are not in clustering a: 'r'"),
        ([0, 1], [0.0, np.nan], "1 label(s) are missing (NaN), the first that of sample 1"),
    ],
)  # fmt: skip
def test_clusterings_of_different_samples_raise(a, b, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        compare_partitions(a, b)
