"""Fits on products of wide views equal those on the data as they are."""

import dask.array as da
import numpy as np
import pytest

from anchorview import DALMC, make_multiview
from anchorview._utils import linalg
from anchorview.core import compress

K = 3


@pytest.fixture(scope="module")
def views():
    found, _ = make_multiview(
        260, n_clusters=K, n_features=(50, 40, 8), separation=2.0, random_state=0
    )
    return list(found.values())


@pytest.fixture(autouse=True)
def wide(set_constants):
    set_constants(compress, WIDE_GRAM=16)


def changed(views, kind):
    views = [view.copy() for view in views]
    if kind == "duplicate and constant columns":
        views[0][:, [4, 9]] = views[0][:, [30, 31]]
        views[1][:, 7] = 5
        views[1][:, 3] = views[1][:, 20] - views[1][:, 21]
    if kind == "single precision":
        views = [view.astype(np.float32) for view in views]
    if kind == "missing":
        views[0][:70] = np.nan
        views[1][60:130] = np.nan
    return views


def products_of(model):
    embedding = np.asarray(model.embedding_)
    return embedding @ embedding.T


@pytest.mark.parametrize(
    "kind", ["complete", "duplicate and constant columns", "single precision", "missing"]
)
def test_compressed_equals_direct(views, kind):
    X = changed(views, kind)
    exact, model = (
        DALMC(K, solver=solver, n_init=1, random_state=0).fit(X)
        for solver in ("direct", "compressed")
    )
    single = kind == "single precision"
    np.testing.assert_allclose(
        model.objective_[-1], exact.objective_[-1], rtol=1e-5 if single else 1e-10
    )
    error = 1e-3 if single else 1e-7
    np.testing.assert_allclose(products_of(model), products_of(exact), atol=error)


def test_files_and_dask_equal_memory(views, tmp_path):
    expected = DALMC(K, solver="compressed", n_init=1, random_state=0).fit(views)
    for p, view in enumerate(views):
        np.save(tmp_path / f"{p}.npy", view)
    mapped = [np.load(tmp_path / f"{p}.npy", mmap_mode="r") for p in range(len(views))]
    parted = [da.from_array(view, chunks=(90, view.shape[1])) for view in views]
    for X in (mapped, parted):
        model = DALMC(K, solver="compressed", n_init=1, random_state=0).fit(X)
        np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-10)
        np.testing.assert_allclose(products_of(model), products_of(expected), atol=1e-9)


def test_start_of_wide_views_from_products(set_constants):
    found, _ = make_multiview(
        600, n_clusters=K, n_features=(300, 240, 8), separation=2.0, random_state=0
    )
    views = list(found.values())
    expected = DALMC(K, solver="compressed", n_init=1, random_state=0).fit(views)
    set_constants(linalg, DENSE_SPECTRUM=20)
    model = DALMC(K, solver="compressed", n_init=1, random_state=0).fit(views)
    np.testing.assert_allclose(model.objective_[-1], expected.objective_[-1], rtol=1e-6)
