"""The candidates and what they share: against DALMC itself, against plain loops, in any order."""

import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, MultiViewData, make_multiview
from anchorview._utils.threads import parallel_map
from anchorview.core.assign import Assignment, labels_of_runs
from anchorview.core.compress import pose_problem, summarize_groups
from anchorview.core.embed import for_embeddings
from anchorview.core.scale import fit_scalings, sparse_block, with_unit_norms
from anchorview.estimators.auto.candidates import (
    MAX_ITER,
    RUNS,
    TOL,
    CandidatePool,
    Family,
    FittedFamily,
    Form,
    Setting,
    memory_needed,
    partitions_of,
    pool,
)

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")


def made(n=90, widths=(14, 18), k=3, missing=0.0, separation=3.0, seed=0):
    views, y = make_multiview(
        n,
        n_clusters=k,
        n_features=widths,
        missing=missing,
        separation=separation,
        random_state=seed,
    )
    return MultiViewData(views), y


def formed(data, scaling, route, n_directions=12):
    """Form of a linear family in a given form of the problem."""
    problem = pose_problem(data, fit_scalings(data, scaling), route, unit_norm=True)
    return Form(data, FittedFamily(None, problem.scalings), problem, n_directions)


def dalmc(setting, k, **options):
    return DALMC(
        k,
        n_anchors=setting.anchors * k,
        n_components=setting.components * k,
        beta=setting.beta,
        scaling=setting.family.scaling,
        max_iter=MAX_ITER,
        tol=TOL,
        n_init=1,
        random_state=0,
    ).set_params(**options)


def require_same_solution(form, setting, k, model):
    embedder, weights, objective = form.solve(setting, k)
    S, expected = embedder(form.data), model.embedding_
    np.testing.assert_allclose(S @ S.T, expected @ expected.T, atol=1e-6)
    np.testing.assert_allclose(weights, model.view_weights_, rtol=1e-6)
    np.testing.assert_allclose(objective, model.objective_, rtol=1e-8)


class TestSolve:
    @pytest.mark.parametrize("sizes", [(1, 1), (2, 2)])
    @pytest.mark.parametrize("beta", [0.1, 0.001])
    @pytest.mark.parametrize("scaling", ["zscore-unit", "unit-center"])
    def test_equal_to_dalmc(self, scaling, beta, sizes):
        data, _ = made()
        setting = Setting(Family(scaling), *sizes, beta)
        form = CandidatePool(data, 3, 0).form(setting.family)
        require_same_solution(form, setting, 3, dalmc(setting, 3).fit(data))

    @pytest.mark.parametrize("route", ["compressed", "left", "direct"])
    @pytest.mark.parametrize("scaling", ["zscore-unit", "unit-center"])
    def test_equal_to_dalmc_with_more_features_than_samples(self, scaling, route):
        data, _ = made(40, (70, 90))
        form = formed(data, scaling, route)
        for setting in (Setting(Family(scaling), 1, 1, 0.1), Setting(Family(scaling), 2, 4, 0.1)):
            require_same_solution(form, setting, 3, dalmc(setting, 3, solver=route).fit(data))

    @pytest.mark.parametrize("route", ["compressed", "direct"])
    @pytest.mark.parametrize("scaling", ["zscore-unit", "unit-center"])
    def test_equal_to_dalmc_where_views_are_missing(self, scaling, route):
        data, _ = made(missing=0.3)
        form = formed(data, scaling, route)
        setting = Setting(Family(scaling), 1, 1, 0.1)
        require_same_solution(form, setting, 3, dalmc(setting, 3, solver=route).fit(data))

    def test_equal_to_dalmc_on_sparse_views(self):
        data, _ = made(40, (70, 90))
        thin = MultiViewData([sparse.csr_array(np.maximum(view, 0)) for view in data.views])
        setting = Setting(Family("unit-center"), 1, 1, 0.1)
        form = formed(thin, "unit-center", "direct")
        require_same_solution(form, setting, 3, dalmc(setting, 3, solver="direct").fit(thin))

    @pytest.mark.parametrize("missing", [0.0, 0.3])
    def test_equal_to_dalmc_on_lifted_views(self, missing):
        data, _ = made(missing=missing)
        setting = Setting(Family("zscore-unit", 20), 2, 2, 0.01)
        form = CandidatePool(data, 3, 0).form(setting.family)
        assert form.data.n_features_per_view == (20, 20)
        model = dalmc(setting, 3, scaling="none", solver="compressed").fit(form.data)
        require_same_solution(form, setting, 3, model)

    @pytest.mark.parametrize("scaling", ["zscore-unit", "unit-center"])
    def test_directions_that_other_candidates_need_do_not_matter(self, scaling):
        data, _ = made()
        setting = Setting(Family(scaling), 1, 1, 0.1)
        expected = None
        for n_directions in (3, 5, 12, 100):
            S = formed(data, scaling, "compressed", n_directions).solve(setting, 3)[0](data)
            expected = S @ S.T if expected is None else expected
            np.testing.assert_allclose(S @ S.T, expected, atol=1e-6)

    def test_narrow_views_get_fewer_anchors_and_components(self):
        data, _ = made(90, (2, 3))
        embedder, _, _ = formed(data, "zscore-unit", "compressed").solve(
            Setting(Family("zscore-unit"), 2, 4, 0.1), 3
        )
        S = embedder(data)
        assert S.shape == (90, 2)
        np.testing.assert_allclose(S.T @ S, np.eye(2), atol=1e-8)


