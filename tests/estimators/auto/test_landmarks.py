"""Landmarks: weights and labels against plain loops, and that curved clusters become separable."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, MultiViewData
from anchorview.estimators.auto import landmarks
from anchorview.estimators.auto.landmarks import (
    LEADING,
    N_NEIGHBORS,
    Landmarks,
    fit_landmarks,
    lifted_views,
)
from anchorview.estimators.auto.settings import n_carriers


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    views = {"a": rng.standard_normal((300, 6)), "b": rng.random((300, LEADING + 5))}
    available = np.ones((300, 2), bool)
    available[::4, 1] = False
    return MultiViewData(views, available=available)


def fit(data, n_landmarks=30):
    placed = fit_landmarks(data, n_landmarks, np.arange(len(data)), seed=0)
    return placed, placed.nearest(data)


@pytest.mark.parametrize("max_distances", [2**20, 50])
def test_weights_equal_loops(max_distances, set_constants):
    set_constants(landmarks, MAX_DISTANCES=max_distances)
    rng = np.random.default_rng(1)
    points, rows = rng.standard_normal((12, 4)), rng.standard_normal((20, 7))
    ((near, weights),) = Landmarks((points,), np.ones(1)).nearest(MultiViewData([rows]))
    for row, at, given in zip(rows[:, :4], near, weights, strict=True):
        distances = np.array([np.sum((row - point) ** 2) for point in points])
        nearest = np.argsort(distances)[:N_NEIGHBORS].tolist()
        assert list(at) == nearest
        expected = np.exp(-distances[nearest] / distances[nearest].mean())
        np.testing.assert_allclose(given, expected / expected.sum(), rtol=1e-9)


def test_lifted_views(data):
    placed, neighbors = fit(data)
    lifted = lifted_views(data, placed, neighbors)
    assert lifted.names == data.names
    assert lifted.n_features_per_view == (30, 30)
    np.testing.assert_array_equal(lifted.available, data.available)
    weights = placed.weights(neighbors)
    for view, plain, has in zip(lifted.views, weights, data.available.T, strict=True):
        assert sparse.issparse(view)
        np.testing.assert_allclose(plain.sum(axis=1), has)
        totals = plain.sum(axis=0)
        expected = plain.toarray() / np.sqrt(np.where(totals > 0, totals, 1))
        np.testing.assert_allclose(view.toarray(), expected)


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
    of_landmarks = placed.labels(neighbors, partitions, 3)
    assert of_landmarks.shape == (2, 60)
    found = placed.labels_of_samples(neighbors, of_landmarks, 3)
    for labels, given, own in zip(partitions, of_landmarks, found, strict=True):
        tables = [matrix.T @ np.eye(3)[labels] for matrix in weights]
        np.testing.assert_array_equal(given, np.vstack(tables).argmax(axis=1))
        votes = np.hstack(weights) @ np.eye(3)[given]
        np.testing.assert_array_equal(own, votes.argmax(axis=1))


@pytest.mark.parametrize(
    ("n_clusters", "n_samples", "expected"),
    [(10, 20_000, 2_000), (10, 20_001, 500), (500, 20_000, 2_500), (500, 20_001, 2_500)],
)
def test_number_of_carriers(n_clusters, n_samples, expected):
    assert n_carriers(n_clusters, n_samples) == expected


def test_samples_that_carry_labels_keep_theirs():
    # Neighboring rows have different labels, which fewer carriers mix.
    data, labels = MultiViewData([np.arange(700.0)[:, None]]), np.arange(700)[None] % 2
    kept = {}
    for count in (2_000, 300):
        placed, neighbors = fit(data, count)
        carried = placed.labels(neighbors, labels, 2)
        kept[count] = (placed.labels_of_samples(neighbors, carried, 2) == labels).mean()
    assert kept[2_000] > 0.99
    assert kept[300] < 0.8


def test_curved_clusters_become_separable():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    angles = np.pi * rng.random(400)
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    x[y == 1] = [1, 0.4] - x[y == 1]
    data = MultiViewData([x + 0.05 * rng.standard_normal((400, 2)) for _ in range(2)])
    placed, neighbors = fit(data, 100)
    lifted = lifted_views(data, placed, neighbors)
    plain = DALMC(2, random_state=0).fit(data).labels_
    curved = DALMC(2, scaling="none", random_state=0).fit(lifted).labels_
    assert adjusted_rand_score(y, plain) < 0.7
    assert adjusted_rand_score(y, curved) > 0.9
