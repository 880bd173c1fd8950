import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview.compared import SFMC
from anchorview.compared.bipartite_methods import anchor_neighbors, directly_sampled, fused_graph
from helpers.data import clustered_views


@pytest.fixture(scope="module")
def clusters():
    views, y = clustered_views(120, 3, (6, 4, 5), separation=8.0, seed=2)
    return list(views.values()), y


def test_anchors_are_chosen_one_by_one_by_their_scores():
    scores = np.array([0.5, 1.0, 0.6, 0.2, 0.9])
    expected, s = [], scores.copy()
    for _ in range(3):
        expected.append(int(np.argmax(s)))
        s = s * (1 - s)
        s /= s.max()
    assert directly_sampled(3 * scores, 3).tolist() == sorted(expected)
    # Even if all scores have become 0, no sample is chosen twice.
    assert directly_sampled(np.ones(4), 4).tolist() == [0, 1, 2, 3]


def test_weights_of_the_nearest_anchors(clusters):
    X, anchors = clusters[0][0], clusters[0][0][::10]
    B = anchor_neighbors(X, anchors, 3).toarray()
    np.testing.assert_allclose(B.sum(axis=1), 1)
    e = np.sort(((X[7] - anchors) ** 2).sum(axis=1))[:4]
    expected = (e[3] - e[:3]) / (3 * e[3] - e[:3].sum())
    np.testing.assert_allclose(np.sort(B[7])[::-1][:3], expected, rtol=1e-6)
    assert np.count_nonzero(B[7]) == 3


def test_weights_of_the_views_are_the_minimizer(clusters):
    graphs = [anchor_neighbors(X, X[::4], 5) for X in clusters[0]]
    found, alpha, objective = fused_graph(SFMC(3, max_iter=2), graphs, np.ones(len(graphs)))
    P, B = found.graph.toarray(), np.array([graph.toarray() for graph in graphs])

    def loss(weights):
        return np.sum((P - np.tensordot(weights, B, axes=1)) ** 2)

    assert objective[-1] == pytest.approx(loss(alpha))
    others = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    assert all(loss(alpha) <= loss(other) + 1e-9 for other in others)


def test_clusters_are_the_components_of_the_graph(clusters):
    views, y = clusters
    model = SFMC(3, random_state=0).fit(views)
    assert model.n_components_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.9
    # No anchor is linked to samples of two clusters.
    for column in model.graph_.toarray().T:
        assert len(np.unique(model.labels_[column > 0])) <= 1
