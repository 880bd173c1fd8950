"""Generated data: shapes, difficulty, missing views, arguments."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from anchorview.datasets import make_multiview


def missing_rows(views):
    """Which rows of which views are NaN; no row may be NaN in part."""
    absent = np.column_stack([np.isnan(view).all(axis=1) for view in views.values()])
    some = np.column_stack([np.isnan(view).any(axis=1) for view in views.values()])
    np.testing.assert_array_equal(absent, some)
    return absent


def kmeans_score(view, y):
    clusters = KMeans(y.max() + 1, n_init=5, random_state=0).fit_predict(view)
    return adjusted_rand_score(y, clusters)


def test_defaults():
    views, y = make_multiview(random_state=0)
    found = [(name, view.shape[1]) for name, view in views.items()]
    assert found == [("view_0", 20), ("view_1", 30), ("view_2", 40)]
    assert all((len(view), view.dtype) == (500, np.float64) for view in views.values())
    assert y.shape == (500,)
    assert not missing_rows(views).any()
    # In random order.
    assert (np.diff(y) != 0).mean() > 0.5
    assert not np.array_equal(y, np.arange(500) % 5)


def test_noise_views_are_uninformative_and_separation_sets_the_difficulty():
    views, y = make_multiview(n_noise_views=2, random_state=0)
    assert list(views) == ["view_0", "view_1", "view_2", "noise_0", "noise_1"]
    assert views["noise_1"].shape == views["view_2"].shape
    assert kmeans_score(views["noise_0"], y) < 0.05
    assert kmeans_score(views["view_2"], y) > 0.5

    def score(**difficulty):
        views, y = make_multiview(300, n_clusters=3, random_state=0, **difficulty)
        return kmeans_score(views["view_0"], y)

    assert score(separation=8, noise=0.1) > 0.99
    assert score(separation=0) < 0.05
    assert score(separation=8, noise=100) < 0.3


@settings(deadline=None)
@given(
    n_samples=st.integers(5, 50),
    n_views=st.integers(1, 4),
    n_noise_views=st.integers(0, 2),
    missing=st.floats(0, 1, exclude_max=True),
)
def test_fraction_of_missing_rows(n_samples, n_views, n_noise_views, missing):
    sizes = {"n_features": (3,) * n_views, "n_noise_views": n_noise_views}
    views, _ = make_multiview(n_samples, **sizes, missing=missing, random_state=0)
    absent = missing_rows(views)
    assert absent.sum() == min(round(missing * absent.size), absent.size - n_samples)
    assert not absent[:, :n_views].all(axis=1).any()


def test_seed_makes_data_reproducible():
    arguments = {"n_samples": 50, "n_noise_views": 1, "missing": 0.2}
    first, y_first = make_multiview(**arguments, random_state=3)
    second, y_second = make_multiview(**arguments, random_state=np.random.RandomState(3))
    other, _ = make_multiview(**arguments, random_state=4)
    np.testing.assert_array_equal(y_first, y_second)
    for name, view in first.items():
        np.testing.assert_array_equal(view, second[name])
        assert not np.array_equal(view, other[name], equal_nan=True)
