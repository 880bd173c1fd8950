import numpy as np
import pytest
from scipy.optimize import minimize

from anchorview.compared import LMVSC
from helpers.data import clustered_views


@pytest.fixture(scope="module")
def views():
    return list(clustered_views(60, 3, (6, 4), seed=2)[0].values())


def test_samples_are_the_best_convex_combinations_of_anchors(views):
    model = LMVSC(3, n_anchors=6, alpha=0.5, scaling="none", tol=1e-9, random_state=0).fit(views)
    total = 0.0
    for X, Z, H in zip(views, model.graphs_, model.anchors_, strict=True):
        np.testing.assert_allclose(Z.sum(axis=1), 1)
        assert Z.min() >= 0

        def loss(z, x, H=H):
            return np.sum((x - z @ H) ** 2) + 0.5 * np.sum(z**2)

        for i in (0, 17, 43):
            solved = minimize(
                loss,
                np.full(6, 1 / 6),
                args=(X[i],),
                method="SLSQP",
                bounds=[(0, 1)] * 6,
                constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
                options={"ftol": 1e-12},
            )
            assert loss(Z[i], X[i]) <= solved.fun + 1e-6
        total += sum(loss(z, x) for z, x in zip(Z, X, strict=True))
    assert model.objective_ == pytest.approx([total])
