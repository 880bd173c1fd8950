"""The candidates and what they share: against DALMC, against plain loops, in any order."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, AutoDALMC, MultiViewData
from anchorview.core import cost_model, truncate
from anchorview.core.compress import compress
from anchorview.core.scale import fit_scalings
from anchorview.core.solve import leading_spectra
from anchorview.estimators.auto import candidates
from anchorview.estimators.auto.candidates import (
    MAX_ITER,
    N_KMEANS_RUNS,
    TOL,
    CandidatePool,
    FamilyProblem,
    FittedFamily,
)
from anchorview.estimators.auto.memory_needs import memory_needed
from anchorview.estimators.auto.settings import (
    Family,
    Setting,
    candidate_settings,
    representative_settings,
)
from helpers.data import clustered_data

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")

both_scalings = pytest.mark.parametrize("scaling", ["zscore-unit", "unit-center"])


def small_data(n=90, widths=(14, 18), **options):
    return clustered_data(n, 3, widths, **options)


def linear_problem(data, scaling, route, n_directions=12):
    """Problem of a family without lift, on a given route."""
    problem = compress(data, fit_scalings(data, scaling), route, unit_norm=True)
    fitted = FittedFamily(None, problem.scalings)
    spectra = leading_spectra(problem, n_directions)
    return FamilyProblem(data, fitted, problem, n_directions, 0, spectra)


def prepared(data, setting, n_represented=None):
    """Problem of the family of a setting, as a pool prepares it for three clusters."""
    pool = CandidatePool(data, 0, n_represented)
    list(pool.fit_all([(setting, 3)]))
    return pool.problem(setting.family)


def require_solution_of_dalmc(problem, setting, **options):
    k = 3
    parameters = {
        "n_anchors": setting.anchors * k,
        "n_components": setting.components * k,
        "beta": setting.beta,
        "scaling": setting.family.scaling,
        "max_iter": MAX_ITER,
        "tol": TOL,
    }
    model = DALMC(k, n_init=1, random_state=0, **(parameters | options)).fit(problem.data)
    embedder, weights, objective = problem.solve(setting, k)
    S, expected = embedder(problem.data), model.embedding_
    np.testing.assert_allclose(S @ S.T, expected @ expected.T, atol=1e-6)
    np.testing.assert_allclose(weights, model.view_weights_, rtol=1e-6)
    np.testing.assert_allclose(objective, model.objective_, rtol=1e-8)


class TestSolve:
    @pytest.mark.parametrize("sizes", [(1, 1), (2, 2)])
    @pytest.mark.parametrize("beta", [0.1, 0.001])
    @both_scalings
    def test_equals_dalmc(self, scaling, beta, sizes):
        data, _ = small_data()
        setting = Setting(Family(scaling), *sizes, beta)
        require_solution_of_dalmc(prepared(data, setting), setting)

    @pytest.mark.parametrize(
        ("kind", "route"),
        [
            *(("wide", route) for route in ("compressed", "left", "direct")),
            *(("incomplete", route) for route in ("compressed", "direct")),
            ("sparse", "direct"),
        ],
    )
    @both_scalings
    def test_equals_dalmc_on_every_route(self, scaling, kind, route):
        data, _ = small_data(missing=0.3) if kind == "incomplete" else small_data(40, (70, 90))
        if kind == "sparse":
            data = MultiViewData([sparse.csr_array(np.maximum(view, 0)) for view in data.views])
        problem = linear_problem(data, scaling, route)
        for sizes in ((1, 1), (2, 4)) if kind == "wide" else ((1, 1),):
            setting = Setting(Family(scaling), *sizes, 0.1)
            require_solution_of_dalmc(problem, setting, solver=route)

    @pytest.mark.parametrize("missing", [0.0, 0.3])
    def test_equals_dalmc_on_lifted_views(self, missing):
        data, _ = small_data(missing=missing)
        setting = Setting(Family("zscore-unit", 20), 2, 2, 0.01)
        problem = prepared(data, setting)
        assert problem.data.n_features_per_view == (20, 20)
        require_solution_of_dalmc(problem, setting, scaling="none", solver="compressed")

    @both_scalings
    def test_number_of_shared_directions_does_not_matter(self, scaling):
        data, _ = small_data()
        setting = Setting(Family(scaling), 1, 1, 0.1)
        problems = [linear_problem(data, scaling, "compressed", m) for m in (3, 5, 12, 100)]
        expected, *others = (problem.solve(setting, 3)[0](data) for problem in problems)
        for S in others:
            np.testing.assert_allclose(S @ S.T, expected @ expected.T, atol=1e-6)

    def test_narrow_views_get_fewer_anchors_and_components(self):
        data, _ = small_data(widths=(2, 3))
        problem = linear_problem(data, "zscore-unit", "compressed")
        embedder, _, _ = problem.solve(Setting(Family("zscore-unit"), 2, 4, 0.1), 3)
        S = embedder(data)
        assert S.shape == (90, 2)
        np.testing.assert_allclose(S.T @ S, np.eye(2), atol=1e-8)


class TestPool:
    def test_larger_numbers_extend_what_is_prepared(self):
        data, _ = small_data()
        setting = Setting(Family("zscore-unit"), 1, 2, 0.1)
        pool = CandidatePool(data, 0)
        ((_, (_, few)),) = pool.fit_all([(setting, 2)])
        outcomes = dict(pool.fit_all([(setting, 2), (setting, 3), (setting, 5)]))
        np.testing.assert_array_equal(outcomes[setting, 2][1], few)
        for k in (3, 5):
            ((_, (_, alone)),) = CandidatePool(data, 0).fit_all([(setting, k)])
            assert adjusted_rand_score(outcomes[setting, k][1][0], alone[0]) == 1


class TestTruncation:
    @pytest.fixture(autouse=True)
    def small_sizes(self, set_constants):
        set_constants(truncate, WIDE=100, MIN_DIRECTIONS=16, OVERSAMPLING=8)
        set_constants(candidates, WORK_WHERE_VERY_WIDE=0.0)
        set_constants(cost_model, TRUNCATION_GAIN=0.0)

    def wide_data(self, form):
        data, y = small_data(120, (600, 18), missing=0.2 if form == "missing" else 0.0)
        if form == "sparse":
            wide, narrow = data.views
            data = MultiViewData([sparse.csr_array(np.maximum(wide, 0)), narrow])
        return data, y

    @pytest.mark.parametrize("form", ["dense", "sparse", "missing"])
    @both_scalings
    def test_very_wide_views_are_truncated(self, scaling, form, set_constants):
        data, _ = self.wide_data(form)
        setting = Setting(Family(scaling), 1, 2, 0.1)
        truncated = prepared(data, setting)
        set_constants(candidates, VERY_WIDE=6)
        exact = prepared(data, setting)
        assert truncated.is_truncated
        assert not exact.is_truncated
        found, expected = (own.solve(setting, 3) for own in (truncated, exact))
        assert found[2][-1] == pytest.approx(expected[2][-1], abs=0.01)
        S, T = (
            embedder(own.data) for (embedder, *_), own in ((found, truncated), (expected, exact))
        )
        assert np.linalg.norm(S.T @ T, "nuc") == pytest.approx(3, abs=0.1)

    def test_more_clusters_get_more_directions(self):
        data, _ = self.wide_data("dense")
        setting = Setting(Family("zscore-unit"), 1, 4, 0.1)
        pool = CandidatePool(data, 0)
        list(pool.fit_all([(setting, 2)]))
        few = pool.problem(setting.family)
        list(pool.fit_all([(setting, 5)]))
        more = pool.problem(setting.family)
        assert few.is_truncated
        assert more.is_truncated
        assert (few.n_directions, more.n_directions) == (8, 20)
        list(pool.fit_all([(setting, 3)]))
        assert pool.problem(setting.family) is more

    @pytest.mark.parametrize("form", ["dense", "sparse", "missing"])
    def test_auto_finds_the_same_clusters(self, form, set_constants):
        data, _ = self.wide_data(form)
        model = AutoDALMC(range(2, 6), random_state=0).fit(data)
        set_constants(candidates, VERY_WIDE=6)
        exact = AutoDALMC(range(2, 6), random_state=0).fit(data)
        assert model.n_clusters_ == exact.n_clusters_ == 3
        assert adjusted_rand_score(model.labels_, exact.labels_) >= 0.95
        np.testing.assert_array_equal(model.predict(data), model.labels_)


class TestSettings:
    @pytest.mark.parametrize(
        ("n", "budget", "count", "n_families"),
        [
            (2000, "default", 64, 6),
            (2500, "default", 64, 6),
            (2501, "default", 10, 5),
            (10_000, "thorough", 68, 6),
            (100, "fast", 4, 4),
            (10_000, "fast", 4, 4),
        ],
    )
    def test_budgets(self, n, budget, count, n_families):
        settings = candidate_settings(10, n, budget)
        assert len(settings) == len(set(settings)) == count
        assert len({setting.family.key for setting in settings}) == n_families

    def test_larger_budgets_have_all_settings_of_smaller_ones(self):
        fast, default, thorough = (
            set(candidate_settings(10, 5000, budget)) for budget in ("fast", "default", "thorough")
        )
        assert fast < default < thorough

    def test_representative_settings_are_one_of_each_family(self):
        settings = representative_settings(10, 5000)
        lifted = [setting.family.is_lifted for setting in settings]
        assert lifted == [False, False, True, True]
        assert set(settings) <= set(candidate_settings(10, 5000, "fast"))
        row = settings[2].row(10)
        assert (row["n_landmarks"], row["n_anchors"], row["n_components"]) == (500, 10, 10)

    @pytest.mark.parametrize(
        ("k", "n", "budget", "landmarks"),
        [
            (10, 2000, "default", {1000}),
            (10, 2501, "default", {500}),
            (10, 2000, "thorough", {500, 1000}),
            (10, 1200, "default", {600}),
            (10, 700, "default", {500}),
            (10, 300, "default", {300}),
            (10, 300, "fast", {300}),
            (10, 300, "thorough", {300}),
            (150, 1999, "thorough", {750, 999}),
            (150, 900, "thorough", {750}),
            (2, 2, "default", {10}),
        ],
    )
    def test_landmarks(self, k, n, budget, landmarks):
        found = {setting.family.n_landmarks for setting in candidate_settings(k, n, budget)}
        assert found == {None, *landmarks}


class TestPartitions:
    @pytest.mark.parametrize("missing", [0.0, 0.3])
    def test_runs_are_ordered_by_inertia_and_label_the_samples(self, missing):
        data, _ = small_data(separation=1.5, missing=missing)
        pool = CandidatePool(data, 0)
        settings = candidate_settings(3, len(data), "fast")
        outcomes = [outcome for _, outcome in pool.fit_all([(own, 3) for own in settings])]
        assert [candidate.setting for candidate, _ in outcomes] == settings
        for candidate, labels in outcomes:
            assert labels.shape == (N_KMEANS_RUNS, 90)
            rows = candidate.embedder(pool.problem(candidate.setting.family).data)
            points = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            inertias = [
                np.mean(np.sum((points - run.centroids[of_run]) ** 2, axis=1))
                for run, of_run in zip(candidate.runs, labels, strict=True)
            ]
            np.testing.assert_allclose(np.sort(inertias), inertias, rtol=1e-12)
            assert candidate.inertia == pytest.approx(inertias[0])

    def test_order_of_samples_does_not_matter(self, set_constants):
        set_constants(candidates, SMALL_SAMPLE_SIZE=15)
        data, _ = small_data()
        order = np.random.default_rng(0).permutation(90)
        first, moved = CandidatePool(data, 0), CandidatePool(data[order], 0)
        assert len(set(first.small_sample)) == 15
        np.testing.assert_array_equal(moved.small_sample, first.small_sample)
        for view, other in zip(first.data.views, moved.data.views, strict=True):
            np.testing.assert_array_equal(view, other)
        np.testing.assert_array_equal(
            np.sort(first.data.views[0], axis=0), np.sort(data.views[0], axis=0)
        )

    @pytest.mark.parametrize("family", [Family("zscore-unit"), Family("unit-center", 20)], ids=str)
    def test_embedding_of_represented_samples_has_orthonormal_columns(self, family):
        data, _ = small_data()
        four_times = MultiViewData([np.tile(view, (4, 1)) for view in data.views])
        setting = Setting(family, 1, 1, 0.1)
        problem = prepared(data, setting, 360)
        embedder, _, _ = problem.solve(setting, 3)
        S = embedder(problem.fitted.transform(four_times))
        np.testing.assert_allclose(S.T @ S, np.eye(3), atol=1e-8)

    @pytest.mark.parametrize("missing", [0.0, 0.3])
    def test_view_partitions_use_one_view_each(self, missing):
        data, y = small_data(120, (14, 18, 10), separation=8.0, missing=missing, n_noise_views=1)
        data.sample_ids = pd.RangeIndex(120)
        pool = CandidatePool(data, 0)
        positions = np.asarray(pool.data.sample_ids)
        list(pool.fit_all([(representative_settings(3, 120)[0], 3)]))
        found = list(pool.view_partitions(3))
        assert len(found) == 4
        for p, (rows, labels) in enumerate(found):
            samples = positions[rows]
            has = np.arange(120) if missing == 0 else np.flatnonzero(data.available[:, p])
            np.testing.assert_array_equal(np.sort(samples), has)
            score = adjusted_rand_score(y[samples], labels)
            assert score > 0.95 if p < 3 else score < 0.1


def needed(data, settings):
    return memory_needed(data, len(data), settings, 3, keeps_results=False)


class TestMemory:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_memory_that_grows_with_the_samples(self, dtype):
        data, _ = small_data()
        data = MultiViewData([view.astype(dtype) for view in data.views])
        settings = candidate_settings(3, 90, "fast")
        pool = CandidatePool(data, 0)
        outcomes = [outcome for _, outcome in pool.fit_all([(own, 3) for own in settings])]
        transformed = {s.family: pool.problem(s.family).data for s in settings}
        held = sum(view.nbytes for view in pool.data.views)
        held += sum(labels.astype(np.int32).nbytes for _, labels in outcomes)
        held += max(c.embedder(transformed[c.setting.family]).nbytes for c, _ in outcomes)
        for own in transformed.values():
            lifted = (view for view in own.views if sparse.issparse(view))
            held += sum(view.data.nbytes + view.indices.nbytes for view in lifted)
        more = MultiViewData([np.vstack([view, view]) for view in data.views])
        grown = needed(more, settings) - needed(data, settings)
        assert held <= grown <= 2 * held

    def test_memory_beyond_the_sample_is_that_of_results(self):
        data, _ = small_data()
        settings = candidate_settings(3, 90)
        source = data
        without = memory_needed(source, 30, settings, 3, keeps_results=False)
        with_results = memory_needed(source, 30, settings, 3, keeps_results=True)
        # Embeddings of 6 columns, labels, second labels and confidence, all in double precision.
        assert with_results - without >= 90 * (6 * 8 + 4 + 4 + 8)

    def test_memory_of_traces_and_landmarks(self):
        data, _ = small_data()
        wide = MultiViewData([sparse.csr_array((90, 50_000)), *data.views])
        linear, _, lifted, _ = representative_settings(3, 90)
        for setting, width in ((linear, 3), (lifted, lifted.family.n_landmarks)):
            assert needed(wide, [setting]) - needed(data, [setting]) > 8 * 50_000 * width
        assert needed(data, [linear]) < needed(data, [linear, lifted])
