import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview.compared._anchor_graphs import (
    StructuredGraph,
    cluster_labels,
    component_labels,
    structured_graph,
)


def noisy_blocks(n=60, m=12, k=3, noise=0.3):
    """Target with k blocks of samples and anchors, and weaker links between blocks."""
    rng = np.random.default_rng(0)
    samples, anchors = np.arange(n) % k, np.arange(m) % k
    same = samples[:, None] == anchors
    B = same * rng.uniform(0.5, 1, (n, m)) + noise * rng.uniform(0, 1, (n, m))
    return sparse.csr_array(B / B.sum(axis=1, keepdims=True)), samples


def test_the_graph_has_as_many_components_as_clusters():
    target, y = noisy_blocks()
    found = structured_graph(target, 3)
    labels = component_labels(found.graph)
    assert labels.max() == 2
    assert adjusted_rand_score(y, labels) == 1
    # Each of the averaged matrices sums to the number of its simplexes.
    assert found.graph.sum() == pytest.approx((60 + 12) / 2)
    assert found.graph.min() >= 0
    np.testing.assert_allclose(found.embedding.T @ found.embedding, np.eye(3), atol=1e-9)
    # The embedding is constant on a component, up to the degree of the sample.
    scaled = found.embedding / np.sqrt(found.graph.sum(axis=1))[:, None]
    for j in range(3):
        np.testing.assert_allclose(np.ptp(scaled[labels == j], axis=0), 0, atol=1e-4)


def test_zeros_and_existing_components_stay():
    target, _ = noisy_blocks()
    target.data[target.data < 0.05] = 0
    target.eliminate_zeros()
    found = structured_graph(target, 3).graph
    assert not np.any((found.toarray() > 0) & (target.toarray() == 0))
    # A graph that has the components already is only projected.
    target, _ = noisy_blocks(noise=0)
    target.eliminate_zeros()
    found = structured_graph(target, 3).graph.toarray()
    rows = sparse.csr_array(target).toarray()
    assert np.allclose(rows.sum(axis=1), 1)  # Rows are on the simplex, so they stay.
    assert np.abs(2 * found - rows).sum() == pytest.approx(12)  # Columns sum to 1 each.


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_labels_when_components_are_not_the_clusters(n_clusters):
    target, y = noisy_blocks(noise=0)
    target.eliminate_zeros()
    U = np.linalg.qr(np.eye(3)[y] + 1e-3 * np.random.default_rng(0).standard_normal((60, 3)))[0]
    means = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0]])
    labels, count = cluster_labels(StructuredGraph(target, U), [means[y]], n_clusters, 0)
    assert count == 3
    assert len(np.unique(labels)) == n_clusters
    if n_clusters == 2:  # The two near components are merged.
        assert adjusted_rand_score(y == 2, labels) == 1
    elif n_clusters == 3:
        assert adjusted_rand_score(y, labels) == 1
