"""Agreement against scikit-learn, the consensus against plain loops and planted partitions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from anchorview.estimators.partitions.consensus import (
    Family,
    Partitions,
    agreement_matrix,
    agreement_with,
    cross_agreement,
    family_weights,
    fit_consensus,
    mean_agreement,
)

seeds = st.integers(0, 10_000)


KINDS = (("directions", 1 / 2), ("communities", 1 / 3))


def keys(names):
    """Families with one-letter names; those in capital letters are of communities."""
    kinds = (KINDS[name.isupper()] for name in names)
    return [Family(kind, name, own) for (kind, own), name in zip(kinds, names, strict=True)]


def noisy(labels, share, k, rng):
    """Labels of which a share, also per sample, is drawn again at random."""
    return np.where(rng.random(len(labels)) < share, rng.integers(k, size=len(labels)), labels)


def renamed(labels, k, rng):
    return rng.permutation(k)[labels]


def noisy_copies(truth, k, n_partitions, rng, share=0.3):
    """Noisy copies of a partition, each with its own names of the clusters."""
    return np.stack([renamed(noisy(truth, share, k, rng), k, rng) for _ in range(n_partitions)])


def random_partitions(seed, n_partitions=5, n=60, k=4):
    rng = np.random.default_rng(seed)
    return noisy_copies(rng.integers(k, size=n), k, n_partitions, rng)


def equal_weights(partitions):
    return np.full(len(partitions), 1 / len(partitions))


def consensus_of(partitions, k, families):
    """Consensus as the estimator computes it: from the best partition of each family on."""
    found = fit_consensus(Partitions(partitions, k), keys(families))
    return found.consensus, found.labels


def scikit_learn_agreement(rows, others=None):
    return [[adjusted_rand_score(a, b) for b in (rows if others is None else others)] for a in rows]


def cross_agreement_by_loops(agreement, families):
    def mean_with(c, members):
        return np.mean([agreement[c, other] for other in members])

    scores = []
    for c, own in enumerate(families):
        if len(set(families)) == 1:
            scores.append(mean_with(c, [i for i in range(len(families)) if i != c]))
            continue
        members = {f: [i for i, g in enumerate(families) if g == f] for f in families}
        others = [f for f in members if f != own]
        # A family counts as its share of the weight of its kind.
        shares = [
            KINDS[f.isupper()][1] / sum(g.isupper() == f.isupper() for g in members) for f in others
        ]
        means = [mean_with(c, members[f]) for f in others]
        scores.append(np.average(means, weights=shares))
    return scores


def scores_by_loops(partitions, k, weights, labels):
    """Minus half of the squared distance of every sample to every pattern of the labels."""
    n_partitions, n = partitions.shape
    scores = np.zeros((n, k))
    for i, j, c, label in product(range(n), range(k), range(n_partitions), range(k)):
        share = np.mean(partitions[c, labels == j] == label)
        scores[i, j] -= weights[c] * ((partitions[c, i] == label) - share) ** 2 / 2
    return scores


class TestAgreement:
    @given(
        st.integers(1, 12).flatmap(
            lambda n: st.lists(
                st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1, max_size=5
            )
        )
    )
    def test_equals_scikit_learn_on_small_partitions(self, rows):
        agreement = agreement_matrix(np.array(rows), 4)
        np.testing.assert_allclose(agreement, scikit_learn_agreement(rows), atol=1e-12)

    @settings(max_examples=20)
    @given(seed=seeds)
    def test_equals_scikit_learn_on_larger_partitions(self, seed):
        partitions = random_partitions(seed, n=500)
        agreement = agreement_matrix(partitions, 4)
        np.testing.assert_array_equal(agreement, agreement.T)
        np.testing.assert_array_equal(agreement.diagonal(), 1)
        np.testing.assert_allclose(agreement, scikit_learn_agreement(partitions), atol=1e-12)
        labels = np.random.default_rng(seed + 1).integers(4, size=500)
        (expected,) = scikit_learn_agreement([labels], partitions)
        np.testing.assert_allclose(agreement_with(labels, partitions, 4), expected, atol=1e-12)

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
    def test_counts_do_not_overflow(self, dtype):
        k, n = 100, 200_000
        rng = np.random.default_rng(0)
        first = np.sort(rng.integers(k, size=n))
        second = noisy(first, 0.2, k, rng)
        agreement = agreement_matrix(np.stack([first, second]).astype(dtype), k)
        assert agreement[0, 1] == pytest.approx(adjusted_rand_score(first, second), abs=1e-12)

    @given(seed=seeds, n_runs=st.integers(1, 4), n_candidates=st.integers(1, 4))
    def test_mean_agreement_equals_loops(self, seed, n_runs, n_candidates):
        partitions = random_partitions(seed, n_partitions=n_candidates * n_runs)
        agreement = agreement_matrix(partitions, 4)
        before = agreement.copy()
        means = mean_agreement(agreement, [n_runs] * n_candidates)
        np.testing.assert_array_equal(agreement, before)
        assert means.shape == (n_candidates, n_candidates)
        # Single entries equal scikit-learn's index, see above.
        for a, b in product(range(n_candidates), repeat=2):
            pairs = [
                agreement[a * n_runs + i, b * n_runs + j]
                for i, j in product(range(n_runs), repeat=2)
                if a != b or i != j
            ]
            assert means[a, b] == pytest.approx(np.mean(pairs) if pairs else 1, abs=1e-12)


class TestFamilies:
    def test_weights(self):
        weights = family_weights(keys("abaca"))
        np.testing.assert_allclose(weights, [1 / 9, 1 / 3, 1 / 9, 1 / 3, 1 / 9])
        np.testing.assert_allclose(family_weights(keys("aa")), 0.5)
        assert family_weights(keys("a")) == cross_agreement(np.ones((1, 1)), keys("a")) == 1
        # Kinds have fixed weights, which their families share.
        weights = family_weights(keys("aabAc"))
        np.testing.assert_allclose(weights, [1 / 10, 1 / 10, 1 / 5, 2 / 5, 1 / 5])

    @given(seed=seeds, families=st.lists(st.sampled_from("abcAB"), min_size=2, max_size=8))
    def test_cross_agreement_equals_loops(self, seed, families):
        size = len(families)
        agreement = np.random.default_rng(seed).uniform(-0.5, 1, size=(size, size))
        np.testing.assert_allclose(
            cross_agreement(agreement, keys(families)),
            cross_agreement_by_loops(agreement, families),
            atol=1e-12,
        )


class TestConsensus:
    @settings(max_examples=15)
    @given(seed=seeds)
    def test_iteration_equals_loops(self, seed):
        partitions = random_partitions(seed, n_partitions=4, n=25, k=3)
        weights = family_weights(keys("aabc"))
        rule, labels = Partitions(partitions, 3).iterate_consensus(
            weights, partitions[0], max_iter=1
        )
        expected = scores_by_loops(partitions, 3, weights, partitions[0])
        found = [rule.patterns[:, np.arange(4), own].sum(axis=1) for own in partitions.T]
        # The norm of a sample's one-hot labels, which is the same for all clusters, is left out.
        np.testing.assert_allclose(found + rule.offsets - 0.5, expected, atol=1e-12)
        reached = expected[np.arange(25), labels]
        np.testing.assert_allclose(reached, expected.max(axis=1), atol=1e-12)

    @given(seed=seeds, max_iter=st.integers(1, 4))
    def test_returned_labels_are_those_of_the_consensus_and_a_fixed_point(self, seed, max_iter):
        partitions = random_partitions(seed)
        weights = equal_weights(partitions)
        for iterations in (max_iter, 50):
            rule, labels = Partitions(partitions, 4).iterate_consensus(
                weights, partitions[0], iterations
            )
            np.testing.assert_array_equal(rule.labels(partitions), labels)
            assert labels.dtype == np.int32
        again, same = Partitions(partitions, 4).iterate_consensus(weights, labels, max_iter=1)
        np.testing.assert_array_equal(same, labels)
        np.testing.assert_array_equal(again.patterns, rule.patterns)
        np.testing.assert_array_equal(again.votes, rule.votes)

    def test_partitions_count_by_their_agreement_with_the_others(self):
        rng = np.random.default_rng(0)
        good, noise = np.repeat([0, 1, 2], 20), rng.integers(3, size=60)
        nearly = good.copy()
        nearly[:3] = 1
        partitions = np.vstack([good, good, nearly, noise])
        rule, labels = Partitions(partitions, 3).find_consensus(equal_weights(partitions), [good])
        np.testing.assert_array_equal(labels, good)
        expected = np.maximum([adjusted_rand_score(good, own) for own in partitions], 0)
        np.testing.assert_allclose(rule.weights, expected / expected.sum())
        assert rule.weights[3] < 0.1 * rule.weights[0]

    def test_a_small_cluster_on_which_most_agree_is_found(self):
        rare, halves = (np.arange(1_000) < 10).astype(int), np.arange(1_000) % 2
        rng = np.random.default_rng(0)
        others = [rng.permutation(halves) for _ in range(2)]
        partitions = np.vstack([*[rare] * 4, halves, *others])
        _, labels = Partitions(partitions, 2).find_consensus(
            equal_weights(partitions), [halves, rare]
        )
        assert adjusted_rand_score(rare, labels) == 1

    def test_without_any_agreement_weights_stay(self):
        # Two divisions that are independent of each other, and a start that agrees with neither.
        partitions = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
        rule, _ = Partitions(partitions, 2).find_consensus(
            np.array([0.5, 0.5]), [np.array([0, 1, 1, 0])]
        )
        np.testing.assert_allclose(rule.weights, [0.5, 0.5])

    @given(seed=seeds)
    def test_names_of_clusters_in_a_partition_do_not_matter(self, seed):
        partitions = random_partitions(seed)
        rng = np.random.default_rng(seed)
        others = np.stack([renamed(row, 4, rng) for row in partitions])
        weights = equal_weights(partitions)
        rule, labels = Partitions(partitions, 4).find_consensus(weights, [partitions[0]])
        other_rule, other = Partitions(others, 4).find_consensus(weights, [partitions[0]])
        np.testing.assert_array_equal(other, labels)
        np.testing.assert_array_equal(
            other_rule.confidence(others, other), rule.confidence(partitions, labels)
        )

    @pytest.mark.parametrize("seed", range(3))
    def test_planted_partition_is_found_better_than_by_any_candidate(self, seed):
        rng = np.random.default_rng(seed)
        truth = rng.integers(5, size=1000)
        partitions = noisy_copies(truth, 5, 9, rng)
        _, labels = consensus_of(partitions, 5, list("aaabbbccc"))
        best = max(adjusted_rand_score(truth, row) for row in partitions)
        assert adjusted_rand_score(truth, labels) > best + 0.2
        rule, _ = consensus_of(partitions[:, :500], 5, list("aaabbbccc"))
        assert adjusted_rand_score(truth[500:], rule.labels(partitions[:, 500:])) > 0.9

    def test_confidence_is_the_weight_of_the_votes(self):
        truth = np.repeat([0, 1], 10)
        dissenting = truth.copy()
        dissenting[0] = 1
        partitions = np.stack([truth, 1 - truth, dissenting])
        rule, labels = Partitions(partitions, 2).iterate_consensus(
            np.array([0.25, 0.25, 0.5]), truth
        )
        np.testing.assert_array_equal(labels, truth)
        np.testing.assert_array_equal(rule.votes, [[0, 1], [1, 0], [0, 1]])
        np.testing.assert_allclose(rule.confidence(partitions, labels), [0.5, *[1] * 19])
        np.testing.assert_allclose(rule.confidence(partitions, 1 - labels), [0.5, *[0] * 19])

    def test_large_family_does_not_outvote_the_others(self):
        rng = np.random.default_rng(0)
        truth, wrong = rng.integers(4, size=(2, 600))
        good = noisy_copies(truth, 4, 3, rng, share=0.1)
        partitions = np.vstack([noisy_copies(wrong, 4, 40, rng, share=0), good])
        _, labels = consensus_of(partitions, 4, "m" * 40 + "xyz")
        best = max(adjusted_rand_score(truth, row) for row in good)
        assert adjusted_rand_score(truth, labels) > best
        _, outvoted = Partitions(partitions, 4).find_consensus(equal_weights(partitions), [wrong])
        assert adjusted_rand_score(wrong, outvoted) == 1

    def test_labels_without_samples_vote_for_no_cluster(self):
        partitions = np.array([[0, 0, 0, 2, 2, 2], [1, 1, 1, 0, 0, 0]])
        rule, labels = Partitions(partitions, 3).find_consensus(
            np.array([0.5, 0.5]), [partitions[0]]
        )
        np.testing.assert_array_equal(labels, partitions[0])
        np.testing.assert_array_equal(rule.votes, [[0, -1, 2], [2, 0, -1]])
        new = np.array([[1], [1]])
        assert rule.labels(new) == 0
        assert rule.confidence(new, rule.labels(new)) == 0.5


@settings(max_examples=30)
@given(seed=seeds)
def test_distances_to_patterns_equal_a_direct_computation(seed):
    n, k = 60, 4
    partitions = random_partitions(seed, n=n, k=k)
    found, labels = consensus_of(partitions, k, ["a", "a", "b", "c", "c"])
    encoded = np.eye(k)[partitions]
    squares = np.full((n, k), np.inf)
    for c in np.unique(labels):
        away = encoded - encoded[:, labels == c].mean(axis=1, keepdims=True)
        squares[:, c] = found.weights @ np.square(away).sum(axis=2)
    np.testing.assert_allclose(found.squared_distances(partitions), squares, atol=1e-12)
    own, second, nearest = found.nearest_two(partitions)
    np.testing.assert_array_equal(own, found.labels(partitions))
    np.testing.assert_allclose(nearest, squares.min(axis=1), atol=1e-12)
    rows = np.arange(n)
    np.testing.assert_allclose(squares[rows, second], np.sort(squares)[:, 1], atol=1e-12)
    assert (second != labels).all()
