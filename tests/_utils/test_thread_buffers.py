"""Buffers are never shared by threads, and no result that outlives a part refers to it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np

from anchorview import MultiViewData, make_multiview
from anchorview._utils.threads import ThreadBuffer
from anchorview.core.compress import summarize_groups
from anchorview.core.scale import fit_scalings
from helpers.blocks import rows_per_block


def test_two_threads_never_share_memory():
    both = threading.Barrier(2)
    buffer = ThreadBuffer()

    def take(_):
        both.wait(10)
        return buffer.array((100,), np.dtype(np.float64))

    with ThreadPoolExecutor(2) as pool:
        held = [buffer.array((100,), np.dtype(np.float64)), *pool.map(take, range(2))]
        assert not any(np.shares_memory(a, b) for a, b in combinations(held, 2))


def test_few_rows_of_many_patterns_do_not_refer_to_buffers():
    views, _ = make_multiview(30, n_clusters=3, n_features=(20,) * 3, missing=0.4, random_state=0)
    data = MultiViewData(views)
    assert len(data.groups) > 3
    with rows_per_block(data, 4):
        summaries = summarize_groups(data, fit_scalings(data, "none"))
    for group in data.groups:
        expected = np.hstack([data.views[p][group.rows] for p in group.views])
        np.testing.assert_array_equal(summaries[group.views].matrix, expected)
