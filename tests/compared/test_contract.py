"""What every baseline promises, whatever it does inside."""

import inspect

import numpy as np
import pytest
from scipy.stats import zscore
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score

from anchorview import MultiViewData, compared
from anchorview._utils import memory
from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import listen_to_progress
from helpers.data import clustered_views

QUICK = {name: {"n_init": 3} for name in ("AWMVC", "FPMVSCAG", "OPMC", "SMVSC")}
QUICK |= {"EOMSCCA": {"max_iter": 3}, "LMVSC": {"tol": 1e-3}, "SFMC": {"max_iter": 1}}
REFILLED = {"BMVC", "OMSC", "OPMC", "UOMVSC"}
"""Methods that fill empty clusters; the others leave them to K-means."""

pytestmark = pytest.mark.parametrize("name", compared.__all__)


def make(name, n_clusters=3, **settings):
    if name == "GraphLeiden":
        pytest.importorskip("leidenalg")
    settings = {"random_state": 0, **QUICK.get(name, {}), **settings}
    return getattr(compared, name)(n_clusters, **settings)


@pytest.fixture(scope="module")
def clusters():
    views, y = clustered_views()
    return list(views.values()), y


def check(model, n):
    assert model.labels_.shape == (n,)
    assert model.labels_.min() >= 0
    assert model.labels_.max() < getattr(model, "n_clusters_", model.n_clusters)
    assert (model.views_["weight"] >= 0).all()
    assert model.views_["weight"].sum() == pytest.approx(1)
    assert np.isfinite(model.objective_).all()
    if hasattr(model, "embedding_"):
        assert len(model.embedding_) == n
        assert np.isfinite(model.embedding_).all()


def test_known_clusters_are_found_and_all_attributes_documented(name, toy):
    views, y = toy
    model = make(name).fit(views)
    check(model, len(y))
    # Where clusters overlap, samples are noise to HDBSCAN.
    known = ~getattr(model, "noise_", np.zeros(len(y), dtype=bool))
    assert adjusted_rand_score(y[known], model.labels_[known]) > 0.8
    public = {attribute for attribute in vars(model) if not attribute.startswith("_")}
    documentation = inspect.getdoc(type(model))
    assert [each for each in public if f"\n{each} : " not in documentation] == []
    assert "%(" not in documentation


def test_numbers_of_clusters_that_the_data_decide(name, toy):
    if name not in ("ConcatHDBSCAN", "GraphLeiden"):
        pytest.skip("the number of clusters is given")
    views, _ = toy
    model = make(name, None).fit(views)
    assert model.n_clusters_ == len(np.unique(model.labels_))
    if name == "GraphLeiden":
        assert model.resolution_ == 1
        for n_clusters in (2, 7):
            assert make(name, n_clusters).fit(views).n_clusters_ == n_clusters
    else:
        labels = HDBSCAN(copy=True).fit(np.hstack([zscore(view) for view in views])).labels_
        np.testing.assert_array_equal(np.where(model.noise_, -1, model.labels_), labels)
        assert model.noise_.any()


def test_labels_are_kmeans_on_the_embedding(name):
    normalize = getattr(compared, name).normalize_embedding
    if normalize is None:
        pytest.skip("its labels are not K-means on the embedding")
    rng = np.random.default_rng(2)
    views = [rng.standard_normal((80, 5)), rng.standard_normal((80, 4))]
    model = make(name, 5, n_init=100).fit(views)
    points = unit_rows(model.embedding_) if normalize else model.embedding_
    expected = KMeans(5, n_init=100, random_state=0).fit(points).inertia_
    centers = np.array([points[model.labels_ == k].mean(axis=0) for k in range(5)])
    assert np.sum((points - centers[model.labels_]) ** 2) == pytest.approx(expected, rel=0.01)


def test_incomplete_samples_raise(name, clusters):
    views = [view.copy() for view in clusters[0]]
    views[1][7] = np.nan
    with pytest.raises(ValueError, match=r"every sample, but sample 7 lacks view 1.*Use DALMC"):
        make(name).fit(views)


def test_too_little_memory_raises_before_the_fit(name, clusters, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match=f"{name} on .* 1 kB"):
        make(name).fit(clusters[0])


def test_progress_is_reported(name, clusters):
    reports = []
    with listen_to_progress(lambda stage, done, total: reports.append((stage, done, total))):
        make(name).fit(clusters[0])
    assert any(total > 1 and 0 < done <= total for _, done, total in reports)


def make_hard_data():
    """Views on which the authors' programs divide by zero or fail, with a number of clusters."""
    rng = np.random.default_rng(0)
    views = list(clustered_views()[0].values())
    constant = np.repeat([[4.0, 4.0, 4.0, 0.0, 0.0]], 150, axis=0)
    zero_rows = [view.copy() for view in views]
    zero_rows[0][:40] = 0
    zero_rows[1][20:60] = 0
    rows = rng.integers(3, size=60)
    means = np.eye(3)[np.repeat([0, 1, 2], 40)]
    counts = rng.poisson(2 + 6 * means.repeat(4, axis=1)).astype(np.uint8)
    half = (means.repeat(3, axis=1) + 0.2 * rng.random((120, 9))).astype(np.float16)
    few = {f"{n} samples": (2, [rng.random((n, 4)), rng.random((n, 30))]) for n in (2, 3, 5, 8)}
    return few | {
        "constant features": (3, [np.hstack([view, constant]) for view in views]),
        "fewer features than clusters": (6, clustered_views(200, 6, (2, 1, 9))[0]),
        "duplicates": (3, [np.repeat(view, 3, axis=0) for view in views]),
        "few distinct samples": (5, [rng.standard_normal((3, d))[rows] for d in (5, 4)]),
        "as many clusters as samples": (6, [rng.random((6, 4)), rng.random((6, 3))]),
        "a binary feature": (3, [*views, (np.arange(150) % 2)[:, None]]),
        "rows of zeros": (3, zero_rows),
        "huge and tiny units": (3, [views[0] * 1e12, views[1] * 1e-9, views[2]]),
        "identical views": (3, [views[0], views[0]]),
        "a single view": (3, [views[0]]),
        "integers and half precision": (3, [counts, half]),
    }


HARD_DATA = make_hard_data()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", HARD_DATA)
def test_hard_data(name, kind, clusters):
    n_clusters, views = HARD_DATA[kind]
    model = make(name, n_clusters).fit(views)
    check(model, len(MultiViewData(views)))
    if name in REFILLED:
        assert np.bincount(model.labels_, minlength=n_clusters).min() > 0
    if kind == "constant features" and name != "ConcatHDBSCAN":
        assert adjusted_rand_score(clusters[1], model.labels_) > 0.5
