"""K-means over blocks of rows is K-means; repairs of it, and samples of rows, are even."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin_min

from anchorview._utils import threads
from anchorview._utils.linalg import unit_rows
from anchorview.core import assign, blockwise_kmeans
from anchorview.core.assign import assigned, fit_assignment
from anchorview.core.blockwise_kmeans import (
    ClusterSums,
    cluster_sums,
    kmeans_plusplus,
    lloyd,
    repaired,
    sampled_rows,
)
from anchorview.core.centers import EmbeddedRows
from helpers.blocks import BlockedRows


def make_points(n=3000, k=5, noise=0.3, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    points = 2 * np.eye(k)[y] + noise * rng.standard_normal((n, k))
    return points.astype(dtype), y


def refine_centroids(rows, starts, normalize=False, max_steps=300):
    refined = blockwise_kmeans.lloyd(rows, np.stack(starts), normalize, 1e-7, max_steps)
    return refined.best


def inertia(points, centroids):
    _, distances = pairwise_distances_argmin_min(points, centroids)
    return float(np.square(distances, dtype=np.float64).sum())


@pytest.fixture
def small_sample(set_constants):
    """A few hundred rows are enough for blockwise K-means."""
    set_constants(assign, SAMPLE=500)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("normalize", [True, False])
def test_steps_are_those_of_scikit_learn(dtype, normalize):
    rows, _ = make_points(dtype=dtype)
    points = unit_rows(rows) if normalize else rows
    start = points[np.random.default_rng(1).choice(len(rows), 5, replace=False)]
    expected = KMeans(5, init=start, n_init=1, algorithm="lloyd").fit(points)
    found = refine_centroids(BlockedRows(rows, 777), [start], normalize)
    np.testing.assert_allclose(found, expected.cluster_centers_, atol=5e-3)
    assert inertia(points, found) == pytest.approx(expected.inertia_, rel=1e-4)
    nearest = ((points[:, None] - found) ** 2).sum(axis=2).argmin(axis=1)
    assert adjusted_rand_score(nearest, expected.labels_) > 0.999


def test_longer_steps_never_raise_the_inertia_and_end_at_means():
    rows, _ = make_points(n=600, noise=1.0)
    start = rows[None, :20]
    steps = [
        blockwise_kmeans.lloyd(EmbeddedRows(rows), start, False, 0, n, 1.8) for n in range(2, 9)
    ]
    inertias = np.array([found.inertias[0] for found in steps])
    assert (np.diff(inertias) <= 1e-9 * inertias[0]).all()
    usual = blockwise_kmeans.lloyd(EmbeddedRows(rows), start, False, 0, 8)
    assert inertias[-1] < usual.inertias[0]
    settled = blockwise_kmeans.lloyd(EmbeddedRows(rows), start, False, 0, pace=1.8).centroids[0]
    nearest = cdist(rows, settled).argmin(axis=1)
    means = [rows[nearest == c].mean(axis=0) for c in range(20)]
    np.testing.assert_allclose(settled, means, atol=0.02)


@given(
    seed=st.integers(0, 100),
    step=st.integers(1, 400),
    n_sets=st.integers(1, 3),
    k=st.sampled_from([4, 30]),
    weighted=st.booleans(),
)
@settings(max_examples=50)
def test_sums_are_those_of_the_nearest_centroids(seed, step, n_sets, k, weighted):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((200, 3))
    centroids = rng.standard_normal((n_sets, k, 3))
    w = rng.choice([0, 0.5, 2], 200) if weighted else np.ones(200)
    total = BlockedRows(rows, step, weights=w if weighted else None).reduce(
        partial(cluster_sums, centroids=centroids, normalize=False), ClusterSums.merged
    )
    for s in range(n_sets):
        distances = ((rows[:, None] - centroids[s]) ** 2).sum(axis=2)
        member = np.eye(k)[distances.argmin(axis=1)]
        counts = w @ member
        np.testing.assert_allclose(total.sums[s], member.T @ (w[:, None] * rows), atol=1e-12)
        np.testing.assert_allclose(total.counts[s], counts, atol=1e-12)
        means = total.sums[s] / np.where(counts > 0, counts, 1)[:, None]
        inertia = w @ np.square(rows - member @ means).sum(axis=1)
        np.testing.assert_allclose(total.inertias[s], inertia, rtol=1e-9, atol=1e-9)


def test_long_sums_in_single_precision_keep_their_digits():
    rng = np.random.default_rng(0)
    rows = (1 + 0.01 * rng.standard_normal((200_000, 2))).astype(np.float32)
    total = cluster_sums(rows, 0, centroids=np.ones((1, 1, 2)), normalize=False)
    np.testing.assert_allclose(total.sums[0, 0], rows.sum(axis=0, dtype=np.float64), rtol=1e-6)
    assert total.counts.tolist() == [[200_000]]


def test_the_best_of_several_starts_is_kept_wherever_it_is():
    rows, y = make_points(noise=0.1)
    # Two centroids in one cluster and none in another: Lloyd steps cannot repair that.
    bad = np.vstack([rows[:4], rows[y == 0][1]])
    good = rows[:5]
    blocks = BlockedRows(rows, 500)
    best, worse = (refine_centroids(blocks, [start]) for start in (good, bad))
    assert inertia(rows, best) < 0.5 * inertia(rows, worse)
    for starts in ([good, bad, bad], [bad, good, bad], [bad, bad, good]):
        np.testing.assert_allclose(refine_centroids(blocks, starts), best, atol=1e-12)


@pytest.mark.parametrize("method", ["kmeans", "cluster_qr"])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_agree_with_memory(small_sample, method, normalize, dtype):
    rows, y = make_points(dtype=dtype)
    options = {"method": method, "normalize": normalize, "n_init": 5, "seed": 2}
    _, labels = assigned(rows, 5, **options)
    rules = [fit_assignment(BlockedRows(rows, s), 5, **options) for s in (100, 999, 3000)]
    for rule in rules:
        np.testing.assert_array_equal(rule(rows), rules[0](rows))
        np.testing.assert_allclose(rule.centroids, rules[0].centroids, atol=1e-5)
    assert adjusted_rand_score(rules[0](rows), labels) >= 0.999
    assert adjusted_rand_score(rules[0](rows), y) > 0.9


@pytest.mark.parametrize("method", ["kmeans", "cluster_qr"])
def test_order_of_rows_and_rotation_do_not_matter_in_double_precision(small_sample, method):
    rng = np.random.default_rng(0)
    rows, _ = make_points(noise=0.7)
    rotation, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    order = rng.permutation(len(rows))
    options = {"method": method, "normalize": True, "n_init": 3, "seed": 1}
    labels = fit_assignment(BlockedRows(rows, 400), 5, **options)(rows)
    moved = (rows @ rotation)[order]
    others = fit_assignment(BlockedRows(moved, 700), 5, **options)(moved)
    assert adjusted_rand_score(labels[order], others) == 1


def test_a_cluster_of_equal_rows_is_found(set_constants):
    set_constants(assign, SAMPLE=4000)
    rng = np.random.default_rng(0)
    y = rng.integers(8, size=20_000)
    rows = np.eye(8)[y] + 0.15 * rng.standard_normal((20_000, 8)) * (y > 0)[:, None]
    for seed in range(4):
        rule = fit_assignment(
            BlockedRows(rows, 6000), 8, method="kmeans", normalize=True, n_init=10, seed=seed
        )
        assert adjusted_rand_score(rule(rows), y) > 0.99


def many_points(n, k, width=12, noise=0.25, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((k, width)) / np.sqrt(width)
    points = centers[rng.integers(k, size=n)] + noise * rng.standard_normal((n, width)) / 3
    return points.astype(dtype)


@pytest.fixture
def always_sampled(set_constants):
    """Few rows are clustered as many are: from a sample, in blocks."""
    set_constants(assign, SAMPLE=600, MOST_INDEPENDENT=0)


KMEANS = {"method": "kmeans", "normalize": False, "seed": 0}


@pytest.mark.parametrize(("k", "n_init"), [(4, 10), (30, 3), (150, 1), (300, 2)])
def test_inertia_is_that_of_scikit_learn(always_sampled, k, n_init):
    rows = many_points(8000, k)
    expected = KMeans(k, n_init=n_init, random_state=0).fit(rows)
    rule = fit_assignment(BlockedRows(rows, 999), k, n_init=n_init, **KMEANS)
    assert inertia(rows, rule.centroids) < 1.01 * expected.inertia_


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_hardly_matter_for_many_clusters(always_sampled, dtype):
    rows = many_points(5000, 120, dtype=dtype)
    rules = [fit_assignment(BlockedRows(rows, s), 120, n_init=2, **KMEANS) for s in (700, 5000)]
    again = fit_assignment(BlockedRows(rows, 700), 120, n_init=2, **KMEANS)
    np.testing.assert_array_equal(again.centroids, rules[0].centroids)
    assert adjusted_rand_score(rules[0](rows), rules[1](rows)) > 0.99
    inertias = [inertia(rows, rule.centroids) for rule in rules]
    assert inertias[0] == pytest.approx(inertias[1], rel=2e-3)


def test_threads_do_not_matter(always_sampled, monkeypatch):
    rows = EmbeddedRows(many_points(5000, 120))
    rules = []
    for cores in (1, 3):
        monkeypatch.setattr(threads, "n_cores", lambda cores=cores: cores)
        rules.append(fit_assignment(rows, 120, n_init=2, **KMEANS))
    np.testing.assert_array_equal(rules[0].centroids, rules[1].centroids)
    np.testing.assert_array_equal(rules[0](rows.embedding), rules[1](rows.embedding))


def test_fewer_distinct_rows_than_clusters(always_sampled):
    distinct = many_points(90, 90)
    rows = np.repeat(distinct, 20, axis=0)
    rule = fit_assignment(BlockedRows(rows, 500), 120, n_init=1, **KMEANS)
    assert rule.centroids.shape == (120, 12)
    assert inertia(rows, rule.centroids) < 1e-6 * np.square(rows).sum()
    labels = rule(rows).reshape(90, 20)
    assert (labels == labels[:, :1]).all()
    assert len(np.unique(labels)) == 90


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_labels_of_many_clusters_are_those_of_the_nearest_centroids(dtype):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((3000, 5)).astype(dtype)
    centroids = rng.standard_normal((200, 5))
    # Equally near centroids, up to less than single precision can tell.
    centroids[100:] = centroids[:100] * (1 + 1e-9)
    rule = assign.Assignment(centroids, normalize=False)
    expected = cdist(rows.astype(np.float64), centroids).argmin(axis=1)
    np.testing.assert_array_equal(rule(rows), expected)
    pieces = [rule(rows[start : start + 77]) for start in range(0, 3000, 77)]
    np.testing.assert_array_equal(np.concatenate(pieces), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("normalize", [False, True])
def test_memberships_add_up_the_same_rows_as_labels(dtype, normalize, set_constants):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((5000, 6)).astype(dtype)
    centroids = rng.standard_normal((3, 10, 6))
    # Equally near centroids: a row belongs to the first.
    centroids[:, 7] = centroids[:, 2]
    found = cluster_sums(rows, 0, centroids=centroids, normalize=normalize)
    set_constants(blockwise_kmeans, FEW_CLUSTERS=0)
    expected = cluster_sums(rows, 0, centroids=centroids, normalize=normalize)
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert not found.counts[:, 7].any()
    np.testing.assert_allclose(found.sums, expected.sums, atol=1e5 * np.finfo(dtype).eps)
    assert found.squares == pytest.approx(expected.squares, rel=1e-6)


@given(seed=st.integers(0, 50), n=st.integers(1, 60), k=st.integers(1, 60))
@settings(max_examples=25)
def test_starts_are_rows_and_distinct_while_there_are_any(seed, n, k):
    rng = np.random.RandomState(seed)
    points = rng.standard_normal((n, 3))
    starts = kmeans_plusplus(points, k, rng)
    assert len(starts) == k
    distinct = {tuple(row) for row in starts}
    assert distinct <= {tuple(row) for row in points}
    assert len(distinct) == min(n, k)


def make_clusters(k=6, n=600, noise=0.1, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), np.arange(k), rng.integers(k, size=n - 2 * k)])
    centers = 3 * np.eye(k)
    # The last two are neighbors, so that Lloyd iterations leave them one centroid.
    centers[-1] = centers[-2] + 2 * np.eye(k)[-1]
    return (centers[y] + noise * rng.standard_normal((n, k))).astype(dtype), y


def settled(points, start):
    return lloyd(EmbeddedRows(points), np.asarray(start)[None], False, 0.0).centroids[0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_missing_cluster_gets_one_of_two_centroids(dtype):
    points, y = make_clusters(dtype=dtype)
    means = np.array([points[y == c].mean(axis=0, dtype=np.float64) for c in range(6)])
    both = points[y == 0][:2]
    stuck = settled(points, np.vstack([both, means[1:5]]))
    found = settled(points, repaired(points, stuck))
    assert inertia(points, found) < 0.25 * inertia(points, stuck)
    order = cdist(means, found).argmin(axis=1)
    np.testing.assert_allclose(found[order], means, atol=1e-6)


def test_separated_clusters_and_equal_points_stay():
    points, _ = make_clusters()
    assert repaired(points, settled(points, points[:6])) is None
    points = np.ones((50, 3))
    assert repaired(points, np.array([[1.0, 1, 1], [1, 1, 1], [2, 2, 2]])) is None


@given(seed=st.integers(0, 200), k=st.integers(2, 40))
@settings(max_examples=25)
def test_moves_lower_the_inertia(seed, k):
    points, _ = make_clusters(k=8, n=300, noise=0.7, seed=seed)
    start = points[np.random.default_rng(seed).choice(300, k, replace=False)]
    before = settled(points, start)
    after = repaired(points, before)
    if after is not None:
        assert inertia(points, after) < inertia(points, before)
        assert after.shape == before.shape


def numbered(n, dtype=np.float64, seed=0):
    """Rows whose first column is their position."""
    rows = np.random.default_rng(seed).standard_normal((n, 4)).astype(dtype)
    rows[:, 0] = np.arange(n)
    return rows


def sampled_numbers(rows, count, seed=0):
    return sampled_rows(EmbeddedRows(rows), count, seed)[:, 0].astype(int)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(ends=st.lists(st.integers(1, 4999), max_size=12, unique=True))
@settings(max_examples=25)
def test_samples_do_not_depend_on_blocks(dtype, ends):
    rows = numbered(5000, dtype)
    whole = sampled_rows(EmbeddedRows(rows), 500, 3)
    np.testing.assert_array_equal(sampled_rows(BlockedRows(rows, bounds=ends), 500, 3), whole)


@given(seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_samples_do_not_depend_on_order_and_rotation_in_double_precision(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((4000, 5)) / 60
    rotation, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    order = rng.permutation(4000)
    sample = sampled_rows(EmbeddedRows(rows), 300, seed)
    moved = sampled_rows(EmbeddedRows((rows @ rotation)[order]), 300, seed)
    np.testing.assert_allclose(moved @ rotation.T, sample, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("n", "count"), [(100, 100), (3000, 1000), (50_000, 1000), (50_000, 20_000)]
)
def test_as_many_rows_as_wanted_each_at_most_once(dtype, n, count):
    for seed in range(5):
        chosen = sampled_numbers(numbered(n, dtype), count, seed)
        assert len(chosen) == len(set(chosen)) == count


@pytest.mark.parametrize("distinct", [1, 2, 7, 300])
def test_rows_with_few_distinct_values_are_sampled_in_proportion(distinct):
    rng = np.random.default_rng(distinct)
    member = rng.integers(distinct, size=20_000)
    rows = rng.standard_normal((distinct, 3))[member]
    for seed in range(4):
        sample = sampled_rows(EmbeddedRows(rows), 2000, seed)
        assert len(sample) == 2000
        _, counts = np.unique(sample[:, 0], return_counts=True)
        assert len(counts) >= min(distinct, 250)
        assert counts.max() < 2 * 2000 / distinct + 10


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_row_is_about_equally_likely(dtype):
    n, count, repeats = 400, 100, 400
    rows = numbered(n, dtype)
    seeds = np.random.default_rng(1).integers(2**31, size=repeats)
    times = np.zeros(n)
    for seed in seeds:
        times[sampled_numbers(rows, count, int(seed))] += 1
    share = count / n
    expected = repeats * share
    chi_square = np.sum((times - expected) ** 2) / (expected * (1 - share))
    # Mean n and deviation sqrt(2 n), if all rows are alike.
    assert abs(chi_square - n) < 6 * np.sqrt(2 * n)
