"""Moments by group against plain sums, weights against repeated rows, parts against all rows."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from anchorview._utils.moments import CrossMoments, Moments, group_moments


def assert_same(found, expected, rtol=1e-9):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, np.broadcast_to(b, np.shape(a)), rtol=rtol, atol=1e-9)


def some_rows(seed, n=60, missing=0.1):
    rng = np.random.default_rng(seed)
    rows = 100 + rng.standard_normal((n, 5)) * (rng.random((n, 5)) < 0.6)
    rows[rng.random((n, 5)) < missing] = np.nan
    rows[:, 0] = 0.1
    return rows, rng.integers(4, size=n), rng.integers(0, 4, size=n)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@given(seed=st.integers(0, 100))
def test_groups_weights_and_missing_values(form, seed):
    rows, groups, weights = some_rows(seed)
    found = group_moments(form(rows), groups, 5, weights.astype(float))
    again = np.repeat(np.arange(len(rows)), weights)
    assert_same(found, group_moments(form(rows[again]), groups[again], 5))
    for group in range(5):
        members = rows[again][groups[again] == group]
        for j, column in enumerate(members.T):
            known = column[~np.isnan(column)]
            assert found.weight[group, j] == len(known)
            mean = known.mean() if len(known) else 0
            assert found.mean[group, j] == pytest.approx(mean)
            assert found.squares[group, j] == pytest.approx(np.square(known - mean).sum(), abs=1e-9)
    # A constant feature has no deviations, not even by rounding.
    assert not group_moments(form(rows), groups, 5).squares[:, 0].any()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@given(seed=st.integers(0, 100), cuts=st.lists(st.integers(1, 59), max_size=4))
def test_parts_merge_to_all_rows(form, seed, cuts):
    rows, groups, _ = some_rows(seed)
    parts = zip(np.split(rows, sorted(cuts)), np.split(groups, sorted(cuts)), strict=True)
    moments = [group_moments(form(part), of_part, 5) for part, of_part in parts if len(part)]
    assert_same(reduce(Moments.merged, moments), group_moments(form(rows), groups, 5))


@given(seed=st.integers(0, 100))
def test_weighted_rows_are_one_group(seed):
    rows, _, weights = some_rows(seed, missing=0)
    weights[0] = 1
    again = np.repeat(rows, weights, axis=0)
    assert_same(Moments.of(rows, weights.astype(float)), Moments.of(again))
    assert_same(Moments.of(sparse.csr_array(again)), Moments.of(again), rtol=1e-6)


@given(seed=st.integers(0, 100), cut=st.integers(1, 59))
def test_products_of_parts_merge_to_those_of_all_rows(seed, cut):
    a, b = np.random.default_rng(seed).standard_normal((2, 60, 3)) + 1000

    def of(rows):
        left, right = a[rows].mean(axis=0), b[rows].mean(axis=0)
        return CrossMoments(len(a[rows]), left, right, (a[rows] - left).T @ (b[rows] - right))

    assert_same(of(slice(cut)).merged(of(slice(cut, None))), of(slice(None)))
