"""Which samples are drawn on a map, and where."""

import numpy as np
import pytest

from anchorview._utils.linalg import unit_rows
from anchorview.report import flat_map as flat_map_module
from anchorview.report.flat_map import (
    dense_and_sparse,
    flat_map,
    quotas,
    rows_of,
    share_of_clusters,
)


@pytest.fixture(autouse=True)
def few_landmarks(monkeypatch):
    """As t-SNE takes seconds for as many as there are otherwise."""
    monkeypatch.setattr(flat_map_module, "LANDMARKS", 400)


def blobs(n, k, spread=0.1, seed=0):
    random = np.random.RandomState(seed)
    labels = random.randint(0, k, n)
    centers = unit_rows(random.standard_normal((k, 6)))
    return centers[labels] + spread * random.standard_normal((n, 6)), labels


def test_all_are_drawn_when_they_are_few_and_like_samples_are_neighbors():
    points, labels = blobs(600, 4)
    flat = flat_map(points, labels)
    assert flat.rows.tolist() == list(range(600))
    assert flat.places.dtype == np.float32
    distances = ((flat.places[:, None] - flat.places[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (labels[distances.argmin(axis=1)] == labels).mean() > 0.98


def test_samples_that_are_no_landmarks_are_placed_among_their_like():
    points, labels = blobs(6000, 5)
    flat = flat_map(points, labels)
    centers = np.array([flat.places[labels == c].mean(axis=0) for c in range(5)])
    nearest = ((flat.places[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.97
    assert np.isfinite(flat.places).all()
    assert len(np.unique(flat.places, axis=0)) > 5990


def test_the_same_samples_give_the_same_map():
    points, labels = blobs(2500, 3)
    first, second = flat_map(points, labels), flat_map(points, labels)
    assert (first.places == second.places).all()


def test_a_large_map_has_every_cluster_and_no_more_samples_than_it_may():
    points, labels = blobs(20_000, 4)
    labels[:30] = 4
    flat = flat_map(points, labels, most=3000)
    counts = np.bincount(labels[flat.rows], minlength=5)
    assert 2900 <= len(flat.rows) <= 3000
    assert (np.diff(flat.rows) > 0).all()
    assert counts[4] == 30
    sizes = np.bincount(labels)[:4]
    np.testing.assert_allclose(counts[:4] / counts[:4].sum(), sizes / sizes.sum(), atol=0.01)


def test_quotas():
    labels = np.repeat([0, 1, 2], [9000, 900, 100])
    even = quotas(labels, 1000, proportional=True)
    assert even.sum() <= 1000
    assert even[0] > 8 * even[1]
    assert even[2] >= 50
    roots = quotas(labels, 1000, proportional=False)
    assert roots.sum() <= 1000
    assert roots[0] < 4 * roots[1]
    assert quotas(labels, 20_000, proportional=True).tolist() == [9000, 900, 100]
    many = quotas(np.arange(5000), 100, proportional=True)
    assert many.min() == 1


def test_sparse_regions_are_not_lost():
    random = np.random.RandomState(0)
    dense = np.array([1.0, 0.0, 0.0]) + 0.01 * random.standard_normal((9900, 3))
    sparse = random.standard_normal((100, 3))
    points = unit_rows(np.vstack([dense, sparse]))
    taken = dense_and_sparse(points, np.zeros(10_000, int), np.array([500]), random)
    assert len(taken) == 500
    # Half of them or more, where by chance there would be 5 of 100.
    assert (taken >= 9900).sum() >= 50


class Watched:
    """An embedding that tells how many of its rows are read."""

    def __init__(self, rows):
        self.rows, self.read, self.largest = rows, 0, 0

    def __getitem__(self, key):
        part = self.rows[key]
        self.read += len(part)
        self.largest = max(self.largest, len(part))
        return part


def test_only_sampled_rows_are_read_and_in_parts(monkeypatch):
    monkeypatch.setattr(flat_map_module, "MOST_READ", 4000)
    monkeypatch.setattr(flat_map_module, "ROWS_A_READ", 1000)
    points, labels = blobs(50_000, 3)
    watched = Watched(points)
    flat = flat_map(watched, labels, most=2000)
    assert watched.read <= 4000
    assert watched.largest <= 1000
    assert len(flat.rows) <= 2000


def test_memory_maps_and_dask_arrays(tmp_path):
    points, _ = blobs(300, 3)
    np.save(tmp_path / "embedding.npy", points)
    stored = np.load(tmp_path / "embedding.npy", mmap_mode="r")
    rows = np.array([3, 10, 299])
    expected = unit_rows(points[rows].astype(np.float32))
    np.testing.assert_array_equal(rows_of(stored, rows, True), expected)
    array = pytest.importorskip("dask.array").from_array(points, chunks=(100, 6))
    np.testing.assert_array_equal(rows_of(array, rows, True), expected)


@pytest.mark.parametrize(
    "points",
    [
        np.eye(2),
        np.eye(3),
        np.eye(5),
        np.ones((40, 3)),
        np.zeros((40, 3)),
        np.linspace(-1, 1, 40)[:, None],
        np.ones((3000, 2)),
    ],
    ids=["two", "three", "five", "equal", "zero", "one column", "many equal"],
)
def test_odd_embeddings(points):
    flat = flat_map(points, np.arange(len(points)) % 2)
    assert flat.places.shape == (len(points), 2)
    assert np.isfinite(flat.places).all()


def test_shares_of_clusters_are_ascending_and_complete():
    labels = np.random.RandomState(0).randint(0, 7, 5000)
    rows = share_of_clusters(labels, 700, np.random.RandomState(0))
    assert (np.diff(rows) > 0).all()
    assert len(np.unique(labels[rows])) == 7
    assert 650 <= len(rows) <= 700
