"""Work on row blocks in parallel, results in order, a bounded number of them at a time."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

from anchorview.progress import report

Result = TypeVar("Result")


def map_blocks(
    function: Callable[[slice], Result], blocks: Iterator[slice], n_rows: int, stage: str
) -> Iterator[Result]:
    """Yield ``function(block)`` for every block, in the order of the blocks.

    Each block is one thread's work and BLAS runs single-threaded inside it: that keeps all cores
    busy in the element-wise parts too. Order fixes the sums made of the results, so they do not
    depend on the number of threads.

    Parameters
    ----------
    function : callable
        Work on one block; releases the interpreter lock in NumPy.
    blocks : iterator of slice
        Row ranges.
    n_rows : int
        Rows in all, for the progress.
    stage : str
        Name of the work in progress reports.
    """
    todo = list(blocks)
    workers = min(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        len(todo),
    )
    if workers <= 1:
        for block in todo:
            yield function(block)
            report(stage, block.stop, n_rows)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="anchorview")
    pending: deque[tuple[slice, Future[Result]]] = deque()
    try:
        with threadpool_limits(1, user_api="blas"):
            for block in todo:
                pending.append((block, pool.submit(function, block)))
                if len(pending) > workers:
                    yield _finish(pending, n_rows, stage)
            while pending:
                yield _finish(pending, n_rows, stage)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _finish(pending: "deque[tuple[slice, Future[Result]]]", n_rows: int, stage: str) -> Result:
    block, future = pending.popleft()
    result = future.result()
    report(stage, block.stop, n_rows)
    return result
