"""Which samples are drawn on a map, and where."""

import numpy as np
import pytest

from anchorview._utils.linalg import unit_rows
from anchorview.plotting import drawn_samples
from anchorview.plotting.drawn_samples import map_layout, read_rows


@pytest.fixture(autouse=True)
def few_landmarks(set_constants):
    """The default number takes t-SNE seconds."""
    set_constants(drawn_samples, N_LANDMARKS=400)


def blobs(n, k):
    random = np.random.RandomState(0)
    labels = random.randint(0, k, n)
    centers = unit_rows(random.standard_normal((k, 6)))
    return centers[labels] + 0.1 * random.standard_normal((n, 6)), labels


def squared_distances(a, b):
    return ((a[:, None] - b[None]) ** 2).sum(axis=2)


def test_small_data_are_drawn_completely_and_similar_samples_are_neighbors():
    points, labels = blobs(600, 4)
    rows, positions = map_layout(points, labels)
    assert rows.tolist() == list(range(600))
    assert positions.dtype == np.float32
    np.testing.assert_array_equal(map_layout(points, labels)[1], positions)
    distances = squared_distances(positions, positions)
    np.fill_diagonal(distances, np.inf)
    assert (labels[distances.argmin(axis=1)] == labels).mean() > 0.98


def test_interpolated_samples_are_near_their_cluster():
    points, labels = blobs(6000, 5)
    _, positions = map_layout(points, labels)
    centers = np.array([positions[labels == c].mean(axis=0) for c in range(5)])
    assert (squared_distances(positions, centers).argmin(axis=1) == labels).mean() > 0.97
    assert np.isfinite(positions).all()
    assert len(np.unique(positions, axis=0)) > 5990


def test_large_map_has_every_cluster_and_at_most_max_points():
    points, labels = blobs(20_000, 4)
    labels[:30] = 4
    rows, _ = map_layout(points, labels, max_points=3000)
    counts = np.bincount(labels[rows], minlength=5)
    assert 2900 <= len(rows) <= 3000
    assert (np.diff(rows) > 0).all()
    assert counts[4] == 30
    sizes = np.bincount(labels)[:4]
    np.testing.assert_allclose(counts[:4] / counts[:4].sum(), sizes / sizes.sum(), atol=0.01)


def test_embedding_may_be_a_memory_map_or_a_dask_array(tmp_path):
    points, _ = blobs(300, 3)
    rows = np.array([3, 10, 299])
    expected = unit_rows(points[rows].astype(np.float32))
    np.save(tmp_path / "embedding.npy", points)
    stored = np.load(tmp_path / "embedding.npy", mmap_mode="r")
    np.testing.assert_array_equal(read_rows(stored, rows, True), expected)
    array = pytest.importorskip("dask.array").from_array(points, chunks=(100, 6))
    np.testing.assert_array_equal(read_rows(array, rows, True), expected)


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
def test_degenerate_embeddings(points):
    _, positions = map_layout(points, np.arange(len(points)) % 2)
    assert positions.shape == (len(points), 2)
    assert np.isfinite(positions).all()
