"""Work on several threads: results in order, errors passed on, no thread left."""

import threading

import pytest

from anchorview._utils import threads
from anchorview._utils.threads import parallel_map


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_results_are_in_the_order_of_the_items(cores, monkeypatch):
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


def test_items_are_processed_at_the_same_time(monkeypatch):
    monkeypatch.setattr(threads, "n_cores", lambda: 3)
    together = threading.Barrier(3, timeout=10)

    def work(_):
        together.wait()
        return threading.get_ident()

    used = {thread for _, thread in parallel_map(work, range(3))}
    assert len(used) == 3
    assert threading.get_ident() not in used


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("error", [ValueError, MemoryError, KeyboardInterrupt])
def test_errors_are_passed_on(cores, error, monkeypatch):
    monkeypatch.setattr(threads, "n_cores", lambda: cores)
    seen = []

    def work(item):
        if item == 3:
            raise error("third")
        return item

    with pytest.raises(error, match="third"):
        for item, _ in parallel_map(work, range(40)):
            seen.append(item)
    assert seen == [0, 1, 2]
    assert not [t for t in threading.enumerate() if t.name.startswith("anchorview")]
