import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anchorview.compared._empty_clusters import without_empties


def by_loop(labels, misfit, n_clusters):
    """Worst samples first, each to the next empty cluster, the best of a cluster never."""
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
def test_equals_a_plain_loop_and_leaves_no_cluster_empty(partition):
    labels, misfit, k = partition
    before = labels.copy()
    filled = without_empties(labels, misfit, k)
    np.testing.assert_array_equal(filled, by_loop(labels, misfit, k))
    assert set(filled) == set(range(k))
    np.testing.assert_array_equal(labels, before)
    n_empty = k - len(set(labels))
    assert np.sum(filled != labels) == n_empty


def test_the_worst_fitting_samples_move():
    labels = np.array([0, 0, 0, 2, 2])
    misfit = np.array([1.0, 3.0, 0.0, 2.0, 9.0])
    np.testing.assert_array_equal(without_empties(labels, misfit, 4), [0, 3, 0, 2, 1])


def test_a_cluster_of_one_keeps_it_however_bad_the_fit():
    labels = np.array([0, 1, 1])
    np.testing.assert_array_equal(without_empties(labels, np.array([9.0, 1.0, 2.0]), 3), [0, 1, 2])


def test_nothing_happens_without_empty_clusters():
    labels = np.array([1, 0, 1])
    assert without_empties(labels, np.array([5.0, 1.0, 2.0]), 2) is labels
