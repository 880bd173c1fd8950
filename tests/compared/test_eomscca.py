import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview.compared import EOMSCCA
from anchorview.compared._anchor_graphs import AnchorGraphModel
from anchorview.compared._views import standardized_views
from anchorview.compared.anchor_graph_methods import graph_target
from anchorview.views.container import MultiViewData
from helpers.data import clustered_views


@pytest.fixture(scope="module")
def clusters():
    views, y = clustered_views(120, 3, (6, 4, 5), separation=8.0, seed=2)
    return list(views.values()), y


@pytest.mark.parametrize("settings", [{}, {"n_anchors": 6}, {"init": "identity"}])
def test_constraints(clusters, settings):
    views, y = clusters
    model = EOMSCCA(3, random_state=0, **settings).fit(views)
    for W in model.projections_:
        np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(model.anchors_ @ model.anchors_.T, np.eye(3), atol=1e-9)
    assert model.graph_.min() >= 0
    if model.n_components_ == 3:
        for column in model.graph_.toarray().T:
            assert len(np.unique(model.labels_[column > 0])) <= 1
    if "init" not in settings:
        assert model.n_components_ == 3
        assert adjusted_rand_score(y, model.labels_) > 0.9


def test_weights_follow_the_unsquared_residuals(clusters):
    views, _ = clusters
    model = EOMSCCA(3, random_state=0).fit(views)
    Z, A = model.graph_.toarray(), model.anchors_
    scaled = standardized_views(MultiViewData(views))
    norms = [
        np.linalg.norm(X - Z @ A.T @ W.T) for X, W in zip(scaled, model.projections_, strict=True)
    ]
    expected = 1 / np.array(norms)
    np.testing.assert_allclose(model.views_["weight"], expected / expected.sum(), rtol=1e-6)
    assert model.objective_[-1] == pytest.approx(np.sum((model.views_["weight"] * norms) ** 2))


def test_target_is_the_positive_part(clusters):
    X = clusters[0][0] - clusters[0][0].mean(axis=0)
    model = AnchorGraphModel([X], np.eye(120, 4), 2, weighted_z=False)
    model.fit_anchors()
    model.update_projections()
    B = X @ model.projections[0] @ model.anchors
    target = graph_target(model)
    assert isinstance(target, sparse.csr_array)
    dense = target.toarray()
    positive = B > 0
    np.testing.assert_allclose(dense[positive], B[positive])
    assert (np.count_nonzero(dense, axis=1) >= 1).all()