class TestPool:
    def test_rounds_through_the_families(self):
        settings = pool(10, 5000)
        assert len(settings) == len(set(settings)) == 12
        linear = [Family("zscore-unit"), Family("unit-center")]
        lifted = [Family("zscore-unit", 500), Family("unit-center", 500)]
        first = [*linear, *lifted]
        assert [setting.family for setting in settings] == [*first, *first, *linear, *linear]
        assert {(s.anchors, s.components, s.beta) for s in settings[:2]} == {(1, 1, 0.1)}
        assert {(s.anchors, s.components, s.beta) for s in settings[2:4]} == {(1, 1, 0.01)}
        assert {(s.components, s.beta) for s in settings if s.family in lifted} == {
            (1, 0.01),
            (2, 0.01),
        }
        assert {(s.components, s.beta) for s in settings if s.family in linear} == {
            (1, 0.1),
            (1, 0.001),
            (4, 0.1),
            (4, 0.001),
        }

    @pytest.mark.parametrize(
        ("k", "n", "landmarks"),
        [(10, 5000, 500), (10, 999, 499), (200, 5000, 1000), (200, 300, 150), (2, 2, 10)],
    )
    def test_landmarks(self, k, n, landmarks):
        found = {setting.family.n_landmarks for setting in pool(k, n)}
        assert found == {None, landmarks}

    def test_no_setting_has_more_components_than_its_family_says(self):
        for setting in pool(3, 100):
            assert setting.components <= setting.family.most_components
            assert setting.row(3)["n_components"] == 3 * setting.components
            assert setting.row(3)["n_anchors"] == 3 * setting.anchors


def nearest_by_loops(points, centroids):
    return [int(np.argmin([np.sum((x - c) ** 2) for c in centroids])) for x in points]


