import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview import make_multiview
from anchorview.compared.smvsc import SMVSC

QUICK = {"n_init": 3, "random_state": 0}


@pytest.fixture(scope="module")
def made():
    views, y = make_multiview(150, n_clusters=4, n_features=(12, 9, 7), random_state=1)
    return list(views.values()), y


def test_authors_program(vectors, toy):
    views, y = toy
    theirs = vectors("smvsc")
    model = SMVSC(3, init="identity", **QUICK).fit(views)
    assert model.n_iter_ == int(theirs["iter"].item())
    np.testing.assert_allclose(model.objective_, theirs["obj"].ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.graph_, theirs["Z"].T, atol=1e-6)
    np.testing.assert_allclose(np.abs(model.anchors_), np.abs(theirs["A"]), atol=1e-6)
    for p, W in enumerate(model.projections_):
        ours, expected = W @ model.anchors_, theirs[f"W_{p}"] @ theirs["A"]
        # The direction of the mean of all anchors is arbitrary.
        centered = np.eye(3) - 1 / 3
        np.testing.assert_allclose(ours @ centered, expected @ centered, atol=1e-6)
    U = theirs["U"]
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, U @ U.T, atol=1e-6)
    assert adjusted_rand_score(y, model.labels_) > 0.98


def test_authors_objective_rises_and_the_consistent_one_does_not(toy):
    views, _ = toy
    program = SMVSC(3, init="identity", **QUICK).fit(views)
    rises = np.diff(program.objective_) > 0
    assert not rises[:5].any()
    # From the 6th to the 7th iteration.
    assert rises[5]
    for m in (3, 6, 9):
        consistent = SMVSC(
            3, n_anchors=m, init="identity", weighted_z=True, tol=0, max_iter=30, **QUICK
        )
        assert (np.diff(consistent.fit(views).objective_) <= 0).all()


@pytest.mark.parametrize("n_anchors", [None, 4, 8, 12])
def test_shapes_and_constraints(made, n_anchors):
    views, y = made
    model = SMVSC(4, n_anchors=n_anchors, **QUICK).fit(views)
    m = n_anchors or 4
    assert model.graph_.shape == (150, m)
    assert model.anchors_.shape == (4, m)
    assert [W.shape for W in model.projections_] == [(12, 4), (9, 4), (7, 4)]
    np.testing.assert_allclose(model.graph_.sum(axis=1), 1)
    U = model.embedding_
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-8)
    assert adjusted_rand_score(y, model.labels_) > 0.6


@pytest.mark.parametrize("n_anchors", [3, 151])
def test_impossible_numbers_of_anchors(made, n_anchors):
    match = f"n_anchors={n_anchors} should be at least n_clusters=4 and at most n_samples=150"
    with pytest.raises(ValueError, match=match):
        SMVSC(4, n_anchors=n_anchors).fit(made[0])


def test_as_many_anchors_as_samples(made):
    views = [view[:12] for view in made[0]]
    assert SMVSC(2, n_anchors=12, **QUICK).fit(views).graph_.shape == (12, 12)


def test_larger_lambda_spreads_the_graph(made):
    views, _ = made
    graphs = [SMVSC(4, lambda_=value, **QUICK).fit(views).graph_ for value in (0, 10, 1000)]
    used = [np.count_nonzero(graph, axis=1).mean() for graph in graphs]
    assert used[0] < used[1] < used[2]


def test_default_start_does_not_depend_on_any_order(made):
    views, _ = made
    rng = np.random.default_rng(0)
    rows = rng.permutation(150)
    other = [view[rows][:, rng.permutation(view.shape[1])] for view in views]
    for n_anchors in (4, 8):
        model = SMVSC(4, n_anchors=n_anchors, **QUICK).fit(views)
        again = SMVSC(4, n_anchors=n_anchors, **QUICK).fit(other)
        np.testing.assert_allclose(again.objective_, model.objective_, rtol=1e-9)
        np.testing.assert_allclose(again.view_weights_, model.view_weights_, rtol=1e-9)
        assert adjusted_rand_score(again.labels_, model.labels_[rows]) == 1


def test_authors_start_depends_on_the_order(made):
    views, _ = made
    turned = [view[::-1] for view in views]
    model = SMVSC(4, init="identity", **QUICK).fit(views)
    again = SMVSC(4, init="identity", **QUICK).fit(turned)
    assert abs(again.objective_[0] / model.objective_[0] - 1) > 1e-4


def test_units_of_features_do_not_matter(made):
    views, _ = made
    units = [5 * view * 2.0 ** np.arange(view.shape[1]) + 3 for view in views]
    model, again = (SMVSC(4, **QUICK).fit(v) for v in (views, units))
    np.testing.assert_allclose(again.objective_, model.objective_, rtol=1e-8)


def test_sparse_and_single_precision(made):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    views = [rng.poisson(0.3 + np.eye(3)[y].repeat(d, axis=1) * 1.5) for d in (5, 4)]
    model = SMVSC(3, **QUICK).fit([view.astype(float) for view in views])
    thin = SMVSC(3, **QUICK).fit([sparse.csr_array(view.astype(float)) for view in views])
    np.testing.assert_allclose(thin.objective_, model.objective_, rtol=1e-9)
    np.testing.assert_array_equal(thin.labels_, model.labels_)
    single = SMVSC(3, **QUICK).fit([view.astype(np.float32) for view in views])
    np.testing.assert_allclose(single.objective_, model.objective_, rtol=1e-4)


def test_views_with_fewer_features_than_clusters(made):
    views = [made[0][0], made[0][1][:, :2]]
    model = SMVSC(4, **QUICK).fit(views)
    W = model.projections_[1]
    assert W.shape == (2, 4)
    np.testing.assert_allclose(W @ W.T, np.eye(2), atol=1e-12)
    consistent = SMVSC(4, weighted_z=True, tol=0, **QUICK).fit(views)
    assert (np.diff(consistent.objective_) <= 1e-12 * consistent.objective_[0]).all()
