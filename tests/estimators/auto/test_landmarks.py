"""Lifted views against plain loops, and that curved clusters become separable."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, MultiViewData
from anchorview._utils.linalg import leading_directions
from anchorview.core.scale import ViewScaling, fit_scalings
from anchorview.core.scaled_view import scaled_views
from anchorview.estimators.auto import landmarks
from anchorview.estimators.auto.landmarks import (
    MAX_DIRECTIONS,
    N_NEIGHBORS,
    ViewLift,
    fit_lift,
)
from anchorview.views import low_rank_sum


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    return {"a": rng.standard_normal((200, 6)), "b": rng.random((200, 9))}


@pytest.fixture(scope="module")
def wide():
    """Views with as many features as directions, and with more, some of them of low rank."""
    rng = np.random.default_rng(0)
    flat = rng.standard_normal((300, 10)) @ rng.standard_normal((10, 150))
    return {
        "a": rng.standard_normal((300, MAX_DIRECTIONS)),
        "b": rng.standard_normal((300, MAX_DIRECTIONS + 1)),
        "flat": flat,
    }


def lifted(views, n_landmarks=30, scaling="zscore-unit", **options):
    data = MultiViewData(views, **options)
    scalings = fit_scalings(data, scaling)
    scaled, _ = scaled_views(data, scalings, unit_norm=False)
    directions = [leading_directions(X, min(X.shape[1], MAX_DIRECTIONS))[0] for X in scaled]
    rows = np.arange(len(data))
    lift, result = fit_lift(data, scalings, directions, n_landmarks, rows, seed=0)
    return lift, result, data


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("max_distances", [2**20, 50])
def test_weights_equal_loops(max_distances, projected, set_constants):
    set_constants(landmarks, MAX_DISTANCES=max_distances)
    rng = np.random.default_rng(1)
    points, block = rng.standard_normal((12, 4)), rng.standard_normal((20, 4))
    directions = None
    if projected:
        directions = np.linalg.qr(rng.standard_normal((7, 4)))[0]
        block = rng.standard_normal((20, 7))
    lift = ViewLift(directions, points, np.ones(12))
    near, weights = lift.nearest(block, slice(None), ViewScaling(), block.dtype)
    if projected:
        block = block @ directions
    for row, at, found in zip(block, near, weights, strict=True):
        distances = np.array([np.sum((row - point) ** 2) for point in points])
        nearest = np.argsort(distances)[:N_NEIGHBORS].tolist()
        assert list(at) == nearest
        expected = np.exp(-distances[nearest] / distances[nearest].mean())
        np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-9)


def test_rows_are_sparse_and_columns_are_normalized(views):
    lift, result, data = lifted(views)
    assert result.names == data.names
    assert result.n_features_per_view == (30, 30)
    for view, own in zip(result.views, lift.views, strict=True):
        assert sparse.issparse(view)
        assert view.nnz <= N_NEIGHBORS * 200
        whole = view.toarray() / np.where(own.column_factors, own.column_factors, 1)
        np.testing.assert_allclose(whole.sum(axis=1), 1)
        totals = whole.sum(axis=0)
        np.testing.assert_allclose(own.column_factors[totals > 0], totals[totals > 0] ** -0.5)


def test_new_samples_are_lifted_like_those_of_the_fit(views):
    lift, whole, data = lifted(views)
    some = lift(data[[5, 60, 7]])
    for part, view in zip(some.views, whole.views, strict=True):
        np.testing.assert_allclose(part.toarray(), view.toarray()[[5, 60, 7]], atol=1e-12)


def test_missing_views_stay_missing(views):
    available = np.ones((200, 2), bool)
    available[::4, 1] = False
    odd = dict(views, b=np.where(available[:, 1:], views["b"], 1e6))
    lift, result, _ = lifted(odd, available=available)
    np.testing.assert_array_equal(result.available, available)
    assert np.abs(lift.views[1].landmarks).max() < 10
    assert not result.views[1].toarray()[::4].any()


def test_single_precision_and_sparse_input(views, set_constants):
    set_constants(low_rank_sum, FEW_ENTRIES=1)
    double = lifted(views)[1]
    single = lifted({name: view.astype(np.float32) for name, view in views.items()})[1]
    assert single.views[0].dtype == single.dtype == np.float32
    thin = lifted({name: sparse.csr_array(view) for name, view in views.items()})[1]
    for a, b in zip(double.views, thin.views, strict=True):
        np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-9)


def test_landmarks_of_few_samples_are_the_samples(views):
    lift, result, _ = lifted(views, n_landmarks=500)
    assert result.n_features_per_view == (200, 200)
    for own, view in zip(lift.views, result.views, strict=True):
        # Each sample has its largest weight on itself.
        weights = view.toarray() / own.column_factors
        assert sorted(weights.argmax(axis=1)) == list(range(200))


def test_landmarks_of_a_few_distinct_rows_are_these_rows():
    rows = np.repeat(np.eye(3), 4, axis=0)
    lift, result, _ = lifted({"a": rows}, n_landmarks=50, scaling="none")
    assert {tuple(row) for row in lift.views[0].landmarks} == {tuple(row) for row in np.eye(3)}
    np.testing.assert_allclose(result.views[0].toarray()[0], result.views[0].toarray()[1])


def test_rings_become_separable():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    angle = rng.random(600) * 2 * np.pi
    ring = (1 + 2 * y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    views = {p: ring + 0.1 * rng.standard_normal((600, 2)) for p in ("a", "b")}
    _, result, data = lifted(views, n_landmarks=80, scaling="none")
    matrices, _ = scaled_views(data, fit_scalings(data, "none"), unit_norm=True)
    straight = DALMC(2, random_state=0).fit(dict(zip(data.names, matrices, strict=True)))
    curved = DALMC(2, n_components=2, scaling="none", random_state=0).fit(result)
    assert adjusted_rand_score(y, straight.labels_) < 0.1
    assert adjusted_rand_score(y, curved.labels_) > 0.9


class TestManyFeatures:
    """Distances to landmarks are measured in leading directions."""

    def test_only_views_with_more_features_are_projected(self, wide):
        lift, result, _ = lifted(wide)
        a, b, flat = lift.views
        assert a.directions is None
        for own, width in ((b, MAX_DIRECTIONS + 1), (flat, 150)):
            assert own.directions.shape == (width, MAX_DIRECTIONS)
            assert own.directions.dtype == np.float32
            np.testing.assert_allclose(
                own.directions.T @ own.directions, np.eye(MAX_DIRECTIONS), atol=1e-5
            )
        assert all(own.landmarks.shape == (30, MAX_DIRECTIONS) for own in lift.views)
        assert result.n_features_per_view == (30, 30, 30)

    def test_directions_keep_the_distances_of_views_of_low_rank(self, wide):
        lift, result, data = lifted(wide, scaling="zscore")
        own = lift.views[2]
        block = lift.scalings[2].apply(data.views[2], np.empty((300, 150)))
        in_features = ViewLift(None, own.landmarks @ own.directions.T, own.column_factors)
        near, weights = in_features.nearest_of_projected(block)
        found = result.views[2].toarray() / np.where(own.column_factors, own.column_factors, 1)
        np.testing.assert_allclose(np.take_along_axis(found, near, axis=1), weights, atol=1e-4)

    def test_directions_need_enough_samples(self, wide):
        lift, result, _ = lifted({name: view[:250] for name, view in wide.items()})
        assert all(own.directions is None for own in lift.views)
        assert lift.views[2].landmarks.shape == (30, 150)
        assert result.n_features_per_view == (30, 30, 30)

    def test_new_samples_are_lifted_like_those_of_the_fit(self, wide):
        lift, whole, data = lifted(wide)
        some = lift(data[[5, 60, 7]])
        for part, view in zip(some.views, whole.views, strict=True):
            np.testing.assert_allclose(part.toarray(), view.toarray()[[5, 60, 7]], atol=1e-9)

    def test_missing_views_stay_missing(self, wide):
        available = np.ones((300, 3), bool)
        available[::10, 2] = False
        odd = dict(wide, flat=np.where(available[:, 2:], wide["flat"], 1e6))
        lift, result, _ = lifted(odd, available=available)
        np.testing.assert_array_equal(result.available, available)
        assert not result.views[2].toarray()[::10].any()
        np.testing.assert_allclose(
            lift.views[2].directions.T @ lift.views[2].directions, np.eye(MAX_DIRECTIONS), atol=1e-5
        )

    @pytest.mark.parametrize("few_entries", [0, 1])
    def test_single_precision_and_sparse_input(self, wide, few_entries, set_constants):
        set_constants(low_rank_sum, FEW_ENTRIES=few_entries)
        double = lifted(wide)[1]
        lift, single, _ = lifted({name: view.astype(np.float32) for name, view in wide.items()})
        assert all(view.dtype == np.float32 for view in single.views)
        assert all(own.landmarks.dtype == np.float32 for own in lift.views)
        thin = lifted({name: sparse.csr_array(view) for name, view in wide.items()})[1]
        for a, b in zip(double.views, thin.views, strict=True):
            np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-9)
