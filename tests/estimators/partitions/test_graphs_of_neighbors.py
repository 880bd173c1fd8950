"""Neighbor graphs against plain loops, their eigenvectors and their communities."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import MultiViewData
from anchorview.estimators.partitions import neighbor_graphs
from anchorview.estimators.partitions.neighbor_graphs import (
    LEADING,
    N_NEAREST_LANDMARKS,
    N_NEIGHBORS,
    Landmarks,
    NeighborGraph,
    fit_landmarks,
    n_landmarks,
)
from helpers.data import clustered_views


def graph_by_loops(X, count):
    """Self-tuning weights of the nearest neighbors, symmetric and normalized."""
    n = len(X)
    squares = np.square(X[:, None] - X[None]).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    near = np.argsort(squares, axis=1)[:, :count]
    reach = np.sqrt([squares[i, near[i, -1]] for i in range(n)])
    W = np.zeros((n, n))
    for i in range(n):
        for j in near[i]:
            W[i, j] = np.exp(-squares[i, j] / (reach[i] * reach[j]))
    W = np.maximum(W, W.T)
    roots = np.sqrt(W.sum(axis=1))
    return W / np.outer(roots, roots)


@pytest.fixture(scope="module")
def planted():
    views, y = clustered_views(120, 4, (6, 8, 5), separation=8.0)
    return MultiViewData(views), y


def test_mean_graph_equals_loops(planted):
    data, _ = planted
    expected = np.mean([graph_by_loops(view, N_NEIGHBORS) for view in data.views], axis=0)
    np.testing.assert_allclose(NeighborGraph(data).mean.toarray(), expected, atol=1e-5)


@pytest.mark.parametrize("dense_size", [500, 10])
def test_eigenvectors_are_those_of_the_graph(planted, dense_size, set_constants):
    set_constants(neighbor_graphs, DENSE_SIZE=dense_size, EIGENVECTOR_TOLERANCE=1e-10)
    data, _ = planted
    graphs = [graph_by_loops(view, 10) for view in data.views]
    matrix = np.mean(graphs, axis=0)
    vectors = NeighborGraph(data).of_nearest(10).eigenvectors(4)
    expected = np.linalg.eigh(matrix)[1][:, -4:]
    np.testing.assert_allclose(vectors @ vectors.T, expected @ expected.T, atol=1e-3)


def test_communities_with_a_number(planted):
    data, y = planted
    graph = NeighborGraph(data)
    assert adjusted_rand_score(y, graph.n_communities(4)) == 1
    for count in (2, 3, 6, 11):
        assert len(np.unique(graph.n_communities(count))) == count
    np.testing.assert_array_equal(graph.n_communities(6), NeighborGraph(data).n_communities(6))


def test_importance_weights_the_graphs_of_views(planted):
    data, _ = planted
    alone = [NeighborGraph(MultiViewData([view])).mean for view in data.views]
    importance = np.array([0.5, 2.25, 0.25])
    expected = sum(w * graph for w, graph in zip(importance, alone, strict=True)) / 3
    weighted = NeighborGraph(data, importance=importance)
    np.testing.assert_allclose(weighted.mean.toarray(), expected.toarray(), atol=1e-12)
    tiny = NeighborGraph(data, importance=np.array([1.5, 1.5, 1e-12]))
    two = NeighborGraph(MultiViewData(list(data.views[:2])))
    found, wanted = (own.eigenvectors(4) for own in (tiny, two))
    np.testing.assert_allclose(found @ found.T, wanted @ wanted.T, atol=1e-6)


def test_connected_communities_are_merged_first():
    # Four groups of two nearby clusters.
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 30)
    centers = np.repeat(20 * rng.standard_normal((4, 5)), 2, axis=0) + rng.standard_normal((8, 5))
    graph = NeighborGraph(MultiViewData([centers[y] + 0.8 * rng.standard_normal((240, 5))]))
    fine = graph.communities(16.0)
    merged = neighbor_graphs._merged(fine, graph.mean, 4)
    assert adjusted_rand_score(y // 2, merged) == 1


def test_samples_that_lack_views(planted):
    data, y = planted
    available = np.ones((120, 3), bool)
    available[::3, 0] = available[1::3, 2] = False
    views = dict(zip("abc", data.views, strict=True))
    graph = NeighborGraph(MultiViewData(views, available=available))
    assert adjusted_rand_score(y, graph.n_communities(4)) == 1
    assert np.isfinite(graph.eigenvectors(4)).all()


def test_neighbors_of_equal_rows_are_near_in_other_views():
    # Categories that say nothing of the clusters.
    rng = np.random.default_rng(0)
    y, categories = rng.integers(3, size=300), rng.integers(4, size=300)
    values = 4 * np.eye(3)[y] + 0.5 * rng.standard_normal((300, 3))
    graph = NeighborGraph(MultiViewData([np.eye(4)[categories], values]))
    rows, near, squares = graph._neighbors[0]
    assert (categories[rows][near.T] == categories[rows]).all()
    assert (squares == 0).all()
    assert (y[near.T] == y).mean() > 0.99
    assert adjusted_rand_score(y, graph.n_communities(3)) > 0.95


@pytest.mark.parametrize("n", [2, 3, 12])
def test_few_and_equal_samples(n):
    rows = np.random.default_rng(0).standard_normal((n, 3))
    for data in (rows, np.zeros((n, 3)), np.repeat(rows, 20, axis=0)):
        graph = NeighborGraph(MultiViewData([data]))
        labels = graph.n_communities(2)
        assert set(labels) <= {0, 1}
        assert np.isfinite(graph.eigenvectors(2)).all()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    views = {"a": rng.standard_normal((300, 6)), "b": rng.random((300, LEADING + 5))}
    available = np.ones((300, 2), bool)
    available[::4, 1] = False
    return MultiViewData(views, available=available)


def fit(data, n_landmarks=30):
    importance = np.ones(len(data.views))
    placed = fit_landmarks(data, n_landmarks, np.arange(len(data)), 0, importance)
    return placed, placed.nearest(data)


@pytest.mark.parametrize("max_distances", [2**20, 50])
def test_weights_equal_loops(max_distances, set_constants):
    set_constants(neighbor_graphs, MAX_DISTANCES=max_distances)
    rng = np.random.default_rng(1)
    points, rows = rng.standard_normal((12, 4)), rng.standard_normal((20, 7))
    ((near, weights),) = Landmarks((points,), np.ones(1)).nearest(MultiViewData([rows]))
    for row, at, given in zip(rows[:, :4], near, weights, strict=True):
        distances = np.array([np.sum((row - point) ** 2) for point in points])
        nearest = np.argsort(distances)[:N_NEAREST_LANDMARKS].tolist()
        assert list(at) == nearest
        expected = np.exp(-distances[nearest] / distances[nearest].mean())
        np.testing.assert_allclose(given, expected / expected.sum(), rtol=1e-9)


def test_landmarks_of_few_and_of_equal_samples(data):
    assert [rows.shape[1] for rows in fit(data)[0].places] == [6, LEADING + 5]
    complete = MultiViewData(dict(zip("ab", data.views, strict=True)))
    assert [rows.shape[1] for rows in fit(complete)[0].places] == [6, LEADING]
    assert [rows.shape[1] for rows in fit(complete[:100])[0].places] == [6, LEADING + 5]
    placed, neighbors = fit(data[:200], n_landmarks=500)
    assert placed.counts == [200, 150]
    # Each sample has its largest weight on itself.
    assert sorted(neighbors[0][0][:, 0]) == list(range(200))
    rows = np.repeat(np.random.default_rng(0).standard_normal((8, 3)), 10, axis=0)
    assert fit(MultiViewData([rows]))[0].counts == [8]


def test_labels_are_passed_on_by_weights(data):
    placed, neighbors = fit(data)
    partitions = np.random.default_rng(0).integers(3, size=(2, 300))
    weights = [matrix.toarray() for matrix in placed.weights(neighbors)]
    passed_on = placed.labels(neighbors, partitions, 3)
    assert passed_on.labels.shape == passed_on.shares.shape == (2, 60)
    found = placed.labels_of_samples(neighbors, passed_on)
    for labels, given, shares, own in zip(
        partitions, passed_on.labels, passed_on.shares, found, strict=True
    ):
        table = np.vstack([matrix.T @ np.eye(3)[labels] for matrix in weights])
        np.testing.assert_array_equal(given, table.argmax(axis=1))
        np.testing.assert_allclose(shares, table.max(axis=1) / table.sum(axis=1), rtol=1e-6)
        votes = np.hstack(weights) @ (shares[:, None] * np.eye(3)[given])
        np.testing.assert_array_equal(own, votes.argmax(axis=1))


def test_a_view_of_two_categories_does_not_outvote_one_that_separates():
    y = np.arange(200) % 2
    # The second view has a category that both clusters share, but in which one prevails.
    categories = ((np.arange(200) % 3 > 0) & (y == 0)).astype(float)
    data = MultiViewData([10.0 * y[:, None] + np.arange(200)[:, None] / 200, categories[:, None]])
    placed, neighbors = fit(data)
    passed_on = placed.labels(neighbors, y[None], 2)
    np.testing.assert_array_equal(placed.labels_of_samples(neighbors, passed_on)[0], y)


@pytest.mark.parametrize(
    ("n_clusters", "n_samples", "expected"),
    [(10, 20_000, 2_000), (10, 20_001, 500), (500, 20_000, 2_500), (500, 20_001, 2_500)],
)
def test_number_of_landmarks(n_clusters, n_samples, expected):
    assert n_landmarks(n_clusters, n_samples) == expected


def test_samples_that_are_landmarks_keep_their_labels():
    # Neighboring rows have different labels, which fewer landmarks mix.
    data, labels = MultiViewData([np.arange(700.0)[:, None]]), np.arange(700)[None] % 2
    kept = {}
    for count in (2_000, 300):
        placed, neighbors = fit(data, count)
        carried = placed.labels(neighbors, labels, 2)
        kept[count] = (placed.labels_of_samples(neighbors, carried) == labels).mean()
    assert kept[2_000] > 0.99
    assert kept[300] < 0.8
