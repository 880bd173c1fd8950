"""Samples of rows: even, and the same in whatever blocks, order or rotation the rows come."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorview.core.blockwise_kmeans import sampled_rows
from anchorview.core.centers import EmbeddedRows
from helpers.blocks import BlockedRows


def numbered(n, dtype=np.float64, seed=0):
    """Rows whose first column is their position."""
    rows = np.random.default_rng(seed).standard_normal((n, 4)).astype(dtype)
    rows[:, 0] = np.arange(n)
    return rows


def sampled_numbers(rows, count, seed=0):
    return sampled_rows(EmbeddedRows(rows), count, seed)[:, 0].astype(int)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(ends=st.lists(st.integers(1, 4999), max_size=12, unique=True))
@settings(max_examples=25)
def test_blocks_do_not_matter(dtype, ends):
    rows = numbered(5000, dtype)
    whole = sampled_rows(EmbeddedRows(rows), 500, 3)
    np.testing.assert_array_equal(sampled_rows(BlockedRows(rows, bounds=ends), 500, 3), whole)


@given(seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_order_and_rotation_do_not_matter_in_double_precision(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((4000, 5)) / 60
    rotation, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    order = rng.permutation(4000)
    sample = sampled_rows(EmbeddedRows(rows), 300, seed)
    moved = sampled_rows(EmbeddedRows((rows @ rotation)[order]), 300, seed)
    np.testing.assert_allclose(moved @ rotation.T, sample, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("n", "count"), [(100, 100), (3000, 1000), (50_000, 1000), (50_000, 20_000)]
)
def test_as_many_rows_as_wanted_each_at_most_once(dtype, n, count):
    for seed in range(5):
        chosen = sampled_numbers(numbered(n, dtype), count, seed)
        assert len(chosen) == len(set(chosen)) == count


@pytest.mark.parametrize("distinct", [1, 2, 7, 300])
def test_rows_with_few_distinct_values_are_sampled_in_proportion(distinct):
    rng = np.random.default_rng(distinct)
    member = rng.integers(distinct, size=20_000)
    rows = rng.standard_normal((distinct, 3))[member]
    for seed in range(4):
        sample = sampled_rows(EmbeddedRows(rows), 2000, seed)
        assert len(sample) == 2000
        _, counts = np.unique(sample[:, 0], return_counts=True)
        assert len(counts) >= min(distinct, 250)
        assert counts.max() < 2 * 2000 / distinct + 10


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_row_is_about_equally_likely(dtype):
    n, count, repeats = 400, 100, 400
    rows = numbered(n, dtype)
    seeds = np.random.default_rng(1).integers(2**31, size=repeats)
    times = np.zeros(n)
    for seed in seeds:
        times[sampled_numbers(rows, count, int(seed))] += 1
    share = count / n
    expected = repeats * share
    chi_square = np.sum((times - expected) ** 2) / (expected * (1 - share))
    # Mean n and deviation sqrt(2 n), if all rows are alike.
    assert abs(chi_square - n) < 6 * np.sqrt(2 * n)
