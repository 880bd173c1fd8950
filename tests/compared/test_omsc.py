import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import make_multiview
from anchorview._utils.linalg import polar_factor
from anchorview.compared.omsc import OMSC, nearest_codes


@pytest.fixture(scope="module")
def made():
    views, y = make_multiview(150, n_clusters=4, n_features=(12, 9, 7), random_state=1)
    return list(views.values()), y


def test_authors_program(vectors, toy):
    views, _ = toy
    theirs = vectors("omsc")
    model = OMSC(3, init="identity").fit(views)
    assert model.n_iter_ == 15
    np.testing.assert_allclose(model.objective_, theirs["obj"].ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.view_weights_, theirs["alpha"].ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.embedding_, theirs["Z"].T, atol=1e-6)
    np.testing.assert_allclose(model.codes_, theirs["G"], atol=1e-8)
    np.testing.assert_array_equal(model.labels_, theirs["F"].argmax(axis=0))


def test_nearest_codes_sample_by_sample():
    rng = np.random.default_rng(0)
    Z = rng.dirichlet(np.ones(5), size=80)
    G = polar_factor(np.eye(5, 3) + 0.2 * rng.standard_normal((5, 3)))
    expected = [
        min(range(3), key=lambda j, z=z: sum((z[a] - G[a, j]) ** 2 for a in range(5))) for z in Z
    ]
    assert len(set(expected)) == 3
    np.testing.assert_array_equal(nearest_codes(Z, G), expected)


def test_a_cluster_without_samples_takes_the_farthest():
    # No row is near the third code, and row 3 is farthest from its own.
    Z = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 1, 0], [0.6, 0.4, 0], [0, 0.9, 0.1]])
    np.testing.assert_array_equal(nearest_codes(Z, np.eye(3)), [0, 0, 1, 2, 1])


def test_every_cluster_has_samples(made):
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((40, d)) for d in (3, 2)]
    for init in ("gcca", "identity"):
        model = OMSC(12, n_anchors=20, init=init, random_state=0).fit(views)
        assert (np.bincount(model.labels_, minlength=12) > 0).all()


@pytest.mark.parametrize("init", ["gcca", "identity"])
@pytest.mark.parametrize("n_anchors", [3, 6, 9])
def test_consistent_form_never_raises_the_objective(toy, init, n_anchors):
    views, _ = toy
    model = OMSC(3, n_anchors=n_anchors, init=init, weighted_z=True, max_iter=30, random_state=0)
    values = model.fit(views).objective_
    assert (np.diff(values) <= 1e-14 * values[0]).all()


def test_authors_form_may_raise_it(toy):
    values = OMSC(3, n_anchors=9, init="identity").fit(toy[0]).objective_
    assert np.diff(values).max() > 1e-4 * values[0]


@pytest.mark.parametrize("weighted_z", [False, True])
@pytest.mark.parametrize("n_anchors", [None, 8])
def test_shapes_and_constraints(made, n_anchors, weighted_z):
    views, y = made
    model = OMSC(4, n_anchors=n_anchors, weighted_z=weighted_z, random_state=0).fit(views)
    m = n_anchors or 4
    assert model.embedding_.shape == (150, m)
    assert model.codes_.shape == (m, 4)
    np.testing.assert_allclose(model.codes_.T @ model.codes_, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(model.embedding_.sum(axis=1), 1)
    assert adjusted_rand_score(y, model.labels_) > 0.6


@pytest.mark.parametrize("n_anchors", [3, 151])
def test_impossible_numbers_of_anchors(made, n_anchors):
    with pytest.raises(ValueError, match=f"n_anchors={n_anchors} should be at least"):
        OMSC(4, n_anchors=n_anchors).fit(made[0])


def test_larger_lambda_pulls_the_graph_to_the_codes(made):
    views, _ = made
    apart = []
    for value in (0.0, 1.0, 1000.0):
        model = OMSC(4, n_anchors=8, lambda_=value, weighted_z=True, random_state=0).fit(views)
        Z, codes = model.embedding_, model.codes_.T[model.labels_]
        apart.append(np.sum((Z - codes) ** 2))
    assert apart[0] > apart[1] > apart[2]


def test_default_start_does_not_depend_on_any_order(made):
    views, _ = made
    rng = np.random.default_rng(0)
    rows = rng.permutation(150)
    other = [view[rows][:, rng.permutation(view.shape[1])] for view in views]
    for n_anchors in (4, 8):
        model, again = (OMSC(4, n_anchors=n_anchors, random_state=0).fit(v) for v in (views, other))
        np.testing.assert_allclose(again.objective_, model.objective_, rtol=1e-9)
        assert adjusted_rand_score(again.labels_, model.labels_[rows]) == 1
