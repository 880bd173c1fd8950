import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import make_multiview
from anchorview.compared.fpmvscag import FPMVSCAG
from anchorview.compared.smvsc import SMVSC

QUICK = {"n_init": 3, "random_state": 0}


@pytest.fixture(scope="module")
def made():
    views, y = make_multiview(150, n_clusters=4, n_features=(12, 9, 7), random_state=1)
    return list(views.values()), y


def test_authors_program(vectors, toy):
    views, y = toy
    theirs = vectors("fpmvs_sq")
    model = FPMVSCAG(3, init="identity", **QUICK).fit(views)
    assert model.n_iter_ == 20
    np.testing.assert_allclose(model.objective_, theirs["obj"].ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.view_weights_, theirs["alpha"].ravel(), rtol=1e-7)
    np.testing.assert_allclose(model.graph_, theirs["Z"].T, atol=1e-6)
    U = theirs["U"]
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, U @ U.T, atol=1e-6)
    assert adjusted_rand_score(y, model.labels_) > 0.98


def test_authors_objective_rises_and_the_consistent_one_does_not(toy):
    views, _ = toy
    program = FPMVSCAG(3, init="identity", **QUICK).fit(views).objective_
    assert (np.diff(program)[5:] > 0).all()
    for init in ("identity", "gcca"):
        consistent = FPMVSCAG(3, init=init, weighted_z=True, **QUICK).fit(views).objective_
        assert (np.diff(consistent) <= 1e-14 * consistent[0]).all()


def test_it_is_smvsc_without_a_ridge(made):
    views, _ = made
    model = FPMVSCAG(4, max_iter=12, **QUICK).fit(views)
    other = SMVSC(4, lambda_=0, max_iter=12, tol=0, **QUICK).fit(views)
    np.testing.assert_array_equal(model.objective_, other.objective_)
    np.testing.assert_array_equal(model.graph_, other.graph_)
    np.testing.assert_array_equal(model.labels_, other.labels_)


def test_all_iterations_are_done(made):
    views, y = made
    model = FPMVSCAG(4, **QUICK).fit(views)
    assert model.n_iter_ == 20
    assert FPMVSCAG(4, max_iter=35, **QUICK).fit(views).n_iter_ == 35
    assert adjusted_rand_score(y, model.labels_) > 0.6


def test_nearly_one_hot_graph_is_the_clustering(made):
    """With one anchor a cluster, K-means only names the anchors."""
    model = FPMVSCAG(4, **QUICK).fit(made[0])
    assert np.mean(model.graph_.max(axis=1) > 0.99) > 0.9
    assert adjusted_rand_score(model.graph_.argmax(axis=1), model.labels_) > 0.95


def test_default_start_does_not_depend_on_any_order(made):
    views, _ = made
    rng = np.random.default_rng(0)
    rows = rng.permutation(150)
    other = [view[rows][:, rng.permutation(view.shape[1])] for view in views]
    model, again = (FPMVSCAG(4, **QUICK).fit(v) for v in (views, other))
    np.testing.assert_allclose(again.objective_, model.objective_, rtol=1e-9)
    assert adjusted_rand_score(again.labels_, model.labels_[rows]) == 1
