"""Parallel maps over blocks and other items: results in order, few of them held at a time."""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from math import prod
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array

HAS_THREADS = sys.platform != "emscripten"
"""Python in a browser cannot start threads."""

Block = TypeVar("Block", bound=Any)
"""A block of rows; its `size` is their number."""
Item = TypeVar("Item")
Result = TypeVar("Result")


def map_blocks(
    function: Callable[[Block], Result],
    blocks: Iterable[Block],
    stage: str,
    threads: int | None = None,
) -> Iterator[tuple[Block, Result]]:
    """Yield every block and ``function(block)``, in the order of the blocks.

    Each block is processed by one thread with single-threaded BLAS, which keeps all cores busy in
    element-wise operations too. As results come in order, sums of them do not depend on the number
    of threads. The function should spend its time in NumPy, which releases the interpreter lock;
    `stage` is the name in progress reports.
    """
    todo = list(blocks)
    total = sum(block.size for block in todo)
    done = 0
    for block, result in parallel_map(function, todo, threads):
        done += block.size
        report_progress(stage, done, total)
        yield block, result


def for_blocks(function: Callable[[Block], None], blocks: Iterable[Block], stage: str) -> None:
    """Call ``function(block)`` for every block, as :func:`map_blocks` does."""
    for _ in map_blocks(function, blocks, stage):
        pass


def row_slices(n: int, step: int) -> list[slice]:
    """Slices of `step` rows, as scikit-learn's `gen_batches`, which takes 0.1 ms to begin."""
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def max_pending_results() -> int:
    """Maximum number of results held at a time, including the one in use."""
    return n_cores() + 2


def parallel_map(
    function: Callable[[Item], Result], items: Sequence[Item], threads: int | None = None
) -> Iterator[tuple[Item, Result]]:
    """Yield every item and ``function(item)``, in the order of the items.

    The function runs in `threads` threads, by default one per core, with single-threaded BLAS and
    OpenMP. Inside :func:`without_nested_threads` it runs in the calling thread.
    """
    workers = min(threads or n_cores(), len(items)) if HAS_THREADS else 1
    if workers <= 1 or getattr(_thread, "has_siblings", False):
        for item in items:
            yield item, function(item)
        return
    pool = getattr(_thread, "pool", None) if threads is None else None
    executor = pool or _new_pool(workers)
    pending: deque[tuple[Item, Future[Result]]] = deque()
    with single_threaded_blas():
        try:
            for item in items:
                pending.append((item, executor.submit(function, item)))
                if len(pending) > workers:
                    first, future = pending.popleft()
                    yield first, future.result()
            while pending:
                last, future = pending.popleft()
                yield last, future.result()
        finally:
            for _, future in pending:
                future.cancel()
            wait([future for _, future in pending])
            if pool is None:
                executor.shutdown(wait=True, cancel_futures=True)


def _new_pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, "anchorview", initializer=_single_threaded_openmp)


@contextmanager
def shared_thread_pool() -> Iterator[None]:
    """Maps of the calling thread inside the block share their threads.

    New threads begin on one core, and it takes the system some time to move them apart: short maps
    in new threads hardly gain from a second core.
    """
    if not HAS_THREADS or n_cores() == 1 or getattr(_thread, "pool", None) is not None:
        yield
        return
    with _new_pool(n_cores()) as pool:
        _thread.pool = pool
        try:
            yield
        finally:
            _thread.pool = None


_thread = threading.local()


@contextmanager
def without_nested_threads() -> Iterator[None]:
    """Keep maps and BLAS inside the block single-threaded: other threads run beside this one."""
    before = getattr(_thread, "has_siblings", False)
    _thread.has_siblings = True
    try:
        with single_threaded_blas():
            yield
    finally:
        _thread.has_siblings = before


def _single_threaded_openmp() -> None:
    # The limit applies to the thread that sets it, as long as the thread lives.
    _libraries().limit(limits=1, user_api="openmp")


@cache
def _libraries() -> ThreadpoolController:
    """Loaded BLAS and OpenMP libraries; finding them takes milliseconds."""
    return ThreadpoolController()


_limit_lock = threading.Lock()
_limits: list[Any] = []
"""The limit, once for each block that needs it."""


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread inside the block.

    The limit applies to the whole process: the first of overlapping blocks sets it and the last
    lifts it.
    """
    with _limit_lock:
        _limits.append(_limits[0] if _limits else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _limit_lock:
            limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()


def n_cores() -> int:
    """Cores that this process may use."""
    if not HAS_THREADS:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ThreadBuffer(threading.local):
    """Memory for one temporary array at a time in every thread.

    Freshly allocated memory would cost a page fault every few kilobytes.
    """

    def __init__(self) -> None:
        self._memory = np.empty(0, np.uint8)

    def array(self, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Array:
        """Return an uninitialized array; the next call in the same thread returns its memory."""
        size = prod(shape) * dtype.itemsize
        if self._memory.nbytes < size:
            self._memory = np.empty(size, np.uint8)
        return self._memory[:size].view(dtype).reshape(shape)
