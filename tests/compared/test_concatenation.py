import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from anchorview.compared import ConcatKMeans, ConcatSpectral
from anchorview.compared._views import neighbor_graph
from helpers.data import clustered_views


@pytest.fixture(scope="module")
def views():
    return list(clustered_views(90, 3, (6, 4), separation=6.0, seed=3)[0].values())


def test_kmeans_is_that_of_scikit_learn(views):
    points = StandardScaler().fit_transform(np.hstack(views))
    expected = KMeans(3, n_init=50, random_state=0).fit(points)
    model = ConcatKMeans(3, n_init=50, random_state=0).fit(views)
    np.testing.assert_allclose(model.embedding_, points, atol=1e-9)
    assert model.objective_ == pytest.approx([expected.inertia_])
    assert adjusted_rand_score(model.labels_, expected.labels_) == 1


def test_spectral_embedding_has_the_smallest_trace(views):
    model = ConcatSpectral(3, n_neighbors=8, random_state=0).fit(views)
    W = neighbor_graph([MinMaxScaler().fit_transform(np.hstack(views))], 8).toarray()
    scale = 1 / np.sqrt(W.sum(axis=1))
    L = np.eye(90) - scale[:, None] * W * scale
    values = np.linalg.eigvalsh(L)
    assert model.objective_ == pytest.approx([values[:3].sum()], abs=1e-9)
    F = model.embedding_
    assert np.trace(F.T @ L @ F) == pytest.approx(values[:3].sum(), abs=1e-9)
    np.testing.assert_allclose(F.T @ F, np.eye(3), atol=1e-9)
