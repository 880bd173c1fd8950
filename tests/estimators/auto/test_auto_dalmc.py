"""AutoDALMC: labels, confidence and tables as documented, on data of every kind."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.linalg import LinAlgError
from sklearn.metrics import adjusted_rand_score

from anchorview import AutoDALMC, MultiViewData
from anchorview._utils import linalg, memory
from anchorview._utils.progress import listen_to_progress
from anchorview.estimators.auto import auto_dalmc, model_fit
from anchorview.estimators.partitions import candidates
from anchorview.estimators.partitions.candidates import (
    POOL,
    CandidateError,
    Directions,
    OfNeighbors,
)
from anchorview.metrics import clustering_accuracy
from helpers.auto_models import candidate_labels
from helpers.data import clustered_views

SETTINGS = ["kind", "scaling", "n_anchors", "n_components", "beta", "n_neighbors"]
FAST = POOL["fast"]


def two_views(n=150, k=3, widths=(12, 16), *, separation=8.0, **options):
    return clustered_views(n, k, widths, separation=separation, **options)


def fitted(views, n_clusters=3, budget="fast", **options):
    model = AutoDALMC(n_clusters, budget=budget, random_state=0, **options)
    return model.fit(views)


@pytest.fixture(scope="module")
def separated():
    """Views, classes and the model of all candidates."""
    views, y = two_views()
    return views, y, fitted(views)


@pytest.fixture(scope="module")
def overlapping():
    views, y = two_views(separation=2.0)
    return views, y, fitted(views)


@pytest.fixture(params=["separated", "overlapping"])
def either(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def no_work(monkeypatch):
    """Make a fit fail as soon as candidates are prepared."""
    monkeypatch.setattr(auto_dalmc, "fit_model", None)


def weight_of(family, families):
    """Weight of a family: that of its kind, shared by the families of the kind."""
    kinds = {other.kind: other.kind_weight for other in families}
    of_kind = {other for other in families if other.kind == family.kind}
    return family.kind_weight / len(of_kind) / sum(kinds.values())


def partitions_of(model, views):
    """Labels of samples in the partitions of each candidate."""
    labels = model._labeler.partitions(MultiViewData(views))
    ends = np.cumsum([candidate.n_partitions for candidate in model._clustering.candidates])[:-1]
    return np.split(labels, ends)


def require_confidence_of_loops(model, views):
    """Confidence is the share of the partitions, with their weights, that agree."""
    partitions = np.vstack(partitions_of(model, views))
    consensus = model._clustering.consensus
    assert consensus.weights.sum() == pytest.approx(1)
    confidence = np.zeros(len(model.labels_))
    for run, weight in zip(partitions, consensus.weights, strict=True):
        for label in np.unique(run):
            cluster = np.bincount(model.labels_[run == label]).argmax()
            confidence[(run == label) & (model.labels_ == cluster)] += weight
    expected = consensus.certainty * confidence
    np.testing.assert_allclose(model.confidence_, expected, rtol=0, atol=1e-12)


def require_same_clusters(model, other):
    assert adjusted_rand_score(model.labels_, other.labels_) == 1


class TestResult:
    def test_separated_clusters_are_found(self, separated):
        _, y, model = separated
        assert clustering_accuracy(y, model.labels_) == 1
        assert model.n_clusters_ == 3
        assert model.curve_ is None

    def test_confidence(self, either):
        views, _, model = either
        assert model.confidence_.shape == (150,)
        assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()
        require_confidence_of_loops(model, views)
        labels, confidence = model.predict_with_confidence(views)
        np.testing.assert_array_equal(labels, model.labels_)
        np.testing.assert_array_equal(confidence, model.confidence_)

    def test_samples_between_clusters_have_less_confidence(self, separated):
        views, y, model = separated
        first, second = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
        between = {name: (view[first] + view[second]) / 2 for name, view in views.items()}
        _, confidence = model.predict_with_confidence(between)
        assert confidence.mean() < model.confidence_.mean() - 0.05
        together = {name: np.vstack([view, between[name]]) for name, view in views.items()}
        again = fitted(together, budget="fast")
        assert again.confidence_[150:].mean() < again.confidence_[:150].mean() - 0.05

    def test_table_of_candidates_with_the_agreement_with_other_families(self, overlapping):
        views, _, model = overlapping
        table = model.candidates_
        results = ["agreement", "agreement_with_result", "stability", "inertia", "n_iter"]
        assert list(table) == [*SETTINGS, *results, "seconds", "error"]
        expected = model_fit.setting_table(FAST, 3)
        pd.testing.assert_frame_equal(table[SETTINGS], expected, check_dtype=False)
        assert (table["error"] == "").all()
        assert (table["seconds"] > 0).all()
        solved = table["n_anchors"].notna()
        assert (table["inertia"][solved] >= 0).all()
        assert table["n_iter"][solved].between(1, candidates.MAX_ITER).all()
        np.testing.assert_array_equal(table["stability"], model.agreement_.diagonal())
        labels = candidate_labels(model, views)
        assert labels.shape == (len(FAST), 150)
        alike = [adjusted_rand_score(model.labels_, row) for row in labels]
        np.testing.assert_allclose(table["agreement_with_result"], alike, atol=1e-12)
        partitions = partitions_of(model, views)
        families = [candidate.setting.family for candidate in model._clustering.candidates]

        def score(run, own):
            by_family = {family: [] for family in families if family != own}
            for runs, family in zip(partitions, families, strict=True):
                if family != own:
                    by_family[family] += [adjusted_rand_score(run, other) for other in runs]
            weights = [weight_of(family, families) for family in by_family]
            return np.average([np.mean(found) for found in by_family.values()], weights=weights)

        for c in (0, 2):
            expected = max(score(run, families[c]) for run in partitions[c])
            assert model.candidates_["agreement"][c] == pytest.approx(expected, abs=1e-12)

    def test_best_candidate(self, either):
        views, _, model = either
        linear = model.candidates_["agreement"].where(model.candidates_["kind"] == "directions")
        assert model.best_candidate_ == linear.argmax()
        assert model.n_iter_ == model.candidates_["n_iter"][model.best_candidate_]
        assert (np.diff(model.objective_) <= 1e-10 * np.abs(model.objective_[1:])).all()
        S = model.embedding_
        np.testing.assert_allclose(S.T @ S, np.eye(S.shape[1]), atol=1e-8)
        np.testing.assert_allclose(model.transform(views, scale=False), S, atol=1e-12)

    def test_noise_view_does_not_agree(self):
        views, _ = two_views(separation=6.0, n_noise_views=1)
        model = fitted(views)
        assert model.views_["weight"].shape == model.views_["agreement_with_result"].shape == (3,)
        assert model.views_["weight"].sum() == pytest.approx(1)
        assert (model.views_["weight"] > 0).tolist() == [True, True, False]
        assert (model.views_["agreement_with_result"].iloc[:2] > 0.9).all()
        assert abs(model.views_["agreement_with_result"].iloc[2]) < 0.1


class TestRepeats:
    @pytest.mark.parametrize("seed", [0, np.random.RandomState(0)], ids=["int", "RandomState"])
    def test_same_seed_same_result(self, overlapping, seed):
        views, _, model = overlapping
        again = AutoDALMC(3, budget="fast", random_state=seed).fit(views)
        for name in ("labels_", "confidence_", "embedding_", "agreement_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        without_time = [own.candidates_.drop(columns="seconds") for own in (again, model)]
        pd.testing.assert_frame_equal(*without_time, check_exact=True)

    @pytest.mark.parametrize("budget", ["fast", "thorough"])
    def test_budgets(self, separated, budget):
        views, y, _ = separated
        model = fitted(views, budget=budget)
        settings = POOL[budget]
        assert len(model.candidates_) == len(model.agreement_) == len(settings)
        expected = model_fit.setting_table(settings, 3)
        pd.testing.assert_frame_equal(
            model.candidates_[SETTINGS], expected[SETTINGS], check_dtype=False
        )
        assert clustering_accuracy(y, model.labels_) == 1
        np.testing.assert_array_equal(model.predict(views), model.labels_)

    @pytest.mark.parametrize(("separation", "missing"), [(8.0, 0.3), (2.0, 0.3), (1.0, 0.0)])
    @pytest.mark.parametrize("sampled", [False, True])
    def test_order_of_samples_does_not_matter(self, separation, missing, sampled, set_constants):
        if sampled:
            # Half of it with the fast budget.
            set_constants(model_fit, SAMPLE_SIZE=160)
            set_constants(candidates, LANDMARK_ROWS=60)
        views, _ = two_views(120, separation=separation, missing=missing)
        model = fitted(views, budget="fast")
        order = np.random.default_rng(0).permutation(120)
        moved = fitted({name: view[order] for name, view in views.items()}, budget="fast")
        assert adjusted_rand_score(moved.labels_, model.labels_[order]) == 1
        np.testing.assert_allclose(moved.views_["weight"], model.views_["weight"], rtol=1e-6)
        assert moved.structure_ == pytest.approx(model.structure_, abs=0.02)

    def test_refit_discards_the_previous_result(self, separated):
        views, _, _ = separated
        frame = pd.DataFrame(views["view_0"]).add_prefix("f")
        model = fitted(frame, range(2, 5), budget="fast")
        assert model.feature_names_in_.tolist() == list(frame)
        assert model.curve_ is not None
        model.set_params(n_clusters=2).fit(views)
        assert not hasattr(model, "feature_names_in_")
        assert model.curve_ is None
        assert model.n_clusters_ == 2


class TestNewSamples:
    @pytest.mark.parametrize("missing", [0.0, 0.3])
    def test_samples_of_the_same_clusters(self, missing):
        views, y = two_views(300, 4, (12, 16, 10), separation=6.0, missing=missing)
        model = fitted({name: view[:200] for name, view in views.items()}, 4)
        new = {name: view[200:] for name, view in views.items()}
        labels, confidence = model.predict_with_confidence(new)
        assert clustering_accuracy(y[200:], labels) > 0.95
        assert confidence.mean() > 0.8
        assert model.transform(new).shape == (100, model.embedding_.shape[1])

    def test_samples_that_lack_views(self, separated):
        views, _, model = separated
        some_rows = {name: view.copy() for name, view in views.items()}
        some_rows["view_0"][::2] = np.nan
        for lacking in ({"view_0": views["view_0"]}, [None, views["view_1"]], some_rows):
            labels, confidence = model.predict_with_confidence(lacking)
            assert np.mean(labels == model.labels_) > 0.95
            assert ((confidence >= 0) & (confidence <= 1)).all()
            assert candidate_labels(model, lacking).shape == (len(FAST), 150)


class TestKindsOfData:
    def test_missing_views(self):
        views, y = two_views(missing=0.3)
        model = fitted(views, budget="fast")
        assert clustering_accuracy(y, model.labels_) > 0.95
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        require_confidence_of_loops(model, views)
        assert (model.views_["agreement_with_result"] > 0.8).all()

    @pytest.mark.parametrize(
        ("convert", "dtype"),
        [
            (lambda view: view.astype(np.float32), np.float32),
            (lambda view: np.clip(10 * view + 128, 0, 255).astype(np.uint8), np.float32),
            (lambda view: np.round(1000 * view).astype(np.int64), np.float64),
            (lambda view: np.column_stack([view, np.full(150, 7.0)]), np.float64),
        ],
        ids=["single precision", "uint8", "int64", "constant column"],
    )
    def test_types_of_values(self, separated, convert, dtype):
        views, _, model = separated
        converted = {name: convert(view) for name, view in views.items()}
        found = fitted(converted)
        assert found.embedding_.dtype == found.transform(converted).dtype == dtype
        require_same_clusters(found, model)
        np.testing.assert_array_equal(found.predict(converted), found.labels_)

    @pytest.mark.parametrize("few_entries", [0, 1])
    @pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
    def test_sparse_equals_dense(self, kind, few_entries, set_constants):
        set_constants(linalg, FEW_ENTRIES=few_entries)
        views, y = two_views()
        dense = {name: np.where(view > 1, view, 0) for name, view in views.items()}
        model, found = fitted(dense), fitted({name: kind(view) for name, view in dense.items()})
        require_same_clusters(found, model)
        np.testing.assert_allclose(found.views_["weight"], model.views_["weight"], rtol=1e-4)
        np.testing.assert_array_equal(found.predict(dense), found.labels_)
        assert clustering_accuracy(y, found.labels_) > 0.9

    def test_equal_samples_get_equal_labels(self):
        views, _ = two_views(40, separation=2.0)
        model = fitted({name: np.repeat(view, 3, axis=0) for name, view in views.items()})
        for found in (model.labels_.reshape(40, 3), model.confidence_.reshape(40, 3)):
            np.testing.assert_array_equal(found, found[:, :1].repeat(3, axis=1))

    @pytest.mark.filterwarnings("ignore:.* clusters are empty", "ignore:.* could not be fitted")
    @pytest.mark.parametrize(("n", "k"), [(3, 2), (5, 4), (6, 4), (9, 8), (14, 12)])
    def test_hardly_more_samples_than_clusters(self, n, k):
        views, _ = two_views(n, 2, (5, 6))
        model = fitted(views, k, budget="fast")
        assert model.labels_.shape == (n,)
        assert set(model.labels_) <= set(range(k))
        assert len(set(model.labels_)) >= 2
        np.testing.assert_array_equal(model.predict(views), model.labels_)

    @pytest.mark.parametrize("seed", range(3))
    def test_fewer_distinct_samples_than_clusters(self, seed):
        rng = np.random.default_rng(seed)
        kinds = np.concatenate([np.arange(5), rng.integers(5, size=55)])
        views = [rng.standard_normal((5, d))[kinds] for d in (6, 8)]
        with pytest.warns(UserWarning, match="3 of 8 clusters are empty"):
            model = fitted(views, 8, budget="fast")
        assert adjusted_rand_score(kinds, model.labels_) == 1
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        require_confidence_of_loops(model, views)

    def test_mostly_equal_rows_raise_no_warnings(self):
        """Fault K5: NumPy warned 40 times."""
        views, _ = two_views()
        for view in views.values():
            view[:135] = view[0]
        assert len(fitted(views).labels_) == 150

    @pytest.mark.parametrize("count", [2, 5, 20])
    def test_view_of_few_samples(self, separated, count):
        views, y, _ = separated
        rare = np.full((150, 6), np.nan)
        rare[:count] = np.random.default_rng(0).standard_normal((count, 6))
        model = fitted({**views, "rare": rare})
        assert clustering_accuracy(y, model.labels_) == 1
        assert (model.views_["agreement_with_result"].iloc[:2] > 0.9).all()


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_sample_of_many_samples_decides_for_all(missing, set_constants):
    # Half of it with the fast budget.
    set_constants(model_fit, SAMPLE_SIZE=200)
    set_constants(candidates, LANDMARK_ROWS=60)
    views, y = two_views(400, 4, missing=missing)
    model = fitted(views, 4, budget="fast")
    assert clustering_accuracy(y, model.labels_) > (0.99 if missing == 0 else 0.95)
    assert len(model.labels_) == len(model.confidence_) == len(model.embedding_) == 400
    assert candidate_labels(model, views).shape == (len(FAST), 400)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    assert model.views_["agreement_with_result"].min() > 0.8


def make_fail(monkeypatch, cls, name, condition, error):
    """Let a method raise an error if its object and first argument meet a condition."""
    method = getattr(cls, name)

    def may_fail(self, first, *rest):
        if condition(self, first):
            raise error
        return method(self, first, *rest)

    monkeypatch.setattr(cls, name, may_fail)


def make_settings_fail(monkeypatch, settings, error):
    """Let the fits of candidates raise an error."""
    for kind in (Directions, OfNeighbors):
        make_fail(monkeypatch, kind, "fit", lambda setting, _: setting in settings, error)


def require_result_of_the_others(model, views, y, n_failed):
    """The candidates that could be fitted give the result; the table has the others, too."""
    left = len(FAST) - n_failed
    assert len(model.candidates_) == len(FAST)
    for column in ("agreement", "seconds"):
        assert model.candidates_[column].notna().tolist() == [True] * left + [False] * n_failed
    assert (model.candidates_["error"] == "").tolist() == [True] * left + [False] * n_failed
    assert model.agreement_.shape == (left, left)
    assert candidate_labels(model, views).shape == (left, 150)
    assert model.best_candidate_ < left
    assert clustering_accuracy(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    require_confidence_of_loops(model, views)


class TestFailures:
    @pytest.mark.parametrize("error", [CandidateError, MemoryError, LinAlgError])
    @pytest.mark.parametrize("name", ["linear_problem", "graph"])
    def test_family_that_cannot_be_prepared(self, separated, monkeypatch, name, error):
        views, y, _ = separated

        def of_one(_, scaling):
            return scaling == "unit-center"

        make_fail(monkeypatch, candidates.CandidatePool, name, of_one, error("bad luck"))
        n_failed = 1 if name == "linear_problem" else 2
        with pytest.warns(UserWarning, match=rf"^{n_failed} of 10 candidates .*bad luck$"):
            model = fitted(views)
        require_result_of_the_others(model, views, y, n_failed)
        assert set(model.candidates_["error"]) == {"", "bad luck"}

    @pytest.mark.parametrize("position", [0, 1, 3, 6])
    def test_setting_that_cannot_be_fitted(self, separated, monkeypatch, position):
        views, y, _ = separated
        setting = FAST[position]
        make_settings_fail(monkeypatch, [setting], CandidateError("bad luck"))
        with pytest.warns(UserWarning, match=f"^1 of 10 candidates .*{setting}: bad luck$"):
            model = fitted(views)
        require_result_of_the_others(model, views, y, 1)
        row = model.candidates_.iloc[-1]
        assert row[["kind", "scaling"]].tolist() == [setting.kind, setting.scaling]

    def test_too_little_memory_is_noticed_first(self, separated, monkeypatch, no_work):
        monkeypatch.setattr(memory, "free_memory", lambda: 1000)
        with pytest.raises(MemoryError, match=r"by AutoDALMC needs .* but 1 kB"):
            fitted(separated[0])

    def test_all_fail(self, separated, monkeypatch):
        first, *others = FAST
        make_settings_fail(monkeypatch, [first], CandidateError("reason 0"))
        make_settings_fail(monkeypatch, others, CandidateError("reason 1"))
        with pytest.raises(ValueError, match=r"No candidate .* The first fails: reason 0$"):
            fitted(separated[0])

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, AssertionError])
    def test_other_errors_are_raised(self, separated, monkeypatch, error):
        make_settings_fail(monkeypatch, [FAST[1]], error)
        with pytest.raises(error):
            fitted(separated[0])


def test_progress(overlapping):
    views, _, _ = overlapping
    seen = []
    with listen_to_progress(lambda *report: seen.append(report)):
        fitted(views, [2, 3], budget="fast")
    reports = [(done, total) for stage, done, total in seen if stage == "candidates"]
    assert reports == [(i, len(FAST)) for i in range(1, len(FAST) + 1)]
    assert {"levels", "agreement by chance", "structure"} & {stage for stage, _, _ in seen}


class TestNumberOfClusters:
    @pytest.mark.parametrize(
        ("given", "tried"),
        [
            (range(2, 6), [2, 3, 4, 5]),
            (np.array([4, 3, 3]), [3, 4]),
            (np.int32(3), None),
            ([3], None),
        ],
        ids=repr,
    )
    def test_given_numbers(self, given, tried):
        views, y = two_views(49)
        model = fitted(views, given)
        assert (None if model.curve_ is None else model.curve_.index.tolist()) == tried
        assert model.n_clusters_ == 3
        assert type(model.n_clusters_) is int
        assert clustering_accuracy(y, model.labels_) == 1
        assert model.get_params()["n_clusters"] is given

    @pytest.mark.parametrize(
        ("name", "values", "message"),
        [
            ("n_clusters", ([], [1, 3], "x", 1, 0, -3, 2.5, range(2, 27)), "n_clusters"),
            ("n_clusters", (51, [51]), "n_samples=50 should be >= n_clusters=51"),
            ("budget", (0, None, "all"), "budget"),
        ],
    )
    def test_invalid_parameters_are_refused_before_any_work(self, name, values, message, no_work):
        views, _ = two_views(50)
        for value in values:
            with pytest.raises(ValueError, match=message):
                AutoDALMC(3).set_params(**{name: value}).fit(views)

    def test_more_clusters_than_the_type_of_labels_allows(self, no_work):
        with pytest.raises(ValueError, match="n_clusters=32768 should be <= 32767; use DALMC"):
            AutoDALMC(32768).fit(np.arange(40_000.0)[:, None])


@pytest.mark.xdist_group("digits")
def test_accuracy_on_the_digits(digits, digits_model):
    assert clustering_accuracy(digits[1], digits_model.labels_) >= 0.965
    assert digits_model.views_["agreement_with_result"].max() < 0.9
    assert digits_model.confidence_.mean() > 0.7
