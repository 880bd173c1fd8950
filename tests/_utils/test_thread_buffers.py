"""Buffers are never shared by threads, and no result that outlives a part refers to it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest

from anchorview import DALMC, MultiViewData, make_multiview
from anchorview._utils.threads import ThreadBuffer
from anchorview.core.compress import summarize_groups
from anchorview.core.scale import SCALINGS, fit_scalings, view_moments
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


@pytest.fixture(params=["float64", "float32", "incomplete"])
def two_parts(request):
    missing = 0.3 if request.param == "incomplete" else 0
    views, _ = make_multiview(400, n_clusters=3, n_features=(6, 9), missing=missing, random_state=0)
    dtype = np.float32 if request.param == "float32" else np.float64
    whole = MultiViewData({name: view.astype(dtype) for name, view in views.items()})
    return [whole[:200], whole[200:]]


def assert_results_last(function, two_parts):
    """The result of a part is unchanged after the next part was processed."""
    kept = [function(part) for part in two_parts]
    expected = [[array.copy() for array in function(part)] for part in two_parts]
    for own, copies in zip(kept, expected, strict=True):
        for a, b in zip(own, copies, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_summaries_do_not_refer_to_buffers(scaling, two_parts):
    scalings = fit_scalings(two_parts[0], scaling)
    assert_results_last(
        lambda part: [group.matrix for group in summarize_groups(part, scalings).values()],
        two_parts,
    )


def test_few_rows_of_many_patterns_do_not_refer_to_buffers():
    views, _ = make_multiview(30, n_clusters=3, n_features=(20,) * 3, missing=0.4, random_state=0)
    data = MultiViewData(views)
    assert len(data.groups) > 3
    with rows_per_block(data, 4):
        summaries = summarize_groups(data, fit_scalings(data, "none"))
    for group in data.groups:
        expected = np.hstack([data.views[p][group.rows] for p in group.views])
        np.testing.assert_array_equal(summaries[group.views].matrix, expected)


@pytest.mark.parametrize("scaling", ["zscore", "unit-center"])
def test_moments_do_not_refer_to_buffers(scaling, two_parts):
    def moments(part):
        found = view_moments(part, scaling)
        return [array for p in sorted(found) for array in found[p][1:]]

    assert_results_last(moments, two_parts)


def test_embeddings_and_labels_do_not_refer_to_buffers(two_parts):
    model = DALMC(3, random_state=0).fit(two_parts[0])
    assert_results_last(lambda part: [model.transform(part), model.predict(part)], two_parts)
