"""Agreement against scikit-learn, the consensus against plain loops and planted truths."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from anchorview.estimators.auto.consensus import (
    agreement_matrix,
    agreement_with,
    cross_agreement,
    family_weights,
    find_consensus,
    grown_agreement,
    mean_agreement,
)

seeds = st.integers(0, 10_000)


def random_partitions(seed, n_candidates=5, n=60, k=4):
    """Noisy copies of one partition, each with its own names of the clusters."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    return np.stack([renamed(noisy(truth, 0.3, k, rng), k, rng) for _ in range(n_candidates)])


def noisy(labels, share, k, rng):
    return np.where(rng.random(len(labels)) < share, rng.integers(k, size=len(labels)), labels)


def renamed(labels, k, rng):
    return rng.permutation(k)[labels]


def equal_weights(partitions):
    return np.full(len(partitions), 1 / len(partitions))


def chosen(partitions, k, families):
    """The whole rule, as the estimator applies it."""
    scores = cross_agreement(agreement_matrix(partitions, k), families)
    start = partitions[scores.argmax()]
    return find_consensus(partitions, k, family_weights(families), start)


def cross_agreement_by_loops(agreement, families):
    def mean_with(c, members):
        return np.mean([agreement[c, other] for other in members])

    scores = []
    for c, own in enumerate(families):
        if len(set(families)) == 1:
            scores.append(mean_with(c, [i for i in range(len(families)) if i != c]))
            continue
        members = {f: [i for i, g in enumerate(families) if g == f] for f in families}
        scores.append(np.mean([mean_with(c, members[f]) for f in members if f != own]))
    return scores


def step_by_loops(partitions, k, weights, labels):
    """Minus half of every sample's squared distance from every pattern of the labels."""
    n_candidates, n = partitions.shape
    scores = np.empty((n, k))
    for j in range(k):
        members = [i for i in range(n) if labels[i] == j]
        for i in range(n):
            distance = 0
            for c in range(n_candidates):
                for label in range(k):
                    share = np.mean([partitions[c, m] == label for m in members])
                    distance += weights[c] * ((partitions[c, i] == label) - share) ** 2
            scores[i, j] = -distance / 2
    return scores


