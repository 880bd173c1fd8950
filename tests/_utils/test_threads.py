"""Parallel maps: ordered results, few of them waiting, errors raised, no threads left behind."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from anchorview._utils import threads
from anchorview._utils.threads import ThreadBuffer, map_blocks, parallel_map, shared_thread_pool
from anchorview.views.container import RowBlock

BLOCKS = [RowBlock(slice(i, i + 10), 10, (0,), 0) for i in range(0, 200, 10)]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    """The same number of threads on every machine."""
    monkeypatch.setattr(threads, "n_cores", lambda: 2)


def test_two_threads_never_share_the_memory_of_a_buffer():
    both = threading.Barrier(2)
    buffer = ThreadBuffer()

    def take(_):
        both.wait(10)
        return buffer.array((100,), np.dtype(np.float64))

    with ThreadPoolExecutor(2) as pool:
        held = [buffer.array((100,), np.dtype(np.float64)), *pool.map(take, range(2))]
        assert not any(np.shares_memory(a, b) for a, b in combinations(held, 2))


def test_overlapping_maps_restore_the_blas_threads():
    def limits():
        return {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}

    before = limits()
    first = map_blocks(lambda block: block.size, BLOCKS, "work")
    second = map_blocks(lambda block: block.size, BLOCKS, "work")
    next(first)
    next(second)
    list(first)
    list(second)
    assert limits() == before


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_results_are_in_order_even_if_a_later_item_ends_first(cores, monkeypatch):
    monkeypatch.setattr(threads, "n_cores", lambda: cores)
    second_done = threading.Event()

    def work(item):
        # With several threads, the first item ends after the second.
        if item == 0 and cores > 1:
            assert second_done.wait(10)
        if item == 1:
            second_done.set()
        return item**2

    assert list(parallel_map(work, range(7))) == [(i, i**2) for i in range(7)]
    assert list(parallel_map(work, [])) == []


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("error", [ValueError, MemoryError, KeyboardInterrupt])
def test_an_error_stops_the_map_and_its_threads(cores, error, monkeypatch):
    monkeypatch.setattr(threads, "n_cores", lambda: cores)
    seen, done = [], []

    def work(item):
        if item == 3:
            raise error("third")
        done.append(item)

    with pytest.raises(error, match="third"):
        for item, _ in parallel_map(work, range(40)):
            seen.append(item)
    assert seen == [0, 1, 2]
    assert len(done) < 39
    assert not [t for t in threading.enumerate() if t.name.startswith("anchorview")]


def test_maps_share_shared_thread_pool_also_after_an_error():
    def work(item):
        if item == 3:
            raise ValueError("third")
        return threading.get_ident()

    def own_threads():
        return [t for t in threading.enumerate() if t.name.startswith("anchorview")]

    with shared_thread_pool():
        used = {thread for _, thread in parallel_map(work, [0, 1])}
        with pytest.raises(ValueError, match="third"):
            list(parallel_map(work, range(20)))
        with shared_thread_pool():
            used |= {thread for _, thread in parallel_map(work, [0, 1, 2])}
        used |= {thread for _, thread in parallel_map(work, [0, 1, 2])}
        assert used <= {thread.ident for thread in own_threads()}
        assert len(own_threads()) <= 2
    assert not own_threads()
