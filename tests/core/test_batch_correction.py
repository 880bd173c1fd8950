"""Corrected rows, from sums over parts, against regressions on all rows in memory."""

from functools import reduce
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import euclidean_distances

from anchorview import MultiViewData
from anchorview.core.batch_correction import fit_correction, stratum_moments
from anchorview.core.scale import ViewScaling, merged_by_key
from anchorview.core.scaled_view import SparseScaledView
from anchorview.estimators.batches import confounding_sentence, mixing
from helpers.batches import corrected, planted_batches

NO_ROWS = np.empty(0, int)


def fitted(data, *, scales=True):
    return fit_correction(data, data.design, scales=scales, sampled=NO_ROWS)


def small(seed, n_covariates, *, lacking=True, n=40):
    views, _, batch = planted_batches(n, k=2, n_batches=4, widths=(3, 2, 4), lacking=lacking)
    rng = np.random.default_rng(seed)
    # Each batch has several samples.
    batch = np.sort(batch) if seed % 2 else batch
    if lacking:
        views["view_1"][batch == 3] = np.nan
        has = ~np.isnan(views["view_1"]).all(axis=1)
        views["view_2"][(batch == 0) & has] = np.nan
        views = {
            name: np.where(np.isnan(v).all(axis=1)[:, None], np.nan, v) for name, v in views.items()
        }
    z = rng.normal(size=(n, n_covariates)) + batch[:, None]
    return views, batch, z if n_covariates else None


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 50), st.integers(0, 2), st.booleans(), st.booleans())
def test_corrected_rows_are_residuals_of_regressions(seed, n_covariates, scales, single):
    views, batch, z = small(seed, n_covariates)
    dtype, tolerance = (np.float32, 1e-3) if single else (np.float64, 1e-10)
    data = MultiViewData(
        {name: view.astype(dtype) for name, view in views.items()}, batch=batch, covariates=z
    )
    correct = fitted(data, scales=scales).correction
    expected = corrected(views, batch, z, scale=scales)
    for view, own in zip(correct(data).views, expected.values(), strict=True):
        assert view.dtype == dtype
        np.testing.assert_allclose(view[:], own, atol=tolerance)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 50), cuts=st.lists(st.integers(1, 39), max_size=3))
def test_moments_of_parts_merge_to_those_of_all_samples(seed, cuts):
    views, batch, z = small(seed, 2)
    data = MultiViewData(views, batch=batch, covariates=z)
    bounds = sorted({0, *cuts, len(batch)})
    parts = [
        stratum_moments(data[start:stop], data.design.codes[start:stop], z[start:stop])
        for start, stop in pairwise(bounds)
    ]
    merged, whole = reduce(merged_by_key, parts), stratum_moments(data, data.design.codes, z)
    assert merged.keys() == whole.keys()
    for cell, own in whole.items():
        for a, b in zip(chain(*merged[cell]), chain(*own), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9, rtol=1e-9)


def test_one_batch_and_a_feature_that_is_constant_in_a_batch():
    views, batch, _ = small(0, 0, lacking=False)
    data = MultiViewData(views, batch=np.zeros(len(batch)))
    for view, own in zip(fitted(data).correction(data).views, views.values(), strict=True):
        np.testing.assert_allclose(view[:], own, atol=1e-12)
    # It becomes the mean there.
    views["view_0"][batch == 1, 0] = 7.0
    data = MultiViewData(views, batch=batch)
    column = fitted(data).correction(data).views[0][:][:, 0]
    np.testing.assert_allclose(column[batch == 1], views["view_0"][:, 0].mean())


@pytest.fixture
def sparse_and_dense():
    """The same corrected rows as a sum of low rank, some of which lack the view, and dense."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.7, size=(60, 9)).astype(float)
    batch, z = np.arange(60) % 3, rng.normal(size=60)
    has = np.arange(60) % 7 != 0
    available = np.column_stack([has, np.ones(60, bool)])
    found = []
    for first in (sparse.csr_array(X), X):
        views = [first, rng.normal(size=(60, 2))]
        data = MultiViewData(views, available=available, batch=batch, covariates=z)
        found.append(fitted(data).correction(data))
    return found


SCALING = {
    "none": ViewScaling(norm=2.0),
    "unit": ViewScaling(unit_first=True),
    "zscore-unit": ViewScaling(
        center=np.linspace(-1, 1, 9), deviation=np.linspace(1, 2, 9), unit_last=True, norm=3.0
    ),
    "large shift": ViewScaling(center=np.linspace(-1, 1, 9) * 1e4, deviation=np.ones(9)),
}


@pytest.mark.parametrize("scaling", SCALING.values(), ids=SCALING)
def test_scaled_sums_of_low_rank_are_the_scaled_dense_rows(scaling, sparse_and_dense):
    data, dense = sparse_and_dense
    rows = dense.views[0][:]
    expected = scaling.apply(rows, np.empty(rows.shape))
    expected[~data.available[:, 0]] = 0
    scaled = SparseScaledView.of(data, 0, scaling)
    rng = np.random.default_rng(1)
    right, left = rng.normal(size=(9, 2)), rng.normal(size=(60, 2))
    size = np.abs(expected).max()
    np.testing.assert_allclose(scaled @ right, expected @ right, atol=1e-12 * size)
    np.testing.assert_allclose(scaled.T @ left, expected.T @ left, atol=1e-11 * size)
    np.testing.assert_allclose(scaled.gram(), expected.T @ expected, atol=1e-9 * size**2)
    np.testing.assert_allclose(scaled.squared_norm, (expected**2).sum(), rtol=1e-12)
    some = np.array([3, 50, 7])
    np.testing.assert_allclose(scaled[some].toarray(), expected[some], atol=1e-12 * size)


def test_mixing_of_batches_and_clusters_that_are_confounded():
    rng = np.random.default_rng(0)
    rows, codes = rng.normal(size=(600, 3)), rng.integers(3, size=600)
    assert mixing(euclidean_distances(rows), codes) == pytest.approx(1, abs=0.05)
    assert mixing(euclidean_distances(rows + 50 * codes[:, None]), codes) == 0
    batch = np.repeat([0, 1, 2], 60)
    assert "within one batch" in confounding_sentence(np.arange(180) // 30, batch)
    assert "within one cluster" in confounding_sentence(np.repeat([0, 0, 1], 60), batch)
    assert confounding_sentence(np.arange(180) % 4, batch) is None
    assert confounding_sentence(np.zeros(180, int), batch) is None
