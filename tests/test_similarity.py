"""Square views: kernels, distances and graphs as coordinates, and the samples that have them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_no_attributes_set_in_init

from anchorview import DALMC, AutoDALMC, MultiViewData, load_digits
from anchorview.metrics import clustering_accuracy
from anchorview.preprocessing import Similarity
from helpers.data import clustered_views
from helpers.model_files import round_trip

N = 240


@pytest.fixture(scope="module")
def views():
    return clustered_views(N, 4, separation=6.0)


def graph_of(X, n_neighbors=10):
    links = kneighbors_graph(X, n_neighbors)
    return sparse.csr_array(links.maximum(links.T))


def similarity(kind, X):
    if kind == "graph":
        return graph_of(X)
    return rbf_kernel(X, gamma=0.02) if kind == "kernel" else euclidean_distances(X)


KINDS = pytest.mark.parametrize("kind", ["kernel", "distance", "graph"])


@pytest.mark.parametrize("scaling", ["unit", "unit-center", "none"])
def test_labels_of_a_kernel_are_those_of_kernel_pca(scaling):
    X = StandardScaler().fit_transform(load_digits().views["zernike"][::2].astype(float))
    kernel = rbf_kernel(X, gamma=0.01)
    pca = KernelPCA(32, kernel="precomputed", eigen_solver="arpack", random_state=0)
    expected = DALMC(10, scaling=scaling, random_state=0).fit_predict(pca.fit_transform(kernel))
    step = Similarity("kernel", 32)
    labels = DALMC(10, scaling=scaling, preprocess=step, random_state=0).fit_predict(kernel)
    assert adjusted_rand_score(labels, expected) > 0.999
    np.testing.assert_allclose(
        euclidean_distances(step.fit(kernel[:90, :90]).transform(kernel[:90, :90])),
        euclidean_distances(pca.set_params(n_components=32).fit_transform(kernel[:90, :90])),
        atol=1e-6,
    )


@pytest.mark.parametrize("name", ["pixels", "zernike"])
def test_labels_of_distances_are_those_of_the_view(name):
    X = StandardScaler().fit_transform(load_digits().views[name][::2].astype(float))
    distances = euclidean_distances(X)
    expected = DALMC(10, random_state=0).fit_predict(X)
    model = DALMC(10, preprocess="distance", random_state=0).fit(distances)
    assert adjusted_rand_score(model.labels_, expected) > 0.999


@KINDS
def test_fitted_and_new_samples(kind, views, tmp_path):
    given, y = views
    rows, rest = np.arange(0, N, 2), np.arange(1, N, 2)
    given = {"plain": given["view_0"], "square": similarity(kind, given["view_1"])}
    whole = MultiViewData(given)
    model = DALMC(4, preprocess={"square": kind}, random_state=0).fit(given)
    np.testing.assert_array_equal(model.predict(given), model.labels_)
    assert clustering_accuracy(y, model.labels_) > 0.95
    # Rows and columns are those of the samples of the fit.
    part = clone(model).fit(whole[rows])
    np.testing.assert_array_equal(part.predict(whole[rows]), part.labels_)
    assert clustering_accuracy(y[rest], part.predict(whole[rest])) > 0.95
    square = given["square"][rows][:, rows]
    alone = clone(model).fit({"plain": given["plain"][rows], "square": square})
    np.testing.assert_array_equal(alone.labels_, part.labels_)
    for copy in (round_trip(part, tmp_path), pickle.loads(pickle.dumps(part))):
        np.testing.assert_array_equal(copy.predict(whole[rest]), part.predict(whole[rest]))
    auto = AutoDALMC(4, budget="fast", preprocess={"square": kind}, random_state=0).fit(whole[rows])
    np.testing.assert_array_equal(auto.predict(whole[rows]), auto.labels_)
    assert clustering_accuracy(y[rest], auto.predict(whole[rest])) > 0.9


@KINDS
def test_samples_are_found_by_their_ids_and_may_lack_the_view(kind, views):
    given, _ = views
    ids = [f"s{i}" for i in range(N)]
    square = similarity(kind, given["view_1"])
    square = square if isinstance(square, np.ndarray) else square.toarray()
    plain = pd.DataFrame(given["view_0"], ids)
    model = DALMC(4, preprocess={"square": kind}, random_state=0)
    order = np.random.default_rng(0).permutation(N)
    frame = pd.DataFrame(square, ids, ids).iloc[order[:200], order]
    labels = model.fit({"plain": plain, "square": frame}).labels_series
    available = np.column_stack([np.ones(N, bool), np.isin(np.arange(N), order[:200])])
    square = square.copy()
    square[~available[:, 1]] = square[:, ~available[:, 1]] = np.nan
    positional = MultiViewData({"plain": given["view_0"], "square": square}, available=available)
    assert adjusted_rand_score(labels[ids], clone(model).fit(positional).labels_) > 0.999


def test_parameters_are_searched_and_splits_know_their_columns(views):
    given, y = views
    data = MultiViewData({"plain": given["view_0"], "net": graph_of(given["view_1"])})
    search = GridSearchCV(
        DALMC(4, preprocess={"net": Similarity("graph")}, random_state=0),
        {"preprocess__net__n_components": [3, 8]},
        cv=3,
        error_score="raise",
    )
    assert search.fit(data, y).best_score_ > 0.8
    steps = search.best_estimator_.preprocessing_
    assert steps[1].projection_.shape[0] == N


def test_graphs_stay_sparse_and_are_large():
    n = 20_000
    y = np.arange(n) % 5
    rng = np.random.default_rng(0)
    partners = rng.integers(n // 5, size=(n, 6)) * 5 + y[:, None]
    links = sparse.csr_array(
        (np.ones(n * 6), (np.repeat(np.arange(n), 6), partners.ravel())), shape=(n, n)
    )
    step = Similarity("graph", 8)
    coordinates = step.fit_transform(links.maximum(links.T))
    assert coordinates.shape == (n, 8)
    assert clustering_accuracy(y, DALMC(5, random_state=0).fit_predict(coordinates)) > 0.95


def test_what_is_refused(views):
    given, _ = views
    X = given["view_0"]
    check_no_attributes_set_in_init("Similarity", Similarity())
    with pytest.raises(ValueError, match="240 rows and 12 columns, but must be square"):
        Similarity().fit(X)
    with pytest.raises(ValueError, match="has 12 columns, but must be square"):
        DALMC(4, preprocess="kernel").fit(X)
    links = kneighbors_graph(X, 5)
    with pytest.raises(ValueError, match="graph is not symmetric"):
        Similarity("graph").fit(links)
    with pytest.raises(ValueError, match="negative"):
        Similarity("distance").fit(-euclidean_distances(X))
    with pytest.raises(ValueError, match="does not tell samples apart"):
        Similarity("kernel").fit(np.ones((9, 9)))
    holed = euclidean_distances(X)
    holed[3, 4] = holed[4, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        DALMC(4, preprocess="distance").fit(holed)
