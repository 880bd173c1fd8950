import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from anchorview._utils.linalg import unit_rows
from anchorview.core import centers
from anchorview.core.assign import assigned
from anchorview.core.centers import Assignment, EmbeddedRows, cluster_spread, labels_of_runs


def make_embedding(seed=0, n=300, k=4, noise=0.05):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    points = np.eye(k)[y] * rng.uniform(0.5, 2, size=(n, 1)) + noise * rng.standard_normal((n, k))
    return points, y


@pytest.mark.parametrize("method", ["kmeans", "cluster_qr"])
@pytest.mark.parametrize("normalize", [True, False])
def test_separated_clusters_are_found_and_predicted(method, normalize):
    embedding, y = make_embedding()
    rule, labels = assigned(embedding, 4, method=method, normalize=normalize, n_init=5, seed=0)
    assert adjusted_rand_score(y, labels) == 1
    np.testing.assert_array_equal(rule(embedding), labels)
    assert labels.dtype == np.int32


@given(seed=st.integers(0, 50))
@pytest.mark.parametrize("method", ["kmeans", "cluster_qr"])
def test_order_of_rows_and_rotation_do_not_matter(method, seed):
    rng = np.random.default_rng(seed)
    embedding, _ = make_embedding(seed, noise=0.4)
    rotation, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    order = rng.permutation(len(embedding))
    options = {"method": method, "normalize": True, "n_init": 1, "seed": 3}
    _, labels = assigned(embedding, 4, **options)
    _, moved = assigned((embedding @ rotation)[order], 4, **options)
    assert adjusted_rand_score(labels[order], moved) == 1


def test_normalized_rows_and_the_signs_of_one_column():
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 0]])
    one_column = np.array([[3.0], [-4.0]])
    np.testing.assert_array_equal(unit_rows(one_column), one_column)
    run = Assignment(np.array([[-1.0], [2.0]]), normalize=True)
    found = labels_of_runs([run], np.array([[-3.0], [0.1], [0.9], [5.0]]))
    np.testing.assert_array_equal(found, [[0, 0, 1, 1]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("normalize", [True, False])
def test_distances_and_spread_equal_a_direct_computation(set_constants, normalize, dtype):
    set_constants(centers, BLOCK=2000)
    embedding = make_embedding(noise=0.3)[0].astype(dtype)
    options = {"method": "kmeans", "normalize": normalize, "n_init": 3, "seed": 0}
    rule, labels = assigned(embedding, 4, **options)
    points = unit_rows(embedding) if normalize else embedding
    expected = np.square(points[:, None] - rule.centroids).sum(axis=2)
    found = rule.squared_distances(embedding)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    spread = cluster_spread(EmbeddedRows(embedding), rule)
    own = expected[np.arange(len(labels)), labels]
    np.testing.assert_array_equal(spread.sizes, np.bincount(labels))
    np.testing.assert_allclose(spread.mean_square, own.mean())
    by_cluster = [own[labels == c].mean() for c in range(4)]
    np.testing.assert_allclose(spread.mean_square_per_cluster, by_cluster)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_labels_of_several_assignments(normalize, dtype):
    rng = np.random.default_rng(0)
    embedding = rng.standard_normal((50, 3)).astype(dtype)
    runs = [Assignment(rng.standard_normal((4, 3)), normalize) for _ in range(5)]
    found = labels_of_runs(runs, embedding)
    assert found.shape == (5, 50)
    points = embedding / (np.linalg.norm(embedding, axis=1, keepdims=True) if normalize else 1)
    for labels, run in zip(found, runs, strict=True):
        nearest = [np.argmin([np.sum((x - c) ** 2) for c in run.centroids]) for x in points]
        np.testing.assert_array_equal(labels, nearest)
        np.testing.assert_array_equal(labels, run(embedding))
