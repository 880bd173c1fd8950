"""The optimization: monotone, orthonormal, and the paper's own iteration step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorview._utils.linalg import polar
from anchorview.core.alternating import AlternatingSolver
from anchorview.core.embed import embedding_map
from anchorview.core.solve import BoxGraphSolver, SampledAnchorsSolver


def make_views(rng, n, widths):
    latent = 2 * rng.standard_normal((4, 5))[rng.integers(4, size=n)]
    views = [latent @ rng.standard_normal((5, d)) + rng.standard_normal((n, d)) for d in widths]
    return [X / np.linalg.norm(X) for X in views]


def assert_orthonormal(M):
    M = M if M.shape[0] >= M.shape[1] else M.T
    np.testing.assert_allclose(M.T @ M, np.eye(M.shape[1]), atol=1e-8)


solver_settings = {
    "seed": st.integers(0, 2**32 - 1),
    "n": st.integers(30, 150),
    "widths": st.lists(st.integers(4, 40), min_size=1, max_size=5),
    "n_anchors": st.integers(2, 4),
    "beta": st.sampled_from([0, 1e-4, 0.1, 1, 100]),
    "init": st.sampled_from(["gcca", "random", "identity"]),
}


@settings(max_examples=30)
@given(**solver_settings)
def test_objective_never_increases_and_constraints_hold(seed, n, widths, n_anchors, beta, init):
    views = make_views(np.random.default_rng(seed), n, widths)
    components = [max(d // 2, n_anchors) for d in widths]
    solver = AlternatingSolver(views, n_anchors, components, beta=beta, init=init)
    solution = solver.run(30, 0)
    steps = np.diff(solution.objective)
    assert (steps <= 1e-10 * np.abs(solution.objective[1:])).all()
    assert len(solution.objective) == 30
    assert solution.objective[-1] >= -beta * sum(min(m, n_anchors) for m in components) - 1e-9
    for M in (*solver.H, solution.graph, *solution.anchors):
        assert_orthonormal(M)
    assert solution.weights.sum() == pytest.approx(1)
    assert (solution.weights >= 0).all()
    mapped = np.hstack(views) @ embedding_map(solution.trace, range(len(views)))
    np.testing.assert_allclose(mapped, solution.graph, atol=1e-8)


@settings(max_examples=15)
@given(**solver_settings)
@pytest.mark.parametrize("solver", [SampledAnchorsSolver, BoxGraphSolver])
def test_ablations_are_monotone(solver, seed, n, widths, n_anchors, beta, init):
    views = make_views(np.random.default_rng(seed), n, widths)
    components = [max(d // 2, n_anchors) for d in widths]
    solution = solver(views, n_anchors, components, beta=beta, init=init).run(30, 0)
    steps = np.diff(solution.objective)
    assert (steps <= 1e-9 * np.abs(solution.objective[1:])).all()
    if solver is BoxGraphSolver:
        assert set(np.unique(solution.graph)) <= {0, 1}
    else:
        assert_orthonormal(solution.graph)


def test_sampled_anchors_are_combinations_of_the_representations():
    views = make_views(np.random.default_rng(0), 60, [9, 12])
    solver = SampledAnchorsSolver(views, 3, [4, 6])
    solver.run(5, 0)
    assert_orthonormal(solver.C)
    for A, H in zip(solver.A, solver.H, strict=True):
        np.testing.assert_allclose(A, H.T @ solver.C, atol=1e-12)


def test_it_stops_when_converged_and_says_so():
    views = make_views(np.random.default_rng(0), 100, [10, 10])
    done = AlternatingSolver(views, 3, [5, 5]).run(500, 1e-6)
    assert done.converged
    assert len(done.objective) < 500
    assert not AlternatingSolver(views, 3, [5, 5]).run(2, 0).converged


def test_deficient_starts_are_completed_or_refused():
    views = make_views(np.random.default_rng(0), 50, [6, 6])
    views[0][:, 0] = 0
    solver = AlternatingSolver(views, 2, [3, 3], init="identity")
    for columns in (*solver.H, solver.S):
        np.testing.assert_allclose(columns.T @ columns, np.eye(columns.shape[1]), atol=1e-12)
    with pytest.raises(ValueError, match=r"view 0 .* 3 independent directions .* init='gcca'"):
        AlternatingSolver([views[0][:, :3], views[1]], 2, [3, 3], init="identity")
    with pytest.raises(ValueError, match="anchor graph does not have 5 independent"):
        AlternatingSolver([views[1], views[1]], 5, [3, 3], init="identity")
    assert AlternatingSolver([views[1], views[1]], 5, [3, 3]).S.shape == (50, 3)


@pytest.mark.parametrize("condition", [1, 1e2, 1e5, 1e9])
@pytest.mark.parametrize("shape", [(200, 8), (9, 8)])
def test_polar_factor_is_accurate_whatever_the_condition(condition, shape):
    rng = np.random.default_rng(0)
    U, _ = np.linalg.qr(rng.standard_normal(shape))
    V, _ = np.linalg.qr(rng.standard_normal((8, 8)))
    s = np.geomspace(1, 1 / condition, 8)
    B = (U * s) @ V.T
    factor, M = polar(B)
    # The polar factor itself is known only to rounding times the condition of B.
    np.testing.assert_allclose(factor, U @ V.T, atol=1e-14 * condition + 1e-9)
    np.testing.assert_allclose(factor.T @ factor, np.eye(8), atol=1e-9)
    np.testing.assert_allclose(B @ M, factor, atol=1e-15 * condition + 1e-9)
