import numpy as np
import pytest
from scipy import sparse

from anchorview import MultiViewData
from anchorview.compared.factorization_methods import OnePassSolver, centered_views


def zscored(views):
    return [(X - X.mean(axis=0)) / X.std(axis=0, ddof=1) for X in views]


def make_solver(views, n_clusters, n_components, scaling="none"):
    return OnePassSolver(centered_views(MultiViewData(views), scaling), n_clusters, n_components)


def objective(views, labels, centroids):
    """The stated objective."""
    pairs = zip(views, centroids, strict=True)
    return sum(np.sum((X - M[labels]) ** 2) for X, M in pairs) / len(views)


def lloyd(X, labels, n_clusters, sweeps):
    """Labels after each sweep of plain K-means."""
    found = []
    for _ in range(sweeps):
        means = np.array([X[labels == j].mean(axis=0) for j in range(n_clusters)])
        labels = np.array([np.argmin([np.sum((x - m) ** 2) for m in means]) for x in X])
        found.append(labels)
    return found


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(3)
    y = rng.integers(5, size=180)
    return [2 * rng.standard_normal((5, d))[y] + rng.standard_normal((180, d)) for d in (9, 6, 12)]


def test_authors_program_from_its_initialization(vectors, toy):
    run = vectors("opmc")
    C = [run[f"C0_{p}"] for p in range(3)]
    solver = make_solver(toy[0], 3, 3, "features")
    found = solver.run(run["Y0"].ravel().astype(int) - 1, C, max_iter=200, tol=1e-5)
    np.testing.assert_array_equal(found.labels, run["L"].ravel() - 1)
    assert len(found.objective) == run["obj"].size
    # The program records the objective before each sweep; its first W is random.
    np.testing.assert_allclose(found.objective[:-1], run["obj"].ravel()[1:], rtol=1e-10)
    for p, factors in enumerate(found.factors):
        np.testing.assert_allclose(factors.centroids, run[f"C_{p}"] @ run[f"W_{p}"], atol=1e-10)


@pytest.mark.parametrize("n_components", [5, 7])
def test_equals_kmeans_sweep_by_sweep(noisy, n_components):
    labels = np.random.default_rng(1).integers(5, size=180)
    start = [np.random.default_rng(2).random((5, n_components)) for _ in noisy]
    solver = make_solver(noisy, 5, n_components)
    for sweeps, expected in enumerate(lloyd(np.hstack(noisy), labels, 5, 8), start=1):
        found = solver.run(labels, start, max_iter=sweeps, tol=0)
        np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("n_components", [1, 2, 4, 5])
def test_each_sweep_decreases_the_stated_objective(noisy, n_components):
    solver = make_solver(noisy, 5, n_components)
    start = solver.initialize(np.random.RandomState(0))
    sweeps = len(solver.run(*start, max_iter=12, tol=0).objective)
    runs = [solver.run(*start, max_iter=done, tol=0) for done in range(1, sweeps + 1)]
    values = [objective(noisy, run.labels, [f.centroids for f in run.factors]) for run in runs]
    np.testing.assert_allclose(runs[-1].objective, values, rtol=1e-10)
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert values[-1] < 0.95 * values[0]


@pytest.mark.parametrize("n_components", [2, 6])
def test_empty_clusters_restart_without_increasing_the_objective(n_components):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((60, 8)), 30 + rng.standard_normal((60, 8))])
    far = np.array([[300.0] * 8, [-400.0] * 4 + [200.0] * 4])
    solver = make_solver([X], 6, n_components)
    _, C = solver.initialize(np.random.RandomState(0))
    (factors,) = solver.factors(np.arange(120) % 6, C)
    # Two centroids far from all samples.
    factors.C[[2, 4]] = far if factors.W is None else far @ factors.W.T
    D = solver.distances([factors])
    before = np.argmin(D, axis=1)
    assert set(before).isdisjoint({2, 4})
    value = objective([X], before, [factors.centroids])
    labels, now = solver.partition(D, [factors])
    assert set(labels) == set(range(6))
    assert now < value
    assert now == pytest.approx(objective([X], labels, [factors.centroids]))


@pytest.mark.parametrize("scaling", ["rows", "features", "none"])
def test_scaled_views_dense_and_sparse(scaling):
    rng = np.random.default_rng(0)
    thin = np.where(rng.random((40, 5)) < 0.5, 0, rng.random((40, 5)))
    thin[:, 0] = 1 + rng.random(40)
    views = [rng.random((40, 7)) + 5, thin]
    expected = {
        "rows": lambda X: zscored([X.T])[0].T,
        "features": lambda X: zscored([X])[0],
        "none": lambda X: X,
    }[scaling]
    labels = rng.integers(3, size=40)
    sizes = np.bincount(labels).astype(float)
    for form in (np.asarray, sparse.csr_array):
        got = centered_views(MultiViewData([form(X) for X in views]), scaling)
        for view, X in zip(got, map(expected, views), strict=True):
            assert isinstance(view.X, np.ndarray) == (form is np.asarray or scaling == "rows")
            rows = np.array([3, 0, 30])
            np.testing.assert_allclose(view.dense(rows), X[rows], atol=1e-12)
            np.testing.assert_allclose(view.sums(labels, sizes), np.eye(3)[labels].T @ X)
            M = rng.random((3, X.shape[1]))
            D = view.distances(M) + view.squares[:, None]
            np.testing.assert_allclose(D, [[np.sum((x - m) ** 2) for m in M] for x in X])
