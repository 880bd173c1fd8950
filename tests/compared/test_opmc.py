import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import anchorview.compared.opmc as opmc
from anchorview import MultiViewData, make_multiview
from anchorview.compared._opmc_solver import OnePassSolver, centered_views, fitted_factors, in_view
from anchorview.compared.opmc import OPMC


def zscored(views):
    return [(X - X.mean(axis=0)) / X.std(axis=0, ddof=1) for X in views]


def solver_of(views, n_clusters, n_components, scaling="none"):
    return OnePassSolver(centered_views(MultiViewData(views), scaling), n_clusters, n_components)


def objective(views, labels, centroids):
    """The stated objective, with loops."""
    total = 0.0
    for X, M in zip(views, centroids, strict=True):
        for x, j in zip(X, labels, strict=True):
            total += np.sum((x - M[j]) ** 2)
    return total / len(views)


def lloyd(X, labels, n_clusters, sweeps):
    """Plain K-means from labels: those after each sweep."""
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


class TestAuthorsProgram:
    def test_from_its_start(self, vectors, toy):
        run = vectors("opmc")
        C = [run[f"C0_{p}"] for p in range(3)]
        solver = solver_of(toy[0], 3, 3, "features")
        found = solver.run(run["Y0"].ravel().astype(int) - 1, C, max_iter=200, tol=1e-5)
        np.testing.assert_array_equal(found.labels, run["L"].ravel() - 1)
        # Its first value depends on a random W that the run then overwrites.
        assert len(found.objective) == run["obj"].size
        np.testing.assert_allclose(found.objective[1:], run["obj"].ravel()[1:], rtol=1e-10)
        for p, M in enumerate(found.centroids):
            np.testing.assert_allclose(M, run[f"C_{p}"] @ run[f"W_{p}"], atol=1e-10)

    def test_its_factors_are_the_cluster_means_for_as_many_components_as_clusters(self, noisy):
        rng = np.random.default_rng(0)
        labels = rng.integers(5, size=180)
        Y = np.eye(5)[labels]
        for X in zscored(noisy):
            T, sizes = Y.T @ X, Y.sum(axis=0)
            C, W = fitted_factors(T, sizes, rng.random((5, 5)))
            np.testing.assert_allclose(W @ W.T, np.eye(5), atol=1e-12)
            np.testing.assert_allclose(C @ W, T / sizes[:, None], atol=1e-10)


@pytest.mark.parametrize("n_components", [5, 7])
def test_is_kmeans_sweep_by_sweep(noisy, n_components):
    labels = np.random.default_rng(1).integers(5, size=180)
    start = [np.random.default_rng(2).random((5, n_components)) for _ in noisy]
    solver = solver_of(noisy, 5, n_components)
    for sweeps, expected in enumerate(lloyd(np.hstack(noisy), labels, 5, 8), start=1):
        found = solver.run(labels, start, max_iter=sweeps, tol=0)
        np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("n_components", [1, 2, 4, 5])
def test_each_sweep_lowers_the_stated_objective(noisy, n_components):
    solver = solver_of(noisy, 5, n_components)
    start = solver.start(np.random.RandomState(0))
    sweeps = len(solver.run(*start, max_iter=12, tol=0).objective)
    runs = [solver.run(*start, max_iter=done, tol=0) for done in range(1, sweeps + 1)]
    values = [objective(noisy, run.labels, run.centroids) for run in runs]
    # What is recorded is the value before each sweep.
    np.testing.assert_allclose(runs[-1].objective[1:], values[:-1], rtol=1e-10)
    assert (np.diff(runs[-1].objective) <= 1e-9 * values[0]).all()
    assert values[-1] < 0.9 * runs[-1].objective[0]
    np.testing.assert_allclose([run.value for run in runs], values, rtol=1e-10)


def test_factors_of_a_small_latent_space_are_each_the_best(noisy):
    rng = np.random.default_rng(0)
    X, labels = noisy[0], rng.integers(5, size=180)
    Y = np.eye(5)[labels]
    T, sizes, old = Y.T @ X, Y.sum(axis=0), rng.standard_normal((5, 2))
    C, W = fitted_factors(T, sizes, old)
    np.testing.assert_allclose(W @ W.T, np.eye(2), atol=1e-12)
    for _ in range(50):
        other = np.linalg.qr(W.T + 0.1 * rng.standard_normal((9, 2)))[0].T
        assert objective([X], labels, [old @ W]) <= objective([X], labels, [old @ other])
        nudged = C + 0.1 * rng.standard_normal(C.shape)
        assert objective([X], labels, [C @ W]) <= objective([X], labels, [nudged @ W])


@pytest.mark.parametrize("n_components", [2, 6])
def test_emptied_clusters_restart_without_raising_the_objective(n_components):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((60, 8)), 30 + rng.standard_normal((60, 8))])
    far = np.array([[300.0] * 8, [-400.0] * 4 + [200.0] * 4])
    solver = solver_of([X], 6, n_components)
    _, C = solver.start(np.random.RandomState(0))
    factors, W = solver._factors(np.arange(120) % 6, C)
    # Two centroids that no sample is near to.
    factors[0][[2, 4]] = far if W[0] is None else far @ W[0].T
    D = solver.distances(factors, W)
    before = np.argmin(D, axis=1)
    assert set(before).isdisjoint({2, 4})
    value = objective([X], before, [in_view(factors[0], W[0])])
    labels, now = solver._partition(D, factors, W)
    assert set(labels) == set(range(6))
    assert now < value
    assert now == pytest.approx(objective([X], labels, [in_view(factors[0], W[0])]))