class TestPartitions:
    @pytest.mark.parametrize("normalize", [True, False])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_labels_by_equal_to_loops(self, normalize, dtype):
        rng = np.random.default_rng(0)
        embedding = rng.standard_normal((50, 3)).astype(dtype)
        runs = [Assignment(rng.standard_normal((4, 3)), normalize) for _ in range(5)]
        found = labels_of_runs(runs, embedding)
        assert found.shape == (5, 50)
        lengths = np.linalg.norm(embedding, axis=1, keepdims=True) if normalize else 1
        for labels, run in zip(found, runs, strict=True):
            np.testing.assert_array_equal(
                labels, nearest_by_loops(embedding / lengths, run.centroids)
            )
            np.testing.assert_array_equal(labels, run(embedding))

    def test_labels_by_in_one_column_keeps_signs(self):
        run = Assignment(np.array([[-1.0], [2.0]]), True)
        found = labels_of_runs([run], np.array([[-3.0], [0.1], [0.9], [5.0]]))
        np.testing.assert_array_equal(found, [[0, 0, 1, 1]])

    @pytest.mark.parametrize("missing", [0.0, 0.3])
    def test_runs_are_ordered_by_inertia_and_label_the_samples(self, missing):
        data, _ = made(separation=1.5, missing=missing)
        candidates = CandidatePool(data, 3, 0)
        settings = pool(3, len(data))[:4]
        outcomes = [outcome for _, outcome in candidates.fit_all(settings, 3)]
        fitted = [candidate for candidate, _ in outcomes]
        assert [candidate.setting for candidate in fitted] == settings
        whole = candidates.partitions(fitted)
        assert whole.shape == (4, RUNS, 90)
        new = partitions_of(fitted, candidates.families(fitted), data)
        np.testing.assert_array_equal(new, whole)
        for (candidate, labels), own in zip(outcomes, whole, strict=True):
            np.testing.assert_array_equal(labels, own[:, candidates.sample])
            rows = candidates.embedding(candidate)
            points = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            inertias = [
                np.mean(np.sum((points - run.centroids[of_run]) ** 2, axis=1))
                for run, of_run in zip(candidate.runs, own, strict=True)
            ]
            assert len(inertias) == RUNS
            np.testing.assert_allclose(np.sort(inertias), inertias, rtol=1e-12)
            assert candidate.inertia == pytest.approx(inertias[0])

    def test_every_sample_stands_for_itself_if_there_are_few(self):
        data, _ = made()
        candidates = CandidatePool(data, 3, 0)
        np.testing.assert_array_equal(np.sort(candidates.sample), np.arange(90))
        np.testing.assert_array_equal(candidates.few, candidates.sample)

    def test_the_sample_is_the_same_samples_in_any_order(self, monkeypatch):
        monkeypatch.setattr("anchorview.estimators.auto.candidates.SAMPLE", 40)
        monkeypatch.setattr("anchorview.estimators.auto.candidates.FEW", 15)
        data, _ = made()
        order = np.random.default_rng(0).permutation(90)
        first, moved = CandidatePool(data, 3, 0), CandidatePool(data[order], 3, 0)
        assert len(set(first.sample)) == 40
        assert len(set(first.few)) == 15
        assert set(first.few) <= set(first.sample)
        np.testing.assert_array_equal(order[moved.sample], first.sample)
        np.testing.assert_array_equal(order[moved.few], first.few)

    @pytest.mark.parametrize("missing", [0.0, 0.3])
    def test_view_partitions(self, missing):
        data, y = made(120, (14, 18, 10), separation=8, missing=missing)
        candidates = CandidatePool(data, 3, 0)
        found = list(candidates.view_partitions(3))
        assert len(found) == 3
        for p, (rows, labels) in enumerate(found):
            samples = candidates.sample[rows]
            has = np.arange(120) if missing == 0 else np.flatnonzero(data.available[:, p])
            np.testing.assert_array_equal(np.sort(samples), has)
            assert adjusted_rand_score(y[samples], labels) > 0.95

    def test_view_partitions_see_one_view_only(self):
        data, y = made(120, separation=8)
        noise = np.random.default_rng(0).standard_normal((120, 12))
        candidates = CandidatePool(MultiViewData([*data.views, noise]), 3, 0)
        first, second, third = (labels for _, labels in candidates.view_partitions(3))
        truth = y[candidates.sample]
        assert adjusted_rand_score(truth, first) == adjusted_rand_score(truth, second) == 1
        assert adjusted_rand_score(truth, third) < 0.1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_that_grows_with_the_samples_is_counted(dtype):
    data, _ = made()
    data = MultiViewData([view.astype(dtype) for view in data.views])
    settings = pool(3, 90)
    candidates = CandidatePool(data, 3, 0)
    fitted = [outcome[0] for _, outcome in candidates.fit_all(settings, 3)]
    families = {setting.family for setting in settings if setting.family.n_landmarks}
    lifted = [candidates.form(family).data for family in families]
    held = candidates.partitions(fitted).nbytes
    held += max(candidates.embedding(candidate).nbytes for candidate in fitted)
    for view in (view for form in lifted for view in form.views):
        held += view.data.nbytes + view.indices.nbytes
    more = MultiViewData([np.vstack([view, view]) for view in data.views])
    grown = memory_needed(more, settings, 3) - memory_needed(data, settings, 3)
    assert held <= grown <= 2 * held


def test_memory_of_traces_and_landmarks_is_counted():
    data, _ = made()
    wide = MultiViewData([sparse.csr_array((90, 50_000)), *data.views])
    linear, lifted = pool(3, 90)[0], pool(3, 90)[2]
    more = memory_needed(wide, [linear], 3) - memory_needed(data, [linear], 3)
    assert more > 8 * 50_000 * 3
    more = memory_needed(wide, [lifted], 3) - memory_needed(data, [lifted], 3)
    assert more > 8 * 50_000 * lifted.family.n_landmarks
    assert memory_needed(data, [linear], 3) < memory_needed(data, [linear, lifted], 3)


def thin_views(dtype=np.float64, missing=False):
    rng = np.random.default_rng(0)
    views = [sparse.random_array((200, d), density=0.1, rng=rng, format="csr") for d in (15, 20)]
    available = np.ones((200, 2), bool)
    if missing:
        available[::3, 0] = False
        available[1::3, 1] = False
    thin = MultiViewData([view.astype(dtype) for view in views], available=available)
    dense = MultiViewData([view.toarray().astype(dtype) for view in views], available=available)
    return thin, dense