class TestAgreement:
    @given(
        st.integers(1, 12).flatmap(
            lambda n: st.lists(
                st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1, max_size=5
            )
        )
    )
    def test_equal_to_scikit_learn_on_small_partitions(self, rows):
        agreement = agreement_matrix(np.array(rows), 4)
        expected = [[adjusted_rand_score(a, b) for b in rows] for a in rows]
        np.testing.assert_allclose(agreement, expected, atol=1e-12)

    @settings(max_examples=20)
    @given(seed=seeds)
    def test_equal_to_scikit_learn_on_larger_ones(self, seed):
        partitions = random_partitions(seed, n=500)
        agreement = agreement_matrix(partitions, 4)
        np.testing.assert_array_equal(agreement, agreement.T)
        np.testing.assert_array_equal(agreement.diagonal(), 1)
        for a, b in combinations(range(len(partitions)), 2):
            expected = adjusted_rand_score(partitions[a], partitions[b])
            assert agreement[a, b] == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("n", [1, 2, 6])
    def test_trivial_partitions(self, n):
        rows = [np.zeros(n, int), np.full(n, n - 1), np.arange(n), np.arange(n)[::-1]]
        expected = [[adjusted_rand_score(a, b) for b in rows] for a in rows]
        np.testing.assert_array_equal(agreement_matrix(np.array(rows), n), expected)

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
    def test_counts_do_not_overflow(self, dtype):
        k, n = 100, 200_000
        rng = np.random.default_rng(0)
        first = np.sort(rng.integers(k, size=n))
        second = np.where(rng.random(n) < 0.2, rng.integers(k, size=n), first)
        agreement = agreement_matrix(np.stack([first, second]).astype(dtype), k)
        assert agreement[0, 1] == pytest.approx(adjusted_rand_score(first, second), abs=1e-12)

    def test_blocks_do_not_matter(self, monkeypatch):
        partitions = random_partitions(0)
        whole = agreement_matrix(partitions, 4)
        monkeypatch.setattr("anchorview.estimators.auto.consensus.BLOCK", 35)
        np.testing.assert_array_equal(agreement_matrix(partitions, 4), whole)

    @settings(max_examples=30)
    @given(seed=seeds)
    def test_agreement_with_one_partition_equal_to_scikit_learn(self, seed):
        partitions = random_partitions(seed)
        labels = np.random.default_rng(seed + 1).integers(4, size=60)
        found = agreement_with(labels, partitions, 4)
        expected = [adjusted_rand_score(labels, row) for row in partitions]
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert agreement_with(partitions[2], partitions, 4)[2] == 1

    def test_agreement_with_labels_that_are_not_used(self):
        # Labels need not be all there, and one partition may have fewer clusters.
        labels = np.array([0, 0, 3, 3, 3, 3])
        rows = np.array([[1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 2, 2], [0, 1, 2, 3, 0, 1]])
        expected = [adjusted_rand_score(labels, row) for row in rows]
        np.testing.assert_allclose(agreement_with(labels, rows, 4), expected, atol=1e-12)
        assert expected[0] == 1

    @pytest.mark.parametrize("known", range(6))
    def test_agreement_grows_to_that_of_all(self, known):
        partitions = random_partitions(3)
        whole = agreement_matrix(partitions, 4)
        before = whole[:known, :known].copy()
        grown = grown_agreement(before, partitions, 4)
        np.testing.assert_array_equal(grown, whole)
        np.testing.assert_array_equal(before, whole[:known, :known])

    def test_what_is_known_is_not_computed_again(self):
        partitions = random_partitions(3)
        known = np.array([[1, 0.25], [0.25, 1]])
        grown = grown_agreement(known, partitions, 4)
        np.testing.assert_array_equal(grown[:2, :2], known)
        np.testing.assert_array_equal(grown, grown.T)
        for c, other in ((2, 0), (4, 1), (4, 3)):
            expected = adjusted_rand_score(partitions[c], partitions[other])
            assert grown[c, other] == pytest.approx(expected, abs=1e-12)

    @given(seed=seeds, n_runs=st.integers(1, 4), n_candidates=st.integers(1, 4))
    def test_mean_agreement_equal_to_loops(self, seed, n_runs, n_candidates):
        partitions = random_partitions(seed, n_candidates=n_candidates * n_runs)
        runs = [partitions[c * n_runs : (c + 1) * n_runs] for c in range(n_candidates)]
        means = mean_agreement(agreement_matrix(partitions, 4), n_runs)
        assert means.shape == (n_candidates, n_candidates)
        for a in range(n_candidates):
            for b in range(n_candidates):
                pairs = [
                    adjusted_rand_score(runs[a][i], runs[b][j])
                    for i in range(n_runs)
                    for j in range(n_runs)
                    if a != b or i != j
                ]
                # One run alone agrees with itself.
                expected = np.mean(pairs) if pairs else 1
                assert means[a, b] == pytest.approx(expected, abs=1e-12)

    def test_mean_agreement_leaves_what_it_is_given(self):
        agreement = agreement_matrix(random_partitions(5, n_candidates=6), 4)
        before = agreement.copy()
        mean_agreement(agreement, 3)
        mean_agreement(agreement, 1)
        np.testing.assert_array_equal(agreement, before)


class TestFamilies:
    def test_weights(self):
        weights = family_weights(["a", "b", "a", "c", "a"])
        np.testing.assert_allclose(weights, [1 / 9, 1 / 3, 1 / 9, 1 / 3, 1 / 9])
        np.testing.assert_allclose(family_weights(["a", "a"]), 0.5)
        assert family_weights(["a"]) == 1

    @given(seed=seeds, families=st.lists(st.sampled_from("abc"), min_size=2, max_size=7))
    def test_cross_agreement_equal_to_loops(self, seed, families):
        size = len(families)
        agreement = np.random.default_rng(seed).uniform(-0.5, 1, size=(size, size))
        np.testing.assert_allclose(
            cross_agreement(agreement, families),
            cross_agreement_by_loops(agreement, families),
            atol=1e-12,
        )

    def test_own_family_does_not_count(self):
        agreement = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.4], [0.2, 0.4, 1.0]])
        np.testing.assert_allclose(cross_agreement(agreement, ["a", "a", "b"]), [0.2, 0.4, 0.3])
        np.testing.assert_allclose(cross_agreement(agreement, ["a"] * 3), [0.55, 0.65, 0.3])

    def test_one_candidate(self):
        np.testing.assert_array_equal(cross_agreement(np.ones((1, 1)), ["a"]), [1])