@pytest.mark.parametrize("scaling", ["rows", "features", "none"])
def test_scaled_views_are_as_defined_dense_or_sparse(scaling):
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
            np.testing.assert_allclose(view.rows(rows).dense(slice(None)), X[rows], atol=1e-12)
            np.testing.assert_allclose(view.sums(labels, sizes), np.eye(3)[labels].T @ X)
            M = rng.random((3, X.shape[1]))
            D = view.distances(M) + view.squares[:, None]
            np.testing.assert_allclose(D, [[np.sum((x - m) ** 2) for m in M] for x in X])


def test_the_best_start_is_kept(noisy):
    def final(n_init):
        model = OPMC(8, n_init=n_init, scaling="none", random_state=0).fit(noisy)
        return objective(noisy, model.labels_, model.cluster_centers_)

    # The starts of few are among those of many.
    values = [final(n_init) for n_init in (1, 5, 30)]
    assert values[0] >= values[1] >= values[2]
    assert values[0] > values[2]


def test_runs_are_judged_by_where_they_end(noisy, monkeypatch):
    seen = []
    run = OnePassSolver.run

    def spied(*rest):
        seen.append(run(*rest))
        return seen[-1]

    monkeypatch.setattr(OnePassSolver, "run", spied)
    model = OPMC(5, n_init=20, max_iter=1, scaling="none", random_state=0).fit(noisy)
    values = [objective(noisy, found.labels, found.centroids) for found in seen]
    best = int(np.argmin(values))
    np.testing.assert_array_equal(model.labels_, seen[best].labels)
    # The start of the winner is not the best of the starts.
    assert best != np.argmin([found.objective[-1] for found in seen])


@pytest.mark.parametrize("settings", [{}, {"n_components": 2}, {"scaling": "features"}])
def test_many_samples_start_on_some_of_them(monkeypatch, settings):
    seen = []
    run = OnePassSolver.run

    def spied(self, labels, *rest):
        found = run(self, labels, *rest)
        seen.append((len(labels), found))
        return found

    monkeypatch.setattr(opmc, "SAMPLE", 200)
    monkeypatch.setattr(OnePassSolver, "run", spied)
    views, y = make_multiview(1000, n_clusters=4, n_features=(10, 8), random_state=1)
    views = {"dense": views["view_0"], "thin": sparse.csr_array(views["view_1"])}
    model = OPMC(4, n_init=8, random_state=0, **settings).fit(views)
    assert [size for size, _ in seen] == 8 * [200] + 3 * [1000]
    best = min((found for _, found in seen[8:]), key=lambda found: found.value)
    np.testing.assert_array_equal(model.labels_, best.labels)
    np.testing.assert_array_equal(model.objective_, best.objective)
    assert adjusted_rand_score(y, model.labels_) > 0.5
    assert [centers.shape for centers in model.cluster_centers_] == [(4, 10), (4, 8)]


def test_an_offset_costs_no_digits(noisy):
    expected = OPMC(5, n_init=3, scaling="none", random_state=0).fit(noisy)
    moved = OPMC(5, n_init=3, scaling="none", random_state=0).fit([X + 1e6 for X in noisy])
    np.testing.assert_array_equal(moved.labels_, expected.labels_)
    np.testing.assert_allclose(moved.objective_, expected.objective_, rtol=1e-8)


def test_learned_attributes(toy):
    views, _ = toy
    model = OPMC(3, n_init=5, scaling="features", random_state=0).fit(views)
    np.testing.assert_allclose(model.view_weights_, 1 / 3)
    for X, centers in zip(zscored(views), model.cluster_centers_, strict=True):
        means = [X[model.labels_ == j].mean(axis=0) for j in range(3)]
        np.testing.assert_allclose(centers, means, atol=1e-10)
    assert OPMC(3).scaling == "rows"
    assert OPMC(3).n_init == 100


@pytest.mark.parametrize("n_features", [1, 2])
def test_few_features_are_not_lost_by_scaling_rows(n_features):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = 5 * y[:, None] + rng.random((90, n_features))
    model = OPMC(3, n_init=10, random_state=0).fit([X])
    assert adjusted_rand_score(y, model.labels_) == 1


@pytest.mark.parametrize("scaling", ["rows", "features"])
@pytest.mark.parametrize("n_features", [1, 2, 6])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_view_that_scaling_leaves_nothing_of_is_named(noisy, scaling, n_features, form):
    near = 1 + 1e-14 * np.random.default_rng(0).standard_normal((180, n_features))
    with pytest.raises(ValueError, match=r"view 1 \('near'\) is zero after scaling"):
        OPMC(5, n_init=2, scaling=scaling).fit({"good": noisy[0], "near": form(near)})
