import threading

import pytest

from anchorview.blocks import map_blocks
from anchorview.progress import listening

BLOCKS = [slice(i, i + 10) for i in range(0, 200, 10)]


def test_results_come_in_order_and_progress_is_reported():
    seen = []
    with listening(lambda *report: seen.append(report)):
        starts = list(map_blocks(lambda rows: rows.start, iter(BLOCKS), 200, "work"))
    assert starts == [block.start for block in BLOCKS]
    assert seen == [("work", block.stop, 200) for block in BLOCKS]


def test_few_results_wait_at_a_time():
    made, taken, most_waiting = [], [], []

    def work(rows):
        made.append(rows)
        return rows

    for result in map_blocks(work, iter(BLOCKS), 200, "work"):
        taken.append(result)
        most_waiting.append(len(made) - len(taken))
    assert max(most_waiting) <= 2 * threading.active_count() + 2 < len(BLOCKS)


def test_an_error_ends_the_work_and_its_threads():
    done = []

    def work(rows):
        if rows.start == 50:
            raise ValueError("block 50")
        done.append(rows)

    with pytest.raises(ValueError, match="block 50"):
        list(map_blocks(work, iter(BLOCKS), 200, "work"))
    assert len(done) < len(BLOCKS) - 1
    assert not [t for t in threading.enumerate() if t.name.startswith("anchorview")]
