"""SMVSC, and FPMVS-CAG, which is SMVSC without a ridge."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview.compared import FPMVSCAG, SMVSC
from helpers.data import clustered_views

QUICK = {"n_init": 3, "random_state": 0}


@pytest.fixture(scope="module")
def views():
    return list(clustered_views(k=4, seed=1)[0].values())


@pytest.mark.parametrize(("method", "file"), [(SMVSC, "smvsc"), (FPMVSCAG, "fpmvs_sq")])
def test_authors_program(vectors, toy, method, file):
    views, y = toy
    theirs = vectors(file)
    model = method(3, init="identity", **QUICK).fit(views)
    np.testing.assert_allclose(model.objective_, theirs["obj"].ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.graph_, theirs["Z"].T, atol=1e-6)
    U = theirs["U"]
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, U @ U.T, atol=1e-6)
    assert adjusted_rand_score(y, model.labels_) > 0.98
    rises = np.diff(model.objective_) > 0
    if method is FPMVSCAG:
        assert rises[5:].all()
        np.testing.assert_allclose(model.views_["weight"], theirs["alpha"].ravel(), rtol=1e-7)
        return
    # The objective increases from the 6th to the 7th iteration.
    assert list(rises[:6]) == [False] * 5 + [True]
    np.testing.assert_allclose(np.abs(model.anchors_), np.abs(theirs["A"]), atol=1e-6)
    # The direction of the mean of all anchors is arbitrary.
    centering = np.eye(3) - 1 / 3
    for p, W in enumerate(model.projections_):
        ours, expected = W @ model.anchors_, theirs[f"W_{p}"] @ theirs["A"]
        np.testing.assert_allclose(ours @ centering, expected @ centering, atol=1e-6)


def test_fpmvscag_equals_smvsc_without_a_ridge(views):
    model = FPMVSCAG(4, max_iter=12, **QUICK).fit(views)
    other = SMVSC(4, lambda_=0, max_iter=12, tol=0, **QUICK).fit(views)
    assert model.n_iter_ == 12
    np.testing.assert_array_equal(model.objective_, other.objective_)
    np.testing.assert_array_equal(model.graph_, other.graph_)
    np.testing.assert_array_equal(model.labels_, other.labels_)
