import numpy as np
import pytest
from scipy import sparse

from anchorview import MultiViewData
from anchorview.compared._cluster_sums import cluster_sums
from anchorview.compared._view_scaling import standardized_views


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equals_a_plain_loop(form, dtype):
    rng = np.random.default_rng(0)
    (X,) = standardized_views(MultiViewData(form(rng.random((40, 5)).astype(dtype))))
    labels = rng.choice([0, 1, 3], size=40)
    expected = np.zeros((4, 5))
    for x, j in zip(X @ np.eye(5), labels, strict=True):
        expected[j] += x
    sums = cluster_sums(labels, 4, X)
    assert sums.dtype == np.float64
    np.testing.assert_allclose(sums, expected, atol=1e-12 if dtype == np.float64 else 1e-5)
    assert not sums[2].any()
