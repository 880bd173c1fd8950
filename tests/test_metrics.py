"""The scores against hand-computed values and brute-force definitions."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorview.metrics import (
    adjusted_rand,
    clustering_accuracy,
    clustering_scores,
    normalized_mutual_info,
    pairwise_f1,
    purity,
)

SCORES = [clustering_accuracy, normalized_mutual_info, pairwise_f1, purity, adjusted_rand]
label_pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25)


def accuracy_by_permutations(y_true, y_pred):
    # Five places on both sides: matching a cluster to an unused place leaves it without a class.
    return max(
        sum(renamed[p] == t for t, p in zip(y_true, y_pred, strict=True))
        for renamed in permutations(range(5))
    ) / len(y_true)


def f1_by_pairs(y_true, y_pred):
    pairs = list(combinations(range(len(y_true)), 2))
    same_class = [y_true[i] == y_true[j] for i, j in pairs]
    same_cluster = [y_pred[i] == y_pred[j] for i, j in pairs]
    both = sum(a and b for a, b in zip(same_class, same_cluster, strict=True))
    total = sum(same_class) + sum(same_cluster)
    return 2 * both / total if total else 1.0


def purity_by_clusters(y_true, y_pred):
    members = {c: [t for t, p in zip(y_true, y_pred, strict=True) if p == c] for c in y_pred}
    return sum(max(map(group.count, group)) for group in members.values()) / len(y_true)


@given(label_pairs)
def test_equal_to_brute_force(pairs):
    y_true, y_pred = zip(*pairs, strict=True)
    assert clustering_accuracy(y_true, y_pred) == accuracy_by_permutations(y_true, y_pred)
    assert pairwise_f1(y_true, y_pred) == f1_by_pairs(y_true, y_pred)
    assert purity(y_true, y_pred) == purity_by_clusters(y_true, y_pred)


@pytest.mark.parametrize("score", SCORES)
@given(pairs=label_pairs, names=st.permutations("abcde"))
def test_names_carry_no_meaning(score, pairs, names):
    y_true, y_pred = zip(*pairs, strict=True)
    renamed = [names[label] for label in y_pred]
    assert score(y_true, renamed) == pytest.approx(score(y_true, y_pred), abs=1e-12)
    assert score(y_pred, renamed) == pytest.approx(1)


def test_hand_computed():
    y_true = [0, 0, 0, 1, 1, 1]
    y_pred = [0, 0, 1, 1, 2, 2]
    assert clustering_scores(y_true, y_pred) == pytest.approx(
        {
            "ACC": 4 / 6,
            "NMI": 2 * (2 / 3) * np.log(2) / (np.log(2) + np.log(3)),
            "F1": 2 * 2 / (6 + 3),
            "Purity": 5 / 6,
            "ARI": (2 - 6 * 3 / 15) / ((6 + 3) / 2 - 6 * 3 / 15),
        }
    )


def test_scores_come_in_a_fixed_order():
    assert list(clustering_scores([0, 1], [0, 1])) == ["ACC", "NMI", "F1", "Purity", "ARI"]


@pytest.mark.parametrize(
    ("average", "entropy"),
    [
        ("arithmetic", (np.log(2) + np.log(3)) / 2),
        ("max", np.log(3)),
        ("min", np.log(2)),
        ("geometric", np.sqrt(np.log(2) * np.log(3))),
    ],
)
def test_mutual_information_over_each_average(average, entropy):
    score = normalized_mutual_info([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], average=average)
    assert score == pytest.approx((2 / 3) * np.log(2) / entropy)


def test_unknown_average_is_refused():
    with pytest.raises(ValueError, match="average_method"):
        normalized_mutual_info([0, 1], [0, 1], average="median")


@pytest.mark.parametrize(
    ("y_true", "y_pred", "accuracy"),
    [
        ([0, 0, 0, 0], [0, 1, 2, 3], 1 / 4),
        ([0, 1, 2, 3], [0, 0, 0, 0], 1 / 4),
        (["a", "b", "b"], [7, -1, -1], 1),
    ],
)
def test_accuracy_with_other_numbers_of_clusters(y_true, y_pred, accuracy):
    assert clustering_accuracy(y_true, y_pred) == accuracy


def test_pairwise_f1_of_samples_all_alone():
    assert pairwise_f1([0, 1, 2], [2, 0, 1]) == 1
    assert pairwise_f1([0, 1, 2], [0, 0, 0]) == 0
    assert pairwise_f1([5], [9]) == 1


def test_pairwise_f1_counts_ten_million_samples_exactly():
    n = 10_000_000
    y_true = np.zeros(n, dtype=np.int8)
    y_pred = np.arange(n, dtype=np.int32) % 2
    half, whole = (n // 2) * (n // 2 - 1), n * (n - 1) // 2
    assert pairwise_f1(y_true, y_pred) == 2 * half / (half + whole)


@pytest.mark.parametrize("score", [*SCORES, clustering_scores])
@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([0, 1], [0, 1, 1], "same length; got 2 and 3"),
        ([], [], "y_true is empty"),
        ([0], [], "y_pred is empty"),
        ([[0], [1]], [0, 1], r"y_true must be 1-D.*\(2, 1\)"),
        ([0, 1], 3, r"y_pred must be 1-D.*\(\)"),
        ([0.0, np.nan], [0, 1], "y_true has missing labels"),
        ([0, 1], np.array(["a", None], dtype=object), "y_pred has missing labels"),
    ],
)
def test_wrong_labels_are_refused(score, y_true, y_pred, message):
    with pytest.raises(ValueError, match=message):
        score(y_true, y_pred)
