"""Work in parallel, mostly on row blocks: results in order, a bounded number of them at a time."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol, TypeVar

from threadpoolctl import ThreadpoolController, threadpool_limits

from anchorview._utils.progress import report_progress


class SizedBlock(Protocol):
    """Some rows, of which only the number matters here."""

    @property
    def size(self) -> int:
        """Number of rows."""


Block = TypeVar("Block", bound=SizedBlock)
Item = TypeVar("Item")
Result = TypeVar("Result")


def map_blocks(
    function: Callable[[Block], Result], blocks: Iterable[Block], stage: str
) -> Iterator[tuple[Block, Result]]:
    """Yield every block and ``function(block)``, in the order of the blocks.

    Each block is one thread's work and BLAS runs single-threaded inside it: that keeps all cores
    busy in the element-wise parts too. Order fixes the sums made of the results, so they do not
    depend on the number of threads.

    Parameters
    ----------
    function : callable
        Work on one block; releases the interpreter lock in NumPy.
    blocks : iterable of blocks with a ``size``
    stage : str
        Name of the work in progress reports.
    """
    todo = list(blocks)
    total = sum(block.size for block in todo)
    done = 0
    for block, result in parallel_map(function, todo):
        done += block.size
        report_progress(stage, done, total)
        yield block, result


def for_blocks(function: Callable[[Block], None], blocks: Iterable[Block], stage: str) -> None:
    """Call ``function(block)`` for every block, as :func:`map_blocks` does."""
    for _ in map_blocks(function, blocks, stage):
        pass


def max_pending_results() -> int:
    """Most results that are held at a time, the one being used included."""
    return n_cores() + 2


def parallel_map(
    function: Callable[[Item], Result], items: Sequence[Item], threads: int | None = None
) -> Iterator[tuple[Item, Result]]:
    """Yield every item and ``function(item)``, in the order of the items, from several threads, by
    default as many as there are cores.

    BLAS and OpenMP run single-threaded inside them.
    """
    workers = min(threads or n_cores(), len(items))
    if workers <= 1 or getattr(_thread, "has_siblings", False):
        for item in items:
            yield item, function(item)
        return
    pool = ThreadPoolExecutor(workers, "anchorview", initializer=_single_threaded_openmp)
    pending: deque[tuple[Item, Future[Result]]] = deque()
    with _single_threaded_blas():
        try:
            for item in items:
                pending.append((item, pool.submit(function, item)))
                if len(pending) > workers:
                    first, future = pending.popleft()
                    yield first, future.result()
            for last, future in pending:
                yield last, future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_thread = threading.local()


@contextmanager
def without_nested_threads() -> Iterator[None]:
    """Say that this thread is one of many at work: nothing in the block is spread over more.

    BLAS runs single-threaded too.
    """
    before = getattr(_thread, "has_siblings", False)
    _thread.has_siblings = True
    try:
        with _single_threaded_blas():
            yield
    finally:
        _thread.has_siblings = before


def _single_threaded_openmp() -> None:
    # The limit is that of the thread that sets it, and stays as long as the thread.
    threadpool_limits(1, user_api="openmp")


@cache
def _libraries() -> ThreadpoolController:
    """Libraries of linear algebra that are loaded, which takes milliseconds to find out."""
    return ThreadpoolController()


_limit_lock = threading.Lock()
_limit_users: list[object] = []
_limits: list[Any] = []


@contextmanager
def _single_threaded_blas() -> Iterator[None]:
    """One BLAS thread, for as long as any fit of the process needs it.

    The limit is the process's, so the first of overlapping users sets it and the last lifts it.
    """
    user = object()
    with _limit_lock:
        if not _limit_users:
            _limits.append(_libraries().limit(limits=1, user_api="blas"))
        _limit_users.append(user)
    try:
        yield
    finally:
        with _limit_lock:
            _limit_users.remove(user)
            if not _limit_users:
                _limits.pop().restore_original_limits()


def n_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
