"""DALMC against a literal transcription of the paper's Algorithm 1, and the example in 60 lines."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, MultiViewData
from anchorview.estimators.methods import PUBLISHED_SETTINGS
from helpers.algorithm1 import Algorithm1

N_PROBLEMS, ITERATIONS = 200, 4
TOLERANCES = {"objective": 1e-8, "subspace": 1e-6}


def make_problem(seed):
    """Views (n, d_p) in any units, of which every second problem lacks some entries."""
    rng = np.random.default_rng(seed)
    n_views, k = 2 + seed % 5, int(rng.integers(2, 5))
    n = int(rng.integers(25, 45))
    latent = 2 * rng.standard_normal((k, 4))[rng.integers(k, size=n)]
    views = []
    for _ in range(n_views):
        d = int(rng.integers(8, 15))
        view = latent @ rng.standard_normal((4, d)) + rng.standard_normal((n, d))
        views.append(view * 10.0 ** rng.uniform(-1, 1))
    available = np.ones((n, n_views), bool)
    if seed % 2:
        available = rng.random((n, n_views)) < 0.8
        available[np.arange(n), rng.integers(n_views, size=n)] = True
    beta = float(10.0 ** rng.uniform(-3, 1))
    return MultiViewData(views, available=available), k, beta


def largest_angle_sine(S, T):
    """Sine of the largest angle between the spans of orthonormal columns."""
    return np.linalg.norm(S - T @ (T.T @ S), 2)


@pytest.mark.parametrize("first", range(0, N_PROBLEMS, 20))
def test_iterations_are_those_of_algorithm_1(first):
    for seed in range(first, first + 20):
        data, k, beta = make_problem(seed)
        views = [view.T for view in data.views]
        B = np.ones((len(views), len(data)), bool) if data.available is None else data.available.T
        model = DALMC.as_published(k, beta=beta, tol=0.0, n_init=1, random_state=0)
        paper, history = None, []
        # A fit has the objective of every iteration, but the graph of the last one only.
        for n_iter in range(1, ITERATIONS + 1) if seed % 20 in (0, 1, 7, 13) else (ITERATIONS,):
            model.set_params(max_iter=n_iter).fit(data)
            if paper is None:
                paper = Algorithm1(views, B, model.n_components_, k, beta)
            while len(history) < n_iter:
                paper.iterate()
                history.append(paper.objective)
            np.testing.assert_allclose(
                model.objective_, history, rtol=TOLERANCES["objective"], err_msg=f"seed {seed}"
            )
            np.testing.assert_allclose(model.views_["weight"], paper.a, rtol=1e-6)
            angle = largest_angle_sine(model.embedding_, paper.S.T)
            assert angle < TOLERANCES["subspace"], f"seed {seed}, iteration {n_iter}"


def test_every_setting_of_the_paper_differs_from_the_default_and_can_be_replaced():
    defaults, published = DALMC().get_params(), DALMC.as_published().get_params()
    changed = {name for name in defaults if published[name] != defaults[name]}
    assert changed == set(PUBLISHED_SETTINGS)
    model = DALMC.as_published(4, beta=1.0, n_anchors=8, scaling="zscore", tol=1e-6)
    assert (model.n_clusters, model.beta, model.n_anchors) == (4, 1.0, 8)
    assert (model.scaling, model.tol, model.unit_norm) == ("zscore", 1e-6, False)


def test_the_example_in_60_lines_equals_the_package(digits):
    folder = Path(__file__).parents[2] / "examples" / "first_steps"
    example = runpy.run_path(str(folder / "dalmc_in_60_lines.py"))
    views, _ = digits
    views = {name: view.astype(np.float64) for name, view in views.items()}
    S, objective = example["dalmc"](list(views.values()), 10)
    model = DALMC(10, assignment="cluster_qr").fit(views)
    np.testing.assert_allclose(objective[1:], model.objective_, rtol=1e-10)
    assert np.linalg.norm(S - model.embedding_ @ (model.embedding_.T @ S), 2) < 1e-8
    assert adjusted_rand_score(model.labels_, example["clusters"](S, 10)) == 1
