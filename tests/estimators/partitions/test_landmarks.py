"""Landmarks: weights and labels against plain loops."""

import numpy as np
import pytest

from anchorview import MultiViewData
from anchorview.estimators.partitions import neighbor_graphs
from anchorview.estimators.partitions.neighbor_graphs import (
    LEADING,
    N_NEAREST_LANDMARKS,
    Landmarks,
    fit_landmarks,
    n_landmarks,
)


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
