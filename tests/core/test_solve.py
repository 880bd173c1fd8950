"""Products without zero rows equal those with them."""

import numpy as np
import pytest

from anchorview import DALMC, make_multiview
from anchorview._utils.linalg import times
from anchorview.core import solve
from anchorview.core.solve import without_zero_rows


@pytest.fixture(autouse=True)
def all_views_are_large(set_constants):
    set_constants(solve, LARGE_VIEW=0)


def test_a_matrix_of_zeros_has_no_leading_rows():
    (found,) = without_zero_rows([np.zeros((6, 2))])
    np.testing.assert_array_equal(times(found, np.ones((2, 3))), np.zeros((6, 3)))


@pytest.mark.parametrize("init", ["gcca", "random", "identity"])
def test_fits_do_not_depend_on_it(init, set_constants):
    views, _ = make_multiview(300, n_clusters=3, n_features=(20, 15, 10), random_state=0)
    settings = {"solver": "compressed", "init": init, "n_init": 1, "random_state": 0}
    found = DALMC(3, **settings).fit(views)
    set_constants(solve, ZERO_SHARE=2.0)
    expected = DALMC(3, **settings).fit(views)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-10)
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-8)
