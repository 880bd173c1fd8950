"""K-means runs of a candidate: order, labels, and what repairs gain."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from anchorview._utils.linalg import unit_rows
from anchorview.core.centers import EmbeddedRows
from anchorview.estimators.partitions import candidates


def kmeans_runs(rows, n_clusters, seed, **options):
    return candidates.kmeans_runs(EmbeddedRows(rows), n_clusters, seed, 4, **options)


def planted(k, per_cluster=20, spread=0.1, seed=0):
    """Rows around as many orthogonal directions as there are clusters, and the clusters."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(k), per_cluster)
    return np.eye(k)[y] + spread * rng.standard_normal((len(y), k)), y


def inertia_of(rows, run, labels):
    return np.square(unit_rows(rows) - run.centroids[labels]).sum() / len(rows)


@pytest.mark.parametrize("repairs", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_runs_are_ordered_and_labels_are_those_of_the_centroids(repairs, dtype):
    rows = planted(12, spread=0.3)[0].astype(dtype)
    runs, labels, smallest = kmeans_runs(rows, 12, 0, repairs=repairs)
    assert labels.shape == (4, len(rows))
    inertias = [inertia_of(rows, run, own) for run, own in zip(runs, labels, strict=True)]
    assert inertias == sorted(inertias)
    assert smallest == pytest.approx(inertias[0], rel=1e-5)
    for run, own in zip(runs, labels, strict=True):
        np.testing.assert_array_equal(run(rows), own)


def test_as_good_as_scikit_learn_and_right_if_clusters_are_separated():
    rows = planted(15, spread=0.45)[0]
    *_, smallest = kmeans_runs(rows, 15, 0)
    expected = KMeans(15, n_init=4, random_state=0).fit(unit_rows(rows)).inertia_ / len(rows)
    assert smallest <= 1.02 * expected
    rows, y = planted(30)
    for seed in range(5):
        assert adjusted_rand_score(y, kmeans_runs(rows, 30, seed)[1][0]) == 1
