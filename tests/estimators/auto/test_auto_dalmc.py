"""AutoDALMC: what it promises of labels, confidence and tables, on data of every kind."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.linalg import LinAlgError
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from anchorview import AutoDALMC, MultiViewData, make_multiview
from anchorview._utils.progress import listen_to_progress
from anchorview.estimators.auto import candidates
from anchorview.estimators.auto.candidates import RUNS, CandidatePool, Family, Form, pool
from anchorview.metrics import clustering_accuracy


def made(n=150, k=3, widths=(12, 16), separation=8.0, seed=0, **options):
    return make_multiview(
        n, n_clusters=k, n_features=widths, separation=separation, random_state=seed, **options
    )


def fitted(views, n_clusters=3, max_candidates=4, **options):
    model = AutoDALMC(n_clusters, max_candidates=max_candidates, random_state=0, **options)
    return model.fit(views)


@pytest.fixture(scope="module")
def separated():
    """Views, classes and the model of all candidates."""
    views, y = made()
    return views, y, fitted(views, max_candidates=None)


@pytest.fixture(scope="module")
def overlapping():
    views, y = made(separation=2.0)
    return views, y, fitted(views, max_candidates=None)


@pytest.fixture(scope="module")
def digits_model(digits):
    return AutoDALMC(10, random_state=0).fit(digits[0])


def runs_and_weights(model, X):
    """Partitions by all runs, with the same share for each family and equal ones within."""
    partitions = model._partitions(X)
    families = [candidate.setting.family for candidate in model._candidates]
    weights = [1 / (len(set(families)) * families.count(own) * RUNS) for own in families]
    return [(run, weight) for runs, weight in zip(partitions, weights, strict=True) for run in runs]


def confidence_by_loops(model, X):
    confidence = np.zeros(len(model.labels_))
    for run, weight in runs_and_weights(model, X):
        for label in set(run):
            where = np.bincount(model.labels_[run == label]).argmax()
            confidence[(run == label) & (model.labels_ == where)] += weight
    return confidence


class TestResult:
    def test_separated_clusters_are_found(self, separated):
        _, y, model = separated
        assert clustering_accuracy(y, model.labels_) == 1
        assert model.labels_.shape == (150,)
        assert model.labels_.dtype == np.int32
        assert model.n_clusters_ == 3
        assert model.curve_ is None
        assert model.n_views_in_ == 2
        assert model.n_features_in_ == 28
        assert model.n_features_per_view_ == (12, 16)
        assert model.view_names_in_ == ("view_0", "view_1")

    @pytest.mark.parametrize("case", ["separated", "overlapping"])
    def test_confidence_equal_to_loops(self, case, request):
        views, _, model = request.getfixturevalue(case)
        assert model.confidence_.shape == (150,)
        assert (model.confidence_ >= 0).all()
        assert (model.confidence_ <= 1).all()
        np.testing.assert_allclose(
            model.confidence_, confidence_by_loops(model, views), rtol=0, atol=1e-12
        )
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
        again = fitted(together, max_candidates=None)
        assert again.confidence_[150:].mean() < again.confidence_[:150].mean() - 0.05

    @pytest.mark.parametrize("case", ["separated", "overlapping"])
    def test_agreement_equal_to_scikit_learn(self, case, request):
        views, _, model = request.getfixturevalue(case)
        partitions = model._partitions(views)
        assert partitions.shape == (12, RUNS, 150)
        assert model.agreement_.shape == (12, 12)
        np.testing.assert_allclose(model.agreement_, model.agreement_.T, rtol=0, atol=1e-15)
        # Not all pairs, as scikit-learn takes its time.
        for a, b in [(0, 1), (2, 9), (5, 11), (4, 4), (10, 10)]:
            pairs = product(enumerate(partitions[a]), enumerate(partitions[b]))
            found = [adjusted_rand_score(p, q) for (i, p), (j, q) in pairs if a != b or i != j]
            assert model.agreement_[a, b] == pytest.approx(np.mean(found), abs=1e-12)

    def test_candidates_table(self, overlapping):
        views, _, model = overlapping
        table = model.candidates_
        settings = ["scaling", "n_landmarks", "n_anchors", "n_components", "beta"]
        found = ["agreement", "agreement_with_result", "stability", "inertia", "n_iter", "seconds"]
        assert list(table) == [*settings, *found, "error"]
        expected = pd.DataFrame([setting.row(3) for setting in pool(3, 150)])
        pd.testing.assert_frame_equal(
            table[settings], expected.astype({"n_landmarks": "Int64"}), check_exact=True
        )
        assert (table["error"] == "").all()
        assert (table["seconds"] > 0).all()
        assert (table["inertia"] >= 0).all()
        assert table["n_iter"].between(1, candidates.MAX_ITER).all()
        np.testing.assert_array_equal(table["stability"], model.agreement_.diagonal())
        labels = model.candidate_labels(views)
        assert labels.shape == (12, 150)
        np.testing.assert_array_equal(labels, model._partitions(views)[:, 0])
        alike = [adjusted_rand_score(model.labels_, row) for row in labels]
        np.testing.assert_allclose(table["agreement_with_result"], alike, atol=1e-12)

    def test_scores_are_the_agreement_with_the_other_families(self, overlapping):
        views, _, model = overlapping
        partitions = model._partitions(views)
        families = [candidate.setting.family for candidate in model._candidates]
        others = {family: np.flatnonzero([f == family for f in families]) for family in families}
        for c in (0, 3):
            scores = []
            for run in partitions[c]:
                means = [
                    np.mean([adjusted_rand_score(run, q) for o in members for q in partitions[o]])
                    for family, members in others.items()
                    if family != families[c]
                ]
                scores.append(np.mean(means))
            assert model.candidates_["agreement"][c] == pytest.approx(max(scores), abs=1e-12)

    def test_best_candidate(self, overlapping):
        views, _, model = overlapping
        assert model.best_candidate_ == model.candidates_["agreement"].to_numpy().argmax()
        best = model.candidates_.iloc[model.best_candidate_]
        assert model.n_iter_ == best["n_iter"]
        assert model.objective_.shape == (model.n_iter_ + 1,)
        assert (np.diff(model.objective_) <= 1e-10 * np.abs(model.objective_[1:])).all()
        np.testing.assert_allclose(model.transform(views), model.embedding_, atol=1e-12)

    def test_consensus_is_better_than_the_candidates_are_on_average(self):
        gains = []
        for seed in range(4):
            views, y = made(300, 5, (20, 30), separation=2.5, seed=seed)
            model = fitted(views, 5, max_candidates=None)
            alone = [adjusted_rand_score(y, labels) for labels in model.candidate_labels(views)]
            gains.append(adjusted_rand_score(y, model.labels_) - np.mean(alone))
        assert np.mean(gains) > 0.01

    @pytest.mark.parametrize("case", ["separated", "overlapping"])
    def test_embedding_is_orthonormal(self, case, request):
        _, _, model = request.getfixturevalue(case)
        S = model.embedding_
        np.testing.assert_allclose(S.T @ S, np.eye(S.shape[1]), atol=1e-8)

    def test_views(self):
        views, _ = made(separation=6.0, n_noise_views=1)
        model = fitted(views)
        assert model.view_weights_.shape == model.view_agreement_.shape == (3,)
        assert model.view_weights_.sum() == pytest.approx(1)
        assert (model.view_weights_ > 0).all()
        assert (model.view_agreement_[:2] > 0.9).all()
        assert abs(model.view_agreement_[2]) < 0.1

    def test_view_weights_are_the_mean_over_families(self, overlapping):
        _, _, model = overlapping
        by_family = {}
        for candidate in model._candidates:
            by_family.setdefault(candidate.setting.family, []).append(candidate.view_weights)
        expected = np.mean([np.mean(own, axis=0) for own in by_family.values()], axis=0)
        np.testing.assert_allclose(model.view_weights_, expected)


class TestRepeats:
    @pytest.mark.parametrize("seed", [0, np.random.RandomState(0)], ids=["int", "RandomState"])
    def test_same_seed_same_result(self, overlapping, seed):
        views, _, model = overlapping
        again = AutoDALMC(3, random_state=seed).fit(views)
        for name in ("labels_", "confidence_", "embedding_", "agreement_", "view_weights_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        without_time = [frame.candidates_.drop(columns="seconds") for frame in (again, model)]
        pd.testing.assert_frame_equal(*without_time, check_exact=True)

    def test_no_seed(self, separated):
        views, y, _ = separated
        assert clustering_accuracy(y, AutoDALMC(3, max_candidates=2).fit(views).labels_) == 1

    @pytest.mark.parametrize("count", [1, 2, 3, 4, 50])
    def test_numbers_of_candidates(self, separated, count):
        views, y, whole = separated
        model = fitted(views, max_candidates=count)
        assert len(model.candidates_) == len(model.agreement_) == min(count, 12)
        settings = ["scaling", "n_landmarks", "n_anchors", "n_components", "beta"]
        pd.testing.assert_frame_equal(
            model.candidates_[settings], whole.candidates_[settings][:count]
        )
        assert clustering_accuracy(y, model.labels_) == 1
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        families = model.candidates_[["scaling", "n_landmarks"]].drop_duplicates()
        assert len(families) == min(count, 4)

    @pytest.mark.parametrize("missing", [0.0, 0.3])
    @pytest.mark.parametrize("separation", [8.0, 2.0, 1.0])
    @pytest.mark.parametrize("sampled", [False, True])
    def test_order_of_samples_does_not_matter(self, separation, missing, sampled, monkeypatch):
        if sampled:
            monkeypatch.setattr(candidates, "SAMPLE", 80)
            monkeypatch.setattr(candidates, "FEW", 60)
        views, _ = made(120, separation=separation, missing=missing)
        model = fitted(views, max_candidates=8)
        order = np.random.default_rng(0).permutation(120)
        moved = fitted({name: view[order] for name, view in views.items()}, max_candidates=8)
        assert adjusted_rand_score(moved.labels_, model.labels_[order]) == 1
        np.testing.assert_allclose(moved.view_weights_, model.view_weights_, rtol=1e-6)


class TestNewSamples:
    def test_training_samples_get_their_labels(self, overlapping):
        views, _, model = overlapping
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        np.testing.assert_array_equal(model.predict(list(views.values())), model.labels_)
        some = {name: view[[7, 3, 100]] for name, view in reversed(views.items())}
        np.testing.assert_array_equal(model.predict(some), model.labels_[[7, 3, 100]])
        assert model.predict(some).dtype == np.int32

    @pytest.mark.parametrize("missing", [0.0, 0.3])
    def test_of_the_same_kind(self, missing):
        views, y = made(300, 4, (12, 16, 10), separation=6.0, missing=missing)
        model = fitted({name: view[:200] for name, view in views.items()}, 4)
        new = {name: view[200:] for name, view in views.items()}
        labels, confidence = model.predict_with_confidence(new)
        assert clustering_accuracy(y[200:], labels) > 0.95
        assert confidence.mean() > 0.8
        assert model.transform(new).shape == (100, model.embedding_.shape[1])

    def test_that_lack_views(self, separated):
        views, y, model = separated
        for lacking in ({"view_0": views["view_0"]}, [None, views["view_1"]]):
            labels, confidence = model.predict_with_confidence(lacking)
            assert clustering_accuracy(y, labels) > 0.95
            # Clusters keep their numbers.
            assert np.mean(labels == model.labels_) > 0.95
            assert ((confidence >= 0) & (confidence <= 1)).all()
            assert model.candidate_labels(lacking).shape == (12, 150)
        mixed = {name: view.copy() for name, view in views.items()}
        mixed["view_0"][::2] = np.nan
        assert np.mean(model.predict(mixed) == model.labels_) > 0.95

    def test_transform(self, separated):
        views, _, model = separated
        embedding = clone(model).fit_transform(views)
        np.testing.assert_array_equal(embedding, model.embedding_)
        assert model.get_feature_names_out().tolist() == [
            f"autodalmc{i}" for i in range(embedding.shape[1])
        ]
        np.testing.assert_array_equal(clone(model).fit_predict(views), model.labels_)

    def test_that_do_not_fit(self, separated):
        views, _, model = separated
        with pytest.raises(ValueError, match="'other' is unknown: AutoDALMC was fitted on"):
            model.predict({**views, "other": views["view_0"]})
        with pytest.raises(ValueError, match="view 1 has 5 features, but AutoDALMC is expecting"):
            model.predict([views["view_0"], views["view_1"][:, :5]])
        for method in ("predict", "predict_with_confidence", "candidate_labels", "transform"):
            with pytest.raises(NotFittedError):
                getattr(AutoDALMC(3), method)(views)


class TestKindsOfData:
    def test_incomplete(self):
        views, y = made(missing=0.3)
        model = fitted(views, max_candidates=8)
        assert clustering_accuracy(y, model.labels_) > 0.95
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        np.testing.assert_allclose(
            model.confidence_, confidence_by_loops(model, views), rtol=0, atol=1e-12
        )
        assert (model.view_agreement_ > 0.8).all()

    def test_single_precision(self, separated):
        views, _, model = separated
        single = {name: view.astype(np.float32) for name, view in views.items()}
        found = fitted(single)
        assert found.embedding_.dtype == found.transform(single).dtype == np.float32
        assert adjusted_rand_score(found.labels_, model.labels_) == 1
        np.testing.assert_array_equal(found.predict(single), found.labels_)

    @pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
    def test_sparse_as_dense(self, kind):
        views, y = made()
        dense = {name: np.where(view > 1, view, 0) for name, view in views.items()}
        thin = {name: kind(view) for name, view in dense.items()}
        model, found = fitted(dense), fitted(thin)
        assert adjusted_rand_score(found.labels_, model.labels_) == 1
        np.testing.assert_allclose(found.view_weights_, model.view_weights_, rtol=1e-6)
        np.testing.assert_array_equal(found.predict(dense), found.labels_)
        assert clustering_accuracy(y, found.labels_) > 0.9

    def test_one_view(self, separated):
        views, y, _ = separated
        alone = fitted(views["view_1"])
        assert clustering_accuracy(y, alone.labels_) > 0.97
        np.testing.assert_array_equal(alone.view_weights_, [1])
        assert alone.view_agreement_ > 0.9
        in_a_list = fitted([views["view_1"]])
        np.testing.assert_array_equal(in_a_list.labels_, alone.labels_)

    def test_integers(self, separated):
        views, y, _ = separated
        pixels = [np.clip(10 * view + 128, 0, 255).astype(np.uint8) for view in views.values()]
        model = fitted(pixels)
        assert model.embedding_.dtype == np.float32
        assert clustering_accuracy(y, model.labels_) == 1
        large = fitted([np.round(1000 * view).astype(np.int64) for view in views.values()])
        assert large.embedding_.dtype == np.float64
        assert clustering_accuracy(y, large.labels_) == 1

    def test_more_features_than_samples(self):
        views, y = made(40, widths=(90, 120))
        model = fitted(views, max_candidates=None)
        assert clustering_accuracy(y, model.labels_) == 1
        np.testing.assert_array_equal(model.predict(views), model.labels_)

    def test_constant_columns(self, separated):
        views, y, _ = separated
        odd = {name: np.column_stack([view, np.full(150, 7.0)]) for name, view in views.items()}
        model = fitted(odd)
        assert clustering_accuracy(y, model.labels_) == 1
        with pytest.raises(ValueError, match=r"view 2 \('flat'\) is constant"):
            fitted({**views, "flat": np.ones((150, 2))})

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
    def test_order_of_discrete_and_single_precision_samples(self, dtype):
        rng = np.random.default_rng(0)
        kinds = rng.integers(4, size=300)
        views = [
            np.round(3 * rng.standard_normal((4, d))[kinds] + rng.standard_normal((300, d)))
            for d in (6, 8)
        ]
        data = MultiViewData([view.astype(dtype) for view in views])
        order = rng.permutation(300)
        labels, moved = (fitted(part, 4).labels_ for part in (data, data[order]))
        assert adjusted_rand_score(labels[order], moved) > 0.999

    def test_filters_of_warnings_stay_as_they_are(self, separated):
        before = list(warnings.filters)
        fitted(separated[0])
        assert warnings.filters == before

    def test_equal_samples_get_equal_labels(self):
        views, _ = made(40, separation=2.0)
        model = fitted({name: np.repeat(view, 3, axis=0) for name, view in views.items()})
        labels = model.labels_.reshape(40, 3)
        np.testing.assert_array_equal(labels, labels[:, :1].repeat(3, axis=1))
        confidence = model.confidence_.reshape(40, 3)
        np.testing.assert_array_equal(confidence, confidence[:, :1].repeat(3, axis=1))

    @pytest.mark.filterwarnings("ignore:.* clusters are empty", "ignore:.* could not be fitted")
    @pytest.mark.parametrize(("n", "k"), [(3, 2), (5, 4), (6, 4), (9, 8), (14, 12)])
    def test_hardly_more_samples_than_clusters(self, n, k):
        views, _ = made(n, 2, (5, 6))
        model = fitted(views, k, max_candidates=None)
        assert model.labels_.shape == (n,)
        assert set(model.labels_) <= set(range(k))
        assert len(set(model.labels_)) >= 2
        np.testing.assert_array_equal(model.predict(views), model.labels_)

    @pytest.mark.parametrize("seed", range(3))
    def test_fewer_different_samples_than_clusters(self, seed):
        rng = np.random.default_rng(seed)
        kinds = np.concatenate([np.arange(5), rng.integers(5, size=55)])
        views = [rng.standard_normal((5, d))[kinds] for d in (6, 8)]
        with pytest.warns(UserWarning, match="3 of 8 clusters are empty"):
            model = fitted(views, 8, max_candidates=None)
        assert adjusted_rand_score(kinds, model.labels_) == 1
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        np.testing.assert_allclose(
            model.confidence_, confidence_by_loops(model, views), rtol=0, atol=1e-12
        )

    @pytest.mark.parametrize("count", [2, 5, 20])
    def test_a_view_that_few_samples_have(self, separated, count):
        views, y, _ = separated
        rare = np.full((150, 6), np.nan)
        rare[:count] = np.random.default_rng(0).standard_normal((count, 6))
        model = fitted({**views, "rare": rare})
        assert clustering_accuracy(y, model.labels_) == 1
        assert (model.view_agreement_[:2] > 0.9).all()

    def test_frames_with_ids(self, separated):
        views, y, _ = separated
        ids = pd.Index([f"s{i:03}" for i in range(150)], name="sample")
        frames = {name: pd.DataFrame(view, index=ids) for name, view in views.items()}
        # In another order, and some samples are not in the second.
        frames["view_1"] = frames["view_1"].iloc[::-1].drop(["s004", "s140"])
        model = fitted(frames)
        assert sorted(model.labels_series.index) == list(ids)
        assert model.labels_series.name == "cluster"
        assert model.sample_ids_.equals(model.labels_series.index)
        assert clustering_accuracy(y, model.labels_series.loc[ids].to_numpy()) == 1
        np.testing.assert_array_equal(model.predict(frames), model.labels_)

    def test_container(self, separated):
        views, _, model = separated
        again = clone(model).fit(MultiViewData(views))
        np.testing.assert_array_equal(again.labels_, model.labels_)
        assert again.sample_ids_ is None
        assert again.labels_series.index.tolist() == list(range(150))

    def test_refits_forget(self, separated):
        views, _, _ = separated
        frame = pd.DataFrame(views["view_0"]).add_prefix("f")
        model = fitted(frame, range(2, 5), max_candidates=2)
        assert model.feature_names_in_.tolist() == list(frame)
        assert model.curve_ is not None
        model.set_params(n_clusters=2).fit(views)
        assert not hasattr(model, "feature_names_in_")
        assert model.curve_ is None
        assert model.n_clusters_ == 2


class TestManySamples:
    @pytest.fixture
    def few(self, monkeypatch):
        monkeypatch.setattr(candidates, "SAMPLE", 100)
        monkeypatch.setattr(candidates, "FEW", 60)

    @pytest.mark.parametrize("missing", [0.0, 0.2])
    def test_a_sample_decides_alike(self, few, missing):
        views, y = made(400, 4, missing=missing)
        model = fitted(views, 4, max_candidates=8)
        assert clustering_accuracy(y, model.labels_) > (0.99 if missing == 0 else 0.95)
        assert model.labels_.shape == model.confidence_.shape == (400,)
        assert model.embedding_.shape[0] == 400
        assert model.candidate_labels(views).shape == (8, 400)
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        assert model.view_agreement_.min() > 0.8

    def test_tables_are_of_the_sample(self, few):
        views, _ = made(400, 4, separation=2.0)
        model = fitted(views, 4)
        data = MultiViewData(views)
        sample = CandidatePool(data, 4, 0).sample
        assert len(sample) == 100
        partitions = model._partitions(data[sample])
        for a, b in ((0, 1), (3, 2)):
            found = [adjusted_rand_score(p, q) for p in partitions[a] for q in partitions[b]]
            assert model.agreement_[a, b] == pytest.approx(np.mean(found), abs=1e-12)
        alike = [adjusted_rand_score(model.labels_[sample], runs[0]) for runs in partitions]
        np.testing.assert_allclose(model.candidates_["agreement_with_result"], alike, atol=1e-12)


def failing(monkeypatch, method, fails, error):
    """Make a method of a class fail where its first argument says so."""
    home, name = method
    work = getattr(home, name)

    def maybe(self, first, *rest):
        if fails(first):
            raise error
        return work(self, first, *rest)

    monkeypatch.setattr(home, name, maybe)


def require_went_on(model, views, y, n_failed):
    """The others of all candidates make the result, and the table tells of the failed."""
    left = 12 - n_failed
    assert len(model.candidates_) == 12
    errors = model.candidates_["error"]
    assert (errors[:left] == "").all()
    assert (errors[left:] != "").all()
    assert model.candidates_["agreement"][left:].isna().all()
    assert model.candidates_["agreement"][:left].notna().all()
    assert model.candidates_["n_anchors"].notna().all()
    assert model.agreement_.shape == (left, left)
    assert model.candidate_labels(views).shape == (left, 150)
    assert model.best_candidate_ < left
    assert clustering_accuracy(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_allclose(
        model.confidence_, confidence_by_loops(model, views), rtol=0, atol=1e-12
    )


class TestFailures:
    @pytest.mark.parametrize(
        "error",
        [ValueError("bad luck"), MemoryError("bad luck"), LinAlgError("bad luck")],
        ids=repr,
    )
    @pytest.mark.parametrize(
        ("family", "n_failed"),
        [
            (Family("unit-center"), 4),
            (Family("zscore-unit", 75), 2),
            (Family("unit-center", 75), 2),
        ],
        ids=str,
    )
    def test_a_family_that_cannot_be_prepared(
        self, separated, monkeypatch, family, n_failed, error
    ):
        views, y, _ = separated
        failing(monkeypatch, (CandidatePool, "_formed"), family.__eq__, error)
        with pytest.warns(UserWarning, match=f"^{n_failed} of 12 candidates .*bad luck$"):
            model = fitted(views, max_candidates=None)
        require_went_on(model, views, y, n_failed)
        assert family not in {candidate.setting.family for candidate in model._candidates}
        assert set(model.candidates_["error"]) == {"", "bad luck"}

    @pytest.mark.parametrize("position", [0, 3, 11])
    def test_a_setting_that_cannot_be_fitted(self, separated, monkeypatch, position):
        views, y, _ = separated
        setting = pool(3, 150)[position]
        error = ValueError("bad luck")
        failing(monkeypatch, (CandidatePool, "_fit"), setting.__eq__, error)
        with pytest.warns(UserWarning, match=f"^1 of 12 candidates .*{setting}: bad luck$"):
            model = fitted(views, max_candidates=None)
        require_went_on(model, views, y, 1)
        row = model.candidates_.iloc[-1]
        assert row[["scaling", "beta"]].tolist() == [setting.family.scaling, setting.beta]

    def test_a_view_that_one_scaling_makes_vanish(self, separated):
        views, y, _ = separated
        # Rows of length 1 with one positive entry are all the same.
        positive = np.exp(np.random.default_rng(0).standard_normal((150, 1)))
        with pytest.warns(UserWarning, match="4 of 12 candidates .* is zero after scaling"):
            model = fitted({**views, "size": positive}, max_candidates=None)
        failed = model.candidates_[8:]
        assert set(failed["scaling"]) == {"unit-center"}
        assert failed["n_landmarks"].isna().all()
        assert failed["error"].str.contains(r"view 2 \('size'\)").all()
        assert clustering_accuracy(y, model.labels_) == 1
        assert model.view_agreement_[2] < 0.1

    def test_memory_that_one_family_lacks(self, separated, monkeypatch):
        views, y, _ = separated
        plan, calls = candidates.plan, []

        def second_fails(*args):
            calls.append(args)
            if len(calls) > 1:
                raise MemoryError("needs more than there is")
            return plan(*args)

        monkeypatch.setattr(candidates, "plan", second_fails)
        with pytest.warns(UserWarning, match="^4 of 12 candidates .*needs more than there is$"):
            model = fitted(views, max_candidates=None)
        require_went_on(model, views, y, 4)

    def test_memory_is_stated_before_it_runs_out(self, separated, monkeypatch):
        class Nothing:
            available = 1000

        monkeypatch.setattr("anchorview._utils.memory.psutil.virtual_memory", Nothing)
        monkeypatch.setattr("anchorview.estimators.auto.auto_dalmc.CandidatePool", None)
        with pytest.raises(MemoryError, match=r"by AutoDALMC needs .* but 1 kB are free"):
            fitted(separated[0])

    def test_all_fail(self, separated, monkeypatch):
        views, _, _ = separated
        errors = iter(f"reason {i}" for i in range(20))

        def fail(pool, setting, n_clusters):
            raise ValueError(next(errors))

        monkeypatch.setattr(CandidatePool, "_fit", fail)
        monkeypatch.setattr("anchorview._utils.threads.n_cores", lambda: 1)
        with pytest.raises(ValueError, match=r"None of the settings .* The first: reason 0$"):
            fitted(views)

    def test_numbers_of_clusters_go_on_as_well(self, separated, monkeypatch):
        views, _, _ = separated
        failing(monkeypatch, (CandidatePool, "_fit"), pool(3, 150)[0].__eq__, ValueError("bad"))
        with pytest.warns(UserWarning, match="1 of 4 candidates"):
            model = fitted(views, [2, 3, 4])
        assert model.n_clusters_ == 3
        assert model.curve_.notna().all()

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, AssertionError])
    @pytest.mark.parametrize("method", [(CandidatePool, "_fit"), (Form, "solve")], ids=str)
    def test_other_errors_go_through(self, separated, monkeypatch, error, method):
        views, _, _ = separated
        failing(monkeypatch, method, lambda setting: setting.components == 4, error)
        with pytest.raises(error):
            fitted(views, max_candidates=None)


class TestWords:
    def test_progress(self, overlapping):
        views, _, _ = overlapping
        seen = []
        with listen_to_progress(lambda *report: seen.append(report)):
            fitted(views, [2, 3], max_candidates=6)
        numbers = [report for report in seen if report[0] == "numbers of clusters"]
        assert [total for _, _, total in numbers] == [2] * len(numbers)
        found = [report for report in seen if report[0].startswith("candidates")]
        assert [(done, total) for _, done, total in found] == [(i, 6) for i in range(7)]
        assert found[0][0] == "candidates"
        settings = [str(setting) for setting in pool(3, 150)]
        for stage, done, _ in found[1:]:
            note = stage.removeprefix("candidates (agreement ").removesuffix(")")
            score, best = note.split(", best so far: ")
            assert -1 <= float(score) <= 1
            assert best in settings[:done]

    def test_the_last_note_is_the_result(self, overlapping):
        views, _, model = overlapping
        seen = []
        with listen_to_progress(lambda stage, *_: seen.append(stage)):
            clone(model).fit(views)
        last = [stage for stage in seen if stage.startswith("candidates")][-1]
        best = model.candidates_["agreement"].max()
        setting = model._candidates[model.best_candidate_].setting
        assert last == f"candidates (agreement {best:.2f}, best so far: {setting})"

    def test_verbose(self, separated, capsys, monkeypatch):
        views, _, _ = separated
        setting = pool(3, 150)[1]
        failing(monkeypatch, (CandidatePool, "_fit"), setting.__eq__, ValueError("bad luck"))
        with pytest.warns(UserWarning, match="1 of 3"):
            fitted(views, [2, 3], max_candidates=3, verbose=1)
        lines = capsys.readouterr().out.splitlines()
        assert all(line.startswith("[AutoDALMC] ") for line in lines)
        assert "chose 3 clusters (" in lines[0]
        assert "candidate 1/3: zscore-unit, 1k anchors, 1k components, beta 0.1 (agree" in lines[1]
        assert lines[2].endswith(f"left out {setting}: bad luck")
        assert "candidate 3/3: " in lines[3]
        assert "chose among 2 candidates (" in lines[4]
        assert len(lines) == 5

    def test_silent_by_default(self, separated, capsys):
        fitted(separated[0], max_candidates=1)
        assert capsys.readouterr() == ("", "")

    def test_parameters(self):
        model = AutoDALMC(range(2, 5), max_candidates=7, random_state=3, verbose=1)
        assert model.get_params() == {
            "n_clusters": range(2, 5),
            "max_candidates": 7,
            "random_state": 3,
            "verbose": 1,
        }
        assert clone(model).get_params() == model.get_params()
        assert model.set_params(n_clusters=4).n_clusters == 4
        with pytest.raises(ValueError, match="Invalid parameter 'beta'"):
            model.set_params(beta=0.1)

    def test_repr(self, separated):
        assert repr(AutoDALMC()) == "AutoDALMC()"
        assert repr(AutoDALMC(3)) == "AutoDALMC(n_clusters=3)"
        assert repr(separated[2]) == "AutoDALMC(n_clusters=3, random_state=0)"


class TestNumbersOfClusters:
    @pytest.mark.parametrize(
        ("given", "tried"),
        [
            (range(2, 6), [2, 3, 4, 5]),
            ([4, 3, 3], [3, 4]),
            (np.array([2, 3]), [2, 3]),
            (None, [2, 3, 4]),
        ],
        ids=["range", "list", "array", "None"],
    )
    def test_numbers_to_choose_from(self, given, tried):
        views, y = made(49)
        model = fitted(views, given)
        assert model.curve_.index.tolist() == tried
        assert model.n_clusters_ == 3
        assert type(model.n_clusters_) is int
        assert clustering_accuracy(y, model.labels_) == 1
        assert model.get_params()["n_clusters"] is given

    @pytest.mark.parametrize("given", [3, np.int32(3), [3], range(3, 4)], ids=repr)
    def test_one_number(self, given):
        views, y = made(40)
        model = fitted(views, given, max_candidates=2)
        assert model.n_clusters_ == 3
        assert model.curve_ is None
        assert clustering_accuracy(y, model.labels_) == 1

    @pytest.mark.parametrize(
        "given", [[], [1, 3], "x", 1, 0, -3, 2.5, range(2, 27), range(2, 2)], ids=repr
    )
    def test_bad_numbers_are_refused_before_work_starts(self, given, monkeypatch):
        monkeypatch.setattr("anchorview.estimators.auto.auto_dalmc.CandidatePool", None)
        views, _ = made(50)
        with pytest.raises(ValueError, match="n_clusters"):
            AutoDALMC(given).fit(views)

    @pytest.mark.parametrize("given", [51, [51]], ids=repr)
    def test_more_clusters_than_samples(self, given, monkeypatch):
        monkeypatch.setattr("anchorview.estimators.auto.auto_dalmc.CandidatePool", None)
        views, _ = made(50)
        with pytest.raises(ValueError, match="n_samples=50 should be >= n_clusters=51"):
            AutoDALMC(given).fit(views)

    def test_more_clusters_than_labels_can_tell(self, monkeypatch):
        monkeypatch.setattr("anchorview.estimators.auto.auto_dalmc.CandidatePool", None)
        with pytest.raises(ValueError, match="n_clusters=32768 should be <= 32767; use DALMC"):
            AutoDALMC(32768).fit(np.arange(40_000.0)[:, None])

    @pytest.mark.parametrize("given", [0, -1, 1.5, "all"], ids=repr)
    def test_bad_numbers_of_candidates(self, given, monkeypatch):
        monkeypatch.setattr("anchorview.estimators.auto.auto_dalmc.CandidatePool", None)
        with pytest.raises(ValueError, match="max_candidates"):
            AutoDALMC(3, max_candidates=given).fit(made(50)[0])


class TestDigits:
    def test_accuracy(self, digits, digits_model):
        assert clustering_accuracy(digits[1], digits_model.labels_) >= 0.965

    def test_the_surer_half_is_more_accurate(self, digits, digits_model):
        _, y = digits
        order = np.argsort(-digits_model.confidence_, kind="stable")
        # Clusters are named by all samples, so that halves cannot name them as they please.
        named = np.array([np.bincount(y[digits_model.labels_ == c]).argmax() for c in range(10)])
        right = named[digits_model.labels_] == y
        surer, rest = right[order[:1000]].mean(), right[order[1000:]].mean()
        assert surer > 0.98
        assert surer > rest + 0.02

    def test_better_than_a_view_alone(self, digits_model):
        assert digits_model.view_agreement_.max() < 0.9
        assert digits_model.confidence_.mean() > 0.7
