"""Bases: coordinates keep the distances of scaled views, for all scalings and any samples."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from anchorview import MultiViewData
from anchorview.core.scale import fit_scalings
from anchorview.core.scaled_view import scaled_views
from anchorview.estimators.partitions import coordinates
from anchorview.estimators.partitions.coordinates import (
    MAX_DIRECTIONS,
    SCALINGS,
    SHARING_A_BASIS,
    fit_bases,
    fit_basis,
)


def low_rank(n=320, width=200, rank=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, width)) + 0.5


@pytest.fixture
def data():
    """A view with few features, and one with more features than directions and a low rank."""
    rng = np.random.default_rng(0)
    return MultiViewData({"few": rng.standard_normal((320, 7)) + 3, "many": low_rank()})


def scaled(data, scaling):
    return scaled_views(data, fit_scalings(data, scaling), unit_norm=True)[0]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_coordinates_keep_distances_and_norms(data, scaling, exact, set_constants):
    set_constants(coordinates, EXACT_SPECTRUM=1_000 if exact else 0)
    scaled_rows = fit_bases(data)[1][scaling]
    for view in scaled_rows.views:
        assert view.shape[1] <= MAX_DIRECTIONS + 1
        assert np.square(view).sum() == pytest.approx(1, abs=1e-2)
    few = scaled_rows.views[0]
    np.testing.assert_allclose(few, scaled(data, scaling)[0], atol=1e-12)
    # Normalizing standardized rows raises the rank beyond that of the view.
    if scaling != "unit-center":
        np.testing.assert_allclose(
            pdist(scaled_rows.views[1]), pdist(scaled(data, scaling)[1]), rtol=0.02
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scaling", SHARING_A_BASIS)
def test_new_samples_sparse_samples_and_missing_views(data, scaling, dtype):
    basis = fit_basis(data, scaling)
    whole = basis(data)
    rows = [5, 60, 7]
    available = np.array([[True, True], [True, False], [False, True]])
    some = {
        name: sparse.csr_array(view[rows].astype(dtype)) if name == "many" else view[rows]
        for name, view in zip(data.names, data.views, strict=True)
    }
    for key, part in basis(MultiViewData(some, available=available)).items():
        np.testing.assert_array_equal(part.available, available)
        for p, view in enumerate(part.views):
            expected = whole[key].views[p][rows] * available[:, p : p + 1]
            np.testing.assert_allclose(view, expected, atol=1e-6)


def test_few_samples_keep_all_directions():
    data = MultiViewData([np.random.default_rng(0).standard_normal((150, 400))])
    coordinates = fit_bases(data)[1]["zscore"]
    np.testing.assert_allclose(
        pdist(coordinates.views[0]), pdist(scaled(data, "zscore")[0]), rtol=1e-5
    )