class TestConsensus:
    @settings(max_examples=15)
    @given(seed=seeds)
    def test_step_equal_to_loops(self, seed):
        partitions = random_partitions(seed, n_candidates=4, n=25, k=3)
        weights = family_weights(["a", "a", "b", "c"])
        rule, labels = find_consensus(partitions, 3, weights, partitions[0], max_iter=1)
        expected = step_by_loops(partitions, 3, weights, partitions[0])
        candidates = np.arange(4)
        found = [rule.patterns[:, candidates, own].sum(axis=1) for own in partitions.T]
        # A distance and the rule's score add up to the same for all clusters: half of the weights.
        np.testing.assert_allclose(found + rule.offsets - 0.5, expected, atol=1e-12)
        reached = expected[np.arange(25), labels]
        np.testing.assert_allclose(reached, expected.max(axis=1), atol=1e-12)

    @given(seed=seeds, max_iter=st.integers(1, 4))
    def test_the_rule_gives_the_labels_returned(self, seed, max_iter):
        partitions = random_partitions(seed)
        weights = equal_weights(partitions)
        for iterations in (max_iter, 50):
            rule, labels = find_consensus(
                partitions, 4, weights, partitions[0], max_iter=iterations
            )
            np.testing.assert_array_equal(rule.labels(partitions), labels)
            assert labels.dtype == np.int32

    @given(seed=seeds)
    def test_converged_labels_are_a_fixed_point(self, seed):
        partitions = random_partitions(seed)
        weights = equal_weights(partitions)
        rule, labels = find_consensus(partitions, 4, weights, partitions[0])
        again, same = find_consensus(partitions, 4, weights, labels, max_iter=1)
        np.testing.assert_array_equal(same, labels)
        np.testing.assert_array_equal(again.patterns, rule.patterns)
        np.testing.assert_array_equal(again.votes, rule.votes)

    @given(seed=seeds)
    def test_order_of_samples_does_not_matter(self, seed):
        partitions = random_partitions(seed)
        order = np.random.default_rng(seed).permutation(partitions.shape[1])
        families = ["a", "a", "b", "b", "c"]
        rule, labels = chosen(partitions, 4, families)
        moved_rule, moved = chosen(partitions[:, order], 4, families)
        np.testing.assert_array_equal(moved, labels[order])
        np.testing.assert_array_equal(
            moved_rule.confidence(partitions[:, order], moved),
            rule.confidence(partitions, labels)[order],
        )

    @given(seed=seeds)
    def test_names_of_a_candidates_clusters_do_not_matter(self, seed):
        partitions = random_partitions(seed)
        rng = np.random.default_rng(seed)
        others = np.stack([renamed(row, 4, rng) for row in partitions])
        weights = equal_weights(partitions)
        rule, labels = find_consensus(partitions, 4, weights, partitions[0])
        other_rule, other = find_consensus(others, 4, weights, partitions[0])
        np.testing.assert_array_equal(other, labels)
        np.testing.assert_array_equal(
            other_rule.confidence(others, other), rule.confidence(partitions, labels)
        )

    def test_blocks_do_not_matter(self, monkeypatch):
        partitions = random_partitions(0)
        weights = equal_weights(partitions)
        _, whole = find_consensus(partitions, 4, weights, partitions[0])
        monkeypatch.setattr("anchorview.estimators.auto.consensus.BLOCK", 35)
        rule, labels = find_consensus(partitions, 4, weights, partitions[0])
        np.testing.assert_array_equal(labels, whole)
        np.testing.assert_array_equal(rule.labels(partitions[:, :1]), whole[:1])

    def test_perfect_agreement(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(4, size=100)
        partitions = np.stack([renamed(truth, 4, rng) for _ in range(7)])
        rule, labels = chosen(partitions, 4, list("aabbccc"))
        assert adjusted_rand_score(truth, labels) == 1
        np.testing.assert_array_equal(rule.confidence(partitions, labels), 1)

    @pytest.mark.parametrize("seed", range(3))
    def test_planted_partition_is_found_better_than_by_any_candidate(self, seed):
        rng = np.random.default_rng(seed)
        truth = rng.integers(5, size=1000)
        partitions = np.stack([renamed(noisy(truth, 0.3, 5, rng), 5, rng) for _ in range(9)])
        _, labels = chosen(partitions, 5, list("aaabbbccc"))
        best = max(adjusted_rand_score(truth, row) for row in partitions)
        assert adjusted_rand_score(truth, labels) > best + 0.2

    def test_new_samples_are_labeled_as_the_old(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(5, size=1000)
        partitions = np.stack([noisy(truth, 0.3, 5, rng) for _ in range(9)])
        rule, _ = find_consensus(partitions[:, :500], 5, np.full(9, 1 / 9), partitions[0, :500])
        assert adjusted_rand_score(truth[500:], rule.labels(partitions[:, 500:])) > 0.9

    def test_ambiguous_samples_have_less_confidence(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(4, size=800)
        ambiguous = np.arange(800) < 80
        share = np.where(ambiguous, 1, 0.1)
        partitions = np.stack([renamed(noisy(truth, share, 4, rng), 4, rng) for _ in range(8)])
        rule, labels = chosen(partitions, 4, list("aabbccdd"))
        confidence = rule.confidence(partitions, labels)
        assert confidence.min() >= 0
        assert confidence.max() <= 1
        assert confidence[ambiguous].mean() < 0.6
        assert confidence[~ambiguous].mean() > 0.9

    def test_confidence_is_the_weight_of_the_votes(self):
        truth = np.repeat([0, 1], 10)
        dissenting = truth.copy()
        dissenting[0] = 1
        partitions = np.stack([truth, 1 - truth, dissenting])
        rule, labels = find_consensus(partitions, 2, np.array([0.25, 0.25, 0.5]), truth)
        np.testing.assert_array_equal(labels, truth)
        np.testing.assert_array_equal(rule.votes, [[0, 1], [1, 0], [0, 1]])
        np.testing.assert_allclose(rule.confidence(partitions, labels), [0.5, *[1] * 19])
        np.testing.assert_allclose(rule.confidence(partitions, 1 - labels), [0.5, *[0] * 19])

    def test_a_large_family_does_not_outvote_the_others(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(4, size=600)
        bad = rng.integers(4, size=600)
        good = [renamed(noisy(truth, 0.1, 4, rng), 4, rng) for _ in range(3)]
        partitions = np.stack([renamed(bad, 4, rng) for _ in range(40)] + good)
        families = ["many"] * 40 + ["x", "y", "z"]
        _, labels = chosen(partitions, 4, families)
        best = max(adjusted_rand_score(truth, row) for row in good)
        assert adjusted_rand_score(truth, labels) > best
        _, outvoted = find_consensus(partitions, 4, equal_weights(partitions), bad)
        assert adjusted_rand_score(bad, outvoted) == 1

    def test_one_family(self):
        partitions = random_partitions(1, n=400)
        rule, labels = chosen(partitions, 4, ["a"] * 5)
        np.testing.assert_allclose(rule.weights, 0.2)
        agreement = agreement_matrix(np.vstack([partitions, labels]), 4)
        assert agreement[-1, :-1].mean() > cross_agreement(agreement[:-1, :-1], ["a"] * 5).max()

    def test_one_candidate_is_its_own_consensus(self):
        partitions = random_partitions(1, n_candidates=1)
        rule, labels = chosen(partitions, 4, ["a"])
        np.testing.assert_array_equal(labels, partitions[0])
        np.testing.assert_array_equal(rule.confidence(partitions, labels), 1)

    def test_labels_that_no_sample_had_vote_for_no_cluster(self):
        partitions = np.array([[0, 0, 0, 2, 2, 2], [1, 1, 1, 0, 0, 0]])
        rule, labels = find_consensus(partitions, 3, np.array([0.5, 0.5]), partitions[0])
        np.testing.assert_array_equal(labels, partitions[0])
        np.testing.assert_array_equal(rule.votes, [[0, -1, 2], [2, 0, -1]])
        new = np.array([[1], [1]])
        assert rule.labels(new) == 0
        assert rule.confidence(new, rule.labels(new)) == 0.5
