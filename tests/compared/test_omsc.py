import numpy as np

from anchorview._utils.linalg import polar_factor
from anchorview.compared.anchor_graph_methods import OMSC, nearest_codes


def test_authors_program(vectors, toy):
    theirs = vectors("omsc")
    model = OMSC(3, init="identity").fit(toy[0])
    assert model.n_iter_ == 15
    np.testing.assert_allclose(model.objective_, theirs["obj"].ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.views_["weight"], theirs["alpha"].ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.embedding_, theirs["Z"].T, atol=1e-6)
    np.testing.assert_allclose(model.codes_, theirs["G"], atol=1e-8)
    np.testing.assert_array_equal(model.labels_, theirs["F"].argmax(axis=0))


def test_nearest_codes_and_empty_clusters():
    rng = np.random.default_rng(0)
    Z = rng.dirichlet(np.ones(5), size=80)
    G = polar_factor(np.eye(5, 3) + 0.2 * rng.standard_normal((5, 3)))
    expected = [
        min(range(3), key=lambda j, z=z: sum((z[a] - G[a, j]) ** 2 for a in range(5))) for z in Z
    ]
    assert len(set(expected)) == 3
    np.testing.assert_array_equal(nearest_codes(Z, G), expected)
    Z = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 1, 0], [0.6, 0.4, 0], [0, 0.9, 0.1]])
    np.testing.assert_array_equal(nearest_codes(Z, np.eye(3)), [0, 0, 1, 2, 1])
