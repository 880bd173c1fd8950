from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.preprocessing import normalize

from anchorview.metrics import (
    clustering_accuracy,
    clustering_scores,
    embedding_silhouette,
    pairwise_f1,
    purity,
    stability,
)

SCORES = [clustering_accuracy, pairwise_f1, purity]
label_pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25)


def accuracy_by_permutations(y_true, y_pred):
    # There are five values on both sides; a cluster matched to an unused one has no class.
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
def test_scores_equal_brute_force(pairs):
    y_true, y_pred = zip(*pairs, strict=True)
    assert clustering_accuracy(y_true, y_pred) == accuracy_by_permutations(y_true, y_pred)
    assert pairwise_f1(y_true, y_pred) == f1_by_pairs(y_true, y_pred)
    assert purity(y_true, y_pred) == purity_by_clusters(y_true, y_pred)


@pytest.mark.parametrize("score", SCORES)
@given(pairs=label_pairs, names=st.permutations("abcde"))
def test_only_equality_of_labels_matters(score, pairs, names):
    y_true, y_pred = zip(*pairs, strict=True)
    renamed = [names[label] for label in y_pred]
    assert score(y_true, renamed) == pytest.approx(score(y_true, y_pred), abs=1e-12)
    assert score(y_pred, renamed) == pytest.approx(1)


def test_scores_computed_by_hand():
    scores = clustering_scores([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2])
    assert list(scores) == ["ACC", "NMI", "F1", "Purity", "ARI"]
    assert scores == pytest.approx(
        {
            "ACC": 4 / 6,
            "NMI": 2 * (2 / 3) * np.log(2) / (np.log(2) + np.log(3)),
            "F1": 2 * 2 / (6 + 3),
            "Purity": 5 / 6,
            "ARI": (2 - 6 * 3 / 15) / ((6 + 3) / 2 - 6 * 3 / 15),
        }
    )


def test_pairwise_f1_of_a_million_samples_is_exact():
    n = 1_000_000
    y_true = np.zeros(n, dtype=np.int8)
    y_pred = np.arange(n, dtype=np.int32) % 2
    half, whole = (n // 2) * (n // 2 - 1), n * (n - 1) // 2
    assert pairwise_f1(y_true, y_pred) == 2 * half / (half + whole)


@pytest.mark.parametrize("score", [*SCORES, clustering_scores])
@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([0, 1], [0, 1, 1], r"\[2, 3\]"),
        ([0], [], "y_pred is empty"),
        ([[0], [1]], [0, 1], "y_true must be 1-D"),
        ([0, 1], np.array(["a", None], dtype=object), "y_pred has missing"),
    ],
)
def test_invalid_labels_raise(score, y_true, y_pred, message):
    with pytest.raises(ValueError, match=message):
        score(y_true, y_pred)


def make_embedding(n=400, k=4, sizes=None, dtype=np.float64):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(k), rng.choice(k, size=n - k, p=sizes)])
    lengths = rng.uniform(0.2, 5, size=(n, 1))
    return ((np.eye(k)[y] + 0.3 * rng.standard_normal((n, k))) * lengths).astype(dtype), y


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_silhouette_equals_scikit_learn(dtype):
    embedding, y = make_embedding(dtype=dtype)
    score = embedding_silhouette(embedding, y)
    assert score == pytest.approx(silhouette_score(normalize(embedding), y), abs=1e-5)
    assert score > silhouette_score(embedding, y) + 0.1
    assert embedding_silhouette(embedding, np.array(list("abcd"))[y]) == pytest.approx(score)


def test_silhouette_of_a_subset_is_close_to_that_of_all():
    embedding, y = make_embedding(n=3000)
    whole = embedding_silhouette(embedding, y)
    samples = [
        embedding_silhouette(embedding, y, sample_size=500, random_state=seed) for seed in range(5)
    ]
    assert samples == pytest.approx([whole] * 5, abs=0.03)
    assert len(set(samples)) == 5
    assert embedding_silhouette(embedding, y, sample_size=500) == samples[0]


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([0, 0, 0, 0], {}, "n_clusters=1"),
        ([0, 1, 2, 3], {}, "n_clusters=4 and n_samples=4"),
        ([0, 0, 1, 1], {"sample_size": 2}, "n_samples=2"),
    ],
)
def test_undefined_silhouettes_raise(labels, options, message):
    with pytest.raises(ValueError, match=message):
        embedding_silhouette(np.eye(4), labels, **options)
    with pytest.raises(ValueError, match="embedding contains NaN"):
        embedding_silhouette([[0.0, np.nan], [1, 2], [2, 3]], [0, 1, 1])


class FixedRuns(KMeans):
    """Returns fixed labels in the order in which clones are fitted, and records their seeds."""

    runs = ([0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1])
    seeds = ()

    def fit_predict(self, X):
        type(self).seeds += (self.random_state,)
        return self.runs[len(self.seeds) - 1]


def test_stability_is_the_mean_over_all_pairs_of_seeds_and_needs_several(monkeypatch):
    monkeypatch.setattr(FixedRuns, "seeds", ())
    model = FixedRuns(2, random_state=7)
    pairs = [adjusted_rand_score(a, b) for a, b in combinations(FixedRuns.runs, 2)]
    assert stability(model, np.eye(4), n_seeds=3) == pytest.approx(np.mean(pairs))
    assert len(set(FixedRuns.seeds)) == 3
    assert model.random_state == 7
    with pytest.raises(ValueError, match=r"at least 2.*got 1"):
        stability(KMeans(2), np.eye(4), n_seeds=1)
    with pytest.raises(ValueError, match="DBSCAN has no parameter random_state"):
        stability(DBSCAN(), np.eye(4))


def test_weights_are_repeated_samples():
    rng = np.random.default_rng(0)
    y_true, y_pred, w = rng.integers(4, size=(3, 60))
    repeated = clustering_scores(np.repeat(y_true, w), np.repeat(y_pred, w))
    weighted = clustering_scores(y_true, y_pred, sample_weight=w)
    assert weighted == pytest.approx(repeated, abs=1e-12)
    assert clustering_scores(y_true, y_pred)["ARI"] == pytest.approx(
        adjusted_rand_score(y_true, y_pred)
    )
