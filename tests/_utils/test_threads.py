import threading

import pytest
from threadpoolctl import threadpool_info

from anchorview._utils import threads
from anchorview._utils.progress import listen_to_progress
from anchorview._utils.threads import for_blocks, map_blocks
from anchorview.views.container import RowBlock

BLOCKS = [RowBlock(slice(i, i + 10), 10, (0,), 0) for i in range(0, 200, 10)]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    """The same number of workers on every machine."""
    monkeypatch.setattr(threads, "n_cores", lambda: 2)


def test_results_come_in_order_and_progress_is_reported():
    seen = []
    with listen_to_progress(lambda *report: seen.append(report)):
        results = list(map_blocks(lambda block: block.rows.start, BLOCKS, "work"))
    assert results == [(block, block.rows.start) for block in BLOCKS]
    assert seen == [("work", block.rows.stop, 200) for block in BLOCKS]


def test_few_results_wait_at_a_time():
    made, taken, most_waiting = [], [], []

    def work(block):
        made.append(block)
        return block

    for result in map_blocks(work, BLOCKS, "work"):
        taken.append(result)
        most_waiting.append(len(made) - len(taken))
    assert max(most_waiting) <= 3


def test_an_error_ends_the_work_and_its_threads():
    done = []

    def work(block):
        if block.rows.start == 50:
            raise ValueError("block 50")
        done.append(block)

    with pytest.raises(ValueError, match="block 50"):
        for_blocks(work, BLOCKS, "work")
    assert len(done) < len(BLOCKS) - 1
    assert not [t for t in threading.enumerate() if t.name.startswith("anchorview")]


def test_overlapping_users_leave_the_threads_of_blas_as_they_were():
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
