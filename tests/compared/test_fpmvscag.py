import numpy as np
from sklearn.metrics import adjusted_rand_score

from anchorview.compared import FPMVSCAG, SMVSC
from helpers.data import clustered_views

QUICK = {"n_init": 3, "random_state": 0}


def test_authors_program(vectors, toy):
    views, y = toy
    theirs = vectors("fpmvs_sq")
    model = FPMVSCAG(3, init="identity", **QUICK).fit(views)
    assert model.n_iter_ == 20
    np.testing.assert_allclose(model.objective_, theirs["obj"].ravel(), rtol=1e-8)
    assert (np.diff(model.objective_)[5:] > 0).all()
    np.testing.assert_allclose(model.view_weights_, theirs["alpha"].ravel(), rtol=1e-7)
    np.testing.assert_allclose(model.graph_, theirs["Z"].T, atol=1e-6)
    U = theirs["U"]
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, U @ U.T, atol=1e-6)
    assert adjusted_rand_score(y, model.labels_) > 0.98


def test_equals_smvsc_without_a_ridge():
    views, _ = clustered_views(k=4, seed=1)
    model = FPMVSCAG(4, max_iter=12, **QUICK).fit(views)
    other = SMVSC(4, lambda_=0, max_iter=12, tol=0, **QUICK).fit(views)
    assert model.n_iter_ == 12
    np.testing.assert_array_equal(model.objective_, other.objective_)
    np.testing.assert_array_equal(model.graph_, other.graph_)
    np.testing.assert_array_equal(model.labels_, other.labels_)