class TestSparse:
    @pytest.mark.parametrize("missing", [False, True])
    @pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-12), (np.float32, 1e-5)])
    def test_gram_equal_to_that_of_dense_views(self, dtype, error, missing):
        thin, dense = thin_views(dtype, missing)
        scalings = with_unit_norms(thin, fit_scalings(thin, "none"), [4.0, 9.0])
        found = summarize_groups(thin, scalings, 30)
        expected = summarize_groups(dense, scalings, 30)
        assert len(found) == (3 if missing else 1)
        for a, b, group in zip(found, expected, thin.groups, strict=True):
            assert a.is_gram
            assert a.views == b.views == group.views
            np.testing.assert_allclose(a.matrix, b.matrix, atol=error)
            rows = [dense.views[p][group.rows] / (2.0, 3.0)[p] for p in group.views]
            side_by_side = np.hstack(rows).astype(np.float64)
            np.testing.assert_allclose(a.matrix, side_by_side.T @ side_by_side, atol=error)

    @pytest.mark.parametrize("scaling", ["zscore-unit", "unit-center", "zscore", "unit"])
    def test_scalings_that_do_more_than_divide_need_dense_rows(self, scaling):
        thin, dense = thin_views()
        scalings = fit_scalings(thin, scaling)
        assert not any(own.keeps_zeros for own in scalings)
        (block,) = thin.blocks()
        assert sparse_block(thin, scalings, block) is None
        (a,), (b,) = summarize_groups(thin, scalings), summarize_groups(dense, scalings)
        np.testing.assert_allclose(a.matrix, b.matrix, atol=1e-10)

    def test_one_dense_view_makes_the_rows_dense(self):
        thin, dense = thin_views()
        mixed = MultiViewData([thin.views[0], dense.views[1]])
        scalings = fit_scalings(mixed, "none")
        assert all(own.keeps_zeros for own in scalings)
        (block,) = mixed.blocks()
        assert sparse_block(mixed, scalings, block) is None
        assert sparse.issparse(sparse_block(thin, scalings, block))
        (a,), (b,) = summarize_groups(mixed, scalings), summarize_groups(dense, scalings)
        np.testing.assert_allclose(a.matrix, b.matrix, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("family", [Family("zscore-unit"), Family("unit-center", 20)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_embeddings_together_equal_to_one_by_one(family, missing, dtype, monkeypatch):
    data, _ = made(missing=missing)
    data = MultiViewData([view.astype(dtype) for view in data.views])
    form = CandidatePool(data, 3, 0).form(family)
    sizes = ((1, 1), (2, 2), (2, 1))
    embedders = [form.solve(Setting(family, *own, 0.1), 3)[0] for own in sizes]
    expected = [embedder(form.data) for embedder in embedders]
    # A few rows a block.
    monkeypatch.setattr("anchorview.views.container.LARGEST_BLOCK", 8 * form.data.shape[1] * 7)
    found = [np.full(S.shape, np.nan) for S in expected]

    def keep(rows, embeddings):
        for S, part in zip(found, embeddings, strict=True):
            assert part.dtype == dtype
            S[rows] = part

    for_embeddings(keep, embedders, form.data)
    for S, own in zip(found, expected, strict=True):
        np.testing.assert_allclose(S, own, atol=1e-10 if dtype == np.float64 else 1e-4)


class TestInParallel:
    @pytest.mark.parametrize("cores", [1, 2, 5])
    def test_order_is_kept(self, cores, monkeypatch):
        monkeypatch.setattr("anchorview._utils.threads.n_cores", lambda: cores)
        second_done = threading.Event()

        def work(item):
            # The first can end only after the second, if there are two at a time.
            if item == 0 and cores > 1:
                assert second_done.wait(10)
            if item == 1:
                second_done.set()
            return item**2

        items = list(range(7))
        assert list(parallel_map(work, items)) == [(i, i**2) for i in items]
        assert list(parallel_map(work, [])) == []

    def test_works_on_several_threads_at_once(self, monkeypatch):
        monkeypatch.setattr("anchorview._utils.threads.n_cores", lambda: 3)
        together = threading.Barrier(3, timeout=10)

        def work(_):
            together.wait()
            return threading.get_ident()

        threads = {thread for _, thread in parallel_map(work, range(3))}
        assert len(threads) == 3
        assert threading.get_ident() not in threads

    @pytest.mark.parametrize("cores", [1, 2])
    @pytest.mark.parametrize("error", [ValueError, MemoryError, KeyboardInterrupt])
    def test_errors_go_through(self, cores, error, monkeypatch):
        monkeypatch.setattr("anchorview._utils.threads.n_cores", lambda: cores)
        seen = []

        def work(item):
            if item == 3:
                raise error("third")
            return item

        with pytest.raises(error, match="third"):
            for item, _ in parallel_map(work, range(40)):
                seen.append(item)
        assert seen == [0, 1, 2]
        assert not [t for t in threading.enumerate() if t.name.startswith("anchorview")]
