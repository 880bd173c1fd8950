import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from anchorview import MultiViewData
from anchorview.compared._base import fill_empty_clusters, sum_by_cluster
from anchorview.compared._views import standardized_views


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_sums_equal_a_loop(form, dtype, atol):
    rng = np.random.default_rng(0)
    (X,) = standardized_views(MultiViewData(form(rng.random((40, 5)).astype(dtype))))
    labels = rng.choice([0, 1, 3], size=40)
    expected = np.zeros((4, 5))
    for x, j in zip(X @ np.eye(5), labels, strict=True):
        expected[j] += x
    sums = sum_by_cluster(labels, 4, X)
    assert sums.dtype == np.float64
    np.testing.assert_allclose(sums, expected, atol=atol)
    assert not sums[2].any()


def filled_by_loop(labels, misfit, n_clusters):
    """Worst samples first, each to the next empty cluster; the best of a cluster stays."""
    filled = list(labels)
    stays = {}
    for i in range(len(labels)):
        best = stays.get(labels[i])
        if best is None or misfit[i] <= misfit[best]:
            stays[labels[i]] = i
    empty = [j for j in range(n_clusters) if j not in set(labels)]
    for i in sorted(range(len(labels)), key=lambda i: (-misfit[i], i)):
        if empty and stays[labels[i]] != i:
            filled[i] = empty.pop(0)
    return filled


@st.composite
def partitions(draw):
    n = draw(st.integers(1, 25))
    k = draw(st.integers(1, n))
    labels = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    misfit = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return np.array(labels), np.array(misfit, dtype=float), k


@given(partitions())
def test_filling_equals_a_loop_and_leaves_no_cluster_empty(partition):
    labels, misfit, k = partition
    before = labels.copy()
    filled = fill_empty_clusters(labels, misfit, k)
    np.testing.assert_array_equal(filled, filled_by_loop(labels, misfit, k))
    assert set(filled) == set(range(k))
    np.testing.assert_array_equal(labels, before)
    assert np.sum(filled != labels) == k - len(set(labels))
